-- capture_calls_spec.lua: what a step reads without an instruction that says so: through functions
-- of Lua's libraries, metamethods, message handlers, values of tensors. Whenever it changes, the
-- results are those of the function as it stands. What stands for an argument is told from the
-- argument, and an error of the step is told as it is.

local sgl = require "sgl"
local support = require "spec.support"

local function object(meta, fields) return setmetatable(fields or {}, meta) end

-- Each makes a step and a change: name, maker, the reason of the new capture (a pattern).
local SCRIPTS = {
  -- lists read as Lua reads them: through __index and __len
  { "table.unpack of a table behind", function()
    local base = { 1, 2 }
    local list = object({ __index = base })
    return function(x) return x * select(2, table.unpack(list, 1, 2)) end,
      function() base[2] = 7 end
  end, "%[2%] changed from 2 to 7$" },
  { "table.unpack of a new table in front", function()
    local base = { 1, 2 }
    return function(x) return x * (table.unpack(object({ __index = base }), 1, 2)) end,
      function() base[1] = 7 end
  end, "^base%[1%] changed from 1 to 7$" },
  { "table.unpack by __len", function()
    local meta = { __len = function() return 1 end }
    local list = object(meta, { 5, 6 })
    return function(x) return x * select("#", table.unpack(list)) end,
      function() meta.__len = function() return 2 end end
  end, "^__len of the metatable of %a+ changed from the function" },
  { "table.concat of a table behind", function()
    local base = { "1", "2" }
    local list = object({ __index = base, __len = function() return 2 end })
    return function(x) return x * tonumber(table.concat(list)) end, function() base[1] = "7" end
  end, '%[1%] changed from "1" to "7"$' },
  { "table.move of a table behind", function()
    local base = { 1, 2 }
    local list = object({ __index = base })
    return function(x) return x * table.move(list, 1, 1, 1, {})[1] end, function() base[1] = 7 end
  end, "%[1%] changed from 1 to 7$" },
  { "table.sort by __lt", function()
    local meta = { __lt = function(a, b) return a.v < b.v end }
    local a, b = object(meta, { v = 1 }), object(meta, { v = 2 })
    return function(x) local l = { b, a } table.sort(l) return x * l[1].v end,
      function() meta.__lt = function(p, q) return p.v > q.v end end
  end, "^__lt of the metatable of %a+ changed from the function" },
  { "string.gsub with a table", function()
    local words = { a = "2" }
    return function(x) return x * tonumber((("a"):gsub("%a", words))) end,
      function() words.a = "3" end
  end, '^words%.a changed from "2" to "3"$' },
  -- what there is and what it is called
  { "a key after one that is there", function()
    local t = { 1 }
    return function(x) return next(t, 1) == nil and x or x * 2 end, function() t.more = 2 end
  end, "^the number of keys of t changed from 1 to 2$" },
  { "pairs by __pairs", function()
    local meta = {}
    local t = object(meta, { 1 })
    return function(x) for _, v in pairs(t) do x = x * v end return x end,
      function() meta.__pairs = function() return next, { 9 } end end
  end, "^__pairs of the metatable of %a+ changed from nil to the function" },
  { "tostring by __tostring", function()
    local meta = { __tostring = function() return "3" end }
    local t = object(meta)
    return function(x) return x * tonumber(tostring(t)) end,
      function() meta.__tostring = function() return "4" end end
  end, "^__tostring of the metatable of %a+ changed from the function" },
  { "string.format by __tostring", function()
    local meta = { __tostring = function() return "3" end }
    local t = object(meta)
    return function(x) return x * tonumber(("%s"):format(t)) end,
      function() meta.__tostring = function() return "4" end end
  end, "^__tostring of the metatable of %a+ changed from the function" },
  { "getmetatable by __metatable", function()
    local meta = { __metatable = 3 }
    local t = object(meta)
    return function(x) return x * getmetatable(t) end, function() meta.__metatable = 4 end
  end, "^__metatable of the metatable of %a+ changed from 3 to 4$" },
  { "require of what is loaded", function()
    package.loaded["spec.loaded"] = { k = 2 }
    return function(x) return x * require "spec.loaded".k end,
      function() package.loaded["spec.loaded"] = { k = 3 } end
  end, "spec%.loaded.* is another table$" },
  { "a method of texts", function()
    local methods = getmetatable("").__index
    methods.spec_rep = string.rep
    return function(x) return x * #("ab"):spec_rep(3) end,
      function() methods.spec_rep = function(s) return s end end
  end, "spec_rep changed from a C function to the function" },
  -- metamethods of comparisons with a number, of calls and loops
  { "obj < number", function()
    local meta = { __lt = function() return true end }
    local o = object(meta)
    return function(x) if o < 3 then return x * 2 end return x end,
      function() meta.__lt = function() return false end end
  end, "^__lt of the metatable of %a+ changed from the function" },
  { "obj >= number", function()
    local meta = { __le = function() return true end }
    local o = object(meta)
    return function(x) if o >= 3 then return x * 2 end return x end,
      function() meta.__le = function() return false end end
  end, "^__le of the metatable of %a+ changed from the function" },
  { "for … in an object", function()
    local function upto(n)
      return function(_, _, i) i = (i or 0) + 1 return i <= n and i or nil end
    end
    local meta = { __call = upto(2) }
    local o = object(meta)
    return function(x) for i in o do x = x + i end return x end,
      function() meta.__call = upto(4) end
  end, "^__call of the metatable of %a+ is another function$" },
  { "pcall of an object", function()
    local meta = { __call = function() return 2 end }
    local o = object(meta)
    return function(x) return x * select(2, pcall(o)) end,
      function() meta.__call = function() return 3 end end
  end, "^__call of the metatable of %a+ changed from the function" },
  { "a __call that is itself an object", function()
    local meta = { __call = function(_, _, x) return x * 2 end }
    local o = object { __call = object(meta) }
    return function(x) return o(x) end,
      function() meta.__call = function(_, _, x) return x * 3 end end
  end, "__call of the metatable of .+ changed from the function" },
  { "a __call three objects deep", function()
    local meta = { __call = function(_, _, _, x) return x * 2 end }
    local o = object { __call = object { __call = object(meta) } }
    return function(x) return o(x) end,
      function() meta.__call = function(_, _, _, x) return x * 5 end end
  end, "__call of the metatable of .+ changed from the function" },
  { "an operator that is an object", function()
    local meta = { __call = function(_, _, x) return x * 2 end }
    local o = object { __add = object(meta) }
    return function(x) return o + x end,
      function() meta.__call = function(_, _, x) return x * 5 end end
  end, "__call of the metatable of .+ changed from the function" },
  { "a message handler of the step", function()
    local cfg = { k = 2 }
    return function(x) return x * select(2, xpcall(error, function() return cfg.k end)) end,
      function() cfg.k = 3 end
  end, "^cfg%.k changed from 2 to 3$" },
  -- values of tensors from outside
  { "item", function()
    local w = sgl.tensor(2.0)
    return function(x) return x * w:item() end, function() w:assign(w + 1) end
  end, "^the values of w changed$" },
  { "tolist of a value not yet computed", function()
    local w = sgl.ones(2) * 2
    return function(x) return x * w:tolist()[1] end, function() w:assign(sgl.ones(2)) end
  end, "^the values of w changed$" },
  { "item of what another step updates", function()
    local w = sgl.tensor(2.0)
    local other = sgl.compile(function() w:assign(w * 2) end)
    return function(x) return x * w:item() end, function() other() end
  end, "^the values of w changed$" },
  { "tostring of a tensor", function()
    local w = sgl.tensor(2.0)
    return function(x) return x * #tostring(w) end, function() w:assign(sgl.tensor(1234.5)) end
  end, "^the values of w changed$" },
}

local function same(a, b) return a.dtype == b.dtype and a:equal(b) end

describe("a step that reads by way of", function()
  for _, script in ipairs(SCRIPTS) do
    it(script[1] .. " is captured again when it changes", function()
      local fn, change = script[2]()
      local step, x = sgl.compile(fn), sgl.tensor({ 1.5, -2, 3, 0.25 })
      for _ = 1, 2 do assert.is_true(same(fn(x), step(x))) end
      assert.are.equal(1, #step:programs())
      change()
      for _ = 1, 2 do assert.is_true(same(fn(x), step(x))) end
      assert.are.equal(2, #step:programs())
      assert.matches(script[3], step:programs()[2].reason)
    end)
  end
end)

describe("the value of a tensor that a step reads", function()
  it("is guarded whether it was computed before or is when it is read", function()
    local t, x = sgl.ones(2), sgl.ones(2)
    local step = sgl.compile(function(v) return v * t:tolist()[1] end)
    for i = 0, 4 do
      assert.are.same({ 2.0 ^ i, 2.0 ^ i }, step(x):tolist())
      t:assign(t * 2)
      if i % 2 == 0 then t:realize() end
    end
    assert.are.equal(5, #step:programs())
  end)
end)

-- Each makes a step that cannot be captured, and its first argument: the code, maker.
local w = sgl.ones(2)
local BROKEN = {
  { "B-CALL", "a status that changes", function()
    local co = coroutine.create(function() end)
    return function(x) return coroutine.status(co) == "dead" and x or x * 2 end
  end },
  { "B-CALL", "the coroutine that runs", function()
    return function(x) return coroutine.isyieldable() and x or x * 2 end
  end },
  { "B-CALL", "a file that may be closed", function()
    return function(x) return io.type(io.stdout) == "file" and x or x * 2 end
  end },
  { "B-RESUME", "an iterator from before", function()
    local words = ("1 2 3"):gmatch "%d"
    return function(x) return x * tonumber(words()) end
  end },
  { "B-CALL", "an address in a text", function()
    return function(x) return x * #("%s"):format({}) end
  end },
  { "B-CALL", "a file that is read", function()
    return function(x) return x * #sgl.data.csv(support.root .. "README.md") end
  end },
  { "B-CALL", "what happened so far", function()
    return function(x) return x * #sgl.events() end
  end },
  { "B-CALL", "the cache", function() return function(x) sgl.cache.clear() return x end end },
  { "B-STATE", "a listener", function()
    return function(x) sgl.on("fallback", print) return x end
  end },
  { "B-STATE", "another step that is closed", function()
    local other = sgl.compile(function(x) return x end)
    return function(x) other:close() return x end
  end },
  { "B-STATE", "a tensor that is closed", function()
    local t = sgl.ones(2)
    return function(x) t:close() return x end
  end },
  { "B-READ", "the value of a tensor that it updated", function()
    local t = sgl.tensor(2.0)
    return function(x) t:assign(t + 1) return x * t:item() end
  end },
  { "B-WRITE", "a table that takes writes for a new one", function()
    local log = {}
    return function(x) table.insert(object({ __newindex = log }), 5) return x end
  end },
  -- what stands for arguments
  { "B-WRITE", "an element for an argument", function()
    return function(list) table.insert(list, 1) return list[1] end, { w }
  end },
  { "B-EQ", "an argument that is a table from outside", function()
    local batch = { w }
    return function(b) return b == batch and b[1] * 2 or b[1] end, batch
  end },
  { "B-KEY", "an argument as a key from outside", function()
    local batch = { w }
    local known = { [batch] = 2 }
    return function(b) return b[1] * (known[b] or 1) end, batch
  end },
  { "B-EQ", "an argument that is a tensor from outside", function()
    return function(x) return rawequal(x, w) and x * 2 or x end, w
  end },
}

describe("a step breaks at", function()
  for _, row in ipairs(BROKEN) do
    it(row[2] .. ": " .. row[1], function()
      local fn, argument = row[3]()
      local e = support.error_of(sgl.compile(fn), argument or sgl.ones(2))
      assert.are.equal(row[1], e.reason, tostring(e))
      assert.are.equal(debug.getinfo(fn, "S").linedefined, e.line, tostring(e))
    end)
  end

  it("a write to an argument also with effects = 'once': it would not reach it", function()
    local e = support.error_of(sgl.compile(function(b) b.y = 1 return b.x end,
      { effects = "once" }), { x = w })
    assert.are.equal("B-WRITE", e.reason)
    assert.matches("'y' of a table among the arguments", e.message)
  end)
end)

describe("arguments", function()
  it("may be tables with tensors, objects and booleans as keys", function()
    local p, q, object = sgl.ones(2) * 2, sgl.ones(2) * 3, {}
    local function fn(t) return t[p] * 2 + t[q] * t[true] + (t[object] or 7) + t[false].k, t end
    local step = sgl.compile(fn)
    for i = 1, 3 do
      local t = { [p] = sgl.ones(2) * i, [q] = i, [true] = i + 1, [false] = { k = i } }
      t[object] = i
      local y, back = step(t)
      assert.is_true(same(fn(t), y))
      assert.is_true(rawequal(back, t))
    end
    assert.are.equal(1, #step:programs())
    local t = { [p] = sgl.ones(2), [q] = 1, [true] = 2, [false] = { k = 1 } }
    assert.is_true(same(fn(t), (step(t))))
    assert.are.equal(2, #step:programs())
  end)

  it("keep which of their tables are one", function()
    local function fn(a, b) return a[1] * (a == b and 2 or 1) end
    local step = sgl.compile(fn)
    local one = { w }
    for _ = 1, 2 do
      assert.is_true(same(fn(one, one), step(one, one)))
      assert.is_true(same(fn(one, { w }), step(one, { w })))
    end
    assert.are.equal(2, #step:programs())
  end)

  it("may be tables in a circle, and so may results", function()
    local circle = { x = w }
    circle.self = circle
    local result = sgl.compile(function(c)
      local out = { y = c.self.self.x * 2 }
      out.out = out
      return out
    end)(circle)
    assert.is_true(rawequal(result.out, result))
    assert.are.same({ 2.0, 2.0 }, result.out.out.y:tolist())
  end)

  it("of another kind or value are named, with both", function()
    local function f() end
    local step, n = sgl.compile(function(t, ...)
      assert(select("#", ...) < 2 and (not t or next(t)))
      return t and t.x or w * 1
    end), 1
    step({ x = w, k = "a" })
    for _, call in ipairs {
      { "^t%.k changed from \"a\" to \"b\"$", { x = w, k = "b" } },
      { "^t%.k changed from \"b\" to a number$", { x = w, k = 1 } },
      { "^the keys of t changed$", { x = w, z = 1 } },
      { "^t%.z changed from a number to f32%[2%]$", { x = w, z = w } },
      { "^which arguments are one object changed$", { x = w, z = sgl.ones(2) } },
      { "^t%.z changed from f32%[2%] to f32%[3%]$", { x = w, z = sgl.ones(3) } },
      { "^t%.z changed from f32%[3%] to an object$", { x = w, z = f } },
      { "^t%.z is another object$", { x = w, z = print } },
      { "^t changed from a table to nil$", nil },
      { "^the number of arguments changed$", nil, 1 },
    } do
      step(table.unpack(call, 2, call[3] and 3 or 2))
      n = n + 1
      assert.are.equal(n, #step:programs())
      assert.matches(call[1], step:programs()[n].reason)
    end
  end)

  it("that are another function at each call are what is named at the limit", function()
    local step = sgl.compile(function(x, fn) return fn(x) end, { max_recaptures = 3 })
    local e
    for i = 1, 6 do
      local fine, problem = pcall(step, w, function(x) return x * i end)
      e = e or not fine and problem
    end
    assert.matches("4  fn\n", e.hint)
  end)

  it("from which much is reached through many ways are looked through once", function()
    local list, x = { 1 }, sgl.ones(2)
    for _ = 1, 40 do list = { list, list } end
    local step = sgl.compile(function(v) return v * select("#", table.unpack({ list, list })) end)
    assert.are.same({ 2.0, 2.0 }, step(x):tolist())
    assert.is_false(pcall(sgl.compile(function(v) return v + sgl.tensor(list) end), x))
  end)
end)

-- Numbers as arguments take the dtype of what is beside them, as they do outside.
describe("a number among the arguments", function()
  local function fn(x, n)
    return x * n, (n + 1) * 2 + x, (x + n // 2):sum(), sgl.where(x:gt(1), n, x)
  end
  local step = sgl.compile(fn)
  for _, dtype in ipairs { "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "bool" } do
    it("beside " .. dtype .. " gives what a number outside gives", function()
      local x = sgl.tensor({ 1, 2, 0 }, { dtype = dtype })
      for _, n in ipairs { 2, 3, 0.5, 2.0 } do
        local want, got = { fn(x, n) }, { step(x, n) }
        for i = 1, #want do
          assert.is_true(same(want[i], got[i]), ("result %d with %s"):format(i, n))
        end
      end
    end)
  end

  it("is captured once for floats and once for integers where integers matter", function()
    local times = sgl.compile(function(x, n) return x * n end)
    local x = sgl.ones(2):int()
    for n = 1, 5 do times(x, n) times(x, n + 0.5) end
    assert.are.equal(2, #times:programs())
    assert.are.equal("n changed from an integer to a float", times:programs()[2].reason)
    local scaled = sgl.compile(function(v, n) return v * n end)
    for n = 1, 5 do scaled(sgl.ones(2), n) scaled(sgl.ones(2), n + 0.5) end
    assert.are.equal(1, #scaled:programs())
  end)
end)

-- Errors of Lua, each with a part of its message.
local ERRORS = {
  { function() return _G.undefined() end, "attempt to call a nil value" },
  { function() local t = {} return t.a.b end, "attempt to index a nil value" },
  { function() return 1 + nil end, "attempt to perform arithmetic" },
  { function() return {} < {} end, "attempt to compare" },
  { function(x) for _ in 5 do x = x + 1 end end, "attempt to call a number value" },
  { function(x) for _ = 1, "x" do x = x + 1 end end, "'for' limit" },
  { function() error "mine" end, "mine" },
  { function() assert(nil) end, "assertion failed" },
  { function() return ("%d"):format "z" end, "number expected" },
  { function() return setmetatable(1, 2) end, "table expected" },
  { function() return table.concat({ {} }) end, "invalid value" },
  { function() coroutine.wrap(function() error "inner" end)() end, "inner" },
  { function(x) return x:nosuch() end, "no method 'nosuch'" },
}

describe("an error of a step", function()
  for _, row in ipairs(ERRORS) do
    it(("is what Lua says, whatever the handler does: %s"):format(row[2]), function()
      local seen = {}
      local function handler(e)
        seen[#seen + 1] = tostring(e)
        return os.time() > 0 and seen[#seen]
      end
      local fine, e = xpcall(sgl.compile(row[1]), handler, w)
      assert.is_false(fine)
      assert.matches(row[2], e, 1, true)
      assert.are.equal(1, #seen)
      assert.is_nil((debug.gethook()))
    end)
  end

  it("is what Lua says with the handler of the program", function()
    local out = support.script [[
local sgl = require "sgl"
local step = sgl.compile(function(x)
  local t
  return x * t.k
end)
step(sgl.ones(2))]]
    assert.matches(":4: attempt to index a nil value %(local 't'%)", out)
  end)

  it("is followed by none of what closes after it", function()
    local e = support.error_of(sgl.compile(function(x)
      local _ <close> = object({ __close = function() print "closed" end })
      if x:gt(0) then return x end
    end), w)
    assert.are.equal("B-COND", e.reason)
  end)

  it("leaves the step as it was", function()
    local cfg = {}
    local step = sgl.compile(function(x) return x * cfg.k end)
    assert.is_false(pcall(step, w))
    cfg.k = 3
    assert.are.same({ 3.0, 3.0 }, step(w):tolist())
    cfg.k = nil
    assert.is_false(pcall(step, w))
    cfg.k = 3
    assert.are.same({ 3.0, 3.0 }, step(w):tolist())
    assert.are.equal(1, #step:programs())
  end)
end)
