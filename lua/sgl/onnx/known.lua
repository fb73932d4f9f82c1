-- onnx/known.lua: values that are known while a model is recorded: constants and sizes.
--
-- A model computes its own shapes by nodes (Shape, Gather, Concat, Reshape …). Those are computed
-- here, in Lua, so that what is recorded has sizes and no questions. A known value has a dtype, a
-- shape, and its elements in row-major order as `data`; constants of a file are tensors too, and
-- big ones are decoded when they are asked for. Sizes of a step with symbolic dims may stand
-- among the elements.
-- Holds: what is computed here has the values that the ops would have: integers are exact, floats
--        are rounded to their dtype after each step.
local core = require "sgl.core"
local values = require "sgl.onnx.values"

local known = {}
local Known = {}
Known.__index = Known

local MOST = 1024               -- elements of what is computed here; more is left to tensors

local function count_of(shape)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  return n
end

known.count = count_of

--- A known value of a list of numbers or booleans.
function known.new(dtype, shape, data)
  return setmetatable({ dtype = dtype, shape = shape, data = data }, Known)
end

--- Integers as i64[n].
function known.integers(list) return known.new("i64", { #list }, list) end

--- A known value of bytes. What it needs is made now, so that a step that is recorded, in which it
--- is read, changes nothing.
function known.bytes(bytes, dtype, shape)
  local v = setmetatable({ dtype = dtype, shape = shape }, Known)
  v.made = core.from_bytes(bytes, dtype, shape)
  if count_of(shape) <= MOST then v.data = values.numbers(bytes, dtype) end
  return v
end

--- Is it one?
function known.is(v) return getmetatable(v) == Known end

--- The elements.
function Known:list()
  return self.data or values.numbers(self.made:bytes(), self.dtype)
end

--- The number of elements.
function Known:count() return count_of(self.shape) end

--- As a tensor.
function Known:tensor()
  if self.made then return self.made end
  local count = self:count()
  if count == 0 then return core.full(self.shape, 0, self.dtype) end
  if #self.shape == 0 or count == 1 then
    return core.full(self.shape, self.data[1], self.dtype)
  end
  return core.tensor(self.data, self.dtype):reshape(self.shape)
end

-- ---- rounding

local ROUND = {
  f32 = function(v) return (string.unpack("<f", string.pack("<f", v))) end,
  f64 = function(v) return v + 0.0 end,
  i64 = function(v) return v end,
  i32 = function(v) return math.type(v) and (v << 32 >> 32 ~ 0x80000000) - 0x80000000 or v end,
  u8 = function(v) return v & 0xff end,
  bool = function(v) return v end,
}

--- Whether what nodes make of the values is computed here.
function known.small(list, n)
  for i = 1, n do
    local v = list[i]
    if v ~= nil and not (known.is(v) and ROUND[v.dtype] and v:count() <= MOST) then return false end
  end
  return true
end

-- ---- element by element

-- The shape that shapes broadcast to.
local function broadcast(a, b)
  local out, rank = {}, math.max(#a, #b)
  local function size(list, i) return i > 0 and list[i] or 1 end
  for i = 1, rank do
    local x, y = size(a, i - rank + #a), size(b, i - rank + #b)
    out[i] = x == 1 and y or x
  end
  return out
end

known.broadcast = broadcast

-- For each element of `shape`, the position of the one of `own` that is repeated there.
local function positions(own, shape)
  local list, strides, step = { 1 }, {}, 1
  for i = #own, 1, -1 do
    strides[i + #shape - #own] = own[i] == 1 and 0 or step
    step = step * own[i]
  end
  for axis, size in ipairs(shape) do
    local wider = {}
    for _, at in ipairs(list) do
      for k = 0, size - 1 do wider[#wider + 1] = at + k * (strides[axis] or 0) end
    end
    list = wider
  end
  return list
end

--- A function of elements as one of known values; `dtype`: of the result, else that of the last.
function known.each(fn, dtype)
  return function(_, _, ...)
    local args, n = { ... }, select("#", ...)
    local shape, lists, places, out = {}, {}, {}, {}
    for i = 1, n do shape = broadcast(shape, args[i].shape) end
    for i = 1, n do lists[i], places[i] = args[i]:list(), positions(args[i].shape, shape) end
    local result = dtype or args[n].dtype
    local round = ROUND[result]
    for i = 1, count_of(shape) do
      local row = {}
      for k = 1, n do row[k] = lists[k][places[k][i]] end
      local v = fn(table.unpack(row, 1, n))
      if v == nil then return nil end
      out[i] = round(v)
    end
    return known.new(result, shape, out)
  end
end

--- Elements of another dtype.
function known.cast(v, dtype)
  local round, out = ROUND[dtype], {}
  if not round then return nil end
  for i, x in ipairs(v:list()) do
    if dtype == "bool" then x = x ~= 0 and x ~= false
    elseif x == true or x == false then x = x and 1 or 0 end
    if dtype ~= "bool" and not dtype:find "f" and math.type(x) == "float" then
      x = math.tointeger(x < 0 and math.ceil(x) or math.floor(x))
      if not x then return nil end
    end
    out[i] = round(x)
  end
  return known.new(dtype, v.shape, out)
end

-- ---- movement: which element stands where

--- A value of other sizes with the elements at positions (from 1) of the old one.
function known.pick(v, shape, places)
  local list, out = v:list(), {}
  for i, at in ipairs(places) do out[i] = list[at] end
  return known.new(v.dtype, shape, out)
end

--- The same elements in another shape.
function known.reshape(v, shape)
  local same = known.new(v.dtype, shape, v.data)
  same.made = v.made and v.made:reshape(shape)
  return same
end

function known.expand(v, shape)
  return known.pick(v, shape, positions(v.shape, shape))
end

--- Dims in another order, from 1.
function known.permute(v, perm)
  local shape, strides, step, places = {}, {}, 1, { 1 }
  for i = #v.shape, 1, -1 do
    strides[i] = step
    step = step * v.shape[i]
  end
  for i, from in ipairs(perm) do
    local more = {}
    shape[i] = v.shape[from]
    for _, at in ipairs(places) do
      for k = 0, shape[i] - 1 do more[#more + 1] = at + k * strides[from] end
    end
    places = more
  end
  return known.pick(v, shape, places)
end

--- Slices along an axis (from 1) at positions (from 0), in their order; `inner`: the sizes that
--- come in the axis' place.
function known.take(v, axis, at, inner)
  local shape, before, after = v.shape, 1, 1
  for i, size in ipairs(shape) do
    if i < axis then before = before * size elseif i > axis then after = after * size end
  end
  local places, out, size = {}, {}, shape[axis]
  for b = 0, before - 1 do
    for _, k in ipairs(at) do
      if k < 0 then k = k + size end
      if k < 0 or k >= size then return nil end
      for a = 1, after do places[#places + 1] = (b * size + k) * after + a end
    end
  end
  table.move(shape, 1, axis - 1, 1, out)
  table.move(inner, 1, #inner, #out + 1, out)
  table.move(shape, axis + 1, #shape, #out + 1, out)
  return known.pick(v, out, places)
end

--- Values one behind the other along an axis from 1.
function known.concat(list, axis)
  local before, size, out = 1, 0, {}
  local shape = table.move(list[1].shape, 1, #list[1].shape, 1, {})
  for i = 1, axis - 1 do before = before * shape[i] end
  for b = 0, before - 1 do
    for _, v in ipairs(list) do
      local each, data = v:count() // math.max(before, 1), v:list()
      for k = 1, each do out[#out + 1] = data[b * each + k] end
    end
  end
  for _, v in ipairs(list) do size = size + v.shape[axis] end
  shape[axis] = size
  return known.new(list[1].dtype, shape, out)
end

return known
