-- graphs.lua: for the specs of the partitioner: the graph of a rank as text, without any ranks.

local core = require "sgl.core"

local M = {}

-- `body` are the lines of a graph, `plan` is that of core.ranks_graph. Numbers of steps, which are
-- hashes, are left out.
function M.part(body, rank, plan)
  local whole <close> = core.parse("graph\n" .. body)
  local part <close> = core.ranks_graph(whole, rank, plan)
  return (part:text():gsub(", step=%d+", ""):gsub("^graph\n", ""):gsub("\n+$", "\n"))
end

-- y = relu(x · w) · v
M.MLP = [[
input %0 arg "x" f32[8, 4]
input %1 state "w" f32[4, 6]
input %2 state "v" f32[6, 4]
%3 = dot(%0, %1) : f32[8, 6]
%4 = relu(%3) : f32[8, 6]
%5 = dot(%4, %2) : f32[8, 4]
output %5 "y"
]]

-- Descends: the loss Σ x · w, its gradient by w, w without it.
M.STEP = [[
input %0 arg "x" f32[8, 4]
input %1 state "w" f32[4, 2]
%2 = dot(%0, %1) : f32[8, 2]
%3 = sum(%2) {dims=[1, 2]} : f32[]
%4 = const() {value=1, dims=[8, 2], dtype=f32} : f32[8, 2]
%5 = permute(%0) {dims=[2, 1]} : f32[4, 8]
%6 = dot(%5, %4) : f32[4, 2]
%7 = sub(%1, %6) : f32[4, 2]
output %3 "loss"
assign %1 = %7
]]

return M
