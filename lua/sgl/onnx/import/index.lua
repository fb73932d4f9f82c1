-- onnx/import/index.lua: operators that read and write at positions, and that sort.
local core = require "sgl.core"
local known = require "sgl.onnx.known"
local ops = require "sgl.onnx.ops"

local op = ops.op
local TWO, THREE = { 2, 2 }, { 3, 3 }

-- Positions from 0, where those below 0 count from the end of a dim of n elements.
local function from_front(at, n)
  return at:lt(0):where(at + n, at)
end

op("Gather", { inputs = TWO, attrs = "axis", known = function(c, a, v, at)
  local axis = c:axis(a.axis or 0, #v.shape)
  return known.take(v, axis, at:list(), at.shape)
end, raw = true }, function(c, a, v, at)
  local x = c:tensor(v)
  local axis = c:axis(a.axis or 0, x.ndim)
  if known.is(at) then
    local negative = false
    for _, k in ipairs(at:list()) do negative = negative or k < 0 end
    if not negative then return x:index_select(axis, at:tensor()) end
  end
  return x:index_select(axis, from_front(c:tensor(at), x.shape[axis]))
end)

op("GatherElements", { since = 11, inputs = TWO, attrs = "axis" }, function(c, a, x, at)
  local axis = c:axis(a.axis or 0, x.ndim)
  return x:gather(axis, from_front(at, x.shape[axis]))
end)

-- Rows of positions in the dims of `shape` behind the first `batch` as positions in them flattened.
local function flat_rows(at, shape, batch, depth)
  local flat, rank = nil, at.ndim
  for i = 1, depth do
    local k = from_front(at:select(rank, i), shape[batch + i]):to "i64"
    -- Looked up in the list of all, so that a position outside is an error.
    k = core.iota({ shape[batch + i] }, 1, "i64"):index_select(1, k)
    flat = flat and flat * shape[batch + i] + k or k
  end
  return flat
end

local function product(shape, first, last)
  local n = 1
  for i = first, last do n = n * shape[i] end
  return n
end

op("GatherND", { since = 11, inputs = TWO, attrs = "batch_dims" }, function(_, a, x, at)
  local shape, batch = x.shape, a.batch_dims or 0
  local own = at.shape
  local depth = own[#own]
  local rows, before = flat_rows(at, shape, batch, depth), product(shape, 1, batch)
  local each = product(shape, batch + 1, batch + depth)
  if batch > 0 then
    local start = core.iota({ before }, 1, "i64") * each
    local line = table.move(shape, 1, batch, 1, {})
    for i = batch + 1, #own - 1 do line[i] = 1 end
    rows = rows + start:reshape(line)
  end
  local rest, out = table.move(shape, batch + depth + 1, #shape, 1, {}), {}
  local flat = x:reshape { before * each, table.unpack(rest) }
  table.move(own, 1, #own - 1, 1, out)
  table.move(rest, 1, #rest, #out + 1, out)
  return flat:index_select(1, rows:flatten()):reshape(out)
end)

local INFINITE = { f16 = math.huge, bf16 = math.huge, f32 = math.huge, f64 = math.huge,
                   i32 = 0x7fffffff, i64 = math.maxinteger }

-- What x and all updates of a row give: a value that changes nothing, the reduction, the op.
local COMBINE = {
  mul = { function() return 1 end, "prod", function(x, y) return x * y end },
  max = { function(dtype) return -INFINITE[dtype] end, "amax",
          function(x, y) return x:maximum(y) end },
  min = { function(dtype) return INFINITE[dtype] end, "amin",
          function(x, y) return x:minimum(y) end },
}
local MOST = 1 << 24

-- Each row's updates picked out of all and reduced: work in proportion to rows times updates.
local function combined(c, x, rows, updates, how)
  local n, count = x.shape[1], rows.shape[1]
  if n * updates:numel() > MOST then
    c:refuse(("the reduction, of %d updates of %d rows"):format(count, n))
  end
  local line = { n, count }
  for i = 2, x.ndim do line[i + 1] = 1 end
  local own = core.iota({ n, count }, 1, "i64"):eq(rows:unsqueeze(1)):reshape(line)
  local neutral = core.full({}, how[1](x.dtype), x.dtype)
  local picked = own:where(updates:unsqueeze(1), neutral)
  return how[3](x, picked[how[2]](picked, 2):to(x.dtype))
end

-- x with the updates at rows: added, or put there where a row comes once.
local function scatter(c, x, rows, updates, reduction)
  if reduction == "add" then return x:index_add(1, rows, updates) end
  if COMBINE[reduction] then return combined(c, x, rows, updates, COMBINE[reduction]) end
  if reduction ~= "none" and reduction ~= nil then
    c:refuse(("the reduction %s"):format(core.quote(reduction)))
  end
  local number = x.dtype == "bool" or x.dtype == "u8"
  local zeros, put = x:zeros_like { dtype = number and "i32" or x.dtype }, updates
  if number then put = updates:to "i32" end
  local once = rows:ones_like { dtype = "i32" }
  local there = core.full({ x.shape[1] }, 0, "i32"):index_add(1, rows, once)
  local line = { x.shape[1] }
  for i = 2, x.ndim do line[i] = 1 end
  return there:gt(0):reshape(line):where(zeros:index_add(1, rows, put):to(x.dtype), x)
end

op("ScatterND", { since = 11, inputs = THREE, attrs = "reduction" }, function(c, a, x, at, updates)
  local shape, own = x.shape, at.shape
  local depth = own[#own]
  local rows = flat_rows(at, shape, 0, depth):flatten()
  local rest = table.move(shape, depth + 1, #shape, 1, {})
  local flat = x:reshape { product(shape, 1, depth), table.unpack(rest) }
  local put = updates:reshape { product(own, 1, #own - 1), table.unpack(rest) }
  return scatter(c, flat, rows, put, a.reduction):reshape(shape)
end)

local function scatter_elements(c, a, x, at, updates)
  local shape, own = x.shape, at.shape
  local axis = c:axis(a.axis or 0, x.ndim)
  local rows, stride = nil, 1
  for i = #shape, 1, -1 do
    local k
    if i == axis then
      k = core.iota({ shape[i] }, 1, "i64"):index_select(1, from_front(at, shape[i]):to "i64")
    else
      k = core.iota(own, i, "i64")
    end
    rows = rows and rows + k * stride or k
    stride = stride * shape[i]
  end
  return scatter(c, x:flatten(), rows:flatten(), updates:flatten(), a.reduction):reshape(shape)
end

op("ScatterElements", { since = 11, inputs = THREE, attrs = "axis reduction" }, scatter_elements)
op("Scatter", { since = 9, inputs = THREE, attrs = "axis" }, scatter_elements)

local function one_hot(c, a, at, depth, two)
  local n, x = c:single(depth, "depth"), c:tensor(at)
  n = math.tointeger(n) or n
  local shape, axis = x.shape, a.axis or -1
  axis = axis < 0 and axis + #shape + 2 or axis + 1
  if x.dtype:find "f" then x = x:to "i64" end
  table.insert(shape, axis, n)
  local on = from_front(x, n):unsqueeze(axis):eq(core.iota(shape, axis, x.dtype))
  two = c:tensor(two)
  return on:where(two:select(1, 2), two:select(1, 1))
end
op("OneHot", { since = 9, inputs = THREE, attrs = "axis", raw = true }, one_hot)

-- ---- order

op("TopK", { inputs = { 1, 2 }, attrs = "axis k largest sorted", raw = true }, function(c, a, v, k)
  local x = c:tensor(v)
  local axis = c:axis(a.axis or -1, x.ndim)
  local n = c.opset < 10 and a.k or c:single(k, "k")
  local top, at = x:topk(n, axis, { largest = a.largest ~= 0 })
  return top, at:to "i64"
end)

op("CumSum", { since = 11, inputs = TWO, attrs = "exclusive reverse", raw = true },
  function(c, a, v, axis)
    local x = c:tensor(v)
    local at = c:axis(c:single(axis, "axis"), x.ndim)
    local sum = x:cumsum(at, { reverse = a.reverse == 1 })
    return a.exclusive == 1 and sum - x or sum
  end)

-- The position of the first, or last, of the extremes.
local function extreme(name)
  op(name, { inputs = { 1, 1 }, attrs = "axis keepdims select_last_index" }, function(c, a, x)
    local axis = c:axis(a.axis or 0, x.ndim)
    local method, keep = name:lower(), { keepdim = a.keepdims ~= 0 }
    local at
    if a.select_last_index == 1 then
      local turned = x:flip(axis)
      at = x.shape[axis] - 1 - turned[method](turned, axis, keep)
    else
      at = x[method](x, axis, keep)
    end
    return at:to "i64"
  end)
end

extreme "ArgMax"
extreme "ArgMin"
