-- reduce.lua: many elements made one: sums, extremes, statistics, softmax and its kin.
--
-- In:    a tensor, dims (nil: all; a number; a list), options { keepdim }.
-- Out:   lazy tensors without the reduced dims, or with size 1 there.
-- Holds: softmax, log_softmax and logsumexp never overflow for finite input. They shift by the
--        maximum, detached: a shift cannot change the result, so it needs no gradient.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"
local float = require "sgl.tensor.elementwise".float
local reshape = require "sgl.tensor.movement".reshape
local gather = require "sgl.tensor.gather".gather
local wide = require "sgl.tensor.wide".composite

local apply, raise = core.apply, core.raise

local T = { "t", "tensor" }
local DIMS = { "dims", "integer|table?", "default: all" }
local ONE = { "dim", "integer", "counts from 1, or from the end if negative" }
local KEEP = { "keepdim", "boolean", false, "keep the reduced dims with size 1" }

-- first: of equal extremes the first has the gradient.
local function reduce(op, t, axes, keep, first)
  local result = #axes > 0 and apply(op, t, { dims = axes, first = first }) or t
  return keep and reshape(result, dims.reduced(t.shape, axes, true)) or result
end

-- bool and u8 add up as i32, also where there is nothing to add.
local function summed(op, t, axes, keep)
  if t.dtype == "bool" or t.dtype == "u8" then t = t:to("i32") end
  return reduce(op, t, axes, keep)
end

for _, row in ipairs { { "sum", "Sum" }, { "prod", "Product" } } do
  local name, doc = row[1], row[2]
  api.tensor(name, {
    doc = doc .. " over dims. bool and u8 count as i32.", args = { T, DIMS }, opts = { KEEP },
    returns = "tensor",
  }, function(t, list, o) return summed(name, t, dims.axes(name, t, list), o.keepdim) end)
end

-- There is no largest of nothing.
local function need_elements(op, t, axes)
  local shape = t.shape
  for _, axis in ipairs(axes) do
    if shape[axis] == 0 then
      raise("SGL_ESHAPE", ("%s: dim %s of %s is empty"):format(op, axis, dims.text(t)))
    end
  end
end

local function extreme(op, name, t, axes, keep, first)
  need_elements(name, t, axes)
  return reduce(op, t, axes, keep, first)
end

for _, row in ipairs {
  { "amax", "reduce_max", "largest" }, { "amin", "reduce_min", "smallest" },
} do
  local name, op = row[1], row[2]
  api.tensor(name, {
    doc = ("The %s over dims; NaN wins."):format(row[3]),
    args = { T, DIMS }, opts = { KEEP }, returns = "tensor", errors = "an empty dim",
  }, function(t, list, o) return extreme(op, name, t, dims.axes(name, t, list), o.keepdim) end)
end

local function position_of(name, t, dim, keep)
  local axis = dim and dims.axis(name, t, dim)
  if not axis then
    if t.ndim ~= 1 then t = t:flatten() end
    axis = 1
  end
  need_elements(name, t, { axis })
  return reduce(name, t, { axis }, keep and dim)
end

for _, row in ipairs { { "argmax", "largest" }, { "argmin", "smallest" } } do
  local name = row[1]
  api.tensor(name, {
    doc = ("Index, from 0, of the %s along a dim, or in the flattened tensor."):format(row[2]),
    args = { T, { "dim", "integer?", "default: all" } },
    opts = { KEEP }, returns = "tensor, i32",
    errors = "an empty dim",
  }, function(t, dim, o) return position_of(name, t, dim, o.keepdim) end)
end

for _, row in ipairs {
  { "max", "reduce_max", "argmax", "largest", "maximum" },
  { "min", "reduce_min", "argmin", "smallest", "minimum" },
} do
  local name, value, index, word, other = table.unpack(row)
  api.tensor(name, {
    doc = ("The %s of all elements; with a dim, the %s along it and their indices from 0: of "
      .. "equals the first. Element by element it is %s."):format(word, word, other),
    args = { T, { "dim", "integer?", "default: all" } },
    opts = { KEEP }, returns = "tensor, or values, indices",
    errors = "an empty dim",
  }, function(t, dim, o)
    if not dim then return extreme(value, name, t, dims.axes(name, t), o.keepdim) end
    local axis = dims.axis(name, t, dim)
    return extreme(value, name, t, { axis }, o.keepdim, true),
      position_of(index, t, axis, o.keepdim)
  end)
end

api.tensor("any", {
  doc = "Whether any element is not 0.", args = { T, DIMS }, opts = { KEEP },
  returns = "tensor, bool",
}, function(t, list, o)
  return summed("sum", t:to("bool"), dims.axes("any", t, list), o.keepdim):gt(0)
end)

api.tensor("all", {
  doc = "Whether no element is 0.", args = { T, DIMS }, opts = { KEEP },
  returns = "tensor, bool",
}, function(t, list, o)
  return summed("sum", t:eq(0), dims.axes("all", t, list), o.keepdim):eq(0)
end)

api.tensor("count_nonzero", {
  doc = "How many elements are not 0.", args = { T, DIMS }, returns = "tensor, i32",
}, function(t, list)
  return summed("sum", t:to("bool"), dims.axes("count_nonzero", t, list), false)
end)

local function size_of(t, axes)
  local shape, n = t.shape, 1
  for _, axis in ipairs(axes) do n = n * shape[axis] end
  return n
end

local function mean(t, axes, keep)
  return reduce("sum", t, axes, keep) / size_of(t, axes)
end

-- Registers a statistic over dims as a composite.
local function statistic(name, doc, opts, fn)
  opts[#opts + 1] = KEEP
  api.tensor(name, { doc = doc, args = { T, DIMS }, opts = opts, returns = "tensor" },
    function(t, list, o)
      local axes = dims.axes(name, t, list)
      return wide(name, { float(t) }, 1, function(x) return fn(x, axes, o) end)
    end)
end

statistic("mean", "Mean over dims; integers give f32.", {},
  function(t, axes, o) return mean(t, axes, o.keepdim) end)

local CORRECTION = { "correction", "number", 1, "taken off the number of elements" }

local function variance(t, axes, o)
  local off = t - mean(t, axes, true)
  return reduce("sum", off * off, axes, o.keepdim) / dims.larger(0, size_of(t, axes) - o.correction)
end

-- The square root with gradient 0 at 0 (where it is infinite).
local function safe_sqrt(t)
  local zero = t:eq(0)
  return zero:where(0, zero:where(1, t):sqrt())
end

statistic("var", "Variance over dims, unbiased unless correction is 0.", { CORRECTION }, variance)
statistic("std", "Standard deviation over dims, unbiased unless correction is 0.",
  { CORRECTION }, function(t, axes, o) return safe_sqrt(variance(t, axes, o)) end)

local function power_root(total, p)
  local zero = total:eq(0)
  return zero:where(total:detach() ^ (1 / p), zero:where(1, total) ^ (1 / p))
end

-- (Σ a^p)^(1/p) of a >= 0. Zeros get no gradient where it is infinite, a norm of 0 none at all.
local function power_norm(a, p, axes, keep)
  if p < 1 then
    local zero = a:eq(0)
    local power = zero:where(a:detach() ^ p, zero:where(1, a) ^ p)
    return power_root(reduce("sum", power, axes, keep), p)
  end
  return power_root(reduce("sum", a ^ p, axes, keep), p)
end

api.tensor("norm", {
  doc = "The p-norm over dims: 1, 2, any number, math.huge for the largest, 0 for the count.",
  args = { T, { "p", "number?", "default 2" }, DIMS }, opts = { KEEP }, returns = "tensor",
}, function(t, p, list, o)
  local axes, keep = dims.axes("norm", t, list), o.keepdim
  p = p or 2
  return wide("norm", { float(t) }, 1, function(x)
    if p == 2 then return safe_sqrt(reduce("sum", x * x, axes, keep)) end
    if p == math.huge then return extreme("reduce_max", "norm", x:abs(), axes, keep) end
    if p == -math.huge then return extreme("reduce_min", "norm", x:abs(), axes, keep) end
    if p == 0 then return reduce("sum", x:ne(0):to(x.dtype), axes, keep) end
    if p == 1 then return reduce("sum", x:abs(), axes, keep) end
    return power_norm(x:abs(), p, axes, keep)
  end)
end)

-- The shift of softmax, with size 1 in the reduced dims. The sum of exp(x - shift) is then from 1
-- to n.
local function shift(t, axes)
  return reduce("reduce_max", t, axes, true):detach()
end

api.tensor("logsumexp", {
  doc = "log(sum(exp(x))) over dims without overflow; -inf where all are -inf.",
  args = { T, DIMS }, opts = { KEEP }, returns = "tensor",
}, function(t, list, o)
  local axes = dims.axes("logsumexp", t, list)
  if size_of(t, axes) == 0 then
    return core.full(dims.reduced(t.shape, axes, o.keepdim), -math.huge, float(t).dtype)
  end
  return wide("logsumexp", { float(t) }, 1, function(x)
    local m = shift(x, axes)
    m = m:isfinite():where(m, 0)
    local total = reduce("sum", (x - m):exp(), axes, o.keepdim)
    local none = total:eq(0)
    local log = none:where(-math.huge, none:where(1, total):log())
    return log + (o.keepdim and m or reshape(m, dims.reduced(x.shape, axes)))
  end)
end)

api.tensor("softmax", {
  doc = "exp(x) / sum(exp(x)) along a dim.", args = { T, ONE }, returns = "tensor",
}, function(t, dim)
  local axes = dims.axes("softmax", t, dim)
  if dims.count(t.shape) == 0 then return float(t) end
  return wide("softmax", { float(t) }, 1, function(x)
    local e = (x - shift(x, axes)):exp()
    return e / reduce("sum", e, axes, true)
  end)
end)

api.tensor("log_softmax", {
  doc = "log(softmax(x)) along a dim, accurate for small probabilities.", args = { T, ONE },
  returns = "tensor",
}, function(t, dim)
  local axes = dims.axes("log_softmax", t, dim)
  if dims.count(t.shape) == 0 then return float(t) end
  return wide("log_softmax", { float(t) }, 1, function(x)
    local off = x - shift(x, axes)
    return off - reduce("sum", off:exp(), axes, true):log()
  end)
end)

api.tensor("median", {
  doc = "The lower median of all elements, or along a dim with its indices from 0; NaN where there "
    .. "is one.",
  args = { T, { "dim", "integer?", "default: all" } }, opts = { KEEP },
  returns = "tensor, or values, indices",
  errors = "an empty dim",
}, function(t, dim, o)
  local from = dim and t or t:flatten()
  local axis = dims.axis("median", from, dim or 1)
  need_elements("median", from, { axis })
  local order = apply("argsort", from, { dim = axis, descending = false })
  local at = order:narrow(axis, (from.shape[axis] + 1) // 2, 1)
  if from.dtype:find "f" then
    -- NaN is the largest to argmax, so that is the first one, where there is one.
    local largest = reduce("argmax", from, { axis }, true)
    at = gather("median", from, axis, largest):isnan():where(largest, at)
  end
  local value = gather("median", from, axis, at)
  if not dim then return value:squeeze(1) end
  if o.keepdim then return value, at end
  return value:squeeze(axis), at:squeeze(axis)
end)

return { reduce = reduce }
