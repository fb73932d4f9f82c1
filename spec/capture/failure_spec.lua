-- failure_spec.lua: what a step leaves behind when an error ends it: what stood before the error is
-- done, what stands after it is not, as in a function that is not compiled.

local sgl = require "sgl"
local core = require "sgl.core"
local support = require "spec.support"

local each_mode = support.each_mode

-- What the error of fn says.
local function message_of(fn, ...)
  local fine, e = pcall(fn, ...)
  assert.is_false(fine)
  return type(e) == "table" and e.message or e
end

-- What Lua's print gets while fn runs.
local function lines_of(fn, ...)
  local lines, said = {}, print
  rawset(_G, "print", function(...) lines[#lines + 1] = table.concat({ ... }, "\t") end)
  local results = table.pack(pcall(fn, ...))
  rawset(_G, "print", said)
  return lines, table.unpack(results, 1, results.n)
end

describe("an error in a step", function()
  it("leaves what an assertion stands before as it was, and keeps what stands before it", function()
    each_mode(function(make)
      local before, after = sgl.tensor { 1.0 }, sgl.tensor { 1.0 }
      local step = make(function(x)
        before:assign(before * 2)
        sgl.assert(x:gt(0):all(), "positive")
        after:assign(after + x)
        return x + 1
      end)
      assert.are.same({ 4.0 }, step(sgl.tensor { 3.0 }):tolist())
      assert.are.equal("positive", message_of(step, sgl.tensor { -1.0 }))
      assert.are.equal("positive", message_of(step, sgl.tensor { -1.0 }))
      assert.are.same({ { 8.0 }, { 4.0 } }, { before:tolist(), after:tolist() })
      assert.are.same({ 3.0 }, step(sgl.tensor { 2.0 }):tolist())
      assert.are.same({ { 16.0 }, { 6.0 } }, { before:tolist(), after:tolist() })
    end)
  end)

  it("leaves the state of an optimizer that steps after an assertion", function()
    each_mode(function(make)
      local model = sgl.nn.Linear(2, 1)
      model.weight:assign(sgl.tensor { { 0.5, -0.5 } })
      model.bias:assign(sgl.tensor { 0.0 })
      local opt = sgl.optim.AdamW(model:parameters(), { lr = 0.1 })
      local step = make(function(x)
        local loss = model(x):sum()
        sgl.assert(loss:isfinite(), "the loss is finite")
        opt:minimize(loss)
        return loss
      end)
      step(sgl.ones(1, 2))
      local weight, moments = model.weight:tolist(), sgl.ones(1)
      assert.are.equal("the loss is finite",
        message_of(step, sgl.tensor { { math.huge, -math.huge } }))
      assert.are.same(weight, model.weight:tolist())
      assert.is_true(model.bias:isfinite():all():item())
      step(sgl.ones(1, 2))
      assert.is_true(model.weight:isfinite():all():item() and moments:item() == 1)
    end)
  end)

  it("tells an assertion about the new value of a state", function()
    each_mode(function(make)
      local w, v = sgl.tensor { 1.0 }, sgl.tensor { 1.0 }
      local step = make(function(x)
        w:assign(w * x)
        sgl.assert(w:lt(10), "small")
        v:assign(w)
      end)
      step(sgl.tensor { 3.0 })
      assert.are.equal("small", message_of(step, sgl.tensor { 5.0 }))
      assert.are.same({ { 15.0 }, { 3.0 } }, { w:tolist(), v:tolist() })
    end)
  end)

  it("counts the draws before it and no others", function()
    each_mode(function(make)
      local step = make(function(x)
        local a = sgl.rand(1)
        sgl.assert(x:gt(0), "positive")
        return a + sgl.rand(1)
      end)
      sgl.seed(7)
      step(sgl.tensor { 1.0 })
      message_of(step, sgl.tensor { -1.0 })
      assert.are.equal(3, select(2, core.rng()))
    end)
  end)

  it("is caught in the step where it is raised", function()
    each_mode(function(make)
      local w = sgl.tensor { 0.0 }
      local step = make(function(x)
        local fine, e = pcall(function()
          w:assign(w + 1)
          sgl.assert(x:gt(0), "positive")
          w:assign(w + 10)
        end)
        w:assign(w + 100)
        return x * 2, fine, fine or e.message
      end)
      local y, fine = step(sgl.tensor { 1.0 })
      assert.are.same({ { 2.0 }, true }, { y:tolist(), fine })
      local z, failed, message = step(sgl.tensor { -1.0 })
      assert.are.same({ { -2.0 }, false, "positive" }, { z:tolist(), failed, message })
      assert.are.same({ 212.0 }, w:tolist())
    end)
  end)

  it("of a position outside is raised where it is read", function()
    each_mode(function(make)
      local rows = sgl.tensor { 1.0, 2.0, 3.0 }
      local before, after = sgl.tensor(0.0), sgl.tensor(0.0)
      local step = make(function(i)
        before:assign(before + 1)
        local y = rows:index_select(1, i)
        after:assign(after + y:sum())
        return y
      end)
      local function at(i) return sgl.tensor({ i }, { dtype = "i64" }) end
      assert.are.same({ 3.0 }, step(at(2)):tolist())
      assert.is_truthy(message_of(step, at(3)):find("index 3 is outside [0, 3)", 1, true))
      assert.is_truthy(message_of(step, at(-1)):find("index -1 is outside", 1, true))
      assert.are.same({ 3.0, 3.0 }, { before:item(), after:item() })
    end)
  end)

  it("of a computed position leaves nothing behind it when it is compiled", function()
    for mode = 2, 4 do
      local rows, after = sgl.tensor { 1.0, 2.0, 3.0 }, sgl.tensor(0.0)
      local step = support.MODES[mode][2](function(i)
        local y = rows:index_select(1, i + 1)
        after:assign(after + y:sum())
        return y
      end)
      local function at(i) return sgl.tensor({ i }, { dtype = "i64" }) end
      step(at(1))
      if mode ~= 3 then message_of(step, at(2)) end
      assert.are.equal(3.0, after:item())
    end
  end)

  it("of Lua keeps what stands before it", function()
    each_mode(function(make)
      local w = sgl.tensor { 1.0 }
      local step = make(function(x, fail)
        w:assign(w * 2)
        sgl.rand(1)
        if fail then error("no paper", 0) end
        w:assign(w + x)
        sgl.rand(1)
      end)
      sgl.seed(3)
      assert.are.equal("no paper", message_of(step, sgl.ones(1), true))
      step(sgl.ones(1), false)
      assert.are.equal("no paper", message_of(step, sgl.ones(1), true))
      assert.are.same({ 10.0 }, w:tolist())
      assert.are.equal(4, select(2, core.rng()))
    end)
  end)

  it("of a print happens once, and what was printed before it too", function()
    each_mode(function(make)
      local w = sgl.tensor { 1.0 }
      local step = make(function(x)
        sgl.print("first")
        w:assign(w + 1)
        sgl.print("x", x)
        w:assign(w + 10)
        sgl.print("last")
      end)
      step(sgl.ones(1))
      local lines, said = {}, print
      rawset(_G, "print", function(line)
        lines[#lines + 1] = line
        if line:find "^x" then error({ "no paper" }) end
      end)
      local fine, e = pcall(step, sgl.ones(1))
      rawset(_G, "print", said)
      assert.is_false(fine)
      if type(e) == "table" and e[1] then assert.are.equal("no paper", e[1]) end
      assert.are.same({ "first", "x\t" .. tostring(sgl.ones(1)) }, lines)
      assert.are.same({ 13.0 }, w:tolist())
      assert.are.equal(3, #lines_of(step, sgl.ones(1)))
    end)
  end)

  it("prints before an assertion once", function()
    each_mode(function(make)
      local step = make(function(x)
        sgl.print("a", x)
        sgl.assert(x:gt(0), "positive")
        sgl.print("b")
      end)
      assert.are.equal(2, #lines_of(step, sgl.ones(1)))
      local lines, fine = lines_of(step, sgl.zeros(1))
      assert.are.same({ 1, false }, { #lines, fine })
      assert.are.equal(2, #lines_of(step, sgl.ones(1)))
    end)
  end)

  it("in a block ends it at its step, with what the steps before did", function()
    each_mode(function(make)
      local w = sgl.tensor(0.0)
      local step = make(function(xs)
        w:assign(w + 100)
        local sum = sgl.scan(function(c, x)
          w:assign(w + 1)
          sgl.assert(x:lt(5), "below 5")
          w:assign(w + x)
          return c + x
        end, 0.0, xs)
        w:assign(w + 1000)
        return sum
      end)
      step(sgl.tensor { 1.0, 2.0 })
      assert.are.equal(1105.0, w:item())
      assert.are.equal("below 5", message_of(step, sgl.tensor { 1.0, 7.0, 2.0 }))
      assert.are.equal(1105.0 + 100 + 1 + 1 + 1, w:item())
    end)
  end)

  it("keeps an argument that the step updates", function()
    each_mode(function(make)
      local step = make(function(x)
        x:assign(x * 2)
        sgl.assert(x:lt(10), "small")
        x:assign(x + 1)
      end)
      local x = sgl.tensor { 3.0 }
      step(x)
      assert.are.equal("small", message_of(step, x))
      assert.are.same({ 14.0 }, x:tolist())
    end)
  end)
end)

describe("a function of control flow that raises an error", function()
  local function choose(x, p)
    return sgl.cond(p, function() error("not for this", 0) end, function() return x * 2 end)
  end

  it("raises it where it runs, and nowhere else", function()
    each_mode(function(make)
      local w = sgl.tensor { 0.0 }
      local step = make(function(x, p)
        w:assign(w + 1)
        local y = choose(x, p)
        w:assign(w + 10)
        return y, sgl.grad(y:sum(), x)
      end)
      local y, dx = step(sgl.tensor { 3.0 }, sgl.tensor(false))
      assert.are.same({ 6.0, 2.0 }, { y:item(), dx:item() })
      assert.are.equal("not for this", message_of(step, sgl.tensor { 3.0 }, sgl.tensor(true)))
      step(sgl.tensor { 3.0 }, sgl.tensor(false))
      assert.are.same({ 23.0 }, w:tolist())
    end)
  end)

  it("raises the very object, whose place is its own", function()
    each_mode(function(make)
      local object = { "mine" }
      local step = make(function(x, p)
        return sgl.cond(p, function() return x end, function() error(object) end)
      end)
      local fine, e = pcall(step, sgl.ones(1), sgl.tensor(false))
      assert.is_false(fine)
      assert.are.equal(object, e)
      assert.are.same({ 1.0 }, step(sgl.ones(1), sgl.tensor(true)):tolist())
    end)
  end)

  it("is caught in the step", function()
    each_mode(function(make)
      local step = make(function(x, p)
        local fine, y = pcall(choose, x, p)
        if fine then return y end
        return x - 1, y
      end)
      assert.are.same({ 6.0 }, step(sgl.tensor { 3.0 }, sgl.tensor(false)):tolist())
      local y, e = step(sgl.tensor { 3.0 }, sgl.tensor(true))
      assert.are.same({ 2.0, "not for this" }, { y:item(), e })
    end)
  end)

  it("may be a loop that is not entered, and a branch in a branch", function()
    each_mode(function(make)
      local step = make(function(x, p, q)
        local y = sgl.loop(function() return p end, function() error("no step", 0) end, x,
          { max = 3 })
        return sgl.cond(q, function()
          return sgl.cond(p, function() error("inner", 0) end, function() return y + 1 end)
        end, function()
          return (sgl.scan(function(c, v)
            error("no scan", 0)
            return c + v, c
          end, x, sgl.ones(2, 1)))
        end)
      end)
      local yes, no, x = sgl.tensor(true), sgl.tensor(false), sgl.tensor { 3.0 }
      assert.are.same({ 4.0 }, step(x, no, yes):tolist())
      assert.are.equal("no step", message_of(step, x, yes, yes))
      assert.are.equal("no scan", message_of(step, x, no, no))
      assert.are.same({ 4.0 }, step(x, no, yes):tolist())
    end)
  end)

  it("raises in both branches whatever is chosen", function()
    each_mode(function(make)
      local w = sgl.tensor { 1.0 }
      local step = make(function(p)
        w:assign(w * 2)
        sgl.cond(p, function() error("first", 0) end, function() error("second", 0) end)
      end)
      assert.are.equal("first", message_of(step, sgl.tensor(true)))
      assert.are.equal("second", message_of(step, sgl.tensor(false)))
      assert.are.same({ 4.0 }, w:tolist())
    end)
  end)
end)

describe("a step that may fail", function()
  -- The text of its plan: which states are written in place.
  local function plan_of(fn, ...)
    local step = sgl.compile(fn)
    step(...)
    return step:graph "plan"
  end

  it("writes its state in place behind what may fail", function()
    local w = sgl.zeros(1024)
    local function checked(x)
      sgl.assert(x:isfinite():all(), "finite")
      w:assign(w + x)
    end
    local function unchecked(x) w:assign(w + x) end
    local function too_late(x)
      w:assign(w + x)
      sgl.assert(w:isfinite():all(), "finite")
    end
    assert.is_nil(plan_of(unchecked, sgl.ones(1024)):find("by a copy", 1, true))
    assert.is_nil(plan_of(checked, sgl.ones(1024)):find("by a copy", 1, true))
    assert.is_truthy(plan_of(too_late, sgl.ones(1024)):find("by a copy", 1, true))
  end)

  it("lets an embedding's weights be written in place", function()
    local w = sgl.ones(64, 16)
    local i = sgl.tensor({ 1, 2, 3 }, { dtype = "i64" })
    local text = plan_of(function(index)
      local loss = w:index_select(1, index):sum()
      w:assign(w - sgl.grad(loss, w))
      return loss
    end, i)
    assert.is_nil(text:find("copy", 1, true))
  end)
end)
