-- dynamic.lua: sizes that change from call to call: sgl.dim, sgl.spec, dims that sgl.compile finds.
--
-- In:    the specs a compiled function was given, or the sizes of its calls so far.
-- Out:   for each tensor argument its part of the signature and the sizes it has inside the
--        capture, of which some are symbolic.
-- Holds: a declared dim is symbolic at every size in its range, 1 too. With dynamic = true a dim is
--        symbolic from its second different size on, and where nothing is said after eight; dims
--        that changed together share a symbol for as long as they agree. A size of 0 is never
--        symbolic.
local api = require "sgl.api"
local core = require "sgl.core"

local raise, is_tensor, is_dim = core.raise, core.is_tensor, core.is_dim

local dynamic = {}

local MOST_DEPTH = 32
local MOST = 1 << 24   -- elements of a dim whose range nobody gave

api.fn(api.root, "dim", {
  doc = "A symbolic size for sgl.spec. Sums, products and quotients (//) of sizes are sizes; "
    .. "fields: name, min, max, multiple.",
  args = { { "name", "string", "an identifier, for messages" } },
  opts = { { "min", "integer", 1, "smallest size" },
           { "max", "integer", MOST, "largest size" },
           { "multiple", "integer", 1, "every size is a multiple of it" } },
  returns = "symbolic size",
  errors = "a name that is no identifier, an empty range, min below 1",
}, function(name, o)
  if o.min < 1 or o.multiple < 1 then
    raise("SGL_EARG", ("dim '%s': min and multiple must be at least 1, got %d and %d"):format(
      name, o.min, o.multiple), "sizes of 0 get a program of their own")
  end
  return core.dim(name, o.min, o.max, o.multiple)
end)

local Spec = api.class(api.root, "Spec", {
  doc = "The shape and dtype of an argument, some sizes symbolic. Fields: shape, dtype.",
})
Spec.__index = Spec

api.strict(Spec, "a spec", { "shape", "dtype" })

function Spec:__tostring() return ("%s%s"):format(self.dtype, api.shape_text(self.shape)) end

api.fn(api.root, "spec", {
  doc = "What a tensor argument looks like: for sgl.compile's option `inputs`.",
  args = { { "shape", "table", "sizes: integers and dims" },
           { "dtype", "string?", "default f32" } },
  returns = "Spec", errors = "an entry that is no size, an unknown dtype",
}, function(shape, dtype)
  local sizes = {}
  for i = 1, #shape do
    local size = is_dim(shape[i]) and shape[i] or math.tointeger(shape[i])
    if not size or math.type(size) and size < 0 then
      raise("SGL_EARG", ("spec: size %d must be a size or a sgl.dim, got %s"):format(
        i, api.describe(shape[i])))
    end
    sizes[i] = size
  end
  return setmetatable({ shape = sizes, dtype = core.tensor(0, dtype or "f32").dtype }, Spec)
end)

local LIST = "write { sgl.spec({ batch, 64 }, \"f32\"), … }, one for each argument; "
  .. "false for one without symbolic sizes"

local function is_spec(v) return getmetatable(v) == Spec end

local function same_dim(a, b)
  return a.min == b.min and a.max == b.max and a.multiple == b.multiple
end

-- `inputs` is a list in the order of the parameters: a name in it would be for no argument.
local function check_places(specs)
  for key in pairs(is_spec(specs) and {} or specs) do
    if not math.tointeger(key) or key < 1 then
      raise("SGL_EARG", ("compile: option 'inputs' must be a list, got the key %s"):format(
        api.describe(key)), LIST)
    end
  end
  if is_spec(specs) then
    raise("SGL_EARG", "compile: option 'inputs' must be a list, got a spec", LIST)
  end
end

-- Symbols of one name in one function must be one symbol; what is no spec is a mistake.
local function check_specs(specs)
  check_places(specs)
  local seen = {}
  local function visit(v, depth)
    if not is_spec(v) then
      if type(v) ~= "table" or getmetatable(v) or depth > MOST_DEPTH then
        raise("SGL_EARG", ("compile: option 'inputs' holds %s, where a sgl.spec is due"):format(
          api.describe(v)), LIST)
      end
      for _, item in pairs(v) do
        if item then visit(item, depth + 1) end
      end
      return
    end
    for _, size in ipairs(v.shape) do
      local known = is_dim(size) and (seen[size.name] or size)
      if known and not same_dim(known, size) then
        raise("SGL_EARG", ("compile: two dims are called '%s', with different ranges"):format(
          size.name), "make the dim once and use it in every spec")
      end
      if known then seen[size.name] = known end
    end
  end
  visit(specs, 0)
end

--- What a compiled function keeps; nil when none of its sizes is symbolic. `changed`: the same
--- sizes may be another signature than before.
function dynamic.new(options)
  if not options.inputs and not options.dynamic then return nil end
  check_specs(options.inputs or {})
  return { specs = options.inputs or {}, automatic = options.dynamic, seen = {}, names = {} }
end

local DTYPES = {}
for i, dtype in ipairs(core.dtypes()) do DTYPES[dtype.name] = i - 1 end

--- The specs as core.calls reads them: tables of texts, each the number of the dtype and the sizes,
--- -1 for a symbolic one.
function dynamic.packed(specs)
  if not is_spec(specs) then
    local list = {}
    for key, spec in pairs(type(specs) == "table" and specs or {}) do
      list[key] = dynamic.packed(spec)
    end
    return specs and list
  end
  local sizes = {}
  for i, size in ipairs(specs.shape) do sizes[i] = is_dim(size) and -1 or size end
  return string.pack("=" .. ("i8"):rep(#sizes + 1), DTYPES[specs.dtype], table.unpack(sizes))
end

--- The spec below `key` of a spec or list of specs.
function dynamic.below(specs, key)
  if type(specs) ~= "table" or is_spec(specs) then return nil end
  return specs[key]
end

local function declared(t, name, spec)
  local own = t.shape
  local fits = #own == #spec.shape and t.dtype == spec.dtype
  for i, size in ipairs(spec.shape) do
    fits = fits and (is_dim(size) or own[i] == size)
  end
  if fits then return tostring(spec), spec.shape end
  raise(t.dtype ~= spec.dtype and "SGL_EDTYPE" or "SGL_ESHAPE",
    ("argument '%s' is %s, its spec says %s"):format(name, api.describe(t), tostring(spec)),
    "pass what the spec says, or change the spec")
end

--- Fails where a value is none of those that its spec, or table of specs, is for. Nil is one: an
--- argument that may be left out has its spec when it is there.
function dynamic.check(v, name, spec)
  if v == nil then return end
  if is_spec(spec) then
    if is_tensor(v) then return end
  elseif type(v) == "table" then
    return
  end
  raise("SGL_EARG", ("argument '%s' is %s, its spec says %s"):format(name, api.describe(v),
    is_spec(spec) and tostring(spec) or "a table"), "pass what the spec says, or change the spec: "
    .. "false for an argument without symbolic sizes")
end

-- The record of a tensor argument: sizes it had last, and the group of each dim that varied.
local function record_of(state, name, t)
  local id = ("%s %s %d"):format(name, t.dtype, t.ndim)
  local record = state.seen[id]
  if not record then
    state.changed = true
    record = { sizes = t.shape, group = {}, name = name }
    state.seen[id] = record
  end
  return record
end

local function new_group(state, record, axis)
  local base = ("%s_%d"):format(record.name:gsub("[^%w_]", "_"):gsub("^%d", "_%0"), axis)
  local taken = state.names[base] or 0
  state.changed = true
  state.names[base] = taken + 1
  return { name = taken == 0 and base or ("%s_%d"):format(base, taken) }
end

-- Dims that went from one size to another in the same call are taken for the same dim.
local function vary(state, walk, record, axis, size)
  local last = record.sizes[axis]
  if record.fixed or record.group[axis] or last == size or size == 0 or last == 0 then return end
  local change = last .. ">" .. size
  walk.changes[change] = walk.changes[change] or new_group(state, record, axis)
  record.group[axis] = walk.changes[change]
end

-- A dim that differs from its group in this call leaves it, with those of the same size.
local function agree(state, walk, record, axis, size)
  local group = record.group[axis]
  walk.sizes[group] = walk.sizes[group] or size
  if walk.sizes[group] == size then return end
  walk.apart[group] = walk.apart[group] or {}
  local apart = walk.apart[group]
  apart[size] = apart[size] or new_group(state, record, axis)
  record.group[axis] = apart[size]
end

local function found(state, t, name, walk)
  local record, own, sizes, words = record_of(state, name, t), t.shape, {}, {}
  walk.changes, walk.sizes = walk.changes or {}, walk.sizes or {}
  walk.apart = walk.apart or {}
  for axis, size in ipairs(own) do
    vary(state, walk, record, axis, size)
    sizes[axis], words[axis] = size, tostring(size)
    if size > 0 then record.sizes[axis] = size end
    if record.group[axis] and not record.fixed and size > 0 then
      agree(state, walk, record, axis, size)
      sizes[axis] = core.dim(record.group[axis].name, 1, MOST, 1)
      words[axis] = record.group[axis].name
      walk.promoted = walk.promoted or {}
      walk.promoted[#walk.promoted + 1] = record
    end
  end
  return ("%s[%s]"):format(t.dtype, table.concat(words, ", ")), sizes
end

--- The signature of a tensor argument and, if some are symbolic, the sizes it has inside.
function dynamic.describe(state, t, name, spec, walk)
  if not state then return api.describe(t) end
  if is_spec(spec) then return declared(t, name, spec) end
  if state.automatic and is_tensor(t) then return found(state, t, name, walk) end
  return api.describe(t)
end

local MOST_SIZES = 8   -- that get programs of their own where nothing is said of sizes

-- "f32[2, 3]" -> "f32", { 2, 3 }
local function type_of(part)
  local dtype, list = (part or ""):match "^(%w+)%[([%d, ]*)%]$"
  local sizes = {}
  for size in (list or ""):gmatch "%d+" do sizes[#sizes + 1] = math.tointeger(size) end
  return dtype, sizes
end

-- Do the parts of two signatures differ by sizes alone?
local function differ_by_sizes(last, now)
  local found = false
  for i = 1, math.max(#last, #now) do
    if last[i] ~= now[i] then
      local dtype, sizes = type_of(last[i])
      local other, others = type_of(now[i])
      if not dtype or dtype ~= other or #sizes ~= #others then return false end
      found = true
    end
  end
  return found
end

--- A call that no capture serves: where only sizes changed for so often, dims that vary are
--- symbolic from now on; true the once. Unless the option says otherwise.
function dynamic.begins(self, walk)
  if not self.watches_sizes or not self.last_parts then return false end
  if not differ_by_sizes(self.last_parts, walk.key) then return false end
  self.sizes = self.sizes + 1
  if self.sizes < MOST_SIZES then return false end
  local state = dynamic.new { dynamic = true }
  for i, part in ipairs(self.last_parts) do
    local dtype, sizes = type_of(part)
    local name = self.last_places[i]
    if dtype then
      state.seen[("%s %s %d"):format(name, dtype, #sizes)] = { sizes = sizes, group = {},
                                                                name = name }
    end
  end
  self.dynamic, self.watches_sizes = state, false
  return true
end

--- Captures. Where dims that were found cannot be symbolic they are fixed for good, and nil says to
--- try again; a declared dim that does not work is an error.
function dynamic.capture(capture, self, key, walk, ...)
  if not walk.promoted then return capture(self, key, walk, ...) end
  local ok, result = pcall(capture, self, key, walk, ...)
  if ok then return result end
  local final = { SGL_ENOMEM = true, SGL_EINTR = true }
  if walk.wrote or type(result) == "table" and final[result.code] then error(result, 0) end
  for _, record in ipairs(walk.promoted) do record.fixed = true end
  self.dynamic.changed = true
  self.dynamic.refused = tostring(result)
  return nil
end

return dynamic
