-- allreduce.lua: what a sum over ranks takes, to compare with MPI's (bench/allreduce.c).
--
--   sgl run -n 2 bench/allreduce.lua                   over shared memory
--   sgl run -n 2 --transport mpi bench/allreduce.lua
--
-- A line for each size: bytes, the least microseconds of a call, with all that a call of an op
-- costs besides: a node, a program found, a result.

local sgl = require "sgl"
local core = require "sgl.core"

local ATTRIBUTES = { kind = "sum", mesh = { sgl.dist.size }, axes = { 1 } }

local bytes = 1 << 14
while bytes <= 1 << 26 do
  local x, best = sgl.zeros(bytes // 4):realize(), math.huge
  for _ = 1, bytes < 1 << 20 and 300 or 30 do
    core.together(true)
    local start = core.clock()
    core.apply("all_reduce", { x }, ATTRIBUTES):realize()
    best = math.min(best, core.clock() - start)
  end
  print(("%9d bytes  %10.1f us"):format(bytes, best * 1e6))
  bytes = bytes * 4
end
