-- dist/collective.lua: collectives that a script writes itself, on values that differ by rank.
--
-- In:    tensors of equal shapes on all ranks of the group, which call it together.
-- Out:   outside steps the result, at once; in a step, a node of its graph.
-- Holds: a step in which one is written is taken as it stands: the partitioner cuts nothing in it,
--        and its arguments may differ by rank. Gradients are those of the sum of all ranks' losses.
--        On one rank they give their argument.
local api = require "sgl.api"
local core = require "sgl.core"

local raise, root = core.raise, api.root

local AXIS = { "axis", "string|table?", nil, "an axis of the mesh, or several; default: all ranks" }

-- The mesh and the axes as attributes, and how many ranks take part; of one rank, nil and 1.
local function group(what, axis)
  local rank, size = core.job()
  if size == 1 then return nil, 1, 0 end
  local list, sizes, number, names, at = core.mesh(), {}, {}, {}, {}
  for i = #list, 1, -1 do
    local name, count = list[i][1], list[i][2]
    sizes[i], number[name], names[i], at[i], rank = count, i, name, rank % count, rank // count
  end
  local axes, ranks, member = {}, 1, 0
  for i, name in ipairs(type(axis) == "string" and { axis } or axis or names) do
    local k = number[name]
    if not k then
      raise("SGL_EARG", ("%s: the mesh has no axis %s"):format(what, api.describe(name)),
        "its axes: " .. table.concat(names, ", "))
    end
    axes[i], ranks, member = k, ranks * sizes[k], member * sizes[k] + at[k]
  end
  return { mesh = sizes, axes = axes }, ranks, member
end

local function apply(op, t, attrs)
  local result = core.apply(op, { t }, attrs)
  return core.capturing() and result or root.realize(result)
end

-- One value on the member, another on the others, with the same graph on all of them, so that the
-- gradient is exchanged by all or none.
local function choose(is, one, other)
  return root.where(core.apply("barrier", { core.tensor(is) }, { number = 0 }), one, other)
end

local function check_parts(what, t, dim, ranks)
  if dim > t.ndim or t.shape[dim] % ranks ~= 0 then
    raise("SGL_ESHAPE", ("%s: dim %d of %s has no %d equal parts"):format(what, dim,
      api.describe(t), ranks))
  end
end

return function(dist)
  local TENSOR = { "tensor", "tensor", "this rank's value" }
  local DIM = { "dim", "integer", 1, "along which dim", within = { 1, 13 } }
  local OP = { "op", "string", "sum", "how", among = { "sum", "mean", "prod", "max", "min" } }

  api.fn(dist, "all_reduce", {
    doc = "The values of all ranks, combined element by element, on each of them.",
    args = { TENSOR }, opts = { OP, AXIS }, returns = "a tensor like it",
    errors = "an axis that the mesh lacks; other shapes on other ranks",
  }, function(t, o)
    local attrs, ranks = group("dist.all_reduce", o.axis)
    if ranks == 1 then return t end
    attrs.kind = o.op == "mean" and "sum" or o.op
    local sum = apply("all_reduce", t, attrs)
    return o.op == "mean" and sum / ranks or sum
  end)

  api.fn(dist, "all_gather", {
    doc = "The values of all ranks, joined along a dim, on each of them.",
    args = { TENSOR }, opts = { DIM, AXIS }, returns = "a tensor",
    errors = "as of all_reduce; a dim that there is not",
  }, function(t, o)
    local attrs, ranks = group("dist.all_gather", o.axis)
    check_parts("dist.all_gather", t, o.dim, 1)
    if ranks == 1 then return t end
    local whole = t.shape[o.dim] * ranks
    attrs.dim, attrs.to, attrs.size, attrs.units = o.dim, whole, whole, whole
    attrs.blocks, attrs.keep = 0, 0
    return apply("all_gather", t, attrs)
  end)

  api.fn(dist, "reduce_scatter", {
    doc = "What all_reduce gives, cut along a dim into equal parts: this rank's part.",
    args = { TENSOR }, opts = { DIM, OP, AXIS }, returns = "a tensor",
    errors = "as of all_reduce; a dim without equal parts",
  }, function(t, o)
    local attrs, ranks = group("dist.reduce_scatter", o.axis)
    check_parts("dist.reduce_scatter", t, o.dim, ranks)
    if ranks == 1 then return t end
    local whole = t.shape[o.dim]
    attrs.kind = o.op == "mean" and "sum" or o.op
    attrs.dim, attrs.to, attrs.size, attrs.units = o.dim, whole // ranks, whole, whole
    attrs.blocks, attrs.keep = 0, 0
    local sum = apply("reduce_scatter", t, attrs)
    return o.op == "mean" and sum / ranks or sum
  end)

  api.fn(dist, "all_to_all", {
    doc = "Cuts a dim into as many equal parts as there are ranks: part i goes to rank i, and what "
      .. "the others have for this rank comes in its place.",
    args = { TENSOR }, opts = { DIM, AXIS }, returns = "a tensor like it",
    errors = "as of reduce_scatter",
  }, function(t, o)
    local attrs, ranks = group("dist.all_to_all", o.axis)
    check_parts("dist.all_to_all", t, o.dim, ranks)
    if ranks == 1 then return t end
    if o.dim == 1 then return apply("all_to_all", t, attrs) end
    return apply("all_to_all", t:transpose(1, o.dim), attrs):transpose(1, o.dim)
  end)

  api.fn(dist, "broadcast", {
    doc = "The value of one rank, on all of them.",
    args = { TENSOR }, opts = { { "from", "integer", 0, "which rank of the group, from 0" }, AXIS },
    returns = "a tensor like it", errors = "as of all_reduce; a rank that there is not",
  }, function(t, o)
    local attrs, ranks, member = group("dist.broadcast", o.axis)
    if o.from < 0 or o.from >= ranks then
      raise("SGL_EARG", ("dist.broadcast: no rank %d among %d"):format(o.from, ranks))
    end
    if ranks == 1 then return t end
    attrs.root = o.from
    return apply("copy_from", choose(member == o.from, t, t:detach()), attrs)
  end)

  api.fn(dist, "send", {
    doc = "The value of rank `from`, on rank `to`; the others keep their own. All ranks of the "
      .. "group call it.",
    args = { TENSOR }, opts = { { "from", "integer", 0, "which rank of the group sends" },
                                { "to", "integer", 0, "and which receives, from 0" }, AXIS },
    returns = "a tensor like it", errors = "as of broadcast",
  }, function(t, o)
    local _, ranks, member = group("dist.send", o.axis)
    if o.to < 0 or o.to >= ranks then
      raise("SGL_EARG", ("dist.send: no rank %d among %d"):format(o.to, ranks))
    end
    local sent = dist.broadcast(t, { from = o.from, axis = o.axis })
    return ranks == 1 and t or choose(member == o.to, sent, t)
  end)
end
