-- onnx/import/shape.lua: operators that make constants and sizes, and that move elements.
local api = require "sgl.api"
local core = require "sgl.core"
local known = require "sgl.onnx.known"
local ops = require "sgl.onnx.ops"
local values = require "sgl.onnx.values"

local op, root = ops.op, api.root
local ONE = { 1, 1 }

local function shape_of(v) return v.shape end

-- ---- constants and sizes

op("Constant", { inputs = { 0, 0 }, attrs = "value value_float value_floats value_int value_ints",
                 raw = true }, function(c, a)
  if a.value then return a.value end
  if a.value_int then return known.new("i64", {}, { a.value_int }) end
  if a.value_float then return known.new("f32", {}, { a.value_float }) end
  if a.value_ints then return known.integers(a.value_ints) end
  if a.value_floats then return known.new("f32", { #a.value_floats }, a.value_floats) end
  return c:refuse "it has no value"
end)

op("ConstantOfShape", { since = 9, inputs = ONE, attrs = "value", raw = true }, function(c, a, v)
  local shape = c:list(v, "sizes")
  local value, dtype = 0.0, "f32"
  if a.value then
    value, dtype = a.value:list()[1], a.value.dtype
  end
  for _, size in ipairs(shape) do
    if size < 0 then c:refuse(("the size %s"):format(size), nil, "SGL_ESHAPE") end
  end
  local count = known.count(shape)
  if count <= 1024 and not core.is_dim(count) then
    local data = {}
    for i = 1, count do data[i] = value end
    return known.new(dtype, table.move(shape, 1, #shape, 1, {}), data)
  end
  return core.full(shape, value, dtype)
end)

op("Shape", { inputs = ONE, attrs = "start end", raw = true }, function(_, a, v)
  local shape, from, to, out = shape_of(v), a.start or 0, a["end"] or 64, {}
  if from < 0 then from = math.max(0, from + #shape) end
  if to < 0 then to = to + #shape end
  for i = from + 1, math.min(to, #shape) do out[#out + 1] = shape[i] end
  return known.integers(out)
end)

op("Size", { inputs = ONE, raw = true }, function(_, _, v)
  return known.new("i64", {}, { known.count(shape_of(v)) })
end)

op("Range", { since = 11, inputs = { 3, 3 }, raw = true }, function(c, _, start, limit, step)
  local a, b, d = c:single(start, "start"), c:single(limit, "limit"), c:single(step, "step")
  local dtype = start.dtype
  if core.is_dim(a) or core.is_dim(b) then
    return root.arange(a, b, d, { dtype = dtype })
  end
  if d == 0 then c:refuse("a step of 0", nil, "SGL_EARG") end
  local n = math.max(0, math.ceil((b - a) / d))
  if n > 1024 then return root.arange(a, b, d, { dtype = dtype }) end
  local data = {}
  for i = 1, n do data[i] = a + (i - 1) * d end
  return known.new(dtype, { n }, data)
end)

op("EyeLike", { since = 9, inputs = ONE, attrs = "dtype k" }, function(c, a, x)
  local dtype = a.dtype and values.dtype(a.dtype) or x.dtype
  local shape = x.shape
  local on = core.iota(shape, 2, "i32"):eq(core.iota(shape, 1, "i32") + (a.k or 0))
  return on:to(dtype)
end)

-- ---- other sizes

-- The sizes that a Reshape asks for; what follows from the others is computed.
local function asked(c, shape, list, allowzero)
  local out, open, others, rest = {}, nil, 1, known.count(shape)
  for i, size in ipairs(list) do
    if size == 0 and not allowzero then
      if i > #shape then
        c:refuse("a size is copied from a dim that is not there", nil, "SGL_ESHAPE")
      end
      size = shape[i]
    end
    out[i] = size
    if size == -1 and not open then open = i
    elseif size ~= -1 and (core.is_dim(size) or size >= 0) then others = others * size
    else c:refuse("sizes that are none", nil, "SGL_ESHAPE") end
  end
  if open then
    if others == 0 then c:refuse("any size would fit in the place of -1", nil, "SGL_ESHAPE") end
    out[open] = rest // others
  end
  return out
end

local function reshape(c, a, v, sizes)
  local shape = shape_of(v)
  local to = asked(c, shape, c:list(sizes, "sizes"), a.allowzero == 1)
  if known.is(v) then
    if known.count(to) ~= v:count() then
      c:refuse(("%d elements in %d"):format(v:count(), known.count(to)), nil, "SGL_ESHAPE")
    end
    return known.reshape(v, to)
  end
  return v:reshape(to)
end
op("Reshape", { inputs = { 2, 2 }, attrs = "allowzero", raw = true }, reshape)

local function resized(v, shape)
  return known.is(v) and known.reshape(v, shape) or v:reshape(shape)
end

op("Flatten", { inputs = ONE, attrs = "axis", raw = true }, function(c, a, v)
  local shape, axis = shape_of(v), a.axis or 1
  if axis < 0 then axis = axis + #shape end
  if axis < 0 or axis > #shape then c:refuse("an axis that is not there", nil, "SGL_ESHAPE") end
  local front, back = 1, 1
  for i, size in ipairs(shape) do
    if i <= axis then front = front * size else back = back * size end
  end
  return resized(v, { front, back })
end)

op("Squeeze", { inputs = { 1, 2 }, attrs = "axes", raw = true }, function(c, a, v, axes)
  local shape, gone, out = shape_of(v), {}, {}
  local list = c:axes_given(a, axes, 13, #shape)
  for _, axis in ipairs(list or {}) do
    if shape[axis] ~= 1 then
      c:refuse(("dim %d has the size %s"):format(axis - 1, shape[axis]), nil, "SGL_ESHAPE")
    end
    gone[axis] = true
  end
  for i, size in ipairs(shape) do
    if not (gone[i] or not list and size == 1) then out[#out + 1] = size end
  end
  return resized(v, out)
end)

op("Unsqueeze", { inputs = { 1, 2 }, attrs = "axes", raw = true }, function(c, a, v, axes)
  local shape, new, out, at = shape_of(v), {}, {}, 1
  local given = c.opset >= 13 and axes and c:list(axes, "axes") or a.axes
  if not given then c:refuse "axes are missing" end
  local rank = #shape + #given
  for _, axis in ipairs(c:axes(given, rank)) do
    if new[axis] then c:refuse("an axis comes twice", nil, "SGL_ESHAPE") end
    new[axis] = true
  end
  for i = 1, rank do
    if new[i] then out[i] = 1 else out[i], at = shape[at], at + 1 end
  end
  return resized(v, out)
end)

local function expanded(c, v, sizes)
  local own = shape_of(v)
  local out = known.broadcast(own, c:list(sizes, "sizes"))
  local text = table.concat(own, ",")
  if text == table.concat(out, ",") then return v end
  return out
end
op("Expand", { since = 8, inputs = { 2, 2 }, raw = true }, function(c, _, v, sizes)
  local out = expanded(c, v, sizes)
  if out == v then return v end
  if known.small({ v }, 1) and known.count(out) <= 1024 then return known.expand(v, out) end
  return c:tensor(v):broadcast_to(out)
end)

op("Tile", { inputs = { 2, 2 }, raw = true }, function(c, _, v, repeats)
  return c:tensor(v):tile(c:list(repeats, "repeats"))
end)

-- ---- other orders

local function perm_of(c, a, rank)
  local perm = {}
  for i = 1, rank do perm[i] = a.perm and c:axis(a.perm[i] or rank, rank) or rank + 1 - i end
  return perm
end

op("Transpose", { inputs = ONE, attrs = "perm", known = function(c, a, v)
  return known.permute(v, perm_of(c, a, #v.shape))
end }, function(c, a, x) return x.ndim < 2 and x or x:permute(perm_of(c, a, x.ndim)) end)

op("Concat", { inputs = { 1, 1 << 20 }, attrs = "axis", known = function(c, a, ...)
  local list = { ... }
  local rank = #list[1].shape
  return rank > 0 and known.concat(list, c:axis(a.axis, rank)) or nil
end }, function(c, a, ...)
  local list = { ... }
  return #list == 1 and list[1] or root.cat(list, c:axis(a.axis, list[1].ndim))
end)

-- The sizes of the parts of a Split.
local function parts_of(c, a, size, v)
  local given = c.opset >= 13 and v and c:list(v, "sizes of the parts") or a.split
  if given then return given end
  local n, list = #c.node.output, {}
  if a.num_outputs and a.num_outputs ~= n then c:refuse "another number of outputs" end
  local each = (size + n - 1) // n
  if c.opset < 18 and size % n ~= 0 then c:refuse("parts that are not equal", nil, "SGL_ESHAPE") end
  for i = 1, n do list[i] = i < n and each or size - each * (n - 1) end
  return list
end

op("Split", { inputs = { 1, 2 }, attrs = "axis split num_outputs", raw = true },
  function(c, a, v, sizes)
    local x = c:tensor(v)
    local axis = c:axis(a.axis or 0, x.ndim)
    local list = parts_of(c, a, x.shape[axis], sizes)
    return x:split(table.move(list, 1, #list, 1, {}), axis)
  end)

-- ---- slices

-- start, count and step of a slice of n elements, by the rules of Slice.
local function range(n, start, stop, step)
  local function inside(v, low, high)
    if core.is_dim(n) then
      if v >= 0 then return v < 1 << 31 and v or n end
      return v < -(1 << 31) and 0 or n + v
    end
    if v < 0 then v = v < -n and low or v + n end
    return math.max(low, math.min(high, v))
  end
  if step > 0 then
    start, stop = inside(start, 0, n), inside(stop, 0, n)
    local count = (stop - start + step - 1) // step
    return start, core.is_dim(count) and count or math.max(0, count)
  end
  start, stop = inside(start, -1, n - 1), inside(stop, -1, n - 1)
  return start, math.max(0, (start - stop - step - 1) // -step)
end

-- The slice of a tensor along one axis; backwards it is turned around.
local function cut(x, axis, start, count, step)
  local lo, hi, by, shape = {}, {}, {}, x.shape
  for i, size in ipairs(shape) do lo[i], hi[i], by[i] = 0, size, 1 end
  if step > 0 then
    lo[axis], hi[axis], by[axis] = start, start + (count - 1) * step + 1, step
    if count == 0 then lo[axis], hi[axis] = 0, 0 end
    return core.apply("slice", x, { start = lo, stop = hi, step = by })
  end
  lo[axis], hi[axis], by[axis] = start + (count - 1) * step, start + 1, -step
  if count == 0 then lo[axis], hi[axis] = 0, 0 end
  return core.apply("slice", x, { start = lo, stop = hi, step = by }):flip(axis)
end

-- Positions from 0 of a slice, for known values.
local function places(start, count, step)
  local list = {}
  for k = 0, count - 1 do list[#list + 1] = start + k * step end
  return list
end

op("Slice", { inputs = { 1, 5 }, attrs = "starts ends axes", raw = true },
  function(c, a, v, starts, ends, axes, steps)
    local rank = #shape_of(v)
    local old = c.opset < 10
    starts = old and a.starts or c:list(starts, "starts")
    ends = old and a.ends or c:list(ends, "ends")
    axes = old and a.axes or not old and axes and c:list(axes, "axes")
    steps = not old and steps and c:list(steps, "steps")
    for i, start in ipairs(starts) do
      local axis, step = c:axis(axes and axes[i] or i - 1, rank), steps and steps[i] or 1
      if step == 0 then c:refuse("a step of 0", nil, "SGL_EARG") end
      local n = shape_of(v)[axis]
      local from, count = range(n, start, ends[i], step)
      if known.small({ v }, 1) and not core.is_dim(n) then
        v = known.take(v, axis, places(from, count, step), { count })
      elseif from ~= 0 or count ~= n or step ~= 1 then
        v = cut(c:tensor(v), axis, from, count, step)
      end
    end
    return v
  end)

-- ---- padding

local MOST_PADS = 1 << 24
local MODES = { constant = "constant", reflect = "reflect", edge = "replicate", wrap = "circular" }

op("Pad", { inputs = { 1, 4 }, attrs = "mode pads value", raw = true },
  function(c, a, v, pads, value, axes)
    local x, old = c:tensor(v), c.opset < 11
    local rank, counts, mode = x.ndim, {}, MODES[a.mode or "constant"]
    if not mode then c:refuse(("the mode %s"):format(core.quote(a.mode))) end
    local list = old and a.pads or c:list(pads, "pads")
    local which = axes and c:axes(c:list(axes, "axes"), rank)
    local n = which and #which or rank
    if #list ~= 2 * n then c:refuse(("%d pads for %d dims"):format(#list, n), nil, "SGL_ESHAPE") end
    for i = 1, 2 * rank do counts[i] = 0 end
    for i, count in ipairs(list) do
      if not core.is_dim(count) and math.abs(count) > MOST_PADS then
        c:refuse(("%d elements before or behind a dim"):format(count), nil, "SGL_ESHAPE")
      end
    end
    for i = 1, n do
      local axis = which and which[i] or i
      counts[2 * (rank - axis) + 1], counts[2 * (rank - axis) + 2] = list[i], list[n + i]
    end
    local fill = old and a.value or value and c:single(value, "value") or 0
    if x.dtype == "bool" and mode == "constant" then
      return x:to "u8":pad(counts, { value = (fill == true or fill == 1) and 1 or 0 }):to "bool"
    end
    return x:pad(counts, { mode = mode, value = mode == "constant" and fill or 0 })
  end)

-- ---- blocks of an image, triangles

op("DepthToSpace", { inputs = ONE, attrs = "blocksize mode" }, function(_, a, x)
  local n, depth, h, w = table.unpack(x.shape)
  local b = a.blocksize
  local each = depth // (b * b)
  if a.mode == "CRD" then
    x = x:reshape(n, each, b, b, h, w):permute(1, 2, 5, 3, 6, 4)
  else
    x = x:reshape(n, b, b, each, h, w):permute(1, 4, 5, 2, 6, 3)
  end
  return x:reshape(n, each, h * b, w * b)
end)

op("SpaceToDepth", { inputs = ONE, attrs = "blocksize mode" }, function(_, a, x)
  local n, depth, h, w = table.unpack(x.shape)
  local b = a.blocksize
  x = x:reshape(n, depth, h // b, b, w // b, b)
  return (a.mode == "CRD" and x:permute(1, 2, 4, 6, 3, 5) or x:permute(1, 4, 6, 2, 3, 5))
    :reshape(n, depth * b * b, h // b, w // b)
end)

op("Trilu", { since = 14, inputs = { 1, 2 }, attrs = "upper", raw = true }, function(c, a, v, k)
  local x, by = c:tensor(v), k and c:single(k, "diagonal") or 0
  local shape, rank = x.shape, x.ndim
  local off = core.iota(shape, rank, "i64") - core.iota(shape, rank - 1, "i64")
  return (a.upper == 0 and off:le(by) or a.upper ~= 0 and off:ge(by)):where(x, x:zeros_like())
end)
