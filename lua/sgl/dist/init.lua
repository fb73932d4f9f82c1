-- dist/init.lua: the job that a script is part of, and how its steps are spread over the ranks.
--
-- In:    what `sgl run` started; settings.
-- Out:   rank and size as fields, exact mode, placements.
-- Holds: a script means on many ranks what it means on one. All ranks run all of it; steps of
--        sgl.compile are computed together, each rank a part.
local api = require "sgl.api"
local core = require "sgl.core"

local dist = api.module("dist", "The ranks of a job: dist.rank, from 0, dist.size, how many there "
  .. "are, and dist.local_rank, the number among those of this machine")

dist.rank, dist.size, dist.local_rank = core.job()

require "sgl.dist.ends"(dist)

api.fn(dist, "exact", {
  doc = "Exact mode: sums that ranks share are cut into `shards` blocks with a fixed order, so "
    .. "that steps have the same bits on 1 to `shards` ranks. --exact 8 on the command line "
    .. "is the same.",
  opts = { { "shards", "integer", 8, "blocks; 0 turns it off", within = { 0, 256 } },
           { "over", "string", "data", "data: sums over samples, norms; all: all float sums" } },
  returns = "nothing",
  errors = "an unknown `over`",
}, function(o)
  api.root.config.exact, api.root.config.exact_over = o.shards, o.over
end)

-- The dim of a weight, or of a bias, that each kind of layer shares: Linear has [out, in].
local DIMS = { column = { 1, 1 }, row = { 2, nil }, vocabulary = { 1, nil } }
local KINDS = "column, row or vocabulary"

-- "blocks.*.up" as a pattern of Lua; * stands for a part of a name between dots.
local function pattern_of(glob)
  return "^" .. glob:gsub("[%^%$%(%)%%%.%[%]%+%-%?]", "%%%0"):gsub("%*", "[^.]*") .. "$"
end

-- Notes for all parameters of a layer which dim ranks share; returns whether there was one.
local function share(layer, kind)
  local any = false
  for _, p in layer:named_parameters() do
    local dim = DIMS[kind][p.ndim == 1 and 2 or 1]
    if dim and p.ndim >= dim then
      core.place(p, dim .. "=model")
      any = true
    end
  end
  return any
end

api.fn(dist, "tensor_parallel", {
  doc = "Ranks of an axis `model` (--plan data=2,model=2) share the weights of layers. A key names "
    .. "layers as named_modules does, * standing for a part between dots; the value is 'column' "
    .. "(a linear layer's results are shared), 'row' (its inputs) or 'vocabulary' (rows of a "
    .. "table). All else "
    .. "follows: activations, gradients, the optimizer. What the step means stays as it is. Say it "
    .. "before the first step.",
  args = { { "model", "module", "whose layers they are" },
           { "plan", "table", "{ ['blocks.*.up'] = 'column', ['blocks.*.down'] = 'row' }" } },
  returns = "the module",
  errors = "a key that names no layer with weights, a kind that is none",
}, function(model, plan)
  local keys = {}
  for key in pairs(plan) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do
    if not DIMS[plan[key]] then
      core.raise("SGL_EARG", ("dist.tensor_parallel: '%s' must be %s, got %s"):format(key, KINDS,
        tostring(plan[key])))
    end
    local pattern, any = pattern_of(key), false
    for name, layer in model:named_modules() do
      if name:find(pattern) and share(layer, plan[key]) then any = true end
    end
    if not any then
      core.raise("SGL_EARG", ("dist.tensor_parallel: '%s' names no layer with weights"):format(key),
        "model:named_modules() gives the names")
    end
  end
  return model
end)

require "sgl.dist.place"(dist)
require "sgl.dist.collective"(dist)

return dist
