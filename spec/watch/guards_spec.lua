-- guards_spec.lua: scripts that change what a compiled step reads between calls: the results are
-- those of the function as it stands, and the reason of the new capture names what changed.

local sgl = require "sgl"
local core = require "sgl.core"
local support = require "spec.support"

local nn = sgl.nn

local function module_with(fields, forward)
  local class = nn.module("Spec", function(self) for k, v in pairs(fields) do self[k] = v end end)
  class.forward = forward
  return class()
end

-- Each makes a step and a change: name, maker, the reason (a pattern).
local SCRIPTS = {
  { "an upvalue", function()
    local k = 2
    return function(x) return x * k end, function() k = 3 end
  end, "^k changed from 2 to 3$" },
  { "a global", function()
    _G.GUARDED = 2
    return function(x) return x * _G.GUARDED end, function() _G.GUARDED = 3 end
  end, "GUARDED changed from 2 to 3" },
  { "a field", function()
    local cfg = { k = 2 }
    return function(x) return x * cfg.k end, function() cfg.k = 3 end
  end, "^cfg%.k changed from 2 to 3$" },
  { "a nested field", function()
    local cfg = { a = { b = { k = 2 } } }
    return function(x) return x * cfg.a.b.k end, function() cfg.a.b.k = 3 end
  end, "^cfg%.a%.b%.k changed from 2 to 3$" },
  { "a table on the way", function()
    local cfg = { a = { k = 2 } }
    return function(x) return x * cfg.a.k end, function() cfg.a = { k = 3 } end
  end, "^cfg%.a is another table$" },
  { "a field by a key that varies", function()
    local cfg, key = { a = 2, b = 5 }, "a"
    return function(x) return x * cfg[key] end, function() key = "b" end
  end, '^key changed from "a" to "b"$' },
  { "a field under a key that is no name", function()
    local cfg = { ["a b"] = 2 }
    return function(x) return x * cfg["a b"] end, function() cfg["a b"] = 3 end
  end, '^cfg%["a b"%] changed from 2 to 3$' },
  { "an element by its number", function()
    local list = { 1, 2 }
    return function(x) return x * list[2] end, function() list[2] = 3 end
  end, "^list%[2%] changed from 2 to 3$" },
  { "a field that was absent", function()
    local cfg = {}
    return function(x) return x * (cfg.k or 1) end, function() cfg.k = 3 end
  end, "^cfg%.k changed from nil to 3$" },
  { "a field that goes", function()
    local cfg = { k = 2 }
    return function(x) return x * (cfg.k or 1) end, function() cfg.k = nil end
  end, "^cfg%.k changed from 2 to nil$" },
  { "the length of a list", function()
    local list = { 1, 2 }
    return function(x) return x * #list end, function() list[3] = 0 end
  end, "^#list changed from 2 to 3$" },
  { "one more under ipairs", function()
    local list = { 1, 2 }
    return function(x) for _, v in ipairs(list) do x = x * v end return x end,
      function() list[3] = 7 end
  end, "^list%[3%] changed from nil to 7$" },
  { "a value under pairs", function()
    local set = { a = 1, b = 2 }
    return function(x) for _, v in pairs(set) do x = x + v end return x end,
      function() set.b = 9 end
  end, "^set%.b changed from 2 to 9$" },
  { "a key more under pairs", function()
    local set = { a = 1 }
    return function(x) for _, v in pairs(set) do x = x + v end return x end,
      function() set.b = 9 end
  end, "^the number of keys of set changed from 1 to 2$" },
  { "a key more under next", function()
    local set = {}
    return function(x) if next(set) then return x * 2 end return x + 0 end, function() set.z = 1 end
  end, "number of keys of set" },
  { "a metatable", function()
    local o = setmetatable({}, { __index = { k = 2 } })
    return function(x) return x * o.k end, function() setmetatable(o, { __index = { k = 3 } }) end
  end, "^the metatable of o is another table$" },
  { "__index of a metatable", function()
    local meta = { __index = { k = 2 } }
    local o = setmetatable({}, meta)
    return function(x) return x * o.k end, function() meta.__index = { k = 3 } end
  end, "^__index of the metatable of %a+ is another table$" },
  { "a field that is inherited", function()
    local class = { k = 2 }
    local o = setmetatable({}, { __index = class })
    return function(x) return x * o.k end, function() class.k = 3 end
  end, "k changed from 2 to 3$" },
  { "an inherited field that is shadowed", function()
    local o = setmetatable({}, { __index = { k = 2 } })
    return function(x) return x * o.k end, function() o.k = 3 end
  end, "^o%.k changed from nil to 3$" },
  { "a field that a function serves", function()
    local k = 2
    local o = setmetatable({}, { __index = function() return k end })
    return function(x) return x * o.any end, function() k = 3 end
  end, "^k changed from 2 to 3$" },
  { "getmetatable", function()
    local a, b = { k = 2 }, { k = 3 }
    local o = setmetatable({}, a)
    return function(x) return x * getmetatable(o).k end, function() setmetatable(o, b) end
  end, "^the metatable of o is another table$" },
  { "a metamethod of arithmetic", function()
    local meta = { __add = function() return 2 end }
    local o = setmetatable({}, meta)
    return function(x) return x * (o + 1) end, function() meta.__add = function() return 3 end end
  end, "^__add of the metatable of %a+ changed from the function" },
  { "__call and __len", function()
    local meta = { __call = function() return 2 end, __len = function() return 5 end }
    local o = setmetatable({}, meta)
    return function(x) return x * o() * #o end, function() meta.__len = function() return 3 end end
  end, "^__len of the metatable of %a+ changed from the function" },
  { "rawget", function()
    local o = { k = 2 }
    return function(x) return x * rawget(o, "k") end, function() o.k = 3 end
  end, "^o%.k changed from 2 to 3$" },
  { "rawset of a field of a module", function()
    local m = module_with({ k = 2 }, function(self, x) return x * self.k end)
    return function(x) return m(x) end, function() rawset(m, "k", 3) end
  end, "^m%.k changed from 2 to 3$" },
  { "rawset of a field that a module had not", function()
    local m = module_with({}, function(self, x) return x * (self.k or 1) end)
    return function(x) return m(x) end, function() rawset(m, "k", 3) end
  end, "^m%.k changed from nil to 3$" },
  { "rawset of what a module was asked for by rawget", function()
    local m = module_with({ k = 2 }, function() end)
    return function(x) return x * rawget(m, "k") end, function() rawset(m, "k", 3) end
  end, "^m%.k changed from 2 to 3$" },
  { "rawlen", function()
    local o = { 1 }
    return function(x) return x * rawlen(o) end, function() o[2] = 1 end
  end, "^#o changed from 1 to 2$" },
  { "table.unpack", function()
    local list = { 1, 2 }
    return function(x) local a, b = table.unpack(list) return x * a + b end,
      function() list[1] = 3 end
  end, "^list%[1%] changed from 1 to 3$" },
  { "table.concat", function()
    local list = { "1", "2" }
    return function(x) return x * tonumber(table.concat(list)) end, function() list[1] = "3" end
  end, '^list%[1%] changed from "1" to "3"$' },
  { "a shape in a table", function()
    local shape = { 2, 2 }
    return function(x) return x:reshape(shape) end, function() shape[1], shape[2] = 4, 1 end
  end, "^shape%[%d%] changed from 2 to %d$" },
  { "values of a constant", function()
    local rows = { { 1, 2 }, { 3, 4 } }
    return function(x) return x:reshape(2, 2) + sgl.tensor(rows) end, function() rows[2][1] = 9 end
  end, "^rows%[2%]%[1%] changed from 3 to 9$" },
  { "an option in a table", function()
    local opts = { approximate = "none" }
    return function(x) return nn.gelu(x, opts) end, function() opts.approximate = "tanh" end
  end, '^opts%.approximate changed from "none" to "tanh"$' },
  { "a string option", function()
    local mode = "mean"
    return function(x) return x[mode](x) end, function() mode = "sum" end
  end, '^mode changed from "mean" to "sum"$' },
  { "model.training by eval()", function()
    local model = nn.Dropout(0.9)
    model:eval()
    local other = module_with({}, function(self, x) return x * (self.training and 2 or 3) end)
    return function(x) return other(model(x)) end, function() other:eval() end
  end, "^other%.training changed from true to false$" },
  { "model.training by assignment", function()
    local m = module_with({}, function(self, x) return x * (self.training and 2 or 3) end)
    return function(x) return m(x) end, function() m.training = false end
  end, "^m%.training changed from true to false$" },
  { "a field of a module", function()
    local m = module_with({ k = 2 }, function(self, x) return x * self.k end)
    return function(x) return m(x) end, function() m.k = 3 end
  end, "^m%.k changed from 2 to 3$" },
  { "a parameter that is replaced", function()
    local m = nn.Linear(4, 4)
    return function(x) return m(x) end, function() m.weight = nn.parameter(sgl.ones(4, 4)) end
  end, "^m%.weight is another tensor$" },
  { "a layer that is replaced", function()
    local m = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    return function(x) return m(x) end, function() m[2] = nn.Tanh() end
  end, "^m%[2%] is another table$" },
  { "a layer more", function()
    local m = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    return function(x) return m(x) end, function() m[3] = nn.Tanh() end
  end, "^#m changed from 2 to 3$" },
  { "the forward of a class", function()
    local class = nn.module("Spec", function() end)
    function class.forward(_, x) return x * 2 end
    local m = class()
    return function(x) return m(x) end, function() function class.forward(_, x) return x * 3 end end
  end, "forward changed from the function" },
  { "a closure's closure", function()
    local k = 2
    local function inner() return function() return k end end
    local get = inner()
    local function outer(x) return x * get() end
    return function(x) return outer(x) end, function() k = 3 end
  end, "^k changed from 2 to 3$" },
  { "a function that is replaced", function()
    local function act(x) return x * 2 end
    return function(x) return act(x) end, function() act = function(x) return x * 3 end end
  end, "^act changed from the function" },
  { "the bound of a loop", function()
    local n = 2
    return function(x) for i = 1, n do x = x + i end return x end, function() n = 4 end
  end, "^n changed from 2 to 4$" },
  { "a condition on a plain value", function()
    local cfg = { on = true }
    return function(x) if cfg.on then return x * 2 end return x + 1 end,
      function() cfg.on = false end
  end, "^cfg%.on changed from true to false$" },
  { "a tensor that is replaced", function()
    local t = sgl.ones(4)
    return function(x) return x * t end, function() t = sgl.ones(4) * 5 end
  end, "^t is another tensor$" },
  { "a list of tensors", function()
    local ts = { sgl.ones(4), sgl.ones(4) }
    return function(x) return sgl.stack(ts) + x end, function() ts[2] = sgl.ones(4) * 7 end
  end, "^ts%[2%] is another tensor$" },
  { "an integer that becomes a float", function()
    local k = 2
    return function(x) return x:int() * k end, function() k = 2.5 end
  end, "^k changed from 2 to 2%.5$" },
  { "a method of an object with state", function()
    local o = { k = 2 }
    function o:scale(x) return x * self.k end
    return function(x) return o:scale(x) end, function() o.k = 3 end
  end, "^o%.k changed from 2 to 3$" },
  { "varargs of an upvalue list", function()
    local args = { 1, 2, n = 2 }
    local function sum(...) local s = 0 for i = 1, select("#", ...) do s = s + (select(i, ...)) end
      return s end
    return function(x) return x * sum(table.unpack(args, 1, args.n)) end,
      function() args.n = 1 end
  end, "args%.n changed from 2 to 1" },
}

local function same(a, b) return a.dtype == b.dtype and a:equal(b) end

describe("a step that reads", function()
  for _, script in ipairs(SCRIPTS) do
    it(script[1] .. " is captured again when it changes", function()
      local fn, change = script[2]()
      local step, x = sgl.compile(fn), sgl.tensor({ 1.5, -2, 3, 0.25 })
      assert.is_true(same(fn(x), step(x)))
      step(x)
      assert.are.equal(1, #step:programs())
      change()
      assert.is_true(same(fn(x), step(x)))
      local programs = step:programs()
      assert.are.equal(2, #programs)
      assert.matches(script[3], programs[2].reason)
      step(x)
      assert.are.equal(2, #step:programs())
    end)
  end

  it("has at least 40 scripts", function() assert.is_true(#SCRIPTS >= 40) end)
end)

describe("guards", function()
  it("do not count what was not read", function()
    local cfg, x = { k = 2, z = 1 }, sgl.ones(2)
    local step = sgl.compile(function(v) return v * cfg.k end)
    step(x)
    cfg.z = 5
    cfg.other = {}
    step(x)
    assert.are.equal(1, #step:programs())
  end)

  it("find an earlier program again", function()
    local k, x = 2, sgl.ones(2)
    local step = sgl.compile(function(v) return v * k end)
    for i = 1, 6 do
      k = 2 + i % 2
      assert.are.same({ k + 0.0, k + 0.0 }, step(x):tolist())
    end
    assert.are.equal(2, #step:programs())
  end)

  it("name a module that came as an argument", function()
    local m = module_with({ k = 2 }, function(self, x) return x * self.k end)
    local step = sgl.compile(function(model, x) return model(x) end)
    step(m, sgl.ones(2))
    m.k = 3
    assert.are.same({ 3.0, 3.0 }, step(m, sgl.ones(2)):tolist())
    assert.are.equal("model.k changed from 2 to 3", step:programs()[2].reason)
  end)

  it("stop after max_recaptures with what failed how often", function()
    local cfg, x = { k = 0 }, sgl.ones(2)
    local step = sgl.compile(function(v) return v * cfg.k end, { max_recaptures = 3 })
    local e
    for i = 1, 10 do
      cfg.k = i
      local ok, problem = pcall(step, x)
      if not ok then e = e or { i, problem } end
    end
    assert.are.equal(5, e[1])
    assert.are.equal("SGL_ESTATE", e[2].code)
    assert.matches("at most 3 re%-captures", e[2].message)
    assert.matches("%d+  cfg%.k\n", e[2].hint)
  end)

  it("count at the limit what made the captures, not what else failed to hold", function()
    local cfg, x = { a = 1, b = 1 }, sgl.ones(2)
    local step = sgl.compile(function(v) return v * cfg.a + cfg.b end, { max_recaptures = 4 })
    step(x)
    cfg.a = 2
    step(x)                          -- for a
    for _ = 1, 20 do                 -- both are there: nothing is captured for a
      cfg.a = 3 - cfg.a
      step(x)
    end
    for i = 2, 4 do
      cfg.b = i
      step(x)                        -- for b
    end
    assert.are.equal(5, #step:programs())
    cfg.b = 5
    for _ = 1, 3 do
      local e = support.error_of(step, x)
      assert.matches("^what changed, and how often:\n     4  cfg.b\n     1  cfg.a\npass ", e.hint)
    end
  end)

  it("stop after that many signatures too, and name the argument", function()
    local step = sgl.compile(function(x) return x * 2 end, { max_recaptures = 4 })
    local e
    for n = 1, 8 do
      local ok, problem = pcall(step, sgl.ones(n))
      e = e or not ok and problem
    end
    assert.matches("5  x\n", e.hint)
  end)

  it("hold 1,000 steps of a warm-up: one capture, one compile", function()
    local model = nn.Linear(4, 2)
    local opt = sgl.optim.AdamW(model:parameters(), { lr = 0 })
    local compiles = 0
    local step = sgl.compile(function(x, lr, scale, count)
      compiles = compiles + 1
      local loss = model(x):sum() * scale / (count + 1)
      local grads = sgl.grad(loss, opt.params)
      for i, g in ipairs(grads) do grads[i] = g / scale end
      opt:step(grads, { lr = lr })
      return loss
    end, { effects = "once" })
    local x = sgl.ones(3, 4)
    for i = 1, 1000 do
      step(x, 1e-3 * math.min(1, i / 100), i % 200 == 0 and 1024.0 or 512.0, i)
      if i % 100 == 0 then opt:set_lr(i * 1e-4) end
    end
    assert.are.equal(1, compiles)
    assert.are.equal(1, #step:programs())
  end)

  it("tell two inputs that are one tensor from two; an update is seen outside", function()
    local function fn(a, b)
      a:assign(a + 1)
      return b * 2
    end
    local t, u, v, w = sgl.ones(2), sgl.ones(2), sgl.ones(2), sgl.ones(2)
    local step = sgl.compile(fn)
    for _ = 1, 2 do
      assert.are.same(fn(t, t):tolist(), step(u, u):tolist())
      assert.are.same(fn(t, v):tolist(), step(u, w):tolist())
    end
    assert.are.same({ t:tolist(), v:tolist() }, { u:tolist(), w:tolist() })
    assert.are.equal(2, #step:programs())
  end)

  it("refuse an argument that is also a tensor from outside, when one is updated", function()
    local w = sgl.ones(2)
    local step = sgl.compile(function(a)
      w:assign(w + 1)
      return a * 2
    end)
    assert.are.same({ 2.0, 2.0 }, step(sgl.ones(2)):tolist())
    assert.matches("also takes from outside", support.error_of(step, w).message)
    assert.are.same({ 2.0, 2.0 }, w:tolist())
  end)

  it("run such a call as Lua with fullgraph = false, and others as a program", function()
    local w, v = sgl.ones(2), sgl.ones(2)
    local function step_of(t)
      return function(a)
        t:assign(t + 1)
        return a * 2
      end
    end
    local plain, step = step_of(v), sgl.compile(step_of(w), { fullgraph = false })
    for _, same in ipairs { false, true, true, false } do
      local want, got = plain(same and v or sgl.ones(2)), step(same and w or sgl.ones(2))
      assert.are.same(want:tolist(), got:tolist())
    end
    assert.are.same(v:tolist(), w:tolist())
    local report = sgl.coverage(step)
    assert.are.equal(4, report.steps)
    assert.are.equal(0.5, report.captured_steps)
    assert.are.equal("B-ERROR", report.breaks[1].code)
    assert.matches("^a is a tensor that the step also takes", report.breaks[1].reason)
  end)

  it("know a tensor that is no parameter by its path", function()
    local hidden = { cache = { 1, 2, sgl.ones(2) } }
    local step = sgl.compile(function(x) return x + hidden.cache[3] end)
    step(sgl.ones(2))
    assert.are.equal("upvalue hidden.cache[3]", step:state()[1].name)
    assert.is_true(rawequal(hidden.cache[3], step:state()[1].tensor))
    assert.is_true(core.is_tensor(step:state()[1].tensor))
  end)
end)

describe("raw access", function()
  it("finds in a module what it holds, and writes to it", function()
    local m = module_with({ k = 2, 5, 6 }, function() end)
    assert.are.equal(2, rawget(m, "k"))
    assert.is_nil(rawget(m, "forward"))
    assert.are.equal(2, rawlen(m))
    assert.is_true(rawequal(m, rawset(m, "k", 4)))
    assert.are.equal(4, m.k)
  end)

  it("to other tables is Lua's, in its messages too", function()
    local t = setmetatable({}, { __index = { k = 1 }, __newindex = error, __len = error })
    assert.is_nil(rawget(t, "k"))
    assert.is_true(rawequal(t, rawset(t, 1, "a")))
    assert.are.equal(1, rawlen(t))
    assert.are.equal(3, rawlen "abc")
    for _, case in ipairs {
      { "rawget(1, 2)", "bad argument #1 to 'rawget' (table expected, got number)" },
      { "rawget({})", "bad argument #2 to 'rawget' (value expected)" },
      { "rawset(nil, 1, 2)", "bad argument #1 to 'rawset' (table expected, got nil)" },
      { "rawset({}, 1)", "bad argument #3 to 'rawset' (value expected)" },
      { "rawset({}, nil, 1)", "index is nil" },
      { "rawlen(1)", "table or string expected" },
    } do
      local _, message = pcall(assert(load("local _ = " .. case[1], "=raw")))
      assert(message:find(case[2], 1, true), message)
    end
  end)
end)

-- What only `debug` can change: the type's example value, its metatable, a step, a change of the
-- metatable in place, its reason, and another metatable.
local TYPES = {
  { "numbers", 0, function() return { __index = { double = 2 } } end,
    function(x) return x * (3).double end,
    function(meta) meta.__index.double = 5 end,
    "^__index of the metatable of numbers%.double changed from 2 to 5$",
    function() return { __index = { double = 7 } } end },
  { "numbers that are called", 0,
    function() return { __call = function(n, x) return x * n end } end,
    function(x) local n = 3 return n(x) end,
    function(meta) meta.__call = function(n, x) return x + n end end,
    "^__call of the metatable of numbers changed",
    function() return { __call = function(n, x) return x - n end } end },
  { "numbers that are written to", 0,
    function() return { __newindex = function(_, k, t) t.x = t.x * #k end } end,
    function(x) local n, t = 3, { x = x } n.abc = t n["a" .. "b"] = t return t.x end,
    function(meta) meta.__newindex = function(_, _, t) t.x = t.x + 1 end end,
    "^__newindex of the metatable of numbers changed",
    function() return { __newindex = function(_, _, t) t.x = t.x - 1 end } end },
  { "booleans", true, function() return { __unm = function() return 3 end } end,
    function(x) local b = true return x * -b end,
    function(meta) meta.__unm = function() return 4 end end,
    "^__unm of the metatable of booleans changed",
    function() return { __unm = function() return 5 end } end },
  { "nil", nil, function() return { __index = function() return 3 end } end,
    function(x) local n return x * n.deep end,
    function(meta) meta.__index = function() return 4 end end,
    "^__index of the metatable of nil changed",
    function() return { __index = function() return 5 end } end },
  { "functions", print, function() return { __index = { n = 3 } } end,
    function(x) return x * print.n end,
    function(meta) meta.__index.n = 4 end,
    "^__index of the metatable of functions%.n changed from 3 to 4$",
    function() return { __index = { n = 5 } } end },
  { "functions that are joined", print,
    function() return { __concat = function(f, g) return function(x) return f(g(x)) end end } end,
    function(x)
      local twice, more = function(v) return v * 2 end, function(v) return v + 1 end
      return (twice .. more)(x)
    end,
    function(meta) meta.__concat = function(f) return f end end,
    "^__concat of the metatable of functions changed",
    function() return { __concat = function(_, g) return g end } end },
}

describe("a step that goes by the metatable of a type", function()
  local changed = "^debug changed a metatable or an upvalue"
  for _, row in ipairs(TYPES) do
    it("is captured again when that changes: " .. row[1], function()
      local value, fn, x = row[2], row[4], sgl.tensor { 1.5, -2 }
      local meta, step = row[3](), sgl.compile(fn)
      local ok, problem = pcall(function()
        debug.setmetatable(value, meta)
        assert.is_true(same(fn(x), step(x)))
        step(x)
        assert.are.equal(1, #step:programs())
        row[5](meta)
        assert.is_true(same(fn(x), step(x)))
        assert.matches(row[6], step:programs()[2].reason)
        debug.setmetatable(value, row[7]())
        assert.is_true(same(fn(x), step(x)))
        assert.matches(changed, step:programs()[3].reason)
        step(x)
        assert.are.equal(3, #step:programs())
      end)
      debug.setmetatable(value, nil)
      assert(ok, problem)
      assert.is_false(pcall(step, x))
    end)
  end

  it("or by that of an object of C is captured again when that changes", function()
    local file, x = io.tmpfile(), sgl.ones(2)
    local meta = debug.getmetatable(file)
    local index = meta.__index
    local step = sgl.compile(function(v) return v * file.k, file(v), file + v end)
    local ok, problem = pcall(function()
      meta.__index, meta.__call = { k = 2 }, function(_, v) return v * 2 end
      meta.__add = meta.__call
      for i, change in ipairs {
        function() end,
        function() meta.__index.k = 3 end,
        function() meta.__call = function(_, v) return v * 4 end end,
        function() meta.__add = function(_, v) return v * 5 end end,
      } do
        change()
        local a, b, c = step(x)
        assert.is_true(same(x * file.k, a) and same(file(x), b) and same(file + x, c), "call " .. i)
      end
      assert.are.equal(4, #step:programs())
    end)
    meta.__index, meta.__call, meta.__add = index, nil, nil
    file:close()
    assert(ok, problem)
  end)

  it("or by a method of tensors is captured again when that changes", function()
    local x = sgl.ones(2)
    local key = "thrice"
    local step = sgl.compile(function(v) return v:twice() + v.twice(v) + v[key](v) end)
    local ok, problem = pcall(function()
      function sgl.Tensor.twice(t) return t * 2 end
      function sgl.Tensor.thrice(t) return t * 3 end
      assert.are.equal(7, step(x)[1]:item())
      function sgl.Tensor.twice(t) return t * 20 end
      assert.are.equal(43, step(x)[1]:item())
      assert.matches("^sgl%.Tensor%.twice changed from the function", step:programs()[2].reason)
      function sgl.Tensor.thrice(t) return t * 30 end
      assert.are.equal(70, step(x)[1]:item())
    end)
    sgl.Tensor.twice, sgl.Tensor.thrice = nil, nil
    assert(ok, problem)
  end)

  it("or by that of a module is captured again when debug sets another", function()
    local m, x = nn.Linear(2, 2), sgl.ones(2)
    local step = sgl.compile(function(v) return m(v) end)
    assert.is_true(same(m(x), step(x)))
    debug.setmetatable(m, { __call = function(_, v) return v * 7 end })
    assert.is_true(same(m(x), step(x)))
    assert.matches(changed, step:programs()[2].reason)
  end)

  it("or by a function of the library is captured again when debug sets an upvalue", function()
    local step, x = sgl.compile(function(v) return nn.gelu(v) end), sgl.ones(2)
    step(x)
    local _, held = debug.getupvalue(nn.gelu, 1)
    debug.setupvalue(nn.gelu, 1, held)
    step(x)
    assert.matches(changed, step:programs()[2].reason)
  end)

  it("is let be when debug changes tables and functions of the script", function()
    local o, k, x = setmetatable({}, { __index = { k = 2 } }), 3, sgl.ones(2)
    local function scale(v) return v * k * o.k end
    local step = sgl.compile(scale)
    step(x)
    debug.setmetatable({}, {})
    debug.setupvalue(function() return x end, 1, x)
    step(x)
    assert.are.equal(1, #step:programs())
    debug.setupvalue(scale, 1, 5)
    debug.setmetatable(o, { __index = { k = 3 } })
    assert.is_true(same(scale(x), step(x)))
    assert.are.equal(2, #step:programs())
  end)
end)

describe("debug", function()
  it("does as that of Lua, in its messages too", function()
    local a, b = 1, 2
    local function first() return a end
    local function second() return b end
    assert.are.equal("a", debug.setupvalue(first, 1, 5))
    assert.are.equal(5, a)
    assert.is_nil(debug.setupvalue(first, 2, 5))
    debug.upvaluejoin(first, 1, second, 1)
    assert.are.equal(2, first())
    local t = {}
    assert.is_true(rawequal(t, debug.setmetatable(t, nil)))
    for _, case in ipairs {
      { "setmetatable({}, 1)", "bad argument #2 to 'setmetatable' (nil or table expected" },
      { "setupvalue(print, 1)", "bad argument #3 to 'setupvalue' (value expected)" },
      { "setupvalue(1, 1, 1)", "bad argument #1 to 'setupvalue' (function expected, got number)" },
      { "upvaluejoin(load '', 9, load '', 1)", "bad argument #2 to 'upvaluejoin' (invalid upv" },
    } do
      local _, message = pcall(assert(load("local _ = debug." .. case[1], "=debug")))
      assert(message:find(case[2], 1, true), message)
    end
  end)
end)

describe("an error of Lua inside a step", function()
  it("is raised as it is", function()
    local e = support.error_of(sgl.compile(function() error({ mine = true }) end))
    assert.is_true(e.mine)
  end)
end)
