-- compile.lua: sgl.compile: a function captured once for each signature and run as one program.
--
-- In:    a function of tensors, numbers and tables of them.
-- Out:   a callable object. A call looks its signature up, captures the function if it is new or
--        if what it read has changed, and runs the program on the tensors and numbers in the
--        arguments.
-- Holds: the signature is the shape and dtype of each tensor, the place of each number, and the
--        value of everything else, of what the step looks at. Numbers are run-time inputs, so a
--        changing number never captures again. Tensors the function reads from outside are state:
--        they are read, and updated by `assign`, at each run. A compiled function called in another
--        is part of it.
local api = require "sgl.api"
local breaks = require "sgl.breaks"
local caller = require "sgl.compile.caller"
local captures = require "sgl.compile.captures"
local core = require "sgl.core"
local coverage = require "sgl.breaks.coverage"
local dynamic = require "sgl.compile.dynamic"
local guards = require "sgl.compile.guards"
local loading = require "sgl.loading"
local mask = require "sgl.compile.mask"
local results = require "sgl.compile.results"
local signature = require "sgl.compile.signature"

local call, clock, raise, is_tensor = core.call, core.clock, core.raise, core.is_tensor
local check_open = captures.check_open

local compile = {}

local Compiled = {}
Compiled.__index = Compiled
Compiled.__name = "sgl.compiled"

-- The first result of the last call, if it is a scalar, while there are displays of progress: in a
-- training step it is the loss. A larger one would be kept alive by it.
compile.last, compile.displays = nil, 0

local function is_scalar(v) return is_tensor(v) and v.ndim == 0 end

local function note_last(v, scalar)
  if compile.displays > 0 then compile.last = scalar and v or nil end
end

-- From now on core.call serves calls of these arguments by the entry, if its guards hold.
local function learn(self, entry, outputs, ...)
  if self.places[1] or entry.outside then return end
  entry.plain = results.are_plain(entry.returned, #outputs)
  entry.scalar = is_scalar(outputs[1])
  if self.dynamic and self.dynamic.changed then
    core.call_forget(self.calls)
    self.dynamic.changed = false
  end
  core.call_learn(self.calls, entry, entry.guards, entry.program, entry.plain, ...)
end

-- Calls of a function inside itself, as Lua runs it, from this depth on begin no capture: each
-- would record all that are deeper, and a recursion without end would never come to its error.
local DEEP = 2

-- The function itself.
local function called(self, ...)
  self.depth = self.depth + 1
  local _ <close> = self.leave
  return caller.call(self.fn, ...)
end

-- The call as Lua runs it: between the values that it reads, operations run as compiled segments.
local function run_broken(self, entry, ...)
  entry.runs = entry.runs + 1
  local values = coverage.segmented(self, entry.runs == 1, called, self, ...)
  if entry.unsure then
    entry.unsure = nil
    coverage.broke(self, entry.broken)
    captures.keep(self, entry.key, entry)
  end
  if entry.runs == 1 then core.guards_settle(entry.guards) end
  note_last(values[1], is_scalar(values[1]))
  return table.unpack(values, 1, values.n)
end

-- How many calls are being done again; when none is, everything is printed.
local again = 0
local Again = { __close = function()
  again = again - 1
  if again > 0 then return end
  core.again_end()
end }

-- The call as Lua runs it, which meets the error that the program met: nothing that the program did
-- is left but prints, and so what stands before the error is done, and nothing behind it.
local function run_again(self, ...)
  again = again + 1
  local _ <close> = setmetatable({}, Again)
  return called(self, ...)
end

-- The call as Lua runs it, whose error ended the capture: the tensors that it assigned before have
-- their values then. Where it has none, the error is one that only the capture raises.
local function run_failed(self, entry, ...)
  called(self, ...)
  error(entry.failed[1], 0)
end

-- The call as Lua runs it where the program cannot: an argument is a tensor that the step also
-- takes from outside, and updates.
local function run_aliased(self, entry, name, ...)
  local file, line = core.position()
  coverage.broke(self, breaks.record_of_error {
    message = ("%s is a tensor that the step also takes from outside, and updates"):format(name),
    file = file, line = line,
  })
  local values = coverage.segmented(self, false, called, self, ...)
  entry.aliased = entry.aliased + 1
  return table.unpack(values, 1, values.n)
end

-- The call as Lua runs it, past the limit of captures.
local function run_past(self, ...)
  local values = coverage.segmented(self, false, called, self, ...)
  self.uncaptured = self.uncaptured + 1
  note_last(values[1], is_scalar(values[1]))
  return table.unpack(values, 1, values.n)
end

-- The capture that serves a call, made if there is none, and the walk over the arguments; nil: past
-- the limit, or deep in the function itself.
local function entry_for(self, values)
  local before, cause_before   -- what changed, where that is an input now
  while true do
    local key, walk, plans = signature.of(self, values, self.mask or nil)
    local entry, reason, cause, found = captures.find(self, key, walk)
    if entry then return entry, walk end
    reason, cause = before or reason, cause_before or cause
    if found or mask.begins(self, values, signature.of) then
      before, cause_before = reason, cause
    elseif dynamic.begins(self, walk) then
      before, cause_before = reason .. "; sizes that vary are symbolic from here on", cause
    else
      if self.depth >= DEEP or captures.past_limit(self, cause) then return nil end
      entry = dynamic.capture(captures.make, self, key, walk, plans, reason)
      if entry and cause then self.changed[cause] = (self.changed[cause] or 0) + 1 end
      self.last_parts, self.last_places = walk.key, walk.places
      if entry then return entry, walk end
    end
  end
end

--- The capture that serves these arguments (a packed table), made if there is none; nothing runs.
--- nil past the limit of captures. What the function raises is raised.
function compile.captured(self, values)
  check_open(self)
  local entry = entry_for(self, values)
  if entry and entry.failed then error(entry.failed[1], 0) end
  return entry
end

-- A call that no capture is known for to serve, or that Lua has to run.
local function call_slowly(self, ...)
  check_open(self)
  if core.capturing() then return self.fn(...) end
  local values, started = table.pack(...), clock()
  local entry, walk = entry_for(self, values)
  if not entry then return (self.depth >= DEEP and called or run_past)(self, ...) end
  if entry.failed then return run_failed(self, entry, ...) end
  self.latest = entry
  if entry.broken then return run_broken(self, entry, ...) end
  local alias = not self.fullgraph and entry.program:aliased(walk.leaves)
  if alias then return run_aliased(self, entry, walk.names[alias], ...) end
  local outputs = entry.program:run(walk.leaves)
  entry.runs = entry.runs + 1
  if not outputs then return run_again(self, ...) end
  self.seconds = self.seconds + (clock() - started)
  note_last(outputs[1], is_scalar(outputs[1]))
  if self.calls then learn(self, entry, outputs, ...) end
  return results.build(entry.returned, entry.program, outputs, walk.leaves, walk.tables)
end

-- Makes the results of a capture that core.call ran.
local function build(entry, tables, leaves, outputs)
  note_last(outputs[1], entry.scalar)
  return results.build(entry.returned, entry.program, outputs, leaves, tables)
end

-- What core.call gave: a capture that it ran, and its results or what to make them of; or false or
-- nil, and the arguments.
local function finish(self, entry, ...)
  if entry == nil then return run_again(self, ...) end
  if not entry then return call_slowly(self, ...) end
  entry.runs = entry.runs + 1
  self.latest = entry
  if not entry.plain then return build(entry, ...) end
  if compile.displays > 0 then note_last((...), entry.scalar) end
  return ...
end

function Compiled:__call(...) return finish(self, call(self.calls, ...)) end

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

local STAGES = { "captured", "part", "fused", "plan", "kernels", "c" }

api.class(api.root, "Compiled", {
  doc = "What sgl.compile returns. Calling it runs the program for the arguments' signature.",
}, Compiled)

api.method(Compiled, "graph", {
  doc = "The graph of the program that ran last, or 'part': what this rank computes of it, on one "
    .. "rank in exact mode too; or its text after a stage: 'fused', 'plan', 'kernels', or 'c': a "
    .. "C file that computes the same.",
  args = { { "stage", "string?", "default 'captured': a Graph" } }, returns = "Graph or string",
  errors = "no call yet; an unknown stage",
}, function(self, stage)
  local program = latest(self, "graph").program
  if stage == nil or stage == "captured" then return program:graph() end
  if stage == "part" then return program:graph(true) end
  for _, known in ipairs(STAGES) do
    if stage == known then return program:print(stage) end
  end
  local near = core.nearest(stage, STAGES)
  raise("SGL_EARG", ("graph: unknown stage %s (%sstages: %s)"):format(core.quote(stage),
    near and ("did you mean '%s'? "):format(near) or "", table.concat(STAGES, ", ")))
end)

api.method(Compiled, "info", {
  doc = "Facts of the program that ran last: nodes, kernels, steps, dots, arena_bytes, "
    .. "compile_ms, passes, runs, signature, captures; with symbolic sizes also specialisations, "
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
  local rows, own = {}, state_dict(self, "load_state_dict")
  for i, name in ipairs(own) do rows[i] = { name, { own[name] } } end
  loading.into(rows, dict, o.strict)
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
  self.seconds = self.seconds + core.call_seconds(self.calls)
  self.entries, self.order, self.latest, self.calls = false, false, false, false
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
    { "effects", "string", "refuse", "refuse, or once: writes to what was there, at capture",
      among = { "refuse", "once" } },
    { "max_recaptures", "integer", 64, "more than that is an error that says what changed; with "
      .. "fullgraph = false such calls run as Lua", within = { 0, math.huge } },
    { "inputs", "table", nil, "a sgl.spec for each argument that has symbolic sizes" },
    { "dynamic", "boolean", nil, "true: a dim becomes symbolic at its second size, false: never; "
      .. "default after eight sizes" },
    { "batch", "table", nil, "the dim that counts samples, by the name of an argument" },
  },
  returns = "Compiled: call it as the function",
  errors = "a break, see docs/breaks.md; too many re-captures",
}, function(fn, o)
  local where = type(fn) == "function" and debug.getinfo(fn, "S") or {}
  local name = o.name or ("%s:%d"):format(where.short_src or "?", where.linedefined or 0)
  local self = setmetatable({
    fn = fn, name = name, entries = {}, order = {}, parameters = {}, changed = {}, broken = {},
    fullgraph = o.fullgraph, strict = o.strict, effects = o.effects,
    max_recaptures = o.max_recaptures, batch = o.batch or false, seconds = 0, broken_seconds = 0,
    places = {}, written = setmetatable({}, { __mode = "k" }), segments = 0, reads = 0,
    uncaptured = 0, past = false, dynamic = dynamic.new(o) or false,
    watches_sizes = o.dynamic == nil and not o.inputs, sizes = 0,
    calls = core.calls(dynamic.packed(o.inputs), not o.fullgraph),
    maskable = mask.fits(fn, o), mask = false, growth = 0,
    latest = false, last_parts = false, last_places = false, depth = 0, leave = false,
  }, Compiled)
  self.leave = setmetatable({}, { __close = function() self.depth = self.depth - 1 end })
  return coverage.note(self)
end)

return compile
