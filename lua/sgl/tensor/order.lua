-- order.lua: sorting and running results along a dim.
--
-- In:    a tensor and a dim (default: the last).
-- Out:   lazy tensors; indices are i32 from 0.
-- Holds: sorting is stable and takes NaN for the largest. Running products and extremes are made by
--        doubling: step s joins each element with the one 2^s before it, log2(n) steps in all.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"
local gather = require "sgl.tensor.gather".gather
local narrow = require "sgl.tensor.movement".narrow
local wide = require "sgl.tensor.wide".composite

local apply, raise = core.apply, core.raise

local T = { "t", "tensor" }
local DIM = { "dim", "integer?", "default -1" }
local DESCENDING = { { "descending", "boolean", false, "largest first" } }

local function argsort(op, t, dim, descending)
  local axis = dims.axis(op, t, dim or -1)
  return apply("argsort", t, { dim = axis, descending = descending }), axis
end

api.tensor("argsort", {
  doc = "Indices, from 0, that sort along a dim.", args = { T, DIM }, opts = DESCENDING,
  returns = "tensor, i32",
}, function(t, dim, o) return (argsort("argsort", t, dim, o.descending)) end)

api.tensor("sort", {
  doc = "Values in order along a dim, and their indices from 0.", args = { T, DIM },
  opts = DESCENDING, returns = "values, indices",
}, function(t, dim, o)
  local order, axis = argsort("sort", t, dim, o.descending)
  return gather("sort", t, axis, order), order
end)

api.tensor("topk", {
  doc = "The k largest along a dim, in order, and their indices from 0.",
  args = { T, { "k", "integer", "how many" }, DIM },
  opts = { { "largest", "boolean", true, "false: the smallest" } }, returns = "values, indices",
  errors = "k above the size of the dim",
}, function(t, k, dim, o)
  local order, axis = argsort("topk", t, dim, o.largest)
  if k < 0 or k > t.shape[axis] then
    raise("SGL_EARG", ("topk: k must be from 0 to %s, the size of dim %s of %s, got %s"):format(
      t.shape[axis], dim or -1, dims.text(t), k))
  end
  local top = narrow(order, axis, 1, k)
  return gather("topk", t, axis, top), top
end)

-- The element of each row behind `before` others: a number, or one of the step where a size is
-- symbolic.
local function element(t, axis, before)
  if not core.weak(before) then
    local at = core.is_dim(before) and before or math.tointeger(before)
    return narrow(t, axis, at + 1, at + 1)
  end
  local shape = t.shape
  shape[axis] = 1
  return gather("quantile", t, axis, core.full(shape, before, "i32"))
end

api.tensor("quantile", {
  doc = "The value below which a share q of the elements lies, between two elements on the line "
    .. "that joins them; NaN where there is one.",
  args = { T, { "q", "number", "in [0, 1]" }, { "dim", "integer?", "default: all" } },
  opts = { { "keepdim", "boolean", false, "keep the reduced dim with size 1" } },
  returns = "tensor", errors = "a share outside [0, 1], an empty dim",
}, function(t, q, dim, o)
  if not (q >= 0 and q <= 1) then
    raise("SGL_EARG", ("quantile: q must be in [0, 1], got %s"):format(q))
  end
  local from = dim and t or t:flatten()
  local axis = dims.axis("quantile", from, dim or 1)
  local n = from.shape[axis]
  if n == 0 then
    raise("SGL_ESHAPE", ("quantile: dim %s of %s has no elements"):format(axis, dims.text(from)))
  end
  if not from.dtype:find "f" then from = from:to("f32") end
  return wide("quantile", { from }, 1, function(x)
    local sorted = gather("quantile", x, axis, (argsort("quantile", x, axis)))
    local at = q * (n - 1)
    local low, high = at // 1, -(-at // 1)
    local share = at - low
    local below, above = element(sorted, axis, low), element(sorted, axis, high)
    -- Equal infinities have no line between them. NaN is sorted last.
    local value = below:eq(above):where(below, below * (1 - share) + above * share)
    local last = narrow(sorted, axis, n, n)
    value = last:isnan():where(last, value)
    return o.keepdim and dim and value or value:squeeze(axis)
  end)
end)

api.tensor("cumsum", {
  doc = "Running sum along a dim.",
  args = { T, { "dim", "integer", "counts from 1, or from the end if negative" } },
  opts = { { "reverse", "boolean", false, "from the last element to the first" } },
  returns = "tensor",
}, function(t, dim, o)
  local axis = dims.axis("cumsum", t, dim)
  if t.dtype == "bool" or t.dtype == "u8" then t = t:to("i32") end
  return apply("cumsum", t, { dim = axis, reverse = o.reverse })
end)

api.tensor("diff", {
  doc = "Each element less the one before it, along a dim.", args = { T, DIM },
  returns = "tensor, one shorter", errors = "an empty dim",
}, function(t, dim)
  local axis = dims.axis("diff", t, dim or -1)
  local n = t.shape[axis]
  if n == 0 then
    raise("SGL_ESHAPE", ("diff: dim %s of %s is empty"):format(axis, dims.text(t)))
  end
  return narrow(t, axis, 2, n) - narrow(t, axis, 1, n - 1)
end)

-- Joins each element with all before it. `neutral` fills the places before the first. Padded first
-- and cut then, since n - distance is no size where n is symbolic.
local function running(t, axis, join, neutral)
  local n, distance = t.shape[axis], 1
  while distance < n do
    local lo, hi = dims.fill(t.ndim, 0), dims.fill(t.ndim, 0)
    lo[axis] = distance
    local padded = apply("pad", t, { lo = lo, hi = hi, value = neutral })
    t = join(narrow(padded, axis, 1, n), t)
    distance = 2 * distance
  end
  return t
end

api.tensor("cumprod", {
  doc = "Running product along a dim.",
  args = { T, { "dim", "integer", "counts from 1, or from the end if negative" } },
  returns = "tensor",
}, function(t, dim)
  local axis = dims.axis("cumprod", t, dim)
  if t.dtype == "bool" or t.dtype == "u8" then t = t:to("i32") end
  return wide("cumprod", { t }, 1, function(x)
    return running(x, axis, function(a, b) return a * b end, 1)
  end)
end)

local LIMITS = { u8 = { 0, 255 }, i32 = { -2 ^ 31, 2 ^ 31 - 1 }, i64 = { -2 ^ 53, 2 ^ 53 } }

for _, row in ipairs {
  { "cummax", "largest", "maximum", 1 }, { "cummin", "smallest", "minimum", 2 },
} do
  local name, method, side = row[1], row[3], row[4]
  api.tensor(name, {
    doc = ("The %s so far along a dim; of equals the last has the gradient."):format(row[2]),
    args = { T, { "dim", "integer", "counts from 1, or from the end if negative" } },
    returns = "tensor",
  }, function(t, dim)
    local infinite = side == 1 and -math.huge or math.huge
    local limits, axis = LIMITS[t.dtype], dims.axis(name, t, dim)
    local value = running(t:detach(), axis, core.Tensor[method],
      limits and limits[side] or infinite)
    if not t.dtype:find "f" then return value end
    -- Where it came from: the last of equals, and of NaN. So the gradient has one way.
    local record = t:eq(value) | t:isnan()
    local place = core.iota(t.shape, axis, "i32")
    return gather(name, t, axis, running(record:where(place, 0), axis, core.Tensor.maximum, 0))
  end)
end
