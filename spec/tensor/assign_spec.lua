-- assign_spec.lua: state that a captured step assigns: every reader in the step sees the value of
-- its place in the script, whatever is updated in place.
--
-- Expected values come from Lua lists that are treated the same way.

local core = require "sgl.core"
local sgl = require "sgl"
local engine = require "spec.engine"

local apply = core.apply

local function state(list) return core.tensor(list, "f32") end
local function reversed(t) return apply("flip", t, { dims = { 1 } }) end

-- A program over states that were captured from outside, run n times.
local function run(fn, n)
  local program = core.capture(function() return fn() or {} end, {})
  local outputs
  for _ = 1, n or 1 do outputs = program:run {} end
  return outputs
end

describe("an assign in a step", function()
  it("is seen by what reads the tensor after it, and not by what read it before", function()
    local s = state { 1, 2, 3 }
    local out = run(function()
      local before = s * 10
      s:assign(s + 1)
      return { before, s * 10 }
    end)
    assert.are.same({ 10, 20, 30 }, out[1]:tolist())
    assert.are.same({ 20, 30, 40 }, out[2]:tolist())
    assert.are.same({ 2, 3, 4 }, s:tolist())
  end)

  it("adds up over runs", function()
    local s = state { 1, 2 }
    run(function() s:assign(s * 2) end, 5)
    assert.are.same({ 32, 64 }, s:tolist())
  end)

  it("swaps two tensors", function()
    local a, b = state { 1, 2, 3 }, state { 4, 5, 6 }
    run(function()
      local old = a * 1
      a:assign(b)
      b:assign(old)
    end)
    assert.are.same({ 4, 5, 6 }, a:tolist())
    assert.are.same({ 1, 2, 3 }, b:tolist())
    run(function()
      local x, y = a, b
      local held = x + 0
      x:assign(y + 0)
      y:assign(held)
    end, 3)
    assert.are.same({ 1, 2, 3 }, a:tolist())
    assert.are.same({ 4, 5, 6 }, b:tolist())
  end)

  it("may move its own elements", function()
    local s = state { 1, 2, 3, 4, 5 }
    run(function() s:assign(reversed(s)) end)
    assert.are.same({ 5, 4, 3, 2, 1 }, s:tolist())
    local m = state { { 1, 2 }, { 3, 4 } }
    run(function() m:assign(apply("permute", m, { dims = { 2, 1 } }) + m) end)
    assert.are.same({ { 2, 5 }, { 5, 8 } }, m:tolist())
    run(function() m:assign(apply("dot", { m, m })) end)
    assert.are.same({ { 29, 50 }, { 50, 89 } }, m:tolist())
    run(function() s:assign(apply("cumsum", s, { dim = 1, reverse = 1 })) end)
    assert.are.same({ 15, 10, 6, 3, 1 }, s:tolist())
  end)

  it("takes the last of several", function()
    local s = state { 1, 2 }
    local out = run(function()
      s:assign(s + 1)
      local middle = s * 1
      s:assign(s * 10)
      return { middle }
    end)
    assert.are.same({ 2, 3 }, out[1]:tolist())
    assert.are.same({ 20, 30 }, s:tolist())
  end)

  it("reads the new value of another state", function()
    local a, b = state { 1, 2 }, state { 0, 0 }
    run(function()
      a:assign(a + 1)
      b:assign(b + a)
    end, 3)
    assert.are.same({ 4, 5 }, a:tolist())
    assert.are.same({ 2 + 3 + 4, 3 + 4 + 5 }, b:tolist())
  end)

  it("keeps a second handle on the old value", function()
    local s = state { 1, 2 }
    local copy = s + 0
    copy:realize()
    local same = apply("reshape", s, { dims = { 2, 1 } })
    same:realize()
    run(function() s:assign(s * 3) end)
    assert.are.same({ 1, 2 }, copy:tolist())
    assert.are.same({ { 1 }, { 2 } }, same:tolist())
    assert.are.same({ 3, 6 }, s:tolist())
  end)

  it("leaves an output of an earlier run as it was", function()
    local s = state { 1, 2 }
    local program = core.capture(function()
      s:assign(s + 1)
      return { s }
    end, {})
    local first = program:run {}[1]
    local second = program:run {}[1]
    assert.are.same({ 2, 3 }, first:tolist())
    assert.are.same({ 3, 4 }, second:tolist())
    second:assign(second * 0)
    assert.are.same({ 3, 4 }, s:tolist())
  end)

  it("refuses the same tensor as argument and as state that is updated", function()
    local s = state { 1, 2 }
    local program = core.capture(function(x)
      s:assign(s + x)
      return { x * 1 }
    end, { s })
    assert.are.equal("SGL_ESTATE", engine.failure(program.run, program, { s }).code)
    assert.are.same({ 1, 2 }, s:tolist())
    local out = program:run { state { 5, 6 } }[1]
    assert.are.same({ 5, 6 }, out:tolist())
    assert.are.same({ 6, 8 }, s:tolist())
  end)

  it("casts and repeats what it is given", function()
    local s = state { { 1, 2 }, { 3, 4 } }
    run(function() s:assign(7) end)
    assert.are.same({ { 7, 7 }, { 7, 7 } }, s:tolist())
  end)
end)

-- Random programs over three states: each statement assigns one state a function of all, with every
-- movement that could read what is being written. The states are longer than a tile, so that a
-- kernel that writes over what it has yet to read is seen.
describe("random assigns", function()
  local N = 1100
  local FUNCTIONS = {
    { function(a, b) return a + b end, function(a, b, i) return a[i] + b[i] end },
    { function(a, b) return a - reversed(b) end, function(a, b, i) return a[i] - b[N + 1 - i] end },
    { function(a) return reversed(a) end, function(a, _, i) return a[N + 1 - i] end },
    { function(_, b) return b end, function(_, b, i) return b[i] end },
    { function(a, b) return apply("max", { a, b }) end,
      function(a, b, i) return math.max(a[i], b[i]) end },
    { function(a) return apply("sum", a, {}) - a end, function(a, _, i)
      local sum = 0
      for k = 1, N do sum = sum + a[k] end
      return sum - a[i]
    end },
    { function(a, b)
      return apply("concat", { apply("slice", a, { start = { 2 }, stop = { N }, step = { 1 } }),
        apply("slice", b, { start = { 0 }, stop = { 2 }, step = { 1 } }) }, { dim = 1 })
    end, function(a, b, i) return i <= N - 2 and a[i + 2] or b[i - N + 2] end },
  }

  local function clamp(v) return math.max(-1000, math.min(1000, v)) end

  it("leave the values that one statement after the other leaves", function()
    local r = engine.random(engine.seed)
    for case = 1, engine.times(200) do
      local states, lists, statements = {}, {}, {}
      for k = 1, 3 do
        lists[k] = {}
        for i = 1, N do lists[k][i] = r:int(-9, 9) end
        states[k] = state(lists[k])
      end
      for k = 1, r:int(1, 6) do
        statements[k] = { r:int(1, 3), r:int(1, 3), r:int(1, 3), r:pick(FUNCTIONS) }
      end
      run(function()
        for _, s in ipairs(statements) do
          local value = s[4][1](states[s[2]], states[s[3]])
          states[s[1]]:assign(apply("max", { apply("min", { value, 1000 }), -1000 }))
        end
      end)
      for _, s in ipairs(statements) do
        local list = {}
        for i = 1, N do list[i] = clamp(s[4][2](lists[s[2]], lists[s[3]], i)) end
        lists[s[1]] = list
      end
      for k = 1, 3 do
        local wrong = engine.difference(engine.values(states[k]), lists[k], "i64")
        assert(not wrong, ("SGL_SEED=%d, case %d: %s"):format(engine.seed, case, wrong or ""))
      end
    end
  end)
end)

describe("the gradient through what was given to a tensor", function()
  local function both(fn)
    for _, compile in ipairs { function(f) return f end, sgl.compile } do
      assert.are.same(fn(function(f) return f end), fn(compile))
    end
  end

  it("ends at assign, whenever the value is computed", function()
    for _, read in ipairs { false, true } do
      local w, t = sgl.ones(2), sgl.zeros(2)
      t:assign(w * 2)
      if read then t:realize() end
      assert.are.same({ 0.0, 0.0 }, sgl.grad((t * t):sum(), w):tolist())
      assert.are.same({ 4.0, 4.0 }, sgl.grad((t * t):sum(), t):tolist())
    end
    both(function(compile)
      local w, t = sgl.ones(2), sgl.zeros(2)
      return compile(function()
        t:assign(w * 2)
        local loss = (t * t * w):sum()
        return sgl.grad(loss, w) + 10 * sgl.grad(loss, t)
      end)():tolist()
    end)
  end)

  it("goes through a write of elements, whenever they are computed", function()
    for _, read in ipairs { false, true } do
      local w = sgl.ones(2)
      local t = w * 3
      t[1] = w:sum() * 2
      if read then t:realize() end
      assert.are.same({ 16.0, 34.0 }, sgl.grad((t * t):sum(), w):tolist())
    end
    both(function(compile)
      local w, t = sgl.ones(2), sgl.zeros(2)
      return compile(function()
        t[1] = (w * 2):sum()
        t[t:lt(1)] = w:sum()
        return sgl.grad((t * t):sum(), w)
      end)():tolist()
    end)
  end)
end)

describe("the gradient by an assigned tensor", function()
  it("is the same when the loss was read before it was taken", function()
    local function losses(read)
      sgl.seed(3)
      local w = sgl.zeros(3)
      w:assign(sgl.randn(3) * 0.5)
      local list = {}
      for i = 1, 4 do
        local loss = ((w * sgl.tensor { 1.0, 2.0, 3.0 }) ^ 2):sum()
        if read then loss:item() end
        w:assign(w - 0.01 * sgl.grad(loss, w))
        list[i] = loss
      end
      for i, loss in ipairs(list) do list[i] = loss:item() end
      return list
    end
    local want = losses(false)
    assert.is_true(want[4] < want[1])
    assert.are.same(want, losses(true))
  end)

  it("joins what was recorded before it was computed and after", function()
    local w = sgl.zeros(2)
    w:assign(sgl.tensor { 1.0, 2.0 } * 2)
    local before = (w * w):sum()
    before:item()
    local loss = before + (w * 3):sum()
    assert.are.same({ 7.0, 11.0 }, sgl.grad(loss, w):tolist())
  end)
end)

-- Each call of a step begins with what Lua would make anew.
describe("an assign to what the step made", function()
  local MADE = {
    data = function() return sgl.tensor { 1.0, 2.0, 3.0 } end,
    zeros = function() return sgl.zeros(3) end,
    full = function(x) return sgl.full({ 3 }, x.shape[1] + 0.5) end,
    computed = function(x) return x * 2 end,
    rolled = function(x) return x:roll(3, 1) end,
    clone = function(x) return x:clone() end,
    gradient = function(x) return sgl.grad((x * x):sum(), x) end,
  }
  local CHANGES = {
    ["assign"] = function(t, x) t:assign(t + x) end,
    ["position"] = function(t, x) t[2] = x[1] end,
    ["mask"] = function(t, x) t[t:gt(1)] = x end,
    ["branch taken"] = function(t, x)
      sgl.cond(x:sum():gt(0), function() t:assign(t + x) end, function() end)
    end,
    ["branch that reads and writes"] = function(t, x)
      return (sgl.cond(x:sum():lt(0), function() return t end, function()
        t[1] = 7
        return t
      end))
    end,
    ["branch in a branch"] = function(t, x)
      sgl.cond(x:sum():gt(0), function()
        sgl.cond(x:mean():gt(0), function() t:assign(t * 2) end, function() t:assign(x) end)
      end, function() end)
    end,
    ["scan"] = function(t)
      return (sgl.scan(function(c)
        t:assign(t * 2)
        return c + t
      end, t, 2))
    end,
    ["made in the scan"] = function(t, x, make)
      return (sgl.scan(function(c)
        local own = make(x)
        own:assign(own * 2)
        return c + own
      end, t, 3))
    end,
    ["loop"] = function(t)
      return (sgl.loop(function(c) return c:sum():lt(40) end, function(c)
        t:assign(t + 1)
        return c + t
      end, t, { max = 3 }))
    end,
  }
  for what, make in pairs(MADE) do
    for how, change in pairs(CHANGES) do
      it(("is not there at the next call: %s, %s"):format(what, how), function()
        local function fn(x)
          local t = make(x)
          local results = { change(t, x, make) }
          return t, t * 2, x, table.unpack(results)
        end
        local step = sgl.compile(fn)
        for call = 1, 3 do
          local want = table.pack(fn(sgl.tensor { 0.5 * call, 2.0, 1.0 }))
          local got = table.pack(step(sgl.tensor { 0.5 * call, 2.0, 1.0 }))
          for i = 1, want.n do
            assert.are.same(want[i]:tolist(), got[i]:tolist())
          end
        end
        assert.are.equal(1, #step:programs())
      end)
    end
  end
end)

describe("a gradient by a tensor that a block assigned", function()
  local READS = {
    cond = function(x, y)
      return sgl.cond(x:sum():gt(0), function()
        x:assign(y * 2)
        return x * 3
      end, function() return y end)
    end,
    scan = function(x, y)
      return (sgl.scan(function(c)
        x:assign(y * 2)
        return c + x
      end, y, 2))
    end,
  }
  for name, read in pairs(READS) do
    it("is refused where the loss depends on what the block returned: " .. name, function()
      local ok, e = pcall(sgl.compile(function(x, y)
        return sgl.grad((read(x, y) * y):sum(), x)
      end), sgl.ones(2), sgl.ones(2))
      assert.is_false(ok)
      assert.are.equal("SGL_EGRAD", e.code)
      local after = sgl.compile(function(x, y)
        read(x, y)
        return sgl.grad((x * x * y):sum(), x)
      end)
      assert.are.same({ 4, 4 }, after(sgl.ones(2), sgl.ones(2)):tolist())
    end)
  end
end)
