-- engine.lua: what the specs of the engine share: values of tensors as Lua numbers, comparison by
-- an allowed error for each element, seeds, and how much of the work to do.
--
-- SGL_SPEC_SCALE  part of the counts that slow specs do (default 1; sanitizer runs take less)
-- SGL_SEED        seed of the random ones; each prints the one it used
-- Holds: nothing here goes through the functions under test but core.from_bytes and t:bytes().

local core = require "sgl.core"

local M = {}

M.scale = tonumber(os.getenv("SGL_SPEC_SCALE")) or 1
M.seed = math.tointeger(tonumber(os.getenv("SGL_SEED"))) or os.time()
M.root = debug.getinfo(1, "S").source:match("^@(.*)spec/engine.lua$") or "./"
M.binary = os.getenv("SGL_EXE") or arg and arg[-1] or "build/sgl"

-- A number of repetitions under the scale, at least one.
function M.times(n)
  return math.max(1, math.floor(n * M.scale))
end

-- The unit roundoff: half the distance from 1 to the next value. Integers and bool are exact.
M.roundoff = { f64 = 2.0 ^ -53, f32 = 2.0 ^ -24, f16 = 2.0 ^ -11, bf16 = 2.0 ^ -8 }
M.largest = { f64 = math.huge, f32 = 0x1.fffffep127, f16 = 65504.0, bf16 = 0x1.fep127 }
M.smallest = { f64 = 2.0 ^ -1074, f32 = 2.0 ^ -149, f16 = 2.0 ^ -24, bf16 = 2.0 ^ -133 }

function M.is_float(dtype)
  return M.roundoff[dtype] ~= nil
end

function M.count(shape)
  local n = 1
  for _, d in ipairs(shape) do n = n * d end
  return n
end

function M.shape_text(shape)
  return "[" .. table.concat(shape, ", ") .. "]"
end

-- ---- bytes and numbers

local PACKED = { f32 = "f", f64 = "d", i32 = "i4", i64 = "i8", u8 = "B", bool = "B",
                 f16 = "I2", bf16 = "I2" }
local BATCH = 128

local function half(bits)
  local sign = bits & 0x8000 ~= 0 and -1.0 or 1.0
  local exponent, fraction = bits >> 10 & 31, bits & 1023
  if exponent == 31 then return fraction ~= 0 and 0.0 / 0.0 or sign * math.huge end
  if exponent == 0 then return sign * fraction * 2.0 ^ -24 end
  return sign * (1 + fraction / 1024) * 2.0 ^ (exponent - 15)
end

local function brain(bits)
  return (string.unpack("<f", string.pack("<I4", bits << 16)))
end

local DECODE = { f16 = half, bf16 = brain }

-- Elements of little-endian bytes in row-major order.
function M.unpack(bytes, dtype)
  local code = PACKED[dtype]
  local size, out, at = string.packsize("<" .. code), {}, 1
  local n = #bytes // size
  for first = 1, n, BATCH do
    local m = math.min(BATCH, n - first + 1)
    local batch = { string.unpack("<" .. code:rep(m), bytes, at) }
    at = batch[m + 1]
    table.move(batch, 1, m, first, out)
  end
  local decode = DECODE[dtype]
  for i = 1, decode and n or 0 do out[i] = decode(out[i]) end
  return out
end

function M.values(t)
  return M.unpack(t:bytes(), t.dtype)
end

-- A tensor of one of the dtypes that string.pack knows.
function M.pack(list, dtype, shape)
  local code, parts = PACKED[dtype], {}
  for first = 1, #list, BATCH do
    local m = math.min(BATCH, #list - first + 1)
    parts[#parts + 1] = string.pack("<" .. code:rep(m), table.unpack(list, first, first + m - 1))
  end
  return core.from_bytes(table.concat(parts), dtype, shape)
end

-- The same tensor without its signs.
function M.absolute(t)
  local size = M.is_float(t.dtype) and string.packsize(PACKED[t.dtype])
  if not size then return t end
  local bytes = t:bytes():gsub("(" .. ("."):rep(size - 1) .. ")(.)", function(low, high)
    return low .. string.char(high:byte() & 0x7f)
  end)
  return core.from_bytes(bytes, t.dtype, t.shape)
end

-- ---- comparison

-- What a value of the reference, a double, becomes at the ends of the dtype's range.
local function to_range(v, dtype)
  local largest = M.largest[dtype]
  if v ~= v or v == math.huge or v == -math.huge then return v end
  local edge = largest * (1 + M.roundoff[dtype])
  if v > edge then return math.huge end
  if v < -edge then return -math.huge end
  return v
end

-- nil when `got` (of the dtype) agrees with `want`: NaN with NaN, integers exactly, floats within
-- allowed(i, want). Else a sentence with the first element that does not.
function M.difference(got, want, dtype, allowed)
  if #got ~= #want then return ("%d elements instead of %d"):format(#got, #want) end
  local float = M.is_float(dtype)
  for i = 1, #want do
    local a, b = got[i], want[i]
    if float then b = to_range(b, dtype) end
    local same = a == b or (a ~= a and b ~= b)
    if not same and not (float and math.abs(a - b) <= allowed(i, b)) then
      return ("element %d is %.9g instead of %.9g (allowed: %.3g)"):format(i, a, b,
        float and allowed(i, b) or 0)
    end
  end
  return nil
end

-- An allowed error: `rel` of the value and of a magnitude (a number, or one for each element),
-- and the least positive value, so that results below the normal range may differ by one step.
function M.within(rel, dtype, magnitude)
  local least = M.smallest[dtype] or 0
  local list = type(magnitude) == "table" and magnitude
  return function(i, want)
    local size = math.max(math.abs(want), list and list[i] or magnitude or 0)
    return rel * size + least
  end
end

-- ---- random numbers of the specs themselves (splitmix64: one seed, one sequence)

local Random = {}
Random.__index = Random

function M.random(seed)
  return setmetatable({ state = seed }, Random)
end

function Random:bits()
  self.state = self.state + 0x9E3779B97F4A7C15
  local z = self.state
  z = (z ~ z >> 30) * 0xBF58476D1CE4E5B9
  z = (z ~ z >> 27) * 0x94D049BB133111EB
  return z ~ z >> 31
end

-- An integer in [lo, hi].
function Random:int(lo, hi)
  return lo + (self:bits() >> 1) % (hi - lo + 1)
end

function Random:unit()
  return (self:bits() >> 11) * 2.0 ^ -53
end

function Random:chance(p)
  return self:unit() < p
end

function Random:pick(list)
  return list[self:int(1, #list)]
end

function Random:shuffle(list)
  for i = #list, 2, -1 do
    local j = self:int(1, i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

-- ---- graphs

-- The graph that fn records on arguments of the given tensors' types, and its program. fn returns
-- a tensor or a list.
function M.capture(fn, args)
  local program = core.capture(function(...)
    local out = fn(...)
    return core.is_tensor(out) and { out } or out
  end, args, nil, nil, true)   -- what a spec notes from inside is no concern
  return program:graph(), program
end

-- An error object, whether fn raises it or returns nil, message, code; nil when fn succeeds.
function M.failure(fn, ...)
  local ok, first, message, code = pcall(fn, ...)
  if ok and first ~= nil then return nil end
  if ok then return { message = message, code = code } end
  return type(first) == "table" and first or { message = tostring(first), code = "none" }
end

return M
