-- compile_spec.lua: a compiled function gives what the plain one gives, captures once for each
-- signature, and says what cannot be captured.

local sgl = require "sgl"
local support = require "spec.support"

local function m() return sgl.arange(6):reshape(2, 3):float() end

describe("a compiled function", function()
  it("is called once for each signature", function()
    local calls = 0
    local f = sgl.compile(function(x, flag, t)
      calls = calls + 1
      if flag then return x * 2 end
      return x + t[1].w
    end, { effects = "once" })
    local t = { { w = sgl.ones(1) } }
    f(m(), true, t)
    f(m() + 1, true, t)
    assert.are.equal(1, calls)
    f(m(), false, t)
    assert.are.equal(2, calls)
    f(m():int(), true, t)
    assert.are.equal(3, calls)
    f(sgl.ones(2, 4), true, t)
    assert.are.equal(4, calls)
    assert.are.equal(4, #f:programs())
  end)

  it("takes numbers as run-time inputs", function()
    local f = sgl.compile(function(x, a) return x * a end)
    assert.are.same({ 2.0, 2.0 }, f(sgl.ones(2), 2):tolist())
    assert.are.same({ 2.5, 2.5 }, f(sgl.ones(2), 2.5):tolist())
    assert.are.equal(1, #f:programs())
  end)

  it("returns values in the form in which the function does", function()
    local f = sgl.compile(function(x)
      return { y = x * 2, parts = { x[1], "first" } }, nil, 7
    end)
    local result, none, seven = f(m())
    assert.are.same({ { 0.0, 2.0, 4.0 }, { 6.0, 8.0, 10.0 } }, result.y:tolist())
    assert.are.same({ 0.0, 1.0, 2.0 }, result.parts[1]:tolist())
    assert.are.equal("first", result.parts[2])
    assert.is_nil(none)
    assert.are.equal(7, seven)
  end)

  it("updates tensors from outside at each run", function()
    local state = sgl.zeros(3)
    local f = sgl.compile(function(x, rate)
      state:assign(state + x * rate)
      state[1] = 5
      return state:sum()
    end)
    assert.are.equal(9.0, f(sgl.ones(3), 2):item())
    assert.are.same({ 5.0, 2.0, 2.0 }, state:tolist())
    assert.are.equal(11.0, f(sgl.ones(3), 1):item())
    state:assign(sgl.zeros(3))
    assert.are.equal(7.0, f(sgl.ones(3), 1):item())
  end)

  it("draws other random numbers at each run, and the same after the same seed", function()
    local f = sgl.compile(function() return sgl.rand(4), sgl.randn(4), sgl.randperm(5) end)
    sgl.seed(3)
    local first, second = f(), f()
    assert.is_false(first:equal(second))
    sgl.seed(3)
    assert.is_true(f():equal(first))
  end)

  it("is part of the function that calls it while that is captured", function()
    local inner = sgl.compile(function(x) return x + 1 end)
    local outer = sgl.compile(function(x) return inner(x) * 2 end)
    assert.are.same({ 2.0, 4.0, 6.0 }, outer(m())[1]:tolist())
    assert.are.equal(0, #inner:programs())
  end)

  it("shows its graph by names, whose users and paths can be asked", function()
    local f = sgl.compile(function(x)
      local y = (x * 2):gelu():sum(-1)
      return y
    end)
    f(m())
    local graph = f:graph()
    assert.are.same({ "%2" }, graph:users "%1")
    assert.are.same({ "x", "%1", "%2", "%3" }, graph:path("x", "%3"))
    assert.is_nil(graph:path("%3", "x"))
    assert.matches('"%%1" %-> "%%2"', graph:dot())
    assert.matches("reduce", f:graph "fused")
  end)

  it("cannot be called when it is closed", function()
    local f = sgl.compile(function(x) return x end)
    f(m())
    f:close()
    assert.are.equal("SGL_ECLOSED", support.error_of(f, m()).code)
  end)
end)

describe("inside a compiled function", function()
  -- What is done, and what the message must say.
  local CASES = {
    { "selecting by a mask", function(x) return (x[x:gt(2)]) end, "sgl.where" },
    { "nonzero", function(x) return (x:nonzero()) end, "depends on values" },
    { "reading a value", function(x) return x:sum():item() end, "return the tensor" },
    { "printing", function(x) return tostring(x) end, "return the tensor" },
    { "comparing whole tensors", function(x) return x:equal(x) end, "return the tensor" },
  }
  for _, case in ipairs(CASES) do
    it(case[1] .. " is refused with a way out", function()
      local e = support.error_of(sgl.compile(case[2]), m())
      assert.are.equal("SGL_ESTATE", e.code)
      assert.matches(case[3], tostring(e))
    end)
  end

  it("an error names the line of the function", function()
    local line = debug.getinfo(1, "l").currentline
    local e = support.error_of(sgl.compile(function(x)
      local y = x * 2
      return (y:matmul(sgl.ones(5, 2)))
    end), m())
    assert.are.equal(line + 3, e.line)
    assert.matches("f32%[2, 3%] and f32%[5, 2%] %(3 against 5%)", e.message)
  end)
end)
