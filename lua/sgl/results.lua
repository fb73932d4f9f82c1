-- results.lua: what a compiled function returns: at each call what the function itself would.
--
-- In:    the values that the step returned when it was captured.
-- Out:   a plan for each, and the tensors among them, which the program gives; from a plan and a
--        call, the value.
-- Holds: what was there before the step is returned itself, arguments as the objects of the call.
--        Tables that the step made are made again at each call, with their metatables, and what
--        comes twice is one object. Numbers computed of numbers are numbers, sizes are those of
--        the call. What cannot be made again is a break: functions with variables of the step,
--        coroutines, objects of the library.
local api = require "sgl.api"
local core = require "sgl.core"

local results = {}

local MOST_DEPTH = 32
local BASIC = { ["nil"] = true, boolean = true, number = true, string = true }
local ORDER = { number = 1, string = 2, boolean = 3 }

-- A function of Lua is pointed at itself.
local function refuse(state, what, fn)
  local own = fn and debug.getinfo(fn, "S").what ~= "C"
  core.break_result(what .. " of the step", own and fn or state.fn)
end

-- The keys in an order that is the same in every process: the outputs follow it.
local function sorted_keys(state, v)
  local keys = {}
  for key in next, v do
    if not ORDER[type(key)] then
      refuse(state, ("a table with %s as a key, among the results"):format(api.describe(key)))
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

local function metatable_of(state, v)
  local meta = debug.getmetatable(v)
  if meta == nil or meta == core.Tensor.__shape then return meta end
  if core.whence(meta) ~= "outside" or api.is_class(meta) then
    refuse(state, ("an object (%s), among the results"):format(rawget(meta, "__name") or "a table "
      .. "with a metatable"))
  end
  return meta
end

local plan_of

local function plan_table(state, v, depth)
  if depth > MOST_DEPTH then
    refuse(state, ("a table nested deeper than %d, among the results"):format(MOST_DEPTH))
  end
  local items = {}
  local plan = { items = items, meta = metatable_of(state, v) }
  state.seen[v] = plan
  for i, key in ipairs(sorted_keys(state, v)) do
    items[i] = { key, plan_of(state, rawget(v, key), depth + 1) }
  end
  return plan
end

local function plan_made(state, v, number, depth)
  if core.is_tensor(v) or number then
    state.outputs[#state.outputs + 1] = v
    state.seen[v] = { leaf = #state.outputs, number = number }
  elseif core.is_dim(v) then
    state.sizes[#state.sizes + 1] = v
    state.seen[v] = { size = #state.sizes }
  elseif type(v) == "table" then
    return plan_table(state, v, depth)
  elseif type(v) == "function" then
    refuse(state, "a function that has variables of the step, among the results", v)
  else
    refuse(state, ("a %s, among the results"):format(type(v)))
  end
  return state.seen[v]
end

function plan_of(state, v, depth)
  if BASIC[type(v)] then return { value = v } end
  if state.seen[v] then return state.seen[v] end
  local whence, detail = core.whence(v)
  if whence == "outside" then return { value = v } end
  if whence == "argument" then return { argument = detail } end
  if state.tables[v] then return { table = state.tables[v] } end
  return plan_made(state, v, detail, depth)
end

--- The plans of the packed results of a step whose capture is on, and the list of the tensors that
--- the program must give. `tables` are the stand-ins for tables among the arguments, each with its
--- number; fn is the step.
function results.plan(packed, tables, fn)
  local state = { outputs = {}, sizes = {}, seen = {}, tables = tables, fn = fn }
  local plans = { n = packed.n, sizes = state.sizes }
  for i = 1, packed.n do plans[i] = plan_of(state, packed[i], 1) end
  return plans, state.outputs
end

local build

local function build_table(plan, call)
  local made = call.made[plan]
  if made then return made end
  made = {}
  call.made[plan] = made
  for _, item in ipairs(plan.items) do made[item[1]] = build(item[2], call) end
  return plan.meta and setmetatable(made, plan.meta) or made
end

function build(plan, call)
  if plan.leaf then
    local t = call.outputs[plan.leaf]
    if not plan.number then return t end
    local value = t:item()
    return plan.number == "integer" and math.tointeger(value) or value
  elseif plan.items then
    return build_table(plan, call)
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
  local plain = plans.n == n and #plans.sizes == 0
  for i = 1, plans.n do plain = plain and plans[i].leaf == i and not plans[i].number end
  return plain
end

--- The results of a call: `outputs` of the program, the run-time inputs and the tables among the
--- arguments.
function results.build(plans, program, outputs, leaves, tables)
  local call = { outputs = outputs, leaves = leaves, tables = tables, made = {} }
  if plans.sizes[1] then call.sizes = program:sizes(leaves, plans.sizes) end
  local values = {}
  for i = 1, plans.n do values[i] = build(plans[i], call) end
  return table.unpack(values, 1, plans.n)
end

return results
