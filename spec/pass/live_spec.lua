-- live_spec.lua: the stage `live`: what nothing needs goes before anything else, in blocks too.

local core = require "sgl.core"
local sgl = require "sgl"
local support = require "spec.support"

local function count(text, op) return select(2, text:gsub("= " .. op .. "%(", "")) end

-- A scan whose y, a sum of exponentials, nobody reads, in two equal copies; %4 is for that y alone.
local SCAN = [[
graph
block $0
  input %0 arg "" f32[2]
  input %1 arg "" f32[2]
  input %2 arg "" f32[2]
  %3 = add(%0, %1) : f32[2]
  %4 = mul(%3, %2) : f32[2]
  %5 = exp(%4) : f32[2]
  %6 = sum(%5) {dims=[1]} : f32[]
  output %3 ""
  output %6 ""
end
input %0 arg "c" f32[2]
input %1 arg "xs" f32[3, 2]
input %2 arg "s" f32[2]
%3 = relu(%0) : f32[2]
%4 = tanh(%2) : f32[2]
%5 = scan(%3, %1, %4) {body=$0, carry=1, xs=1, length=[3], reverse=0} : f32[0]
%6 = result(%5) {out=0} : f32[2]
%7 = relu(%0) : f32[2]
%8 = scan(%7, %1, %4) {body=$0, carry=1, xs=1, length=[3], reverse=0} : f32[0]
%9 = result(%8) {out=0} : f32[2]
%10 = add(%6, %9) : f32[2]
output %10 ""
]]

describe("the stage `live`", function()
  it("drops results of blocks that nobody reads, and what only they need; equal nodes are one",
    function()
      local graph = core.parse(SCAN)
      local text = graph:pass("live"):text()
      assert.are.same({ 0, 0, 0, 0 }, { count(text, "exp"), count(text, "sum"), count(text, "tanh"),
        count(text, "mul") })
      assert.are.same({ 1, 1, 2 }, { count(text, "scan"), count(text, "relu"), count(text, "add") })
      assert.matches('input %%2 arg "s"', text)   -- inputs stay
      local xs = sgl.tensor { { 1.0, 2.0 }, { 3.0, 4.0 }, { 5.0, 6.0 } }
      local args = { sgl.tensor { -1.0, 2.0 }, xs, sgl.ones(2) }
      -- relu: 0 and 2; the sums of xs 9 and 12; twice
      assert.are.same({ 18.0, 28.0 }, graph:run(args)[1]:tolist())
      assert.are.same({ 18.0, 28.0 }, core.parse(text):run(args)[1]:tolist())
    end)

  it("goes on while what was dropped was all that another block was for", function()
    local step = sgl.compile(function(x)
      local _, inner = sgl.scan(function(c, row) return c + 1, row:exp() end, sgl.zeros(), x)
      local last = sgl.scan(function(c, row) return c + row, row:log() end, sgl.zeros(2),
        sgl.cond(x:sum():gt(0), function() return x * 2 end, function() return x end))
      local _ = inner:sum() + last:mean()
      return last
    end)
    local x = sgl.tensor { { 1.0, 2.0 }, { 3.0, 4.0 } }
    assert.are.same({ 8.0, 12.0 }, step(x):tolist())
    local text = step:graph():pass("live"):text()
    assert.are.same({ 0, 0, 1, 1 }, { count(text, "exp"), count(text, "log"), count(text, "scan"),
      count(text, "cond") })
  end)

  it("is there for every pass behind it, and leaves a graph without blocks as it is", function()
    local text = 'graph\ninput %0 arg "x" f32[2]\n%1 = neg(%0) : f32[2]\n%2 = neg(%0) : f32[2]\n'
      .. '%3 = add(%1, %2) : f32[2]\noutput %3 ""\n'
    assert.are.equal(text, core.parse(text):pass("live"):text())
    assert.are.equal(1, count(core.parse(text):pass("simplify"):text(), "neg"))
    assert.are.equal("live", core.passes()[1].name)
    local found = core.parse(SCAN):pass "simplify"
    support.close(found:run { sgl.ones(2), sgl.ones(3, 2), sgl.ones(2) }[1], { 8.0, 8.0 }, 0, 0)
  end)

  -- `depth` blocks, one inside the other: each runs the next four times, one after the other, by
  -- conds whose branches are one block or whose predicate is a constant. The outermost runs if %0
  -- is true.
  local function nested(depth, constant)
    local lines = { "graph" }
    local function put(line, ...) lines[#lines + 1] = line:format(...) end
    local function block(level)
      put 'input %%0 arg "" bool[]\ninput %%1 arg "" f32[2]'
      if level == 0 then put '%%2 = neg(%%1) : f32[2]\noutput %%2 ""' return end
      table.insert(lines, #lines, "block $0")
      local inputs = table.remove(lines)
      block(level - 1)
      put("end\n%s", inputs)
      put "%%2 = const() {value=1, dims=[], dtype=bool} : bool[]"
      for i = 3, 6 do
        put("%%%d = cond(%%%d, %%0, %%%d) {then=$0, else=$0} : f32[2]", i, constant and 2 or 0,
          i == 3 and 1 or i - 1)
      end
      put 'output %%6 ""'
    end
    put "block $0"
    block(depth)
    put 'end\nblock $1\ninput %%0 arg "" bool[]\ninput %%1 arg "" f32[2]\noutput %%1 ""\nend'
    put 'input %%0 arg "" bool[]\ninput %%1 arg "" f32[2]'
    put '%%2 = cond(%%0, %%0, %%1) {then=$0, else=$1} : f32[2]\noutput %%2 ""'
    return table.concat(lines, "\n") .. "\n"
  end

  for _, constant in ipairs { false, true } do
    local what = "takes blocks for nodes in proportion to the text; constant: %s"
    it(what:format(constant), function()
      local two = core.parse(nested(2, constant))
      assert.are.same({ 3.0, 3.0 }, two:apply({ sgl.tensor(true), sgl.full({ 2 }, 3) })[1]:tolist())
      local deep = core.parse(nested(12, constant))
      local step = sgl.compile(function(p, x) return deep:apply({ p, x })[1] end)
      assert.are.same({ 3.0, 3.0 }, step(sgl.tensor(false), sgl.full({ 2 }, 3)):tolist())
      assert.is_true(#step:graph():pass("simplify"):text() < 1 << 20)
    end)
  end
end)
