-- dist/init.lua: the job that a script is part of, and how its steps are spread over the ranks.
--
-- In:    what `sgl run` started; settings.
-- Out:   rank and size as fields, exact mode.
-- Holds: a script means on many ranks what it means on one. All ranks run all of it; steps of
--        sgl.compile are computed together, each rank a part.
local api = require "sgl.api"
local core = require "sgl.core"

local dist = api.module("dist", "The ranks of a job: dist.rank, from 0, dist.size, how many there "
  .. "are, and dist.local_rank, the number among those of this machine")

dist.rank, dist.size = core.job()
dist.local_rank = dist.rank

api.fn(dist, "exact", {
  doc = "Exact mode: sums that ranks share are cut into `shards` blocks with a fixed order, so "
    .. "that steps have the same bits on 1, 2, 4 … `shards` ranks. --exact 8 on the command line "
    .. "is the same.",
  opts = { { "shards", "integer", 8, "blocks, a power of 2; 0 turns it off", within = { 0, 256 } },
           { "over", "string", "data", "data: sums over samples, norms; all: all float sums" } },
  returns = "nothing",
  errors = "an unknown `over`",
}, function(o)
  api.root.config.exact, api.root.config.exact_over = o.shards, o.over
end)

return dist
