-- nn/loss.lua: losses. Each reduces to a 0-d tensor by default; `reduction` is mean, sum or none.

local core = require "sgl.core"
local api = require "sgl.api"
local base = require "sgl.nn.module"
local wide = require "sgl.tensor.wide".composite

local M = base.M

local REDUCTION = { "reduction", "string", "mean", "mean, sum or none",
                    among = { "mean", "sum", "none" } }
local REDUCE = {
  mean = function(x) return x:mean() end,
  sum = function(x) return x:sum() end,
  none = function(x) return x end,
}
local shape_text = api.describe

local function same_shape(name, x, y)
  if api.shape_text(x.shape) ~= api.shape_text(y.shape) then
    core.raise("SGL_ESHAPE", ("nn.%s: prediction %s and target %s differ in shape"):format(name,
      shape_text(x), shape_text(y)), "reshape one of them; losses do not broadcast")
  end
end

-- Losses of a prediction and a target of one shape, element by element.
local function elementwise(name, doc, opts, formula)
  opts[#opts + 1] = REDUCTION
  api.fn(M, name, {
    doc = doc,
    args = { { "x", "tensor", "prediction, any shape" }, { "y", "tensor", "target, shape of x" } },
    opts = opts,
    returns = "tensor, f32[] or the shape of x (none)",
    errors = "shapes that differ",
  }, function(x, y, o)
    same_shape(name, x, y)
    local reduce = REDUCE[o.reduction]
    return wide(name, { x, y }, 2, function(a, b) return reduce(formula(a, b, o)) end)
  end)
end

elementwise("mse_loss", "Squared error (x - y)².", {}, function(x, y)
  local d = x - y
  return d * d
end)
elementwise("l1_loss", "Absolute error |x - y|.", {}, function(x, y) return (x - y):abs() end)
elementwise("huber_loss",
  "d²/2 where |d| <= delta, else delta·(|d| - delta/2), d = x - y (Huber, 1964).",
  { { "delta", "number", 1, "where the square ends", within = { 0, math.huge, true } } },
  function(x, y, o)
    local d = x - y
    local size = d:abs()
    return size:gt(o.delta):where((size - 0.5 * o.delta) * o.delta, d * d * 0.5)
  end)
elementwise("bce_with_logits",
  "Binary cross entropy of logits x against probabilities y, computed as "
  .. "(1 - y)·x + softplus(-x).",
  { { "pos_weight", "number", 1, "weight of the positive class" } },
  function(x, y, o)
    local spread = (-x):softplus()
    if o.pos_weight ~= 1 then spread = (1 + y * (o.pos_weight - 1)) * spread end
    return (1 - y) * x + spread
  end)
elementwise("kl_div", "Kullback-Leibler divergence y·(log y - x) of log-probabilities x from "
  .. "probabilities y. The mean is over all elements.", {},
  function(x, y)
    local positive = y:gt(0)
    return positive:where(y * (positive:where(y, 1):log() - x), 0)
  end)

-- [n, c, …] → [n·…, c], so that classes come last.
local function classes_last(name, x, target)
  local xs, ts = x.shape, target.shape
  local fits = #xs >= 1 and #ts == #xs - 1 and (#xs == 1 or ts[1] == xs[1])
  for i = 3, #xs do fits = fits and ts[i - 1] == xs[i] end
  if not fits then
    core.raise("SGL_ESHAPE", ("nn.%s: logits %s and classes %s do not fit"):format(name,
      shape_text(x), shape_text(target)),
      "logits are [n, c] or [n, c, …], classes [n] or [n, …] with integers from 0")
  end
  if target:is_floating_point() then
    core.raise("SGL_EDTYPE", ("nn.%s: classes must be integers, got %s"):format(name,
      shape_text(target)), "convert them with :int()")
  end
  if #xs <= 2 then return x, target end
  local order = { 1 }
  for i = 3, #xs do order[#order + 1] = i end
  order[#order + 1] = 2
  return x:permute(table.unpack(order)):reshape(-1, xs[2]), target:flatten()
end

-- Minus the log-probability of the class, for rows of log-probabilities; 0 for ignored rows. The
-- class is looked up in the list of all, so that one outside it is an error when the step runs.
local function picked(logp, target, ignore)
  local kept = ignore and target:ne(ignore)
  if kept then target = kept:where(target, 0) end
  local list = core.iota({ logp.shape[logp.ndim] }, 1, target.dtype)
  local class = core.apply("gather", { list, target }, { dim = 1 })
  local hit = core.iota(logp.shape, logp.ndim, target.dtype):eq(class:unsqueeze(-1))
  local nll = -hit:where(logp, 0):sum(-1)
  return kept and kept:where(nll, 0) or nll, kept
end

local function mean_of_kept(loss, kept)
  return kept and loss:sum() / kept:to(loss.dtype):sum() or loss:mean()
end

local CLASS_ARGS = {
  { "x", "tensor", "f32[n, c] or f32[n, c, …]" },
  { "target", "tensor", "integers from 0, [n] or [n, …]" },
}
local IGNORE = { "ignore_index", "integer?", nil,
                 "a class whose rows count neither in sum nor mean" }

local function finish(name, o, loss, kept, shape)
  if o.reduction == "mean" then return mean_of_kept(loss, kept) end
  local reduced = REDUCE[o.reduction](loss)
  return o.reduction == "none" and reduced:reshape(table.unpack(shape)) or reduced
end

api.fn(M, "nll_loss", {
  doc = "Minus the log-probability of the class.",
  args = CLASS_ARGS,
  opts = { IGNORE, REDUCTION },
  returns = "tensor, f32[] or the shape of target (none)",
  errors = "shapes that do not fit, float classes, a class outside [0, c) when the step runs",
}, function(x, target, o)
  local shape = target.shape
  return wide("nll_loss", { x, target }, 2, function(logs, ids)
    local logp, classes = classes_last("nll_loss", logs, ids)
    local loss, kept = picked(logp, classes, o.ignore_index)
    return finish("nll_loss", o, loss, kept, shape)
  end)
end)

api.fn(M, "cross_entropy", {
  doc = "Mean cross entropy of logits against classes: nll_loss of log_softmax.",
  args = CLASS_ARGS,
  opts = { IGNORE,
           { "label_smoothing", "number", 0, "share of the target spread over all classes" },
           REDUCTION },
  returns = "tensor, f32[] or the shape of target (none)",
  errors = "shapes that do not fit, float classes, label_smoothing outside [0, 1], a class "
    .. "outside [0, c) when the step runs",
}, function(x, target, o)
  local shape, s = target.shape, o.label_smoothing
  if not (s >= 0 and s <= 1) then
    core.raise("SGL_EARG",
      ("nn.cross_entropy: label_smoothing must be in [0, 1], not %g"):format(s))
  end
  return wide("cross_entropy", { x, target }, 2, function(scores, ids)
    local logits, classes = classes_last("cross_entropy", scores, ids)
    local logp = logits:log_softmax(-1)
    local loss, kept = picked(logp, classes, o.ignore_index)
    if s > 0 then
      local spread = -logp:mean(-1)
      if kept then spread = kept:where(spread, 0) end
      loss = loss * (1 - s) + spread * s
    end
    return finish("cross_entropy", o, loss, kept, shape)
  end)
end)
