-- tree.lua: nested tables: the one walk through them, and values made again from what it saw.
--
-- In:    a value, and a Walk that says what is done with what is no table to go through.
-- Out:   a plan of the value: { items = { { key, plan }, … }, meta } for a table; for the rest what
--        the walk's `leaf` returns. From a plan and what its leaves are now the value is made anew.
-- Holds: keys are taken in an order of their own (positions, then names), so equal values have
--        equal plans in every process.
local api = require "sgl.api"
local core = require "sgl.core"

local tree = {}

local MOST_DEPTH = 32

--- Is v a table that is nothing but data? A shape is, though it prints and compares.
function tree.is_plain(v)
  local meta = type(v) == "table" and getmetatable(v)
  return meta == nil or meta == core.Tensor.__shape
end

-- The walk, whose methods a user of it replaces:
--   leaf(v, name, more)      the plan of v; nil: a table to go through
--   keys(v, more)            its keys, in order
--   meta(v)                  the metatable that a table made again gets
--   enter(plan, v, name)     before the items of a table; `leave` after them
--   item(key, name, more)    what `name` and `more` are for the value at a key
--   too_deep(name)           raises
-- `what` begins messages.
local Walk = {}
Walk.__index = Walk

function Walk:keys(v)
  local keys = {}
  for key in pairs(v) do
    if type(key) ~= "string" and type(key) ~= "number" then
      core.raise("SGL_EARG", ("%s: a table has %s as a key"):format(self.what, api.describe(key)),
        "keys are names and positions")
    end
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    if type(a) ~= type(b) then return type(a) == "number" end
    return a < b
  end)
  return keys
end

function Walk.meta() return nil end
function Walk.enter() end
function Walk.leave() end
function Walk.item() return nil end

--- The plan of v, which is called `name` and for which `more` holds, if the walk knows of such.
function Walk:plan(v, name, more, depth)
  local plan = self:leaf(v, name, more)
  depth = depth or 1
  if plan then return plan end
  if depth > MOST_DEPTH then self:too_deep(name, MOST_DEPTH) end
  local items = {}
  plan = { items = items, meta = self:meta(v) }
  self:enter(plan, v, name)
  for i, key in ipairs(self:keys(v, more)) do
    local below, further = self:item(key, name, more)
    items[i] = { key, self:plan(rawget(v, key), below, further, depth + 1) }
  end
  self:leave(plan, name)
  return plan
end

--- A walk with its own methods.
function tree.walk(methods)
  methods.__index = methods
  return setmetatable(methods, Walk)
end

--- The value of a plan: `leaf(plan, arg)` gives those that are no tables. `made` has the tables
--- that are there already, by plan, and gets the others: a plan that comes twice is one table.
function tree.build(plan, leaf, made, arg)
  if not plan.items then return leaf(plan, arg) end
  if made[plan] then return made[plan] end
  local result = {}
  made[plan] = result
  for _, item in ipairs(plan.items) do result[item[1]] = tree.build(item[2], leaf, made, arg) end
  return plan.meta and setmetatable(result, plan.meta) or result
end

-- ---- tables of tensors as flat lists and back

local Flat = tree.walk {}

function Flat:leaf(v)
  if v == nil then return {} end
  if core.is_tensor(v) or type(v) == "number" or type(v) == "boolean" or core.weak(v) then
    local leaves = self.leaves
    leaves[#leaves + 1] = core.is_tensor(v) and v or core.tensor(v)
    return { leaf = #leaves, type = api.describe(leaves[#leaves]) }
  elseif not tree.is_plain(v) then
    core.raise("SGL_EARG", ("%s: %s is neither a tensor nor a table of tensors"):format(self.what,
      api.describe(v)), "tensors, numbers, booleans, nil and plain tables of them can stand there")
  end
end

function Flat:too_deep(_, most)
  core.raise("SGL_EARG", ("%s: a table is nested more than %d deep"):format(self.what, most),
    "does it contain itself?")
end

--- Adds the tensors in v to `leaves`: a tensor, a number or boolean (made a tensor), nil, or plain
--- tables of them. Returns the plan. `what` begins messages.
function tree.flatten(what, v, leaves)
  return setmetatable({ what = what, leaves = leaves }, Flat):plan(v)
end

local function leaf_of(plan, leaves) return plan.leaf and leaves[plan.leaf] end

--- The value that `plan` came from over other leaves.
function tree.rebuild(plan, leaves) return tree.build(plan, leaf_of, {}, leaves) end

local function kind(plan)
  return plan.leaf and plan.type or plan.items and "a table" or "nil"
end

local function has_key(items, key)
  for _, item in ipairs(items) do
    if item[1] == key then return true end
  end
  return false
end

--- nil if two plans have the same tables and types, else the first place where they differ and
--- what stands there in each.
function tree.difference(a, b, place)
  place = place or ""
  if kind(a) ~= kind(b) then return place, kind(a), kind(b) end
  local n = math.max(#(a.items or {}), #(b.items or {}))
  for i = 1, n do
    local x, y = a.items[i], b.items[i]
    if x and not has_key(b.items, x[1]) then
      return ("%s.%s"):format(place, x[1]), kind(x[2]), "nothing"
    elseif y and not has_key(a.items, y[1]) then
      return ("%s.%s"):format(place, y[1]), "nothing", kind(y[2])
    end
    local at, is, other = tree.difference(x[2], y[2], ("%s.%s"):format(place, x[1]))
    if at then return at, is, other end
  end
  return nil
end

return tree
