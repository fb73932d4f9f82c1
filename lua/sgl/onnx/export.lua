-- onnx/export.lua: a captured graph as an ONNX file.
--
-- In:    the graph, its state as { name, tensor }, example arguments, what the caller asked for.
-- Out:   the file, and beside it a data file where the values of the state stand outside.
-- Holds: a graph that cannot be said in ONNX is refused before anything is written. The file is
--        kept when what was read back from it agrees with the graph on the examples. The data
--        file of x.onnx is x.onnx.data, whatever it was called before; both take their names
--        together.
local core = require "sgl.core"
local Scope = require "sgl.onnx.scope"
local plan = require "sgl.onnx.plan"
local read = require "sgl.onnx.read"
local rows = require "sgl.onnx.rows"
local values = require "sgl.onnx.values"
local wire = require "sgl.onnx.wire"

local raise = core.raise

local export = {}

local IR_VERSION, OPSET = 9, 20
local INLINE_MOST = 1 << 30      -- bytes of state that stand in the file itself; it ends at 2 GB
local ALIGN = 64                 -- where tensors begin in a data file

-- ---- the graph

-- Names the inputs; those that are state become constants with their values.
local function name_inputs(s, state)
  local inputs, weights = {}, {}
  for i, input in ipairs(s.graph:inputs()) do
    local name = s:name(input.name and input.name ~= "" and input.name or "input" .. i)
    s.names[input.id] = name
    if input.state then
      weights[#weights + 1] = { name, state[input.name], input }
    else
      inputs[#inputs + 1] = Scope.typed(name, input)
      for d, size in ipairs(input.shape) do
        local text = Scope.text(size)
        local symbol = text:find "^[%a_][%w_]*$"
        if symbol and not s.symbols[text] then s.symbols[text] = { name, d - 1 } end
      end
    end
  end
  return inputs, weights
end

-- The names of the outputs: those asked for, or "output", "output2", …
local function output_names(s, count, asked)
  local names = {}
  for i = 1, count do
    local name = asked and asked[i]
    if asked and type(name) ~= "string" then
      raise("SGL_EARG", ("export: option 'outputs' has %d names for %d results"):format(#asked,
        count), "outputs = { \"logits\", … }: one for each result")
    elseif name and (s.used[name] or name == "") then
      raise("SGL_EARG", ("export: %s names two values of the graph"):format(core.quote(name)),
        "inputs, state and outputs of an ONNX graph have names of their own")
    end
    names[i] = s:name(name or (i == 1 and "output" or "output" .. i))
  end
  return names
end

-- What a run does beside its results, which no output needs.
local EFFECTS = { print = true, assert = true }

local function refuse_effects(s)
  for _, n in ipairs(s.list) do
    if EFFECTS[n.op] then rows.refuse(s, n) end
  end
  for _, input in ipairs(s.graph:inputs()) do
    if input.assigned and input.name == "rng" then
      for _, n in ipairs(s.list) do
        if n.op == "rand" then rows.refuse(s, n) end
      end
    elseif input.assigned then
      s:blocked(nil, ("a run changes the state '%s', which an ONNX graph cannot"):format(
        input.name), "export what it computes in evaluation; a bundle (.sgl) holds whole steps")
    end
  end
end

-- The Model message without the values of its state, which come as a list.
local function model_of(graph, state, o)
  local s = Scope.new(graph)
  refuse_effects(s)
  local inputs, weights = name_inputs(s, state)
  local outputs = graph:outputs()
  local promised, ids, ends = output_names(s, #outputs, o.outputs), {}, {}
  for i, output in ipairs(outputs) do ids[i] = output.id end
  plan.write(s, ids)
  for i, output in ipairs(outputs) do ends[i] = Scope.typed(s:value(output.id), output) end
  local onnx = s:finish(o.name or "graph", inputs, ends, promised)
  return { ir_version = IR_VERSION, producer_name = "sgl", producer_version = core.version,
    opset_import = { { domain = "", version = OPSET } }, graph = onnx }, weights
end

-- ---- the files

local function base_name(path) return path:match "[^/]*$" end

-- Writes the values of the state one after another; returns Tensor messages that say where.
local function write_data(path, name, weights)
  local file, message = io.open(path, "wb")
  if not file then return nil, message end
  local tensors, at = {}, 0
  for i, weight in ipairs(weights) do
    local bytes = weight[2]:bytes()
    local gap = -at % ALIGN
    local ok, why = file:write(("\0"):rep(gap), bytes)
    if not ok then
      file:close()
      return nil, why
    end
    at = at + gap
    tensors[i] = { name = weight[1], data_type = values.number(weight[2].dtype),
      dims = weight[2].shape, data_location = 1, external_data = {
        { key = "location", value = name }, { key = "offset", value = tostring(at) },
        { key = "length", value = tostring(#bytes) } } }
    at = at + #bytes
  end
  local ok, why = file:close()
  if not ok then return nil, why end
  return tensors
end

local function bytes_of(weights)
  local total = 0
  for _, weight in ipairs(weights) do
    total = total + weight[2]:numel() * core.full({ 1 }, 0, weight[2].dtype):bytes():len()
  end
  return total
end

-- ---- the check

local TOLERANCE = { f64 = 1e-9, f32 = 1e-4, f16 = 1e-2, bf16 = 4e-2 }

-- How a value differs from what it should be, or nil. NaN equals NaN.
local function difference(i, wanted, got)
  if not got or wanted.dtype ~= got.dtype then
    return ("result %d is %s, not %s"):format(i, got and got.dtype or "missing", wanted.dtype)
  end
  for d, size in ipairs(wanted.shape) do
    if got.shape[d] ~= size or #got.shape ~= #wanted.shape then
      return ("result %d has the shape [%s], not [%s]"):format(i, table.concat(got.shape, ", "),
        table.concat(wanted.shape, ", "))
    end
  end
  local most = TOLERANCE[wanted.dtype]
  if not most then
    return got:bytes() ~= wanted:bytes() and ("result %d has other values"):format(i) or nil
  end
  local x, y = wanted:to "f64", got:to "f64"
  local near = x:isclose(y, { rtol = most, atol = most, equal_nan = true })
  if near:all():item() then return nil end
  return ("result %d is off by %g"):format(i, (x - y):abs():amax():item())
end

-- What differs between the file and the graph on the examples.
local function check(path, places, wanted, examples)
  local got = table.pack(read(path, { places = places }):run(examples))
  for i, value in ipairs(wanted) do
    local wrong = difference(i, value, got[i])
    if wrong then return wrong end
  end
  return nil
end

local function remove(...)
  for _, path in ipairs { ... } do os.remove(path) end
end

--- Writes the file; true, or nil, message, code.
-- what: { graph, state = { name = tensor }, examples, run = a function: its results on them }
function export.write(path, what, o)
  local model, weights = model_of(what.graph, what.state, o)
  local wanted = what.run()
  local part, data, data_part = path .. ".new", path .. ".data", path .. ".data.new"
  local outside, tensors, message = o.external or bytes_of(weights) > INLINE_MOST, {}, nil
  if outside then
    tensors, message = write_data(data_part, base_name(data), weights)
    if not tensors then return nil, "export: " .. message, "SGL_EFILE" end
  else
    for i, weight in ipairs(weights) do tensors[i] = values.write(weight[1], weight[2]) end
  end
  model.graph.initializer = table.move(model.graph.initializer, 1, #model.graph.initializer,
    #tensors + 1, tensors)
  local ok, why, code = core.write(part, wire.encode("Model", model))
  if not ok then
    remove(data_part)
    return nil, "export: " .. why, code
  end
  local fine, wrong = pcall(check, part, { [base_name(data)] = data_part }, wanted,
    what.examples)
  if not fine or wrong then
    remove(part, data_part)
    return nil, ("export: %s was not kept: read back, %s"):format(path, tostring(wrong)),
      "SGL_EUNSUP"
  end
  if outside then ok, why, code = core.keep(data_part, data) end
  if ok then ok, why, code = core.keep(part, path) end
  if not ok then return nil, why, code end
  return true
end

return export
