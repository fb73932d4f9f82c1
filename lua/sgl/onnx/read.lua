-- onnx/read.lua: an ONNX file as a model that can be run.
--
-- In:    the path of the file.
-- Out:   a Model: its inputs and outputs, the tensors of its constants, and run(arguments), which
--        records the operations of its nodes on tensors, as if a script did.
-- Holds: an operator, an attribute or a type that is not imported is refused before anything runs,
--        with the name of the node and the opset. A name is looked up in its own graph first,
--        then in those around it. Nothing of the file is trusted: counts, lengths and places are
--        checked.
local core = require "sgl.core"
local known = require "sgl.onnx.known"
local ops = require "sgl.onnx.ops"
local values = require "sgl.onnx.values"
local wire = require "sgl.onnx.wire"
require "sgl.onnx.import"

local raise, unpack = core.raise, table.unpack

local Model = {}
Model.__index = Model

local OLDEST_IR = 3

local function damaged(path, what, hint)
  raise("SGL_EFORMAT", ("%s: %s"):format(path, what), hint)
end

-- ---- checks before anything runs

local ATTRIBUTES = {
  [1] = function(a) return a.f or 0.0 end,
  [2] = function(a) return a.i or 0 end,
  [3] = function(a) return a.s or "" end,
  [4] = function(a, model) return a.t and model:constant(a.t) end,
  [5] = function(a) return a.g end,
  [6] = function(a) return a.floats end,
  [7] = function(a) return a.ints end,
  [8] = function(a) return a.strings end,
}

-- The attributes of a node by name, those that its row knows.
local function attributes(c, row)
  local by_name = {}
  for _, a in ipairs(c.node.attribute) do
    local read = ATTRIBUTES[a.type or 0]
    if not a.name or not read or a.ref_attr_name then
      c:refuse(("attribute %s has a type that is not read"):format(core.quote(a.name or "")))
    elseif not row.allowed[a.name] then
      c:refuse(("attribute %s is not known"):format(core.quote(a.name)))
    end
    by_name[a.name] = read(a, c.model)
  end
  return by_name
end

local check_graph

-- The row of a node and its attributes, kept with the node.
local function check_node(model, node)
  local c = setmetatable({ model = model, node = node, opset = model.opset }, ops.Context)
  local domain = node.domain or ""
  if domain ~= "" and domain ~= "ai.onnx" then
    c:refuse(("operators of %s are not imported"):format(core.quote(domain)))
  end
  local row = ops.rows[node.op_type or ""]
  if not node.op_type or not row then
    node.op_type = node.op_type or "?"
    c:refuse "the operator is not imported"
  end
  if model.opset < row.since then
    c:refuse(("it is imported from opset %d on"):format(row.since))
  end
  local a = attributes(c, row)
  c.attributes, c.row, node.context = a, row, { __index = c }
  local inputs = row.inputs
  if inputs and (#node.input < inputs[1] or #node.input > inputs[2]) then
    c:refuse(("it has %d inputs"):format(#node.input))
  end
  for _, v in pairs(a) do
    if type(v) == "table" and v.node then check_graph(model, v) end
  end
end

-- Constants of a graph by name, and its nodes checked.
function check_graph(model, graph)
  if #graph.sparse_initializer > 0 then
    damaged(model.path, "sparse constants are not imported")
  end
  graph.constants = {}
  for _, t in ipairs(graph.initializer) do
    if not t.name then damaged(model.path, "a constant without a name") end
    graph.constants[t.name] = model:constant(t)
  end
  for _, node in ipairs(graph.node) do check_node(model, node) end
end

--- A Tensor message as a known value.
function Model:constant(t)
  local ok, bytes, dtype, dims = pcall(values.read, t, self.folder, self.places)
  if ok then return known.bytes(bytes, dtype, dims) end
  if type(bytes) ~= "table" then error(bytes, 0) end
  return raise(bytes.code, self.path .. ": " .. bytes.message, bytes.hint)
end

-- ---- inputs and outputs

-- What a Value message says: name, dtype, sizes (numbers, names, or false where nothing is said).
local function described(path, v)
  local t = v.type and v.type.tensor_type
  if not v.name or v.type and not t then
    damaged(path, ("%s is no tensor"):format(core.quote(v.name or "a value")),
      "sequences, maps and optional values are not imported")
  end
  local dtype, other = values.dtype(t and t.elem_type or 1)
  if not dtype then
    damaged(path, ("%s is of the dtype %s, which there is not here"):format(core.quote(v.name),
      other))
  end
  local shape
  if t and t.shape then
    shape = {}
    for i, dim in ipairs(t.shape.dim) do
      shape[i] = dim.dim_value and dim.dim_value >= 0 and dim.dim_value or dim.dim_param or false
    end
  end
  return { name = v.name, dtype = dtype, shape = shape }
end

local function ends(model)
  local graph, path = model.graph, model.path
  model.inputs, model.outputs, model.by_name = {}, {}, {}
  for _, v in ipairs(graph.input) do
    local input = described(path, v)
    model.by_name[input.name] = input
    if not graph.constants[input.name] then model.inputs[#model.inputs + 1] = input end
  end
  for i, v in ipairs(graph.output) do
    if not v.name then damaged(path, "an output without a name") end
    model.outputs[i] = { name = v.name }
  end
end

-- ---- running

-- The value of a name, in the graph or around it.
local function lookup(scope, name)
  local at = scope
  while at do
    local v = at.values[name]
    if v ~= nil then return v end
    at = at.parent
  end
  return nil
end

-- The inputs of a node; a name "" is one left out.
local function inputs_of(c, scope)
  local list, node = {}, c.node
  for i, name in ipairs(node.input) do
    if name ~= "" then
      local v = lookup(scope, name)
      if v == nil then
        c:refuse(("nothing is called %s"):format(core.quote(name)), nil, "SGL_EFORMAT")
      end
      list[i] = v
    end
  end
  return list, #node.input
end

local function call(c, list, n)
  local row, a = c.row, c.attributes
  if n < (row.inputs and row.inputs[1] or 0) then c:refuse "inputs are missing" end
  for i = 1, row.inputs and row.inputs[1] or 0 do
    if list[i] == nil then c:refuse(("input %d is missing"):format(i), nil, "SGL_EFORMAT") end
  end
  if row.known and n > 0 and known.small(list, n) then
    local results = table.pack(row.known(c, a, unpack(list, 1, n)))
    if results[1] ~= nil then return results end
  end
  if not row.raw then
    for i = 1, n do list[i] = list[i] ~= nil and c:tensor(list[i]) or nil end
  end
  return table.pack(row.fn(c, a, unpack(list, 1, n)))
end

-- The same; errors of the operations name the node. Not in a step that is recorded: there an error
-- must not be caught.
local function named(c, list, n)
  local ok, results = pcall(call, c, list, n)
  if ok then return results end
  if type(results) ~= "table" or not results.message then
    return c:refuse("its inputs and attributes do not fit: " .. tostring(results):gsub("^.-: ", ""),
      nil, "SGL_EFORMAT")
  elseif results.message:find(c.model.path, 1, true) then
    error(results, 0)
  end
  return c:refuse(results.message, results.hint, results.code)
end

-- Runs a node.
local function run_node(node, scope)
  local c = setmetatable({ scope = scope }, node.context)
  local list, n = inputs_of(c, scope)
  local results
  if core.capturing() then results = call(c, list, n) else results = named(c, list, n) end
  for i, name in ipairs(node.output) do
    if name ~= "" then
      if results[i] == nil then c:refuse(("output %d is not computed"):format(i)) end
      scope.values[name] = results[i]
    end
  end
end

--- The outputs of a graph of the model, whose inputs have the given values.
function Model:run_graph(graph, parent, given)
  local scope = { parent = parent, values = {} }
  for name, v in pairs(graph.constants) do scope.values[name] = v end
  for name, v in pairs(given) do scope.values[name] = v end
  for _, node in ipairs(graph.node) do run_node(node, scope) end
  local out = {}
  for i, v in ipairs(graph.output) do
    out[i] = lookup(scope, v.name)
    if out[i] == nil then damaged(self.path, ("no node gives %s"):format(core.quote(v.name))) end
  end
  return out
end

-- A value of a caller's: a tensor whose type fits, or a number.
local function taken(self, input, v)
  if type(v) == "number" or type(v) == "boolean" then
    if input.dtype:find "f" == nil and math.type(v) == "float" then v = math.tointeger(v) or v end
    return known.new(input.dtype, {}, { v })
  end
  if not core.is_tensor(v) then
    raise("SGL_EARG", ("%s: input %s must be a tensor, got a %s"):format(self.path,
      core.quote(input.name), type(v)))
  end
  local shape = v.shape
  local fits = v.dtype == input.dtype and (not input.shape or #shape == #input.shape)
  for i, size in ipairs(input.shape or {}) do
    fits = fits and (math.type(size) ~= "integer" or core.is_dim(shape[i]) or size == shape[i])
  end
  if not fits then
    local sizes = {}
    for i, size in ipairs(input.shape or { "…" }) do sizes[i] = tostring(size or "?") end
    for i, size in ipairs(shape) do shape[i] = tostring(size) end
    raise("SGL_ESHAPE", ("%s: input %s is %s[%s], got %s[%s]"):format(self.path,
      core.quote(input.name), input.dtype, table.concat(sizes, ", "), v.dtype,
      table.concat(shape, ", ")))
  end
  return v
end

--- Runs the model: arguments by position, or by name, where constants that are inputs may be given
--- too. Returns the outputs as tensors.
function Model:run(arguments)
  local given, n = {}, arguments.n or #arguments
  local named = n == 1 and type(arguments[1]) == "table" and arguments[1]
  for name, v in pairs(named or {}) do
    local input = self.by_name[name]
    if not input then
      raise("SGL_EARG", ("%s: there is no input %s"):format(self.path, core.quote(tostring(name))))
    end
    given[name] = taken(self, input, v)
  end
  for i, input in ipairs(self.inputs) do
    if not named and arguments[i] ~= nil then
      given[input.name] = taken(self, input, arguments[i])
    end
    if not given[input.name] then
      raise("SGL_EARG", ("%s: input %s is missing; it takes %d"):format(self.path,
        core.quote(input.name), #self.inputs))
    end
  end
  if not named and n > #self.inputs then
    raise("SGL_EARG", ("%s takes %d inputs, got %d"):format(self.path, #self.inputs, n))
  end
  local out = self:run_graph(self.graph, nil, given)
  for i, v in ipairs(out) do out[i] = known.is(v) and v:tensor() or v end
  return unpack(out)
end

-- ---- the file

local function opset_of(path, message)
  local opset
  for _, set in ipairs(message.opset_import) do
    local domain = set.domain or ""
    if domain == "" or domain == "ai.onnx" then opset = set.version end
  end
  if not opset then damaged(path, "it does not say which opset it uses") end
  if opset < ops.OLDEST or opset > ops.NEWEST then
    raise("SGL_EUNSUP", ("%s: opset %d; %d to %d are read"):format(path, opset, ops.OLDEST,
      ops.NEWEST), "onnx.version_converter makes another")
  end
  return opset
end

--- The model of a file; nil, message, code where it cannot be read. Raises where it is damaged or
--- not imported. `places`: other paths for data files, by their names.
return function(path, o)
  local bytes, why, code = core.read(path)
  if not bytes then return nil, why, code end
  local ok, message = pcall(wire.decode, "Model", bytes)
  if not ok then
    if type(message) ~= "table" then error(message, 0) end
    damaged(path, message.message, "it is no ONNX file, or a damaged one")
  end
  if not message.graph or (message.ir_version or 0) < OLDEST_IR then
    damaged(path, ("it is no ONNX file of IR version %d or later"):format(OLDEST_IR))
  end
  local model = setmetatable({ path = path, graph = message.graph, places = o and o.places or {},
    folder = path:match "^.*/" or "./", ir = message.ir_version,
    producer = message.producer_name or "" }, Model)
  model.opset = opset_of(path, message)
  check_graph(model, model.graph)
  ends(model)
  return model
end
