-- nn/attention.lua: multi-head attention (Vaswani et al., 2017).

local core = require "sgl.core"
local api = require "sgl.api"
local base = require "sgl.nn.module"
local F = require "sgl.nn.functional"
require "sgl.nn.layers"

local M = base.M

local MultiheadAttention = base.class("MultiheadAttention", {
  doc = "Attention with several heads over [batch, time, width]. Children: q, k, v, out, each a "
    .. "Linear(width, width).",
  args = { { "width", "integer", "last dim", within = { 1, math.huge } },
           { "heads", "integer", "divides width", within = { 1, math.huge } } },
  opts = { { "causal", "boolean", false, "position i sees positions up to i only" },
           { "bias", "boolean", true, "with biases" },
           { "dropout", "number", 0, "on the attention weights, in training", within = { 0, 1 } } },
  returns = "module: (query, key?, value?, {mask}) -> f32[b, t, width]; key and value default to "
    .. "query",
  errors = "heads that do not divide width; an input that is not [batch, time, width]",
}, function(self, width, heads, o)
  if width % heads ~= 0 then
    core.raise("SGL_EARG", ("nn.MultiheadAttention: %d heads do not divide width %d"):format(
      heads, width), "every head gets width / heads of the features")
  end
  self.width, self.heads, self.causal, self.dropout = width, heads, o.causal, o.dropout
  for _, name in ipairs { "q", "k", "v", "out" } do
    self[name] = M.Linear(width, width, { bias = o.bias })
  end
end)

local function projections(kind) return { "q." .. kind, "k." .. kind, "v." .. kind } end
MultiheadAttention.__pytorch = {
  { "in_proj_weight", projections "weight" }, { "in_proj_bias", projections "bias" },
  { "out_proj.weight", { "out.weight" } }, { "out_proj.bias", { "out.bias" } },
}

-- [b, t, width] → [b, heads, t, width / heads]
local function split_heads(x, heads)
  local b, t, width = table.unpack(x.shape)
  return x:reshape(b, t, heads, width // heads):transpose(2, 3)
end

local OPTIONS = { { "mask", "tensor", nil, "bool: true where a position is seen; or added" } }

function MultiheadAttention:forward(query, key, value, o)
  o = api.options("nn.MultiheadAttention", OPTIONS, o)
  key = key or query
  value = value or key
  for _, x in ipairs { query, key, value } do base.need_sequence(self, x, "width", self.width) end
  local q = split_heads(self.q(query), self.heads)
  local k = split_heads(self.k(key), self.heads)
  local v = split_heads(self.v(value), self.heads)
  local y = F.scaled_dot_product_attention(q, k, v, { causal = self.causal, mask = o.mask,
    dropout = self.training and self.dropout or 0 })
  local b, _, t, _ = table.unpack(y.shape)
  return self.out(y:transpose(2, 3):reshape(b, t, -1))
end
