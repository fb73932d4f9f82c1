-- obs.lua: what watching costs: each workload with nothing watched, with the history (as it comes),
-- with a callback for runs, and with callbacks for runs and steps, at the default rate.
--
--   sgl bench/obs.lua [WORKLOAD …]        default: all; SGL_BENCH_SECONDS a workload (default 6)
--
-- A line each: the median time of one turn, and what the others take more, in percent. The ways
-- take turns of a few milliseconds, so that other programs on the machine disturb all alike; the
-- quartile, not the mean, because what disturbs only ever adds.

local sgl = require "sgl"
local core = require "sgl.core"

package.path = (arg[0]:match("^(.*/)") or "./") .. "?.lua;" .. package.path
local models = require "models"

local TURN = 0.004                       -- seconds that a turn should take

local function compiled(name)
  local step = models[name]()
  return function() step():realize() end
end

local WORKLOADS = {
  { "small step", function()
    local x, f = sgl.ones(8):realize(), sgl.compile(function(x) return (x * 2):exp():sum() end)
    return function() f(x) end
  end },
  { "mlp-sgd", function() return compiled "mlp-sgd" end },
  { "compiling", function()
    local x, n = sgl.ones(8):realize(), 0
    return function()
      n = n + 1
      sgl.compile(function(v) return ((v * n):exp() + 1):log():sum() end)(x)
    end
  end },
}

local calls = 0
local function count() calls = calls + 1 end

-- Each way: what is switched on before its turns; returns what switches it off.
local WAYS = {
  { "nothing", function()
    sgl.config.enable, sgl.config.event_history = "cpu,null,cache,disk", 0
    return function() sgl.config.enable, sgl.config.event_history = "all", 128 end
  end },
  { "history", function() return function() end end },
  { "callback", function()
    local listener = sgl.on("run_end", count)
    return function() listener:off() end
  end },
  { "steps too", function()
    local run, step = sgl.on("run_end", count), sgl.on("step_end", count)
    return function() run:off() step:off() end
  end },
}

local function time(work, repeats)
  local start = core.clock()
  for _ = 1, repeats do work() end
  return (core.clock() - start) / repeats
end

local function quartile(list)
  table.sort(list)
  return list[math.max(1, #list // 4)]
end

local seconds = tonumber(os.getenv "SGL_BENCH_SECONDS" or 6)
local wanted = {}
for _, name in ipairs(arg) do wanted[name] = true end

for _, workload in ipairs(WORKLOADS) do
  local name, make = workload[1], workload[2]
  if #arg == 0 or wanted[name] then
    local work, times = make(), {}
    for i = 1, #WAYS do times[i] = {} end
    work()
    local repeats = math.max(1, math.floor(TURN / time(work, 20)))
    local stop = core.clock() + seconds
    calls = 0
    repeat
      for i, way in ipairs(WAYS) do
        local off = way[2]()
        times[i][#times[i] + 1] = time(work, repeats)
        off()
      end
    until core.clock() > stop
    local out, base = {}, quartile(times[1])
    for i = 2, #WAYS do
      out[#out + 1] = ("%s %+.2f %%"):format(WAYS[i][1], 100 * (quartile(times[i]) / base - 1))
    end
    print(("%-10s %10.2f us   %s   (%d turns, %d calls)"):format(name, base * 1e6,
      table.concat(out, "   "), #times[1], calls))
  end
end
