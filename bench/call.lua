-- call.lua: what it costs to call a compiled function, and to compute two elements without one.
--
--   sgl bench/call.lua [CASE …]      default: all; seconds a case by SGL_BENCH_SECONDS
--
-- A line each: the least microseconds of one call, over many runs of many calls. The work itself is
-- next to nothing, so this is the cost of signatures, arguments, results and of recording.

local sgl = require "sgl"
local core = require "sgl.core"

local function mlp()
  return sgl.nn.Sequential(sgl.nn.Linear(8, 8), sgl.nn.ReLU(), sgl.nn.Linear(8, 8), sgl.nn.ReLU(),
    sgl.nn.Linear(8, 10))
end

-- Each makes what is measured: a function of nothing.
local cases = {
  { "mlp 8-8-8-10, batch 1", function()
    local model = mlp()
    local forward, x = sgl.compile(function(t) return model(t) end), sgl.rand(1, 8):realize()
    return function() return forward(x) end
  end },
  { "tensor and number", function()
    local scale, x = sgl.compile(function(t, k) return t * k end), sgl.rand(2):realize()
    local k = 0.0
    return function()
      k = k + 0.5
      return scale(x, k)
    end
  end },
  { "table of 10 tensors", function()
    local batch = {}
    for i = 1, 10 do batch["x" .. i] = sgl.rand(2):realize() end
    local sum = sgl.compile(function(b)
      local s = b.x1
      for i = 2, 10 do s = s + b["x" .. i] end
      return s
    end)
    return function() return sum(batch) end
  end },
  { "x + y, value read", function()
    local x, y = sgl.tensor { 1, 2 }, sgl.tensor { 3, 4 }
    return function() return (x + y):realize() end
  end },
  { "x + y, as a list", function()
    local x, y = sgl.tensor { 1, 2 }, sgl.tensor { 3, 4 }
    return function() return (x + y):tolist() end
  end },
  { "x + 1, value read", function()
    local x = sgl.tensor { 1, 2 }
    return function() return (x + 1):realize() end
  end },
}

local CALLS = 50
local seconds = tonumber(os.getenv "SGL_BENCH_SECONDS" or 2)

local function wanted(name)
  for _, part in ipairs(arg) do
    if name:find(part, 1, true) then return true end
  end
  return #arg == 0
end

for _, case in ipairs(cases) do
  local name, make = table.unpack(case)
  if wanted(name) then
    local run = make()
    for _ = 1, CALLS do run() end
    local least, stop = math.huge, core.clock() + seconds
    repeat
      local start = core.clock()
      for _ = 1, CALLS do run() end
      least = math.min(least, core.clock() - start)
    until core.clock() > stop
    print(("%-24s %8.2f us"):format(name, least / CALLS * 1e6))
  end
end
