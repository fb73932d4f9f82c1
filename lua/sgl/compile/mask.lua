-- mask.lua: what a step looks at of its arguments; the rest is no part of a call's signature.
--
-- In:    what the captures of a function looked at; a call that none of them serves.
-- Out:   a mask: for each parameter true (all of it), false (nothing), or for a table the list of
--        the keys that matter, and in `below` the mask of what stands under each. `n`: how many
--        parameters there are, if the function takes no more.
-- Holds: there is none until a call differs from one before only in what that did not look at. A
--        capture that looks at more makes it grow, and is made again; so what a capture was told
--        apart by is all that it looked at. Where one table stands at two places that are looked
--        at there is none.
local core = require "sgl.core"

local mask = {}

local MOST_GROWTH, MOST_DEPTH = 64, 32

--- May the calls of a function have a mask? Options that speak of arguments, and writes at capture,
--- are for all of them.
function mask.fits(fn, options)
  return type(fn) == "function" and debug.getinfo(fn, "S").what ~= "C" and not options.inputs
    and not options.batch and options.effects ~= "once"
end

local ORDER = { number = 1, string = 2, boolean = 3 }

-- Keys that are objects come in any order: those masks are read in Lua alone.
local function comes_before(a, b)
  local x, y = ORDER[type(a)] or 4, ORDER[type(b)] or 4
  if x ~= y then return x < y end
  if x > 2 then return x == 3 and b and not a end
  return a < b
end

local function of_table(below)
  local node = { below = below }
  for key in pairs(below) do node[#node + 1] = key end
  table.sort(node, comes_before)
  return node
end

-- The mask of what a plan is for: `made` has what stood for its tables, `looked` the keys of each.
-- A table that leads to itself is all of it.
local function of_plan(plan, made, looked, depth)
  local keys = plan.items and not plan.meta and (looked[made[plan]] or {}) or true
  if keys == true or depth > MOST_DEPTH then return true end
  local below, known = {}, {}
  for _, item in ipairs(plan.items) do known[item[1]] = item[2] end
  for key in pairs(keys) do
    below[key] = not known[key] or of_plan(known[key], made, looked, depth + 1)
  end
  return of_table(below)
end

-- nil: everything is looked at.
local function of_plans(fn, plans, made, looked)
  local read, fixed = core.parameters_read(fn)
  if not read then return nil end
  local found, whole = { n = fixed and #read or nil }, not fixed or #plans <= #read
  for i = 1, #read do
    found[i] = read[i] and (not plans[i] or of_plan(plans[i], made, looked, 1))
    whole = whole and found[i] == true
  end
  return not whole and found or nil
end

local function union(a, b)
  if not a or not b then return a or b end
  if a == true or b == true then return true end
  local below = {}
  for key, node in pairs(a.below) do below[key] = union(node, b.below[key]) end
  for key, node in pairs(b.below) do below[key] = below[key] or node end
  return of_table(below)
end

-- Is all that `a` looks at in `b` as well?
local function is_within(a, b)
  if not a or b == true then return true end
  if not b or a == true then return false end
  for key, node in pairs(a.below) do
    if not is_within(node, b.below[key]) then return false end
  end
  return true
end

-- From now on calls go by that mask; false: by none.
local function set(self, new)
  self.mask, self.entries = new, {}
  core.call_mask(self.calls, new or nil)
end

--- One table stands at two places that are looked at: there is no mask, for good.
function mask.off(self)
  self.maskable = false
  if self.mask then set(self, false) end
end

local function grow(self, own)
  local new = { n = self.mask.n }
  for i, node in ipairs(self.mask) do new[i] = union(node, own and own[i] or not own) end
  self.growth = self.growth + 1
  if self.growth > MOST_GROWTH then mask.off(self) else set(self, new) end
end

local function is_inside(self, own)
  for i, node in ipairs(self.mask) do
    if not is_within(own and own[i] or not own, node) then return false end
  end
  return true
end

--- A capture was made, or failed: what it looked at until then. True: at more than it was told
--- apart by, so it must be made again. `signature_of` gives the signature of its call by a mask.
function mask.looked(self, entry, walk, plans, signature_of)
  local made = entry.made
  entry.made = nil
  if not self.maskable or not entry.guards or not made then return false end
  local own = of_plans(self.fn, plans, made, core.guards_looked(entry.guards))
  if not self.mask then
    entry.mask, entry.told_by = own, own and signature_of(self, walk.values, own)
    return false
  elseif is_inside(self, own) then
    return false
  end
  grow(self, own)
  return true
end

--- A call that no capture serves: does it differ from one only in what that did not look at? Then
--- there is a mask from now on; true the once.
function mask.begins(self, values, signature_of)
  if self.mask or not self.maskable then return false end
  for _, entry in ipairs(self.order) do
    if entry.mask and signature_of(self, values, entry.mask) == entry.told_by then
      set(self, entry.mask)
      return true
    end
  end
  return false
end

return mask
