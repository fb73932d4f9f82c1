-- dist/place.lua: how a script asks its tensors to lie over the ranks.
--
-- In:    tensors, models; the axes of the mesh by name.
-- Out:   notes beside tensors, which the partitioner reads; the plan, where none was said.
-- Holds: they say where values lie, never what they are: the script means the same without them, on
--        any mesh and on one rank. Names that the mesh lacks say nothing.
local api = require "sgl.api"
local core = require "sgl.core"

local raise, root = core.raise, api.root

return function(dist)
  local placements = setmetatable({}, { __mode = "k" })

  local function placement(text)
    local made = setmetatable({}, { __name = "placement", __tostring = function() return text end })
    placements[made] = text
    return made
  end

  api.fn(dist, "shard", {
    doc = "A placement for dist.place: a dim is shared by the ranks of an axis, or of several, the "
      .. "outermost first: dist.shard(1, 'model', 'data').",
    args = { { "dim", "integer", "from 1", within = { 1, 13 } },
             { "axes", "string...", "names of axes of the mesh" } },
    returns = "a placement",
    errors = "no axis",
  }, function(dim, axes)
    if #axes == 0 then
      raise("SGL_EARG", "dist.shard: which axis of the mesh shares the dim?",
        "dist.shard(1, 'model')")
    end
    return placement(("%d=%s"):format(dim, table.concat(axes, ",")))
  end)

  api.fn(dist, "replicate", {
    doc = "A placement for dist.place: every rank has all of it, under any plan.",
    returns = "a placement",
  }, function() return placement "whole" end)

  api.fn(dist, "place", {
    doc = "Says how the ranks share a tensor: a parameter or other state, before the first step "
      .. "that uses it, or a value within a step. All that is computed with it follows; what it "
      .. "means stays. Axes that the mesh lacks are passed over.",
    args = { { "tensor", "tensor", "whose values they are" },
             { "how", "any...", "dist.shard(…), one or several, or dist.replicate()" } },
    returns = "the tensor",
    errors = "no placement, a dim that the tensor lacks, a dim or an axis that comes twice",
  }, function(t, how)
    local words, seen = {}, {}
    for i, item in ipairs(how) do
      local text = placements[item]
      if not text then
        raise("SGL_EARG", ("dist.place: placement %d is %s"):format(i, api.describe(item)),
          "dist.shard(1, 'model') or dist.replicate()")
      end
      local dim = tonumber(text:match "^%d+")
      if text == "whole" and #how > 1 or dim and (dim > t.ndim or seen[dim]) then
        raise("SGL_EARG", ("dist.place: %s does not fit %s"):format(text, api.describe(t)),
          "a placement for each dim that ranks share, with all axes of the dim")
      end
      seen[dim or 0] = true
      for axis in text:gmatch "[=,]([^,]*)" do
        if seen[axis] then
          raise("SGL_EARG", ("dist.place: axis '%s' is on two dims"):format(axis))
        end
        seen[axis] = true
      end
      words[i] = text
    end
    if #words == 0 then raise("SGL_EARG", "dist.place: how?", "dist.shard(1, 'model')") end
    core.place(t, table.concat(words, ";"))
    return t
  end)

  -- The plan has the axis: the script says so where nothing else did.
  local function want(what, axis, plan)
    local config = root.config
    if dist.size == 1 then return end
    if config.plan == "" then config.plan = plan end
    if config.from "plan" ~= "program" or config.plan == plan then return end
    if not (config.plan .. ","):find(axis .. "=", 1, true) then
      raise("SGL_EARG", ("%s: the plan '%s' has no axis '%s'"):format(what, config.plan, axis),
        ("sgl.mesh { %s = %d }"):format(axis, dist.size))
    end
  end

  api.fn(dist, "ddp", {
    doc = "All ranks share the samples, and each has the whole model: the plan `ddp`, or the axis "
      .. "`data` of the mesh. The script means what it means on one rank; --plan goes first.",
    args = { { "model", "module", "the model" } },
    returns = "the module",
    errors = "a mesh without an axis `data`",
  }, function(model)
    want("dist.ddp", "data", "ddp")
    return model
  end)

  api.fn(dist, "fsdp", {
    doc = "All ranks share the samples, and each has a part of every parameter, of its gradient "
      .. "and of what the optimizer keeps: the plan `fsdp`, or the axis `fsdp` of the mesh. A step "
      .. "gathers what it needs. The script means what it means on one rank; --plan goes first.",
    args = { { "model", "module", "the model" } },
    opts = { { "reshard_after_forward", "boolean", false,
               "gathers again for the backward pass: more exchanges, less memory" } },
    returns = "the module",
    errors = "a mesh without an axis `fsdp`",
  }, function(model, o)
    want("dist.fsdp", "fsdp", "fsdp")
    if root.config.from "reshard" == "default" or root.config.from "reshard" == "program" then
      root.config.reshard = o.reshard_after_forward and 1 or 0
    end
    return model
  end)
end
