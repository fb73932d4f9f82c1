-- signature.lua: the signature of a call as text: for messages, and for finding what was captured
-- before; with it what a capture needs to know of the arguments.
--
-- In:    the arguments of a call.
-- Out:   a walk: `key` the parts of the signature, `places` what each belongs to, `leaves` the
--        run-time inputs, `names` what they are called, `dims` their sizes inside, `tables` the
--        tables; and a plan for each argument.
-- Holds: the walk goes as that of src/capture/signature.c, which tells calls apart without text. A
--        table that comes twice is one table in the step. The sizes in a shape are part of the
--        signature, other numbers are run-time inputs. By a mask (mask.lua) what no capture looks
--        at is left out; there are no specs then.
local api = require "sgl.api"
local core = require "sgl.core"
local dynamic = require "sgl.compile.dynamic"
local guards = require "sgl.compile.guards"
local mask = require "sgl.compile.mask"
local places = require "sgl.compile.places"
local tree = require "sgl.tree"

local raise, is_tensor, is_plain = core.raise, core.is_tensor, tree.is_plain

local signature = {}

-- Objects that are arguments but not data (modules, functions) are told apart by a number.
local identities = setmetatable({}, { __mode = "k" })
local last_identity = 0

local function identity(v)
  if not identities[v] then
    last_identity = last_identity + 1
    identities[v] = last_identity
  end
  return identities[v]
end

local Arguments = tree.walk { what = "compile" }

-- Adds a part to the key, and says that it belongs to the value of that name.
local function put(walk, part, name)
  local key = walk.key
  key[#key + 1] = part
  walk.places[#key] = name
end

Arguments.put = put

function Arguments:too_deep(name, most)
  raise("SGL_EARG", ("compile: the argument '%s' is nested deeper than %d tables"):format(name,
    most))
end

function Arguments.meta(_, v) return getmetatable(v) end

function Arguments:enter(plan, v, name)
  local n = #self.tables + 1
  self.seen[v], plan.number, self.tables[n], self.table_names[n] = plan, n, v, name
  plan.above, self.shape = self.shape, plan.meta
  put(self, plan.meta and "shape{" or "{", name)
end

function Arguments:leave(plan, name)
  self.shape = plan.above
  put(self, "}", name)
end

local ORDER = { number = 1, string = 2, boolean = 3 }

-- The mask's keys, there or not, and behind them those that nothing looks at.
local function masked_keys(v, mask_of)
  local keys = table.move(mask_of, 1, #mask_of, 1, {})
  for key in pairs(v) do
    if mask_of.below[key] == nil then keys[#keys + 1] = key end
  end
  return keys
end

-- Numbers, names, booleans, then objects in the order in which they were first seen.
function Arguments:keys(v, more)
  if self.masked and type(more) == "table" and not self.shape then return masked_keys(v, more) end
  local keys, rank = {}, {}
  for key in pairs(v) do
    local kind = ORDER[type(key)]
    keys[#keys + 1] = key
    rank[key] = kind or 4
  end
  table.sort(keys, function(a, b)
    if rank[a] ~= rank[b] then return rank[a] < rank[b] end
    if rank[a] == 3 then return b and not a end
    if rank[a] == 4 then return identity(a) < identity(b) end
    return a < b
  end)
  return keys
end

-- What is under a key that is looked at by no capture, in the place of its mask.
local SPARE = {}

function Arguments:item(key, name, spec)
  local kind = ORDER[type(key)]
  local masked = self.masked and type(spec) == "table" and not self.shape
  if masked and spec.below[key] == nil then return name, SPARE end
  put(self, kind == 3 and ("%s="):format(key) or kind and ("%q="):format(key)
    or ("@%d="):format(identity(key)), name)
  return ("%s.%s"):format(name, kind and tostring(key) or api.describe(key)),
    self.masked and (masked and spec.below[key] or true) or dynamic.below(spec, key)
end

-- A run-time input.
local function input(walk, v, name, spec)
  local at = #walk.leaves + 1
  walk.leaves[at], walk.names[at] = v, name
  if not is_tensor(v) then
    put(walk, "#", name)
    return { leaf = at }
  end
  local part
  part, walk.dims[at] = dynamic.describe(walk.dynamic, v, name, spec, walk)
  put(walk, part, name)
  for i = 1, at - 1 do
    if rawequal(walk.leaves[i], v) then put(walk, ("=%d,"):format(i), name) end
  end
  return { leaf = at }
end

-- The plan of a value that nothing looks at: the step gets it as it is.
local function spare(walk, v, name, more)
  if more == false then put(walk, "_", name) end
  return { value = v, spare = true }
end

function Arguments:leaf(v, name, spec)
  if self.masked then
    if not spec or spec == SPARE then return spare(self, v, name, spec) end
    spec = nil
  end
  if spec then dynamic.check(v, name, spec) end
  local kind = type(v)
  if is_tensor(v) or kind == "number" and not self.shape then return input(self, v, name, spec) end
  local seen = kind == "table" and self.seen[v]
  if seen then
    self.aliased = true
    put(self, ("=%d,"):format(seen.number), name)
    return seen
  end
  if is_plain(v) then return nil end
  put(self, (v == nil or kind == "boolean" or kind == "number") and tostring(v)
    or kind == "string" and ("%q"):format(v) or ("@%d,"):format(identity(v)), name)
  return { value = v }
end

local function parameter_name(fn, i)
  return type(fn) == "function" and debug.getlocal(fn, i) or "arg" .. i
end

--- The key, the walk and the plans of the packed arguments of a call, by a mask or nil.
function signature.of(self, values, by)
  local state, plans = self.dynamic, {}
  local walk = setmetatable({ key = {}, places = {}, leaves = {}, names = {}, dims = {},
                              tables = {}, table_names = {}, seen = {}, dynamic = state,
                              masked = by and true, values = values }, Arguments)
  for i = 1, by and by.n or values.n do
    local name = self.parameters[i]
    if not name then
      name = parameter_name(self.fn, i)
      self.parameters[i] = name
    end
    local more = state and state.specs[i]
    if by then more = by[i] == nil or by[i] end
    plans[i] = walk:plan(values[i], name, more)
    put(walk, ";", name)
  end
  walk.masked = nil
  plans.places = places.plans(self, walk)
  if by and walk.aliased then
    mask.off(self)
    return signature.of(self, values)
  end
  return table.concat(walk.key), walk, plans
end

--- Objects that came as arguments, by name.
function signature.names(plans, parameters)
  local names = setmetatable({}, { __mode = "k" })
  for i, plan in ipairs(plans) do
    local v = plan.value
    if not plan.spare and (type(v) == "table" or type(v) == "function") then
      names[v] = parameters[i]
      local fields = guards.fields(v)
      if fields then names[fields] = parameters[i] end
    end
  end
  return names
end

-- A part of a key in words; nil: one that stands for no value of its own.
local function part_words(part)
  if not part or part == ";" or part == "}" or part:find "=$" then return nil end
  local first = part:sub(1, 1)
  return first == "#" and "a number" or part:find "{$" and "a table" or first == "@" and "an object"
    or part
end

--- What told the signature of a walk from that of the last capture: "x changed from f32[2] to
--- f32[3]", and the name of what changed.
function signature.reason(self, walk)
  local last, now, i = self.last_parts, walk.key, 1
  if not last then return nil end
  while last[i] and last[i] == now[i] do i = i + 1 end
  local old, new = last[i], now[i]
  if not old and not new then return nil end
  local name = walk.places[i] or self.last_places[i]
  if (old or ""):find "^=" or (new or ""):find "^=" then
    return "which arguments are one object changed", name
  end
  local before, after = part_words(old), part_words(new)
  if before and after then
    local change = before == after and "is another " .. before:gsub("^an? ", "")
      or ("changed from %s to %s"):format(before, after)
    return ("%s %s"):format(name, change), name
  elseif not old or not new then
    return "the number of arguments changed", "the number of arguments"
  end
  return ("the keys of %s changed"):format(name), name
end

return signature
