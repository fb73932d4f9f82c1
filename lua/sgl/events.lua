-- events.lua: sgl.on, sgl.on_graph_capture, and a look back on what happened.
--
-- In:    events as the engine queued them (core.listen), graphs as they were captured.
-- Out:   calls of the user's functions; what they return is ignored.
-- Holds: a callback that fails breaks nothing: the failure is kept in its listener, counted, told
--        through `warn` the first time and as the event callback_error each time. Ctrl-C in a
--        callback still ends the script.
local api = require "sgl.api"
local core = require "sgl.core"

local raise, warn = core.raise, warn    -- a script may replace the global

local GRAPH = "graph_capture"
local listeners = {}                    -- by event: a list; replaced, never changed

local function place_of(fn)
  local info = type(fn) == "function" and debug.getinfo(fn, "S")
  if not info then return "?", 0 end
  return info.short_src, info.linedefined
end

-- What was raised as text; its metamethods may raise in turn.
local function reason_of(e)
  local ok, text = pcall(tostring, e)
  return ok and text or ("an error object (%s) without a text"):format(type(e))
end

local function failed(listener, e)
  if type(e) == "table" and rawget(e, "code") == "SGL_EINTR" then
    core.callback_interrupted()
    return
  end
  local file, line = place_of(listener.fn)
  local reason = reason_of(e)
  listener.errors, listener.last_error = listener.errors + 1, e
  if listener.errors == 1 then
    warn(("sgl: the callback for '%s' at %s:%d failed: %s"):format(listener.event, file, line,
      reason), "\nsgl: training goes on; further failures of it are counted, not shown")
  end
  if listener.event ~= "callback_error" then
    core.event("callback_error", { name = listener.event, reason = reason, file = file,
      line = line })
  end
end

local function tell(list, a, b)
  for i = 1, #list do
    local listener = list[i]
    if listener.open then
      listener.calls = listener.calls + 1
      local ok, e = pcall(listener.fn, a, b)
      if not ok then failed(listener, e) end
    end
  end
end

local function deliver(e)
  local list = listeners[e.event]
  if list then tell(list, e) end
end

local function deliver_graph(graph, inputs)
  tell(listeners[GRAPH], graph, table.move(inputs, 1, #inputs, 1, {}))
end

-- Tells the engine which events anybody wants.
local function update()
  local names = {}
  for name in pairs(listeners) do
    if name ~= GRAPH then names[#names + 1] = name end
  end
  core.listen(deliver, names)
  core.on_graph(listeners[GRAPH] and deliver_graph)
end

-- Whoever listens is told of every step, so this is no part of one.
local function check_outside(what)
  if core.capturing() then
    raise("SGL_ESTATE", what .. ": not inside sgl.compile", "call it before the step")
  end
end

local Listener = {}

api.class(api.root, "Listener", {
  doc = "What sgl.on and sgl.on_graph_capture return. Fields: event, calls, errors, last_error. "
    .. "A <close> variable ends it.",
}, Listener)

function Listener:__tostring()
  return ("listener for %s (%d calls, %d errors%s)"):format(self.event, self.calls, self.errors,
    self.open and "" or ", off")
end

api.method(Listener, "off", {
  doc = "Ends the listening. Once it is off, nothing more happens.",
}, function(self)
  if not self.open then return end
  check_outside "off"
  self.open = false
  local others = {}
  for _, listener in ipairs(listeners[self.event]) do
    if listener ~= self then others[#others + 1] = listener end
  end
  listeners[self.event] = #others > 0 and others or nil
  update()
end)

api.method(Listener, "close", { doc = "The same as off." }, Listener.off)
-- Lua passes the error that ends the block, which is none of off's arguments.
function Listener.__close(listener) listener:off() end

api.strict(Listener, "a listener", { "event", "calls", "errors", "last_error" })

local function listen(event, fn)
  check_outside "on"
  local listener = setmetatable(
    { event = event, fn = fn, calls = 0, errors = 0, open = true }, Listener)
  local list = table.move(listeners[event] or {}, 1, #(listeners[event] or {}), 1, {})
  list[#list + 1] = listener
  listeners[event] = list
  update()
  return listener
end

local function check_name(name)
  local names = {}
  for i, kind in ipairs(core.event_kinds()) do
    names[i] = kind.name
    if kind.name == name then return end
  end
  local near = core.nearest(name, names)
  raise("SGL_EARG", ("on: unknown event %s (%sevents: %s)"):format(core.quote(name),
    near and ("did you mean '%s'? "):format(near) or "", table.concat(names, ", ")))
end

api.fn(api.root, "on", {
  doc = "Calls a function with a table { event, trace, time, … } each time something happens; "
    .. "docs/events.md lists what, with the fields. It is called between operations, never inside "
    .. "a step that is being recorded; what it does cannot break training.",
  args = { { "event", "string", "such as 'compile_end'" },
           { "fn", "function", "gets the table of the event" } },
  returns = "Listener", errors = "an unknown event",
}, function(event, fn)
  check_name(event)
  return listen(event, fn)
end)

api.fn(api.root, "on_graph_capture", {
  doc = "Calls a function with each graph that sgl.compile has recorded, before it is compiled, "
    .. "and with the list of the arguments that it was recorded from.",
  args = { { "fn", "function", "fn(graph, example_inputs)" } }, returns = "Listener",
}, function(fn) return listen(GRAPH, fn) end)

api.fn(api.root, "events", {
  doc = "The last events of the kinds that happen seldom, the oldest first; as many as the setting "
    .. "event_history says.",
  args = { { "event", "string?", "only of this kind" } },
  returns = "list of tables { event, trace, time, … }", errors = "an unknown event",
}, function(event)
  if event then check_name(event) end
  local list = {}
  for _, e in ipairs(core.history()) do
    if not event or e.event == event then list[#list + 1] = e end
  end
  return list
end)

api.fn(api.root, "counters", {
  doc = "How often each event was told: { count, weight, ms } by its name. The weight counts what "
    .. "the sampler left out too, ms sums the durations. Events that nobody wants are not counted.",
  returns = "table by name",
}, function()
  local result = {}
  for _, kind in ipairs(core.event_kinds()) do
    result[kind.name] = { count = kind.count, weight = kind.weight, ms = kind.ms }
  end
  return result
end)

api.fn(api.root, "lifecycle", {
  doc = "The state of each backend: uninitialized, registering, registered, capturing, compiled.",
  returns = "table of states by name",
}, function()
  local states = {}
  for _, backend in ipairs(core.lifecycle()) do states[backend.name] = backend.state end
  return states
end)
