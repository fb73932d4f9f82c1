-- graphs.lua: what is exported and compared with onnxruntime: name, a module or function, specs.
--
-- A row: { name, what, { spec, … }, tolerance?, sizes? }. The sizes that `n` has in the comparisons
-- are 1, 2, 5 and 10.

local sgl = require "sgl"

local nn = sgl.nn
local n = sgl.dim("n", { max = 10 })
local t = sgl.dim("t", { min = 1, max = 12 })

local function spec(shape, dtype) return sgl.spec(shape, dtype) end

-- A network as examples/gpt has it.
local function gpt(width, heads, blocks, words, length)
  local Block = nn.module("Block", function(self)
    self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
    self.attention = nn.MultiheadAttention(width, heads, { causal = true })
    self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
  end)
  function Block:forward(x)
    x = x + self.attention(self.norm1(x))
    return x + self.mlp(self.norm2(x))
  end
  local GPT = nn.module("GPT", function(self)
    self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
    self.blocks, self.norm = nn.ModuleList(), nn.LayerNorm(width)
    for _ = 1, blocks do self.blocks:append(Block()) end
    self.head = nn.Linear(width, words, { bias = false })
  end)
  function GPT:forward(ids)
    local x = self.tokens(ids) + self.places(sgl.arange(ids.shape[2]))
    for _, block in ipairs(self.blocks) do x = block(x) end
    return self.head(self.norm(x))
  end
  return GPT()
end

local function cnn()
  return nn.Sequential(nn.Conv2d(1, 6, 3, { padding = 1 }), nn.BatchNorm2d(6, { eps = 1e-3 }),
    nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, { stride = 2, groups = 2 }), nn.GELU(),
    nn.AvgPool2d(2, { padding = 1 }), nn.Flatten(), nn.Dropout(0.3), nn.Linear(32, 5))
end

-- What a recurrent layer returns first, and its last states.
local function flat(m)
  return function(x)
    local y, state = m(x)
    if type(state) == "table" then return y, state[1], state[2] end
    return y, state
  end
end

local f32, ids = { n, 6 }, "i32"

return {
  { "linear", nn.Linear(6, 4), { spec(f32) } },
  { "linear_without_bias", nn.Linear(6, 4, { bias = false }), { spec(f32) } },
  { "mlp", nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(-1)),
    { spec(f32) } },
  { "embedding", nn.Embedding(9, 4), { spec({ n, 5 }, ids) } },
  { "layer_norm", nn.LayerNorm(6), { spec(f32) } },
  { "rms_norm", nn.RMSNorm(6), { spec(f32) } },
  { "group_norm", nn.GroupNorm(2, 6), { spec { n, 6, 4 } } },
  { "batch_norm_1d", nn.BatchNorm1d(6), { spec(f32) } },
  { "batch_norm_2d", nn.BatchNorm2d(3), { spec { n, 3, 4, 4 } } },
  { "conv_1d", nn.Conv1d(3, 4, 3, { stride = 2, padding = 1, dilation = 2 }),
    { spec { n, 3, 11 } } },
  { "conv_2d", nn.Conv2d(4, 6, { 3, 2 }, { stride = { 2, 1 }, padding = { 1, 0 }, groups = 2 }),
    { spec { n, 4, 7, 6 } } },
  { "depthwise", nn.Conv2d(4, 4, 3, { groups = 4, bias = false }), { spec { n, 4, 6, 6 } } },
  { "max_pool_1d", nn.MaxPool1d(3, { stride = 2, padding = 1 }), { spec { n, 2, 9 } } },
  { "max_pool_2d", nn.MaxPool2d({ 2, 3 }), { spec { n, 2, 6, 9 } } },
  { "avg_pool_1d", nn.AvgPool1d(2), { spec { n, 2, 8 } } },
  { "avg_pool_2d", nn.AvgPool2d(3, { stride = 2, padding = 1 }), { spec { n, 2, 7, 7 } } },
  { "attention", nn.MultiheadAttention(8, 2), { spec { n, 5, 8 } } },
  { "causal_attention", nn.MultiheadAttention(8, 2, { causal = true }), { spec { n, t, 8 } } },
  { "rnn", flat(nn.RNN(3, 4)), { spec { n, 5, 3 } } },
  { "lstm", flat(nn.LSTM(3, 4, { layers = 2 })), { spec { n, 5, 3 } } },
  { "lstm_of_any_length", flat(nn.LSTM(3, 4)), { spec { n, t, 3 } } },
  { "gru", flat(nn.GRU(3, 4)), { spec { n, 5, 3 } } },
  { "cnn", cnn(), { spec { n, 1, 12, 12 } } },
  { "gpt", gpt(16, 2, 2, 11, 8), { spec({ n, 8 }, ids) } },
  { "gpt_of_any_length", gpt(16, 2, 1, 11, 12), { spec({ n, t }, ids) } },
  { "activations", function(x)
    return x:relu() + x:silu(), x:gelu() + x:gelu { approximate = "tanh" }, x:mish() + x:elu(),
      x:leaky_relu { slope = 0.2 }, x:hardtanh(), x:softplus(), x:logsigmoid(), x:softsign(),
      x:relu6(), x:log_softmax(2)
  end, { spec(f32) } },
  { "elementwise", function(x)
    local p = x:abs() + 0.5
    return p:log2() + p:log1p() + p:rsqrt() + p:exp2() + p:log10(), x:sin() * x:cos() + x:tan(),
      x % 0.3, x // 0.3, x:atan2(p), x:logaddexp(p), x:expm1(), x:erf() + x:sigmoid(), p ^ 1.5,
      x:round() + x:floor() - x:ceil() + x:trunc(), x:sign(), x:clamp(-0.2, 0.3)
  end, { spec(f32) } },
  { "comparisons", function(x)
    local y = x:flip(2)
    return x:lt(y) & x:ne(y), x:ge(y) | x:eq(y), x:isnan(), x:isfinite(), x:gt(0):where(x, -y),
      x:gt(0):logical_not()
  end, { spec(f32) } },
  { "shapes", function(x)
    return x:reshape(-1, 2, 3):permute(3, 1, 2), x:unsqueeze(2):expand(-1, 3, -1),
      sgl.cat({ x, x * 2 }, 2), x:narrow(2, 2, 3), x:pad { 1, 2 }, x:tile(2, 1), x:roll(1, 2),
      x[{ {}, 3 }], x:flip(2), x:unfold(2, 3, 2), x:pad({ 1, 1 }, { mode = "reflect" })
  end, { spec(f32) } },
  { "reductions", function(x)
    return x:sum(2), x:mean(2, { keepdim = true }), x:amax(2), x:amin(), x:prod(2), x:argmax(2),
      x:argmin(2), x:var(2), x:std(2), x:logsumexp(2), x:norm(2, 2), (x:max(2)), x:gt(0):any(2)
  end, { spec(f32) } },
  { "positions", function(x, at)
    return x:index_select(2, at), x:argsort(2), (x:sort(2)), (x:topk(3, 2)), x:cumsum(2),
      x:cumsum(2, { reverse = true }), x:index_add(2, at, x:narrow(2, 1, 3)), at:one_hot(6)
  end, { spec(f32), sgl.tensor({ 0, 2, 5 }, "i32") } },
  { "matrices", function(x)
    local y = x:reshape(-1, 2, 3)
    return y:matmul(y:transpose(2, 3)), x:matmul(x:t()), sgl.einsum("bij,bkj->bik", y, y), x:tril(),
      y:diagonal(0, 2, 3)
  end, { spec(f32) } },
  { "integers", function(x)
    return x + 2, x * x, x // 3, x % 3, -x, x:abs(), x:maximum(1), x:float() / 2, x:long() * 3,
      x:gt(0):int(), x:sum(2), x:relu(), x:to "f64"
  end, { spec({ n, 4 }, "i32") } },
  { "sizes", function(x)
    local size = x.shape[1]
    return x * size, x:sum() / size, sgl.arange(size), sgl.zeros(size, 2) + 1, x:mean(1)
  end, { spec(f32) } },
  { "branches", function(x)
    return sgl.cond(x:sum():gt(0), function() return x * 2, x end, function() return x - 1, x end)
  end, { spec(f32) } },
  { "scan", function(x)
    local xs = x:t():reshape(-1, 3)
    return sgl.scan(function(c, v) return c * 0.5 + v, c * v end, sgl.zeros(3), xs)
  end, { spec(f32) } },
  { "scan_backwards", function(x)
    return sgl.scan(function(c, v) return c + v, c end, sgl.zeros(6), x, { reverse = true })
  end, { spec(f32) } },
  { "loop", function(x)
    return sgl.loop(function(s) return s[1]:abs():sum():gt(0.5) end,
      function(s) return { s[1] * 0.5, s[2] + 1 } end, { x:sum(2), sgl.tensor(0) }, { max = 20 })[1]
  end, { spec(f32) } },
  { "f64", function(x) return (x:exp() + 1):log(), x:softmax(2) end, { spec(f32, "f64") }, 1e-9 },
  { "f16", function(x) return x * 0.1 + 1, x:softmax(2), x:gelu(), x / x.shape[1] end,
    { spec(f32, "f16") }, 2e-3 },
  { "f16_layer_norm", nn.LayerNorm(6, { dtype = "f16" }), { spec(f32, "f16") }, 4e-3 },
}
