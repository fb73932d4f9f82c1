-- grad_spec.lua: gradients where formulas go wrong: behind `where`, at zeros, at ties, at the ends
-- of the range; gradients of gradients; what has none.
--
-- Expected values are worked out by hand or from closed forms. Plain gradients of every op are in
-- ops_spec.lua.

local core = require "sgl.core"
local engine = require "spec.engine"

local apply = core.apply

local function total(t) return apply("sum", t, {}) end
local function const(list, dtype) return core.tensor(list, dtype or "f64") end

-- The gradient of sum(fn(x)) at a list of numbers, in f64 and in f32, eagerly and by the reference.
local function slopes(fn, at)
  local x = const(at)
  local eager = engine.values(core.grad(total(fn(x)), { x })[1])
  local graph = engine.capture(function(v) return total(fn(v)) end, { x })
  local gradient = graph:grad(1, { 1 })
  local byreference = engine.values(gradient:eval({ x })[1])
  assert.is_nil(engine.difference(eager, byreference, "f64", engine.within(1e-12, "f64", 1e-3)))
  local narrow = const(at, "f32")
  local single = engine.values(core.grad(total(fn(narrow)), { narrow })[1])
  assert.is_nil(engine.difference(single, byreference, "f32", engine.within(1e-5, "f32", 1e-3)))
  return eager
end

local function assert_near(want, got, tolerance)
  local wrong = engine.difference(got, want, "f64", engine.within(tolerance or 1e-9, "f64", 1))
  assert(not wrong, wrong)
end

describe("a gradient through where", function()
  it("is {2, 2, 0.480898} for where(x > 2, log2(x), 2x) at {0, 2, 3}", function()
    assert_near({ 2, 2, 1 / (3 * math.log(2)) }, slopes(function(x)
      return x:gt(2):where(x:log2(), x * 2)
    end, { 0.0, 2.0, 3.0 }))
  end)

  it("is 1 for where(x > 0, sqrt(x), x) below 0", function()
    assert_near({ 1, 1 }, slopes(function(x)
      return x:gt(0):where(x:sqrt(), x)
    end, { -1.0, -4.0 }))
  end)

  it("is 1, not NaN, for where(a <= 0, exp(a), 1 + a) at 100 and beyond", function()
    assert_near({ 1, 1 }, slopes(function(a)
      return a:le(0):where(a:exp(), a + 1)
    end, { 100.0, 1e4 }))
  end)

  it("flows into the side taken where both sides are finite", function()
    assert_near({ 6, 1 }, slopes(function(x) return x:gt(0):where(x * x, x) end, { 3.0, -3.0 }))
  end)

  it("stays finite through several steps behind the mask", function()
    -- x^2, sqrt and a quotient, all infinite or NaN at 0, where the other side is taken.
    assert_near({ 0, 0.5 }, slopes(function(x)
      local safe = (x / (x * x)):sqrt() * x
      return x:gt(0):where(safe, x * 0)
    end, { 0.0, 1.0 }))
  end)

  it("stays finite through nested masks", function()
    assert_near({ 0, 1, -1 }, slopes(function(x)
      local inner = x:ne(0):where(x:abs():log(), x * 0)
      return x:eq(0):where(x * 0, inner)
    end, { 0.0, 1.0, -1.0 }))
  end)

  it("stays finite at second order", function()
    local x = const { -1.0, 4.0 }
    local y = x:gt(0):where(x:sqrt(), x)
    local g = core.grad(total(y), { x })[1]
    local h = engine.values(core.grad(total(g), { x })[1])
    assert_near({ 0, -0.25 * 4.0 ^ -1.5 }, h)
  end)

  it("is NaN where the side taken has no derivative", function()
    local g = slopes(function(x) return x:ge(0):where(x:sqrt(), x) end, { 0.0 })
    assert.are.equal(math.huge, g[1])
  end)
end)

describe("a gradient of a gradient", function()
  local function second(fn, at)
    local x = const(at)
    local g = core.grad(total(fn(x)), { x })[1]
    return engine.values(core.grad(total(g), { x })[1])
  end

  it("is 6x for x^3, as product and as power", function()
    assert_near({ 6, -12, 0 }, second(function(x) return x * x * x end, { 1.0, -2.0, 0.0 }))
    assert_near({ 6, 12 }, second(function(x) return x ^ 3 end, { 1.0, 2.0 }))
  end)

  it("agrees with closed forms", function()
    local at = { 0.3, 0.7, 1.9 }
    local CLOSED = {
      { "exp", math.exp }, { "sin", function(v) return -math.sin(v) end },
      { "log", function(v) return -1 / v ^ 2 end },
      { "sqrt", function(v) return -0.25 * v ^ -1.5 end },
      { "rsqrt", function(v) return 0.75 * v ^ -2.5 end },
      { "tanh", function(v)
        local t = (math.exp(2 * v) - 1) / (math.exp(2 * v) + 1)
        return -2 * t * (1 - t * t)
      end },
      { "sigmoid", function(v)
        local s = 1 / (1 + math.exp(-v))
        return s * (1 - s) * (1 - 2 * s)
      end },
      { "atan", function(v) return -2 * v / (1 + v * v) ^ 2 end },
      { "erf", function(v) return -4 * v / math.sqrt(math.pi) * math.exp(-v * v) end },
    }
    for _, row in ipairs(CLOSED) do
      local want = {}
      for i, v in ipairs(at) do want[i] = row[2](v) end
      assert_near(want, second(function(x) return x[row[1]](x) end, at), 1e-9)
    end
  end)

  it("gives the third derivative of sin", function()
    local x = const { 0.5, 2.0 }
    local g = total(x:sin())
    for _ = 1, 3 do g = core.grad(total(g), { x })[1] end
    assert_near({ -math.cos(0.5), -math.cos(2.0) }, engine.values(g))
  end)

  it("goes through products of matrices: the Hessian of |Ax|²", function()
    local a, x = const { { 1.0, 2.0 }, { 3.0, -1.0 } }, const { { 0.5 }, { 2.0 } }
    local y = apply("dot", { a, x })
    local g = core.grad(total(y * y), { x })[1]
    local row = engine.values(core.grad(total(g * const { { 1.0 }, { 0.0 } }), { x })[1])
    assert_near({ 2 * (1 + 9), 2 * (2 - 3) }, row)     -- the first row of 2·AᵀA
  end)

  it("goes through softmax rows", function()
    local x = const { 0.1, 0.2, 0.4 }
    local function softmax(v)
      local e = (v - apply("reduce_max", v, {})):exp()
      return e / total(e)
    end
    local p = engine.values(softmax(x))
    local g = core.grad(total(softmax(x) * const { 1.0, 0.0, 0.0 }), { x })[1]
    local h = engine.values(core.grad(total(g * const { 1.0, 0.0, 0.0 }), { x })[1])
    -- d²p1/dx1 dxj = p1 (δ1j - pj)(1 - 2 p1)
    assert_near({ p[1] * (1 - p[1]) * (1 - 2 * p[1]), -p[1] * p[2] * (1 - 2 * p[1]),
      -p[1] * p[3] * (1 - 2 * p[1]) }, h)
  end)
end)

describe("a gradient of a product", function()
  local function prod(x) return apply("prod", x, {}) end

  it("is right with no zero, one and several", function()
    assert_near({ 12, 8, 6 }, slopes(prod, { 2.0, 3.0, 4.0 }))
    assert_near({ 12, 0, 0 }, slopes(prod, { 0.0, 3.0, 4.0 }))
    assert_near({ 0, 0, 0 }, slopes(prod, { 0.0, 0.0, 4.0 }))
    assert_near({ 1 }, slopes(prod, { 0.0 }))
  end)

  it("is right for rows of any length", function()
    for n = 1, 9 do
      local at, want = {}, {}
      for i = 1, n do at[i] = 1.0 + i / 4 end
      for i = 1, n do
        want[i] = 1
        for j = 1, n do if j ~= i then want[i] = want[i] * at[j] end end
      end
      assert_near(want, slopes(prod, at))
    end
  end)

  it("has a second derivative at zeros too", function()
    local x = const { 0.0, 0.0, 4.0 }
    local g = core.grad(prod(x), { x })[1]
    local h = engine.values(core.grad(total(g * const { 1.0, 0.0, 0.0 }), { x })[1])
    assert_near({ 0, 4, 0 }, h)
  end)
end)

describe("a gradient at a tie", function()
  it("is shared by equal maxima and minima", function()
    assert_near({ 0.5, 0, 0.5 }, slopes(function(x) return apply("reduce_max", x, {}) end,
      { 3.0, 1.0, 3.0 }))
    assert_near({ 0, 0.25, 0.25, 0.25, 0.25 }, slopes(function(x)
      return apply("reduce_min", x, {})
    end, { 5.0, 1.0, 1.0, 1.0, 1.0 }))
  end)

  it("is halved between two equal arguments of max and min, as PyTorch has it", function()
    for _, op in ipairs { "max", "min" } do
      local x, y = const { 2.0, 2.0 }, const { 2.0, 2.0 }
      local g = core.grad(total(apply(op, { x, y })), { x, y })
      assert_near({ 0.5, 0.5 }, engine.values(g[1]))
      assert_near({ 0.5, 0.5 }, engine.values(g[2]))
    end
  end)

  it("goes with `first` to the first of equal extremes, in row-major order", function()
    local x = core.from_bytes(("<ffffff"):pack(1, 7, 7, 7, 0, 7), "f32", { 2, 3 })
    for _, row in ipairs { { { 1, 2 }, { 0, 1, 0, 0, 0, 0 } }, { { 2 }, { 0, 1, 0, 1, 0, 0 } },
                           { { 1 }, { 0, 1, 1, 1, 0, 0 } } } do
      local y = core.apply("reduce_max", { x }, { dims = row[1], first = true })
      assert_near(row[2], engine.values(core.grad(total(y), { x })[1]))
    end
  end)

  it("is 0 for abs and sign at 0", function()
    assert_near({ 0, 1, -1 }, slopes(function(x) return x:abs() end, { 0.0, 2.0, -2.0 }))
    assert_near({ 0, 0 }, slopes(function(x) return x:sign() end, { 0.0, 2.0 }))
  end)
end)

describe("a gradient at the ends of the range", function()
  it("of a power at 0 is that of the polynomial", function()
    assert_near({ 0 }, slopes(function(x) return x ^ 2 end, { 0.0 }))
    assert_near({ 1 }, slopes(function(x) return x ^ 1 end, { 0.0 }))
    assert_near({ 0 }, slopes(function(x) return x ^ 0 end, { 0.0 }))
  end)

  it("of a power by its exponent is 0 at base 0", function()
    assert_near({ 0, 0 }, slopes(function(y) return core.full({ 2 }, 0, y.dtype) ^ y end,
      { 2.0, 0.0 }))
  end)

  it("of a negative base by an integer power is real", function()
    assert_near({ 3 * 4 }, slopes(function(x) return x ^ 3 end, { -2.0 }))
  end)

  it("of sigmoid and tanh vanishes far out, and is not NaN", function()
    local far = { -1000.0, 1000.0 }
    assert_near({ 0, 0 }, slopes(function(x) return x:sigmoid() end, far))
    assert_near({ 0, 0 }, slopes(function(x) return x:tanh() end, far))
  end)

  it("of sqrt at 0 is infinite", function()
    assert.are.equal(math.huge, slopes(function(x) return x:sqrt() end, { 0.0 })[1])
  end)
end)

describe("a gradient", function()
  it("adds up where an argument is used several times", function()
    assert_near({ 2 * 3 + 1 + 4 }, slopes(function(x) return x * x + x + x * 4 end, { 3.0 }))
  end)

  it("adds up over a broadcast", function()
    local x, y = const { { 1.0, 2.0, 3.0 }, { 4.0, 5.0, 6.0 } }, const { 10.0, 20.0, 30.0 }
    local g = core.grad(total(x * y), { x, y })
    assert_near({ 10, 20, 30, 10, 20, 30 }, engine.values(g[1]))
    assert_near({ 5, 7, 9 }, engine.values(g[2]))
  end)

  it("adds up where an index repeats", function()
    local x, index = const { 1.0, 2.0, 3.0 }, core.tensor({ 2, 0, 2, 2 }, "i32")
    local y = apply("gather", { x, index }, { dim = 1 }) * const { 1.0, 10.0, 100.0, 1000.0 }
    assert_near({ 10, 0, 1101 }, engine.values(core.grad(total(y), { x })[1]))
  end)

  it("of a scatter flows to what is added and to what it is added to", function()
    local x, index = const { 1.0, 2.0 }, core.tensor({ 1, 1, 0 }, "i32")
    local u = const { 5.0, 6.0, 7.0 }
    local y = apply("scatter_add", { x, index, u }, { dim = 1 })
    local g = core.grad(total(y * const { 3.0, 4.0 }), { x, u })
    assert_near({ 3, 4 }, engine.values(g[1]))
    assert_near({ 4, 4, 3 }, engine.values(g[2]))
  end)

  it("does not pass detach, comparisons, positions and integers", function()
    assert_near({ 3 }, slopes(function(x) return x * x:detach() end, { 3.0 }))
    assert_near({ 1, 1 }, slopes(function(x) return x + x:gt(0) end, { 3.0, -3.0 }))
    assert_near({ 0, 0 }, slopes(function(x)
      return apply("cast", apply("argsort", x, { dim = 1 }), { dtype = x.dtype })
    end, { 3.0, 1.0 }))
    assert_near({ 0 }, slopes(function(x)
      return apply("cast", apply("cast", x, { dtype = "i32" }), { dtype = x.dtype })
    end, { 3.0 }))
  end)

  it("is zeros of its shape where the loss does not depend on the argument", function()
    local x, y = const { 1.0, 2.0 }, const { { 3.0 } }
    local g = core.grad(total(x), { y })[1]
    assert.are.same({ 1, 1 }, g.shape)
    assert_near({ 0 }, engine.values(g))
  end)

  it("has the dtype of its argument", function()
    for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
      local x = core.full({ 3 }, 2, dtype)
      x:realize()
      local wide = apply("cast", x, { dtype = "f64" })
      assert.are.equal(dtype, core.grad(total(wide * wide), { x })[1].dtype)
    end
  end)

  it("of arrays without elements has none", function()
    local x = core.full({ 0, 3 }, 1, "f32")
    x:realize()
    assert.are.same({ 0, 3 }, core.grad(total(x * x), { x })[1].shape)
  end)

  it("is refused for a loss that is no single float, and by an integer", function()
    local x, n = const { 1.0, 2.0 }, core.tensor({ 1, 2 }, "i32")
    local REFUSED = {
      { x * x, x, "f64[2]" }, { total(n), x, "i32" }, { total(x * n), n, "i32[2]" },
    }
    for _, row in ipairs(REFUSED) do
      local e = engine.failure(core.grad, row[1], { row[2] })
      assert.are.equal("SGL_EGRAD", e.code)
      assert.is_truthy(e.message:find(row[3], 1, true), e.message)
      assert.is_truthy(e.hint, "no way out is given")
    end
  end)
end)

describe("a gradient by a gradient", function()
  local sgl = require "sgl"

  -- Equal ones may be computed once, but none is computed out of another.
  it("is 0 for another, also an equal one, in a step and outside", function()
    local function fn(x, y)
      local s = x + y
      local a, b = table.unpack(sgl.grad((s * s):sum(), { x, y }))
      local c, d = table.unpack(sgl.grad((s * 3):sum(), { s, x }))
      local none, other = sgl.grad(x:sum(), y), sgl.grad(y:sum(), x)
      return sgl.grad((a * 2):sum(), b), sgl.grad((d * 2):sum(), c),
        sgl.grad((none * 2):sum(), other), sgl.grad((a * 2):sum(), a), sgl.grad(a:sum(), x)
    end
    local x, y = sgl.tensor { 1.0, 2.0 }, sgl.tensor { 3.0, -4.0 }
    for _, step in ipairs { fn, sgl.compile(fn) } do
      local seen = {}
      for i, g in ipairs { step(x, y) } do seen[i] = g:tolist() end
      assert.are.same({ { 0, 0 }, { 0, 0 }, { 0, 0 }, { 2, 2 }, { 2, 2 } }, seen)
    end
  end)
end)
