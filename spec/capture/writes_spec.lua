-- writes_spec.lua: what a step writes to what was there before it is written at each call, as
-- without sgl.compile: fields of objects, upvalues, globals, elements, fields of arguments.

local sgl = require "sgl"
local support = require "spec.support"

-- Each row: what it writes, a function that makes a step and a function that shows what it left,
-- and how many captures it takes.
local ROWS = {
  { "a tensor that is kept", 1, function()
    local self = {}
    return function(x) self.last = x * 2 return x + 1 end, function() return self.last end
  end },
  { "a count", 2, function()
    local self = { calls = 0 }
    return function(x) self.calls = self.calls + 1 return x * self.calls end,
      function() return self.calls, math.type(self.calls) end
  end },
  { "a count that is a float", 2, function()
    local self = { calls = 0.5 }
    return function(x) self.calls = self.calls * 2 return x * self.calls end,
      function() return self.calls, math.type(self.calls) end
  end },
  { "a state that begins with a tensor", 2, function()
    local self = { h = sgl.zeros(2) }
    return function(x) self.h = self.h * 0.5 + x return self.h + 1 end, function() return self.h end
  end },
  { "a state that begins with nil", 2, function()
    local self = {}
    return function(x) self.h = self.h and self.h * 0.5 + x or x return self.h end,
      function() return self.h end
  end },
  { "a state that begins with false", 2, function()
    local self = { h = false }
    return function(x) self.h = self.h and self.h + x or x * 3 return self.h * 2 end,
      function() return self.h end
  end },
  { "a table of state that is made anew", 2, function()
    local self = { state = { h = sgl.zeros(2), n = 0 } }
    return function(x)
      self.state = { h = self.state.h + x, n = self.state.n + 1 }
      return self.state.h
    end, function() return self.state.h, self.state.n end
  end },
  { "fields of a table of state", 2, function()
    local self = { state = { h = sgl.zeros(2), n = 0 } }
    local kept = self.state
    return function(x)
      self.state.h = self.state.h + x
      self.state.n = self.state.n + 1
      return self.state.h * self.state.n
    end, function() return kept.h, kept.n, rawequal(kept, self.state) end
  end },
  { "two that change places", 2, function()
    local self = { a = sgl.zeros(2), b = sgl.ones(2) }
    return function(x) self.a, self.b = self.b, self.a + x return self.a end,
      function() return self.a, self.b end
  end },
  { "elements of a list", 2, function()
    local list = { 1, 2, 3 }
    return function(x) list[2] = list[2] * 2 list[1] = list[2] + 1 return x * list[1] end,
      function() return list[1], list[2], list[3], #list end
  end },
  { "an upvalue that counts", 2, function()
    local n = 0
    return function(x) n = n + 1 return x * n end, function() return n end
  end },
  { "an upvalue that adds up", 2, function()
    local total
    return function(x) total = total and total + x or x return x end,
      function() return total end
  end },
  { "an upvalue, by a function inside", 2, function()
    local n = 0
    return function(x)
      local function count() n = n + 1 end
      count()
      count()
      return x * n
    end, function() return n end
  end },
  { "a field by rawset", 2, function()
    local self = { n = 0 }
    return function(x) rawset(self, "n", rawget(self, "n") + 1) return x * self.n end,
      function() return self.n end
  end },
  { "a field of an object, by a method", 2, function()
    local Class = {}
    Class.__index = Class
    function Class:step(x)
      self.n = self.n + 1
      self.out = x * self.n
      return self.out
    end
    local object = setmetatable({ n = 0 }, Class)
    return function(x) return object:step(x) end, function() return object.n, object.out end
  end },
  { "through __newindex, a table", 1, function()
    local behind = {}
    local front = setmetatable({}, { __newindex = behind })
    return function(x) front.last = x + 1 return x end,
      function() return rawget(front, "last"), behind.last end
  end },
  { "through __newindex, a function", 2, function()
    local log = { n = 0 }
    local front = setmetatable({}, { __newindex = function(_, key, value)
      log.n = log.n + 1
      log[key] = value
    end })
    return function(x) front.last = x + 1 return x end,
      function() return rawget(front, "last"), log.last, log.n end
  end },
  { "a switch", 2, function()
    local self = { on = false }
    return function(x) self.on = not self.on return self.on and x or -x end,
      function() return self.on end
  end },
  { "a field that is taken away and put back", 1, function()
    local self = { k = 3 }
    return function(x)
      local k = self.k
      self.k = nil
      local y = x * (self.k or 5)
      self.k = k
      return y
    end, function() return self.k end
  end },
  { "a position in a ring", 2, function()
    local self = { at = 0 }
    return function(x) self.at = (self.at + 1) % 3 return x * self.at end,
      function() return self.at end
  end },
  { "what a message handler counts", 2, function()
    local errors = 0
    return function(x)
      xpcall(error, function() errors = errors + 1 end)
      return x * errors
    end, function() return errors end
  end },
  { "under a boolean as a key", 1, function()
    local self = {}
    return function(x) self[true] = x return x end, function() return self[true] end
  end },
  { "a table with results in it", 1, function()
    local self = {}
    return function(x)
      local y = x * 2
      self.cache = { y = y, list = { y, x, 3, "a" } }
      return y
    end, function()
      local c = self.cache
      return c.y, c.list[1], c.list[2], c.list[3], c.list[4], rawequal(c.y, c.list[1])
    end
  end },
}

local function flat(...)
  local out = {}
  for i, v in ipairs { ... } do out[i] = sgl.is_tensor(v) and { v.dtype, v:tolist() } or v end
  out.n = select("#", ...)
  return out
end

local WAYS = {
  { "captured whole", {} }, { "with fullgraph = false", { fullgraph = false } },
  { "with symbolic sizes", { dynamic = true } },
}

describe("a step writes at each call", function()
  for _, row in ipairs(ROWS) do
    local what, captures, make = row[1], row[2], row[3]
    for _, way in ipairs(WAYS) do
      it(("%s, %s"):format(what, way[1]), function()
        local plain, plain_left = make()
        local fn, left = make()
        local step = sgl.compile(fn, way[2])
        for i = 1, 6 do
          local x = sgl.ones(2) * i
          assert.are.same(flat(plain(x)), flat(step(x)), "call " .. i)
          assert.are.same(flat(plain_left()), flat(left()), "after call " .. i)
        end
        assert.are.equal(captures, #step:programs())
        assert.are.same({}, sgl.coverage(step).breaks)
      end)
    end
  end

  it("a global", function()
    local globals = { count = 0 }
    local text = "return function(x) count = count + 1 latest = x return x * count end"
    local step = sgl.compile(load(text, "=step", "t", globals)())
    for i = 1, 4 do
      assert.are.same({ i + 0.0 }, step(sgl.ones(1) * 1):tolist())
      assert.are.equal(i, globals.count)
      assert.are.same({ 1.0 }, globals.latest:tolist())
    end
  end)

  it("fields of an argument, in the table of the call", function()
    local step = sgl.compile(function(batch)
      batch.x = batch.x / 255
      batch.pair = { batch.x, batch.n + 1 }
      batch.n = nil
      return batch.x:sum()
    end)
    for i = 1, 4 do
      local batch = { x = sgl.ones(2) * i * 255, n = i }
      assert.are.equal(2.0 * i, step(batch):item())
      assert.are.same({ i + 0.0, i + 0.0 }, batch.x:tolist())
      assert.is_true(rawequal(batch.x, batch.pair[1]))
      assert.are.same({ i + 1 }, { batch.pair[2], batch.n })
    end
    assert.are.equal(1, #step:programs())
  end)

  it("states of other sizes, each with a program, or one of all", function()
    for _, options in ipairs { {}, { dynamic = true } } do
      local self = { h = false }
      local step = sgl.compile(function(x)
        self.h = self.h and self.h + x or x
        return self.h:sum()
      end, options)
      local sum = 0
      for i, n in ipairs { 2, 2, 3, 3, 4, 4, 5 } do
        if i % 2 == 1 then self.h, sum = sgl.zeros(n), 0 end
        sum = sum + n
        assert.are.equal(sum + 0.0, step(sgl.ones(n)):item())
        assert.are.equal(n, self.h.shape[1])
      end
    end
  end)

  it("what a module is in: eval and train, in the step", function()
    for _, way in ipairs(WAYS) do
      sgl.seed(3)
      local model = sgl.nn.Sequential(sgl.nn.Linear(2, 2), sgl.nn.Dropout(0.5),
        sgl.nn.BatchNorm1d(2))
      local function fn(x)
        model:eval()
        local y = model(x)
        model:train()
        return y, model(x)
      end
      local step, x = sgl.compile(fn, way[2]), sgl.arange(8):reshape(4, 2) / 8
      for _ = 1, 3 do
        local state = {}
        for name, t in model:named_buffers() do state[name] = t:clone() end
        sgl.seed(5)
        local a, b = step(x)
        for name, t in model:named_buffers() do t:assign(state[name]) end
        sgl.seed(5)
        local c, d = fn(x)
        assert.is_true(a:equal(c) and b:equal(d))
        assert.is_true(model.training and model[2].training)
      end
      assert.are.equal(1, #step:programs())
    end
  end)

  it("the mode that it leaves a module in", function()
    local model = sgl.nn.Dropout(0.5)
    local step = sgl.compile(function(x, training)
      model:train(training)
      return model(x)
    end)
    for _, training in ipairs { true, false, false, true } do
      step(sgl.ones(2), training)
      assert.are.equal(training, model.training)
    end
    model:train(false)
    step(sgl.ones(2), true)
    assert.is_true(model.training)
  end)

  it("up to the error that ends it, and nothing behind", function()
    for _, way in ipairs(WAYS) do
      local self = { a = 0, b = 0 }
      local step = sgl.compile(function(x, fails)
        self.a = self.a + 1
        if fails then error("mine", 0) end
        self.b = self.b + 1
        return x * self.a
      end, way[2])
      for i = 1, 6 do
        local ok, e = pcall(step, sgl.ones(1), i % 3 == 0)
        assert.are.equal(i % 3 ~= 0, ok)
        if not ok then assert.are.equal("mine", e) end
        assert.are.same({ i, i - i // 3 }, { self.a, self.b })
      end
    end
  end)

  it("what a program asserts, up to the assertion", function()
    local self = { a = 0, b = 0 }
    local step = sgl.compile(function(x)
      self.a = self.a + 1
      sgl.assert(x:sum():gt(0), "negative")
      self.b = self.b + 1
      return x
    end)
    for i = 1, 4 do
      local ok = pcall(step, i == 3 and -sgl.ones(1) or sgl.ones(1))
      assert.are.equal(i ~= 3, ok)
    end
    assert.are.same({ 4, 3 }, { self.a, self.b })
  end)
end)

describe("the capture of a step", function()
  it("leaves what it wrote as it was when it breaks", function()
    local self = { n = 1, h = false }
    local function fn(x)
      self.n, self.h, self.new = self.n + 1, x, 3
      return x * x:sum():item()
    end
    assert.are.equal("B-READ", support.error_of(sgl.compile(fn), sgl.ones(1)).reason)
    assert.are.same({ n = 1, h = false }, self)
    local step = sgl.compile(fn, { fullgraph = false })
    for i = 1, 3 do
      step(sgl.ones(1))
      assert.are.equal(1 + i, self.n)
    end
  end)

  it("sees a state that changes outside too", function()
    local self = { h = sgl.zeros(1), n = 0 }
    local step = sgl.compile(function(x)
      self.h, self.n = self.h + x, self.n + 1
      return self.h * self.n
    end)
    for _ = 1, 3 do step(sgl.ones(1)) end
    self.h, self.n = sgl.ones(1) * 10, 100
    assert.are.same({ 11.0 * 101 }, step(sgl.ones(1)):tolist())
    self.n = 0.5
    assert.are.same({ 12.0 * 1.5 }, step(sgl.ones(1)):tolist())
    self.n = "7"
    assert.are.equal(13.0 * 8, step(sgl.ones(1)):item())
    assert.are.equal(8, self.n)
  end)

  it("refuses a table that is an argument and comes from outside, if it writes", function()
    local batch = { x = sgl.ones(1), n = 1 }
    local function fn(b)
      b.n = b.n + 1
      return b.x * batch.n
    end
    local e = support.error_of(sgl.compile(fn), batch)
    assert.matches("table 'b' is reached from outside as well", e.message)
    local step = sgl.compile(fn, { fullgraph = false })
    batch.n = 1
    for i = 2, 4 do assert.are.same({ i + 0.0 }, step(batch):tolist()) end
    local other = sgl.compile(fn)
    local apart = { x = sgl.ones(1), n = 5 }
    assert.are.same({ 4.0 }, other(apart):tolist())
    assert.are.equal(6, apart.n)
    assert.is_false((pcall(other, batch)))
  end)

  local list = {}
  local STILL = {
    ["a list that grows"] = function(x) list[#list + 1] = 1 return x end,
    ["table.insert"] = function(x) table.insert(list, 1) return x end,
    ["setmetatable"] = function(x) setmetatable(list, nil) return x end,
    ["a look at the keys after a new one"] = function(x)
      list.new = 1
      local n = 0
      for _ in pairs(list) do n = n + 1 end
      return x * n
    end,
    ["a write in a function of sgl.cond"] = function(x)
      return sgl.cond(x:sum():gt(0), function() list.k = 1 return x end, function() return x end)
    end,
  }
  for what, fn in pairs(STILL) do
    it("breaks at " .. what, function()
      local e = support.error_of(sgl.compile(fn), sgl.ones(1))
      assert.are.equal("B-WRITE", e.reason)
      assert.is_nil(next(list))
    end)
  end
end)
