-- onnx/ops.lua: the table of the operators that are imported: one row per operator.
--
-- A row: op(name, { since = oldest opset read (OLDEST), attrs = "names of its attributes",
--                   inputs = { least, most }, known = function for known values }, function).
-- The function gets the context, the attributes by name and the inputs as tensors (nil where one is
-- left out), and returns the outputs in order. With `raw = true` inputs may be known values
-- (onnx/known.lua) too. `known` has the same arguments, all known; nil: it leaves the work to the
-- function.
-- Holds: an attribute that the row does not name is refused, since it would change what is meant;
--        so is an operator without a row.
local core = require "sgl.core"
local known = require "sgl.onnx.known"
local values = require "sgl.onnx.values"

local raise = core.raise

local ops = { rows = {}, OLDEST = 7, NEWEST = 28 }

local Context = {}
Context.__index = Context
ops.Context = Context

function ops.op(name, row, fn)
  row.name, row.fn, row.allowed = name, fn, {}
  row.since = row.since or ops.OLDEST
  for word in (row.attrs or ""):gmatch "%S+" do row.allowed[word] = true end
  ops.rows[name] = row
end

-- ---- what rows ask

--- Refuses a node, with its name, operator and opset.
function Context:refuse(why, way_out, code)
  local node = self.node
  raise(code or "SGL_EUNSUP", ("%s: node %s: %s of opset %d: %s"):format(self.model.path,
    core.quote(node.name or node.output[1] or ""), node.op_type, self.opset, why), way_out)
end

--- An input as a tensor.
function Context.tensor(_, v) return known.is(v) and v:tensor() or v end

--- The elements of a value that must be known while the model is recorded.
function Context:list(v, what)
  if known.is(v) then return v:list() end
  if core.capturing() then
    self:refuse(("the %s must be known while a step is recorded"):format(what),
      "call the model outside sgl.compile, or give numbers in the place of such inputs")
  end
  return values.numbers(v:bytes(), v.dtype)
end

--- A single element likewise.
function Context:single(v, what) return self:list(v, what)[1] end

--- An axis that counts from 0 or from the end, as one from 1.
function Context:axis(axis, rank)
  local at = axis < 0 and axis + rank or axis
  if at < 0 or at >= rank then
    self:refuse(("axis %d, but there are %d dims"):format(axis, rank), nil, "SGL_ESHAPE")
  end
  return at + 1
end

--- Axes of a list, as a list from 1.
function Context:axes(list, rank)
  local out = {}
  for i, axis in ipairs(list) do out[i] = self:axis(axis, rank) end
  return out
end

--- Axes that were an attribute until `opset` and are the input v from there on; nil: none given.
function Context:axes_given(a, v, opset, rank)
  if self.opset >= opset then
    if v == nil then return nil end
    return self:axes(self:list(v, "axes"), rank)
  end
  return a.axes and self:axes(a.axes, rank)
end

return ops
