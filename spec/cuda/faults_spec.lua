-- faults_spec.lua: what is planted in the simulated CUDA driver is found, with op and line.

local device = require "spec.cuda.device"

local function test(name, body) device.it(it, pending, name, body) end

-- Groups that only move data run on a stream of their own.
local STEPS = [[
local sgl = require "sgl"
local step = sgl.compile(function(x, y)
  local t = x:matmul(y)
  local both = sgl.cat({ t[{ { 1, 2 } }], t[{ { 7, 8 } }] }, 1)
  local z = x
  for _ = 1, 3 do z = z:matmul(y):tanh() end
  return both:matmul(z):sum(), sgl.cat({ y, x }, 2)
end)
local x, y = sgl.full({ 8, 8 }, 0.25), sgl.full({ 8, 8 }, 0.5)
for i = 1, 5 do
  x = x * 1.5
  local loss, both = step(x, y)
  print(both:tolist()[8][16], loss:item())
end
]]

local function planted(fault, seed)
  return device.run(STEPS, ("SGL_NVTX_LIBRARY=%s SIM_FAULT=%s SIM_SEED=%d"):format(device.driver,
    fault, seed))
end

describe("the simulated device finds", function()
  local FOUND = {
    { "a missing barrier", "barrier",
      "race in shared memory: thread %d+ .-no barrier is between in dot_%x+ of dot %(.-:3%)" },
    { "a kernel that is given a wrong address", "stray",
      "simulated device: .- in [%w_]+ of [%w_]+ %(.-:%d+%)" },
    { "a missing wait for an event", "wait",
      "simulated device: .- in [%w_]+ of [%w_]+ %(.-:%d+%)" },
  }
  for _, case in ipairs(FOUND) do
    test(case[1], function()
      for seed = 0, 2 do
        local out, status = planted(case[2], seed)
        assert.are_not.equal(0, status)
        assert.matches(case[3], out)
      end
    end)
  end
end)

describe("a capture that fails", function()
  for _, fault in ipairs { "spoil", "join" } do
    test("leaves the step as it was, which runs uncaptured: " .. fault, function()
      local out, status = planted(fault, 1)
      assert.are.equal(0, status, out)
      assert.are.equal(device.on_cpu(STEPS), out)
    end)
  end
end)
