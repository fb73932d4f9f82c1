-- ranks.lua: times one step of a workload on several ranks; the lines are those of steps.lua.
--
--   sgl run -n 2 --plan fsdp --threads 1 bench/ranks.lua [WORKLOAD …]
--
-- Default: mlp-sgd and gpt-small. All ranks take the same number of steps, as many as the slowest
-- does in SGL_BENCH_SECONDS (3).

local sgl = require "sgl"
local core = require "sgl.core"

package.path = (arg[0]:match("^(.*/)") or "./") .. "?.lua;" .. package.path
local models = require "models"

local names = { table.unpack(arg) }
if #names == 0 then names = { "mlp-sgd", "gpt-small" } end
local seconds = tonumber(os.getenv "SGL_BENCH_SECONDS" or 3)

local function timed(step)
  local start = core.clock()
  step():realize()
  return core.clock() - start
end

for _, name in ipairs(names) do
  sgl.seed(0)
  local build = models[name] or error("unknown workload " .. name)
  local step = build()
  local first = timed(step)
  for _ = 1, 3 do step() end
  local slowest = sgl.dist.all_reduce(sgl.tensor(timed(step), "f64"), { op = "max" }):item()
  local times = {}
  for i = 1, math.max(5, seconds // slowest) do times[i] = timed(step) end
  table.sort(times)
  print(("%-10s %s %d ranks %dT  median %9.3f  min %9.3f ms  first %7.1f ms  peak %6.1f MB"):format(
    name, sgl.config.plan == "" and "ddp" or sgl.config.plan, sgl.dist.size, core.threads(),
    times[#times // 2 + 1] * 1e3, times[1] * 1e3, first * 1e3, core.memory().peak / 2 ^ 20))
end
