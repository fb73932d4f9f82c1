-- part_spec.lua: the graph that a rank gets: golden texts, each thought through by hand.

local core = require "sgl.core"
local graphs = require "spec.shard.graphs"

describe("the graph of a rank", function()
  local function is(body, rank, plan, want)
    assert.are.equal(want, graphs.part(body, rank, plan))
  end

  -- Rank 1 of 2 has rows 5 to 8. Loss and gradient are sums over rows: shares, then all_reduce.
  it("has its rows, and sums over rows with the others", function()
    is(graphs.STEP, 1, { plan = "data=2" }, [[
input %0 arg "x" f32[8, 4]
input %1 state "w" f32[4, 2]
%2 = slice(%0) {start=[4, 0], stop=[8, 4], step=[1, 1]} : f32[4, 4]
%3 = dot(%2, %1) : f32[4, 2]
%4 = sum(%3) {dims=[1, 2]} : f32[]
%5 = all_reduce(%4) {kind="sum", mesh=[2], axes=[1]} : f32[]
%6 = permute(%2) {dims=[2, 1]} : f32[4, 4]
%7 = const() {value=1, dims=[4, 2], dtype=f32} : f32[4, 2]
%8 = dot(%6, %7) : f32[4, 2]
%9 = all_reduce(%8, %5) {kind="sum", mesh=[2], axes=[1]} : f32[4, 2]
%10 = sub(%1, %9) : f32[4, 2]
output %5 "loss"
assign %1 = %10
]])
  end)

  -- State is a half: gathered where it is used; of the gradient each rank gets its half alone.
  it("gathers state that ranks share, and gets its part of a gradient", function()
    is(graphs.STEP, 1, { plan = "fsdp=2" }, [[
input %0 arg "x" f32[8, 4]
input %1 state "w" f32[2, 2]
%2 = slice(%0) {start=[4, 0], stop=[8, 4], step=[1, 1]} : f32[4, 4]
%3 = all_gather(%1) {dim=1, to=4, size=4, units=4, blocks=0, keep=0, mesh=[2], axes=[1]} : f32[4, 2]
%4 = dot(%2, %3) : f32[4, 2]
%5 = sum(%4) {dims=[1, 2]} : f32[]
%6 = all_reduce(%5, %3) {kind="sum", mesh=[2], axes=[1]} : f32[]
%7 = permute(%2) {dims=[2, 1]} : f32[4, 4]
%8 = const() {value=1, dims=[4, 2], dtype=f32} : f32[4, 2]
%9 = dot(%7, %8) : f32[4, 2]
%10 = reduce_scatter(%9, %6) {kind="sum", dim=1, to=2, size=4, units=4, blocks=0, keep=0, ]]
      .. [[mesh=[2], axes=[1]} : f32[2, 2]
%11 = sub(%1, %10) : f32[2, 2]
output %6 "loss"
assign %1 = %11
]])
  end)

  -- Columns of w, rows of v: between them no exchange, behind them one.
  it("has one sum behind two layers that are shared by columns, then by rows", function()
    is(graphs.MLP, 1, { plan = "model=2", place = { [2] = "2=model", [3] = "1=model" } }, [[
input %0 arg "x" f32[8, 4]
input %1 state "w" f32[4, 3]
input %2 state "v" f32[3, 4]
%3 = dot(%0, %1) : f32[8, 3]
%4 = relu(%3) : f32[8, 3]
%5 = dot(%4, %2) : f32[8, 4]
%6 = all_reduce(%5) {kind="sum", mesh=[2], axes=[1]} : f32[8, 4]
output %6 "y"
]])
  end)

  -- Rank 3 of 2 x 2: the lower rows by axis 1, the right columns by axis 2.
  it("exchanges by each axis what that axis cuts", function()
    is(graphs.MLP, 3, { plan = "data=2,model=2", place = { [2] = "2=model" } }, [[
input %0 arg "x" f32[8, 4]
input %1 state "w" f32[4, 3]
input %2 state "v" f32[3, 4]
%3 = slice(%0) {start=[4, 0], stop=[8, 4], step=[1, 1]} : f32[4, 4]
%4 = dot(%3, %1) : f32[4, 3]
%5 = relu(%4) : f32[4, 3]
%6 = dot(%5, %2) : f32[4, 4]
%7 = all_reduce(%6) {kind="sum", mesh=[2, 2], axes=[2]} : f32[4, 4]
%8 = all_gather(%7, %7) {dim=1, to=8, size=8, units=8, blocks=0, keep=0, mesh=[2, 2], axes=[1]} ]]
      .. [[: f32[8, 4]
output %8 "y"
]])
  end)

  it("counts positions in the whole", function()
    is([[
input %0 arg "x" f32[6, 2]
%1 = iota() {dim=1, dims=[6, 2], dtype=f32} : f32[6, 2]
%2 = mul(%0, %1) : f32[6, 2]
%3 = reduce_max(%2) {dims=[1, 2]} : f32[]
output %3 ""
]], 1, { plan = "data=2" }, [[
input %0 arg "x" f32[6, 2]
%1 = slice(%0) {start=[3, 0], stop=[6, 2], step=[1, 1]} : f32[3, 2]
%2 = iota() {dim=1, dims=[3, 2], dtype=f32, start=[3]} : f32[3, 2]
%3 = mul(%1, %2) : f32[3, 2]
%4 = reduce_max(%3) {dims=[1, 2]} : f32[]
%5 = all_reduce(%4) {kind="max", mesh=[2], axes=[1]} : f32[]
output %5 ""
]])
  end)

  -- Of 3 rows rank 0 of 8 has none: what it gives changes nothing.
  it("gives what adds nothing where it has nothing", function()
    for op, none in pairs {
      reduce_min = { i32 = "2147483647", f32 = "inf" }, prod = { i32 = "1", f32 = "1" },
      reduce_max = { i32 = "-2147483648", f32 = "-inf" }, sum = { i32 = "0", f32 = "-0" },
    } do
      for dtype, value in pairs(none) do
        is(([[
input %%0 arg "x" %s[3, 2]
%%1 = %s(%%0) {dims=[1]} : %s[2]
output %%1 ""
]]):format(dtype, op, dtype), 0, { plan = "data=8" }, ([[
input %%0 arg "x" %s[3, 2]
%%1 = const() {value=%s, dims=[2], dtype=%s} : %s[2]
%%2 = all_reduce(%%1) {kind="%s", mesh=[8], axes=[1]} : %s[2]
output %%2 ""
]]):format(dtype, value, dtype, dtype, op:gsub("reduce_", ""), dtype))
      end
    end
  end)

  -- Rows 10 in 8 blocks begin at 0 1 2 3 5 6 7 8: rank 1 of 4 has blocks 2 and 3, rows 3, and 4 and
  -- 5; the shorter one is filled up.
  it("has the blocks of sums that lie on it, all as long as the longest", function()
    is([[
input %0 arg "x" f32[10]
%1 = sum(%0) {dims=[1]} : f32[]
output %1 ""
]], 1, { plan = "data=4", exact = 8 }, [[
input %0 arg "x" f32[10]
%1 = slice(%0) {start=[2], stop=[5], step=[1]} : f32[3]
%2 = slice(%1) {start=[0], stop=[1], step=[1]} : f32[1]
%3 = pad(%2) {lo=[0], hi=[1], value=-0} : f32[2]
%4 = slice(%1) {start=[1], stop=[3], step=[1]} : f32[2]
%5 = pad(%4) {lo=[0], hi=[0], value=-0} : f32[2]
%6 = concat(%3, %5) {dim=1} : f32[4]
%7 = sum(%6) {dims=[1], blocks=2, units=2} : f32[]
%8 = all_reduce(%7) {kind="sum", mesh=[4], axes=[1]} : f32[]
output %8 ""
]])
  end)

  it("has the same exchanges in the same order as that of any other rank", function()
    local plans = {
      { plan = "data=2,fsdp=2,model=2", exact = 8 }, { plan = "fsdp=4" },
      { plan = "data=2,model=2", place = { [2] = "1=model" } }, { plan = "data=16" },
    }
    for _, body in ipairs { graphs.STEP, graphs.MLP } do
      for _, plan in ipairs(plans) do
        local first
        local ranks = 1
        for n in plan.plan:gmatch "%d+" do ranks = ranks * n end
        for r = 0, ranks - 1 do
          local list = {}
          for op, attrs in graphs.part(body, r, plan):gmatch "= (all_%w+)%b() (%b{})" do
            list[#list + 1] = op .. attrs:gsub("to=%d+", "")
          end
          local text = table.concat(list, "\n")
          first = first or text
          assert.are.equal(first, text, ("rank %d of %s"):format(r, plan.plan))
        end
      end
    end
  end)

  it("is that of a rank that there is", function()
    local whole <close> = core.parse("graph\n" .. graphs.STEP)
    for _, r in ipairs { -1, 2 } do
      local ok, e = pcall(core.ranks_graph, whole, r, { plan = "data=2" })
      assert.is_false(ok)
      assert.truthy(tostring(e):find("no such rank", 1, true), tostring(e))
    end
  end)
end)
