-- onnx/import/control.lua: If, Loop and Scan.
--
-- What is known while a model is recorded decides at once: the branch of an If, the end of a Loop.
-- Outside sgl.compile all values can be read, so this is always so. Inside, the others become
-- sgl.cond, sgl.loop and sgl.scan.
-- Holds: names of a body are its own; what it does not have it finds in the graph around it.
local api = require "sgl.api"
local core = require "sgl.core"
local known = require "sgl.onnx.known"
local ops = require "sgl.onnx.ops"
local values = require "sgl.onnx.values"

local op, root, unpack = ops.op, api.root, table.unpack

-- All values as tensors.
local function tensors(c, list)
  for i = 1, #list do list[i] = c:tensor(list[i]) end
  return list
end

-- The truth of a single bool if it can be had now, else nil.
local function truth(c, v)
  if known.is(v) or not core.capturing() then
    local value = c:single(v, "condition")
    return value == true or value == 1
  end
  return nil
end

local function run(c, graph, values)
  local given = {}
  for i, input in ipairs(graph.input) do given[input.name] = values[i] end
  return c.model:run_graph(graph, c.scope, given)
end

op("If", { inputs = { 1, 1 }, attrs = "then_branch else_branch", raw = true }, function(c, a, v)
  if not a.then_branch or not a.else_branch then c:refuse "a branch is missing" end
  local taken = truth(c, v)
  if taken ~= nil then return unpack(run(c, taken and a.then_branch or a.else_branch, {})) end
  return unpack(root.cond(c:tensor(v):reshape {},
    function() return tensors(c, run(c, a.then_branch, {})) end,
    function() return tensors(c, run(c, a.else_branch, {})) end))
end)

-- ---- Loop

-- A loop whose end only the values at a run tell.
local function recorded(c, a, most, condition, carry)
  if #a.body.output > 1 + #carry then
    c:refuse("what each turn gives is kept, and only the values at a run tell how many there are")
  end
  local state = { c:tensor(condition):reshape {}, core.full({}, 0, "i64"),
    unpack(tensors(c, carry)) }
  local last = root.loop(function(s) return s[1] end, function(s)
    local out = tensors(c, run(c, a.body, { s[2], s[1], unpack(s, 3) }))
    return { out[1]:reshape {}, s[2] + 1, unpack(out, 2) }
  end, state, { max = most })
  return unpack(last, 3)
end

-- What turns gave, stacked; of no turn, nothing of the shape that the body says.
local function stacked(c, a, lists, first)
  local out = {}
  for i, list in ipairs(lists) do
    if #list == 0 then
      local type_of = a.body.output[first + i].type
      local shape = { 0 }
      for _, dim in ipairs(type_of and type_of.tensor_type and type_of.tensor_type.shape
        and type_of.tensor_type.shape.dim or {}) do shape[#shape + 1] = dim.dim_value or 0 end
      out[i] = core.full(shape, 0, values.dtype(type_of and type_of.tensor_type.elem_type or 1))
    else
      out[i] = root.stack(tensors(c, list), 1)
    end
  end
  return out
end

local MOST_TURNS = 1 << 20

op("Loop", { inputs = { 2, 1 << 10 }, attrs = "body", raw = true }, function(c, a, trips, v, ...)
  local carry = { ... }
  if not a.body or #a.body.output < 1 + #carry then c:refuse "a body that does not fit" end
  local most = trips and c:single(trips, "number of turns") or MOST_TURNS
  local more, given, turn, lists = true, v, 0, {}
  if v ~= nil then more = truth(c, v) end
  for i = 1, #a.body.output - 1 - #carry do lists[i] = {} end
  while more and turn < most do
    local condition = given or known.new("bool", {}, { true })
    local before = table.move(carry, 1, #carry, 1, {})
    local out = run(c, a.body, { known.new("i64", {}, { turn }), condition, unpack(carry) })
    for i = 1, #carry do carry[i] = out[i + 1] end
    for i, list in ipairs(lists) do list[turn + 1] = out[1 + #carry + i] end
    turn, more, given = turn + 1, truth(c, out[1]), out[1]
    if more == nil then carry = before break end
  end
  if more == nil then
    return recorded(c, a, most, v == nil and known.new("bool", {}, { true }) or v, { ... })
  end
  local kept = stacked(c, a, lists, 1 + #carry)
  return unpack(table.move(kept, 1, #kept, #carry + 1, carry))
end)

-- ---- Scan

local function axis_of(c, list, i, rank) return c:axis(list and list[i] or 0, rank) end

op("Scan", { since = 9, inputs = { 1, 1 << 10 }, attrs = "body num_scan_inputs scan_input_axes "
  .. "scan_input_directions scan_output_axes scan_output_directions" }, function(c, a, ...)
  local all, n = { ... }, a.num_scan_inputs or 0
  local states = #all - n
  if not a.body or n < 1 or states < 0 then c:refuse "a body that does not fit" end
  local carry, xs = table.move(all, 1, states, 1, {}), {}
  for i = 1, n do
    local x = all[states + i]
    local axis = axis_of(c, a.scan_input_axes, i, x.ndim)
    x = axis > 1 and x:movedim(axis, 1) or x
    if a.scan_input_directions and a.scan_input_directions[i] == 1 then x = x:flip(1) end
    xs[i] = x
  end
  local last, ys = root.scan(function(before, now)
    local values = table.move(now, 1, n, states + 1, { unpack(before, 1, states) })
    local out = tensors(c, run(c, a.body, values))
    return { unpack(out, 1, states) }, { unpack(out, states + 1) }
  end, carry, xs)
  for i, y in ipairs(ys) do
    if a.scan_output_directions and a.scan_output_directions[i] == 1 then y = y:flip(1) end
    local axis = axis_of(c, a.scan_output_axes, i, y.ndim)
    last[states + i] = axis > 1 and y:movedim(1, axis) or y
  end
  return unpack(last)
end)
