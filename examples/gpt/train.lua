#!/usr/bin/env sgl
-- Trains a character GPT on a text and writes some of its own.
--
--   sgl train.lua [FILE] [STEPS]      FILE may be gzipped; default: the King James text beside it

local sgl = require "sgl"
local nn, optim, data = sgl.nn, sgl.optim, sgl.data

local here = arg[0]:match("^(.*/)") or "./"
local file = arg[1] or here .. "kjv-genesis-exodus.txt.gz"
local steps = math.tointeger(tonumber(arg[2] or 300)) or error("STEPS must be an integer")
local layers, heads, width, length, batch = 4, 4, 128, 64, 12

sgl.seed(42)
local text = data.text(file)
local train, test = text:split(0.9)

local Block = nn.module("Block", function(self)
  self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
  self.attention = nn.MultiheadAttention(width, heads, { causal = true })
  self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
end)
function Block:forward(x)
  x = x + self.attention(self.norm1(x))
  return x + self.down(nn.gelu(self.up(self.norm2(x))))
end

local GPT = nn.module("GPT", function(self, vocabulary)
  self.token = nn.Embedding(vocabulary, width)
  self.position = nn.Embedding(length, width)
  self.blocks = nn.ModuleList()
  for _ = 1, layers do self.blocks:append(Block()) end
  self.norm = nn.LayerNorm(width)
  self.head = nn.Linear(width, vocabulary, { bias = false })
end)
function GPT:forward(ids)
  local x = self.token(ids) + self.position.weight[{ { 1, ids.shape[2] } }]
  for _, block in ipairs(self.blocks) do x = block(x) end
  return self.head(self.norm(x))
end

local model = GPT(#text.vocabulary)
for _, p in ipairs(model:parameters()) do                -- GPT-2's initialisation of the matrices
  if p.ndim == 2 then nn.init.normal(p, 0, 0.02) end
end
local rate = optim.schedule.cosine(1e-3, math.max(steps, 101), { warmup = 100, last = 1e-4 })
local opt = optim.AdamW(model:parameters(), { lr = rate, weight_decay = 0.01 })
print(("%d layers, %d parameters, %d different characters in %s"):format(layers, model:count(),
  #text.vocabulary, file:match("[^/]+$")))

local function loss_of(x, y)
  local logits = model(x)
  return nn.cross_entropy(logits:flatten(1, 2), y:flatten())
end
local step = sgl.compile(function(x, y)
  local loss = loss_of(x, y)
  opt:minimize(loss, { clip_norm = 1 })
  return loss
end)
local evaluate = sgl.compile(loss_of)

local i = 0
for x, y in train:batches(batch, { length = length, steps = steps, progress = "training" }) do
  local loss = step(x, y)
  i = i + 1
  if i % 50 == 0 or i == 1 then print(("step %4d   loss %.4f"):format(i, loss:item())) end
end

model:eval()
local total, count = 0, 0
for x, y in test:batches(batch, { length = length, steps = 20 }) do
  total, count = total + evaluate(x, y):item(), count + 1
end
print(("held-out loss %.4f"):format(total / count))

-- Sampling: the window is always full, so one program serves every character.
local predict = sgl.compile(function(ids) return model(ids)[{ 1, -1 }]:softmax(-1) end)
local window = text:encode(("\n"):rep(length))
local written = {}
math.randomseed(42)
for k = 1, 200 do
  local p = predict(sgl.tensor({ window })):tolist()
  local pick, threshold = #p, math.random()
  for id = 1, #p do
    threshold = threshold - p[id]
    if threshold < 0 then pick = id break end
  end
  table.remove(window, 1)
  window[#window + 1] = pick - 1                          -- ids count from 0
  written[k] = pick - 1
end
print("---\n" .. text:decode(written))
