-- onnx/import/resize.lua: Resize and Upsample: each dim by weights between its elements.
--
-- Along a dim every element of the result is a weighted sum of at most a few of the input; where it
-- is one element with weight 1 they are picked, else the dim is multiplied by a matrix of weights.
local core = require "sgl.core"
local ops = require "sgl.onnx.ops"

local op = ops.op

-- Where element `i` of the result lies among those of the input.
local PLACES = {
  half_pixel = function(i, d) return (i + 0.5) / d.scale - 0.5 end,
  pytorch_half_pixel = function(i, d) return d.out > 1 and (i + 0.5) / d.scale - 0.5 or 0 end,
  align_corners = function(i, d) return d.out > 1 and i * (d.n - 1) / (d.out - 1) or 0 end,
  asymmetric = function(i, d) return i / d.scale end,
  half_pixel_symmetric = function(i, d)
    local adjusted = d.out / (d.scale * d.n)
    return d.n / 2 * (1 - adjusted) + (i + 0.5) / d.scale - 0.5
  end,
  tf_crop_and_resize = function(i, d)
    local first, last = d.roi[1], d.roi[2]
    if d.out > 1 then
      return first * (d.n - 1) + i * (last - first) * (d.n - 1) / (d.out - 1)
    end
    return 0.5 * (first + last) * (d.n - 1)
  end,
}

local NEAREST = {
  round_prefer_floor = function(x) return math.ceil(x - 0.5) end,
  round_prefer_ceil = function(x) return math.floor(x + 0.5) end,
  floor = math.floor,
  ceil = math.ceil,
}

-- ---- weights by distance

local function triangle(x) return math.max(0, 1 - math.abs(x)) end

local function cubic(a)
  return function(x)
    x = math.abs(x)
    if x <= 1 then return ((a + 2) * x - (a + 3)) * x * x + 1 end
    if x < 2 then return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a end
    return 0
  end
end

-- The weights of the elements around a place, as { position = weight }; those beyond an end count
-- for the last one, or are left out.
local function weights(place, d, kernel, reach, exclude)
  local row, total = {}, 0
  local stretch = d.antialias and d.scale < 1 and d.scale or 1
  local first = math.floor(place - reach / stretch) + 1
  local last = math.ceil(place + reach / stretch) - 1
  if first > last then first, last = math.floor(place), math.floor(place) end
  for k = first, last do
    local w = kernel((k - place) * stretch)
    local outside = k < 0 or k >= d.n
    if not (outside and exclude) then
      local at = math.max(0, math.min(d.n - 1, k))
      row[at] = (row[at] or 0) + w
      total = total + w
    end
  end
  if (exclude or stretch ~= 1) and total ~= 0 then
    for k, w in pairs(row) do row[k] = w / total end
  end
  return row
end

local function matrix(x, axis, d, kernel, reach, exclude)
  local list, at = {}, 0
  for i = 0, d.out - 1 do
    local place = d.place(i, d)
    if d.scale == 1 and d.n == d.out and not d.roi then place = i end
    local row = weights(place, d, kernel, reach, exclude)
    for k = 0, d.n - 1 do
      at = at + 1
      list[at] = row[k] or 0.0
    end
  end
  local m = core.tensor(list, x.dtype):reshape(d.out, d.n)
  return x:transpose(axis, -1):matmul(m:t()):transpose(axis, -1)
end

local function nearest(x, axis, d, round)
  local list = {}
  for i = 0, d.out - 1 do
    list[i + 1] = math.tointeger(math.max(0, math.min(d.n - 1, round(d.place(i, d)))))
  end
  return x:index_select(axis, core.tensor(list, "i32"))
end

-- Results whose place is outside the input have a value of their own.
local function extrapolated(x, axis, d, value)
  local inside, any = {}, false
  for i = 0, d.out - 1 do
    local place = d.place(i, d)
    inside[i + 1] = place >= 0 and place <= d.n - 1
    any = any or not inside[i + 1]
  end
  if not any then return x end
  local shape = {}
  for i = 1, x.ndim do shape[i] = i == axis and d.out or 1 end
  return core.tensor(inside, "bool"):reshape(shape):where(x, value)
end

-- ---- the operator

local MOST = 1 << 20             -- elements of a dim of the result

-- The sizes of the result, and the scale of each dim.
local function dims_of(c, a, x, axes, scales, sizes, roi)
  local list, policy = {}, a.keep_aspect_ratio_policy or "stretch"
  local common
  for i, axis in ipairs(axes) do
    local n = x.shape[axis]
    if core.is_dim(n) then c:refuse "a size that is symbolic" end
    local d = { n = n, axis = axis, antialias = a.antialias == 1 }
    if sizes then
      d.out, d.scale = sizes[i], sizes[i] / n
      local choose = policy == "not_larger" and math.min or math.max
      common = common and choose(common, d.scale) or d.scale
    else
      d.scale, d.out = scales[i], math.floor(n * scales[i])
    end
    if not (d.out >= 0 and d.out <= MOST) then
      c:refuse(("dim %d would have %s elements"):format(axis - 1, d.out), nil, "SGL_ESHAPE")
    end
    d.roi = roi and { roi[i], roi[#axes + i] }
    list[i] = d
  end
  if sizes and policy ~= "stretch" then
    for _, d in ipairs(list) do d.scale, d.out = common, math.floor(common * d.n + 0.5) end
  end
  return list
end

local function resize(c, a, x, dims)
  local how, dtype = a.mode or "nearest", x.dtype
  local name = a.coordinate_transformation_mode or "half_pixel"
  local round, place = NEAREST[a.nearest_mode or "round_prefer_floor"], PLACES[name]
  if not round or not place then
    c:refuse(("the mode %s or %s"):format(core.quote(name), core.quote(a.nearest_mode or "")))
  end
  local v = how ~= "nearest" and dtype ~= "f64" and x:to "f32" or x
  for _, d in ipairs(dims) do
    d.place = place
    if name ~= "tf_crop_and_resize" then d.roi = nil end
    if d.out ~= d.n or d.scale ~= 1 or d.roi then
      if how == "nearest" then v = nearest(v, d.axis, d, round)
      elseif how == "linear" then v = matrix(v, d.axis, d, triangle, 1, a.exclude_outside == 1)
      elseif how == "cubic" then
        v = matrix(v, d.axis, d, cubic(a.cubic_coeff_a or -0.75), 2, a.exclude_outside == 1)
      else c:refuse(("the mode %s"):format(core.quote(how))) end
      if d.roi then v = extrapolated(v, d.axis, d, a.extrapolation_value or 0) end
    end
  end
  if not dtype:find "f" and how ~= "nearest" then v = v:round() end
  return v:to(dtype)
end

local function all_axes(rank)
  local axes = {}
  for i = 1, rank do axes[i] = i end
  return axes
end

-- The elements of an optional input; one without elements is absent too.
local function given(c, v, what)
  if v == nil then return nil end
  local list = c:list(v, what)
  return #list > 0 and list or nil
end

-- What is meant below opset 11.
local function before_11(a)
  return { mode = a.mode, coordinate_transformation_mode = "asymmetric", nearest_mode = "floor" }
end

op("Resize", { since = 10, inputs = { 1, 4 }, raw = true, attrs = "antialias axes "
  .. "coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
  .. "keep_aspect_ratio_policy mode nearest_mode" }, function(c, a, v, roi, scales, sizes)
  local x = c:tensor(v)
  if c.opset < 11 then
    local old = before_11(a)
    return resize(c, old, x, dims_of(c, old, x, all_axes(x.ndim), c:list(roi, "scales")))
  end
  local axes = a.axes and c:axes(a.axes, x.ndim) or all_axes(x.ndim)
  scales, sizes = given(c, scales, "scales"), given(c, sizes, "sizes")
  if not scales and not sizes then c:refuse "neither scales nor sizes" end
  for _, list in ipairs { scales or sizes } do
    if #list ~= #axes then c:refuse(("%d numbers for %d dims"):format(#list, #axes)) end
  end
  return resize(c, a, x, dims_of(c, a, x, axes, scales, sizes,
    a.coordinate_transformation_mode == "tf_crop_and_resize" and given(c, roi, "region")))
end)

op("Upsample", { inputs = { 1, 2 }, raw = true, attrs = "mode scales" }, function(c, a, v, scales)
  local x = c:tensor(v)
  local old = before_11(a)
  local list = c.opset < 9 and a.scales or c:list(scales, "scales")
  return resize(c, old, x, dims_of(c, old, x, all_axes(x.ndim), list))
end)


