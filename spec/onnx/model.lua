-- model.lua: small ONNX files for specs, written by the wire writer.
--
-- In:    { opset (20), ir (9), inputs = { { name, dtype, sizes or nil } }, outputs = { names },
--          constants = { { name, tensor } }, nodes = { { op, { inputs }, { outputs },
--          { attributes }, domain } } }; an attribute is a number, a text, a list of numbers, a
--        tensor, or such a table for a graph.
-- Out:   the bytes; or what the model gives for arguments.

local sgl = require "sgl"
local core = require "sgl.core"
local values = require "sgl.onnx.values"
local wire = require "sgl.onnx.wire"
local support = require "spec.support"

local M = {}

local function attribute(name, v)
  local a = { name = name }
  if core.is_tensor(v) then a.type, a.t = 4, values.write(nil, v)
  elseif type(v) == "table" and v.nodes then a.type, a.g = 5, M.graph(v)
  elseif type(v) == "table" and math.type(v[1]) == "float" then a.type, a.floats = 6, v
  elseif type(v) == "table" and type(v[1]) == "string" then a.type, a.strings = 8, v
  elseif type(v) == "table" then a.type, a.ints = 7, v
  elseif type(v) == "string" then a.type, a.s = 3, v
  elseif math.type(v) == "integer" then a.type, a.i = 2, v
  else a.type, a.f = 1, v end
  return a
end

local function typed(v)
  local dims
  for i, size in ipairs(v[3] or {}) do
    dims = dims or {}
    dims[i] = type(size) == "string" and { dim_param = size } or { dim_value = size }
  end
  return { name = v[1], type = { tensor_type = { elem_type = values.number(v[2]),
    shape = v[3] and { dim = dims or {} } or nil } } }
end

function M.graph(o)
  local g = { name = "g", node = {}, input = {}, output = {}, initializer = {} }
  for i, row in ipairs(o.nodes) do
    local attributes = {}
    for name, v in pairs(row[4] or {}) do attributes[#attributes + 1] = attribute(name, v) end
    g.node[i] = { op_type = row[1], input = row[2], output = row[3], name = row[1] .. i,
      attribute = attributes, domain = row[5] }
  end
  for i, v in ipairs(o.inputs or {}) do g.input[i] = typed(v) end
  for i, name in ipairs(o.outputs) do g.output[i] = { name = name } end
  for i, v in ipairs(o.constants or {}) do
    g.initializer[i] = core.is_tensor(v[2]) and values.write(v[1], v[2]) or v[2]
  end
  return g
end

--- The message of a model.
function M.message(o)
  return { ir_version = o.ir or 9, opset_import = { { version = o.opset or 20 } },
    graph = M.graph(o) }
end

function M.bytes(o) return wire.encode("Model", M.message(o)) end

--- The model of a file written to a path and read back.
function M.load(path, o)
  support.write(path, M.bytes(o))
  return assert(sgl.import(path))
end

--- One operator on tensors as the inputs x1, x2, … (false: left out), with attributes: its outputs.
function M.run(path, opset, op, inputs, attrs, count)
  local o = { opset = opset, inputs = {}, outputs = {}, nodes = { { op, {}, {}, attrs } } }
  local given = {}
  for i, x in ipairs(inputs) do
    o.nodes[1][2][i] = x and "x" .. i or ""
    if x then
      o.inputs[#o.inputs + 1] = { "x" .. i, x.dtype }
      given[#given + 1] = x
    end
  end
  for i = 1, count or 1 do o.outputs[i], o.nodes[1][3][i] = "y" .. i, "y" .. i end
  return M.load(path, o)(table.unpack(given))
end

return M
