-- captures.lua: the captures of a compiled function: made, kept, found again.
--
-- In:    a compiled function, the signature of a call.
-- Out:   an entry: the program, its guards, the plan of its results; or the record of the break
--        that left it without a program.
-- Holds: entries of one signature stand in a bucket, the one that ran last in front. An entry
--        serves a call if its guards hold and its program fits.
local api = require "sgl.api"
local breaks = require "sgl.breaks"
local core = require "sgl.core"
local coverage = require "sgl.breaks.coverage"
local events = require "sgl.emit"
local guards = require "sgl.compile.guards"
local mask = require "sgl.compile.mask"
local names = require "sgl.names"
local places = require "sgl.compile.places"
local results = require "sgl.compile.results"
local signature = require "sgl.compile.signature"
local tree = require "sgl.tree"

local raise = core.raise

local captures = {}

--- Set by `sgl breaks`: every function that breaks runs in segments.
captures.in_segments = false

--- Callbacks and the function itself run in between: any of them may have closed it.
function captures.check_open(self)
  if not self.entries then raise("SGL_ECLOSED", "the compiled function is closed") end
end

local function new_entry(self, key, plans, reason)
  -- A room that loads itself inside a step would be an effect of the step.
  for name in pairs(api.rooms) do assert(api.root[name]) end
  return { key = key, runs = 0, aliased = 0, reason = reason,
           names = signature.names(plans, self.parameters) }
end

-- What is no table among the arguments, as the step gets it.
local function argument_of(plan, leaves)
  if plan.leaf then return leaves[plan.leaf] end
  return plan.value
end

-- By argument the dim that counts samples, from the option `batch`.
local function batch_dims(self, walk)
  local dims, known = {}, {}
  if not self.batch then return nil end
  for i, name in ipairs(walk.names) do
    local dim, value = self.batch[name], walk.leaves[i]
    known[#known + 1], known[name] = name, true
    if dim ~= nil then
      local rank = core.is_tensor(value) and value.ndim or 0
      if math.type(dim) ~= "integer" or dim == 0 or dim > rank or dim < -rank then
        raise("SGL_EARG", ("compile: option 'batch': '%s' is %s, which has no dim %s"):format(name,
          api.describe(value), tostring(dim)), "dims count from 1, or from the end from -1")
      end
      dims[i] = dim < 0 and rank + 1 + dim or dim
    end
  end
  for name in pairs(self.batch) do
    if not known[name] then
      local near = core.nearest(tostring(name), known)
      raise("SGL_EARG", ("compile: option 'batch': there is no argument %s%s"):format(
        core.quote(name), near and (" (did you mean '%s'?)"):format(near) or ""),
        "arguments: " .. table.concat(known, ", "))
    end
  end
  return dims
end

-- A step that needs values of numbers among its arguments is captured for a few; then that is a
-- break.
local MOST_VALUES = 8

local function may_hold(self)
  local n = 0
  for _, entry in ipairs(self.order) do
    if entry.guards and core.guards_exact(entry.guards) then n = n + 1 end
  end
  return n < MOST_VALUES
end

-- The name of a table among the arguments that the step reaches from outside as well, or nil: for
-- the step those would be two.
local function shared(entry, walk)
  if not entry.outside then
    entry.outside = setmetatable({}, { __mode = "k" })
    for _, guard in ipairs(core.guards_list(entry.guards)) do
      if guard.container then entry.outside[guard.container] = true end
    end
  end
  for i, t in ipairs(walk.tables) do
    if entry.outside[t] then return walk.table_names[i] end
  end
end

local function check_shared(entry, walk)
  local name = shared(entry, walk)
  if not name then return end
  raise("SGL_ESTATE", ("compile: the table '%s' is reached from outside as well, and the step "
    .. "writes to tables"):format(name), "pass it, or take it from outside, not both")
end

-- Captures the function for an entry. When that breaks, the entry still has the guards of what
-- was read until then.
local function capture(self, entry, walk, plans)
  local made, returned, stand_ins = {}, nil, nil
  entry.made = made
  local function step(...)
    local leaves, arguments = { ... }, {}
    for i = 1, #plans do arguments[i] = tree.build(plans[i], argument_of, made, leaves) end
    stand_ins = places.fill(self, plans.places, function(plan)
      return tree.build(plan, argument_of, made, leaves)
    end)
    for _, result in pairs(made) do core.given(result) end
    entry.inside = true
    local packed = table.pack(self.fn(table.unpack(arguments, 1, #plans)))
    entry.inside = nil
    return packed
  end
  local function settle(packed)
    local tables, outputs = {}, nil
    for plan, result in pairs(made) do tables[result] = plan.number end
    returned, outputs = results.plan(packed, tables, self.fn, stand_ins)
    return outputs
  end
  local function note(held)
    entry.guards = held
    breaks.watch(entry, self.fn)
  end
  local function call_state(tensors, calls)
    entry.state, entry.registered = names.of(entry.guards, tensors, entry.names)
    return entry.state, names.paths(calls)
  end
  entry.program = core.capture(step, walk.leaves, walk.names, self.fn, self.effects == "once",
    note, walk.dims, settle, call_state, batch_dims(self, walk), may_hold(self))
  entry.returned = returned
  if returned.writes then
    places.wrote(self, returned.writes)
    check_shared(entry, walk)
  end
  return entry
end

--- Puts an entry in front of its bucket.
function captures.keep(self, key, entry)
  captures.check_open(self)
  local bucket = self.entries[key] or {}
  self.entries[key] = bucket
  table.insert(bucket, 1, entry)
  self.order[#self.order + 1] = entry
  return entry
end

local function is_final(e)
  return type(e) == "table" and (e.code == "SGL_ENOMEM" or e.code == "SGL_EINTR")
end

-- What an error of a capture says of the step, or nil if it ends the call: running as Lua would
-- change nothing, or is not what was asked for. An error that is no break counts until Lua raises
-- it as well.
local function break_of(self, entry, walk, e)
  if is_final(e) or self.strict or not entry.guards then return nil end
  walk.wrote = core.guards_done(entry.guards)
  local record = breaks.record(e)
  if walk.promoted or not record and walk.wrote then return nil end
  if walk.wrote then
    raise("SGL_ESTATE", ("compile: %s wrote to what was there before, then broke: %s"):format(
      self.name, record.reason),
      "without effects = 'once' it runs in segments, and writes at each run")
  end
  entry.unsure = not record
  return record or breaks.record_of_error(e)
end

-- Is the error that ended a capture of the whole step one that the function itself raises? Of the
-- library's, refused gradients are not, and none are where sizes are symbols.
local function is_own(entry, walk, e)
  local code = type(e) == "table" and e.code
  local own = entry.inside and not is_final(e) and not breaks.record(e) and code ~= "SGL_EGRAD"
  local symbolic = walk.promoted or next(walk.dims) and code
  return own and not symbolic and not core.guards_done(entry.guards)
end

-- An error that points to the caller of the step means the user's line.
local function placed(e)
  local file, line = core.position()
  if type(e) ~= "string" or not file then return e end
  return (e:gsub("^sgl/[%w_/]+%.lua:%d+: ", function() return ("%s:%d: "):format(file, line) end))
end

--- Captures; where the step breaks and that is allowed, the entry has the record of it and no
--- program. Where the step fails, the entry has the error and is not kept. nil: the step looked at
--- more than calls were told apart by until now.
function captures.make(self, key, walk, plans, reason)
  local entry = new_entry(self, key, plans, reason)
  local fine, e = pcall(capture, self, entry, walk, plans)
  if not is_final(e) and mask.looked(self, entry, walk, plans, signature.of) then
    if entry.program then entry.program:close() end
    return nil
  end
  if fine then return captures.keep(self, key, entry) end
  if self.fullgraph and not captures.in_segments then
    if not is_own(entry, walk, e) then error(placed(e), 0) end
    entry.failed = { e }
    return entry
  end
  entry.broken = break_of(self, entry, walk, e)
  if not entry.broken then error(e, 0) end
  if entry.unsure then return entry end
  coverage.broke(self, entry.broken)
  return captures.keep(self, key, entry)
end

-- Why the program of an entry cannot run, and the name of what changed; nil: it can.
local function misfit(entry, walk)
  local failing = core.guards_check(entry.guards, walk.leaves)
  if failing then
    local text, name = guards.reason(entry.guards, failing, entry.names)
    return text, name, failing
  end
  if not entry.program then return nil end
  local name = entry.returned.writes and shared(entry, walk)
  if name then return ("%s is reached from outside as well"):format(name), name end
  local fits, number = entry.program:fits(walk.leaves)
  if fits then return nil end
  if not number then return "a comparison of sizes comes out otherwise", "a comparison of sizes" end
  local name = walk.names[number]
  return ("%s changed from %s"):format(name, math.type(walk.leaves[number]) == "float"
    and "an integer to a float" or "a float to an integer"), name
end

local function becomes_input(self, entry, failing)
  local function name(number) return guards.place(entry.guards, number, entry.names) end
  return places.found(self, core.guards_list(entry.guards), failing, name)
end

--- The entry whose guards hold, moved to the front; else nil, what changed since the last run with
--- this signature or, for a new one, since the last capture, the name of that, and whether it
--- became a run-time input.
function captures.find(self, key, walk)
  local bucket, reason, name = self.entries[key], nil, nil
  if not bucket then return nil, signature.reason(self, walk) end
  for i = 1, #bucket do
    local entry = bucket[i]
    local text, changed, failing = misfit(entry, walk)
    if not text then
      if i > 1 then table.insert(bucket, 1, table.remove(bucket, i)) end
      return entry
    end
    if not reason then reason, name = text, changed end
    if failing and next(self.written) and becomes_input(self, entry, failing) then
      return nil, text, changed, true
    end
  end
  local file, line = core.position()
  events.emit("guard_fail", { name = self.name, reason = reason, file = file, line = line })
  captures.check_open(self)
  return nil, reason, name
end

-- What changed, and how often, as lines; `cause` is why it would be captured now.
local function changes(self, cause)
  local lines = {}
  for name, times in pairs(self.changed) do
    lines[#lines + 1] = ("%6d  %s"):format(times + (name == cause and 1 or 0), name)
  end
  if cause and not self.changed[cause] then lines[#lines + 1] = ("%6d  %s"):format(1, cause) end
  table.sort(lines, function(a, b) return a > b end)
  return lines
end

--- Was the function captured as often as it may be? Then, where it must be one program, an error
--- that says for what; `cause` is why it would be now. Else the one report of it is made, and the
--- call runs as Lua.
function captures.past_limit(self, cause)
  captures.check_open(self)
  if #self.order <= self.max_recaptures then return false end
  local lines = changes(self, cause)
  local text = ("compile: %s was captured %d times; at most %d re-captures are allowed"):format(
    self.name, #self.order, self.max_recaptures)
  if not self.fullgraph and not self.strict then
    if not self.past then
      coverage.broke(self, breaks.record_of_limit(self.fn, text, lines))
      self.past = true
    end
    return true
  end
  local refused = self.dynamic and self.dynamic.refused
  if refused then lines[#lines + 1] = "the sizes cannot be symbolic: " .. refused end
  raise("SGL_ESTATE", text, "what changed, and how often:\n" .. table.concat(lines, "\n")
    .. "\npass what changes as a tensor or number argument, or raise max_recaptures; "
    .. "with fullgraph = false further calls run as Lua")
end

return captures
