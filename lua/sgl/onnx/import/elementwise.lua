-- onnx/import/elementwise.lua: operators that work element by element.
--
-- One row each: what the operator is on tensors, and, where models compute sizes with it, on
-- numbers.
local api = require "sgl.api"
local core = require "sgl.core"
local known = require "sgl.onnx.known"
local ops = require "sgl.onnx.ops"
local values = require "sgl.onnx.values"

local op = ops.op
local each = known.each

local ONE, TWO, THREE, SOME = { 1, 1 }, { 2, 2 }, { 3, 3 }, { 1, 1 << 20 }

local function is_float(x) return x.dtype:find "f" ~= nil end

-- Computed in f32 where x is of halves, and rounded once.
local function wide(x, fn)
  if x.dtype ~= "f16" and x.dtype ~= "bf16" then return fn(x) end
  return fn(x:to "f32"):to(x.dtype)
end

local function unary(name, fn, number)
  op(name, { inputs = ONE, known = number and each(number) }, function(_, _, x) return fn(x) end)
end

local function method(name) return function(x) return x[name](x) end end

-- Those of them that sizes are computed with.
local NUMBERS = { neg = function(x) return -x end, abs = math.abs }

for onnx, name in pairs {
  Abs = "abs", Neg = "neg", Sign = "sign", Exp = "exp", Log = "log", Sin = "sin", Cos = "cos",
  Tan = "tan", Asin = "asin", Acos = "acos", Atan = "atan", Sinh = "sinh", Cosh = "cosh",
  Tanh = "tanh", Erf = "erf", Sigmoid = "sigmoid", Relu = "relu", Softplus = "softplus",
  Softsign = "softsign", Mish = "mish", Round = "round", IsNaN = "isnan",
} do
  unary(onnx, method(name), NUMBERS[name])
end

unary("Identity", function(x) return x end, function(x) return x end)
unary("Floor", method "floor", function(x) return math.floor(x) + 0.0 end)
unary("Ceil", method "ceil", function(x) return math.ceil(x) + 0.0 end)
unary("Sqrt", method "sqrt", math.sqrt)
unary("Reciprocal", function(x) return 1 / x end, function(x) return 1 / x end)
unary("Not", method "logical_not", function(x) return not x end)
unary("Asinh", function(x) return wide(x, function(v)
  local size = v:abs()
  return (size + (size * size + 1):sqrt()):log() * v:sign()
end) end)
unary("Acosh", function(x) return wide(x, function(v)
  return (v + (v * v - 1):sqrt()):log()
end) end)
unary("Atanh", function(x) return wide(x, function(v)
  return ((1 + v) / (1 - v)):log() * 0.5
end) end)
unary("HardSwish", function(x) return x * ((x + 3) / 6):clamp(0, 1) end)

op("IsInf", { inputs = ONE, attrs = "detect_negative detect_positive" }, function(_, a, x)
  local found = x:isinf()
  if a.detect_negative == 0 then found = found:logical_and(x:gt(0)) end
  if a.detect_positive == 0 then found = found:logical_and(x:lt(0)) end
  return found
end)

-- An activation with numbers as attributes, each with its default.
local function shaped(name, attrs, fn)
  local words = {}
  for _, row in ipairs(attrs) do words[#words + 1] = row[1] end
  op(name, { inputs = ONE, attrs = table.concat(words, " ") }, function(_, a, x)
    local list = {}
    for i, row in ipairs(attrs) do list[i] = a[row[1]] == nil and row[2] or a[row[1]] end
    return wide(x, function(v) return fn(v, table.unpack(list)) end)
  end)
end

-- What is below 0 by `fn`, x elsewhere; the exponential of what is not taken cannot overflow.
local function below(x, fn) return x:gt(0):where(x, fn(x:minimum(0))) end

shaped("LeakyRelu", { { "alpha", 0.01 } }, function(x, slope)
  return x:ge(0):where(x, x * slope)
end)
shaped("Elu", { { "alpha", 1.0 } }, function(x, alpha)
  return below(x, function(v) return v:expm1() * alpha end)
end)
shaped("Selu", { { "alpha", 1.67326319217681884765625 }, { "gamma", 1.05070102214813232421875 } },
  function(x, alpha, gamma)
    return below(x, function(v) return v:expm1() * alpha end) * gamma
  end)
shaped("Celu", { { "alpha", 1.0 } }, function(x, alpha)
  return below(x, function(v) return (v / alpha):expm1() * alpha end)
end)
shaped("HardSigmoid", { { "alpha", 0.2 }, { "beta", 0.5 } }, function(x, alpha, beta)
  return (x * alpha + beta):clamp(0, 1)
end)
shaped("ThresholdedRelu", { { "alpha", 1.0 } }, function(x, alpha)
  return x:gt(alpha):where(x, 0)
end)
shaped("Shrink", { { "bias", 0.0 }, { "lambd", 0.5 } }, function(x, bias, lambd)
  return x:lt(-lambd):where(x + bias, x:gt(lambd):where(x - bias, 0))
end)
shaped("Swish", { { "alpha", 1.0 } }, function(x, alpha) return x * (x * alpha):sigmoid() end)

op("Gelu", { since = 20, inputs = ONE, attrs = "approximate" }, function(_, a, x)
  return x:gelu { approximate = a.approximate == "tanh" and "tanh" or "none" }
end)

op("PRelu", { inputs = TWO }, function(_, _, x, slope) return x:lt(0):where(x * slope, x) end)

-- ---- two operands

local function binary(name, fn, number, dtype)
  op(name, { inputs = TWO, known = number and each(number, dtype) },
    function(_, _, x, y) return fn(x, y) end)
end

-- Integers are divided towards zero.
local function truncated(x, y)
  local quotient = x:floordiv(y)
  local off = (x % y):ne(0):logical_and(x:lt(0):logical_xor(y:lt(0)))
  return quotient + off:to(x.dtype)
end

local function divide_numbers(x, y)
  if core.is_dim(x) or core.is_dim(y) then return x // y end
  if math.type(x) ~= "integer" then return x / y end
  if y == 0 then return nil end
  local quotient = x // y
  return (x % y ~= 0 and (x < 0) ~= (y < 0)) and quotient + 1 or quotient
end

binary("Add", function(x, y) return x + y end, function(x, y) return x + y end)
binary("Sub", function(x, y) return x - y end, function(x, y) return x - y end)
binary("Mul", function(x, y) return x * y end, function(x, y) return x * y end)
binary("Div", function(x, y) return is_float(x) and x / y or truncated(x, y) end, divide_numbers)
binary("And", function(x, y) return x:logical_and(y) end, function(x, y) return x and y end)
binary("Or", function(x, y) return x:logical_or(y) end, function(x, y) return x or y end)
binary("Xor", function(x, y) return x:logical_xor(y) end, function(x, y) return x ~= y end)

for name, row in pairs {
  Equal = { "eq", function(x, y) return x == y end },
  Less = { "lt", function(x, y) return x < y end },
  LessOrEqual = { "le", function(x, y) return x <= y end },
  Greater = { "gt", function(x, y) return x > y end },
  GreaterOrEqual = { "ge", function(x, y) return x >= y end },
} do
  binary(name, function(x, y) return x[row[1]](x, y) end, row[2], "bool")
end

-- The exponent may be of another dtype; the result has that of the base.
op("Pow", { inputs = TWO, known = function(c, a, x, y)
  if x.dtype ~= y.dtype then return nil end
  return each(function(p, q)
    if math.type(p) == "integer" then return math.tointeger(p ^ q) end
    return p ^ q
  end, x.dtype)(c, a, x, y)
end, raw = true }, function(c, _, x, y)
  x = c:tensor(x)
  if known.is(y) and y:count() == 1 and #y.shape <= x.ndim and is_float(x) then
    local p = y:list()[1]
    if p == 2 then return x * x elseif p == 1 then return x elseif p == 0.5 then return x:sqrt() end
  end
  y = c:tensor(y)
  local dtype = x.dtype
  if dtype == y.dtype and is_float(x) then return x ^ y end
  return (x:to "f64" ^ y:to "f64"):to(dtype)
end)

op("Mod", { since = 10, inputs = TWO, attrs = "fmod", known = function(c, a, x, y)
  if a.fmod == 1 then return nil end
  return each(function(p, q) if q ~= 0 then return p % q end end)(c, a, x, y)
end }, function(_, a, x, y)
  if a.fmod == 1 then return x:fmod(y) end
  return x % y
end)

-- ---- any number of operands

local function folded(name, fn, number)
  local pair = number and each(number)
  op(name, { inputs = SOME, known = pair and function(c, a, x, ...)
    for i = 1, select("#", ...) do x = pair(c, a, x, (select(i, ...))) end
    return x
  end }, function(_, _, x, ...)
    for i = 1, select("#", ...) do x = fn(x, (select(i, ...))) end
    return x
  end)
end

folded("Max", function(x, y) return x:maximum(y) end,
  function(x, y) return x ~= x and x or y ~= y and y or x < y and y or x end)
folded("Min", function(x, y) return x:minimum(y) end,
  function(x, y) return x ~= x and x or y ~= y and y or y < x and y or x end)
folded("Sum", function(x, y) return x + y end)
op("Mean", { inputs = SOME }, function(_, _, ...)
  local total, n = ..., select("#", ...)
  for i = 2, n do total = total + (select(i, ...)) end
  return total / n
end)

local function choose(p, x, y) if p then return x end return y end
op("Where", { since = 9, inputs = THREE, known = each(choose) },
  function(_, _, p, x, y) return p:where(x, y) end)

-- First the lower bound, then the upper one, so that the upper one wins.
op("Clip", { inputs = { 1, 3 }, attrs = "min max" }, function(c, a, x, low, high)
  if c.opset < 11 then
    low, high = a.min, a.max
    if low == nil and high == nil then return x end
  end
  if low ~= nil then x = x:maximum(low) end
  return high ~= nil and x:minimum(high) or x
end)

-- ---- dtypes

local function cast_to(c, number)
  local dtype, other = values.dtype(number)
  if not dtype or values.number(dtype) ~= number then
    c:refuse(("a cast to %s"):format(other or "a dtype of another width"))
  end
  return dtype
end

op("Cast", { inputs = ONE, attrs = "to saturate round_mode", known = function(c, a, x)
  return known.cast(x, cast_to(c, a.to))
end }, function(c, a, x) return x:to(cast_to(c, a.to)) end)

op("CastLike", { since = 15, inputs = TWO, attrs = "saturate round_mode" },
  function(_, _, x, y) return x:to(y.dtype) end)

op("Dropout", { inputs = { 1, 3 }, attrs = "ratio seed", raw = true },
  function(c, _, x, ratio, training)
    local share = ratio and c:single(ratio, "ratio") or 0.5
    if training and share ~= 0 and c:single(training, "mode of training") then
      c:refuse("it draws random numbers in training", "export the model for evaluation")
    end
    x = c:tensor(x)
    return x, api.root.full(x.shape, true, { dtype = "bool" })
  end)
