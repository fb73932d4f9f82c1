-- steps.lua: times one step of each workload.
--
--   sgl bench/steps.lua [WORKLOAD …]      default: all but gpt-big; threads by SGL_THREADS
--
-- A line each: median and minimum ms a step, the first call (capture and compilation included),
-- nodes, steps of the program, its arena, peak memory of all tensors and programs.

local sgl = require "sgl"
local core = require "sgl.core"

package.path = (arg[0]:match("^(.*/)") or "./") .. "?.lua;" .. package.path
local models = require "models"

local names = { table.unpack(arg) }
if #names == 0 then
  names = { "mlp-sgd", "mlp-adamw", "cnn", "lstm", "gpt-small", "infer-mlp", "infer-gpt" }
end
local seconds = tonumber(os.getenv "SGL_BENCH_SECONDS" or 3)

for _, name in ipairs(names) do
  sgl.seed(0)
  local build = models[name] or error("unknown workload " .. name)
  local step, compiled = build()
  local start = core.clock()
  step():realize()
  local first = core.clock() - start
  for _ = 1, 3 do step() end
  local times, stop = {}, core.clock() + seconds
  repeat
    local t = core.clock()
    step()
    times[#times + 1] = core.clock() - t
  until core.clock() > stop and #times >= 5
  table.sort(times)
  local info = compiled:info()
  print(("%-10s %s %dT  median %9.3f  min %9.3f ms  first %7.1f ms  compile %6.1f ms  %5d nodes"
    .. " %4d steps  arena %6.1f MB  peak %6.1f MB"):format(name, core.isa(), core.threads(),
    times[#times // 2 + 1] * 1e3, times[1] * 1e3, first * 1e3, info.compile_ms, info.nodes,
    info.steps, info.arena_bytes / 2 ^ 20, core.memory().peak / 2 ^ 20))
end
