-- nn: modules, layers, losses and initialisers (sgl.nn).

local base = require "sgl.nn.module"
require "sgl.nn.layers"
require "sgl.nn.images"
require "sgl.nn.attention"
require "sgl.nn.recurrent"
require "sgl.nn.loss"

local M = base.M
M.Module = base.Module
M.functional = require "sgl.nn.functional"
M.init = require "sgl.nn.initialise"

-- The activations and maps that scripts call most are in sgl.nn too: nn.gelu(x), nn.relu(x).
for _, name in ipairs {
  "relu", "gelu", "silu", "tanh", "sigmoid", "softplus", "softmax", "log_softmax", "dropout",
  "linear", "embedding", "layer_norm", "rms_norm", "group_norm", "batch_norm", "conv1d", "conv2d",
  "max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "scaled_dot_product_attention", "one_hot",
} do
  M[name] = M.functional[name]
end

return M
