-- nn/functional.lua: activations, normalisations, linear maps and dropout as functions on tensors.
--
-- Each is recorded as a composite (core.composite) so that exporters, hand-written kernels and
-- pictures see its name around the primitives. Shapes follow PyTorch: features last for linear
-- and layer_norm, [n, c, …] for convolution, pooling, batch_norm and group_norm.

local core = require "sgl.core"
local api = require "sgl.api"
local create = require "sgl.tensor.create"
local wide = require "sgl.tensor.wide".composite
local widened = require "sgl.tensor.wide".one
local need_integers = require "sgl.tensor.index".need_integers

local F = api.module("nn.functional", "Activations, normalisations and linear maps as functions")

local X = { "x", "tensor", "any shape" }
local COUNTS = { 0, math.huge }

local function activation(name, doc, formula)
  api.fn(F, name, { doc = doc, args = { X }, returns = "tensor, shape of x" }, function(x)
    return wide(name, { x }, 1, formula)
  end)
end

activation("relu", "max(x, 0).", function(x) return core.apply("relu", { x }) end)
activation("tanh", "Hyperbolic tangent.", function(x) return x:tanh() end)
activation("sigmoid", "1 / (1 + exp(-x)).", function(x) return x:sigmoid() end)
activation("silu", "x · sigmoid(x), also called swish.", function(x) return x * x:sigmoid() end)
activation("softplus", "log(1 + exp(x)), without overflow.", function(x) return x:softplus() end)

local SQRT_HALF, SQRT_2_BY_PI = math.sqrt(0.5), math.sqrt(2 / math.pi)
local GELU = {
  none = function(x) return x * 0.5 * ((x * SQRT_HALF):erf() + 1) end,
  tanh = function(x) return x * 0.5 * (((x + x * x * x * 0.044715) * SQRT_2_BY_PI):tanh() + 1) end,
}
api.fn(F, "gelu", {
  doc = "Gaussian error linear unit, x · Φ(x) (Hendrycks and Gimpel, 2016).",
  args = { X },
  opts = { { "approximate", "string", "none", "none: by erf; tanh: the tanh form",
             among = { "none", "tanh" } } },
  returns = "tensor, shape of x",
  errors = "another value of approximate",
}, function(x, o)
  return wide(o.approximate == "tanh" and "gelu_tanh" or "gelu", { x }, 1, GELU[o.approximate])
end)

api.fn(F, "softmax", {
  doc = "exp(x) divided by its sum along a dim.",
  args = { X, { "dim", "integer?", "default -1" } },
  returns = "tensor, shape of x",
}, function(x, dim) return x:softmax(dim or -1) end)

api.fn(F, "log_softmax", {
  doc = "Logarithm of softmax along a dim, without overflow.",
  args = { X, { "dim", "integer?", "default -1" } },
  returns = "tensor, shape of x",
}, function(x, dim) return x:log_softmax(dim or -1) end)

api.fn(F, "dropout", {
  doc = "Zeroes elements with probability p and scales the others by 1 / (1 - p).",
  args = { X, { "p", "number", "probability, in [0, 1)", within = { 0, 1 } } },
  opts = { { "training", "boolean", true, "false: x as it is" } },
  returns = "tensor, shape of x",
  errors = "p outside [0, 1)",
}, function(x, p, o)
  if p == 0 or not o.training then return x end
  return core.composite("dropout", { x }, function()
    local keep = core.rand(x.shape, 1):ge(p)
    return keep:where(x * (1 / (1 - p)), 0)
  end)
end)

api.fn(F, "linear", {
  doc = "x · weightᵀ + bias over the last dim.",
  args = { { "x", "tensor", "f32[…, in]" }, { "weight", "tensor", "f32[out, in]" },
           { "bias", "tensor?", "f32[out]" } },
  returns = "tensor, f32[…, out]",
  errors = "the last dim of x is not `in`",
}, function(x, weight, bias)
  return wide("linear", { x, weight, bias }, 3, function(v, matrix, shift)
    local y = v:matmul(matrix:t())
    return shift and y + shift or y
  end)
end)

api.fn(F, "embedding", {
  doc = "Rows of a table by index.",
  args = { { "index", "tensor", "integers from 0, any shape" },
           { "weight", "tensor", "f32[n, d]" } },
  returns = "tensor, f32[…, d]",
  errors = "an index that is no integer, or outside [0, n) when the step runs",
}, function(index, weight)
  need_integers("nn.embedding", index)
  return core.composite("embedding", { index, weight }, function()
    return core.apply("gather", { weight, index }, { dim = 1 })
  end)
end)

-- The last k dims as a list of positions, checked against the shape that a norm was made for.
local function trailing(name, x, shape)
  local dims, own = {}, x.shape
  if #shape == 0 then
    core.raise("SGL_EARG", ("nn.%s: the shape must name at least one dim"):format(name),
      ("the trailing dims of %s to normalise over"):format(api.describe(x)))
  end
  for i = 1, #shape do
    dims[i] = i - 1 - #shape
    if #own < #shape or own[#own - #shape + i] ~= shape[i] then
      core.raise("SGL_ESHAPE", ("nn.%s: made for %s at the end, got %s"):format(name,
        api.shape_text(shape), api.describe(x)), "the shape names the trailing dims of x")
    end
  end
  return dims
end

api.fn(F, "layer_norm", {
  doc = "(x - mean) / sqrt(variance + eps) over the trailing dims, then scale and shift "
    .. "(Ba, Kiros and Hinton, 2016). The variance is the biased one.",
  args = { { "x", "tensor", "f32[…, shape]" }, { "shape", "table", "sizes of the trailing dims" },
           { "weight", "tensor?", "f32[shape]" }, { "bias", "tensor?", "f32[shape]" } },
  opts = { { "eps", "number", 1e-5, "added to the variance", within = COUNTS } },
  returns = "tensor, shape of x",
  errors = "trailing dims that are not `shape`",
}, function(x, shape, weight, bias, o)
  local dims = trailing("layer_norm", x, shape)
  return wide("layer_norm", { x, weight, bias }, 3, function(v, scale, shift)
    local d = v - v:mean(dims, { keepdim = true })
    local y = d * ((d * d):mean(dims, { keepdim = true }) + o.eps):rsqrt()
    if scale then y = y * scale end
    return shift and y + shift or y
  end)
end)

api.fn(F, "rms_norm", {
  doc = "x / sqrt(mean(x²) + eps) over the trailing dims, then scale (Zhang and Sennrich, 2019).",
  args = { { "x", "tensor", "f32[…, shape]" }, { "shape", "table", "sizes of the trailing dims" },
           { "weight", "tensor?", "f32[shape]" } },
  opts = { { "eps", "number", 1e-6, "added to the mean of squares", within = COUNTS } },
  returns = "tensor, shape of x",
  errors = "trailing dims that are not `shape`",
}, function(x, shape, weight, o)
  local dims = trailing("rms_norm", x, shape)
  return wide("rms_norm", { x, weight }, 2, function(v, scale)
    local y = v * ((v * v):mean(dims, { keepdim = true }) + o.eps):rsqrt()
    return scale and y * scale or y
  end)
end)

-- A vector over channels, shaped to broadcast against [n, c, …] of the given rank.
local function by_channel(v, rank)
  local shape = { 1, v.shape[1] }
  for i = 3, rank do shape[i] = 1 end
  return v:reshape(table.unpack(shape))
end

-- y · scale + shift by channel; either may be missing.
local function scaled(y, scale, shift)
  if scale then y = y * by_channel(scale, y.ndim) end
  return shift and y + by_channel(shift, y.ndim) or y
end

api.fn(F, "group_norm", {
  doc = "Normalises each group of channels of each sample (Wu and He, 2018).",
  args = { { "x", "tensor", "f32[n, c, …]" },
           { "groups", "integer", "divides c", within = { 1, math.huge } },
           { "weight", "tensor?", "f32[c]" }, { "bias", "tensor?", "f32[c]" } },
  opts = { { "eps", "number", 1e-5, "added to the variance", within = COUNTS } },
  returns = "tensor, shape of x",
  errors = "groups that do not divide c",
}, function(x, groups, weight, bias, o)
  local shape = x.shape
  if #shape < 2 or shape[2] % groups ~= 0 then
    core.raise("SGL_ESHAPE", ("nn.group_norm: %s groups do not divide the channels of %s"):format(
      groups, api.describe(x)), "x is [n, channels, …], the channels a multiple of the groups")
  end
  return wide("group_norm", { x, weight, bias }, 3, function(v, scale, shift)
    local g = v:reshape(shape[1], groups, -1)
    local d = g - g:mean(-1, { keepdim = true })
    local y = d * ((d * d):mean(-1, { keepdim = true }) + o.eps):rsqrt()
    return scaled(y:reshape(table.unpack(shape)), scale, shift)
  end)
end)

api.fn(F, "batch_norm", {
  doc = "Normalises each channel with the given statistics (Ioffe and Szegedy, 2015).",
  args = { { "x", "tensor", "f32[n, c, …]" }, { "mean", "tensor", "f32[c]" },
           { "variance", "tensor", "f32[c]" }, { "weight", "tensor?", "f32[c]" },
           { "bias", "tensor?", "f32[c]" } },
  opts = { { "eps", "number", 1e-5, "added to the variance", within = COUNTS } },
  returns = "tensor, shape of x",
}, function(x, mean, variance, weight, bias, o)
  -- Statistics have no say in the dtype of the result.
  return wide("batch_norm", { x, weight, bias }, 3, function(v, scale, shift)
    local rank = v.ndim
    local d = v - by_channel(widened(mean), rank)
    return scaled(d * (by_channel(widened(variance), rank) + o.eps):rsqrt(), scale, shift)
  end)
end)

-- Softmax along the last dim of masked scores: a row that sees nothing is 0, with gradient 0.
local function softmax_of_seen(scores)
  local largest = scores:amax(-1, { keepdim = true }):detach()
  local e = (scores - largest:isfinite():where(largest, 0)):exp()
  local total = e:sum(-1, { keepdim = true })
  return e / total:eq(0):where(1, total)
end

api.fn(F, "scaled_dot_product_attention", {
  doc = "softmax(q · kᵀ / sqrt(d)) · v (Vaswani et al., 2017). A position whose mask hides all "
    .. "gets 0, with gradient 0.",
  args = { { "q", "tensor", "f32[…, t, d]" }, { "k", "tensor", "f32[…, s, d]" },
           { "v", "tensor", "f32[…, s, e]" } },
  opts = { { "causal", "boolean", false, "position i sees positions up to i only" },
           { "mask", "tensor?", nil, "bool, broadcasts to [t, s]; false hides" },
           { "scale", "number?", nil, "instead of 1 / sqrt(d)" },
           { "dropout", "number", 0, "share of the weights to zero; give 0 in evaluation",
             within = { 0, 1 } } },
  returns = "tensor, f32[…, t, e]",
  errors = "shapes that do not fit",
}, function(q, k, v, o)
  local t, s, d = q.shape[#q.shape - 1], k.shape[#k.shape - 1], q.shape[#q.shape]
  local scale = o.scale or 1 / (core.is_dim(d) and d ^ 0.5 or math.sqrt(d))
  return wide("attention", { q, k, v, o.mask }, 4, function(queries, keys, values, mask)
    local scores = queries:matmul(keys:transpose(-1, -2)) * scale
    if o.causal then
      local seen = core.iota({ t, s }, 2, "i32"):le(core.iota({ t, s }, 1, "i32"))
      scores = seen:where(scores, -math.huge)
    end
    if not mask then return F.dropout(scores:softmax(-1), o.dropout):matmul(values) end
    scores = mask:where(scores, -math.huge)
    return F.dropout(softmax_of_seen(scores), o.dropout):matmul(values)
  end)
end)

api.fn(F, "one_hot", {
  doc = "1 at the index, 0 elsewhere, along a new last dim.",
  args = { { "index", "tensor", "integers from 0" },
           { "classes", "integer", "size of the new dim" } },
  returns = "tensor, f32[…, classes]",
}, function(index, classes) return create.one_hot(index, classes) end)

return F
