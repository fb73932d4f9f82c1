-- tree.lua: nested tables of tensors as flat lists and back.
--
-- In:    a value: a tensor, a number or boolean (made a tensor), nil, or plain tables of them with
--        names and positions as keys.
-- Out:   a list of tensors and a plan from which the value can be made again over other tensors.
-- Holds: keys are taken in an order of their own (positions, then names), so equal values have
--        equal lists in every process.
local api = require "sgl.api"
local core = require "sgl.core"

local tree = {}

local MOST_DEPTH = 32

--- Is v a table that is nothing but data? A shape is, though it prints and compares.
function tree.is_plain(v)
  local meta = type(v) == "table" and getmetatable(v)
  return meta == nil or meta == core.Tensor.__shape
end

--- The keys of v in the order that lists take them; `what` begins the message of a wrong one.
function tree.sorted_keys(what, v)
  local keys = {}
  for key in pairs(v) do
    if type(key) ~= "string" and type(key) ~= "number" then
      core.raise("SGL_EARG", ("%s: a table has %s as a key"):format(what, api.describe(key)),
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

--- Adds the tensors in v to `leaves`; returns the plan. `what` begins messages.
function tree.flatten(what, v, leaves, depth)
  depth = depth or 1
  if v == nil then return {} end
  if core.is_tensor(v) or type(v) == "number" or type(v) == "boolean" or core.weak(v) then
    leaves[#leaves + 1] = core.is_tensor(v) and v or core.tensor(v)
    return { leaf = true, type = api.describe(leaves[#leaves]) }
  elseif not tree.is_plain(v) then
    core.raise("SGL_EARG", ("%s: %s is neither a tensor nor a table of tensors"):format(what,
      api.describe(v)), "tensors, numbers, booleans, nil and plain tables of them can stand there")
  elseif depth > MOST_DEPTH then
    core.raise("SGL_EARG", ("%s: a table is nested more than %d deep"):format(what, MOST_DEPTH),
      "does it contain itself?")
  end
  local items = {}
  for i, key in ipairs(tree.sorted_keys(what, v)) do
    items[i] = { key, tree.flatten(what, v[key], leaves, depth + 1) }
  end
  return { items = items }
end

--- The value that `plan` came from over other leaves, those from number `at` on (default 1), and
--- the number behind them.
function tree.rebuild(plan, leaves, at)
  at = at or 1
  if plan.leaf then return leaves[at], at + 1 end
  if not plan.items then return nil, at end
  local result = {}
  for _, item in ipairs(plan.items) do
    result[item[1]], at = tree.rebuild(item[2], leaves, at)
  end
  return result, at
end

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
