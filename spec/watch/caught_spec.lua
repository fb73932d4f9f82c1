-- caught_spec.lua: errors that only a capture raises are not caught by the step: not by pcall,
-- xpcall, coroutines, or what stands between. What Lua raises outside too is.

local sgl = require "sgl"
local support = require "spec.support"

local w, wide = sgl.ones(3), sgl.arange(24):reshape(4, 6) + 0.5
local old, check = { 1, k = 1 }, package.loaded._G.assert
local letters = ("ab"):gmatch "."
local function when(x, fn) return sgl.cond(x:gt(0):all(), fn, function() end) end

-- A function for each break of the catalogue. Those of history and results have specs of their own.
local BREAKS = {
  ["B-COND"] = function(x) if x:gt(0) then return x end end,
  ["B-EQ"] = function(x) return x == 3 end,
  ["B-VALUE"] = function(x) check(x:gt(0)) end,
  ["B-KEY"] = function(x) local t = {} return t[x] end,
  ["B-ORDER"] = function(x) table.sort({ 2, 1 }, function() return x:gt(0) end) end,
  ["B-READ"] = function(x) return x:sum():item() end,
  ["B-STATE"] = function(x) return x[x:gt(0)] end,
  ["B-WRITE"] = function() table.insert(old, 1) end,
  ["B-BLOCK"] = function(x) local k = 1 when(x, function() k = 2 end) return x * k end,
  ["B-CALL"] = function() return math.random() end,
  ["B-HOOK"] = function() debug.sethook() end,
  ["B-RESUME"] = function() return letters() end,
  ["B-GRAD"] = function(x) return sgl.grad((x * old.y):sum(), old.w) end,
  ["B-CARRY"] = function(x)
    return sgl.scan(function(c, v)
      local y = c * w * v
      return y, sgl.grad(y:sum(), w)
    end, sgl.ones(3), x)
  end,
}
old.w = sgl.ones(3)
old.y = old.w * 2

local function ignore(e) return e end

-- What may stand between an error and the rest of the step.
local CATCHES = {
  pcall = function(fn, ...) pcall(fn, ...) end,
  ["pcall of pcall"] = function(fn, ...) pcall(pcall, fn, ...) end,
  ["pcall, until it works"] = function(fn, ...) repeat until pcall(fn, ...) end,
  xpcall = function(fn, ...) xpcall(fn, ignore, ...) end,
  ["xpcall with a traceback"] = function(fn, ...) xpcall(fn, debug.traceback, ...) end,
  ["a handler that fails"] = function(fn, ...) xpcall(fn, function(e) return e.no.no end, ...) end,
  ["coroutine.resume"] = function(fn, ...) coroutine.resume(coroutine.create(fn), ...) end,
  ["coroutine.wrap"] = function(fn, ...) pcall(coroutine.wrap(fn), ...) end,
  ["coroutine.close"] = function(fn, ...)
    local args = table.pack(...)
    local co = coroutine.create(function()
      local _ <close> = setmetatable({}, { __close = function()
        fn(table.unpack(args, 1, args.n))
      end })
      coroutine.yield()
    end)
    coroutine.resume(co)
    coroutine.close(co)
  end,
  __index = function(fn, ...)
    local args = table.pack(...)
    local t = setmetatable({}, { __index = function() fn(table.unpack(args)) end })
    pcall(function() return t.k end)
  end,
  __tostring = function(fn, ...)
    local args = table.pack(...)
    pcall(tostring, setmetatable({}, { __tostring = function() fn(table.unpack(args)) end }))
  end,
  __close = function(fn, ...)
    local args = table.pack(...)
    pcall(function()
      local _ <close> = setmetatable({}, { __close = function() fn(table.unpack(args)) end })
    end)
  end,
  gsub = function(fn, ...)
    local args = table.pack(...)
    pcall(string.gsub, "a", "a", function() fn(table.unpack(args)) end)
  end,
  ["table.sort"] = function(fn, ...)
    local args = table.pack(...)
    pcall(table.sort, { 2, 1 }, function() fn(table.unpack(args)) end)
  end,
  load = function(fn, ...)
    local args = table.pack(...)
    load(function() fn(table.unpack(args)) end)
  end,
}

describe("a break", function()
  for catch, caught in pairs(CATCHES) do
    for code, fn in pairs(BREAKS) do
      it(("%s is not caught by %s"):format(code, catch), function()
        local after = false
        local step = sgl.compile(function(x)
          caught(fn, x)
          after = true
          return x
        end)
        local e = support.error_of(step, sgl.ones(3))
        assert.are.equal(code, e.reason, tostring(e))
        assert.is_false(after)
      end)
    end
  end
end)

-- Steps in which an error is caught that depends on what differs from run to run, with the calls.
local n, k = sgl.dim("n", { max = 9 }), sgl.dim("k", { max = 9 })
local function by(ok, x) return x * (ok and 1 or 2) end
local function fails() error("mine") end

local STEPS = {
  { "the product of sizes that fit or do not", function(x)
    local ok, y = pcall(x.matmul, x, wide)
    return ok and y or x * 2
  end, { sgl.spec { n, k } }, { sgl.ones(2, 3) }, { sgl.ones(2, 4) }, { sgl.ones(2, 6) } },
  { "a reshape", function(x) return by(pcall(x.reshape, x, 2, 2), x) end,
    { sgl.spec { n } }, { sgl.ones(3) }, { sgl.ones(4) }, { sgl.ones(6) } },
  { "an index", function(x) return by(pcall(function() return x[5] end), x) end,
    { sgl.spec { n } }, { sgl.ones(3) }, { sgl.ones(5) } },
  { "an assert of a reshape in a coroutine", function(x)
    local co = coroutine.create(function() return x:reshape(3, -1) end)
    return by(coroutine.resume(co), x)
  end, { sgl.spec { n } }, { sgl.ones(2) }, { sgl.ones(3) } },
  { "of a branch that is not taken", function(x)
    return by(pcall(sgl.cond, x:sum():gt(4), fails, function() return x end), x)
  end, nil, { sgl.ones(3) }, { sgl.ones(6) }, { sgl.ones(3) } },
  { "of a branch in a branch", function(x)
    local y = sgl.cond(x:sum():gt(2), function()
      return by(pcall(sgl.cond, x:sum():gt(4), fails, function() return x end), x)
    end, function() return x * 3 end)
    return y
  end, nil, { sgl.ones(3) * 2 }, { sgl.ones(3) }, { sgl.ones(3) / 3 } },
  { "of branches that differ", function(x)
    return by(pcall(sgl.cond, x:sum():gt(4), function() return x:sum() end, function()
      return x
    end), x)
  end, nil, { sgl.ones(3) }, { sgl.ones(6) } },
  { "of a gradient that leaves a block", function(x)
    local _, ys = sgl.scan(function(c, v)
      return c, by(pcall(function() return sgl.grad((c * v):sum(), x) end), v)
    end, 1.0, x)
    return ys
  end, nil, { sgl.ones(3) } },
  { "table.insert at a number", function(x, at)
    local t = { 1, 2, 3 }
    return by(pcall(table.insert, t, at, 4), x)
  end, nil, { w, 2 }, { w, 9 }, { w, 4 } },
  { "a gsub callback that gives a number", function(x, v)
    return by(pcall(string.gsub, "a", "a", function() return v end), x)
  end, nil, { w, 2 }, { w, 3 } },
  { "__tostring that gives a number", function(x, v)
    return by(pcall(tostring, setmetatable({}, { __tostring = function() return v end })), x)
  end, nil, { w, 2 }, { w, 3.5 } },
  { "string.rep", function(x, v) return by(pcall(string.rep, "a", v), x) end, nil,
    { w, 2 }, { w, 2.5 } },
  { "a reshape to a number", function(x, v) return by(pcall(x.reshape, x, v, -1), x) end, nil,
    { sgl.ones(4), 2 }, { sgl.ones(4), 3 }, { sgl.ones(4), 4 } },
}

describe("an error that may be one of the capture alone", function()
  for _, row in ipairs(STEPS) do
    local what, fn, inputs = row[1], row[2], row[3]
    local function check_all(options)
      local step = sgl.compile(fn, options)
      for i = 4, #row do
        local want, got = fn(table.unpack(row[i])), step(table.unpack(row[i]))
        assert.is_true(want:equal(got), ("call %d: %s and %s"):format(i - 3, tostring(want),
          tostring(got)))
      end
    end

    it("is not caught: " .. what, function()
      local step = sgl.compile(fn, { inputs = inputs })
      for i = 4, #row do   -- it may be a value that is known; else it breaks
        local ok, got = pcall(step, table.unpack(row[i]))
        if ok then
          assert.is_true(fn(table.unpack(row[i])):equal(got))
        else
          assert.is_truthy(got.reason, tostring(got))
        end
      end
    end)

    it("is Lua's to decide with fullgraph = false: " .. what, function()
      check_all { inputs = inputs, fullgraph = false }
      check_all { dynamic = true, fullgraph = false }
    end)
  end

  it("says what was caught, where, and what to write", function()
    local e = support.error_of(sgl.compile(STEPS[1][2], { inputs = STEPS[1][3] }), sgl.ones(2, 6))
    assert.are.equal("B-CAUGHT", e.reason)
    assert.matches('^"matmul: .*" is caught', e.message)
    assert.are.equal(debug.getinfo(STEPS[1][2], "S").linedefined + 1, e.line)
    assert.matches("if x.ndim", e.hint)
  end)
end)

-- Errors that Lua raises at every run are caught as ever, with numbers among the arguments too.
local OWN = {
  ["error"] = function() error("mine") end,
  ["error of a table"] = function() error({ 1 }) end,
  ["assert"] = function() check(false, "mine") end,
  ["a field of nil"] = function() local t = {} return t.a.b end,
  ["a call of nil"] = function() local f f() end,
  ["arithmetic on a table"] = function() return {} + 1 end,
  ["a comparison"] = function() return {} < 1 end,
}

describe("an error of Lua's own", function()
  for what, fn in pairs(OWN) do
    it("is caught: " .. what, function()
      local function step(x, factor)
        local ok = pcall(fn)
        local fine, e = xpcall(fn, ignore)
        local co = coroutine.resume(coroutine.create(fn))
        return x * (ok and 1 or 2) * (fine and 1 or 3) * (co and 1 or 5) * factor, type(e)
      end
      local x = sgl.ones(2)
      for _, options in ipairs { {}, { inputs = { sgl.spec { n } } } } do
        local value, kind = sgl.compile(step, options)(x, 2)
        local want, want_kind = step(x, 2)
        assert.is_true(value:equal(want))
        assert.are.equal(want_kind, kind)
      end
    end)
  end

  it("is caught where sizes are known: the engine's too", function()
    local function step(x) return by(pcall(x.reshape, x, 7), x) end
    assert.is_true(sgl.compile(step)(w):equal(step(w)))
  end)
end)
