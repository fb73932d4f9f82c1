-- dims.lua: positions, axes and shapes as the user writes them, made into numbers.
--
-- In:    1-based dims, negative from the end; sizes as arguments or as one list.
-- Out:   resolved positive axes, plain lists of sizes.
-- Holds: what does not fit raises with the operation, the value and the tensor's shape.
local api = require "sgl.api"
local core = require "sgl.core"

local dims = {}

--- "f32[2, 3]"
dims.text = api.describe

--- A shape as text: "[2, 3]".
dims.shape_text = api.shape_text

--- Are two sizes the same expression? `==` asks for the values, which may differ by call.
function dims.same(a, b) return tostring(a) == tostring(b) end

--- Is the size 1? Of a symbolic one that may be: as in this call, which a guard then holds it to.
--- For what has another rank then.
function dims.is_one(size)
  if core.is_dim(size) then return size:eq(1) end
  return size == 1
end

--- The larger and the smaller of two sizes, also of symbolic ones, which math.max does not take.
function dims.larger(a, b) return a <= b and b or a end
function dims.smaller(a, b) return a <= b and a or b end

--- Number of elements of a shape.
function dims.count(shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return n
end

--- A dim as a number from 1 to `rank`; `extra` allows that many dims more (for new dims).
function dims.axis(op, t, dim, extra)
  local rank = t.ndim + (extra or 0)
  local axis = dim < 0 and dim + rank + 1 or dim
  if axis < 1 or axis > rank then
    core.raise("SGL_EARG", ("%s: dim %s is not a dim of %s"):format(op, dim, dims.text(t)),
      rank == 0 and "a tensor without dims (a scalar) has no dim to name"
      or ("dims count from 1 to %s, or from -1 (the last) to -%s"):format(rank, rank))
  end
  return axis
end

--- A list of different axes from nil (all), a number or a list.
function dims.axes(op, t, given)
  local axes, seen = {}, {}
  if given == nil then
    for axis = 1, t.ndim do axes[axis] = axis end
    return axes
  end
  for i, dim in ipairs(type(given) == "table" and given or { given }) do
    dim = core.number_settle(dim, "the dim")
    if math.type(dim) ~= "integer" then
      core.raise("SGL_EARG", ("%s: a dim must be an integer, got %s"):format(
        op, api.describe(dim)))
    end
    axes[i] = dims.axis(op, t, dim)
    if seen[axes[i]] then
      core.raise("SGL_EARG", ("%s: dim %s is given twice for %s"):format(op, dim, dims.text(t)))
    end
    seen[axes[i]] = true
  end
  return axes
end

--- Axes from a rest argument: f(1, 2) or f({1, 2}); none given: nil.
function dims.rest(list)
  if #list == 0 then return nil end
  if #list == 1 and type(list[1]) == "table" then return list[1] end
  return list
end

--- Sizes from a rest argument: f(2, 3) or f({2, 3}). Sizes below `least` (default 0) raise.
function dims.sizes(op, list, least)
  local sizes = {}
  for i, size in ipairs(dims.rest(list) or {}) do
    size = core.number_settle(size, "the size")
    sizes[i] = size
    local whole = math.tointeger(size)
    if not core.is_dim(size) and (not whole or whole < (least or 0)) then
      core.raise("SGL_ESHAPE", ("%s: size %s of the shape must be a whole number from %s, got %s")
        :format(op, i, least or 0, api.describe(size)))
    end
  end
  return sizes
end

--- The shape with the reduced axes left out, or kept as 1.
function dims.reduced(shape, axes, keep)
  local gone, result = {}, {}
  for _, axis in ipairs(axes) do gone[axis] = true end
  for axis, size in ipairs(shape) do
    if not gone[axis] then
      result[#result + 1] = size
    elseif keep then
      result[#result + 1] = 1
    end
  end
  return result
end

--- The shape that two shapes broadcast to, from the right; nil when they do not fit.
function dims.broadcast(a, b)
  local rank, result = math.max(#a, #b), {}
  for i = 0, rank - 1 do
    local m, n = i < #a and a[#a - i] or 1, i < #b and b[#b - i] or 1
    if m ~= n and m ~= 1 and n ~= 1 then return nil end
    result[rank - i] = m == 1 and n or m
  end
  return result
end

--- Row-major strides in elements.
function dims.strides(shape)
  local strides, stride = {}, 1
  for axis = #shape, 1, -1 do
    strides[axis], stride = stride, stride * shape[axis]
  end
  return strides
end

local WIDTH = {}
for i, dtype in ipairs(core.dtypes()) do WIDTH[dtype.name] = i end

--- The dtype that two promote to: the wider one; f16 with bf16 gives f32.
function dims.promote(a, b)
  if a ~= b and (a == "f16" or a == "bf16") and (b == "f16" or b == "bf16") then return "f32" end
  return WIDTH[a] > WIDTH[b] and a or b
end

--- A list of n times the same value.
function dims.fill(n, value)
  local list = {}
  for i = 1, n do list[i] = value end
  return list
end

return dims
