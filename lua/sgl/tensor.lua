-- tensor.lua: the functions of tensors, in the order in which they rest on each other.
--
-- In:    core.Tensor, the methods that C and the op table give.
-- Out:   core.Tensor and api.root with everything that users of NumPy and PyTorch look for.
-- Holds: a function of one subject lives in the file named after it; none knows a later one.
local core = require "sgl.core"

for _, part in ipairs {
  "shape",       -- how shapes print and compare
  "movement",    -- reshape, permute, expand, split, …
  "join",        -- cat, stack, meshgrid
  "elementwise", -- the op table, clamp, activations, comparisons of whole tensors
  "create",      -- zeros, arange, rand, …
  "index",       -- t[key]
  "store",       -- t[key] = v
  "gather",      -- gather, take, masked_select, scatter_add, …
  "reduce",      -- sum, max, mean, var, softmax, …
  "linalg",      -- matmul, tril, diagonal, …
  "einsum",      -- einsum
  "order",       -- sort, topk, cumsum, …
  "pad",         -- pad
} do
  require("sgl.tensor." .. part)
end

core.Tensor.__show = require "sgl.show".text

return core.Tensor
