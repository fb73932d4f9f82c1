-- compile.lua: sgl.compile: a function captured once for each signature and run as one program.
--
-- In:    a function of tensors, numbers and tables of them.
-- Out:   a callable object. A call looks its signature up, captures the function if it is new or
--        if what it read has changed, and runs the program on the tensors and numbers in the
--        arguments.
-- Holds: the signature is the shape and dtype of each tensor, the place of each number, and the
--        value of everything else. Numbers are run-time inputs, so a changing number never
--        captures again. Tensors the function reads from outside are state: they are read, and
--        updated by `assign`, at each run. A compiled function called in another is part of it.
local api = require "sgl.api"
local breaks = require "sgl.breaks"
local core = require "sgl.core"
local coverage = require "sgl.breaks.coverage"
local dynamic = require "sgl.dynamic"
local events = require "sgl.emit"
local guards = require "sgl.guards"
local names = require "sgl.names"
local results = require "sgl.results"
local tree = require "sgl.tree"

local check_guards, clock = core.guards_check, core.clock
local raise, is_tensor, is_plain = core.raise, core.is_tensor, tree.is_plain

local compile = {}

local MOST_DEPTH = 32

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

-- The parts of the key since the last note belong to the value of that name.
local function note_place(walk, name)
  local places = walk.places
  if not places then return end
  for i = #places + 1, #walk.key do places[i] = name end
end

-- A walk over the arguments: `key` collects the signature, `leaves` the run-time inputs, `names`
-- what they are called, `tables` the tables, `seen` the plans of those: one that comes twice is one
-- table in the step. `places`, if there, collects what each part of the key belongs to. Returns a
-- plan from which `rebuild` makes the value again. The sizes in a shape (`fixed`) are part of the
-- signature.
local function flatten(v, walk, name, depth, spec, fixed)
  local key = walk.key
  if spec then dynamic.check(v, name, spec) end
  if is_tensor(v) or type(v) == "number" and not fixed then
    local at = #walk.leaves + 1
    walk.leaves[at], walk.names[at] = v, name
    if is_tensor(v) then
      key[#key + 1], walk.dims[at] = dynamic.describe(walk.dynamic, v, name, spec, walk)
      for i = 1, at - 1 do
        if rawequal(walk.leaves[i], v) then key[#key + 1] = ("=%d,"):format(i) end
      end
    else
      key[#key + 1] = "#"
    end
    note_place(walk, name)
    return { leaf = #walk.leaves }
  elseif is_plain(v) then
    if depth > MOST_DEPTH then
      raise("SGL_EARG", ("compile: the argument '%s' is nested deeper than %d tables"):format(
        name, MOST_DEPTH))
    end
    local items, meta = {}, getmetatable(v)
    local plan, seen = { items = items, meta = meta }, walk.seen or {}
    walk.seen = seen
    if seen[v] then
      key[#key + 1] = ("=%d,"):format(seen[v].number)
      note_place(walk, name)
      return seen[v]
    end
    seen.n = (seen.n or 0) + 1
    seen[v], plan.number, walk.tables[seen.n] = plan, seen.n, v
    key[#key + 1] = meta and "shape{" or "{"
    note_place(walk, name)
    for i, k in ipairs(tree.sorted_keys("compile", v)) do
      key[#key + 1] = ("%q="):format(k)
      note_place(walk, name)
      items[i] = { k, flatten(v[k], walk, name .. "." .. k, depth + 1, dynamic.below(spec, k),
        meta) }
    end
    key[#key + 1] = "}"
    note_place(walk, name)
    return plan
  end
  key[#key + 1] = (v == nil or type(v) == "boolean" or type(v) == "number") and tostring(v)
    or type(v) == "string" and ("%q"):format(v) or ("@%d,"):format(identity(v))
  note_place(walk, name)
  return { value = v }
end

-- `made` holds the tables by plan.
local function rebuild(plan, leaves, made)
  if plan.leaf then return leaves[plan.leaf] end
  if not plan.items then return plan.value end
  if made[plan] then return made[plan] end
  local result = {}
  made[plan] = result
  for _, item in ipairs(plan.items) do result[item[1]] = rebuild(item[2], leaves, made) end
  return plan.meta and setmetatable(result, plan.meta) or result
end

local Compiled = {}
Compiled.__index = Compiled
Compiled.__name = "sgl.compiled"

local function parameter_name(fn, i)
  return type(fn) == "function" and debug.getlocal(fn, i) or "arg" .. i
end

local function flatten_arguments(self, count, values)
  local state = self.dynamic
  local walk = { key = {}, leaves = {}, names = {}, dims = {}, tables = {}, dynamic = state }
  local plans = {}
  for i = 1, count do
    local name = self.parameters[i]
    if not name then
      name = parameter_name(self.fn, i)
      self.parameters[i] = name
    end
    plans[i] = flatten(values[i], walk, name, 1, state and state.specs[i])
    walk.key[#walk.key + 1] = ";"
  end
  return table.concat(walk.key), walk, plans
end

-- What each part of the key of a call belongs to.
local function places_of(self, count, values)
  local walk = { key = {}, leaves = {}, names = {}, dims = {}, tables = {}, places = {} }
  for i = 1, count do
    flatten(values[i], walk, self.parameters[i], 1)
    walk.key[#walk.key + 1] = ";"
    note_place(walk, self.parameters[i])
  end
  return walk.places
end

-- Objects that came as arguments, by name.
local function argument_names(plans, parameters)
  local names = {}
  for i, plan in ipairs(plans) do
    local v = plan.value
    if type(v) == "table" or type(v) == "function" then
      names[v] = parameters[i]
      local fields = guards.fields(v)
      if fields then names[fields] = parameters[i] end
    end
  end
  return names
end

local function new_entry(self, key, plans, reason)
  -- A room that loads itself inside a step would be an effect of the step.
  for name in pairs(api.rooms) do assert(api.root[name]) end
  return { key = key, runs = 0, aliased = 0, reason = reason,
           names = argument_names(plans, self.parameters) }
end

-- Captures the function for an entry. When that breaks, the entry still has the guards of what
-- was read until then.
local function capture(self, entry, walk, plans)
  local made, returned = {}, nil
  local function step(...)
    local leaves, arguments = { ... }, {}
    for i = 1, #plans do arguments[i] = rebuild(plans[i], leaves, made) end
    for _, result in pairs(made) do core.given(result) end
    return table.pack(self.fn(table.unpack(arguments, 1, #plans)))
  end
  local function settle(packed)
    local tables, outputs = {}, nil
    for plan, result in pairs(made) do tables[result] = plan.number end
    returned, outputs = results.plan(packed, tables, self.fn)
    return outputs
  end
  local function note(held)
    entry.guards = held
    breaks.watch(entry, self.fn)
  end
  local function call_state(tensors)
    entry.state = names.of(entry.guards, tensors, entry.names)
    return entry.state
  end
  entry.program = core.capture(step, walk.leaves, walk.names, self.fn, self.effects == "once",
    note, walk.dims, settle, call_state)
  entry.returned = returned
  return entry
end

-- Callbacks and the function itself run in between: any of them may have closed it.
local function check_open(self)
  if not self.entries then raise("SGL_ECLOSED", "the compiled function is closed") end
end

local function keep(self, key, entry)
  check_open(self)
  local bucket = self.entries[key] or {}
  self.entries[key] = bucket
  table.insert(bucket, 1, entry)
  self.order[#self.order + 1] = entry
  return entry
end

-- What an error of a capture says of the step, or nil if it ends the call: running as Lua would
-- change nothing, or is not what was asked for. An error that is no break counts until Lua raises
-- it as well.
local function break_of(self, entry, walk, e)
  local final = type(e) == "table" and (e.code == "SGL_ENOMEM" or e.code == "SGL_EINTR")
  if final or self.strict or not entry.guards then return nil end
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

-- Captures; where the step breaks and that is allowed, the entry has the record of it and no
-- program.
local function capture_or_break(self, key, walk, plans, reason)
  local entry = new_entry(self, key, plans, reason)
  if self.fullgraph and not compile.in_segments then
    return keep(self, key, capture(self, entry, walk, plans))
  end
  local fine, e = pcall(capture, self, entry, walk, plans)
  if fine then return keep(self, key, entry) end
  entry.broken = break_of(self, entry, walk, e)
  if not entry.broken then error(e, 0) end
  if entry.unsure then return entry end
  coverage.broke(self, entry.broken)
  return keep(self, key, entry)
end

-- A part of a key in words; nil: one that stands for no value of its own.
local function part_words(part)
  if not part or part == ";" or part == "}" or part:find "=$" then return nil end
  local first = part:sub(1, 1)
  return first == "#" and "a number" or part:find "{$" and "a table" or first == "@" and "an object"
    or part
end

-- What told this signature from that of the last entry: "x changed from f32[2] to f32[3]", and the
-- name of what changed.
local function signature_reason(self, now, places)
  local last, i = self.last_parts, 1
  if not last then return nil end
  while last[i] and last[i] == now[i] do i = i + 1 end
  local old, new = last[i], now[i]
  if not old and not new then return nil end
  local name = places[i] or self.last_places[i]
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

-- Why the program of an entry cannot run, and the name of what changed; nil: it can.
local function misfit(entry, walk)
  local failing = check_guards(entry.guards, walk.leaves)
  if failing then return guards.reason(entry.guards, failing, entry.names) end
  if not entry.program then return nil end
  local fits, number = entry.program:fits(walk.leaves)
  if fits then return nil end
  if not number then return "a comparison of sizes comes out otherwise", "a comparison of sizes" end
  local name = walk.names[number]
  return ("%s changed from %s"):format(name, math.type(walk.leaves[number]) == "float"
    and "an integer to a float" or "a float to an integer"), name
end

-- The entry whose guards hold, moved to the front; else nil, what changed since the last run with
-- this signature or, for a new one, since the last capture, and the name of that.
local function find(self, key, walk, count, values)
  local bucket, reason, name = self.entries[key], nil, nil
  if not bucket then
    return nil, signature_reason(self, walk.key, places_of(self, count, values))
  end
  for i = 1, #bucket do
    local entry = bucket[i]
    local text, changed = misfit(entry, walk)
    if not text then
      if i > 1 then table.insert(bucket, 1, table.remove(bucket, i)) end
      return entry
    end
    if not reason then reason, name = text, changed end
  end
  local file, line = core.position()
  events.emit("guard_fail", { name = self.name, reason = reason, file = file, line = line })
  return nil, reason, name
end

-- Raises when the function was captured too often, and says for what; `cause` is why it would be
-- now.
local function check_limit(self, cause)
  check_open(self)
  if #self.order <= self.max_recaptures then return end
  local lines = {}
  for name, times in pairs(self.changed) do
    lines[#lines + 1] = ("%6d  %s"):format(times + (name == cause and 1 or 0), name)
  end
  if cause and not self.changed[cause] then lines[#lines + 1] = ("%6d  %s"):format(1, cause) end
  table.sort(lines, function(a, b) return a > b end)
  raise("SGL_ESTATE", ("compile: %s was captured %d times; at most %d re-captures are allowed")
    :format(self.name, #self.order, self.max_recaptures),
    "what changed, and how often:\n" .. table.concat(lines, "\n")
    .. "\npass what changes as a tensor or number argument, or raise max_recaptures")
end

-- Set by `sgl breaks`: every function that breaks runs in segments.
compile.in_segments = false

-- The first result of the last call, if it is a scalar, for the progress bar: in a training step
-- it is the loss. A larger one would be kept alive by it.
compile.last = nil

local function is_scalar(v) return is_tensor(v) and v.ndim == 0 end

-- The call as Lua runs it: between the values that it reads, operations run as compiled segments.
local function run_broken(self, entry, ...)
  entry.runs = entry.runs + 1
  local values = coverage.segmented(self, entry.runs == 1, self.fn, ...)
  if entry.unsure then
    entry.unsure = nil
    coverage.broke(self, entry.broken)
    keep(self, entry.key, entry)
  end
  if entry.runs == 1 then core.guards_settle(entry.guards) end
  compile.last = is_scalar(values[1]) and values[1] or nil
  return table.unpack(values, 1, values.n)
end

-- The call as Lua runs it where the program cannot: an argument is a tensor that the step also
-- takes from outside, and updates.
local function run_aliased(self, entry, name, ...)
  local file, line = core.position()
  coverage.broke(self, breaks.record_of_error {
    message = ("%s is a tensor that the step also takes from outside, and updates"):format(name),
    file = file, line = line,
  })
  local values = coverage.segmented(self, false, self.fn, ...)
  entry.aliased = entry.aliased + 1
  return table.unpack(values, 1, values.n)
end

function Compiled:__call(...)
  check_open(self)
  if core.capturing() then return self.fn(...) end
  local count, values, started = select("#", ...), { ... }, clock()
  local entry, walk
  repeat
    local key, plans, reason, cause
    key, walk, plans = flatten_arguments(self, count, values)
    entry, reason, cause = find(self, key, walk, count, values)
    if not entry then
      check_limit(self, cause)
      entry = dynamic.capture(capture_or_break, self, key, walk, plans, reason)
      if entry and cause then self.changed[cause] = (self.changed[cause] or 0) + 1 end
      self.last_parts, self.last_places = walk.key, places_of(self, count, values)
    end
  until entry
  self.latest = entry
  if entry.broken then return run_broken(self, entry, ...) end
  local alias = not self.fullgraph and entry.program:aliased(walk.leaves)
  if alias then return run_aliased(self, entry, walk.names[alias], ...) end
  local outputs = entry.program:run(walk.leaves)
  entry.runs = entry.runs + 1
  self.seconds = self.seconds + (clock() - started)
  compile.last = outputs[1] and outputs[1].ndim == 0 and outputs[1] or nil
  return results.build(entry.returned, entry.program, outputs, walk)
end

function Compiled:__tostring()
  local count = self.order and #self.order or 0
  return ("compiled %s (%d program%s)"):format(self.name, count, count == 1 and "" or "s")
end

local function latest(self, what)
  check_open(self)
  local entry = self.latest or self.order[#self.order]
  if not entry or not entry.program then
    raise("SGL_ESTATE", what .. (entry and ": the step breaks, so it has no program as a whole"
      or ": the function has no program yet"),
      "call it once, so that it is captured for the shapes of that call")
  end
  return entry
end

local STAGES = { "captured", "fused", "plan", "kernels", "c" }

api.class(api.root, "Compiled", {
  doc = "What sgl.compile returns. Calling it runs the program for the arguments' signature.",
}, Compiled)

api.method(Compiled, "graph", {
  doc = "The graph of the program that ran last, or its text after a stage: 'fused', 'plan', "
    .. "'kernels', or 'c': a C file that computes the same.",
  args = { { "stage", "string?", "default 'captured': a Graph" } }, returns = "Graph or string",
  errors = "no call yet; an unknown stage",
}, function(self, stage)
  local program = latest(self, "graph").program
  if stage == nil or stage == "captured" then return program:graph() end
  for _, known in ipairs(STAGES) do
    if stage == known then return program:print(stage) end
  end
  local near = core.nearest(stage, STAGES)
  raise("SGL_EARG", ("graph: unknown stage '%s' (%sstages: %s)"):format(stage,
    near and ("did you mean '%s'? "):format(near) or "", table.concat(STAGES, ", ")))
end)

api.method(Compiled, "info", {
  doc = "Facts of the program that ran last: nodes, kernels, steps, dots, arena_bytes, "
    .. "compile_ms, passes, runs, signature, captures; with symbolic sizes also instances, "
    .. "bindings, bind_ms, guards, and refused: why a dim that varied could not be symbolic.",
  returns = "table", errors = "no call yet",
}, function(self)
  local entry = latest(self, "info")
  local info = entry.program:info()
  info.runs, info.signature, info.captures = entry.runs, entry.key, #self.order
  info.refused = self.dynamic and self.dynamic.refused
  return info
end)

api.method(Compiled, "state", {
  doc = "The tensors from outside that the program that ran last reads or updates: { name, "
    .. "tensor }; name is the path by which the step reached it, such as 'upvalue model.weight'.",
  returns = "list", errors = "no call yet",
}, function(self)
  local entry, list = latest(self, "state"), {}
  for i, tensor in ipairs(entry.program:state()) do
    list[i] = { name = guards.path(entry.guards, tensor, entry.names), tensor = tensor }
  end
  return list
end)

local function state_dict(self, what)
  local entry, dict = latest(self, what), {}
  for i, tensor in ipairs(entry.program:state()) do
    dict[i], dict[entry.state[i]] = entry.state[i], tensor
  end
  return dict
end

api.method(Compiled, "state_dict", {
  doc = "The tensors from outside that the program that ran last reads or updates, by their names "
    .. "in its graph: those of the module, of the optimizer behind its own ('opt.m.1.weight'), of "
    .. "other tensors the place that leads to them. The list part holds the names in order; the "
    .. "tensors themselves, not copies. sgl.save(step, path) writes them.",
  returns = "table: name -> tensor, and names from 1", errors = "no call yet",
}, function(self) return state_dict(self, "state_dict") end)

api.method(Compiled, "load_state_dict", {
  doc = "Copies values by name into the tensors from outside, as state_dict names them.",
  args = { { "dict", "table", "name -> tensor, as state_dict or sgl.load gives" } },
  opts = { { "strict", "boolean", true, "names must be the same on both sides" } },
  returns = "the compiled function",
  errors = "no call yet; a missing or unexpected name (strict), a shape or dtype that differs",
}, function(self, dict, o)
  names.load(state_dict(self, "load_state_dict"), dict, o.strict, api.describe)
  return self
end)

api.method(Compiled, "programs", {
  doc = "Every capture so far: { signature, runs, program, reason, broken }; reason says what "
    .. "changed before it, broken is the record of the break that left it without a program.",
  returns = "list",
}, function(self)
  check_open(self)
  local list = {}
  for i, entry in ipairs(self.order) do
    list[i] = { signature = entry.key, runs = entry.runs, program = entry.program,
                reason = entry.reason, broken = entry.broken }
  end
  return list
end)

api.method(Compiled, "close", {
  doc = "Frees the programs. The object cannot be called again.",
}, function(self)
  check_open(self)
  if core.capturing() then
    raise("SGL_ESTATE", "close: not inside sgl.compile", "close it after the step")
  end
  for _, entry in ipairs(self.order) do
    if entry.program then entry.program:close() end
  end
  self.entries, self.order, self.latest = false, false, false
end)

function Compiled:__close()
  if self.entries then self:close() end
end

api.strict(Compiled, "a compiled function", { "name" })

-- Options that may be changed later; every other field is made with the object.
local CHANGED = { "fullgraph", "max_recaptures", "strict" }

function Compiled:__newindex(key) api.no_field(tostring(self), CHANGED, key) end

api.fn(api.root, "compile", {
  doc = "Makes a function one program for each signature of its arguments. It is called once "
    .. "for each to record what it does, and again when a Lua value that it read has changed. "
    .. "Numbers in the arguments are run-time inputs, tensors from outside are state.",
  args = { { "fn", "function", "the step: tensors, numbers and tables of them in and out" } },
  opts = {
    { "name", "string", nil, "shown in messages; default the place of the definition" },
    { "fullgraph", "boolean", true, "false: where the step breaks, it runs in segments" },
    { "strict", "boolean", false, "each break is an error, whatever fullgraph says" },
    { "effects", "string", "refuse", "refuse, or once: writes to what was there, at capture" },
    { "max_recaptures", "integer", 64, "more than that is an error that says what changed",
      within = { 0, math.huge } },
    { "inputs", "table", nil, "a sgl.spec for each argument that has symbolic sizes" },
    { "dynamic", "boolean", false, "a dim becomes symbolic at its second size" },
  },
  returns = "Compiled: call it as the function",
  errors = "a break, see docs/breaks.md; too many re-captures",
}, function(fn, o)
  local where = type(fn) == "function" and debug.getinfo(fn, "S") or {}
  local name = o.name or ("%s:%d"):format(where.short_src or "?", where.linedefined or 0)
  if o.effects ~= "refuse" and o.effects ~= "once" then
    raise("SGL_EARG", ("compile: option 'effects' must be 'refuse' or 'once', got '%s'"):format(
      o.effects))
  end
  local self = setmetatable({
    fn = fn, name = name, entries = {}, order = {}, parameters = {}, changed = {}, broken = {},
    fullgraph = o.fullgraph, strict = o.strict, effects = o.effects,
    max_recaptures = o.max_recaptures, seconds = 0, broken_seconds = 0, segments = 0,
    reads = 0,
    dynamic = dynamic.new(o) or false, latest = false, last_parts = false, last_places = false,
  }, Compiled)
  return coverage.note(self)
end)

return compile
