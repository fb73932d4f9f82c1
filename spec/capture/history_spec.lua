-- history_spec.lua: gradients that go through what was computed before a step, or by one: a
-- compiled function gives what the same Lua function gives, or says that it cannot.

local sgl = require "sgl"
local core = require "sgl.core"
local engine = require "spec.engine"

local function identity(fn) return fn end
local function whole(fn) return sgl.compile(fn) end
local function segments(fn) return sgl.compile(fn, { fullgraph = false }) end

local function numbers(v)
  return type(v) == "table" and v or v:flatten():tolist()
end

-- Each is a name and a function of a compiler that gives a tensor: what it does not give to the
-- compiler runs eagerly.
local function cube_step(compile, w)
  return compile(function(y) return sgl.grad((y * y * w):sum(), w) end)
end

-- A way from w to the loss lies before the step.
local BREAKS = {
  { "an argument computed from it", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return cube_step(compile, w)(w * 3)
  end },
  { "an argument whose value was read", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = w * 3
    y:tolist()
    return cube_step(compile, w)(y)
  end },
  { "an upvalue computed from it", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = w * 3
    return compile(function() return sgl.grad((y * w):sum(), w) end)()
  end },
  { "a tensor in a table among the arguments", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return compile(function(a)
      return sgl.grad((a.list[1] * w):sum(), w)
    end) { list = { w:exp() } }
  end },
  { "an argument, by another argument", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return compile(function(y, v) return sgl.grad((y * v):sum(), v) end)(w:sin(), w)
  end },
  { "an upvalue, by an argument", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = w:sin()
    return compile(function(v) return sgl.grad((y * v):sum(), v) end)(w)
  end },
  { "its own name among the upvalues", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return compile(function(v) return sgl.grad((w * v):sum(), v) end)(w)
  end },
  { "its own name among the arguments", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return compile(function(v) return sgl.grad((w * v):sum(), w) end)(w)
  end },
  { "another handle on it", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return cube_step(compile, w)(w:reshape(2))
  end },
  { "what was computed of something computed", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }:exp()
    return cube_step(compile, w)(w * w)
  end },
  { "what was computed before it was assigned and then read", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    w:assign(w * 2)
    local y = w * 3
    w:tolist()
    return cube_step(compile, w)(y)
  end },
  { "what was computed of its value, not yet read, that was assigned", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    w:assign(w * 2)
    return cube_step(compile, w)(w * 3)
  end },
  { "a gradient by it", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local g = sgl.grad((w ^ 3):sum(), w)
    return compile(function(d) return sgl.grad((d * d):sum(), w) end)(g)
  end },
  { "a second gradient inside", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = w:exp()
    return compile(function()
      local g = sgl.grad((y * w * w):sum(), w)
      return sgl.grad((g * g):sum(), w)
    end)()
  end },
  { "what a trace kept when it was made smaller", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = (w * 3):exp()
    y:tolist()
    core.memory()
    local z = y + 1
    core.memory()
    return compile(function(v) return sgl.grad((v * w):sum(), w) end)(z)
  end },
  { "a branch that takes the gradient", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = w:exp()
    return compile(function(x)
      return sgl.cond(x:sum():gt(0), function()
        local loss = (y * w * x):sum()
        return sgl.grad(loss, w)
      end, function() return x end)
    end)(sgl.ones(2))
  end },
  { "the steps of a scan", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = w:exp()
    return compile(function(xs)
      local _, ys = sgl.scan(function(c, x)
        local g = sgl.grad((y * w * x):sum(), w)
        return c + 1, g
      end, sgl.zeros(2), xs)
      return ys
    end)(sgl.ones(3, 2))
  end },
}

-- Nothing is left out: the values are the same.
local SAME = {
  { "a detached tensor", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return cube_step(compile, w)((w * 3):detach())
  end },
  { "a tensor that the step detaches", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return compile(function(y) return sgl.grad((y:detach() * w):sum(), w) end)(w * 3)
  end },
  { "a tensor that the loss in a branch does not read", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return compile(function(y)
      local u = y * 2
      local g = sgl.cond(y:sum():gt(0), function()
        local loss = (w * w):sum()
        return sgl.grad(loss, w)
      end, function() return u end)
      return g + y
    end)(w:exp())
  end },
  { "a tensor that the loss does not read", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local g, m = compile(function(y)
      return sgl.grad((w * w):sum(), w), y:mean()
    end)(w * 3)
    return g + m
  end },
  { "values that have no gradient", function(compile)
    local w = sgl.tensor { 2.0, -3.0 }
    return cube_step(compile, w)(w:gt(0):to "f32")
  end },
  { "a gradient by what was computed itself", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return compile(function(y) return sgl.grad((y * y * w):sum(), y) end)(w * 3)
  end },
  { "the value before an assignment", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = w * 3
    w:assign(sgl.tensor { 5.0, 6.0 })
    return cube_step(compile, w)(y)
  end },
  { "a tensor that the step gives another value", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return compile(function(y)
      w:assign(w * 2)
      return sgl.grad((y * w):sum(), w)
    end)(w * 3)
  end },
  { "eager preparation of data", function(compile)
    local w, data = sgl.tensor { 2.0, 3.0 }, sgl.tensor { 10.0, 20.0 }
    return cube_step(compile, w)((data - data:mean()) / 255)
  end },
  { "parameters computed one by one", function(compile)
    local a, b = sgl.ones(2) * 0.5, sgl.ones(2) * 0.25
    local g = compile(function(x)
      return sgl.stack(sgl.grad((x * a * b):sum(), { a, b }))
    end)(sgl.ones(2) * 3)
    return g
  end },
  { "a frozen function in front of an eager head", function(compile)
    local frozen, head = sgl.tensor { 2.0, 3.0 }, sgl.tensor { 0.5, 0.25 }
    local features = compile(function(x) return (x * frozen):tanh() end)(sgl.ones(2))
    return sgl.grad((features * head):sum(), head)
  end },
  { "a frozen function in front of a compiled head", function(compile)
    local frozen, head = sgl.tensor { 2.0, 3.0 }, sgl.tensor { 0.5, 0.25 }
    local features = compile(function(x) return (x * frozen):tanh() end)(sgl.ones(2))
    return compile(function(f) return sgl.grad((f * head):sum(), head) end)(features)
  end },
  { "two networks that train each other", function(compile)
    local gen, disc = sgl.tensor { 0.5, 0.5 }, sgl.tensor { 0.1, 0.2 }
    local make = compile(function(z) return (z * gen):tanh() end)
    local judge = compile(function(fake)
      local loss = (fake * disc):sum()
      disc:assign(disc - 0.1 * sgl.grad(loss, disc))
      return loss
    end)
    local train = compile(function(z)
      local loss = -((z * gen):tanh() * disc):sum()
      gen:assign(gen - 0.1 * sgl.grad(loss, gen))
      return loss
    end)
    local sum = 0
    for i = 1, 4 do
      local z = sgl.full({ 2 }, i) * 0.1
      sum = sum + judge(make(z)):item()
      disc:tolist()
      sum = sum + train(z):item()
      gen:tolist()
    end
    return gen + sum
  end },
  { "a recurrent step that trains at each step", function(compile)
    local w, h, sum = sgl.tensor { 0.5, 0.3 }, sgl.zeros(2), 0
    local step = compile(function(x, state)
      local new = (state * w + x):tanh()
      local loss = (new * new):sum()
      w:assign(w - 0.1 * sgl.grad(loss, w))
      return new, loss
    end)
    for i = 1, 5 do
      local loss
      h, loss = step(sgl.full({ 2 }, i / 5), h)
      w:tolist()
      sum = sum + loss:item()
    end
    return h + sum
  end },
  { "a recurrent step that detaches its state", function(compile)
    local w, h = sgl.tensor { 0.5, 0.3 }, sgl.zeros(2)
    local step = compile(function(x, state)
      local new = (state * w + x):tanh()
      return new:detach(), sgl.grad((new * new):sum(), w)
    end)
    local g
    for i = 1, 4 do h, g = step(sgl.full({ 2 }, i / 5), h) end
    return g
  end },
  { "a sum of the losses of steps", function(compile)
    local w, v = sgl.tensor { 0.5 }, sgl.tensor { 2.0 }
    local step, sum = compile(function(x) return (x * w):sum() end), sgl.tensor(0.0)
    for i = 1, 3 do sum = sum + step(sgl.full({ 1 }, i)) end
    return sgl.grad((sum * v):sum(), v)
  end },
}

-- The way leads through a compiled function outside, or from one into another.
local function scaled(compile, w) return compile(function(x) return x * w end) end

local THROUGH = {
  { "its result, by a tensor that it read", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    return sgl.grad(scaled(compile, w)(sgl.ones(2)):sum(), w)
  end },
  { "its result, by its argument", function(compile)
    local w, x = sgl.tensor { 2.0, 3.0 }, sgl.ones(2)
    return sgl.grad(scaled(compile, w)(x):sum(), x)
  end },
  { "its result, by what its argument was computed of", function(compile)
    local w, x = sgl.tensor { 2.0, 3.0 }, sgl.ones(2)
    return sgl.grad(scaled(compile, w)(x:exp():sin()):sum(), x)
  end },
  { "its result, by a handle on the way to its argument", function(compile)
    local w, x = sgl.tensor { 2.0, 3.0 }, sgl.ones(2):exp()
    return sgl.grad(scaled(compile, w)(x:sin()):sum(), x)
  end },
  { "two of them", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local double = compile(function(x) return x * 2 end)
    return sgl.grad(double(scaled(compile, w)(sgl.ones(2)):sin()):sum(), w)
  end },
  { "one of its results, by another", function(compile)
    local h, loss = compile(function(x)
      local h = x * x
      return h, (h * h):sum()
    end)(sgl.ones(2))
    return sgl.grad(loss, h)
  end },
  { "its result, by what it assigned", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = compile(function(x)
      w:assign(w * x)
      return w * w
    end)(sgl.ones(2))
    return sgl.grad(y:sum(), w)
  end },
  { "its result, by what it assigned to its argument", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = compile(function(t)
      t:assign(t * 2)
      return t * t
    end)(w)
    return sgl.grad(y:sum(), w)
  end },
  { "its result that was read, in what was computed of it", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = scaled(compile, w)(sgl.ones(2))
    y:tolist()
    return sgl.grad((y * w):exp():sum(), w)
  end },
  { "a gradient that it gave", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local g = compile(function(x) return sgl.grad((w ^ 3 * x):sum(), w) end)(sgl.ones(2))
    return sgl.grad((g * g):sum(), w)
  end },
  { "its result into a second step", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = scaled(compile, w)(sgl.ones(2))
    return cube_step(compile, w)(y)
  end },
  { "its result and eager operations into a second step", function(compile)
    local w = sgl.tensor { 2.0, 3.0 }
    local y = scaled(compile, w)(sgl.ones(2)):exp() + 1
    return compile(function() return sgl.grad((y * w):sum(), w) end)()
  end },
  { "a state that goes round", function(compile)
    local w, h = sgl.tensor { 0.5, 0.3 }, sgl.zeros(2)
    local step = compile(function(x, state)
      local new = (state * w + x):tanh()
      return new, sgl.grad((new * new):sum(), w)
    end)
    local g
    for i = 1, 3 do h, g = step(sgl.full({ 2 }, i / 5), h) end
    return g
  end },
}

-- The way leads through earlier runs of a function given to sgl.scan or loop.
local RUNS = {
  { "a carry that the tensor made", function(compile)
    local w = sgl.tensor { 2.0 }
    return compile(function(xs)
      local _, ys = sgl.scan(function(c, x)
        c = c * w + x
        return c, sgl.grad((c * c):sum(), w)
      end, sgl.ones(1), xs)
      return ys
    end)(sgl.ones(3, 1))
  end },
  { "two carries, one after the other", function(compile)
    local w = sgl.tensor { 2.0 }
    return compile(function(xs)
      local _, ys = sgl.scan(function(c, x)
        local g = sgl.grad((c.b * w):sum(), w)
        return { a = w * x, b = c.a:sin() }, g
      end, { a = sgl.ones(1), b = sgl.ones(1) }, xs)
      return ys
    end)(sgl.ones(3, 1))
  end },
  { "a tensor that was written to", function(compile)
    local w = sgl.tensor { 2.0 }
    return compile(function(xs)
      local state = sgl.ones(1) * 0.5
      local _, ys = sgl.scan(function(c, x)
        local g = sgl.grad((state * w):sum(), w)
        state[1] = (state * w + x):sum()
        return c, g
      end, sgl.zeros(1), xs)
      return ys
    end)(sgl.ones(3, 1))
  end },
  { "a carry that another made", function(compile)
    return compile(function(xs)
      local _, ys = sgl.scan(function(c, x)
        local g = sgl.grad((c.a * c.b):sum(), c.a)
        local a = c.a * x
        return { a = a, b = a:exp() }, g
      end, { a = sgl.ones(1), b = sgl.ones(1) }, xs)
      return ys
    end)(sgl.full({ 3, 1 }, 0.5))
  end },
  { "a carry that another made before the first", function(compile)
    return compile(function(start)
      local a = start * 2
      local _, ys = sgl.scan(function(c, x)
        local g = sgl.grad((c.a * c.b):sum(), c.a)
        return { a = c.a * x, b = c.b }, g
      end, { a = a, b = a * 3 }, sgl.ones(3, 1))
      return ys
    end)(sgl.ones(1))
  end },
  { "a branch inside", function(compile)
    local w = sgl.tensor { 2.0 }
    return compile(function(xs)
      local _, ys = sgl.scan(function(c, x)
        local g = sgl.cond(x:sum():gt(0), function()
          local loss = (c * c * w):sum()
          return sgl.grad(loss, w)
        end, function() return x end)
        return c * w + x, g
      end, sgl.ones(1), xs)
      return ys
    end)(sgl.ones(3, 1))
  end },
  { "a loop", function(compile)
    local w = sgl.tensor { 2.0 }
    return compile(function(x)
      return (sgl.loop(function(c) return c.n:lt(3) end, function(c)
        local g = sgl.grad((c.v * w):sum(), w)
        return { v = c.v * w, g = g, n = c.n + 1 }
      end, { v = x, g = sgl.zeros(1), n = sgl.tensor(0.0) }, { max = 5 })).g
    end)(sgl.ones(1))
  end },
}

-- Nothing goes through them.
local RUNS_SAME = {
  { "a tensor that was assigned", function(compile)
    local w = sgl.tensor { 2.0 }
    return compile(function(xs)
      local state = sgl.ones(1) * 0.5
      local _, ys = sgl.scan(function(c, x)
        local g = sgl.grad((state * w):sum(), w)
        state:assign(state * w + x)
        return c, g
      end, sgl.zeros(1), xs)
      return ys
    end)(sgl.ones(3, 1))
  end },
  { "parameters that are assigned", function(compile)
    local w, b = sgl.tensor { 0.5 }, sgl.tensor { 0.1 }
    compile(function(xs)
      sgl.scan(function(c, x)
        local g = sgl.grad(((x * w + b - 1) ^ 2):sum(), { w, b })
        w:assign(w - 0.1 * g[1])
        b:assign(b - 0.1 * g[2])
        return c, x:sum()
      end, sgl.zeros(1), xs)
      return xs
    end)(sgl.rand(4, 1):sign())
    return w + b
  end },
  { "parameters that are carried", function(compile)
    return (compile(function(xs)
      return (sgl.scan(function(p, x)
        local g = sgl.grad(((x * p.w + p.b - 1) ^ 2):sum(), { p.w, p.b })
        return { w = p.w - 0.1 * g[1], b = p.b - 0.1 * g[2] }, x:sum()
      end, { w = sgl.zeros(1), b = sgl.ones(1) }, xs))
    end)(sgl.full({ 4, 1 }, 0.5)).w)
  end },
  { "a carry that is detached", function(compile)
    local w = sgl.tensor { 2.0 }
    return compile(function(xs)
      local _, ys = sgl.scan(function(c, x)
        c = c:detach() * w + x
        return c, sgl.grad((c * c):sum(), w)
      end, sgl.ones(1), xs)
      return ys
    end)(sgl.ones(3, 1))
  end },
  { "a carry that no gradient reaches", function(compile)
    local w = sgl.tensor { 2.0 }
    return compile(function(xs)
      local _, ys = sgl.scan(function(c, x)
        return c + x, sgl.grad((c * w):sum(), w)
      end, sgl.ones(1), xs)
      return ys
    end)(sgl.ones(3, 1))
  end },
  { "what was assigned and read by no loss", function(compile)
    local w, seen = sgl.tensor { 2.0 }, sgl.zeros(1)
    return compile(function(xs)
      local _, ys = sgl.scan(function(c, x)
        seen:assign(seen + w)
        return c, sgl.grad((x * w * w):sum(), w)
      end, sgl.ones(1), xs)
      return ys
    end)(sgl.ones(3, 1))
  end },
}

local function refuses(fn, ...)
  local fine, e = pcall(fn, ...)
  assert(not fine, "it gave a value")
  return type(e) == "table" and (e.reason or e.code) or tostring(e), tostring(e)
end

describe("a gradient in a step", function()
  for _, case in ipairs(BREAKS) do
    it("breaks where it would leave out " .. case[1], function()
      assert.are.equal("B-GRAD", (refuses(case[2], whole)))
    end)

    it("is whole in segments with " .. case[1], function()
      assert.are.same(numbers(case[2](identity)), numbers(case[2](segments)))
    end)
  end

  for _, case in ipairs(RUNS) do
    it("in a block breaks where it would leave out " .. case[1], function()
      assert.are.equal("B-CARRY", (refuses(case[2], whole)))
      assert.are.same(numbers(case[2](identity)), numbers(case[2](segments)))
    end)
  end

  for _, case in ipairs(RUNS_SAME) do SAME[#SAME + 1] = case end

  for _, case in ipairs(SAME) do
    it("is what it is outside with " .. case[1], function()
      local want = numbers(case[2](identity))
      for _, compile in ipairs { whole, segments } do
        for i, v in ipairs(numbers(case[2](compile))) do assert.is_near(want[i], v, 1e-5) end
      end
    end)
  end

  it("names both tensors, the place and ways out", function()
    local w = sgl.tensor { 2.0 }
    local y = w * 3
    local _, text = refuses(sgl.compile(function(x)
      local loss = (x * w):sum()
      return sgl.grad(loss, w)
    end), y)
    assert.matches("grad by upvalue w through x %(f32%[1%], from :mul at line %d+%)", text)
    assert.matches("detach", text)
    assert.matches("sgl %? B%-GRAD", text)
  end)

  it("asks at each call, of the arguments", function()
    local w = sgl.tensor { 2.0 }
    local step = cube_step(whole, w)
    local plain = sgl.tensor { 6.0 }
    assert.are.same({ 36 }, step(plain):tolist())
    assert.are.equal("B-GRAD", (refuses(step, w * 3)))
    assert.are.same({ 36 }, step(plain):tolist())
    assert.are.same({ 36 }, step((w * 3):detach()):tolist())
    assert.are.equal(1, #step:programs())
  end)

  it("asks at each call, of tensors from outside", function()
    local w, box = sgl.tensor { 2.0 }, sgl.tensor { 6.0 }
    local step = whole(function() return sgl.grad((box * w):sum(), w) end)
    assert.are.same({ 6 }, step():tolist())
    box[1] = (w * 3):sum()
    assert.are.equal("B-GRAD", (refuses(step)))
    box:tolist()
    assert.are.equal("B-GRAD", (refuses(step)))
    box:assign(w * 3)
    assert.are.same({ 6 }, step():tolist())
  end)

  it("does not go through what was assigned: teachers, and networks that take turns", function()
    local function train(compile)
      local w, slow, other = sgl.tensor { 2.0 }, sgl.tensor { 1.0 }, sgl.tensor { 0.5 }
      local step = compile(function(x)
        local loss = ((x * w - x * slow) * other):sum()
        return sgl.grad(loss, w), sgl.grad(loss, other)
      end)
      for turn = 1, 4 do
        local g, h = step(sgl.ones(1))
        if turn % 2 == 0 then w:assign(w - 0.1 * g) else other:assign(other - 0.1 * h * w) end
        slow:assign(slow * 0.9 + w * 0.1)
      end
      return w + slow + other
    end
    assert.are.same(numbers(train(identity)), numbers(train(whole)))
  end)

  it("is refused outside where a step wrote part of a tensor", function()
    local w, box = sgl.tensor { 2.0 }, sgl.zeros(2)
    local function fill(x) box[1] = (w * x):sum() end
    fill(sgl.ones(1))
    assert.are.same({ 4 }, sgl.grad((box * box):sum(), w):tolist())
    box:assign(0)
    sgl.compile(fill)(sgl.ones(1))
    assert.are.equal("SGL_EGRAD", (refuses(sgl.grad, (box * box):sum(), w)))
    assert.are.same({ 4, 0 }, sgl.grad((box * box):sum(), box):tolist())
  end)

  it("takes the way that fits each call, in both orders", function()
    for _, order in ipairs { { false, true, false, true }, { true, false, true, false } } do
      local w = sgl.tensor { 2.0 }
      local eager, step = cube_step(identity, w), cube_step(segments, w)
      for _, history in ipairs(order) do
        local y = history and w * 3 or sgl.tensor { 6.0 }
        assert.are.same(eager(y):tolist(), step(y):tolist())
      end
      local programs = step:programs()
      assert.are.equal(2, #programs)
      assert.matches("^the history of y, from which the gradient at .*history_spec.lua:%d+ goes "
        .. "back to w, changed$", programs[2].reason)
      local broken = order[1] and 1 or 2
      assert.are.equal("B-GRAD", programs[broken].broken.code)
      assert.are.equal("gradients", programs[broken].broken.component)
      assert.is_nil(programs[3 - broken].broken)
    end
  end)

  it("lists changes of history when it is captured too often", function()
    local w = sgl.tensor { 2.0 }
    local step = sgl.compile(function(y) return sgl.grad((y * y * w):sum(), w) end,
      { fullgraph = false, max_recaptures = 1 })
    step(w * 3)
    step(sgl.ones(1))
    assert.is_true(sgl.grad((sgl.ones(3) * w):sum(), w):equal(step(sgl.ones(3))))
    local breaks = sgl.coverage(step).breaks
    assert.are.equal("B-LIMIT", breaks[#breaks].code)
    assert.matches("the history of y", breaks[#breaks].reason)
  end)

  it("is whole for models and optimizers, and nothing is captured again", function()
    local nn = sgl.nn
    for _, prepare in ipairs { identity, function(x) return (x - 0.5) / 2 end } do
      sgl.seed(1)
      local model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))
      local optimizer = sgl.optim.Adam(model:parameters(), { lr = 0.01 })
      local step = sgl.compile(function(x, y)
        local loss = ((model(x) - y) ^ 2):mean()
        optimizer:minimize(loss)
        return loss
      end)
      for _ = 1, 4 do
        step(prepare(sgl.rand(3, 4)), sgl.ones(3, 2))
      end
      assert.are.equal(1, #step:programs())
    end
  end)

  it("does not break in a long recurrence whose weights stay, if others are trained", function()
    local frozen, head, h = sgl.tensor { 0.5 }, sgl.tensor { 0.1 }, sgl.zeros(1)
    local advance = whole(function(x, state) return (state * frozen + x):tanh() end)
    local train = whole(function(state) return sgl.grad((state * head):sum(), head) end)
    for i = 1, 3000 do
      h = advance(sgl.full({ 1 }, i % 3 * 0.1), h)
      if i % 100 == 0 then train(h) end
    end
    assert.are.equal(1, #train:programs())
    assert.are.equal("SGL_EGRAD", (refuses(sgl.grad, h:sum(), frozen)))
  end)
end)

describe("a gradient through a compiled function", function()
  for _, case in ipairs(THROUGH) do
    it("is refused for " .. case[1], function()
      assert.is_table(numbers(case[2](identity)))
      for _, compile in ipairs { whole, segments } do
        local reason = refuses(case[2], compile)
        assert(reason == "B-GRAD" or reason == "SGL_EGRAD", reason)
      end
    end)
  end

  it("says what to do", function()
    local w = sgl.tensor { 2.0 }
    local y = scaled(whole, w)(sgl.ones(1))
    local _, text = refuses(sgl.grad, y:sum(), w)
    assert.matches("the loss depends on tensor 1 through a compiled function", text)
    assert.matches("detach", text)
  end)

  it("is taken where a detach, other tensors or new values are between", function()
    local w, v = sgl.tensor { 2.0 }, sgl.tensor { 5.0 }
    local y = scaled(whole, w)(sgl.ones(1))
    assert.are.same({ 2 }, sgl.grad((y:detach() * w):sum(), w):tolist())
    assert.are.same({ 2 }, sgl.grad((y * v):sum(), v):tolist())
    assert.are.same({ 5 }, sgl.grad((y * v):sum(), y):tolist())
    w:assign(sgl.tensor { 7.0 })
    assert.are.same({ 2 }, sgl.grad((y * w):sum(), w):tolist())
    y:assign(sgl.tensor { 3.0 })
    assert.are.same({ 3 }, sgl.grad((y * w):sum(), w):tolist())
  end)

  it("is taken by results among many, of which each has its own ways", function()
    local w = {}
    for i = 1, 150 do w[i] = sgl.full({ 1 }, i) end
    local step = whole(function(x)
      local out = {}
      for i = 1, 150 do out[i] = w[i] * x end
      return out
    end)
    local out = step(sgl.ones(1))
    for _, i in ipairs { 1, 64, 65, 128, 150 } do
      assert.are.equal("SGL_EGRAD", (refuses(sgl.grad, out[i]:sum(), w[i])))
      local other = w[i % 150 + 1]
      assert.are.same({ i }, sgl.grad((out[i] * other):sum(), other):tolist())
    end
  end)

  it("keeps nothing of long chains of steps", function()
    local w, h = sgl.tensor { 0.5 }, sgl.zeros(1)
    local step = whole(function(x, state) return (state * w + x):tanh() end)
    local function advance(n)
      for i = 1, n do h = step(sgl.full({ 1 }, i % 7 * 0.1), h) end
      collectgarbage()
      collectgarbage()
      return core.memory()
    end
    -- Scratch that is as long as what waited for a look grows now and then; what is kept of steps
    -- would grow in every round.
    local times, live, blocks = engine.times(5000), math.huge, math.huge
    local before = advance(times)
    for _ = 1, 5 do
      local after = advance(times)
      live = math.min(live, after.live - before.live)
      blocks = math.min(blocks, after.blocks - before.blocks)
      before = after
    end
    assert(live < 32 * 1024, live)
    assert(blocks < 50, blocks)
  end)

  it("keeps little of long chains of steps and of operations outside, and knows them", function()
    local w, other, first = sgl.tensor { 0.5 }, sgl.ones(1), sgl.zeros(1)
    local step = whole(function(x) return x * w + 1 end)
    local x, before = first, core.memory().live
    for _ = 1, 1500 do x = x + step(x) * 0.001 end
    local grown = core.memory().live - before
    assert(grown < 64 << 20, grown)
    for _, t in ipairs { w, first } do
      assert.are.equal("SGL_EGRAD", (refuses(sgl.grad, x:sum(), t)))
      assert.are.equal("SGL_EGRAD", (refuses(sgl.grad, step(x):sum(), t)))
    end
    assert.are.same(x:tolist(), sgl.grad((x * other):sum(), other):tolist())
  end)

  it("goes through blocks in blocks", function()
    local function nest(depth, x, w)
      if depth == 0 then return sgl.grad((x * w):sum(), x) end
      return sgl.cond(sgl.gt(w:sum(), 0), function() return nest(depth - 1, x * 1, w) end,
        function() return x * 0 end)
    end
    local step = whole(function(x, w) return nest(24, x, w) end)
    assert.are.same({ 3, 3 }, step(sgl.ones(2), sgl.full({ 2 }, 3)):tolist())
  end)
end)
