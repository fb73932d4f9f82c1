-- onnx/import/layers.lua: norms.
--
-- Statistics of halves are computed in f32, and eps stays a float.
local core = require "sgl.core"
local ops = require "sgl.onnx.ops"

local op = ops.op

local function wide(x) return (x.dtype == "f16" or x.dtype == "bf16") and x:to "f32" or x end

-- A vector over channels, shaped to broadcast against [n, c, …].
local function by_channel(v, rank)
  local shape = { 1, v.shape[1] }
  for i = 3, rank do shape[i] = 1 end
  return wide(v):reshape(shape)
end

op("BatchNormalization", { inputs = { 5, 5 }, attrs = "epsilon momentum spatial training_mode" },
  function(c, a, x, scale, shift, mean, variance)
    if a.spatial == 0 then c:refuse "statistics of each element" end
    local rank, running, spread = math.max(x.ndim, 2), nil, nil
    if a.training_mode == 1 then
      local axes, share = { 1 }, a.momentum or 0.9
      for i = 3, rank do axes[#axes + 1] = i end
      local now, apart = wide(x):mean(axes), wide(x):var(axes, { correction = 0 })
      running = (mean * share + now * (1 - share)):to(mean.dtype)
      spread = (variance * share + apart * (1 - share)):to(variance.dtype)
      mean, variance = now, apart
    end
    local v = x.ndim == 1 and wide(x):unsqueeze(1) or wide(x)
    local inverse = (by_channel(variance, rank) + (a.epsilon or 1e-5)):rsqrt()
    local off = (v - by_channel(mean, rank)) * inverse
    local y = (off * by_channel(scale, rank) + by_channel(shift, rank)):to(x.dtype)
    return y:reshape(x.shape), running, spread
  end)

-- (v - mean) / sqrt(variance + eps) over dims, and what was taken off and multiplied by.
local function normalised(v, axes, eps)
  local keep = { keepdim = true }
  local mean = v:mean(axes, keep)
  local off = v - mean
  local scale = ((off * off):mean(axes, keep) + eps):rsqrt()
  return off * scale, mean, scale
end

local function trailing(first, rank)
  local axes = {}
  for i = first, rank do axes[#axes + 1] = i end
  return axes
end

op("LayerNormalization", { since = 17, inputs = { 2, 3 }, attrs = "axis epsilon stash_type" },
  function(c, a, x, scale, shift)
    local axes = trailing(c:axis(a.axis or -1, x.ndim), x.ndim)
    local y, mean, inverse = normalised(wide(x), axes, a.epsilon or 1e-5)
    y = y * wide(scale)
    if shift then y = y + wide(shift) end
    return y:to(x.dtype), mean, inverse
  end)

op("RMSNormalization", { since = 23, inputs = { 2, 2 }, attrs = "axis epsilon stash_type" },
  function(c, a, x, scale)
    local v, axes = wide(x), trailing(c:axis(a.axis or -1, x.ndim), x.ndim)
    local inverse = ((v * v):mean(axes, { keepdim = true }) + (a.epsilon or 1e-5)):rsqrt()
    return (v * inverse * wide(scale)):to(x.dtype)
  end)

op("InstanceNormalization", { inputs = { 3, 3 }, attrs = "epsilon" },
  function(_, a, x, scale, shift)
    local y = normalised(wide(x), trailing(3, x.ndim), a.epsilon or 1e-5)
    return (y * by_channel(scale, x.ndim) + by_channel(shift, x.ndim)):to(x.dtype)
  end)

-- Scale and shift are by group at first, by channel from opset 21 on.
op("GroupNormalization", { since = 18, inputs = { 3, 3 }, attrs = "epsilon num_groups stash_type" },
  function(c, a, x, scale, shift)
    local shape = x.shape
    local groups = a.num_groups or c:refuse "the number of groups is missing"
    local v = wide(x):reshape(shape[1], groups, -1)
    local y = normalised(v, { 3 }, a.epsilon or 1e-5)
    if c.opset < 21 then
      return (y * by_channel(scale, 3) + by_channel(shift, 3)):reshape(shape):to(x.dtype)
    end
    y = y:reshape(shape)
    return (y * by_channel(scale, #shape) + by_channel(shift, #shape)):to(x.dtype)
  end)

op("LpNormalization", { inputs = { 1, 1 }, attrs = "axis p" }, function(c, a, x)
  local axis, v = c:axis(a.axis or -1, x.ndim), wide(x)
  local keep = { keepdim = true }
  local norm = a.p == 1 and v:abs():sum(axis, keep) or (v * v):sum(axis, keep):sqrt()
  local zero = norm:eq(0)
  return zero:where(0, v / zero:where(1, norm)):to(x.dtype)
end)

op("MeanVarianceNormalization", { since = 9, inputs = { 1, 1 }, attrs = "axes" }, function(c, a, x)
  local axes = c:axes(a.axes or { 0, 2, 3 }, x.ndim)
  return (normalised(wide(x), axes, 0):to(x.dtype))
end)

-- x / (bias + alpha / size * the squares of the channels around)^beta
op("LRN", { inputs = { 1, 1 }, attrs = "alpha beta bias size" }, function(_, a, x)
  local size, counts = a.size, {}
  for i = 1, 2 * x.ndim do counts[i] = 0 end
  counts[2 * x.ndim - 3], counts[2 * x.ndim - 2] = (size - 1) // 2, size - 1 - (size - 1) // 2
  local squares = (x * x):pad(counts)
  local around = core.apply("window", squares, { dims = { 2 }, size = { size } }):sum(-1)
  return x / (around * ((a.alpha or 1e-4) / size) + (a.bias or 1.0)) ^ (a.beta or 0.75)
end)

