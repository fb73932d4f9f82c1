-- device_spec.lua: programs on a device with memory and streams of its own: the fake one (fake.h),
-- which has the CPU's bits and finds what would go wrong on a real one. That it finds it is shown
-- by planting each fault.

local support = require "spec.support"

local FAKE = support.binary:gsub("[^/]*$", "spec/sgl")
local FOUND = 86        -- the status with which the fake device ends
local SEEDS = 5
local TEXT = "examples/gpt/kjv-genesis-exodus.txt.gz"

-- Output and status of a script of the given text or file.
local function run(binary, script, env)
  local path = script
  if script:find "\n" then path = support.write(os.tmpname(), script) end
  return support.run(("cd %s && %s %s %s"):format(support.root, env or "", binary, path))
end

local function on_cpu(script)
  local out, status = run(support.binary, script)
  assert.are.equal(0, status, out)
  return out
end

local function on_fake(script, env)
  local out, status = run(FAKE, script, "SGL_BACKEND=fake " .. (env or ""))
  assert.are.equal(0, status, out)
  return out
end

-- Two groups only move data: one is needed by a later step, one is an output. Then a tensor goes
-- while steps that read it may still be to come.
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
for i = 1, 3 do
  x = x * 1.5
  local loss, both = step(x, y)
  print(both:tolist()[8][16], loss:item())
end
local gone = sgl.full({ 8, 8 }, 2)
step(gone, y)
gone = nil
collectgarbage()
collectgarbage()
print(step(x, y):item())
]]

-- The one group that moves data is an output, which nobody else needs.
local OUTPUT = [[
local sgl = require "sgl"
local step = sgl.compile(function(x, y)
  local both = sgl.cat({ y, x }, 2)
  for _ = 1, 3 do x = x:matmul(y):tanh() end
  return both, x
end)
local both, x = step(sgl.full({ 8, 8 }, 0.25), sgl.full({ 8, 8 }, 0.5))
print(both:tolist()[8][16], x:sum():item())
]]

local CONTROL = [[
local sgl = require "sgl"
local step = sgl.compile(function(x)
  local y = sgl.cond(x:sum():gt(3), function() return x * 2 end, function() return x - 1 end)
  return sgl.loop(function(z) return z:sum():lt(100) end, function(z) return z * 2 end, y,
    { max = 20 })
end)
for i = 0, 3 do
  local z, n = step(sgl.full({ 3 }, i))
  print(n:item(), z:tolist()[3])
end
]]

-- One program for all sizes, which change from run to run, with state, groups that only move data,
-- control flow, and ops of a library. The fake device has no `resize`: it is prepared anew.
local SIZES = [[
local sgl = require "sgl"
sgl.load_ops(%q)
local rows, cols = sgl.dim("rows", { min = 2, max = 200 }), sgl.dim("cols", { min = 1, max = 50 })
local w, seen = sgl.full({ 8, 4 }, 0.125), sgl.zeros()
local step = sgl.compile(function(x, y)
  local both = sgl.cat({ y, x[{ {}, { 1, 3 } }] }, 2)
  local first, rest = sgl.custom("t.halves", x)
  local total = sgl.scan(function(c, row) return c * 0.5 + row:tanh(), c:sum() end, sgl.zeros(4),
    x:matmul(w))
  local last = sgl.cond(total:sum():gt(0),
    function() return sgl.custom("t.affine", rest, { by = 2 }) end, function() return rest * 3 end)
  local loss = (first:sum() - last:mean() + total:sum() + both:sum() * 0.01):tanh()
  w:assign(w - 0.1 * sgl.grad(loss, w))
  seen:assign(seen + 1)
  return both, last, total, loss, sgl.grad(loss, x)
end, { inputs = { sgl.spec { rows, 8 }, sgl.spec { rows, cols } } })
for i, n in ipairs { 5, 5, 130, 2, 3, 200, 5, 199, 2 } do
  local x = sgl.arange(n * 8):to("f32"):reshape(n, 8):sin()
  local y = sgl.arange(n * i):to("f32"):reshape(n, i):cos()
  for k, t in ipairs { step(x, y) } do
    print(i, k, table.concat(t.shape, " "), t:sum():item(), t:flatten():tolist()[1])
  end
end
print(seen:item(), w:sum():item(), step:info().captures)
]]

describe("a device with memory and streams of its own", function()
  it("has the CPU's bits in every op of the table, their gradients and control flow", function()
    local bits = "spec/dev/op_bits.lua"
    local want = on_cpu(bits)
    assert.is_true(select(2, want:gsub("\n", "")) > 500)
    assert.are.equal(want, on_fake(bits, "FAKE_SEED=3"))
  end)

  it("trains the digits and the GPT of the examples to the CPU's numbers", function()
    for _, script in ipairs { "examples/digits/train.lua 2> /dev/null",
                              "examples/regression.lua 2> /dev/null",
                              "examples/gpt/train.lua " .. TEXT .. " 2 2> /dev/null" } do
      assert.are.equal(on_cpu(script), on_fake(script))
    end
  end)

  it("gives the same in whatever order its streams go on", function()
    for _, script in ipairs { STEPS, OUTPUT, CONTROL } do
      local want = on_cpu(script)
      for seed = 1, SEEDS do
        assert.are.equal(want, on_fake(script, "FAKE_SEED=" .. seed))
      end
    end
  end)

  it("runs one program of symbolic sizes for all sizes, after changes too", function()
    local script = SIZES:format(require "spec.op_cases".library)
    local want = on_cpu(script)
    assert.is_true(want:find "\n9.0\t[-%d.]+\t1\n$" ~= nil, want)
    for seed = 1, SEEDS do
      assert.are.equal(want, on_fake(script, "FAKE_SEED=" .. seed))
      assert.are.equal(want, on_fake(script, "FAKE_CONTROL=1 FAKE_SEED=" .. seed))
    end
  end)

  it("runs control flow without the host's reading a value, where the device decides", function()
    local want = on_cpu(CONTROL)
    for seed = 1, SEEDS do
      -- A copy that is not waited for would be found, so none is made before the results are read.
      assert.are.equal(want, on_fake(CONTROL, "FAKE_CONTROL=1 FAKE_SEED=" .. seed))
    end
    local out, status = run(FAKE, CONTROL:gsub("print.*", "end"),
      "SGL_BACKEND=fake FAKE_CONTROL=1 FAKE_FAULT=EARLY_READ")
    assert.are.same({ "", 0 }, { out, status })
    local bits = "spec/dev/op_bits.lua"
    assert.are.equal(on_cpu(bits), on_fake(bits, "FAKE_CONTROL=1 FAKE_SEED=2"))
  end)

  it("starts groups that only move data, and waits before the first that needs them", function()
    local out = on_fake(STEPS .. [[
      for kind, of in step:graph "kernels":gmatch "step %d+ (%w+)([^\n]*)" do
        print(kind, of:match "on stream 1" or of:match "event %d+, stream %d+" or "")
      end
    ]])
    local started, waited = 0, 0
    for _ in out:gmatch "kernel\ton stream 1\n" do started = started + 1 end
    for _ in out:gmatch "wait\tevent %d+, stream 0\n" do waited = waited + 1 end
    assert.are.equal(4, started, out)
    assert.are.equal(2, waited, out)
    -- One is waited for in the middle, before the product that needs it, one at the end.
    assert.matches("\nwait\tevent 3, stream 0\ndot\t\n.*wait\tevent 1, stream 0\n$", out)
  end)

  it("tells of an index out of range, at its line, when the call returns", function()
    local out, status = run(FAKE, [[
      local sgl = require "sgl"
      local step = sgl.compile(function(x, i)
        local y = x:gather(1, i)
        return (y * 2):tanh()
      end)
      print(pcall(step, sgl.ones(3), sgl.tensor({ 0, 5 })))
    ]], "SGL_BACKEND=fake")
    assert.are.equal(0, status)
    assert.matches("^false\t.*index 5 is outside.*:3%)", out)
  end)

  it("has a program's buffers where they were, unless somebody holds the last results", function()
    local log = os.tmpname()
    on_fake([[
      local sgl = require "sgl"
      local w = sgl.full({ 8, 8 }, 0.5):realize()
      local step = sgl.compile(function(x)
        local y = x:matmul(w):tanh()
        w:assign(w - 0.1 * y)
        return y:sum(1), y:matmul(y)
      end)
      local x, held = sgl.full({ 8, 8 }, 0.25):realize(), {}
      for i = 1, 8 do
        local loss, y = step(x)
        if i >= 5 and i < 7 then held[i] = y end
        loss, y = nil, nil
        collectgarbage()
        collectgarbage()
      end
    ]], "FAKE_LOG=" .. log)
    local runs = {}
    for line in io.lines(log) do runs[#runs + 1] = line end
    local last = { table.unpack(runs, #runs - 7) }
    for i = 2, 5 do assert.are.equal(last[1], last[i]) end   -- runs 1 to 5: nothing is held
    assert.are_not.equal(last[5], last[6])                   -- the result of 5 is
    assert.are_not.equal(last[6], last[7])
    assert.are.equal(last[7], last[8])
  end)

  it("moves storages to and fro when the backend changes", function()
    local out = run(FAKE, [[
      local sgl = require "sgl"
      local w = sgl.full({ 2 }, 1)
      for _, backend in ipairs { "fake", "cpu", "fake", "cpu" } do
        sgl.config.backend = backend
        w:assign(w * 3)
        print(backend, w:sum():item())
      end
    ]])
    assert.are.equal("fake\t6.0\ncpu\t18.0\nfake\t54.0\ncpu\t162.0", (out:gsub("\n$", "")))
  end)
end)

describe("the fake device finds", function()
  local FAULTS = {
    { "a host read of device memory", "HOST_READ", STEPS, "host touches device memory: byte 0 of" },
    { "a missing wait", "MISSING_WAIT", STEPS,
      "missing wait: step %d+ dot .-reads what step %d+ map_copy .-writes" },
    { "a buffer reused while in flight", "REUSED", STEPS,
      "buffer reused while in flight: step %d+ .-writes what step %d+ map_copy .-reads" },
    { "a missing copy back", "MISSING_BACK", STEPS, "missing copy back: nothing was copied" },
    { "a missing copy in", "MISSING_IN", STEPS,
      "missing copy in: step %d+ .-reads bytes that nothing has written" },
    { "an event recorded too early", "EARLY_EVENT", STEPS,
      "event recorded too early: step %d+ dot .-reads what step %d+ map_copy" },
    { "memory freed while in flight", "EARLY_FREE", STEPS, "freed while in flight: 0x" },
    { "an output handed out before it is done", "EARLY_OUTPUT", OUTPUT,
      "output handed out before it is done: copy out reads what step %d+ map_copy .-writes" },
    { "memory of another device", "WRONG_DEVICE", STEPS,
      "memory of another device: step %d+ .-is given 0x" },
    { "an address that holds no longer", "STALE_ADDRESS", STEPS,
      "stale address: step %d+ .-is given 0x" },
    { "a predicate that is read without a wait", "EARLY_READ", CONTROL,
      "host reads a copy that it did not wait for: byte 0 of" },
    { "memory freed twice", "DOUBLE_FREE", STEPS, "freed twice: 0x" },
  }
  for _, fault in ipairs(FAULTS) do
    it(fault[1], function()
      for seed = 1, SEEDS do
        local out, status = run(FAKE, fault[3],
          ("SGL_BACKEND=fake FAKE_FAULT=%s FAKE_SEED=%d"):format(fault[2], seed))
        assert.are.equal(FOUND, status, out)
        assert.matches("fake device: " .. fault[4], out)
      end
    end)
  end
end)
