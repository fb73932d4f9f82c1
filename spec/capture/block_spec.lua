-- block_spec.lua: blocks in graphs: their text, the verifier's rules, what is trimmed, what is
-- compiled once.

local core = require "sgl.core"
local sgl = require "sgl"
local support = require "spec.support"

local error_of = support.error_of

local NESTED = [[
graph
block $0
  input %0 arg "" f32[2]
  input %1 arg "" f32[2]
  output %0 ""
end
block $1
  block $0
    input %0 arg "" f32[2]
    %1 = sin(%0) : f32[2] # "a file.lua":3
    output %1 ""
  end
  block $1
    input %0 arg "" f32[2]
    output %0 ""
  end
  input %0 arg "" f32[2]
  input %1 arg "" f32[2]
  %2 = const() {value=0, dims=[2], dtype=f32} : f32[2]
  %3 = gt(%0, %2) : bool[2]
  %4 = argmax(%0) {dims=[1]} : i32[]
  %5 = const() {value=1, dims=[], dtype=i32} : i32[]
  %6 = eq(%4, %5) : bool[]
  %7 = cond(%6, %1) {then=$0, else=$1} : f32[2]
  %8 = where(%3, %0, %7) : f32[2]
  output %8 ""
end
input %0 arg "p" bool[]
input %1 arg "x" f32[2]
input %2 arg "y" f32[2]
%3 = cond(%0, %1, %2) {then=$0, else=$1} : f32[2]
output %3 ""
]]

describe("the text of blocks", function()
  it("reads back as the same text, and hashes alike", function()
    local g = core.parse(NESTED)
    assert.are.equal(NESTED, g:text())
    assert.are.equal(g:hash(), core.parse(g:text()):hash())
    assert.is_true(g:verify())
  end)

  it("is that of gradients too", function()
    local summed = NESTED:gsub("output %%3", "%%4 = sum(%%3) {dims=[1]} : f32[]\noutput %%4")
    local d = core.parse(summed):grad(1, { 2, 3 })
    local again = core.parse(d:text())
    assert.are.equal(d:text(), again:text())
    assert.are.equal(d:hash(), again:hash())
  end)

  it("hashes what a block computes", function()
    local g = core.parse(NESTED)
    local other = core.parse((NESTED:gsub("sin", "cos")))
    assert.are_not.equal(g:hash(), other:hash())
    assert.are.equal(g:hash(), core.parse((NESTED:gsub(' # "a file.lua":3', ""))):hash())
  end)

  it("leaves out blocks that nothing needs and gives equal ones one number", function()
    local unused = NESTED:gsub("input %%0 arg \"p\"", [[block $7
  input %%0 arg "" f32[1]
  output %%0 ""
end
%0]])
    assert.are.equal(NESTED, core.parse(unused):text())
    local twice = [[
graph
block $0
  input %0 arg "" f32[1]
  output %0 ""
end
block $1
  input %0 arg "" f32[1]
  output %0 ""
end
input %0 arg "p" bool[]
input %1 arg "x" f32[1]
%2 = cond(%0, %1) {then=$0, else=$1} : f32[1]
output %2 ""
]]
    assert.is_truthy(core.parse(twice):text():find("{then=$0, else=$0}", 1, true))
  end)

  it("is shown below the graph for people", function()
    local text = tostring(core.parse(NESTED))
    assert.is_truthy(text:find("%1 = cond p, x, y {then=$0, else=$1}", 1, true))
    assert.is_truthy(text:find("\n  block $1 (input1: f32[2], input2: f32[2]) -> f32[2]", 1, true))
    assert.is_truthy(text:find("\n    block $0 (input1: f32[2]) -> f32[2]", 1, true))
  end)

  it("may nest as deep as functions in a step can, and is what it was when it is read", function()
    local function nest(x, k)
      if k == 0 then return -x end
      return sgl.cond(x:gt(k), function() return nest(x + 1, k - 1) end, function() return x end)
    end
    local step = sgl.compile(function(x) return nest(x, 60) end)
    assert.are.equal(-1060.0, step(sgl.full({}, 1000)):item())
    assert.are.equal(31.0, step(sgl.full({}, -9) + 40):item())
    local text = step:graph():text()
    assert.are.equal(text, core.parse(text):text())
  end)

  -- Each block runs the one inside twice: 2^n paths, of n blocks.
  it("costs what its blocks do, not its paths", function()
    local lines = { "graph" }
    local function add(...) for _, line in ipairs { ... } do lines[#lines + 1] = line end end
    local function level(n)
      if n == 0 then return end
      add "block $0"
      level(n - 1)
      add("block $1", 'input %0 arg "x" f32[]', 'output %0 ""', "end")
      add('input %0 arg "x" f32[]')
      if n == 1 then add("%1 = neg(%0) : f32[]", 'output %1 ""', "end") return end
      add("%1 = const() {value=0, dims=[], dtype=f32} : f32[]", "%2 = lt(%1, %0) : bool[]",
        "%3 = cond(%2, %0) {then=$0, else=$1} : f32[]",
        "%4 = cond(%2, %3) {then=$0, else=$1} : f32[]", 'output %4 ""', "end")
    end
    level(60)
    add("block $1", 'input %0 arg "x" f32[]', 'output %0 ""', "end")
    add('input %0 arg "x" f32[]', "%1 = const() {value=0, dims=[], dtype=f32} : f32[]",
      "%2 = lt(%1, %0) : bool[]", "%3 = cond(%2, %0) {then=$0, else=$1} : f32[]",
      'output %3 ""')
    local start = os.clock()
    local graph = core.parse(table.concat(lines, "\n") .. "\n")
    assert.are.equal(graph:text(), core.parse(graph:text()):text())
    assert.matches("cond", graph:show "fused")
    assert.is_true(os.clock() - start < 10)
  end)

  it("is refused with line and column where it is wrong", function()
    local cases = {
      { NESTED:gsub("then=$0, else=$1(.-)\noutput", "then=$9, else=$1%1\noutput"),
        "$9 is not defined" },
      { NESTED:gsub("\nend", "", 1), "" },
      { "graph\nblock $0\n  input %0 arg \"\" f32[1]\n", "a block has no end" },
      { ("graph\n" .. ("block $0\n"):rep(240)), "more than 200 blocks deep" },
      { NESTED:gsub("%(%%0, %%1, %%2%)", "(%%0, %%1)"), "does not take these inputs" },
      { NESTED:gsub('input %%2 arg "y" f32%[2%]', 'input %%2 arg "y" f32[3]'),
        "input 2: f32[3] and f32[2]" },
      { NESTED:gsub('input %%0 arg "p" bool', 'input %%0 arg "p" i32'), "must be a single bool" },
    }
    for _, case in ipairs(cases) do
      local e = error_of(core.parse, case[1])
      assert.is_truthy(e.message:find("^line %d+, column %d+: ") or e.message:find("^V"), e.message)
      assert.is_truthy(e.message:find(case[2], 1, true), e.message)
    end
  end)
end)

describe("a loop in a text", function()
  local SCAN = [[
graph
block $0
  input %0 arg "" f32[2]
  input %1 arg "" f32[]
  %2 = reshape(%1) {dims=[1]} : f32[1]
  %3 = broadcast(%2) {dims=[2]} : f32[2]
  %4 = add(%0, %3) : f32[2]
  output %4 ""
end
input %0 arg "c" f32[2]
input %1 arg "x" f32[3]
%2 = scan(%0, %1) {body=$0, carry=1, xs=1, length=[3], reverse=0} : f32[0]
%3 = result(%2) {out=0} : f32[2]
output %3 ""
]]

  it("is checked against its block", function()
    local cases = {
      { "carry=1, xs=1", "carry=2, xs=1", "more carries and xs than inputs" },
      { "carry=1, xs=1", "carry=0, xs=1", "V7" },
      { "length=[3]", "length=[4]", "input 2: f32[3] and f32[4]" },
      { "length=[3]", "length=[]", "length has one item" },
      { "out=0", "out=2", "no such result" },
      { "output %4", "output %1", "a step changes the type of carry 1: f32[2] and f32[]" },
    }
    core.parse(SCAN)
    for _, case in ipairs(cases) do
      local at, stop = SCAN:find(case[1], 1, true)
      local e = error_of(core.parse, SCAN:sub(1, at - 1) .. case[2] .. SCAN:sub(stop + 1))
      assert.is_truthy(e.message:find(case[3], 1, true) or case[3] == "V7", e.message)
    end
  end)
end)

describe("trimming", function()
  local function info(fn, ...)
    local f = sgl.compile(fn)
    f(...)
    return f:info(), f
  end

  it("drops results that nothing needs, and what they alone need", function()
    local with = info(function(x)
      local a, b = sgl.cond(x:sum():gt(0), function() return x:exp(), x:matmul(x) end,
        function() return x:sin(), x end)
      return a, b
    end, sgl.ones(2, 2))
    local without = info(function(x)
      return (sgl.cond(x:sum():gt(0), function() return x:exp(), x:matmul(x) end,
        function() return x:sin(), x end))
    end, sgl.ones(2, 2))
    assert.are.equal(1, with.dots)
    assert.are.equal(0, without.dots)
  end)

  it("drops carries that serve only themselves", function()
    local facts = info(function(x)
      return (sgl.scan(function(c, v)
        return { a = c.a + v, b = c.b:matmul(c.b) + c.a:sum() }
      end, { a = sgl.zeros(2), b = sgl.ones(3, 3) }, x)).a
    end, sgl.ones(4, 2))
    assert.are.equal(0, facts.dots)
  end)

  it("makes a capture of a carry that a step hands on", function()
    local _, f = info(function(x, w)
      local c = sgl.scan(function(c, v) return { h = c.h * c.w + v, w = c.w } end,
        { h = x[1], w = w }, x)
      return c.h, c.w
    end, sgl.ones(4, 2), sgl.ones(2))
    local text = f:graph():pass("simplify"):text()
    assert.is_truthy(text:find("carry=1, xs=1", 1, true), text)
  end)

  it("puts constants into blocks, where they fold", function()
    local two = sgl.full({ 3 }, 2)
    local _, f = info(function(x)
      local k = sgl.full({ 3 }, 2)
      return (sgl.scan(function(c, v) return c * k + v end, sgl.zeros(3), x))
    end, sgl.ones(4, 3))
    assert.is_truthy(f:graph():pass("simplify"):text():find("scan%(%%%d+, %%%d+%) {"))
    assert.are.equal(2.0, two[1]:item())
  end)

  it("never drops the condition of a loop, nor what prints", function()
    local _, f = info(function(x)
      local _, n = sgl.loop(function(s) return s:lt(3) end, function(s) return s + 1 end, x,
        { max = 9 })
      return n
    end, sgl.tensor(0.0))
    assert.are.equal(2, f(sgl.tensor(1.0)):item())
  end)
end)

describe("equal kernels", function()
  local function facts(layers, dropout)
    local nn, list = sgl.nn, {}
    for i = 1, layers do
      list[2 * i - 1], list[2 * i] = nn.Linear(16, 16), nn.GELU()
      if dropout then list[2 * i] = nn.Dropout(0.1) end
    end
    local model = nn.Sequential(table.unpack(list))
    local params = model:parameters()
    local step = sgl.compile(function(x)
      local loss = (model(x) ^ 2):mean()
      local grads = sgl.grad(loss, params)
      for i, p in ipairs(params) do p:assign(p - 0.1 * grads[i]) end
      return loss
    end)
    step(sgl.randn(4, 16))
    return step:info()
  end

  it("of repeated layers are one body", function()
    local few, many = facts(4), facts(16)
    assert.are.equal(few.bodies, many.bodies)
    assert.is_true(many.kernels > few.kernels)
    assert.is_true(many.bodies < many.kernels / 4)
  end)

  it("are one body in blocks too: equal blocks are one program", function()
    local f = sgl.compile(function(x)
      for _ = 1, 5 do
        x = sgl.scan(function(c) return (c * 2):tanh() + c end, x, 3)
      end
      return x
    end)
    f(sgl.ones(4))
    assert.are.equal(1, f:info().blocks)
    assert.are.equal(5, f:graph():count("scan"))
  end)
end)

describe("blocks in blocks", function()
  it("says how deep conds may be nested, and at which line", function()
    local line = debug.getinfo(1, "l").currentline + 3
    local function nest(n, p, x)
      if n == 0 then return x * 2 end
      return (sgl.cond(p, function() return nest(n - 1, p, x) end, function() return x end))
    end
    local function f(p, x) return nest(60, p, x) end
    assert.are.same({ 2.0 }, sgl.compile(f)(sgl.tensor(true), sgl.ones(1)):tolist())
    local function deep(p, x) return nest(90, p, x) end
    local e = error_of(sgl.compile(deep), sgl.tensor(true), sgl.ones(1))
    assert.is_truthy(tostring(e):find("nested in each other more than 64 deep", 1, true))
    assert.are.equal(line, e.line)
    local split = sgl.compile(deep, { fullgraph = false })
    assert.are.same({ 2.0 }, split(sgl.tensor(true), sgl.ones(1)):tolist())
  end)
end)
