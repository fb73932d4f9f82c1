-- optim/clip.lua: clipping of gradients by global norm and by value.

local api = require "sgl.api"
local core = require "sgl.core"
local widened = require "sgl.tensor.wide".one

local M = api.module("optim", "Optimizers, clipping and learning rate schedules")

-- A gradient that is no tensor would fail somewhere inside.
local function check(name, grads)
  for i = 1, math.max(1, #grads) do
    if not core.is_tensor(grads[i]) then
      core.raise("SGL_EARG", ("optim.%s: item %d of the gradients must be a tensor, got %s"):format(
        name, i, api.describe(grads[i])), "pass the list that sgl.grad(loss, opt.params) gives")
    end
  end
end

local LIMIT = { 0, math.huge }
local GRADS = { "grads", "table", "list of tensors; its items are replaced" }

api.fn(M, "clip_norm", {
  doc = "Scales gradients so that their global norm is at most `limit` (Pascanu et al., 2013).",
  args = { GRADS, { "limit", "number|tensor", "largest norm", within = LIMIT } },
  returns = "tensor f32[], the norm before",
  errors = "an empty list, an item that is no tensor",
}, function(grads, limit)
  check("clip_norm", grads)
  local total
  for _, g in ipairs(grads) do
    local square = widened(g):square():sum()   -- squares of halves would overflow
    total = total and total + square or square
  end
  local norm = total:sqrt()
  -- PyTorch's form: the small constant keeps a zero norm from dividing by zero.
  local scale = (limit / (norm + 1e-6)):minimum(1)
  for i, g in ipairs(grads) do grads[i] = (g * scale):to(g.dtype) end
  return norm
end)

api.fn(M, "clip_value", {
  doc = "Clamps every element of the gradients to [-limit, limit].",
  args = { GRADS, { "limit", "number", "largest absolute value", within = LIMIT } },
  returns = "nothing",
  errors = "an empty list, an item that is no tensor",
}, function(grads, limit)
  check("clip_value", grads)
  for i, g in ipairs(grads) do grads[i] = g:clamp(-limit, limit) end
end)

return { M = M }
