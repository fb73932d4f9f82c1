-- onnx/control.lua: cond, scan and loop as If, Scan and Loop.
--
-- In:    a scope and a control node (src/ir/control.h), or a node that reads one of its results.
-- Out:   the ids that it needs, and a function that writes it, as onnx/plan.lua asks.
-- Holds: what a block is given from outside is read by its outer name, as ONNX allows; carries and
--        slices are inputs of the body. A branch or body that gives what lies outside gives an
--        Identity of it.
local Scope = require "sgl.onnx.scope"

local control = {}

-- The block of a number, as a scope inside s.
local function block(s, number)
  s.blocks = s.blocks or s.graph:blocks()
  return Scope.new(s.blocks[number + 1], s)
end

-- Writes a block whose inputs have their names, and ends it. `before`: outputs in front of its own.
local function finish(sub, name, inputs, extra)
  local ids, ends = {}, {}
  for i, output in ipairs(sub.graph:outputs()) do ids[i] = output.id end
  control.write(sub, ids)
  for i, output in ipairs(sub.graph:outputs()) do
    ends[i] = Scope.typed(sub:value(ids[i]), output)
  end
  for _, value in ipairs(extra or {}) do ends[#ends + 1] = value end
  return { graph = sub:finish(name, inputs, ends) }
end

-- Names for the inputs of a block from `first` to `last`, as inputs of its graph.
local function own_inputs(sub, first, last, hint, list)
  local inputs = sub.graph:inputs()
  for i = first, last do
    local name = sub:name(hint)
    sub.names[inputs[i].id] = name
    list[#list + 1] = Scope.typed(name, inputs[i])
  end
  return list
end

-- The others are what they are outside.
local function outer_inputs(sub, first, names)
  for i, input in ipairs(sub.graph:inputs()) do
    if i >= first then sub.names[input.id] = names[i] end
  end
end

local function cond(s, n, names)
  local function branch(number, name)
    local sub = block(s, number)
    outer_inputs(sub, 1, table.move(names, 2, #names, 1, {}))
    return finish(sub, name, {})
  end
  local yes, no = branch(n.attrs["then"], "then"), branch(n.attrs["else"], "else")
  return { s:op("If", { names[1] }, { then_branch = yes, else_branch = no },
    #yes.graph.output) }
end

local function scan(s, n, names)
  local carries, xs, sub = n.attrs.carry, n.attrs.xs, block(s, n.attrs.body)
  local inputs = own_inputs(sub, 1, carries, "carry", {})
  own_inputs(sub, carries + 1, carries + xs, "slice", inputs)
  outer_inputs(sub, carries + xs + 1, names)
  local read = table.move(names, 1, carries + xs, 1, {})
  if xs == 0 then                            -- something has to be gone through
    read[#read + 1] = s:op("Range", { s:integer(0), s:op("Squeeze", { s:size(n.attrs.length[1]) }),
      s:integer(1) })
    inputs[#inputs + 1] = Scope.typed(sub:name "step", { dtype = "i64", shape = {} })
  end
  local body = finish(sub, "body", inputs)
  local attrs = { body = body, num_scan_inputs = math.max(xs, 1) }
  if n.attrs.reverse == 1 then
    attrs.scan_input_directions, attrs.scan_output_directions = {}, {}
    for i = 1, math.max(xs, 1) do attrs.scan_input_directions[i] = 1 end
    for i = 1, #body.graph.output - carries do attrs.scan_output_directions[i] = 1 end
    if #attrs.scan_output_directions == 0 then attrs.scan_output_directions = nil end
  end
  return { s:op("Scan", read, attrs, #body.graph.output) }
end

-- Whether some node reads result `out` of n.
local function reads(s, n, out)
  for _, other in ipairs(s.list) do
    if other.op == "result" and other.inputs[1] == n.id and (other.attrs.out or 0) == out then
      return true
    end
  end
  return false
end

local function loop(s, n, names)
  local carries, sub = n.attrs.carry, block(s, n.attrs.body)
  if reads(s, n, 0) then s:blocked(n, "the last condition of a loop is read") end
  local inputs = { Scope.typed(sub:name "turn", { dtype = "i64", shape = {} }) }
  own_inputs(sub, 1, carries, "carry", inputs)
  outer_inputs(sub, carries + 1, names)
  local given = { s:integer(n.attrs.max), table.unpack(names, 1, carries) }
  local extra
  if reads(s, n, carries) then               -- the number of turns: a carry of its own
    local count = sub:name "count"
    inputs[#inputs + 1] = Scope.typed(count, { dtype = "i32", shape = {} })
    given[#given + 1] = s:scalar(0, "i32")
    extra = { Scope.typed(sub:op("Add", { count, s:scalar(1, "i32") }),
      { dtype = "i32", shape = {} }) }
  end
  local body = finish(sub, "body", inputs, extra)
  return { false, s:op("Loop", given, { body = body }, #given - 2) }
end

local WRITE = { cond = cond, scan = scan, loop = loop }

--- Whether the node is one of those that are written here.
function control.is(n) return WRITE[n.op] ~= nil or n.op == "result" end

--- How it is written.
function control.plan(s, n)
  if n.op == "result" then
    return n.inputs, function()
      local name = s:value(n.inputs[1])[(n.attrs.out or 0) + 1]
      return name or s:blocked(n, "what a gradient keeps of each step is read")
    end
  end
  return n.inputs, function()
    local list = WRITE[n.op](s, n, s:values(n.inputs))
    return (n.op == "cond" and #list == 1) and list[1] or list
  end
end

return control
