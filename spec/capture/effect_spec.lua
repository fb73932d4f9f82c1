-- effect_spec.lua: sgl.print and sgl.assert: right values, in order, at each run.

local sgl = require "sgl"
local support = require "spec.support"

local error_of = support.error_of

-- The lines that Lua's print gets while fn runs.
local function lines_of(fn, ...)
  local lines, args = {}, table.pack(...)
  local said = stub(_G, "print").invokes(function(...)
    lines[#lines + 1] = table.concat({ ... }, "\t")
  end)
  local ok, e = pcall(function() fn(table.unpack(args, 1, args.n)) end)
  said:revert()
  if not ok then error(e, 0) end
  return lines
end

describe("sgl.print", function()
  it("prints the values of each run, in the order of the script", function()
    local function f(x)
      sgl.print("x", x)
      local y = x * 2
      sgl.print("y", y, "twice x")
      local z = y + 1
      sgl.print(z:sum(), 3, true)
      return z
    end
    local g = sgl.compile(f)
    for i = 1, 3 do
      local x = sgl.tensor { 1.0 * i, 2.0 }
      local lines = lines_of(g, x)
      assert.are.same(lines_of(f, x), lines)
      assert.are.equal(("x\t%s"):format(x), lines[1])
      assert.are.equal(("y\t%s\ttwice x"):format(x * 2), lines[2])
      assert.are.equal(3, #lines)
    end
    assert.are.equal(1, #g:programs())
  end)

  it("prints braces and line ends as they are", function()
    local f = sgl.compile(function(x) sgl.print("{}", "{{a}", x, "}\n{") return x end)
    assert.are.same({ ("{}\t{{a}\t%s\t}\n{"):format(sgl.ones(1)) }, lines_of(f, sgl.ones(1)))
  end)

  it("prints the state as it is at that place", function()
    local state = sgl.tensor(1.0)
    local f = sgl.compile(function()
      sgl.print(state)
      state:assign(state + 1)
      sgl.print(state)
      state:assign(state * 10)
      return state + 0
    end)
    assert.are.same({ tostring(sgl.tensor(1.0)), tostring(sgl.tensor(2.0)) }, lines_of(f))
    assert.are.same({ tostring(sgl.tensor(20.0)), tostring(sgl.tensor(21.0)) }, lines_of(f))
  end)

  it("prints in the branch that is taken alone, between what stands around it", function()
    local function f(p, x)
      sgl.print("before")
      local y = sgl.cond(p, function() sgl.print("then", x) return x end,
        function() return x + 1 end)
      sgl.print("after", y)
      return y
    end
    local g = sgl.compile(f)
    for _, p in ipairs { true, false } do
      local q, x = sgl.tensor(p), sgl.ones(1)
      assert.are.same(lines_of(f, q, x), lines_of(g, q, x))
    end
  end)

  it("prints at each step of a scan and a loop, nested in each other", function()
    local function f(x)
      local c = sgl.scan(function(c, v)
        sgl.print("step", v)
        local s = sgl.loop(function(s) return s:lt(v) end, function(s)
          sgl.print("  inner", s)
          return s + 1
        end, 0.0, { max = 3 })
        return c + s
      end, 0.0, x)
      sgl.print("end", c)
      return c
    end
    local x = sgl.tensor { 2.0, 0.0, 5.0 }
    local lines = lines_of(sgl.compile(f), x)
    assert.are.same(lines_of(f, x), lines)
    assert.are.equal(9, #lines)
  end)

  it("prints and asserts nothing in a scan of no steps", function()
    local function f(x)
      return sgl.scan(function(c, v)
        sgl.print("a step")
        sgl.assert(c:lt(0), "a step")
        return c + v, c
      end, 0.0, x)
    end
    assert.are.same({}, lines_of(f, sgl.zeros(0)))
    assert.are.same({}, lines_of(sgl.compile(f), sgl.zeros(0)))
  end)

  it("prints once where the gradient computes a block again", function()
    local f = sgl.compile(function(x)
      local y = sgl.scan(function(c) sgl.print("once a step") return c:sin() end, x, 2)
      return sgl.grad(y:sum(), x)
    end)
    assert.are.equal(2, #lines_of(f, sgl.ones(2)))
  end)

  it("keeps two equal prints, and prints without tensors", function()
    local f = sgl.compile(function(x)
      for _ = 1, 2 do sgl.print("again") end
      return x
    end)
    assert.are.same({ "again", "again" }, lines_of(f, sgl.ones(1)))
  end)

  it("stops the step when what it calls fails", function()
    local f = sgl.compile(function(x)
      sgl.print(x)
      return x
    end)
    local said = stub(_G, "print").invokes(function() error("no paper") end)
    local e = error_of(f, sgl.ones(1))
    said:revert()
    assert.is_truthy(tostring(e):find("no paper", 1, true))
    assert.are.equal(1, #lines_of(f, sgl.ones(1)))
  end)
end)

describe("sgl.assert", function()
  it("raises the message with the line of the assert, at the run that breaks it", function()
    local line
    local f = sgl.compile(function(x)
      local y = x * 2
      line = debug.getinfo(1, "l").currentline + 1
      sgl.assert(y:lt(10), "y stays small")
      return y
    end, { effects = "once" })
    assert.are.same({ 2.0, 4.0 }, f(sgl.tensor { 1.0, 2.0 }):tolist())
    local e = error_of(f, sgl.tensor { 1.0, 5.0 })
    assert.are.equal("SGL_EASSERT", e.code)
    assert.are.equal("y stays small", e.message)
    assert.are.equal(line, e.line)
    assert.are.same({ 2.0, 4.0 }, f(sgl.tensor { 1.0, 2.0 }):tolist())
  end)

  it("raises outside a capture at its own line", function()
    local e = error_of(function() sgl.assert(sgl.tensor { true, false }, "all of it") end)
    assert.are.equal("SGL_EASSERT", e.code)
    assert.are.equal("all of it", e.message)
    assert.are.equal("assertion failed", error_of(sgl.assert, false).message)
    sgl.assert(sgl.tensor { true, true })
    sgl.assert(true)
  end)

  it("comes after what was printed before it, and stops what comes behind", function()
    local f = sgl.compile(function(x)
      sgl.print("one")
      sgl.assert(x:gt(0), "positive")
      sgl.print("two")
      return x
    end)
    local lines = {}
    local said = stub(_G, "print").invokes(function(s) lines[#lines + 1] = s end)
    local ok = pcall(f, sgl.tensor { -1.0 })
    said:revert()
    assert.is_false(ok)
    assert.are.same({ "one" }, lines)
  end)

  it("does not hold in a branch that is not taken", function()
    local f = sgl.compile(function(p, x)
      return sgl.cond(p, function() sgl.assert(x:gt(0), "positive") return x end,
        function() return -x end)
    end)
    assert.are.same({ 1.0 }, f(sgl.tensor(false), sgl.tensor { -1.0 }):tolist())
    assert.are.equal("SGL_EASSERT", error_of(f, sgl.tensor(true), sgl.tensor { -1.0 }).code)
    assert.are.same({ 2.0 }, f(sgl.tensor(true), sgl.tensor { 2.0 }):tolist())
  end)

  it("names its line once inside blocks", function()
    local line
    local f = sgl.compile(function(x)
      return (sgl.scan(function(c, v)
        line = debug.getinfo(1, "l").currentline + 1
        sgl.assert(v:lt(3), "small")
        return c + v
      end, 0.0, x))
    end, { effects = "once" })
    local e = error_of(f, sgl.tensor { 1.0, 3.0 })
    assert.are.equal("small", e.message)
    assert.are.equal(line, e.line)
  end)

  it("needs bools", function()
    local e = error_of(sgl.assert, sgl.ones(1))
    assert.are.equal("assert: the condition must be bool, got f32[1]", e.message)
  end)
end)

describe("effects of several channels", function()
  local core = require "sgl.core"
  local TEXT = [[
graph
input %0 arg "x" f32[2]
%1 = const() {value=0, dims=[], dtype=i32} : i32[]
%2 = print(%1) {text="a1"} : i32[]
%3 = print(%1, %0) {text="b1 {}"} : i32[]
%4 = print(%2) {text="a2"} : i32[]
%5 = print(%3) {text="b2"} : i32[]
%6 = add(%0, %0) : f32[2]
output %6 ""
effect %4
effect %5 "comm"
]]

  it("run each, in the order of their chain", function()
    local lines = lines_of(function() core.parse(TEXT):run { sgl.ones(2) } end)
    local a, b = {}, {}
    for _, line in ipairs(lines) do table.insert(line:find "^a" and a or b, line:sub(1, 2)) end
    assert.are.same({ { "a1", "a2" }, { "b1", "b2" } }, { a, b })
  end)

  it("are kept by passes and told apart by the hash; the host's has no name in the text", function()
    local g = core.parse(TEXT)
    assert.are.equal(TEXT, g:text())
    local after = g:pass("simplify"):text()
    assert.is_truthy(after:find('\neffect %%%d+\neffect %%%d+ "comm"\n'))
    assert.are_not.equal(g:hash(), core.parse((TEXT:gsub('"comm"', '"other"'))):hash())
    assert.are.equal(g:hash(), core.parse((TEXT:gsub("(effect %%4\n)(.*)", "%2%1"))):hash())
  end)

  it("that fail are errors whichever channel they are of", function()
    local g = core.parse [[
graph
input %0 arg "x" bool[]
%1 = const() {value=0, dims=[], dtype=i32} : i32[]
%2 = assert(%1, %0) {text="must hold"} : i32[]
output %0 ""
effect %2 "comm"
]]
    for _, run in ipairs { g.run, g.eval } do
      run(g, { sgl.tensor(true) })
      assert.is_truthy(error_of(run, g, { sgl.tensor(false) }).message:find("must hold", 1, true))
    end
  end)
end)
