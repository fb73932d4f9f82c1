-- rng_spec.lua: the random numbers of a compiled step are those of uncompiled execution: in
-- straight lines, in branches, in steps of scans and loops, one in the other, and behind them.

local sgl = require "sgl"

local COIN = function() return sgl.rand {}:gt(0.5) end

-- Makers of a step, so that each way has a state of its own.
local STEPS = {
  { "several draws", function()
    return function(x)
      return sgl.rand(3), sgl.randn(2) * x, sgl.rand {}, sgl.randint(0, 9, { 4 })
    end
  end },
  { "dropout, twice", function()
    local drop, w = sgl.nn.Dropout(0.5), sgl.ones(2)
    return function(x)
      local loss = (drop(drop(x * w) + w)):sum()
      return loss, sgl.grad(loss, w)
    end
  end },
  { "a branch that draws, or not", function()
    return function(x)
      local r = sgl.cond(COIN(), function() return sgl.rand(2) * sgl.rand(2) end,
        function() return x end)
      return r, sgl.rand(2)
    end
  end },
  { "branches that draw each", function()
    return function()
      local r = sgl.cond(COIN(), function() return sgl.rand(2) end,
        function() return sgl.randn(2) end)
      return r, sgl.rand(2)
    end
  end },
  { "a branch without draws", function()
    return function(x)
      return sgl.cond(x:sum():gt(0), function() return x end, function() return -x end)
    end
  end },
  { "a scan", function()
    return function(x)
      local c, ys = sgl.scan(function(c, v) return c + v * sgl.rand {}, sgl.rand(2) end,
        sgl.rand {}, x)
      return c, ys, sgl.rand(1)
    end
  end },
  { "a scan from the end, and its gradient", function()
    local w = sgl.ones {}
    return function(x)
      local c, ys = sgl.scan(function(c, v) return c * w + v * sgl.rand {}, c end,
        sgl.tensor(1.0), x, { reverse = true })
      return c, ys, sgl.grad(c, w), sgl.rand(1)
    end
  end },
  { "a loop", function()
    return function()
      local c, n = sgl.loop(function(c) return c:lt(1 + sgl.rand {}) end,
        function(c) return c + sgl.rand {} end, sgl.rand {}, { max = 20 })
      return c, n, sgl.rand(1)
    end
  end },
  { "constructs in constructs", function()
    return function()
      local c, ys = sgl.scan(function(c)
        local r = sgl.cond(COIN(), function() return sgl.rand(2) * sgl.rand(2) end,
          function() return (sgl.scan(function(d) return d + sgl.rand(2) end, sgl.zeros(2), 2)) end)
        return c + r, sgl.rand(1)
      end, sgl.zeros(2), 5)
      return c, ys, sgl.rand(1)
    end
  end },
  { "a recurrent layer", function()
    local layer = sgl.nn.LSTM(2, 3)
    return function(x) return layer(sgl.rand(4, 1, 2) * x:sum()), sgl.rand(1) end
  end },
}

local CALLS = 4

local function texts(maker, options)
  sgl.seed(11)
  local step, out = maker(), {}
  if options then step = sgl.compile(step, options) end
  for call = 1, CALLS do
    for _, v in ipairs(table.pack(step(sgl.tensor { 1.0, 2.0 }))) do
      out[#out + 1] = v:bytes()
    end
    out[#out + 1] = sgl.rand(1):bytes()
    out[#out + 1] = tostring(call)
  end
  return out
end

describe("random numbers in a compiled step", function()
  for _, row in ipairs(STEPS) do
    it("are those of the function itself: " .. row[1], function()
      assert.are.same(texts(row[2]), texts(row[2], {}))
    end)
  end

  it("are those of the function itself where it runs in segments", function()
    local function maker()
      return function(x)
        local a = sgl.rand(2)
        return a * a:sum():item(), sgl.rand(2) * x
      end
    end
    assert.are.same(texts(maker), texts(maker, { fullgraph = false }))
  end)

  it("differ from draw to draw, also across a construct and its steps", function()
    local seen = {}
    local step = sgl.compile(function()
      local _, ys = sgl.scan(function(c)
        return c, sgl.stack { sgl.rand {}, sgl.rand {} }
      end, sgl.zeros {}, 50)
      local function three() return sgl.rand(3) end
      local r = sgl.cond(COIN(), three, three)
      return sgl.rand {}, ys, sgl.rand {}, r
    end)
    for _ = 1, 20 do
      for _, t in ipairs(table.pack(step())) do
        for _, v in ipairs(t:reshape(-1):tolist()) do
          seen[v] = (seen[v] or 0) + 1
        end
      end
    end
    local twice, all = 0, 0
    for _, count in pairs(seen) do twice, all = twice + (count > 1 and 1 or 0), all + count end
    assert.are.equal(20 * 105, all)
    assert.is_true(twice < 10)   -- of 24 bits: 0.13 pairs are to be expected
  end)

  it("are restored when a function of a construct raises", function()
    sgl.seed(5)
    pcall(sgl.scan, function() error "no" end, sgl.zeros(1), 2)
    local a = sgl.rand(2)
    sgl.seed(5)
    sgl.scan(function(c) return c end, sgl.zeros(1), 2)
    assert.is_true(a:equal(sgl.rand(2)))
  end)
end)
