-- optim/clip.lua: clipping of gradients by global norm and by value.

local api = require "sgl.api"
local core = require "sgl.core"

local M = api.module("optim", "Optimizers, clipping and learning rate schedules")

local GRADS = { "grads", "table", "list of tensors; its items are replaced" }

api.fn(M, "clip_norm", {
  doc = "Scales gradients so that their global norm is at most `limit` (Pascanu et al., 2013).",
  args = { GRADS, { "limit", "number|tensor", "largest norm" } },
  returns = "tensor f32[], the norm before",
}, function(grads, limit)
  local total
  for _, g in ipairs(grads) do
    local square = (g * g):sum()
    total = total and total + square or square
  end
  if not total then core.raise("SGL_EARG", "optim.clip_norm: the list of gradients is empty") end
  local norm = total:sqrt()
  -- PyTorch's form: the small constant keeps a zero norm from dividing by zero.
  local scale = (limit / (norm + 1e-6)):minimum(1)
  for i, g in ipairs(grads) do grads[i] = g * scale end
  return norm
end)

api.fn(M, "clip_value", {
  doc = "Clamps every element of the gradients to [-limit, limit].",
  args = { GRADS, { "limit", "number", "largest absolute value" } },
  returns = "nothing",
}, function(grads, limit)
  for i, g in ipairs(grads) do grads[i] = g:clamp(-limit, limit) end
end)

return { M = M }
