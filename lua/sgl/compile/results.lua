-- results.lua: what a compiled function returns: at each call what the function itself would.
--
-- In:    the values that the step returned when it was captured.
-- Out:   a plan for each, and the tensors among them, which the program gives; from a plan and a
--        call, the value.
--        What the step wrote to what was there before is written at each call.
-- Holds: what was there before the step is returned itself, arguments as the objects of the call.
--        Tables that the step made are made again at each call, with their metatables, and what
--        comes twice is one object. Numbers computed of numbers are numbers, sizes are those of
--        the call. What cannot be made again is a break: functions with variables of the step,
--        coroutines, objects of the library.
local api = require "sgl.api"
local core = require "sgl.core"

local tree = require "sgl.tree"

local results = {}

local BASIC = { ["nil"] = true, boolean = true, number = true, string = true }
local ORDER = { number = 1, string = 2, boolean = 3 }

-- A function of Lua is pointed at itself.
local function refuse(walk, what, fn)
  local own = fn and debug.getinfo(fn, "S").what ~= "C"
  core.break_result(what .. " of the step", own and fn or walk.fn)
end

local Results = tree.walk {}

-- An order that is the same in every process: the outputs follow it.
function Results:keys(v)
  local keys = {}
  for key in next, v do
    if not ORDER[type(key)] then
      refuse(self, ("a table with %s as a key, among the results"):format(api.describe(key)))
    end
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    if type(a) ~= type(b) then return ORDER[type(a)] < ORDER[type(b)] end
    if type(a) == "boolean" then return b and not a end
    return a < b
  end)
  return keys
end

function Results:meta(v)
  local meta = debug.getmetatable(v)
  if meta == nil or meta == core.Tensor.__shape then return meta end
  if core.whence(meta) ~= "outside" or api.is_class(meta) then
    refuse(self, ("an object (%s), among the results"):format(rawget(meta, "__name") or "a table "
      .. "with a metatable"))
  end
  return meta
end

function Results:too_deep(_, most)
  refuse(self, ("a table nested deeper than %d, among the results"):format(most))
end

function Results:enter(plan, v) self.seen[v] = plan end

-- What the step made, and is no table.
local function made_plan(walk, v, number)
  local plan
  if core.is_tensor(v) or number then
    walk.outputs[#walk.outputs + 1] = v
    plan = { leaf = #walk.outputs, number = number }
  elseif core.is_dim(v) then
    walk.sizes[#walk.sizes + 1] = v
    plan = { size = #walk.sizes }
  elseif type(v) == "table" then
    return nil
  elseif type(v) == "function" then
    refuse(walk, "a function that has variables of the step, among the results", v)
  else
    refuse(walk, ("a %s, among the results"):format(type(v)))
  end
  walk.seen[v] = plan
  return plan
end

function Results:leaf(v)
  if BASIC[type(v)] then return { value = v } end
  if self.seen[v] then return self.seen[v] end
  local whence, detail = core.whence(v)
  if whence == "outside" then return { value = v } end
  if whence == "argument" then return { argument = detail } end
  if self.tables[v] then return { table = self.tables[v] } end
  return made_plan(self, v, detail)
end

-- The plans of what the step wrote to what was there before: { container, or the number of a table
-- among the arguments, key, behind, plan }. The first places are those that have stand-ins.
local function write_plans(walk, stand_ins)
  local writes = {}
  for i, place in ipairs(core.written()) do
    local container, key, value = place[1], place[2], place[4]
    if i > stand_ins.n or not rawequal(value, stand_ins[i]) then
      writes[#writes + 1] = { table = walk.tables[container], container = container, key = key,
                              behind = place.behind, plan = walk:plan(value) }
    end
  end
  return #writes > 0 and writes or nil
end

--- The plans of the packed results of a step whose capture is on, and the list of the tensors that
--- the program must give. `tables` are the stand-ins for tables among the arguments, each with its
--- number; fn is the step; stand_ins those of places.
function results.plan(packed, tables, fn, stand_ins)
  local walk = setmetatable({ outputs = {}, sizes = {}, seen = {}, tables = tables, fn = fn },
    Results)
  local plans = { n = packed.n, sizes = walk.sizes }
  for i = 1, packed.n do plans[i] = walk:plan(packed[i]) end
  plans.writes = write_plans(walk, stand_ins)
  return plans, walk.outputs
end

-- What is no table that the step made, in a call.
local function value_of(plan, call)
  if plan.leaf then
    local t = call.outputs[plan.leaf]
    if not plan.number then return t end
    local value = t:item()
    return plan.number == "integer" and math.tointeger(value) or value
  elseif plan.argument then
    return call.leaves[plan.argument]
  elseif plan.table then
    return call.tables[plan.table]
  elseif plan.size then
    return call.sizes[plan.size]
  end
  return plan.value
end

--- Are the results the n outputs of the program, as they come?
function results.are_plain(plans, n)
  local plain = plans.n == n and #plans.sizes == 0 and not plans.writes
  for i = 1, plans.n do plain = plain and plans[i].leaf == i and not plans[i].number end
  return plain
end

--- The results of a call: `outputs` of the program, the run-time inputs and the tables among the
--- arguments.
function results.build(plans, program, outputs, leaves, tables)
  local call, made = { outputs = outputs, leaves = leaves, tables = tables }, {}
  if plans.sizes[1] then call.sizes = program:sizes(leaves, plans.sizes) end
  local values = {}
  for i = 1, plans.n do values[i] = tree.build(plans[i], value_of, made, call) end
  for _, write in ipairs(plans.writes or {}) do
    core.write_back(write.table and tables[write.table] or write.container, write.key,
      tree.build(write.plan, value_of, made, call), write.behind)
  end
  return table.unpack(values, 1, plans.n)
end

return results
