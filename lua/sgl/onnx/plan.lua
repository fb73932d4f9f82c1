-- onnx/plan.lua: which nodes of a graph are written, and as what.
--
-- In:    a scope.
-- Out:   in the scope, the names of all values that outputs need.
-- Holds: two walks over the list of nodes, neither recursive: backwards, to find what is needed and
--        as what (a composite as one op where onnx/composites.lua knows it, else node by node),
--        then forwards, to write it. Inputs of a node stand before it, so both see each node
--        once.
local composites = require "sgl.onnx.composites"
local control = require "sgl.onnx.control"
local rows = require "sgl.onnx.rows"

local plan = {}

-- ---- composites

-- The nodes between the inputs of a composite and its output.
local function inner_nodes(s, c)
  local seen, list = {}, { c.output }
  for _, id in ipairs(c.inputs) do seen[id] = true end
  if seen[c.output] then return {} end
  seen[c.output] = true
  local at = 1
  while list[at] do
    local n = s.by_id[list[at]]
    list[at] = n
    for _, id in ipairs(n.inputs) do
      if not seen[id] then
        seen[id] = true
        list[#list + 1] = id
      end
    end
    at = at + 1
  end
  return list
end

-- The outermost composite that ends in each node and has a row.
local function composites_by_output(s)
  local by_output = {}
  for _, c in ipairs(s.graph:composites()) do
    if composites[c.name] and not by_output[c.output] then by_output[c.output] = c end
  end
  return by_output
end

-- ---- elementwise ops, which broadcast by themselves in ONNX

-- Whether a shape has only dims of size 1 in front of the other one.
local function only_wider(s, from, to)
  local more = #to - #from
  for i, size in ipairs(to) do
    if s.text(size) ~= (i <= more and "1" or s.text(from[i - more])) then return false end
  end
  return more >= 0
end

-- What is left of an operand without what only repeats it: its id, and the shape that it has then.
-- A constant without dims is one of any shape.
local function stripped(s, id)
  local n = s.by_id[id]
  if n.op == "broadcast" then n = s.by_id[n.inputs[1]] end
  if n.op == "reshape" and only_wider(s, s.by_id[n.inputs[1]].shape, n.shape) then
    n = s.by_id[n.inputs[1]]
  end
  if n.op == "const" then return n.id, {} end
  return n.id, n.shape
end

-- Whether shapes that broadcast give `shape`.
local function gives(s, shapes, shape)
  for d = 0, #shape - 1 do
    local found = s.text(shape[#shape - d]) == "1"
    for _, own in ipairs(shapes) do
      local size = own[#own - d]
      found = found or size and s.text(size) == s.text(shape[#shape - d])
    end
    if not found then return false end
  end
  for _, own in ipairs(shapes) do
    if #own == #shape then return true end
  end
  return #shape == 0
end

-- The operands as they are written: without broadcasts where the others have the shape.
local function operands(s, n)
  local ids, shapes = {}, {}
  for i, id in ipairs(n.inputs) do ids[i], shapes[i] = stripped(s, id) end
  for i, id in ipairs(n.inputs) do
    if gives(s, shapes, n.shape) then break end
    ids[i], shapes[i] = id, s.by_id[id].shape
  end
  return ids, shapes
end

-- An operand by its name: a constant that the others broadcast is written as a number.
local function operand_names(s, ids, shapes)
  local names = {}
  for i, id in ipairs(ids) do
    local n = s.by_id[id]
    names[i] = n.op == "const" and #shapes[i] == 0 and s:scalar(n.attrs.value or 0, n.dtype)
      or s:value(id)
  end
  return names
end

-- ---- both walks

-- How a node is written: the ids it needs, and a function that gives its name.
local function planned(s, n, by_output)
  local c = by_output[n.id]
  local as_one = c and composites[c.name](s, c, inner_nodes(s, c))
  if as_one then
    return as_one.inputs, function() return as_one.write(s:values(as_one.inputs)) end
  end
  if control.is(n) then return control.plan(s, n) end
  local row = rows[n.op]
  if not row then return rows.refuse(s, n) end
  if #n.inputs > 1 and rows.elementwise(n.op) then
    local ids, shapes = operands(s, n)
    local needed = {}
    for i, id in ipairs(ids) do
      if not (s.by_id[id].op == "const" and #shapes[i] == 0) then needed[#needed + 1] = id end
    end
    return needed, function() return row(s, n, table.unpack(operand_names(s, ids, shapes))) end
  end
  return n.inputs, function() return row(s, n, table.unpack(s:values(n.inputs))) end
end

--- Writes all that the ids need; inputs have their names already.
function plan.write(s, ids)
  local needed, write, by_output = {}, {}, composites_by_output(s)
  for _, id in ipairs(ids) do needed[id] = true end
  for i = #s.list, 1, -1 do
    local n = s.list[i]
    if needed[n.id] and not s.names[n.id] then
      local inputs, fn = planned(s, n, by_output)
      write[n.id] = fn
      for _, id in ipairs(inputs) do needed[id] = true end
    end
  end
  for _, n in ipairs(s.list) do
    if write[n.id] then s.names[n.id] = write[n.id]() end
  end
end

control.write = plan.write             -- blocks are written as graphs are

return plan
