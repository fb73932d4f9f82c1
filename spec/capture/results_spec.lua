-- results_spec.lua: what a compiled function returns: the objects that Lua would return, numbers as
-- numbers, sizes as those of the call; what cannot be made at each call is a break.

local sgl = require "sgl"
local support = require "spec.support"

local n = sgl.dim("n", { min = 1, max = 64 })

-- A compiled function of one vector of any length.
local function sized(fn) return sgl.compile(fn, { inputs = { sgl.spec { n } } }) end

describe("what comes from outside", function()
  it("is returned itself: an argument, twice, in a table, after an update", function()
    local step = sgl.compile(function(x, y)
      x:assign(x + 1)
      return x, { x, y = y }, x * 2
    end)
    for i = 1, 2 do
      local x, y = sgl.ones(2) * i, sgl.ones(3)
      local a, t, twice = step(x, y)
      assert.is_true(rawequal(a, x) and rawequal(t[1], x) and rawequal(t.y, y))
      assert.are.same({ i + 1.0, i + 1.0 }, x:tolist())
      assert.are.same({ 2 * (i + 1.0), 2 * (i + 1.0) }, twice:tolist())
    end
  end)

  it("is returned itself: a state tensor, its update included", function()
    local w = sgl.zeros(2)
    local step = sgl.compile(function(x)
      w:assign(w + x)
      return w
    end)
    assert.is_true(rawequal(w, step(sgl.ones(2))))
    step(sgl.ones(2))
    assert.are.same({ 2.0, 2.0 }, w:tolist())
  end)

  it("is returned itself: tables, objects and functions", function()
    local class = {}
    local old, object = { 5 }, setmetatable({ 7 }, class)
    local step = sgl.compile(function(x, t) return old, object, print, io.stdout, t, x * 2 end)
    for _ = 1, 2 do
      local t = { 1, { sgl.ones(2) } }
      local a, b, c, d, e = step(sgl.ones(2), t)
      assert.is_true(rawequal(a, old) and rawequal(b, object))
      assert.is_true(c == print and d == io.stdout)
      assert.is_true(rawequal(e, t))
    end
  end)

  it("is the table of the call, within tables too, and one where it comes twice", function()
    local step = sgl.compile(function(t) return t.a, { t.b }, t end)
    for _ = 1, 2 do
      local inner = { x = sgl.ones(1) }
      local t = { a = inner, b = inner }
      local a, list, all = step(t)
      assert.is_true(rawequal(a, inner) and rawequal(list[1], inner) and rawequal(all, t))
    end
  end)

  it("stays a number where it was one", function()
    local step = sgl.compile(function(x, k) return k, { k }, x * k end)
    for _, k in ipairs { 3, 0.5, -7, 1e300, 16777217, math.maxinteger } do
      local fine, a, t = pcall(step, sgl.ones(1), k)
      if fine then
        assert.are.equal(k, a)
        assert.are.equal(math.type(k), math.type(a))
        assert.are.equal(k, t[1])
      end
    end
    assert.are.equal(3, (step(sgl.ones(1), 3)))
  end)
end)

describe("what the step makes", function()
  it("is new at each call; one tensor, or one table, that comes twice is one", function()
    local step = sgl.compile(function(x)
      local y = x * 2
      local t = { y }
      t.self = t
      return y, t, { t, t, y }
    end)
    local y1, t1 = step(sgl.ones(2))
    local y2, t2, list = step(sgl.ones(2) * 3)
    assert.is_false(rawequal(y1, y2) or rawequal(t1, t2))
    assert.is_true(rawequal(t2[1], y2) and rawequal(t2.self, t2) and rawequal(list[1], t2)
      and rawequal(list[2], t2) and rawequal(list[3], y2))
    assert.are.same({ 2.0, 2.0 }, y1:tolist())
  end)

  it("keeps its metatable and its fields as they are, not as they read", function()
    local class = { kind = "result" }
    class.__index = class
    class.__pairs = function() error "not asked" end
    local step = sgl.compile(function(x)
      return setmetatable({ mean = x:mean(), [1] = 2, [true] = "yes" }, class)
    end)
    for i = 1, 2 do
      local o = step(sgl.ones(2) * i)
      assert.are.equal(class, getmetatable(o))
      assert.are.equal("result", o.kind)
      assert.are.equal(i + 0.0, o.mean:item())
      assert.are.equal("yes", o[true])
      assert.is_nil(rawget(o, "kind"))
    end
  end)

  it("is a number when it was computed of numbers alone, integer or float", function()
    local function fn(k, a) return k + 1, k / 2, { k * a } end
    local step = sgl.compile(fn)
    for _, row in ipairs { { 3, 0.25 }, { 8, -0.5 }, { 2, 1.5 } } do
      local want, got = table.pack(fn(row[1], row[2])), table.pack(step(row[1], row[2]))
      for i = 1, 2 do
        assert.are.equal(want[i], got[i])
        assert.are.equal(math.type(want[i]), math.type(got[i]))
      end
      assert.are.equal(want[3][1], got[3][1])
    end
    assert.are.equal(1, #step:programs())
  end)

  it("is new where it stands in memory where an argument stood", function()
    for _ = 1, 200 do
      local x = sgl.ones(2)
      local step = sgl.compile(function(_, _)
        collectgarbage()
        local list = {}
        for k = 1, 30 do
          list[k] = sgl.zeros(2) + k
          list[k]:assign(list[k] * 2)
        end
        return table.unpack(list)
      end)
      for k, t in ipairs { step(x, x) } do
        assert.is_false(rawequal(t, x))
        assert.are.same({ 2 * k, 2 * k }, t:tolist())
      end
      assert.are.same({ 1, 1 }, x:tolist())
      step:close()
    end
  end)

  it("may be a function that has nothing of the step", function()
    local k = 3
    local step = sgl.compile(function(x)
      return function(v) return v * k end, x
    end)
    assert.are.equal(6, step(sgl.ones(1))(2))
  end)

  local MAKES = {
    { "a function with variables of the step", function(x)
      local y = x * 2
      return function() return y end
    end },
    { "a coroutine", function() return coroutine.create(print) end },
    { "a wrapped coroutine", function() return { coroutine.wrap(print) } end },
    { "an iterator", function() return (("a b"):gmatch "%a") end },
    { "a module", function() return { sgl.nn.Linear(2, 3) } end },
    { "a compiled function", function() return sgl.compile(print) end },
    { "an object whose metatable is new", function(x) return setmetatable({ x * 2 }, {}) end },
    { "a table with a table as a key", function(x) return { [{}] = x } end },
    { "a table that is too deep", function(x)
      local t = { x * 2 }
      for _ = 1, 40 do t = { t } end
      return t
    end },
  }

  for _, row in ipairs(MAKES) do
    it("is a break when it is " .. row[1], function()
      local e = support.error_of(sgl.compile(row[2]), sgl.ones(2))
      assert.are.equal("B-RESULT", e.reason)
      local info = debug.getinfo(row[2], "S")
      assert.is_true(e.line >= info.linedefined and e.line <= info.lastlinedefined)
      local step = sgl.compile(row[2], { fullgraph = false })
      assert.are.equal(type(row[2](sgl.ones(2))), type(step(sgl.ones(2))))
      assert.are.equal("B-RESULT", sgl.coverage(step).breaks[1].code)
    end)
  end
end)

describe("sizes among results", function()
  it("are those of the call, in one program", function()
    local function fn(x)
      return x.shape[1], #x, x.shape, { n = 2 * x.shape[1] + 1, x.shape }, x * 2
    end
    local step = sized(fn)
    for _, k in ipairs { 3, 5, 1, 3 } do
      local want, got = table.pack(fn(sgl.ones(k))), table.pack(step(sgl.ones(k)))
      for i = 1, 2 do
        assert.are.equal(want[i], got[i])
        assert.are.equal("integer", math.type(got[i]))
      end
      assert.are.equal(getmetatable(want[3]), getmetatable(got[3]))
      assert.are.same({ k }, { table.unpack(got[3]) })
      assert.are.equal("[" .. k .. "]", tostring(got[3]))
      assert.are.equal(want[4].n, got[4].n)
      assert.is_true(got[4][1] == got[3])
    end
    assert.are.equal(1, #step:programs())
  end)

  it("may be below 0 where they are no sizes: results, comparisons, text, factors", function()
    local function fn(x)
      local d = x.shape[1] - 4
      return d, 1 - x.shape[1], d < -2, d > -2, 2 * d + 1, tostring(d), x * d
    end
    local step = sized(fn)
    for _, k in ipairs { 1, 3, 9, 2, 4 } do
      local want, got = table.pack(fn(sgl.ones(k))), table.pack(step(sgl.ones(k)))
      assert.are.same(want[7]:tolist(), got[7]:tolist())
      want[7], got[7] = nil, nil
      assert.are.same(want, got)
    end
    local e = support.error_of(sized(function(x) return sgl.zeros(x.shape[1] - 4) end), sgl.ones(2))
    assert.are.equal("SGL_ESHAPE", e.code)
  end)

  it("are numbers of Lua in arithmetic, and constants beside tensors", function()
    local function fn(x)
      local k, t = x.shape[1], x:sum()
      return k / 2, k ^ 2, k ^ 0.5, -k, 1.5 * k, -3 - k, k * -2, 7 // k, k % 2, 2 ^ -k,
        k * 1.0, k + 0.0, 2.0 - k, k // 1.0, k % 2.0, k * 2.0 // 2, 0.0 + k * 2,
        x * (k ^ 0.5), t / k, t * (k / 3), x:double() * (1 / k), x:int() * k, sgl.tensor(k),
        sgl.full({ 2 }, k), sgl.full({}, k / 2, { dtype = "f64" })
    end
    local step = sized(fn)
    for _, k in ipairs { 3, 1, 7, 64 } do
      local x = sgl.arange(k):float() + 1
      local want, got = table.pack(fn(x)), table.pack(step(x))
      for i = 1, want.n do
        if type(want[i]) == "number" then
          assert.are.equal(want[i], got[i])
          assert.are.equal(math.type(want[i]), math.type(got[i]))
        else
          assert.are.equal(want[i].dtype, got[i].dtype)
          assert.are.same(want[i]:tolist(), got[i]:tolist())
        end
      end
    end
    assert.are.equal(1, #step:programs())
    local bytes = sgl.compile(function(x, y) return y * x.shape[1] end,
      { inputs = { sgl.spec { sgl.dim("m", { max = 999 }) } } })
    local y = sgl.tensor({ 1, 2 }, { dtype = "u8" })
    assert.are.same({ 100, 200 }, bytes(sgl.ones(100), y):tolist())
    assert.matches("does not fit into u8", tostring(support.error_of(bytes, sgl.ones(300), y)))
  end)

  it("as text are those of the call, wherever the text is made", function()
    local printed
    local function fn(x)
      return tostring(x.shape), ("%s|%s"):format(x.shape, x.shape[1]), x.shape[1] .. "!"
    end
    local step = sized(fn)
    for _, k in ipairs { 3, 5, 3 } do
      local want, got = table.pack(fn(sgl.ones(k))), table.pack(step(sgl.ones(k)))
      assert.are.same(want, got)
    end
    local real = print
    _G.print = function(line) printed = line end
    local say = sized(function(x) sgl.print("size", x.shape, x.shape[1]) end)
    for _, k in ipairs { 3, 4 } do
      local fine, e = pcall(say, sgl.ones(k))
      assert.are.equal(("size\t[%d]\t%d"):format(k, k), fine and printed or e)
    end
    _G.print = real
  end)

  for name, fn in pairs {
    ["rawget"] = function(x) return rawget({ 1, 2, 3 }, x.shape[1]) end,
    ["rawset"] = function(x) return rawset({}, x.shape[1], 1) end,
    ["select"] = function(x) return select(x.shape[1], 1, 2, 3) end,
    ["table.concat"] = function(x) return table.concat(x.shape, "x") end,
    ["table.unpack"] = function(x) return table.unpack({ 1, 2, 3 }, 1, x.shape[1]) end,
    ["string.rep"] = function(x) return ("a"):rep(x.shape[1]) end,
    ["math.sqrt"] = function(x) return math.sqrt(x.shape[1]) end,
    ["string.format"] = function(x) return ("%s %% %5d"):format(x.shape[1], x.shape[1]) end,
    ["'for' loop"] = function(x) return (select("#", x:unbind(1))) end,
    ["utf8.char"] = function(x) return utf8.char(x.shape[1]) end,
  } do
    it("break where Lua takes a number: " .. name, function()
      local e = support.error_of(sized(fn), sgl.ones(3))
      assert.are.equal("B-SIZE", e.reason)
      assert.matches(name, e.message)
      local info = debug.getinfo(fn, "S")
      assert.is_true(e.line >= info.linedefined and e.line <= info.lastlinedefined)
      local step = sgl.compile(fn, { inputs = { sgl.spec { n } }, fullgraph = false })
      for _, k in ipairs { 1, 3 } do
        assert.are.same(table.pack(fn(sgl.ones(k))), table.pack(step(sgl.ones(k))))
      end
    end)
  end

  it("of a shape among the arguments are part of the signature", function()
    local step = sgl.compile(function(x, s) return x:reshape(s), s, tostring(s), s[1] end)
    local x = sgl.ones(6)
    for _, other in ipairs { sgl.ones(2, 3), sgl.ones(3, 2), sgl.ones(2, 3) } do
      local s = other.shape
      local y, same, text, first = step(x, s)
      assert.is_true(y.shape == s and rawequal(same, s))
      assert.are.equal(tostring(s), text)
      assert.are.equal(s[1], first)
    end
    assert.are.equal(2, #step:programs())
  end)
end)

describe("a number among the arguments, where Lua takes a number, is held to", function()
  for name, fn in pairs {
    ["type"] = function(_, k) return type(k) end,
    ["math.floor"] = function(_, k) return math.floor(k) end,
    ["math.max"] = function(_, k) return math.max(k, 1) end,
    ["string.rep"] = function(_, k) return ("a"):rep(k) end,
    ["select"] = function(_, k) return select(k, 4, 5, 6) end,
    ["for"] = function(x, k)
      for _ = 1, k do x = x * 2 end
      return x
    end,
  } do
    it("what it gives: " .. name, function()
      local step = sgl.compile(fn)
      for _, k in ipairs { 2, 3, 2 } do
        local want, got = fn(sgl.ones(2), k), step(sgl.ones(2), k)
        assert.are.equal(tostring(want), tostring(got))
      end
    end)
  end
end)
