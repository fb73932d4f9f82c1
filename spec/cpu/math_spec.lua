-- math_spec.lua: the error of each f32 function, in units in the last place, against the double
-- reference: floats of every exponent and both signs, and the edges of the range.
--
-- Bounds: what math.def states of a function (`make bench-math` finds it over all floats), and no
-- more than 2 ulp; rows of op.def that combine several roundings 4.
-- SGL_SPEC_SCALE=10 sweeps ten times as many floats.

local core = require "sgl.core"
local engine = require "spec.engine"

local BOUND, COMBINED = 2, 4
local EXACT = { neg = 0, detach = 0, abs = 0, sign = 0, floor = 0, ceil = 0, round = 0,
                sqrt = 0.5 + 2.0 ^ -20 }

-- 1 / (1 + exp(-x)): where exp(-x) overflows, what should be below the normal range is 0.
local MAY_VANISH = { sigmoid = 2.0 ^ -126 }

local bound = setmetatable({}, { __index = function(_, name) return EXACT[name] or COMBINED end })
for _, op in ipairs(core.ops()) do bound[op.name] = op.ulp end

-- The distance between neighbours of f32 around a double.
local function ulp(v)
  local exponent = (string.unpack("<i8", string.pack("<d", v)) >> 52 & 0x7ff) - 1023
  return 2.0 ^ (math.max(exponent, -126) - 23)
end

local LARGEST = engine.largest.f32

-- Error of y in ulp of the reference r.
local function error_in_ulp(y, r)
  if y == r or (y ~= y and r ~= r) then return 0 end
  if y ~= y or r ~= r then return math.huge end
  local edge = LARGEST + 2.0 ^ 103          -- halfway to the value that does not exist
  if math.abs(r) >= edge then
    return (y == r * math.huge) and 0 or (LARGEST + 2.0 ^ 104 - math.abs(y)) / 2.0 ^ 104
  end
  if math.abs(y) == math.huge then y = y > 0 and 2.0 ^ 128 or -2.0 ^ 128 end
  return math.abs(y - r) / ulp(r)
end

-- Patterns of floats: a stride through all of them, and what functions treat apart.
local function patterns()
  local list, stride = {}, math.max(1, math.floor(32003 / engine.scale))
  for bits = 0, 0xffffffff, stride do list[#list + 1] = bits end
  local EDGES = { 0, 1, 0x007fffff, 0x00800000, 0x00800001, 0x33800000, 0x3effffff, 0x3f000000,
    0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc90fda, 0x3fc90fdb, 0x40490fdb, 0x42b17217, 0x42b17218,
    0x42b20000, 0x42cff1b5, 0x4b000000, 0x7f000000, 0x7f7fffff, 0x7f800000, 0x7fc00000 }
  for _, bits in ipairs(EDGES) do
    for near = -2, 2 do
      local there = (bits + near) & 0x7fffffff
      list[#list + 1], list[#list + 2] = there, there | 0x80000000
    end
  end
  -- Around the places where the functions change their way, every exponent in between.
  local r = engine.random(1)
  for exponent = 90, 140 do
    for _ = 1, 64 do
      list[#list + 1] = (r:bits() & 0x807fffff) | exponent << 23
    end
  end
  return list
end

local function tensor_of(bits)
  local parts = {}
  for i = 1, #bits, 100 do
    local batch = { table.unpack(bits, i, math.min(i + 99, #bits)) }
    parts[#parts + 1] = string.pack("<" .. ("I4"):rep(#batch), table.unpack(batch))
  end
  return core.from_bytes(table.concat(parts), "f32", { #bits })
end

local function worst_of(name, args)
  local graph, program = engine.capture(function(...) return core.apply(name, { ... }) end, args)
  local got = engine.values(program:run(args)[1])
  local want = engine.values(graph:eval(args)[1])
  local worst, at, vanishing = 0, 1, MAY_VANISH[name] or 0
  for i = 1, #want do
    local y, r = got[i], want[i]
    local off = math.abs(y - r)
    local vanished = y == 0 and math.abs(r) < vanishing
    -- An ulp is at least 2^-24 of the value, so most elements are settled without its exponent.
    if off ~= off or off > worst * 2.0 ^ -24 * math.abs(r) and not vanished then
      local e = error_in_ulp(y, r)
      if e > worst then worst, at = e, i end
    end
  end
  return worst, at, got[at], want[at]
end

describe("the error in f32 #slow", function()
  local swept = tensor_of(patterns())

  it("is stated for each function, and at most 2 ulp", function()
    local stated = 0
    for _, op in ipairs(core.ops()) do
      if op.ulp then
        stated = stated + 1
        assert.is_true(op.ulp > 0.5 and op.ulp <= BOUND, op.name)
      end
    end
    assert.are.equal(18, stated)
  end)

  for _, op in ipairs(core.ops()) do
    if op.family == "unary" then
      it(("of %s is at most %g ulp"):format(op.name, bound[op.name]), function()
        local worst, at, got, want = worst_of(op.name, { swept })
        assert(worst <= bound[op.name], ("%.3f ulp at %a: %a instead of %a"):format(worst,
          engine.values(swept)[at], got, want))
      end)
    end
  end

  local function pairs_of(lo, hi, n)
    local r, a, b = engine.random(2), {}, {}
    for i = 1, n do
      a[i] = math.exp(lo + (hi - lo) * r:unit())
      b[i] = (r:unit() - 0.5) * 40
    end
    return { engine.pack(a, "f32", { n }), engine.pack(b, "f32", { n }) }
  end

  it("of pow is as stated, also far from 1", function()
    local worst, at, got, want = worst_of("pow", pairs_of(-3, 3, engine.times(40000)))
    assert(worst <= bound.pow, ("%.3f ulp, element %d: %a instead of %a"):format(worst, at, got,
      want))
  end)

  it("of pow is none at its special values", function()
    local nan, inf = 0.0 / 0.0, math.huge
    local x = { nan, 1.0, 0.0, -0.0, -0.0, inf, inf, -inf, -inf, 0.5, 2.0, -1.0, -2.0, -2.0, 0.0 }
    local y = { 0.0, nan, 3.0, 3.0, -3.0, 2.0, -2.0, 3.0, 2.0, inf, -inf, inf, 3.0, 0.5, -1.0 }
    local worst, at, got, want = worst_of("pow", { engine.pack(x, "f32", { #x }),
      engine.pack(y, "f32", { #y }) })
    assert(worst == 0, ("element %d: %a instead of %a"):format(at, got, want))
  end)

  it("of atan2 is as stated in all quadrants", function()
    local args = pairs_of(-6, 6, engine.times(20000))
    local flipped = { args[2], args[1] }
    for _, list in ipairs { args, flipped } do
      local worst, at, got, want = worst_of("atan2", list)
      assert(worst <= bound.atan2, ("%.3f ulp, element %d: %a instead of %a"):format(worst, at,
        got, want))
    end
  end)

  it("of add, sub, mul and div is the rounding alone", function()
    local x = core.sample("anything", 1, { engine.times(20000) }, "f32")
    local y = core.sample("anything", 2, x.shape, "f32")
    for _, name in ipairs { "add", "sub", "mul", "div" } do
      local worst, at, got, want = worst_of(name, { x, y })
      assert(worst <= 0.5 + 2.0 ^ -20, ("%s: %.3f ulp, element %d: %a instead of %a"):format(name,
        worst, at, got, want))
    end
  end)
end)
