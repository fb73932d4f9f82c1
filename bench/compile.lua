-- compile.lua: how compilation grows: 2, 8, 32, 128 equal blocks, and a graph of 100,000 nodes.
--
--   sgl bench/compile.lua
--
-- Out:   a line each: nodes, kernels and how many of their bodies differ, ms of compilation, the
--        best of several runs, and the most memory that was held meanwhile.

local sgl = require "sgl"
local core = require "sgl.core"
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local models = require "models"

local MB = 2 ^ 20

local function report(name, runs, make)
  local least, info, peak = math.huge, nil, 0
  for _ = 1, runs do
    collectgarbage()
    local before = core.memory(true).live
    local run, step = make()
    run()
    info = step:info()
    least = math.min(least, info.compile_ms)
    peak = math.max(peak, core.memory().peak - before)
  end
  print(("%-12s %7d nodes  %6d kernels  %4d bodies  compile %9.2f ms  peak %7.1f MB"):format(name,
    info.nodes, info.kernels, info.bodies, least, peak / MB))
end

for _, count in ipairs { 2, 8, 32, 128 } do
  report(count .. " blocks", 5, function() return models.blocks(count) end)
end

-- Sines of sums, so that nothing folds, merges or is found twice.
report("100,000 ops", 1, function()
  local step = sgl.compile(function(x)
    local y = x
    for i = 1, 50000 do y = (y + i):sin() end
    return y
  end)
  local x = sgl.ones(16):realize()
  return function() return step(x) end, step
end)
