-- dist/preflight.lua: `sgl run --check`: which ranks there are and where, do they hear each other.
--
-- Out:   a line for each rank, from rank 0; then what the smallest exchange of all costs.
local core = require "sgl.core"

local function line_of(path, pattern)
  local f <close> = io.open(path)
  return f and f:read("a"):match(pattern) or "?"
end

local function describe()
  local limit, source = core.limits()
  local status, threads = "/proc/self/status", core.knob "threads"
  return ("host %s, process %s, cores %s, %d of %d threads (%s), backend %s, %s"):format(
    line_of("/proc/sys/kernel/hostname", "[^\n]*"), line_of(status, "\nPid:%s*(%d+)"),
    line_of(status, "Cpus_allowed_list:%s*(%S+)"), threads, limit, source, core.knob "backend",
    core.isa())
end

local function microseconds()
  local count, best = 200, math.huge
  for _ = 1, 5 do
    local start = core.clock()
    for _ = 1, count do assert(core.together(true), "the ranks do not hear each other") end
    best = math.min(best, (core.clock() - start) / count)
  end
  return best * 1e6
end

return function()
  local rank, size = core.job()
  for r = 0, size - 1 do
    local text = core.tell_all(describe(), r)
    if rank == 0 then print(("rank %d: %s"):format(r, text)) end
  end
  local us = microseconds()
  if rank == 0 then print(("%d ranks; an all_reduce of one number: %.1f us"):format(size, us)) end
end
