-- onnx/import/reduce.lua: reductions, softmax and its kin, products of matrices.
local api = require "sgl.api"
local core = require "sgl.core"
local known = require "sgl.onnx.known"
local ops = require "sgl.onnx.ops"

local op = ops.op
local unpack = table.unpack

-- ---- reductions: axes are an attribute of most below opset 18, of ReduceSum below 13

local LOWEST = { f16 = -math.huge, bf16 = -math.huge, f32 = -math.huge, f64 = -math.huge,
                 i32 = -0x80000000, i64 = math.mininteger, u8 = 0 }
local HIGHEST = { f16 = math.huge, bf16 = math.huge, f32 = math.huge, f64 = math.huge,
                  i32 = 0x7fffffff, i64 = math.maxinteger, u8 = 255 }

local function is_empty(x)
  for _, size in ipairs(x.shape) do if size == 0 then return true end end
  return false
end

local function extreme(method, limits)
  return function(x, axes, o)
    if x.dtype == "bool" then
      return extreme(method, limits)(x:to "u8", axes, o):to "bool"
    end
    if not is_empty(x) then return x[method](x, axes, o) end
    local shape, gone, out = x.shape, {}, {}
    for _, axis in ipairs(axes) do gone[axis] = true end
    for i, size in ipairs(shape) do
      if not gone[i] then out[#out + 1] = size elseif o.keepdim then out[#out + 1] = 1 end
    end
    return core.full(out, limits[x.dtype], x.dtype)
  end
end

local function sum(x, axes, o) return x:sum(axes, o):to(x.dtype) end

-- The mean of integers is one, towards zero.
local function mean(x, axes, o)
  if x.dtype:find "f" then return x:mean(axes, o) end
  return x:to "f64":mean(axes, o):to(x.dtype)
end

local function float(x) return x.dtype:find "f" and x or x:to "f64" end

local REDUCTIONS = {
  ReduceSum = sum,
  ReduceMean = mean,
  ReduceMax = extreme("amax", LOWEST),
  ReduceMin = extreme("amin", HIGHEST),
  ReduceProd = function(x, axes, o) return x:prod(axes, o):to(x.dtype) end,
  ReduceL1 = function(x, axes, o) return sum(x:abs(), axes, o) end,
  ReduceL2 = function(x, axes, o)
    local v = float(x)
    return (v * v):sum(axes, o):sqrt():to(x.dtype)
  end,
  ReduceSumSquare = function(x, axes, o) return sum(x * x, axes, o) end,
  ReduceLogSum = function(x, axes, o) return float(x):sum(axes, o):log():to(x.dtype) end,
  ReduceLogSumExp = function(x, axes, o) return float(x):logsumexp(axes, o):to(x.dtype) end,
}

-- One number of few known ones.
local FOLDS = {
  ReduceSum = { 0, function(x, y) return x + y end },
  ReduceProd = { 1, function(x, y) return x * y end },
  ReduceMax = { nil, math.max }, ReduceMin = { nil, math.min },
}

local function fold(name)
  local row = FOLDS[name]
  return row and function(c, a, v, axes)
    local all = not axes and not a.axes and a.noop_with_empty_axes ~= 1
    local list = v:list()
    if #v.shape > 1 or not (all or #v.shape == 1) or v.dtype == "bool" then return nil end
    local since = name == "ReduceSum" and 13 or 18
    if not all and not c:axes_given(a, axes, since, 1) then return nil end
    local value = row[1]
    for _, x in ipairs(list) do value = value == nil and x or value and row[2](value, x) end
    if value == nil then return nil end
    return known.new(v.dtype, a.keepdims == 0 and {} or #v.shape == 1 and { 1 } or {}, { value })
  end
end

for name, fn in pairs(REDUCTIONS) do
  op(name, { inputs = { 1, 2 }, attrs = "axes keepdims noop_with_empty_axes", raw = true,
             known = fold(name) }, function(c, a, v, given)
    local x = c:tensor(v)
    local axes = c:axes_given(a, given, name == "ReduceSum" and 13 or 18, x.ndim)
    if not axes or #axes == 0 then
      if a.noop_with_empty_axes == 1 then
        -- Nothing is summed; what is done to each element still is.
        return fn(x:unsqueeze(1), { 1 }, { keepdim = false })
      end
      axes = {}
      for i = 1, x.ndim do axes[i] = i end
    end
    if #axes == 0 then return fn(x:unsqueeze(1), { 1 }, { keepdim = false }) end
    return fn(x, axes, { keepdim = a.keepdims ~= 0 })
  end)
end

-- ---- softmax: below opset 13 over all dims from the axis on together

local function over_axis(name, fn)
  op(name, { inputs = { 1, 1 }, attrs = "axis" }, function(c, a, x)
    if c.opset >= 13 then return fn(x, c:axis(a.axis or -1, x.ndim)) end
    local shape = x.shape
    local axis = a.axis or 1
    if axis < 0 then axis = axis + #shape end
    if axis < 0 or axis > #shape then c:refuse("an axis that is not there", nil, "SGL_ESHAPE") end
    local front, back = 1, 1
    for i, size in ipairs(shape) do
      if i <= axis then front = front * size else back = back * size end
    end
    return fn(x:reshape(front, back), 2):reshape(shape)
  end)
end

over_axis("Softmax", function(x, axis) return x:softmax(axis) end)
over_axis("LogSoftmax", function(x, axis) return x:log_softmax(axis) end)
over_axis("Hardmax", function(x, axis)
  local at = x:argmax(axis, { keepdim = true })
  return core.iota(x.shape, axis, "i32"):eq(at):to(x.dtype)
end)

-- ---- matrices

op("MatMul", { inputs = { 2, 2 } }, function(_, _, x, y)
  if x.ndim == 1 and y.ndim > 2 then return x:unsqueeze(1):matmul(y):squeeze(-2) end
  if y.ndim == 1 and x.ndim > 1 then return x:matmul(y:unsqueeze(2)):squeeze(-1) end
  return x:matmul(y)
end)

op("Gemm", { inputs = { 2, 3 }, attrs = "alpha beta transA transB" }, function(_, a, x, y, z)
  if (a.transA or 0) ~= 0 then x = x:t() end
  if (a.transB or 0) ~= 0 then y = y:t() end
  local dtype, product = x.dtype, x:matmul(y)
  if (a.alpha or 1) ~= 1 then product = (product * a.alpha):to(dtype) end
  if z == nil then return product end
  return product + ((a.beta or 1) ~= 1 and (z * a.beta):to(dtype) or z)
end)

op("Einsum", { since = 12, inputs = { 1, 1 << 10 }, attrs = "equation" }, function(_, a, ...)
  return api.root.einsum(a.equation:gsub("%s", ""), unpack { ... })
end)
