-- check/record.lua: what a stage of `sgl check` notes while its script runs.
--
-- In:    a script; how many training steps; for a stage that resumes, what another one noted.
-- Out:   a record (pack.lua) of each rank: its steps, their arguments, results and state as
--        checksums, graphs, what was exported; tensors beside it in files.
-- Holds: a training step is a call of a compiled function that changes state. The script runs as
--        it is and ends behind the last step; when it resumes, steps before the checkpoint are not
--        run: it gets the results that they had. All ranks do the same, since reading is a meeting.
local api = require "sgl.api"
local compile = require "sgl.compile"
local core = require "sgl.core"
local coverage = require "sgl.breaks.coverage"
local pack = require "sgl.check.pack"

local record = {}

-- Ends the script behind the last step; a script that catches it meets it again at the next.
local STOP = setmetatable({}, { __tostring = function() return "sgl check: enough steps" end })

local o, data            -- what was asked for; what is noted
local functions = {}     -- compiled functions that train, in the order of their first step
local given              -- results of steps that are not run, by name
local wrapped            -- the call that is replaced
local busy = false       -- exporting calls compiled functions itself

-- ---- values

local function norm_of(t)
  if not t:is_floating_point() then return false end
  return t:to("f64"):square():sum():sqrt():item()
end

-- Tensors in nested arguments or results, by their place; other values as text.
local function flatten(values, n, prefix, out)
  for i = 1, n do
    local v, name = values[i], prefix .. i
    if core.is_tensor(v) then out[#out + 1] = { name, v }
    elseif type(v) == "table" then
      local keys = {}
      for key in pairs(v) do keys[#keys + 1] = key end
      table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
      for _, key in ipairs(keys) do flatten({ v[key] }, 1, name .. "." .. tostring(key), out) end
    else
      out[#out + 1] = { name, tostring(v) }
    end
  end
  return out
end

local function checksums(values, n, what)
  local out = {}
  for i, item in ipairs(flatten(values, n, what, {})) do
    local v = item[2]
    out[i] = { item[1], core.is_tensor(v) and core.checksum(v:bytes()) or v }
  end
  return out
end

-- The first result that is one number: in a training step, the loss.
local function loss_of(results)
  for i = 1, results.n do
    local v = results[i]
    if core.is_tensor(v) and v:numel() == 1 and v:is_floating_point() then return v:item() end
  end
  return false
end

-- ---- state

-- { name, tensor } of all state of a function, in the order of its graph, and the random numbers.
local function state_of(fn)
  local list = {}
  for i, t in ipairs(fn.entry.program:state()) do
    list[i] = { fn.prefix .. fn.entry.state[i], t, fn.entry.registered[i] }
  end
  return list
end

local function rng_now() return core.tensor({ core.rng() }, "i64") end

local function note_state(fn)
  local out = {}
  for i, item in ipairs(state_of(fn)) do
    out[i] = { item[1], core.checksum(item[2]:bytes()), norm_of(item[2]) }
  end
  out[#out + 1] = { fn.prefix .. "rng", core.checksum(rng_now():bytes()), false }
  return out
end

local function all_state()
  local dict = { ["random numbers"] = rng_now() }
  for _, fn in ipairs(functions) do
    for _, item in ipairs(state_of(fn)) do dict[item[1]] = item[2] end
  end
  return dict
end

local function save(dict, name)
  local ok, message = api.root.save(dict, o.folder .. "/" .. name)
  if not ok then error(message, 0) end
end

-- The state of a function as the checkpoint has it; what it lacks is noted.
local function restore(fn)
  local dict = assert(api.root.load(o.checkpoint))
  for _, item in ipairs(state_of(fn)) do
    local saved = rawget(dict, item[1])
    if saved then item[2]:assign(saved) else data.missing[#data.missing + 1] = item[1] end
  end
  fn.restored = true
end

-- The checkpoint behind its step, as a script that goes on from it would read it: before what it
-- draws and reads for the next.
local function restore_all()
  for _, fn in ipairs(functions) do restore(fn) end
  local rng = rawget(assert(api.root.load(o.checkpoint)), "random numbers"):tolist()
  core.rng(rng[1], rng[2])
end

-- ---- steps

local bytes_of, is_collective = {}, {}
for _, dtype in ipairs(core.dtypes()) do bytes_of[dtype.name] = dtype.bytes end
for _, op in ipairs(core.ops()) do is_collective[op.name] = op.family == "comm" end

-- The exchanges of a step: { op, type, bytes } in their order.
local function schedule_of(step)
  local list, _, size = {}, core.job()
  if size == 1 then return list end
  for _, node in ipairs(step:graph("part"):nodes()) do
    if is_collective[node.op] then
      local bytes = bytes_of[node.dtype]
      for _, d in ipairs(node.shape) do bytes = bytes * d end
      list[#list + 1] = { node.op, node.dtype .. api.shape_text(node.shape), bytes }
    end
  end
  return list
end

local function changes_state(entry)
  if entry.changes == nil then
    entry.changes = false
    for _, input in ipairs(entry.program and entry.program:graph():inputs() or {}) do
      if input.assigned and input.name ~= "rng" then entry.changes = true end
    end
  end
  return entry.changes
end

local function function_of(self, entry)
  for _, fn in ipairs(functions) do
    if fn.step == self then
      fn.entry = entry
      return fn
    end
  end
  local fn = { step = self, entry = entry, name = self.name,
               prefix = #functions > 0 and #functions + 1 .. "/" or "" }
  functions[#functions + 1] = fn
  data.functions[#functions] = { name = tostring(self.name), graph = entry.program:graph():text(),
                                 nodes = #entry.program:graph():nodes(),
                                 initial = note_state(fn), unregistered = {} }
  for _, item in ipairs(state_of(fn)) do
    if not item[3] then
      local list = data.functions[#functions].unregistered
      list[#list + 1] = item[1]
    end
  end
  return fn
end

-- The results of a step that is not run.
local function results_given(n, results)
  local list = table.pack()
  for i, item in ipairs(results) do
    list[i] = item[2] == "tensor" and rawget(given, n .. " " .. item[1]) or nil
  end
  list.n = #results
  return list
end

local function finish()
  local last = functions[#functions]
  busy = true
  save(all_state(), "state.safetensors")
  if o.export and last and last.values then
    local path = o.folder .. "/step.sgl"
    local ok, done, message = pcall(api.root.export, last.step, last.values, { file = path })
    data.exported = ok and done or false
    data.export_error = not data.exported and tostring(ok and message or done) or nil
  end
  busy = false
  data.ended = true
  error(STOP, 0)
end

local function note_results(n, results, dict)
  local out = {}
  for i = 1, results.n do
    local v = results[i]
    out[i] = { "result" .. i, core.is_tensor(v) and "tensor" or tostring(v) }
    if core.is_tensor(v) then dict[n .. " result" .. i] = v end
  end
  return out
end

local results_dict = {}

-- A training step, run or (before the point where a script resumes) given.
local function stepped(self, entry, values)
  local fn, n = function_of(self, entry), #data.steps + 1
  if n > o.steps then error(STOP, 0) end
  local skipped = o.resume and n <= o.at
  if o.resume and not skipped and not fn.restored then restore(fn) end
  local started = core.clock()
  local results = skipped and results_given(n, o.results[n])
    or table.pack(wrapped(self, table.unpack(values, 1, values.n)))
  local loss = loss_of(results)
  local step = { name = fn.name, seconds = core.clock() - started, loss = loss,
                 arguments = checksums(values, values.n, "argument "),
                 results = note_results(n, results, results_dict),
                 state = not skipped and note_state(fn) or nil }
  data.steps[n] = step
  fn.values = table.pack(table.unpack(values, 1, values.n))
  if n == 1 and not skipped then data.schedule = schedule_of(self) end
  if n == o.at and o.resume then restore_all() end
  if n == o.at and not o.resume then
    save(all_state(), "checkpoint.safetensors")
    save(results_dict, "results.safetensors")
  end
  if n == o.steps then finish() end
  return table.unpack(results, 1, results.n)
end

local function call(self, ...)
  if core.capturing() or busy then return wrapped(self, ...) end
  local values = table.pack(...)
  -- What the capture raises, the call raises again, at its place and with what it leaves.
  local captured, entry = pcall(compile.captured, self, values)
  if not captured or not entry or entry.broken or not changes_state(entry) then
    return wrapped(self, ...)
  end
  -- No tail call: messages name the line that called the step.
  local results = table.pack(stepped(self, entry, values))
  return table.unpack(results, 1, results.n)
end

-- ---- the script

local function peak_bytes()
  local file <close> = io.open "/proc/self/status"
  local kilobytes = file and file:read "a":match "VmHWM:%s*(%d+)"
  return kilobytes and tonumber(kilobytes) * 1024 or 0
end

local function note_breaks()
  for _, compiled in ipairs(coverage.all()) do
    local report = coverage.report(compiled)
    for _, b in ipairs(report.breaks) do
      data.breaks[#data.breaks + 1] = ("%s %s:%s: %s"):format(b.code, b.file, b.line, b.reason)
    end
    data.captures = data.captures + report.captures
  end
end

local function traced(e)
  return e == STOP and e or debug.traceback(core.explain(tostring(e)), 2)
end

--- Runs a script with its arguments as a stage; `file` is where `pack` put the options.
function record.main(file, script, ...)
  o = pack.read(file)
  data = { steps = {}, functions = {}, breaks = {}, captures = 0, missing = {}, schedule = {} }
  if o.resume then given = assert(api.root.load(o.given)) end
  wrapped, api.root.Compiled.__call = api.root.Compiled.__call, call
  local chunk, message = loadfile(script)
  local ok = chunk ~= nil
  if chunk then
    _G.arg = { [0] = script, ... }
    ok, message = xpcall(chunk, traced, ...)
  end
  local rank = core.job()
  ok = ok or message == STOP
  if ok and not data.ended and #data.steps > 0 then ok, message = pcall(finish) end
  ok = ok or message == STOP
  data.error = not ok and tostring(message) or nil
  note_breaks()
  data.peak = peak_bytes()
  pack.write(("%s/rank%d"):format(o.folder, rank), data)
  if not ok then error(message, 0) end
end

return record
