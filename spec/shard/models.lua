-- models.lua: a script for the specs of ranks: trains a model for some steps, and writes the
-- loss of each and all state as bytes. Arguments: the model, the rows of a batch, the steps. By
-- `require`: a function of the first two that gives the step and what makes a batch.

local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim

local rows
local MODELS = {}

-- Each returns the model, the options of a step, and a batch by its number.
local function table_batch(width, classes)
  return function()
    return sgl.randn(rows, width), (sgl.rand(rows) * classes):to "i32"
  end
end

function MODELS.mlp()
  return nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16), nn.Tanh(),
    nn.Linear(16, 5)), {}, table_batch(12, 5)
end

-- Layer norm, dropout, clipping, a schedule; the target -100 is left out of the mean.
function MODELS.full()
  local batch = table_batch(12, 5)
  return nn.Sequential(nn.Linear(12, 24), nn.LayerNorm(24), nn.GELU(), nn.Dropout(0.4),
    nn.Linear(24, 5)), { clip_norm = 0.7, adam = true, ignore = -100 }, function()
    local x, y = batch()
    return x, sgl.where(y:eq(3), -100, y)
  end
end

function MODELS.cnn()
  local images = nn.module("Images", function() end)
  function images.forward(_, x) return x:reshape(-1, 1, 6, 6) end
  return nn.Sequential(images(), nn.Conv2d(1, 4, 3, { padding = 1 }), nn.BatchNorm2d(4), nn.ReLU(),
    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 4)), {}, table_batch(36, 4)
end

-- Tied embedding, causal attention, positions.
function MODELS.gpt()
  local width, length, vocabulary = 16, 6, 11
  local Block = nn.module("Block", function(self)
    self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
    self.attention = nn.MultiheadAttention(width, 2, { causal = true })
    self.up, self.down = nn.Linear(width, 32), nn.Linear(32, width)
    self.drop = nn.Dropout(0.1)
  end)
  function Block:forward(x)
    x = x + self.attention(self.norm1(x))
    return x + self.drop(self.down(nn.gelu(self.up(self.norm2(x)))))
  end
  local GPT = nn.module("GPT", function(self)
    self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
    self.block, self.norm = Block(), nn.LayerNorm(width)
  end)
  function GPT:forward(ids)
    local x = self.block(self.token(ids) + self.position.weight)
    return self.norm(x):matmul(self.token.weight:transpose(1, 2)):flatten(1, 2)
  end
  local model = sgl.dist.tensor_parallel(GPT(), {
    ["*.attention.q"] = "column", ["*.attention.k"] = "column", ["*.attention.v"] = "column",
    ["*.attention.out"] = "row", ["block.up"] = "column", ["block.down"] = "row",
  })
  return model, { clip_norm = 1, adam = true }, function()
    local ids = (sgl.rand(rows, length + 1) * vocabulary):to "i32"
    return ids[{ {}, { 1, length } }], ids[{ {}, { 2, length + 1 } }]:flatten()
  end
end

-- A recurrent net: a scan, a condition, a count, a print.
function MODELS.rnn()
  local cell, head = nn.Linear(9, 5), nn.Linear(5, 3)
  local model = nn.Sequential(cell, head)
  local batch = table_batch(12, 3)
  function model.forward(_, x)
    local h = sgl.scan(function(h, t) return cell(sgl.cat({ t, h }, 2)):tanh() end,
      sgl.zeros(rows, 5), x:reshape(rows, 3, 4):transpose(1, 2))
    return head(h)
  end
  return model, {}, batch
end

local function build(kind, count)
  rows = count
  sgl.seed(11)
  local model, options, batch = MODELS[kind]()
  local opt = options.adam
    and optim.AdamW(model:parameters(),
      { lr = optim.schedule.cosine(1e-2, 20), weight_decay = 0.1 })
    or optim.SGD(model:parameters(), { lr = 0.1, momentum = 0.9 })
  return sgl.compile(function(x, y)
    local loss = nn.cross_entropy(model(x), y, { ignore_index = options.ignore })
    opt:minimize(loss, { clip_norm = options.clip_norm })
    return loss
  end), batch
end

if ... == "spec.shard.models" then return build end

local step, batch = build(arg[1], tonumber(arg[2]))

local function hex(text)
  return (text:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end
for _ = 1, tonumber(arg[3] or 4) do print(("%a"):format(step(batch()):item())) end
local dict = step:state_dict()
for _, name in ipairs(dict) do print(name, hex(dict[name]:bytes())) end
