-- models.lua: the benchmark workloads, the same models and batches as the peers' scripts use.
--
-- Each workload is a function that returns what times one step: fn() -> tensor, already compiled
-- on first use.

local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim

local function mlp()
  return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
    nn.Linear(512, 10))
end

local Block = nn.module("Block", function(self, width, heads)
  self.heads = heads
  self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
  self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
  self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
end)
function Block:forward(x)
  local b, t, c = table.unpack(x.shape)
  local function heads_first(y) return y:reshape(b, t, self.heads, -1):transpose(2, 3) end
  local q, k, v = self.qkv(self.norm1(x)):chunk(3, -1)
  local y = nn.scaled_dot_product_attention(heads_first(q), heads_first(k), heads_first(v),
    { causal = true })
  x = x + self.proj(y:transpose(2, 3):reshape(b, t, c))
  return x + self.down(nn.gelu(self.up(self.norm2(x))))
end

local GPT = nn.module("GPT", function(self, layers, heads, width, length)
  self.token, self.position = nn.Embedding(65, width), nn.Embedding(length, width)
  self.blocks = nn.ModuleList()
  for _ = 1, layers do self.blocks:append(Block(width, heads)) end
  self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 65, { bias = false })
end)
function GPT:forward(ids)
  local x = self.token(ids) + self.position.weight
  for _, block in ipairs(self.blocks) do x = block(x) end
  return self.head(self.norm(x)):flatten(1, 2)
end

local function cnn()
  return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(),
    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))
end

local Lstm = nn.module("CharLSTM", function(self)
  self.token, self.rnn = nn.Embedding(65, 256), nn.LSTM(256, 256)
  self.head = nn.Linear(256, 65)
end)
function Lstm:forward(ids) return self.head((self.rnn(self.token(ids)))):flatten(1, 2) end

local function ids(b, t) return sgl.randint(0, 65, { b, t }):realize() end

local function training(model, opt, options)
  return sgl.compile(function(input, target)
    local loss = nn.cross_entropy(model(input), target:flatten())
    opt:minimize(loss)
    return loss
  end, options)
end

local function trained(model, x, y, opt)
  local step = training(model, opt)
  return function() return step(x, y) end, step
end

local function adamw(model)
  return optim.AdamW(model:parameters(), { lr = 1e-3, weight_decay = 0.01 })
end

local function images(...) return sgl.randn(...):realize() end

local function inferred(model, x)
  model:eval()
  local run = sgl.compile(function(input) return model(input) end)
  return function() return run(x) end, run
end

return {
  ["mlp-sgd"] = function()
    local model = mlp()
    return trained(model, images(64, 784), sgl.randint(0, 10, { 64 }):realize(),
      optim.SGD(model:parameters(), { lr = 0.01 }))
  end,
  ["mlp-adamw"] = function()
    local model = mlp()
    return trained(model, images(64, 784), sgl.randint(0, 10, { 64 }):realize(), adamw(model))
  end,
  cnn = function()
    local model = cnn()
    return trained(model, images(64, 1, 28, 28), sgl.randint(0, 10, { 64 }):realize(), adamw(model))
  end,
  lstm = function()
    local model = Lstm()
    return trained(model, ids(32, 64), ids(32, 64), adamw(model))
  end,
  ["gpt-small"] = function()
    local model = GPT(4, 4, 128, 64)
    return trained(model, ids(12, 64), ids(12, 64), adamw(model))
  end,
  -- The training step of a model for any batch size, and what makes inputs of one.
  sized = function(name)
    local batch = sgl.dim("batch", { max = 512 })
    if name == "mlp" then
      local model = mlp()
      return training(model, adamw(model),
        { inputs = { sgl.spec { batch, 784 }, sgl.spec({ batch }, "i32") } }), function(n)
        return images(n, 784), sgl.randint(0, 10, { n }):realize()
      end
    end
    local model, spec = GPT(4, 4, 128, 64), sgl.spec({ batch, 64 }, "i32")
    return training(model, adamw(model), { inputs = { spec, spec } }),
      function(n) return ids(n, 64), ids(n, 64) end
  end,
  -- A GPT of so many equal blocks, narrow, so that compilation is what takes time.
  blocks = function(count)
    local model = GPT(count, 2, 16, 8)
    return trained(model, ids(2, 8), ids(2, 8), adamw(model))
  end,
  ["gpt-big"] = function()
    local model = GPT(6, 6, 384, 256)
    return trained(model, ids(8, 256), ids(8, 256), adamw(model))
  end,
  ["infer-mlp"] = function() return inferred(mlp(), images(1, 784)) end,
  ["infer-gpt"] = function() return inferred(GPT(4, 4, 128, 64), ids(1, 64)) end,
}
