-- commands.lua: the lines at the prompt that begin with a colon.
--
-- A row of the table is { usage, what it does, function }; `:help` prints the rows. A function
-- gets the rest of the line and the session, and returns the text to print.
local core = require "sgl.core"

local commands = {}

local TIMED_SECONDS, MOST_RUNS = 0.5, 1000

local function size_text(bytes)
  local units, i = { "bytes", "KiB", "MiB", "GiB" }, 1
  while bytes >= 1024 and i < #units do
    bytes, i = bytes / 1024, i + 1
  end
  return (i == 1 and "%d %s" or "%.1f %s"):format(bytes, units[i])
end

local function time_text(seconds)
  if seconds < 1e-3 then return ("%.1f us"):format(seconds * 1e6) end
  if seconds < 1 then return ("%.2f ms"):format(seconds * 1e3) end
  return ("%.2f s"):format(seconds)
end

-- Runs the code and whatever its results still have to compute.
local function run_once(chunk)
  local start = core.clock()
  local results, tensors = table.pack(chunk()), {}
  for i = 1, results.n do
    if core.is_tensor(results[i]) then tensors[#tensors + 1] = results[i] end
  end
  core.realize(tensors)
  return core.clock() - start
end

local function time(rest)
  local chunk = assert(load("return " .. rest, "=stdin") or load(rest, "=stdin"))
  local first, times, spent = run_once(chunk), {}, 0
  while spent < TIMED_SECONDS and #times < MOST_RUNS do
    times[#times + 1] = run_once(chunk)
    spent = spent + times[#times]
  end
  table.sort(times)
  return ("%s (median of %d runs; best %s, first %s)"):format(
    time_text(times[#times // 2 + 1]), #times, time_text(times[1]), time_text(first))
end

local function program_memory(info)
  return ("program: %s arena at its peak, %d steps, %d kernels, %d matrix products"):format(
    size_text(info.arena_bytes), info.steps, info.kernels, info.dots)
end

local function memory(rest)
  local out = {}
  if rest ~= "" then
    local value = assert(load("return " .. rest, "=stdin"))()
    if core.is_tensor(value) then
      out[1] = ("%s: %s"):format(rest, size_text(#value:bytes()))
    else
      out[1] = program_memory(value:info())
    end
  end
  local m = core.memory()
  out[#out + 1] = ("tensors: %s"):format(size_text(m.tensors))
  out[#out + 1] = ("all: %s in %d blocks, at most %s so far"):format(
    size_text(m.live), m.blocks, size_text(m.peak))
  return table.concat(out, "\n")
end

-- Stages behind the graph passes, by the pass that makes them.
local PROGRAM_LEVELS = { fuse = "fused", order = "plan", plan = "plan" }

local function pass_list()
  local out = {}
  for i, pass in ipairs(core.passes()) do
    out[i] = ("%-10s %s"):format(pass.name, pass.doc)
  end
  return table.concat(out, "\n")
end

local function pass(rest, session)
  if rest == "" then return pass_list() end
  local level = PROGRAM_LEVELS[rest]
  if level and session.compiled then return session.compiled:graph(level) end
  local graph = session.graph or session.compiled and session.compiled:graph()
  if not graph then
    return "no graph yet: print one (f:graph()) or call a compiled function by its name first"
  end
  return tostring(graph:pass(rest))
end

local ROWS = {
  { "?name", "help on a function, a method or a setting" },
  { ":help", "this list" },
  { ":time code", "how long the code takes, with its results computed", time },
  { ":mem [value]", "memory in use; of a tensor or a compiled function too", memory },
  { ":pass [name]", "the last graph after a pass; without a name, the passes", pass },
}

local function list()
  local out = {}
  for i, row in ipairs(ROWS) do out[i] = ("%-14s %s"):format(row[1], row[2]) end
  out[#out + 1] = "Ctrl-D ends the session, Ctrl-C drops the line or stops what runs."
  return table.concat(out, "\n")
end

--- Runs the command in a line ":name rest" and returns what to print.
function commands.run(line, session)
  local name, rest = line:match "^:%s*(%a*)%s*(.-)%s*$"
  if name == "help" or name == "" then return list() end
  local names = { "help" }
  for _, row in ipairs(ROWS) do
    local known = row[1]:match "^:(%a+)"
    if known == name and row[3] then return row[3](rest, session) end
    names[#names + 1] = known
  end
  local near = core.nearest(name, names)
  return ("no command %s%s; :help lists them"):format(core.quote(":" .. name),
    near and (" (did you mean :%s?)"):format(near) or "")
end

return commands
