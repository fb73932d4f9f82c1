-- cuda_spec.lua: the backend cuda on the simulated device, which runs what NVRTC really compiled:
-- the CPU's bits, one replay for each step, and what is said where there is no device.

local support = require "spec.support"
local device = require "spec.cuda.device"

local function test(name, body) device.it(it, pending, name, body) end

local function on_cuda(script, env)
  local out, status = device.run(script, env)
  assert.are.equal(0, status, out)
  return out
end

-- A step of training with dropout, cross entropy and AdamW. Losses and parameters to the last bit.
local DIGITS = [[
local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim
sgl.seed(7)
local train = sgl.data.csv("examples/digits/digits.csv.gz", { label = 65, scale = 1 / 16 })
local model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 10))
local opt = optim.AdamW(model:parameters(), { lr = optim.schedule.cosine(1e-2, 20) })
local step = sgl.compile(function(x, y)
  local loss = nn.cross_entropy(model(x), y)
  opt:minimize(loss)
  return loss
end)
local n = 0
for x, y in train:batches(32) do
  print(("%a"):format(step(x, y):item()))
  n = n + 1
  if n == 20 then break end
end
for _, p in ipairs(model:parameters()) do print(("%a"):format((p * p):sum():item())) end
]]

describe("the device cuda", function()
  test("trains with the CPU's bits: dropout, cross entropy, AdamW, 20 steps", function()
    local want = device.on_cpu(DIGITS)
    assert.are.equal(24, select(2, want:gsub("0x", "")))
    assert.are.equal(want, on_cuda(DIGITS))
    assert.are.equal(want, on_cuda(DIGITS, "SIM_SEED=5"))
    assert.are.equal(want, on_cuda(DIGITS, "SGL_CUDA_GRAPHS=0"))
  end)

  test("replays one graph for each step of equal addresses", function()
    local log = os.tmpname()
    on_cuda([[
      local sgl = require "sgl"
      local w = sgl.full({ 8, 8 }, 0.5):realize()
      local x = sgl.full({ 8, 8 }, 0.25):realize()
      local step = sgl.compile(function(a)
        local loss = (a:matmul(w):tanh() - 1):square():sum()
        w:assign(w - 0.1 * sgl.grad(loss, w))
        return loss
      end)
      local l
      for i = 1, 20 do l = nil collectgarbage() l = step(x) end
      print(l:item())
    ]], "SIM_LOG=" .. log)
    local n = device.counts(log)
    assert.is_true(n.replay >= 17, "replays: " .. n.replay)
    assert.is_true(n.sync <= 6, "waits: " .. n.sync)
  end)

  test("tells of an index out of range at its line, and writes no state behind it", function()
    local out, status = device.run([[
      local sgl = require "sgl"
      local w = sgl.zeros(2):realize()
      local step = sgl.compile(function(x, i)
        local y = x:gather(1, i)
        w:assign(w + y)
        return y
      end)
      print(pcall(step, sgl.ones(3), sgl.tensor({ 0, 5 })))
      print(w:tolist()[1])
      print(pcall(step, sgl.ones(3), sgl.tensor({ 0, 2 })))
      print(w:tolist()[2])
    ]])
    assert.are.equal(0, status, out)
    assert.matches("^false\t.*index 5 is outside %[0, 3%) at position %[2%].*:4%)", out)
    assert.matches("\n0%.0\ntrue.*\n1%.0$", (out:gsub("%s+$", "")))
  end)

  test("runs one program for all sizes and compiles nothing for another one", function()
    local script = [[
      local sgl = require "sgl"
      local n = sgl.dim("n", { min = 2, max = 200 })
      local step = sgl.compile(function(x)
        return x:softmax(2):matmul(x:t()):sum(1), x:cumsum(1):mean()
      end, { inputs = { sgl.spec { n, 8 } } })
      for _, k in ipairs { 5, 130, 2, 200, 5 } do
        local x = sgl.arange(k * 8):to("f32"):reshape(k, 8):sin()
        local a, b = step(x)
        print(("%a %a"):format(a:square():sum():item(), b:item()))
      end
    ]]
    assert.are.equal(device.on_cpu(script), on_cuda(script))
  end)
end)

describe("where there is no CUDA device, it is said", function()
  local SCRIPT = "local sgl = require 'sgl'\nprint(pcall(function()\n" ..
    "  return sgl.ones(2):sum():item()\nend))\n"
  local function says(pattern, env)
    local out, status = device.run(SCRIPT, env)
    assert.are.equal(0, status, out)
    assert.matches(pattern, out)
  end

  it("that there is no driver, and which setting names one", function()
    says("the CUDA driver cannot be loaded: /nowhere/libcuda%.so",
      "SGL_CUDA_DRIVER=/nowhere/libcuda.so")
  end)
  it("that the driver lacks a function", function()
    says("the CUDA driver is /.*libz.*, which has no function cuInit", "SGL_CUDA_DRIVER=libz.so.1")
  end)
  it("that it is the toolkit's stub", function()
    says("libcuda%.so%.1 is the stub of the toolkit, not a driver", "SIM_INIT=34")
    local stub = io.open "/usr/local/cuda/lib64/stubs/libcuda.so"
    if not stub then return end
    stub:close()
    says("is the stub of the toolkit, not a driver",
      "SGL_CUDA_DRIVER=/usr/local/cuda/lib64/stubs/libcuda.so")
  end)
  it("that the driver is too old", function()
    says("the CUDA driver .*libcuda%.so%.1 speaks CUDA 11%.8, and 12%.1 is needed",
      "SIM_DRIVER=11080")
  end)
  it("that there is no device", function()
    says("no CUDA device: the driver .*libcuda%.so%.1 sees none", "SIM_DEVICES=0")
  end)
  it("that the device is too old", function()
    says("the device simulated device has compute capability 7%.5, and 8%.0 is needed",
      "SIM_ARCH=75")
  end)
  it("that there is no NVRTC", function()
    says("NVRTC, which compiles kernels, cannot be loaded: /nowhere", "SGL_NVRTC_LIBRARY=/nowhere")
  end)
  it("nothing, while the CPU is what programs run on", function()
    local out, status = support.run("SGL_CUDA_DRIVER=/nowhere " .. support.binary ..
      " -e 'print(require\"sgl\".ones(2):sum():item())'")
    assert.are.equal(0, status)
    assert.matches("2.0", out)
  end)
end)
