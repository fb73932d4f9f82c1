-- onnx/scope.lua: an ONNX graph while it is written: its nodes, names, constants and sizes.
--
-- In:    a captured graph (or the graph of a block), and the scope around it.
-- Out:   a Graph message.
-- Holds: every name is given once in the whole model, nested graphs too. Constants and sizes
--        stand in the outermost graph, where all see them, once each. What a scope has been told
--        is in memory alone; nothing is written before everything has been said.
local core = require "sgl.core"
local values = require "sgl.onnx.values"

local raise = core.raise

local Scope = {}
Scope.__index = Scope

local LOWEST = math.mininteger

--- A scope for a captured graph, inside `parent` or the outermost.
function Scope.new(graph, parent)
  local s = setmetatable({ graph = graph, parent = parent, nodes = {}, names = {}, by_id = {},
    made_by = {} }, Scope)
  s.root = parent and parent.root or s
  if not parent then
    s.initializers, s.used, s.counts, s.constants, s.rename = {}, {}, {}, {}, {}
    s.symbols, s.sizes_made = {}, {}
  end
  s.list = graph:nodes()
  for _, n in ipairs(s.list) do s.by_id[n.id] = n end
  return s
end

--- Says that a node cannot be written, with its line, the module around it and a way out.
function Scope:blocked(n, why, way_out)
  local place = n and n.file and ("%s:%d: "):format(n.file, n.line) or ""
  local what = n and n.composite and ("%s in %s"):format(n.op, n.composite) or n and n.op
  if n and n.module and n.module ~= "" then what = ("%s (module %s)"):format(what, n.module) end
  raise("SGL_EUNSUP", ("%s%s%s"):format(place, what and what .. ": " or "", why), way_out)
end

-- ---- names

--- A name that nothing has in the model, made of a hint.
function Scope:name(hint)
  local root, name = self.root, hint
  while root.used[name] do
    root.counts[hint] = (root.counts[hint] or 0) + 1
    name = hint .. "_" .. root.counts[hint]
  end
  root.used[name] = true
  return name
end

--- The name of what the node of an id gives.
function Scope:value(id) return self.names[id] end

--- Names for several ids.
function Scope:values(ids)
  local list = {}
  for i, id in ipairs(ids) do list[i] = self.names[id] end
  return list
end

-- ---- nodes

local ATTRIBUTES = {
  integer = function(a, v) a.type, a.i = 2, v end,
  float = function(a, v) a.type, a.f = 1, v end,
  string = function(a, v) a.type, a.s = 3, v end,
  ints = function(a, v) a.type, a.ints = 7, v end,
  tensor = function(a, v) a.type, a.t = 4, v.tensor end,
  graph = function(a, v) a.type, a.g = 5, v.graph end,
}

local function kind_of(v)
  if type(v) ~= "table" then return math.type(v) or type(v) end
  return v.graph and "graph" or v.tensor and "tensor" or "ints"
end

-- Attributes in the order of their names.
local function attributes(attrs)
  local list = {}
  for name, v in pairs(attrs or {}) do
    local a = { name = name }
    ATTRIBUTES[kind_of(v)](a, v)
    list[#list + 1] = a
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

--- Adds a node; returns the names of its outputs.
function Scope:op(kind, inputs, attrs, count)
  local outputs, name = {}, self:name(kind:lower())
  for i = 1, count or 1 do
    outputs[i] = count and count > 1 and self:name(name .. "." .. i) or name
    self.made_by[outputs[i]] = true
  end
  self.nodes[#self.nodes + 1] = { op_type = kind, name = name, input = inputs, output = outputs,
    attribute = attributes(attrs) }
  return table.unpack(outputs)
end

-- ---- constants

-- A constant of the outermost graph; equal ones are one.
function Scope:constant(hint, tensor)
  local root = self.root
  local key = table.concat({ tensor.data_type, table.concat(tensor.dims, ","), tensor.raw_data },
    ";")
  if not root.constants[key] then
    tensor.name = self:name(hint)
    root.constants[key] = tensor.name
    root.initializers[#root.initializers + 1] = tensor
  end
  return root.constants[key]
end

--- Integers as a constant i64[n].
function Scope:integers(list) return self:constant("ints", values.integers(nil, list)) end

--- One integer as a constant i64[].
function Scope:integer(v) return self:constant("int", values.integers(nil, { v }, {})) end

--- A number as a constant of a dtype without dims.
function Scope:scalar(v, dtype)
  return self:constant("scalar", values.write(nil, core.full({}, v, dtype)))
end

--- A value in another dtype.
function Scope:cast(name, dtype)
  return (self:op("Cast", { name }, { to = values.number(dtype) }))
end

-- ---- sizes

-- An expression of sizes ("2*n+1", "(n+1)//2", "n/8") as a tree: numbers, names, and { op, a, b }.
local function parse(text)
  local at = 1
  local sum
  local function take(pattern)
    local found = text:match("^" .. pattern, at)
    if found then at = at + #found end
    return found
  end
  local function factor()
    local number = take "%d+"
    if number then return math.tointeger(tonumber(number)) end
    if take "%(" then
      local inner = sum()
      take "%)"
      return inner
    end
    return take "[%a_][%w_]*"
  end
  local function product()
    local value = factor()
    while true do
      local op = take "//" or take "/" or take "%*"
      if not op then return value end
      value = { op == "*" and "Mul" or "Div", value, factor() }
    end
  end
  function sum()
    local value
    if take "%-" then value = { "Sub", 0, product() } else value = product() end
    while true do
      local op = take "[+-]"
      if not op then return value end
      value = { op == "+" and "Add" or "Sub", value, product() }
    end
  end
  return sum()
end

-- The value of such a tree as i64[1], said in the outermost graph, ahead of what uses it.
function Scope:tree(t)
  local root = self.root
  if type(t) == "number" then return root:integers { t } end
  if type(t) == "string" then
    local from = root.symbols[t]
    if not from then self:blocked(nil, ("the size %s is that of no input"):format(t)) end
    return (root:early("Shape", { from[1] }, { start = from[2], ["end"] = from[2] + 1 }))
  end
  -- Sizes are not negative where they are divided, so Div, which truncates, is a floor.
  return (root:early(t[1], { self:tree(t[2]), self:tree(t[3]) }))
end

-- A node of the outermost graph that stands before all others.
function Scope:early(kind, inputs, attrs)
  local nodes = self.nodes
  self.nodes = self.first or {}
  self.first = self.nodes
  local name = self:op(kind, inputs, attrs)
  self.nodes = nodes
  return name
end

--- The text of a size: a number, or an expression over symbols.
function Scope.text(size) return core.is_dim(size) and core.size_text(size) or tostring(size) end

--- The product of sizes: a number, or an expression.
function Scope.product(list)
  local n, texts = 1, {}
  for _, size in ipairs(list) do
    if math.type(size) == "integer" then n = n * size
    else texts[#texts + 1] = "(" .. Scope.text(size) .. ")" end
  end
  if #texts == 0 then return n end
  return n == 1 and table.concat(texts, "*") or n .. "*" .. table.concat(texts, "*")
end

--- A size as i64[1].
function Scope:size(size)
  if math.type(size) then return self:integers { size } end
  local text, root = Scope.text(size), self.root
  if not root.sizes_made[text] then root.sizes_made[text] = self:tree(parse(text)) end
  return root.sizes_made[text]
end

--- Sizes as i64[n].
function Scope:sizes(list)
  local plain, parts = true, {}
  for _, size in ipairs(list) do plain = plain and math.type(size) == "integer" end
  if plain then return self:integers(list) end
  for i, size in ipairs(list) do parts[i] = self:size(size) end
  return #parts == 1 and parts[1] or (self:op("Concat", parts, { axis = 0 }))
end

--- A value with other sizes; `from` are those that it has, `one` marks a size that follows from the
--- others.
function Scope:reshape(name, from, to)
  local list, open, zero = {}, 0, false
  for i, size in ipairs(to) do
    if math.type(size) == "integer" then
      list[i], zero = size, zero or size == 0
    elseif from[i] ~= nil and Scope.text(from[i]) == Scope.text(size) then
      list[i] = 0
    else
      list[i], open = -1, open + 1
    end
  end
  for i, size in ipairs(from) do
    if size == 0 and list[i] ~= -1 then zero = true end
  end
  if zero then return (self:op("Reshape", { name, self:sizes(to) }, { allowzero = 1 })) end
  return (self:op("Reshape", { name, open > 1 and self:sizes(to) or self:integers(list) }))
end

--- A value with dims of size 1 made larger.
function Scope:expand(name, from, to)
  local list, same = {}, #from == #to
  for i, size in ipairs(to) do
    local own = from[i - #to + #from]
    local kept = own and Scope.text(own) == Scope.text(size)
    list[i], same = kept and 1 or size, same and kept
  end
  return same and name or (self:op("Expand", { name, self:sizes(list) }))
end

-- ---- the message

local function shape_of(shape)
  local dims = {}
  for i, size in ipairs(shape) do
    dims[i] = math.type(size) == "integer" and { dim_value = size }
      or { dim_param = Scope.text(size) }
  end
  return { dim = dims }
end

--- A Value message: a name and a type.
function Scope.typed(name, n, shape)
  return { name = name, type = { tensor_type = { elem_type = values.number(n.dtype),
    shape = shape_of(shape or n.shape) } } }
end

local function renamed(rename, list)
  for i, name in ipairs(list) do list[i] = rename[name] or name end
end

-- Puts the names that outputs were promised in the place of those that nodes had.
local function settle(graph, rename)
  for _, node in ipairs(graph.node) do
    renamed(rename, node.input)
    renamed(rename, node.output)
    for _, a in ipairs(node.attribute) do
      if a.g then settle(a.g, rename) end
    end
  end
end

--- Ends a graph: its inputs and outputs are lists of Value messages, the outputs' names those that
--- they have inside. An output that is not of a node here, or comes again, gets one of its own.
function Scope:finish(name, inputs, outputs, promised)
  local taken = {}
  for i, output in ipairs(outputs) do
    local inner = output.name
    if taken[inner] or not self.made_by[inner] then
      inner = self:op("Identity", { inner })
    end
    taken[inner] = true
    output.name = inner
    if promised then
      self.root.rename[inner], output.name = promised[i], promised[i]
    end
  end
  local nodes = self.nodes
  if self.first then nodes = table.move(nodes, 1, #nodes, #self.first + 1, self.first) end
  local graph = { name = name, node = nodes, input = inputs, output = outputs }
  if self.root == self then
    graph.initializer = self.initializers
    settle(graph, self.rename)
  end
  return graph
end

Scope.LOWEST = LOWEST

return Scope
