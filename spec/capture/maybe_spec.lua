-- maybe_spec.lua: gradients through what might have happened: tensors that a block may have
-- assigned and may not have, what only a block reads that does not run, second derivatives where
-- the first are 0. Values are worked out by hand.

local sgl = require "sgl"
local support = require "spec.support"

local each_mode = support.each_mode

-- fn(w, …) with w = 3 in each mode, for calls whose arguments and gradients are given.
local function expect(calls, fn)
  each_mode(function(make)
    for _, call in ipairs(calls) do
      local w, args = sgl.tensor { 3.0 }, {}
      for i, p in ipairs(call) do args[i] = sgl.tensor(p) end
      local step = make(function(...) return fn(w, ...) end)
      for _ = 1, 2 do
        w:assign(sgl.tensor { 3.0 })
        assert.are.equal(call.gradient, step(table.unpack(args)):item())
        assert.are.equal(call.w, w:item())
      end
    end
  end)
end

local function nothing() end

describe("the gradient by a tensor that may have been assigned", function()
  -- The loss is 5 w before and w² after.
  local function loss(w, between)
    local before = (w * 5):sum()
    between()
    return sgl.grad(before + (w * w):sum(), w)
  end

  it("in a branch is by what it was where that did not run", function()
    expect({ { true, gradient = 12.0, w = 6.0 }, { false, gradient = 11.0, w = 3.0 } },
      function(w, p)
        return loss(w, function() sgl.cond(p, function() w:assign(w * 2) end, nothing) end)
      end)
    expect({ { true, gradient = 11.0, w = 3.0 }, { false, gradient = 12.0, w = 6.0 } },
      function(w, p)
        return loss(w, function() sgl.cond(p, nothing, function() w:assign(w * 2) end) end)
      end)
  end)

  it("in both branches is by the new value", function()
    expect({ { true, gradient = 12.0, w = 6.0 }, { false, gradient = 24.0, w = 12.0 } },
      function(w, p)
        return loss(w, function()
          sgl.cond(p, function() w:assign(w * 2) end, function() w:assign(w * 4) end)
        end)
      end)
  end)

  it("in branches of branches depends on both", function()
    expect({
      { true, true, gradient = 12.0, w = 6.0 }, { true, false, gradient = 11.0, w = 3.0 },
      { false, true, gradient = 18.0, w = 9.0 }, { false, false, gradient = 18.0, w = 9.0 },
    }, function(w, p, q)
      return loss(w, function()
        sgl.cond(p, function() sgl.cond(q, function() w:assign(w * 2) end, nothing) end,
          function() w:assign(w * 3) end)
      end)
    end)
  end)

  it("twice is by the last that happened", function()
    -- 5 w, then perhaps w = 2 w, w³, then perhaps w = 3 w, w².
    expect({
      { true, true, gradient = 36.0, w = 18.0 }, { true, false, gradient = 3 * 36.0 + 12, w = 6.0 },
      { false, true, gradient = 18.0, w = 9.0 }, { false, false, gradient = 5 + 27 + 6.0, w = 3.0 },
    }, function(w, p, q)
      local sum = (w * 5):sum()
      sgl.cond(p, function() w:assign(w * 2) end, nothing)
      sum = sum + (w * w * w):sum()
      sgl.cond(q, function() w:assign(w * 3) end, nothing)
      return sgl.grad(sum + (w * w):sum(), w)
    end)
  end)

  it("in a loop depends on the steps done", function()
    expect({ { true, gradient = 24.0, w = 12.0 }, { false, gradient = 11.0, w = 3.0 } },
      function(w, p)
        return loss(w, function()
          sgl.loop(function() return p end, function(i)
            w:assign(w * 2)
            return i + 1
          end, 0, { max = 2 })
        end)
      end)
  end)

  it("in a branch of a step of a scan depends on all steps", function()
    expect({
      { true, true, gradient = 24.0, w = 12.0 }, { false, true, gradient = 12.0, w = 6.0 },
      { true, false, gradient = 12.0, w = 6.0 }, { false, false, gradient = 11.0, w = 3.0 },
    }, function(w, p, q)
      return loss(w, function()
        sgl.scan(function(c, x)
          sgl.cond(x, function() w:assign(w * 2) end, nothing)
          return c
        end, 0.0, sgl.stack { p, q })
      end)
    end)
  end)

  it("in a block is taken there", function()
    expect({
      { true, true, gradient = 12.0, w = 6.0 }, { true, false, gradient = 11.0, w = 3.0 },
      { false, true, gradient = 0.0, w = 3.0 },
    }, function(w, p, q)
      return sgl.cond(p, function()
        return loss(w, function() sgl.cond(q, function() w:assign(w * 2) end, nothing) end)
      end, function() return w * 0 end)
    end)
    -- 11 or 12 a step: w² of what it is by then.
    expect({
      { true, true, gradient = 12.0 + 24, w = 12.0 },
      { false, true, gradient = 11.0 + 12, w = 6.0 },
      { true, false, gradient = 12.0 + 17, w = 6.0 },
      { false, false, gradient = 11.0 + 11, w = 3.0 },
    }, function(w, p, q)
      return (sgl.scan(function(c, x)
        return c + loss(w, function() sgl.cond(x, function() w:assign(w * 2) end, nothing) end)
      end, sgl.zeros(1), sgl.stack { p, q }))
    end)
  end)

  it("knows an argument", function()
    each_mode(function(make)
      local step = make(function(x, p)
        return loss(x, function() sgl.cond(p, function() x:assign(x * 2) end, nothing) end)
      end)
      for _, call in ipairs { { true, 12.0, 6.0 }, { false, 11.0, 3.0 } } do
        local x = sgl.tensor { 3.0 }
        assert.are.equal(call[2], step(x, sgl.tensor(call[1])):item())
        assert.are.equal(call[3], x:item())
      end
    end)
  end)
end)

describe("a tensor that a run did not assign", function()
  it("keeps its history outside", function()
    each_mode(function(make)
      local w = sgl.tensor { 3.0 }
      local step = make(function(p, x)
        sgl.cond(p, function() w:assign(w * x) end, nothing)
        return x
      end)
      local x, y = sgl.tensor { 2.0 }, w * 7
      step(sgl.tensor(false), x)
      assert.are.equal(7.0, sgl.grad(y:sum(), w):item())
      assert.are.equal(0.0, sgl.grad((w * w):sum(), x):item())
      step(sgl.tensor(true), x)
      assert.are.equal(0.0, sgl.grad(y:sum(), w):item())
    end)
  end)

  it("keeps it as an argument", function()
    each_mode(function(make)
      local step = make(function(p, x)
        sgl.cond(p, function() x:assign(x * 2) end, nothing)
        return x:sum()
      end)
      local x = sgl.tensor { 1.0 }
      local y = x * 3
      step(sgl.tensor(false), x)
      assert.are.equal(3.0, sgl.grad(y:sum(), x):item())
      step(sgl.tensor(true), x)
      assert.are.equal(0.0, sgl.grad(y:sum(), x):item())
    end)
  end)

  it("breaks a gradient whose way lies in the run before", function()
    local w = sgl.tensor { 3.0 }
    local function f(p, x)
      sgl.cond(p, function() w:assign(w * 2) end, nothing)
      local y = x * w
      return y, sgl.grad((y * y):sum(), w)
    end
    local step = sgl.compile(f)
    -- y = x w, g = 2 x² w where x does not come of w.
    local y, g = step(sgl.tensor(true), sgl.tensor { 1.0 })
    assert.are.same({ 6.0, 12.0 }, { y:item(), g:item() })
    local fine, e = pcall(step, sgl.tensor(false), y)
    assert.are.same({ false, "B-GRAD" }, { fine, e.reason })
    g = select(2, step(sgl.tensor(false), y:detach()))
    assert.are.equal(2 * 6.0 ^ 3, g:item())
  end)
end)

describe("a value that only a block reads", function()
  -- Each computes something of x, whose derivative at 0 is infinite.
  local MAKES = {
    function(x) return x:sqrt() end,
    function(x) return x:sqrt():sum() end,
    function(x) return x:sqrt():matmul(sgl.ones(1, 2)) end,
    function(x) return x:sqrt():prod() end,
    function(x) return (x:sqrt() * 2):amax(1) end,
    function(x) return x:log() end,
    function(x) return sgl.cat({ x:sqrt(), x }, 1) end,
  }

  it("takes no part in the gradient where the block does not run", function()
    each_mode(function(make)
      for _, make_h in ipairs(MAKES) do
        local x, no = sgl.zeros(1, 1), sgl.tensor(false)
        local branch = make(function(v, p)
          local h = make_h(v)
          local y = sgl.cond(p, function() return h:sum() end, function() return v:sum() * 3 end)
          return sgl.grad(y, v)
        end)
        assert.are.equal(3.0, branch(x, no):item())
        local loop = make(function(v, p)
          local h = make_h(v)
          local y = sgl.loop(function() return p end, function(s) return s + h:sum() end,
            v:sum() * 3, { max = 2 })
          return sgl.grad(y, v)
        end)
        assert.are.equal(3.0, loop(x, no):item())
      end
    end)
  end)
end)

describe("second derivatives where the first are 0", function()
  -- The gradient of the gradient of fn at 0.
  local function second(fn, expected)
    each_mode(function(make)
      local step = make(function(x, p)
        local g = sgl.grad(fn(x, p):sum(), x)
        return sgl.grad(g:sum(), x), g
      end)
      for _, p in ipairs { true, false } do
        local gg, g = step(sgl.tensor { 0.0 }, sgl.tensor(p))
        assert.are.same({ expected[p], 0.0 }, { gg:item(), g:item() })
      end
    end)
  end

  it("go through cond", function()
    second(function(x, p)
      local y = sgl.cond(p, function(v) return v * 3 end, function(v) return v * 1 end, x)
      return y * (2 * x)
    end, { [true] = 12.0, [false] = 4.0 })
    second(function(x, p)
      return sgl.cond(p, function(v) return v * v end, function(v) return v * (2 * v) end, x * 1)
    end, { [true] = 2.0, [false] = 4.0 })
  end)

  it("go through where", function()
    second(function(x, p) return sgl.where(p, x * 3, x * 1) * (2 * x) end,
      { [true] = 12.0, [false] = 4.0 })
    second(function(x, p) return (sgl.where(p, x, x:sqrt()) * 0 + x) * x end,
      { [true] = 2.0, [false] = 2.0 })
  end)

  it("go through scan and loop", function()
    second(function(x, p)
      local y = sgl.scan(function(c) return sgl.where(p, c * 2, c) end, x, 2)
      return y * (2 * x)
    end, { [true] = 16.0, [false] = 4.0 })
    second(function(x, p)
      local y = sgl.loop(function() return p end, function(c) return c * 2 end, x, { max = 2 })
      return y * (2 * x)
    end, { [true] = 16.0, [false] = 4.0 })
  end)
end)
