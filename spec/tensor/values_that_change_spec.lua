-- values_that_change_spec.lua: outside steps, a position or a number that changes from operation to
-- operation does not make a program of its own each time.

local sgl = require "sgl"
local core = require "sgl.core"

-- Programs compiled while fn runs for 1 … count.
local function compiled(count, fn)
  local before = core.cache_stats().misses
  for i = 1, count do fn(i) end
  return core.cache_stats().misses - before
end

local function numbered(...)
  local count = 1
  for _, n in ipairs { ... } do count = count * n end
  return sgl.arange(count):reshape(...):realize()
end

describe("a slice of a known value", function()
  local x = numbered(7, 5, 3)

  it("costs no program, wherever it begins", function()
    local got = {}
    assert.is_true(compiled(7 * 5 * 3, function(i)
      local at = i - 1
      got[i] = x[at // 15 + 1][at // 3 % 5 + 1][at % 3 + 1]:item()
    end) <= 5)     -- what other specs left may be run meanwhile
    for i = 1, 7 * 5 * 3 do assert.are.equal(i - 1, got[i]) end
  end)

  it("has the elements that a table of them would", function()
    local rows = x:tolist()
    for first = 1, 7 do
      for last = first, 7 do
        local step = first % 3 + 1
        local part = x[{ { first, last, step }, { 2, 4 } }]
        local want = {}
        for i = first, last, step do
          want[#want + 1] = { rows[i][2], rows[i][3], rows[i][4] }
        end
        assert.are.same(want, part:tolist())
      end
    end
  end)

  it("of every dtype keeps its bits", function()
    for _, dtype in ipairs { "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "bool" } do
      local t = sgl.tensor({ { 1, 0, 3 }, { 0, 5, 6 } }):to(dtype):realize()
      local bytes = t:bytes()
      local width = #bytes // 6
      assert.are.equal(bytes:sub(3 * width + 1), t[2]:bytes(), dtype)
      assert.are.equal(bytes:sub(width + 1, 3 * width), t[1][{ { 2, 3 } }]:bytes(), dtype)
    end
  end)

  it("may be empty, or all of it", function()
    assert.are.same({}, x[{ { 3, 2 } }]:tolist())
    assert.are.equal(x:bytes(), x[{ { 1, 7 } }]:bytes())
  end)

  it("is a copy: what is assigned to either later does not show in the other", function()
    local w = sgl.nn.parameter(numbered(4):float())
    local part = w[{ { 2, 3 } }]
    part:realize()
    w[{}] = w * 10
    assert.are.same({ 1, 2 }, part:tolist())
    assert.are.same({ 0, 10, 20, 30 }, w:tolist())
  end)

  it("has its gradient", function()
    local w = sgl.nn.parameter(numbered(4):float())
    local part = w[{ { 2, 3 } }]
    part:realize()
    local grad = sgl.grad((part * part):sum(), { w })[1]
    assert.are.same({ 0, 2, 4, 0 }, grad:tolist())
  end)
end)

describe("a constant that changes", function()
  it("does not make a program for each value", function()
    local x = numbered(8)
    assert.is_true(compiled(500, function(i)
      assert.are.equal(28 * i + 16, (x * i + 2):sum():item())
    end) <= 8)
  end)

  it("may be one of few", function()
    local x = numbered(8)
    assert.is_true(compiled(60, function(i)
      assert.are.equal(8 * (i % 2 == 0 and 7 or 3), (x * 0 + (i % 2 == 0 and 7 or 3)):sum():item())
    end) <= 8)
  end)

  -- A step that is compiled has each number built in.
  it("gives the bits of one that is built in", function()
    local x = sgl.randn(64):realize()
    local rows = {
      function(t, c) return t * c end, function(t, c) return t / c end,
      function(t, c) return c / t end, function(t, c) return t - c end,
      function(t, c) return t:maximum(c) end, function(t, c) return t:abs() ^ c end,
      function(t, c) return (t + c):exp():sum() end,
      function(t, c) return sgl.where(t:gt(c), t, c):to "f16" end,
      function(t, c) return t:to "bf16" * c + c end,
      function(t, c) return t:to "f64" * c end,
      function(t, c) return (t * 100):to "i32" * (c // 1) end,
      function(t, c) return sgl.full({ 64 }, c) + t end,
    }
    for number, fn in ipairs(rows) do
      for _, c in ipairs { 0.1, 2, 0.5, 1, -1, 3.7, 0, 1e30, -0.0, 7 } do
        local want = sgl.compile(function(t) return fn(t, c) end)(x)
        assert.are.equal(want:bytes(), fn(x, c):bytes(), number .. " of " .. c)
      end
    end
  end)

  it("may be what is asked for", function()
    for i = 1, 5 do assert.are.same({ i, i }, sgl.full({ 2 }, i):tolist()) end
  end)
end)
