-- classes_spec.lua: which dims belong together and into how many units one is cut, which sums get
-- blocks in exact mode, and where axes of a mesh spread from what is placed.

local graphs = require "spec.shard.graphs"

describe("a class of dims", function()
  -- The units of the one float sum over it, in exact mode.
  local function units(body)
    return tonumber(graphs.part(body, 0, { plan = "", exact = 8 }):match "blocks=8, units=(%d+)")
  end

  it("has as many units as its dims have in common", function()
    assert.are.equal(10, units [[
input %0 arg "x" f32[10, 3]
%1 = sum(%0) {dims=[1]} : f32[3]
output %1 ""
]])
    assert.are.equal(4, units [[
input %0 arg "x" f32[4, 6]
%1 = reshape(%0) {dims=[24]} : f32[24]
%2 = sum(%1) {dims=[1]} : f32[]
output %2 ""
]])
    assert.are.equal(4, units [[
input %0 arg "x" f32[4, 6]
%1 = permute(%0) {dims=[2, 1]} : f32[6, 4]
%2 = sum(%1) {dims=[2]} : f32[6]
output %2 ""
]])
  end)

  it("goes through the operands of an op, and from a state to what it is set to", function()
    -- 24 = 4·6 rows meet a merge of [4, 6] and one of [6, 4]: their common divisor is 2.
    assert.are.equal(2, units [[
input %0 arg "x" f32[4, 6]
input %1 arg "y" f32[6, 4]
%2 = reshape(%0) {dims=[24]} : f32[24]
%3 = reshape(%1) {dims=[24]} : f32[24]
%4 = add(%2, %3) : f32[24]
%5 = sum(%4) {dims=[1]} : f32[]
output %5 ""
]])
    -- b is set to a merge of [4, 6], so a sum over b's dim has 4 units too.
    assert.are.equal(4, units [[
input %0 arg "x" f32[4, 6]
input %1 state "b" f32[24]
%2 = reshape(%0) {dims=[24]} : f32[24]
%3 = sum(%1) {dims=[1]} : f32[]
output %3 ""
assign %1 = %2
]])
  end)

  it("is not tied by numbers that are repeated", function()
    assert.are.equal(24, units [[
input %0 arg "x" f32[24]
input %1 arg "n" f32[]
%2 = reshape(%1) {dims=[1, 1]} : f32[1, 1]
%3 = broadcast(%2) {dims=[4, 6]} : f32[4, 6]
%4 = reshape(%3) {dims=[24]} : f32[24]
%5 = mul(%0, %4) : f32[24]
%6 = sum(%5) {dims=[1]} : f32[]
output %6 ""
]])
  end)
end)

describe("in exact mode a sum", function()
  -- The attributes of the reductions, in order, of the whole on one rank.
  local function sums(body, all)
    local list = {}
    local text = graphs.part(body, 0, { plan = "", exact = 4, all = all })
    for op, attrs in text:gmatch "= (%w+)%b() (%b{}) :" do
      if op == "sum" or op == "prod" or op == "dot" then list[#list + 1] = op .. attrs end
    end
    return list
  end
  local head = 'input %0 arg "x" f32[8, 6]\ninput %1 state "w" f32[6, 6]\n'

  it("over samples has blocks, one over others has none", function()
    local body = head .. [[
%2 = sum(%0) {dims=[1]} : f32[6]
%3 = sum(%0) {dims=[2]} : f32[8]
%4 = prod(%0) {dims=[1]} : f32[6]
output %2 ""
output %3 ""
output %4 ""
]]
    assert.are.same({ "sum{dims=[1], blocks=4, units=8}", "sum{dims=[2]}",
      "prod{dims=[1], blocks=4, units=8}" }, sums(body))
    assert.are.same({ "sum{dims=[1], blocks=4, units=8}", "sum{dims=[2], blocks=4, units=6}",
      "prod{dims=[1], blocks=4, units=8}" }, sums(body, true))
  end)

  it("in a dot has blocks where rows are summed", function()
    local body = head .. [[
%2 = dot(%0, %1) : f32[8, 6]
%3 = permute(%0) {dims=[2, 1]} : f32[6, 8]
%4 = dot(%3, %2) : f32[6, 6]
output %4 ""
]]
    assert.are.same({ "dot{blocks=4, units=8}" }, sums(body))
    assert.are.same({ "dot{blocks=4, units=6}", "dot{blocks=4, units=8}" }, sums(body, true))
  end)

  it("over several dims is one over each, the last first", function()
    assert.are.same({ "sum{dims=[2], blocks=4, units=6}", "sum{dims=[1], blocks=4, units=8}" },
      sums(head .. "%2 = sum(%0) {dims=[1, 2]} : f32[]\noutput %2 \"\"\n"))
  end)

  it("that ends as one number has blocks without samples, as norms do", function()
    local body = head .. [[
%2 = sum(%1) {dims=[2]} : f32[6]
%3 = sum(%2) {dims=[1]} : f32[]
output %3 ""
]]
    assert.are.same({ "sum{dims=[2], blocks=4, units=6}", "sum{dims=[1], blocks=4, units=6}" },
      sums(body))
    -- … unless something else reads it on the way:
    assert.are.same({ "sum{dims=[2]}", "sum{dims=[1], blocks=4, units=6}" }, sums(body .. [[
%4 = neg(%2) : f32[6]
output %4 ""
]]))
  end)

  it("of integers, or of one element, has none", function()
    assert.are.same({ "sum{dims=[1]}" }, sums([[
input %0 arg "x" i32[8]
%1 = sum(%0) {dims=[1]} : i32[]
output %1 ""
]], true))
    assert.are.same({ "sum{dims=[1]}" }, sums([[
input %0 arg "x" f32[1, 6]
%1 = sum(%0) {dims=[1]} : f32[6]
output %1 ""
]], true))
  end)

  it("is over samples where an argument says which dim counts them, else over its first", function()
    local body = [[
input %0 arg "x" f32[8, 6] batch 2
%1 = sum(%0) {dims=[1]} : f32[6]
%2 = sum(%0) {dims=[2]} : f32[8]
output %1 ""
output %2 ""
]]
    assert.are.same({ "sum{dims=[1]}", "sum{dims=[2], blocks=4, units=6}" }, sums(body))
    assert.are.same({ "sum{dims=[1], blocks=4, units=8}", "sum{dims=[2]}" },
      sums((body:gsub(" batch 2", ""))))
  end)

  it("has blocks by the graph alone, not by who has which", function()
    local one = graphs.part(graphs.STEP, 0, { plan = "", exact = 4 })
    assert.truthy(one:find("blocks=4, units=8", 1, true), one)
    assert.is_nil(graphs.part(graphs.STEP, 0, { plan = "data=2" }):find "blocks=4")
  end)
end)

describe("an axis of the mesh", function()
  -- The dims of the inputs on a rank, in a line.
  local function inputs(place, plan, rank, body)
    local list = {}
    local text = graphs.part(body or graphs.MLP, rank or 0, { plan = plan, place = place })
    for dims in text:gmatch "input %%%d+ %w+ \"%w*\" f32(%b[])" do list[#list + 1] = dims end
    return table.concat(list, " ")
  end

  it("spreads from what is placed to what is computed with it", function()
    assert.are.equal("[8, 4] [4, 3] [3, 4]", inputs({ [2] = "2=model" }, "model=2"))
    assert.are.equal("[8, 4] [4, 3] [3, 4]", inputs({ [3] = "1=model" }, "model=2"))
    assert.are.equal("[8, 4] [2, 6] [6, 4]", inputs({ [2] = "1=model" }, "model=2"))
    assert.are.equal("[8, 4] [4, 6] [6, 2]", inputs({ [3] = "2=model" }, "model=2"))
  end)

  it("does not spread to what is asked to be whole", function()
    assert.are.equal("[8, 4] [4, 3] [6, 4]",
      inputs({ [2] = "2=model", [3] = "whole" }, "model=2"))
    assert.are.equal("[8, 4] [4, 6] [6, 4]", inputs({ [2] = "whole" }, "model=2"))
  end)

  it("may be one of several on a dim, the outermost first", function()
    assert.are.equal("[8, 4] [4, 1] [1, 4]", inputs({ [2] = "2=a,b" }, "a=2,b=2"))
    -- 6 columns in 4 parts begin at 0 1 3 4: rank 1 is part 1 by (a, b) and part 2 by (b, a).
    assert.are.equal("[8, 4] [4, 2] [2, 4]", inputs({ [2] = "2=a,b" }, "a=2,b=2", 1))
    assert.are.equal("[8, 4] [4, 1] [1, 4]", inputs({ [2] = "2=b,a" }, "a=2,b=2", 1))
  end)

  it("is on one dim of a value alone: the first that names it", function()
    assert.are.equal("[8, 4] [2, 6] [6, 4]", inputs({ [2] = "1=model;2=model" }, "model=2"))
    assert.are.equal("[8, 4] [2, 3] [3, 4]", inputs({ [2] = "1=a;2=b" }, "a=2,b=2"))
  end)

  it("that the mesh has not, or a dim that the value has not, says nothing", function()
    assert.are.equal("[8, 4] [4, 6] [6, 4]", inputs({ [2] = "2=seq" }, "model=2"))
    assert.are.equal("[8, 4] [4, 6] [6, 4]", inputs({ [2] = "3=model" }, "model=2"))
  end)

  it("does not cut a dim of one element", function()
    local body = graphs.MLP:gsub("6", "1")
    assert.are.equal("[8, 4] [4, 1] [1, 4]", inputs({ [2] = "2=model" }, "model=2", 0, body))
  end)

  it("leaves ranks without anything where there are more of them than units", function()
    assert.are.equal("[8, 4] [4, 0] [0, 4]", inputs({ [2] = "2=model" }, "model=8"))
    assert.are.equal("[8, 4] [4, 1] [1, 4]", inputs({ [2] = "2=model" }, "model=8", 7))
  end)

  it("for storage lies on the dim of most units, one that is cut evenly first", function()
    -- The 6 columns of w, and v follows; 4 parts of 6 would not be even.
    assert.are.equal("[8, 4] [4, 3] [3, 4]", inputs({}, "fsdp=2"))
    assert.are.equal("[8, 4] [1, 6] [6, 1]", inputs({}, "fsdp=4"))
  end)
end)
