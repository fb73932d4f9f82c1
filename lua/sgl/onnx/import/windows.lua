-- onnx/import/windows.lua: convolution and pooling over any number of dims.
--
-- Holds: pads, strides and dilations of each dim on its own; no window lies in padding alone.
local api = require "sgl.api"
local core = require "sgl.core"
local ops = require "sgl.onnx.ops"
require "sgl.nn.convolution"

local op = ops.op
local unpack = table.unpack
local F = api.root.nn and api.root.nn.functional or require "sgl.nn.functional"

local WINDOW = "auto_pad dilations group kernel_shape pads strides"

local function ones(given, rank)
  if given then return given end
  local list = {}
  for i = 1, rank do list[i] = 1 end
  return list
end

local function zeros(rank)
  local list = {}
  for i = 1, rank do list[i] = 0 end
  return list
end

-- The pads before and behind each dim, by auto_pad or as given.
local function pads_of(c, a, sizes, kernel, strides, dilations)
  local rank, before, behind, auto = #kernel, {}, {}, a.auto_pad or "NOTSET"
  for i = 1, rank do
    local reach = (kernel[i] - 1) * dilations[i] + 1
    if auto == "SAME_UPPER" or auto == "SAME_LOWER" then
      local count = (sizes[i] + strides[i] - 1) // strides[i]
      local total = math.max(0, (count - 1) * strides[i] + reach - sizes[i])
      before[i] = auto == "SAME_UPPER" and total // 2 or total - total // 2
      behind[i] = total - before[i]
    elseif auto == "VALID" then
      before[i], behind[i] = 0, 0
    elseif auto == "NOTSET" then
      before[i], behind[i] = a.pads and a.pads[i] or 0, a.pads and a.pads[rank + i] or 0
    else
      c:refuse(("auto_pad %s"):format(core.quote(auto)))
    end
  end
  return before, behind
end

-- [n, c, d1, d2, …] with elements around the dims behind the first two.
local function padded(x, before, behind, value)
  local counts, any, rank = {}, false, x.ndim
  for i = 1, 2 * rank do counts[i] = 0 end
  for i = 1, #before do
    local at = 2 * (rank - i - 2)
    counts[at + 1], counts[at + 2] = before[i], behind[i]
    any = any or before[i] ~= 0 or behind[i] ~= 0
  end
  return any and x:pad(counts, { value = value }) or x
end

local function spatial(x)
  local shape = x.shape
  return table.move(shape, 3, #shape, 1, {})
end

-- ---- convolution

-- A convolution without padding; more than two dims by windows and one product of matrices.
local function convolve(x, weight, strides, dilations, groups)
  local o = { stride = strides, dilation = dilations, groups = groups }
  if #strides == 1 then
    o.stride, o.dilation = strides[1], dilations[1]
    return F.conv1d(x, weight, nil, o)
  elseif #strides == 2 then
    return F.conv2d(x, weight, nil, o)
  end
  local kernel, dims, shape = spatial(weight), {}, x.shape
  for i = 1, #kernel do dims[i] = i + 2 end
  local w = core.apply("window", x, { dims = dims, size = kernel, stride = strides,
                                      dilation = dilations })
  local out, places, taps = { shape[1], weight.shape[1] }, 1, 1
  for i = 1, #kernel do
    out[i + 2] = w.shape[i + 2]
    places, taps = places * w.shape[i + 2], taps * kernel[i]
  end
  local each, per = shape[2] // groups, weight.shape[1] // groups
  local patches = w:reshape(shape[1], groups, each, places, taps):permute(2, 1, 4, 3, 5)
    :reshape(groups, shape[1] * places, each * taps)
  local y = patches:matmul(weight:reshape(groups, per, each * taps):transpose(2, 3))
  return y:reshape(groups, shape[1], places, per):permute(2, 1, 4, 3):reshape(out)
end

local function with_bias(y, bias)
  if not bias then return y end
  local shape = { 1, bias.shape[1] }
  for i = 3, y.ndim do shape[i] = 1 end
  return y + bias:reshape(shape)
end

-- x and the weight must be [n, c, …] and [out, c / groups, …] of one rank.
local function check_conv(c, x, weight, channels, groups)
  if x.ndim < 3 or weight.ndim ~= x.ndim or x.shape[2] ~= channels
    or weight.shape[1] % groups ~= 0 then
    c:refuse(("the input %s and the weight %s with %d groups do not fit"):format(api.describe(x),
      api.describe(weight), groups), nil, "SGL_ESHAPE")
  end
end

op("Conv", { inputs = { 2, 3 }, attrs = WINDOW }, function(c, a, x, weight, bias)
  local rank, groups = x.ndim - 2, a.group or 1
  check_conv(c, x, weight, weight.shape[2] * groups, groups)
  local kernel, strides, dilations = spatial(weight), ones(a.strides, rank), ones(a.dilations, rank)
  local before, behind = pads_of(c, a, spatial(x), kernel, strides, dilations)
  return with_bias(convolve(padded(x, before, behind, 0), weight, strides, dilations, groups), bias)
end)

-- Zeros between the elements of each dim: stride - 1 behind each but the last.
local function spread(x, strides)
  for i, stride in ipairs(strides) do
    if stride > 1 then
      local axis, shape = i + 2, x.shape
      local n = shape[axis]
      local counts = {}
      for k = 1, 2 * (x.ndim + 1) do counts[k] = 0 end
      counts[2 * (x.ndim - axis) + 2] = stride - 1
      shape[axis] = n * stride
      x = x:unsqueeze(axis + 1):pad(counts):reshape(shape):narrow(axis, 1, n * stride - stride + 1)
    end
  end
  return x
end

-- How much the full result is cut before and behind along dim i.
local function cuts(a, i, rank, size, stride, reach, extra)
  local full = stride * (size - 1) + reach + extra
  local auto = a.auto_pad or "NOTSET"
  local wanted = a.output_shape and a.output_shape[#a.output_shape - rank + i]
    or (auto == "SAME_UPPER" or auto == "SAME_LOWER") and size * stride
  if not wanted then
    if auto ~= "NOTSET" or not a.pads then return 0, 0 end
    return a.pads[i], a.pads[rank + i]
  end
  local total = full - wanted
  if total < 0 then return 0, total end
  local half = total // 2
  if auto == "SAME_UPPER" then return half, total - half end
  return total - half, half
end

op("ConvTranspose", { inputs = { 2, 3 }, attrs = WINDOW .. " output_padding output_shape" },
  function(c, a, x, weight, bias)
    local rank, groups, own = x.ndim - 2, a.group or 1, weight.shape
    check_conv(c, x, weight, own[1], groups)
    local kernel, strides = spatial(weight), ones(a.strides, rank)
    local dilations, before, behind, flipped, unit = ones(a.dilations, rank), {}, {}, {}, {}
    for i = 1, rank do
      local reach = (kernel[i] - 1) * dilations[i] + 1
      local extra = a.output_padding and a.output_padding[i] or 0
      local lo, hi = cuts(a, i, rank, x.shape[i + 2], strides[i], reach, extra)
      before[i], behind[i] = reach - 1 - lo, reach - 1 - hi + extra
      flipped[i], unit[i] = i + 2, 1
    end
    local taps = weight:flip(flipped):reshape { groups, own[1] // groups, own[2], unpack(kernel) }
      :transpose(2, 3):reshape { groups * own[2], own[1] // groups, unpack(kernel) }
    local wide = padded(spread(x, strides), before, behind, 0)
    return with_bias(convolve(wide, taps, unit, dilations, groups), bias)
  end)

-- ---- pooling

local POOL = "auto_pad ceil_mode dilations kernel_shape pads strides"

-- With ceil_mode a last window may reach beyond the padding, but not begin there: how far.
local function overhang(a, sizes, kernel, strides, dilations, before, behind)
  local more = {}
  for i = 1, #kernel do
    more[i] = 0
    local room = sizes[i] + before[i] + behind[i] - (kernel[i] - 1) * dilations[i] - 1
    if a.ceil_mode == 1 and room % strides[i] ~= 0 then
      local start = (room // strides[i] + 1) * strides[i]
      if start < sizes[i] + before[i] then more[i] = start - room end
    end
  end
  return more
end

local function windowed(x, kernel, strides, dilations)
  local dims = {}
  for i = 1, #kernel do dims[i] = i + 2 end
  return core.apply("window", x, { dims = dims, size = kernel, stride = strides,
                                   dilation = dilations })
end

-- The last dims of a window, over which is reduced.
local function taps_of(rank)
  local axes = {}
  for i = 1, rank do axes[i] = -i end
  return axes
end

-- kernel, strides, dilations, pads before and behind, overhang.
local function pool(c, a, x)
  local kernel, rank = a.kernel_shape, x.ndim - 2
  if not kernel or #kernel ~= rank then c:refuse "a kernel that does not fit the input" end
  local strides, dilations = ones(a.strides, rank), ones(a.dilations, rank)
  local before, behind = pads_of(c, a, spatial(x), kernel, strides, dilations)
  return kernel, strides, dilations, before, behind,
    overhang(a, spatial(x), kernel, strides, dilations, before, behind)
end

local function sums(a, b)
  local out = {}
  for i = 1, #a do out[i] = a[i] + b[i] end
  return out
end

-- Each element's own position in the flattened tensor; by columns, with the last two dims swapped.
local function positions(x, columns)
  local shape, total = x.shape, nil
  local stride = 1
  for i = #shape, 1, -1 do
    local by = stride
    if columns and i > #shape - 2 then by = i == #shape and shape[#shape - 1] or 1 end
    local at = core.iota(shape, i, "i64") * by
    total = total and total + at or at
    stride = stride * shape[i]
  end
  return total
end

op("MaxPool", { inputs = { 1, 1 }, attrs = POOL .. " storage_order" }, function(c, a, x)
  local kernel, strides, dilations, before, behind, more = pool(c, a, x)
  local dtype = x.dtype
  if dtype == "u8" then x = x:to "i32" end
  local lowest = dtype:find "f" and -math.huge or dtype == "u8" and 0 or -0x80000000
  local after = sums(behind, more)
  local taps = windowed(padded(x, before, after, lowest), kernel, strides, dilations)
  local y = taps:amax(taps_of(#kernel)):to(dtype)
  if #c.node.output < 2 then return y end
  local places = positions(x, a.storage_order == 1)
  places = windowed(padded(places, before, after, -1), kernel, strides, dilations)
  local merged = y.shape
  merged[#merged + 1] = -1
  local at = taps:reshape(merged):argmax(-1, { keepdim = true })
  return y, places:reshape(merged):gather(-1, at):squeeze(-1)
end)

op("AveragePool", { inputs = { 1, 1 }, attrs = POOL .. " count_include_pad" }, function(c, a, x)
  local kernel, strides, dilations, before, behind, more = pool(c, a, x)
  local axes, dtype = taps_of(#kernel), x.dtype
  local v = (dtype == "f16" or dtype == "bf16") and x:to "f32" or x
  local wide = windowed(padded(v, before, sums(behind, more), 0), kernel, strides, dilations)
  -- What counts are elements, and padding if so asked, but never the overhang.
  local own = { 1, 1, unpack(spatial(x)) }
  local padding = a.count_include_pad == 1 and 1 or 0
  local counted = padded(core.full(own, 1, v.dtype), before, behind, padding)
  counted = padded(counted, zeros(#kernel), more, 0)
  local n = windowed(counted, kernel, strides, dilations):sum(axes)
  return (wide:sum(axes) / n):to(dtype)
end)

local function global(name, fn)
  op(name, { inputs = { 1, 1 } }, function(_, _, x)
    local axes = {}
    for i = 3, x.ndim do axes[#axes + 1] = i end
    return fn(x, axes)
  end)
end

global("GlobalAveragePool", function(x, axes) return x:mean(axes, { keepdim = true }) end)
global("GlobalMaxPool", function(x, axes) return x:amax(axes, { keepdim = true }) end)
