-- call_spec.lua: a call that was made so before is served without Lua; it says and does what the
-- first one did. Each function counts how often it is captured, and is compared with itself run as
-- Lua does.

local sgl = require "sgl"

local function list(v) return sgl.is_tensor(v) and v:tolist() or v end

local function lists(...)
  local out = table.pack(...)
  for i = 1, out.n do out[i] = list(out[i]) end
  return out
end

-- A compiled function and a counter of its captures.
local function counted(fn, options)
  local step = sgl.compile(fn, options)
  return step, function() return #step:programs() end
end

-- Calls the compiled function with each list of arguments, three times over, as Lua and compiled.
local function compare(fn, calls, captures)
  local step, count = counted(fn)
  for _ = 1, 3 do
    for _, args in ipairs(calls) do
      local want = lists(fn(table.unpack(args, 1, args.n or #args)))
      assert.are.same(want, lists(step(table.unpack(args, 1, args.n or #args))))
    end
  end
  assert.are.equal(captures, count())
end

local x, y = sgl.tensor { 1, 2, 3 }, sgl.tensor { 4, 5, 6 }
local wide = sgl.tensor { { 1, 2 }, { 3, 4 } }

describe("calls made before", function()
  it("tell dtypes, ranks and sizes apart", function()
    compare(function(t) return t + 1 end, {
      { x }, { wide }, { sgl.tensor { 1, 2 } }, { x:to("f64") },
      { sgl.tensor(2) }, { y },
    }, 5)
  end)

  it("tell which arguments are one tensor", function()
    compare(function(a, b, c) return a - b, rawequal(a, b), rawequal(b, c) end,
      { { x, y, x }, { x, x, y }, { y, y, y }, { y, x, x } }, 4)
  end)

  it("tell which arguments are one table", function()
    local one, two = { x }, { x }
    compare(function(a, b) return a[1] * b[1], rawequal(a, b) end,
      { { one, two }, { one, one }, { two, two } }, 2)
  end)

  it("take numbers as inputs, whatever they are", function()
    compare(function(t, k) return t * k end,
      { { x, 2.5 }, { x, -1.0 }, { x, 1e300 }, { x, 0.0 } }, 1)
    compare(function(t, k) return t * k, k + 1 end,
      { { x, 2 }, { x, 2.0 }, { x, 3 }, { x, 3.0 } }, 2)
  end)

  it("tell arguments left out from nil", function()
    compare(function(...) return select("#", ...) end,
      { { n = 0 }, { n = 1 }, { n = 2 }, { nil, x, n = 2 }, { x, nil, n = 2 } }, 5)
  end)

  it("tell values that are no data apart by value", function()
    local long = ("a"):rep(60)
    compare(function(t, how) return t + #tostring(how), how end, {
      { x, "sum" }, { x, "mean" }, { x, true }, { x, false }, { x, "" }, { x, long .. "b" },
      { x, long .. "c" }, { x, ("a"):rep(60) .. "b" }, { x, "su\0m" },
    }, 8)
  end)

  it("tell objects apart by identity", function()
    local f, g = function(t) return t + 1 end, function(t) return t * 2 end
    compare(function(t, fn) return fn(t) end, { { x, f }, { x, g }, { y, f } }, 2)
    local object = setmetatable({ k = 3 }, {})
    compare(function(t, o) return t * o.k end,
      { { x, object }, { x, setmetatable({ k = 3 }, {}) } }, 2)
  end)

  it("tell keys apart, and take them in any order of insertion", function()
    local a, b = {}, {}
    for i = 1, 20 do a["k" .. i], b["k" .. 21 - i] = x * i, x * (21 - i) end
    for i = 1, 20 do a[i], b[21 - i] = i, 21 - i end
    local fn = function(t)
      local sum = t.k1
      for i = 2, 20 do sum = sum * 0.5 + t["k" .. i] * t[i] end
      return sum
    end
    compare(fn, { { a }, { b } }, 1)
    compare(function(t) return t[1] or t["1"] or t[1.5] end, { { { x } }, { { ["1"] = y } },
      { { [1.5] = x } } }, 3)
  end)

  it("take sizes in a shape as they are, and a list of numbers as inputs", function()
    compare(function(t, s) return t:sum() + s[1] end,
      { { wide, wide.shape }, { wide, x.shape }, { wide, { 2, 2 } }, { wide, { 3, 7 } } }, 3)
  end)

  it("tell nested tables by structure", function()
    compare(function(t) return t.a and t.a.b and t.a.b[1] or t.b[1] end,
      { { { a = { b = { x } } } }, { { b = { x } } }, { { a = { b = { y } } } } }, 2)
  end)

  it("return arguments and tables among them as the objects of the call", function()
    local step = sgl.compile(function(t, u) return t.v + u, u, t, { t, k = u } end)
    for i = 1, 4 do
      local t, u = { v = x * i }, y + i
      local sum, same, table_same, made = step(t, u)
      assert.are.same(((x * i) + y + i):tolist(), sum:tolist())
      assert.is_true(rawequal(same, u) and rawequal(table_same, t))
      assert.is_true(rawequal(made[1], t) and rawequal(made.k, u))
    end
    assert.are.equal(1, #step:programs())
  end)

  it("keep results of runs before", function()
    local step, kept = sgl.compile(function(t, k) return t * k, k * 2 end), {}
    for i = 1, 10 do kept[i] = { step(x, i * 0.5) } end
    for i = 1, 10 do
      assert.are.same({ 0.5 * i, 1.0 * i, 1.5 * i }, kept[i][1]:tolist())
      assert.are.equal(1.0 * i, kept[i][2])
    end
  end)
end)

describe("a capture that served a call", function()
  it("serves it no longer when what it read has changed, and again when it is back", function()
    local factor = 2
    local step, count = counted(function(t) return t * factor end)
    for round = 1, 3 do
      for _, k in ipairs { 2, 3, 5 } do
        factor = k
        for _ = 1, 2 do assert.are.same({ k, 2 * k, 3 * k }, step(x):tolist()) end
      end
      assert.are.equal(3, count(), round)
    end
  end)

  it("updates state and arguments at each call", function()
    local w = sgl.tensor { 0, 0, 0 }
    local step = sgl.compile(function(t, into)
      w:assign(w + t)
      into:assign(into * 2 + t)
      return w:sum()
    end)
    local into = sgl.tensor { 1, 1, 1 }
    for i = 1, 4 do assert.are.equal(6 * i, step(x, into):item()) end
    assert.are.same({ 4, 8, 12 }, w:tolist())
    assert.are.same({ 31, 46, 61 }, into:tolist())
  end)

  it("is refused with a tensor that it also takes from outside and updates", function()
    local w = sgl.tensor { 1, 1, 1 }
    local step = sgl.compile(function(t) w:assign(w + t) return w * 1 end)
    for _ = 1, 2 do step(x) end
    local fine, e = pcall(step, w)
    assert.is_false(fine)
    assert.is_truthy(tostring(e):find("takes from outside", 1, true))
    local soft = sgl.compile(function(t) w:assign(w + t) return w * 1 end, { fullgraph = false })
    w:assign(sgl.tensor { 1, 1, 1 })
    assert.are.same({ 2, 3, 4 }, soft(x):tolist())
    assert.are.same({ 3, 5, 7 }, soft(x):tolist())
    assert.are.same({ 6, 10, 14 }, soft(w):tolist())
    assert.are.same({ 7, 12, 17 }, soft(x):tolist())
  end)

  it("is refused with a closed tensor, as at the first call", function()
    local function fn(t) return t + 1 end
    local step, first = sgl.compile(fn), sgl.compile(fn)
    local dead = sgl.tensor { 1, 2, 3 }
    for _ = 1, 2 do step(x) end
    dead:close()
    local _, want = pcall(first, dead)
    local _, got = pcall(step, dead)
    assert.are.equal(want.code, got.code)
    assert.are.equal("SGL_ECLOSED", got.code)
    assert.are.same({ 2, 3, 4 }, step(x):tolist())
  end)

  it("goes on after a call that failed", function()
    local step = sgl.compile(function(i) return sgl.take(y, i) end)
    local function index(k) return sgl.tensor({ k }):to("i32") end
    assert.are.same({ 4 }, step(index(0)):tolist())
    assert.are.same({ 6 }, step(index(2)):tolist())
    for _ = 1, 2 do assert.is_false((pcall(step, index(7)))) end
    assert.are.same({ 5 }, step(index(1)):tolist())
    assert.are.equal(1, #step:programs())
  end)

  it("counts its runs and their time", function()
    local step = sgl.compile(function(t) return t + 1 end)
    for _ = 1, 5 do step(x) end
    assert.are.equal(5, step:info().runs)
    local report = sgl.coverage(step)
    assert.are.equal(5, report.steps)
    assert.is_true(report.seconds > 0 and report.captured_time == 1)
    step:close()
    assert.is_false((pcall(step, x)))
  end)

  it("keeps no argument of its last call alive", function()
    local step = sgl.compile(function(t) return t.v + 1 end)
    local alive = setmetatable({}, { __mode = "v" })
    for _ = 1, 3 do
      local t = { v = sgl.ones(2):realize() }
      alive[1], alive[2] = t, t.v
      step(t)
      t = nil -- luacheck: ignore
    end
    collectgarbage()
    collectgarbage()
    assert.are.same({}, alive)
  end)
end)

describe("sizes that change between calls", function()
  local function total(t) return (t * 2):sum() end

  it("that are declared are one capture, and are checked at each call", function()
    local n = sgl.dim("n", { min = 1, max = 8 })
    local step, count = counted(total, { inputs = { sgl.spec({ n, 2 }) } })
    for _ = 1, 2 do
      for rows = 1, 5 do assert.are.equal(4 * rows, step(sgl.ones(rows, 2)):item()) end
    end
    assert.are.equal(1, count())
    for _, wrong in ipairs { sgl.ones(2, 3), sgl.ones(2), sgl.ones(9, 2), 3,
                             sgl.ones(2, 2):to("i32") } do
      assert.is_false((pcall(step, wrong)))
    end
    assert.are.equal(12, step(sgl.ones(3, 2)):item())
  end)

  it("that are found become one capture from the second on", function()
    local step, count = counted(total, { dynamic = true })
    for _ = 1, 2 do
      for _, rows in ipairs { 3, 4, 3, 5, 4, 0, 6 } do
        assert.are.equal(4 * rows, step(sgl.ones(rows, 2)):item())
      end
    end
    assert.are.equal(3, count()) -- of 3, of any number, of none
  end)

  it("that are found agree no longer when two of them differ", function()
    local step = sgl.compile(function(a, b) return a:sum() - b:sum() end, { dynamic = true })
    for _ = 1, 2 do
      for _, sizes in ipairs { { 2, 2 }, { 3, 3 }, { 4, 4 }, { 4, 5 }, { 3, 3 }, { 2, 2 } } do
        assert.are.equal(sizes[1] - sizes[2],
          step(sgl.ones(sizes[1]), sgl.ones(sizes[2])):item())
      end
    end
  end)
end)
