-- side_spec.lua: notes about nodes beside the graph: one of a kind, printed on request, carried
-- or dropped when the graph is rebuilt, without a part in its meaning.

local core = require "sgl.core"
local engine = require "spec.engine"

local TEXT = [[
graph
input %0 arg "x" f32[4]
%1 = exp(%0) : f32[4]
%2 = neg(%1) : f32[4]
%3 = mul(%1, %2) : f32[4]
output %3 ""
]]

describe("a note about a node", function()
  it("is the last of its kind, and printed on request only", function()
    local g = core.parse(TEXT)
    local hash = g:hash()
    assert.are.equal("", core.notes(g))
    core.note(g, "%1", "placement", { 1, 2 })
    core.note(g, "%2", "class", {})
    core.note(g, "%1", "class", { -7 })
    core.note(g, "%1", "placement", { 9223372036854775807 })
    assert.are.equal("side %1 placement [9223372036854775807]\nside %2 class []\n"
      .. "side %1 class [-7]\n", core.notes(g))
    assert.are.equal(TEXT, g:text())
    assert.are.equal(hash, g:hash())
  end)

  it("goes to the node that takes the place, if its kind is carried", function()
    local g = core.parse(TEXT)
    core.note(g, "%0", "placement", { 5 })
    core.note(g, "%1", "placement", { 6 })
    core.note(g, "%1", "class", { 1 })
    core.note(g, "%3", "placement", { 8 })
    assert.are.equal("side %0 placement [5]\nside %1 placement [6]\nside %3 placement [8]\n",
      core.notes(g:pass("simplify")))
  end)

  it("is dropped with its node, and the first stays where two nodes become one", function()
    local g = core.parse [[
graph
input %0 arg "x" f32[4]
%1 = exp(%0) : f32[4]
%2 = exp(%0) : f32[4]
%3 = sub(%0, %0) : f32[4]
%4 = add(%1, %2) : f32[4]
output %4 ""
]]
    core.note(g, "%1", "placement", { 1 })
    core.note(g, "%2", "placement", { 2 })
    core.note(g, "%3", "placement", { 3 })
    assert.are.equal("side %1 placement [1]\n", core.notes(g:pass("simplify")))
  end)

  it("of many nodes is found again", function()
    local lines, n = { 'graph\ninput %0 arg "x" f32[2]' }, engine.times(2000) + 10
    for i = 1, n do lines[#lines + 1] = ("%%%d = exp(%%%d) : f32[2]"):format(i, i - 1) end
    lines[#lines + 1] = ('output %%%d ""\n'):format(n)
    local g = core.parse(table.concat(lines, "\n"))
    for i = n, 1, -1 do core.note(g, "%" .. i, "placement", { i }) end
    local count = 0
    for id, word in core.notes(g:pass("simplify")):gmatch "side %%(%d+) placement %[(%d+)%]" do
      assert.are.equal(id, word)
      count = count + 1
    end
    assert.are.equal(n, count)
  end)

  it("is refused of an unknown kind or node", function()
    local g = core.parse(TEXT)
    assert.is_false(pcall(core.note, g, "%1", "colour", {}))
    assert.is_false(pcall(core.note, g, "%9", "class", {}))
    assert.is_false(pcall(core.note, g, "%1", "class", { "red" }))
  end)
end)
