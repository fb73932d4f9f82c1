-- elementwise.lua: the op table's methods as functions of sgl, and what is put together from
-- them element by element.
--
-- In:    core.ops(): every elementwise row is a method already; here it becomes sgl.name too.
-- Out:   registry rows for the docs; maximum, minimum, clamp, activations, comparisons of whole
--        tensors.
-- Holds: a new row of the op table appears here by itself. Activations that consist of several
--        primitives are composites, so that graphs and exporters see their names.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"
local wide = require "sgl.tensor.wide".composite

local Tensor = core.Tensor

local T = { "t", "tensor" }
local ELEMENTWISE = { unary = 1, test = 1, binary = 2, compare = 2, select = 3 }
-- Under these names users expect the reductions; the elementwise ops are maximum and minimum.
local RENAMED = { max = "maximum", min = "minimum" }
local OPERANDS = {
  { T },
  { { "t", "tensor|number" }, { "other", "tensor|number|boolean", "of a shape that broadcasts" } },
  { { "cond", "tensor", "bool" }, { "a", "tensor|number|boolean", "where cond is true" },
    { "b", "tensor|number|boolean", "where it is false" } },
}

-- The dtype a number takes beside a tensor of `dtype`.
local function weak(x, dtype)
  if type(x) == "boolean" or dtype:find "f" then return dtype end
  if core.number_type(x) == "float" then return "f32" end
  return dtype == "bool" and "i32" or dtype
end

-- Rows that are wrapped below, with options.
local WRAPPED = { softplus = true }

for _, op in ipairs(core.ops()) do
  local count = ELEMENTWISE[op.family]
  if count and not WRAPPED[op.name] then
    local name, method = RENAMED[op.name] or op.name, Tensor[op.name]
    api.tensor(name, {
      doc = op.doc, args = OPERANDS[count], returns = "tensor", op = op.name,
      errors = count > 1 and "shapes that do not broadcast" or nil,
    }, method)
    -- The checks of the C method suffice for a method call, which is the hot path.
    Tensor[name] = method
  end
end

local function float(t)
  return t.dtype:find "f" and t or t:to("f32")
end

-- A function of one tensor recorded under its name.
local function composite(name, doc, fn, opts)
  api.tensor(name, { doc = doc, args = { T }, opts = opts, returns = "tensor" },
    function(t, o) return wide(name, { float(t) }, 1, function(x) return fn(x, o) end) end)
end

-- t moved to a bound. No gradient flows where a number binds, at the bound itself neither; equal
-- elements of a tensor of bounds share it.
local function bounded(t, bound, move, free)
  local moved = t[move](t, bound)
  if core.is_tensor(bound) and not core.weak(bound) then return moved end
  return t[free](t, bound):where(t:type_as(moved), moved:detach())
end

api.tensor("clamp", {
  doc = "Values below low raised to it, values above high lowered to it; NaN stays. At a bound "
    .. "that is a number the gradient is 0.",
  args = { T, { "low", "number|tensor?", "default: no bound" },
           { "high", "number|tensor?", "default: no bound" } }, returns = "tensor",
}, function(t, low, high)
  if low ~= nil then t = bounded(t, low, "maximum", "gt") end
  return high ~= nil and bounded(t, high, "minimum", "lt") or t
end)
api.alias("clamp", "clip")

api.tensor("fmod", {
  doc = "The remainder of t / other with the sign of t, as C has it; mod (%) has that of other.",
  args = { T, { "other", "number|tensor", "of a shape that broadcasts" } }, returns = "tensor",
  errors = "shapes that do not broadcast",
}, function(t, other)
  if not core.is_tensor(other) then other = core.full({}, other, weak(other, t.dtype)) end
  local below = t:lt(0)
  -- Of two positive numbers both remainders are the same. Signs turn by `where` and not by abs,
  -- so that the derivative is 1 at zero too.
  local rest = below:where(-t, t) % other:lt(0):where(-other, other)
  return below:where(-rest, rest)
end)

api.tensor("square", { doc = "x * x.", args = { T }, returns = "tensor" },
  function(t) return t * t end)
api.tensor("reciprocal", { doc = "1 / x.", args = { T }, returns = "tensor" },
  function(t) return 1 / t end)
api.tensor("trunc", { doc = "The part before the point.", args = { T }, returns = "tensor" },
  function(t) return t:lt(0):where(t:ceil(), t:floor()) end)
api.tensor("frac", { doc = "x - trunc(x).", args = { T }, returns = "tensor" },
  function(t) return t - t:trunc() end)
composite("log10", "Logarithm to base 10.", function(x) return x:log() / math.log(10) end)
api.tensor("nan_to_num", {
  doc = "NaN replaced by a value.", args = { T, { "value", "number?", "default 0", input = true } },
  returns = "tensor",
}, function(t, value) return t:isnan():where(value or 0, t) end)
api.tensor("lerp", {
  doc = "t + weight * (other - t).",
  args = { T, { "other", "tensor", "where weight is 1" },
           { "weight", "number|tensor", "0 gives t, 1 gives other" } }, returns = "tensor",
}, function(t, other, weight)
  local number = core.number_type(weight) and not core.weak(weight)
  return wide("lerp", { t, other, not number and weight or nil }, 3, function(a, b, share)
    share = share or weight
    local near = a + share * (b - a)
    -- From the other end, so that 1 gives `other` to the bit.
    local far = b - (b - a) * (1 - share)
    if number then return math.abs(share) < 0.5 and near or far end
    return share:abs():lt(0.5):where(near, far)
  end)
end)

composite("silu", "x * sigmoid(x).", function(x) return x * x:sigmoid() end)

local SQRT_HALF, SQRT_2_OVER_PI = math.sqrt(0.5), math.sqrt(2 / math.pi)

composite("gelu", "x times the normal distribution function of x.", function(x, o)
  if o.approximate == "tanh" then
    local inner = (x + x * x * x * 0.044715) * SQRT_2_OVER_PI
    return x * 0.5 * (inner:tanh() + 1)
  end
  return x * 0.5 * ((x * SQRT_HALF):erf() + 1)
end, { { "approximate", "string", "none", "none: exact by erf; tanh: the older approximation",
         among = { "none", "tanh" } } })

local softplus = Tensor.softplus

composite("softplus", "log(1 + exp(beta * x)) / beta.", function(x, o)
  if o.beta == 1 then return softplus(x) end
  return softplus(x * o.beta) / o.beta
end, { { "beta", "number", 1, "sharpness" } })
composite("logsigmoid", "log(sigmoid(x)), finite for every finite x.",
  function(x) return -softplus(-x) end)
composite("mish", "x * tanh(softplus(x)).", function(x) return x * softplus(x):tanh() end)
-- x between two numbers; no gradient flows at or beyond them.
local function kept(x, low, high)
  return (x:le(low) | x:ge(high)):where(x:maximum(low):minimum(high):detach(), x)
end

composite("hardtanh", "x kept between low and high.",
  function(x, o) return kept(x, o.low, o.high) end,
  { { "low", "number", -1, "the least", input = true },
    { "high", "number", 1, "the largest", input = true } })
composite("relu6", "x kept between 0 and 6.", function(x) return kept(x, 0, 6) end)
composite("leaky_relu", "x, or slope * x below 0.",
  function(x, o) return x:gt(0):where(x, x * o.slope) end,
  { { "slope", "number", 0.01, "factor below 0", input = true } })
-- The exponential is taken of 0 where x is positive: the side that `where` drops cannot overflow.
composite("elu", "x, or alpha * (exp(x) - 1) below 0.",
  function(x, o)
    local below = x:le(0)
    return below:where(below:where(x, 0):expm1() * o.alpha, x)
  end,
  { { "alpha", "number", 1, "how far below 0 it goes", input = true } })
composite("softsign", "x / (1 + |x|).", function(x) return x / (x:abs() + 1) end)

-- |a - b| <= atol + rtol * |b| for each element, equal infinities being close.
local function close(a, b, o)
  a, b = float(a), float(b)
  local near = (a - b):abs():le(b:abs() * o.rtol + o.atol):logical_and(b:isfinite())
  local same = near:logical_or(a:eq(b))
  return o.equal_nan and same:logical_or(a:isnan():logical_and(b:isnan())) or same
end

local TOLERANCE = {
  { "rtol", "number", 1e-5, "share of |other| allowed", input = true },
  { "atol", "number", 1e-8, "difference allowed", input = true },
  { "equal_nan", "boolean", false, "NaN equals NaN" },
}

api.tensor("isclose", {
  doc = "True where |t - other| <= atol + rtol * |other|.",
  args = { T, { "other", "tensor", "what is expected" } }, opts = TOLERANCE,
  returns = "tensor, bool",
}, close)

api.tensor("allclose", {
  doc = "Whether all elements are close (a Lua boolean). Not inside sgl.compile.",
  args = { T, { "other", "tensor", "what is expected" } }, opts = TOLERANCE, returns = "boolean",
}, function(t, other, o) return close(t, other, o):all():item() end)

api.tensor("equal", {
  doc = "Whether shapes and all elements are equal (a Lua boolean). Not inside sgl.compile.",
  args = { T, { "other", "tensor", "of any shape" } }, returns = "boolean",
}, function(t, other)
  return dims.shape_text(t.shape) == dims.shape_text(other.shape) and t:eq(other):all():item()
end)

api.tensor("numel", { doc = "Number of elements.", args = { T }, returns = "integer" },
  function(t) return dims.count(t.shape) end)
api.tensor("dim", { doc = "Number of dims.", args = { T }, returns = "integer" },
  function(t) return t.ndim end)
api.tensor("size", {
  doc = "The sizes as a list, or one of them.", args = { T, { "dim", "integer?", "default: all" } },
  returns = "list or integer",
}, function(t, dim) return dim and t.shape[dims.axis("size", t, dim)] or t.shape end)
api.tensor("is_floating_point", {
  doc = "Whether the dtype is a float.", args = { T }, returns = "boolean",
}, function(t) return t.dtype:find "f" ~= nil end)

api.tensor("backward", {
  doc = "Not there: gradients are values here (see sgl.grad).", args = { { "t", "any" } },
}, function()
  core.raise("SGL_EUNSUP", "backward: tensors carry no gradients",
    "use local grads = sgl.grad(loss, params), a list in the order of params")
end)

return { float = float }
