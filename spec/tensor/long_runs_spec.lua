-- long_runs_spec.lua: loops outside sgl.compile go on for ever: each step runs what is new in it by
-- programs that were met before, whatever is kept, read or never read. bench/loops.lua times them.

local sgl = require "sgl"
local core = require "sgl.core"
local engine = require "spec.engine"

local nn, optim = sgl.nn, sgl.optim

-- Programs that `count` calls of step compile after `warm` of them.
local function compiled(warm, count, step)
  for i = 1, warm do step(i) end
  collectgarbage()
  local before = core.cache_stats().misses
  for i = warm + 1, warm + count do step(i) end
  return core.cache_stats().misses - before
end

local function model()
  sgl.seed(1)
  return nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 8))
end

describe("a long run outside steps", function()
  it("of an optimizer whose loss is read runs the same programs again", function()
    local m = model()
    local opt = optim.AdamW(m:parameters(), { lr = 1e-3 })
    local x = sgl.randn(4, 8):realize()
    local loss
    assert.is_true(compiled(20, math.max(60, engine.times(200)), function()
      loss = (m(x) ^ 2):mean()
      opt:minimize(loss)
      loss:item()
    end) <= 40)
    assert.is_true(loss:isfinite():item())
  end)

  it("meets the error of an operation where that is read, not where others are", function()
    local x = sgl.arange(4):float()
    local at = (sgl.arange(2) * 5):to "i32"
    local outside = x:index_select(1, at + 0)
    local y = sgl.zeros(1):realize()
    for _ = 1, 10000 do y = y + 1 end
    assert.are.equal(10000, y:item())
    local ok, e = pcall(outside.tolist, outside)
    assert.is_false(ok)
    assert.matches("index 5 is outside", tostring(e))
  end)

  -- A history of more than 2^18 operations is cut when it doubles; a gradient back through the cut
  -- is refused.
  it("is cut as well while an operation is kept that cannot run", function()
    local x = sgl.arange(4):float()
    local w = sgl.ones(1):realize()
    local outside = x:index_select(1, (sgl.arange(2) * 5):to "i32") * w
    local y, last = w * 1, nil
    for _ = 1, 700 do
      for _ = 1, 1000 do y = y + 1 end
      last = y:item()
    end
    assert.are.equal(700001, last)
    local ok, e = pcall(sgl.grad, y:sum(), w)
    assert.is_false(ok)
    assert.matches("too many operations were recorded", tostring(e))
    ok, e = pcall(outside.tolist, outside)
    assert.is_false(ok)
    assert.matches("index 5 is outside", tostring(e))
    assert.are.same({ 2.0 }, sgl.grad((w ^ 2):sum(), w):tolist())
  end)

  it("gives the numbers of a run that reads everything at once", function()
    local results = {}
    for _, eager in ipairs { true, false } do
      local m = model()
      local opt = optim.AdamW(m:parameters(), { lr = 1e-2 })
      sgl.seed(2)
      local x = sgl.randn(4, 8):realize()
      for _ = 1, 60 do
        local loss = (m(x) ^ 2):mean()
        opt:minimize(loss)
        loss:item()
        if eager then
          core.realize(opt.params)
          for _, s in ipairs(opt.state) do core.realize { s.m, s.v } end
        end
      end
      results[#results + 1] = m:state_dict()
    end
    for _, name in ipairs(results[1]) do
      assert.is_true(results[1][name]:equal(results[2][name]), name)
    end
  end)

  it("keeps averages and sums that nobody reads", function()
    local w, average, total = sgl.ones(8), sgl.zeros(8), nil
    local count = math.max(200, engine.times(1500))
    assert.is_true(compiled(50, count, function()
      w:assign(w * 0.5 + 0.5)
      average:assign(average * 0.75 + w * 0.25)
      local l = (w * 2):sum()
      l:item()
      total = total and total + l or l
    end) <= 40)
    assert.are.near(1, average:mean():item(), 1e-6)
    assert.are.equal((50 + count) * 16.0, total:item())
  end)

  it("that reads nothing is cut at one place of its loop, so that few programs serve it", function()
    local m, x = nn.Linear(2, 2), sgl.ones(2, 2)
    local opt = optim.SGD(m:parameters(), { lr = 0.1, momentum = 0.9 })
    assert.is_true(compiled(0, 1500, function()
      local loss = m(x):square():mean()
      opt:minimize(loss)
    end) <= 8)
    local mean = sgl.zeros(4)
    assert.is_true(compiled(0, 5000, function(i)
      local value = sgl.full({ 4 }, i % 2 + 0.0)
      mean = mean + (value - mean) / i
    end) <= 8)
    assert.are.near(0.5, mean[1]:item(), 1e-4)
  end)

  it("lets Lua collect what nobody reaches, as each run looks at all that has no value", function()
    local pause = collectgarbage("setpause", 10000)
    local w, total, made = sgl.ones(2):realize(), sgl.zeros(2), setmetatable({}, { __mode = "v" })
    for i = 1, 12000 do
      w:sum():item()
      total = total + w
      made[i] = total
    end
    local count = 0
    for _ in pairs(made) do count = count + 1 end
    collectgarbage("setpause", pause)
    assert.is_true(count <= 8192, tostring(count))
    assert.are.same({ 12000.0, 12000.0 }, total:tolist())
  end)

  it("keeps the gradient of what was assigned before it was read", function()
    local w = sgl.tensor { 1.0, 2.0 }
    local before = (w * w):sum()
    w:assign(w * 3)
    local after = (w * w):sum()
    w:assign(w + 1)
    assert.are.equal(45.0, after:item())
    assert.are.same({ 4.0, 7.0 }, w:tolist())
    assert.are.equal(5.0, before:item())
    local loss = (w * w):sum()
    assert.are.same({ 8.0, 14.0 }, sgl.grad(loss, w):tolist())
  end)
end)
