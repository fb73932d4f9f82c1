-- places.lua: fields and upvalues that a step both reads and writes: run-time inputs from then on.
--
-- In:    the writes of the captures of a function, and guards that fail.
-- Out:   the places whose values the step changes from call to call; what they hold in a call, as
--        arguments without a parameter.
-- Holds: a place is one once a guard on it failed and a capture writes to it, so that what a step
--        changes itself captures it once more, not at each call. What is no data there (nil, a
--        module, a text) stays a guard.
local core = require "sgl.core"
local tree = require "sgl.tree"

local places = {}

local MOST = 64

-- What a place is known by: a table and its key, or an upvalue.
local function known_by(container, key)
  if type(container) ~= "function" then return container, key end
  return debug.upvalueid(container, key), true
end

--- Notes what a capture writes.
function places.wrote(self, writes)
  for _, write in ipairs(writes) do
    if not write.table then
      local at, key = known_by(write.container, write.key)
      self.written[at] = self.written[at] or {}
      self.written[at][key] = self.written[at][key] or { behind = write.behind }
    end
  end
end

-- What is there now.
local function value_of(place)
  if type(place.container) ~= "function" then return rawget(place.container, place.key) end
  local _, value = debug.getupvalue(place.container, place.key)
  return value
end

local function is_data(v)
  return core.is_tensor(v) or type(v) == "number" or tree.is_plain(v)
end

-- Makes the place that a guard is about one of the function's, if it writes there; was it made one?
local function add(self, guard, name)
  if guard.kind ~= "field" and guard.kind ~= "upvalue" or #self.places >= MOST then return false end
  local at, key = known_by(guard.container, guard.key)
  local write = self.written[at] and self.written[at][key]
  if not write or write.found then return false end
  local place = { container = guard.container, key = guard.key, behind = write.behind, name = name }
  if not is_data(value_of(place)) then return false end
  write.found = true
  self.places[#self.places + 1] = place
  return true
end

--- Guard `failing` of the list does not hold. If it is about a place that the function writes to,
--- that becomes an input, and so do the others of the list; name(number) says what they are called.
function places.found(self, list, failing, name)
  local found = list[failing] and add(self, list[failing], name(failing))
  for i, guard in ipairs(found and list or {}) do add(self, guard, name(i)) end
  return found
end

--- The plans of what the places hold in a call; false where that is no data.
function places.plans(self, walk)
  local plans = {}
  for i, place in ipairs(self.places) do
    local value = value_of(place)
    plans[i] = is_data(value) and walk:plan(value, place.name)
    walk:put(plans[i] and ";" or "-;", place.name)
  end
  return plans
end

--- Puts what stands for them there while a step is captured; `build` makes it of a plan. Returns
--- the list of what was put there.
function places.fill(self, plans, build)
  local values, made = {}, { n = 0 }
  for i, plan in ipairs(plans) do
    values[i] = plan and build(plan)
    if plan then
      made.n = made.n + 1
      made[made.n] = values[i]
    end
  end
  core.stand_in(self.places, values)
  return made
end

return places
