-- meaning_spec.lua: elementwise ops mean what their names say, by formulas that do not come from
-- the op table: the reference is compiled from the same rows as the kernels, so that the two agree
-- does not show that a row is right.
--
-- Arguments are every pair of a list of special and ordinary values; an op of the table that has no
-- formula here is left to ops_spec.lua.

local sgl = require "sgl"
local core = require "sgl.core"
local engine = require "spec.engine"

local NAN, INF = 0.0 / 0.0, math.huge
-- Exact in f32, so that the formulas see the same arguments.
local VALUES = { 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 0.3125, -0.6875, 20.0,
                 2.0 ^ -10, 1e5, NAN, INF, -INF }

local function is_nan(x) return x ~= x end
local exp, log = math.exp, math.log

local function sign(x) return x > 0 and 1 or x < 0 and -1 or 0 end

local function half_to_even(x)
  if is_nan(x) or math.abs(x) == INF then return x end
  local low = math.floor(x)
  local rest = x - low
  if rest ~= 0.5 then return rest < 0.5 and low or low + 1 end
  return low % 2 == 0 and low or low + 1
end

local function whole(f)
  return function(x) return (is_nan(x) or math.abs(x) == INF) and x or f(x) end
end

-- The integral of the definition, by Simpson's rule.
local function erf(x)
  if is_nan(x) then return x end
  if math.abs(x) > 6 then return sign(x) end
  local n, sum = 2000, 0
  local h = x / n
  for i = 0, n do
    sum = sum + exp(-(i * h) ^ 2) * ((i == 0 or i == n) and 1 or i % 2 == 1 and 4 or 2)
  end
  return 2 / math.sqrt(math.pi) * sum * h / 3
end

local function log_of(x, base)
  if x < 0 then return NAN end
  return x == 0 and -INF or log(x, base)
end

local UNARY = {
  neg = function(x) return -x end, abs = function(x) return x < 0 and -x or x end,
  detach = function(x) return x end, sign = sign, exp = exp,
  exp2 = function(x) return 2.0 ^ x end,
  expm1 = function(x) return math.abs(x) < 1e-2 and x + x * x / 2 + x ^ 3 / 6 or exp(x) - 1 end,
  log = log_of, log2 = function(x) return log_of(x, 2) end,
  log1p = function(x)
    return math.abs(x) < 1e-2 and x - x * x / 2 + x ^ 3 / 3 or log_of(1 + x)
  end,
  sqrt = function(x) return x < 0 and NAN or math.sqrt(x) end,
  rsqrt = function(x) return x < 0 and NAN or 1 / math.sqrt(x) end,
  sin = math.sin, cos = math.cos, tan = math.tan,
  asin = function(x) return math.abs(x) > 1 and NAN or math.asin(x) end,
  acos = function(x) return math.abs(x) > 1 and NAN or math.acos(x) end,
  atan = math.atan,
  sinh = function(x) return (exp(x) - exp(-x)) / 2 end,
  cosh = function(x) return (exp(x) + exp(-x)) / 2 end,
  tanh = function(x)
    if math.abs(x) > 18 then return sign(x) end
    return (exp(2 * x) - 1) / (exp(2 * x) + 1)
  end,
  erf = erf, sigmoid = function(x) return 1 / (1 + exp(-x)) end,
  floor = whole(math.floor), ceil = whole(math.ceil), round = half_to_even,
  isnan = is_nan, isinf = function(x) return math.abs(x) == INF end,
  isfinite = function(x) return not is_nan(x) and math.abs(x) ~= INF end,
}

local function either_nan(f)
  return function(x, y) return (is_nan(x) or is_nan(y)) and NAN or f(x, y) end
end

local BINARY = {
  add = function(x, y) return x + y end, sub = function(x, y) return x - y end,
  mul = function(x, y) return x * y end, div = function(x, y) return x / y end,
  floordiv = function(x, y) return whole(math.floor)(x / y) end,
  min = either_nan(math.min), max = either_nan(math.max),
  pow = function(x, y) return x ^ y end, atan2 = function(x, y) return math.atan(x, y) end,
  eq = function(x, y) return x == y end, ne = function(x, y) return x ~= y end,
  lt = function(x, y) return x < y end, le = function(x, y) return x <= y end,
  gt = function(x, y) return x > y end, ge = function(x, y) return x >= y end,
}

local TRUTHS = {
  logical_and = function(a, b) return a and b end, logical_or = function(a, b) return a or b end,
  logical_xor = function(a, b) return a ~= b end, logical_not = function(a) return not a end,
}

local function number(v)
  if type(v) == "boolean" then return v and 1 or 0 end
  return v + 0.0
end

-- Values of op at lists of arguments, against f.
local function check(op, f, lists, dtype)
  local args, want = {}, {}
  for i, list in ipairs(lists) do args[i] = core.tensor(list, dtype) end
  for k = 1, #lists[1] do
    want[k] = number(f(lists[1][k], lists[2] and lists[2][k]))
  end
  local out = core.apply(op, args)
  local wrong = engine.difference(engine.values(out), want, out.dtype,
    engine.within(dtype == "f64" and 1e-9 or 1e-5, out.dtype, 1e-3))
  assert(not wrong, op .. " of " .. dtype .. ": " .. (wrong or ""))
end

local function pairs_of(values)
  local x, y = {}, {}
  for _, a in ipairs(values) do
    for _, b in ipairs(values) do x[#x + 1], y[#y + 1] = a, b end
  end
  return { x, y }
end

local function names(rows)
  local list = {}
  for name in pairs(rows) do list[#list + 1] = name end
  table.sort(list)
  return list
end

describe("the meaning of", function()
  for _, name in ipairs(names(UNARY)) do
    it(name, function()
      for _, dtype in ipairs { "f64", "f32" } do check(name, UNARY[name], { VALUES }, dtype) end
    end)
  end

  for _, name in ipairs(names(BINARY)) do
    it(name, function()
      for _, dtype in ipairs { "f64", "f32" } do
        check(name, BINARY[name], pairs_of(VALUES), dtype)
      end
    end)
  end

  for _, name in ipairs(names(TRUTHS)) do
    it(name, function()
      local lists = pairs_of { true, false }
      if name == "logical_not" then lists[2] = nil end
      check(name, TRUTHS[name], lists, "bool")
    end)
  end

  it("mod: the sign of the divisor, as Lua's %", function()
    local lists = pairs_of { 1.0, -1.0, 0.5, 3.0, -7.0, 7.5, 20.0, 0.75 }
    for _, dtype in ipairs { "f64", "f32" } do
      check("mod", function(x, y) return x % y end, lists, dtype)
    end
  end)

  it("floordiv and mod of integers, where division by 0 gives 0", function()
    local lists = pairs_of { 0, 1, -1, 2, 7, -7, 100, -2147483648, 2147483647 }
    check("floordiv", function(x, y)
      local q = y == 0 and 0 or x // y
      return q == 2147483648 and -2147483648 or q      -- the one quotient that wraps
    end, lists, "i32")
    check("mod", function(x, y) return y == 0 and 0 or x % y end, lists, "i32")
  end)

  it("add, sub, mul and neg of integers, which wrap", function()
    local lists = pairs_of { 0, 1, -1, 65536, -65537, 2147483647, -2147483648 }
    local function wrapped(f)
      return function(x, y) return (f(x, y) + 2 ^ 31 | 0) % 2 ^ 32 - 2 ^ 31 end
    end
    check("add", wrapped(function(x, y) return x + y end), lists, "i32")
    check("sub", wrapped(function(x, y) return x - y end), lists, "i32")
    check("mul", function(x, y)
      return string.unpack("<i4", string.pack("<i8", x * y):sub(1, 4)) // 1
    end, lists, "i32")
    check("neg", wrapped(function(x) return -x end), { lists[1] }, "i32")
  end)

  it("where: the second where the first is true, else the third", function()
    local out = core.apply("where", { core.tensor { true, false }, core.tensor { 1.0, 2.0 },
      core.tensor { NAN, 4.0 } })
    assert.are.same({ 1, 4 }, out:tolist())
  end)

  it("sum: of one element that element, -0 too, and of none 0", function()
    local function inverse(t) return (1 / t):tolist() end
    local minus = sgl.full({ 1, 40 }, -0.0)
    assert.are.equal(-math.huge, inverse(minus:sum()))
    assert.are.same({ -math.huge }, inverse(minus:sum(2)))
    assert.are.equal(-math.huge, inverse(minus:sum(1))[1])
    assert.are.equal(math.huge, inverse(sgl.tensor { -0.0, 0.0 }:sum()))
    assert.are.equal(math.huge, inverse(sgl.zeros(0):sum()))
    assert.are.equal(math.huge, inverse(sgl.zeros(0, 3):sum(1))[1])
  end)

  it("sum: dims of size 1 have no say in the order of additions", function()
    local x = sgl.randn(1000)
    local wide = x:reshape(1, 1000, 1)
    for _, axes in ipairs { { 2 }, { 1, 2 }, { 2, 3 }, { 1, 2, 3 } } do
      assert.are.equal(x:sum():item(), wide:sum(axes):item())
    end
  end)
end)
