-- nn/convolution.lua: convolution and pooling as functions on tensors.
--
-- Both are built on `window`, a view of sliding windows whose adjoint is `fold`: a convolution is
-- a matrix product over windows, pooling a reduction over them, so gradients of any order come
-- from the primitives. One-dimensional forms are the two-dimensional ones on height 1.

local core = require "sgl.core"
local api = require "sgl.api"
local F = require "sgl.nn.functional"
local wide = require "sgl.tensor.wide".composite

local SIZES, COUNTS = { 1, math.huge }, { 0, math.huge }

-- An option that is one integer for both dims, or a list of two, as rows with items = 2 check it.
local function pair(v) return type(v) == "table" and v or { v, v } end

local shape_text = api.describe

local function pad_images(x, pad, value)
  if pad[1] == 0 and pad[2] == 0 then return x end
  local both = { 0, 0, pad[1], pad[2] }
  return core.apply("pad", x, { lo = both, hi = both, value = value })
end

-- Refuses a kernel that is larger than the padded image. Messages name the dims that the user
-- sees: a one-dimensional op has no height.
local function check_room(name, x, kernel, dilation, pad, o)
  for i = 1, 2 do
    local room = x.shape[2 + i] + 2 * pad[i]
    if room < dilation[i] * (kernel[i] - 1) + 1 then
      local seen = o.flat and x:squeeze(3) or x
      core.raise("SGL_ESHAPE", ("%s: a kernel of %s (dilation %s) is larger than dim %s of %s "
        .. "with padding %s"):format(name, kernel[i], dilation[i], seen.ndim - 2 + i,
        shape_text(seen), pad[i]), "take a smaller kernel or more padding")
    end
  end
end

-- [n, c, h, w] → [n, c, oh, ow, kh, kw]
local function windows(name, x, kernel, o, fill)
  local stride, dilation = pair(o.stride), pair(o.dilation or 1)
  local pad = pair(o.padding)
  check_room(name, x, kernel, dilation, pad, o)
  return core.apply("window", pad_images(x, pad, fill),
    { dims = { 3, 4 }, size = kernel, stride = stride, dilation = dilation })
end

local LAYOUTS = {
  [3] = "needs x [n, c, l] and weight [out, in, k]",
  [4] = "needs x [n, c, h, w] and weight [out, in, kh, kw]",
}

local function check_conv(name, rank, x, weight, bias, groups)
  local xs, ws = x.shape, weight.shape
  if #xs ~= rank or #ws ~= rank then
    core.raise("SGL_ESHAPE", ("%s: %s, got %s and %s"):format(name, LAYOUTS[rank], shape_text(x),
      shape_text(weight)), "x:unsqueeze(1) makes a batch of one")
  end
  if xs[2] ~= ws[2] * groups or ws[1] % groups ~= 0 then
    core.raise("SGL_ESHAPE", ("%s: channels do not fit: %s has %s, weight %s with %s group(s) "
      .. "wants %s"):format(name, shape_text(x), xs[2], shape_text(weight), groups, ws[2] * groups),
      "x is [n, channels, …], weight [out, channels / groups, …]")
  end
  if bias and (bias.ndim ~= 1 or bias.shape[1] ~= ws[1]) then
    core.raise("SGL_ESHAPE", ("%s: the bias %s does not fit the weight %s"):format(name,
      shape_text(bias), shape_text(weight)), ("it has one element for each of the %s channels "
      .. "that come out"):format(ws[1]))
  end
end

local CONV_OPTS = {
  { "stride", "integer|table", 1, "step of the window", within = SIZES, items = 2 },
  { "padding", "integer|table", 0, "zeros added on each side", within = COUNTS, items = 2 },
  { "dilation", "integer|table", 1, "distance between taps", within = SIZES, items = 2 },
  { "groups", "integer", 1, "channel groups that do not see each other",
    within = { 1, math.huge } },
}

local function conv2d(name, x, weight, bias, o)
  local n, g = x.shape[1], o.groups
  local out, per, kh, kw = table.unpack(weight.shape)
  local w = windows(name, x, { kh, kw }, o, 0)
  local oh, ow = w.shape[3], w.shape[4]
  -- [g, n·oh·ow, per·kh·kw] · [g, per·kh·kw, out/g]
  local patches = w:reshape(n, g, per, oh, ow, kh, kw):permute(2, 1, 4, 5, 3, 6, 7)
    :reshape(g, n * oh * ow, per * kh * kw)
  local taps = weight:reshape(g, out // g, per * kh * kw):transpose(2, 3)
  local y = core.apply("dot", { patches, taps }, {})
  y = y:reshape(g, n, oh, ow, out // g):permute(2, 1, 5, 3, 4):reshape(n, out, oh, ow)
  return bias and y + bias:reshape(1, out, 1, 1) or y
end

api.fn(F, "conv2d", {
  doc = "Cross-correlation of images with a bank of kernels, as convolution layers mean it.",
  args = { { "x", "tensor", "f32[n, c, h, w]" },
           { "weight", "tensor", "f32[out, c/groups, kh, kw]" },
           { "bias", "tensor?", "f32[out]" } },
  opts = CONV_OPTS,
  returns = "tensor, f32[n, out, oh, ow], "
    .. "oh = (h + 2·padding - dilation·(kh - 1) - 1) // stride + 1",
  errors = "channels that do not fit, a kernel larger than the padded image",
}, function(x, weight, bias, o)
  check_conv("conv2d", 4, x, weight, bias, o.groups)
  return wide("conv2d", { x, weight, bias }, 3, function(v, taps, shift)
    return conv2d("conv2d", v, taps, shift, o)
  end)
end)

-- Options of a one-dimensional op as those of the two-dimensional one on height 1.
local function on_height_one(o)
  local flat = { flat = true, groups = o.groups, stride = { 1, o.stride },
                 padding = { 0, o.padding } }
  if o.dilation then flat.dilation = { 1, o.dilation } end
  return flat
end

api.fn(F, "conv1d", {
  doc = "Cross-correlation of sequences with a bank of kernels.",
  args = { { "x", "tensor", "f32[n, c, l]" }, { "weight", "tensor", "f32[out, c/groups, k]" },
           { "bias", "tensor?", "f32[out]" } },
  opts = {
    { "stride", "integer", 1, "step of the window", within = SIZES },
    { "padding", "integer", 0, "zeros added on each side", within = COUNTS },
    { "dilation", "integer", 1, "distance between taps", within = SIZES },
    { "groups", "integer", 1, "channel groups that do not see each other",
      within = { 1, math.huge } },
  },
  returns = "tensor, f32[n, out, ol]",
  errors = "channels that do not fit, a kernel longer than the padded sequence",
}, function(x, weight, bias, o)
  check_conv("conv1d", 3, x, weight, bias, o.groups)
  return wide("conv1d", { x, weight, bias }, 3, function(v, taps, shift)
    return conv2d("conv1d", v:unsqueeze(3), taps:unsqueeze(3), shift, on_height_one(o)):squeeze(3)
  end)
end)

local POOL_OPTS = {
  { "stride", "integer|table?", nil, "step of the window; default: its size", within = SIZES,
    items = 2 },
  { "padding", "integer|table", 0, "elements added on each side; they never win and count as 0",
    within = COUNTS, items = 2 },
}

local function pool2d(name, x, size, o, fill, reduce)
  if x.ndim ~= 4 then
    core.raise("SGL_ESHAPE", ("%s: needs x [n, c, h, w], got %s"):format(name, shape_text(x)),
      "x:unsqueeze(1) makes a batch of one")
  end
  local kernel, pad = pair(size), pair(o.padding)
  for i = 1, 2 do
    if kernel[i] < 1 or 2 * pad[i] > kernel[i] then
      core.raise("SGL_EARG", ("%s: a window of %s with padding %s: the window must be at least 1, "
        .. "the padding at most half of it"):format(name, kernel[i], pad[i]))
    end
  end
  local settings = { stride = o.stride or kernel, padding = pad, flat = o.flat }
  return reduce(windows(name, x, kernel, settings, fill))
end

local POOLS = {
  max = { -math.huge, function(w) return w:amax({ -2, -1 }) end,
          "Largest element of each window." },
  avg = { 0, function(w) return w:mean({ -2, -1 }) end,
          "Mean of each window; padding counts, as PyTorch's default." },
}
for _, kind in ipairs { "max", "avg" } do
  local fill, reduce, doc = table.unpack(POOLS[kind])
  api.fn(F, kind .. "_pool2d", {
    doc = doc,
    args = { { "x", "tensor", "f32[n, c, h, w]" },
             { "size", "integer|table", "of the window", within = SIZES, items = 2 } },
    opts = POOL_OPTS,
    returns = "tensor, f32[n, c, oh, ow]",
    errors = "a window larger than the padded image",
  }, function(x, size, o)
    local name = kind .. "_pool2d"
    return wide(name, { x }, 1, function(v) return pool2d(name, v, size, o, fill, reduce) end)
  end)

  api.fn(F, kind .. "_pool1d", {
    doc = doc,
    args = { { "x", "tensor", "f32[n, c, l]" },
             { "size", "integer", "of the window", within = SIZES } },
    opts = { { "stride", "integer?", nil, "step of the window; default: its size",
               within = SIZES },
             { "padding", "integer", 0, "elements added on each side", within = COUNTS } },
    returns = "tensor, f32[n, c, ol]",
    errors = "a window longer than the padded sequence",
  }, function(x, size, o)
    local name = kind .. "_pool1d"
    if x.ndim ~= 3 then
      core.raise("SGL_ESHAPE", ("%s: needs x [n, c, l], got %s"):format(name, shape_text(x)))
    end
    local flat = { flat = true, stride = { 1, o.stride or size }, padding = { 0, o.padding } }
    return wide(name, { x }, 1, function(v)
      return pool2d(name, v:unsqueeze(3), { 1, size }, flat, fill, reduce):squeeze(3)
    end)
  end)
end

return { pair = pair }
