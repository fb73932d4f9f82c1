-- train_spec.lua: a convolutional network and a GPT on the simulated CUDA device: losses and
-- parameters of 20 steps to the last bit, one replay for each; and the ops of the table.

local engine = require "spec.engine"
local device = require "spec.cuda.device"

local function test(name, body) device.it(it, pending, name, body) end

local CONVNET = [[
local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim
sgl.seed(7)
local train = sgl.data.csv("examples/digits/digits.csv.gz", { label = 65, scale = 1 / 16 })
local images = nn.module("Images", function() end)
function images.forward(_, x) return x:reshape(-1, 1, 8, 8) end
local model = nn.Sequential(images(),
  nn.Conv2d(1, 4, 3, { padding = 1 }), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
  nn.Conv2d(4, 8, 3, { padding = 1 }), nn.ReLU(), nn.MaxPool2d(2),
  nn.Flatten(), nn.Linear(32, 10))
local opt = optim.AdamW(model:parameters(), { lr = 1e-2 })
local step = sgl.compile(function(x, y)
  local loss = nn.cross_entropy(model(x), y)
  opt:minimize(loss)
  return loss
end)
local n = 0
for x, y in train:batches(16) do
  print(("%a"):format(step(x, y):item()))
  n = n + 1
  if n == 20 then break end
end
for _, p in ipairs(model:parameters()) do print(("%a"):format((p * p):sum():item())) end
]]

-- Two layers with dropout, clipped gradients, AdamW with a schedule.
local GPT = [[
local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim
local layers, heads, width, length, batch, words = 2, 2, 16, 12, 2, 31
sgl.seed(42)
local Block = nn.module("Block", function(self)
  self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
  self.attention = nn.MultiheadAttention(width, heads, { causal = true })
  self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
  self.drop = nn.Dropout(0.1)
end)
function Block:forward(x)
  x = x + self.drop(self.attention(self.norm1(x)))
  return x + self.drop(self.down(nn.gelu(self.up(self.norm2(x)))))
end
local GPT = nn.module("GPT", function(self)
  self.token, self.position = nn.Embedding(words, width), nn.Embedding(length, width)
  self.blocks = nn.ModuleList()
  for _ = 1, layers do self.blocks:append(Block()) end
  self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, { bias = false })
end)
function GPT:forward(ids)
  local x = self.token(ids) + self.position.weight[{ { 1, ids.shape[2] } }]
  for _, block in ipairs(self.blocks) do x = block(x) end
  return self.head(self.norm(x))
end
local model = GPT()
local opt = optim.AdamW(model:parameters(), { lr = optim.schedule.cosine(1e-2, 20) })
local step = sgl.compile(function(x, y)
  local loss = nn.cross_entropy(model(x):flatten(1, 2), y:flatten())
  opt:minimize(loss, { clip_norm = 1 })
  return loss
end)
for i = 1, 20 do
  local ids = (sgl.arange(batch * (length + 1)) * (i * 7 + 3)):mod(words)
  ids = ids:reshape(batch, length + 1)
  local x, y = ids[{ {}, { 1, length } }], ids[{ {}, { 2, length + 1 } }]
  print(("%a"):format(step(x, y):item()))
end
for _, p in ipairs(model:parameters()) do print(("%a"):format((p * p):sum():item())) end
]]

describe("on the device cuda", function()
  test("a convolutional network has the CPU's bits after 20 steps", function()
    local out, status = device.run(CONVNET, "SIM_CHECK=0")
    assert.are.equal(0, status, out)
    assert.are.equal(device.on_cpu(CONVNET), out)
  end)

  test("so has a GPT with dropout, of which each step is one replay", function()
    local log = os.tmpname()
    local out, status = device.run(GPT, "SIM_SEED=3 SIM_LOG=" .. log)
    assert.are.equal(0, status, out)
    assert.are.equal(device.on_cpu(GPT), out)
    local replays = 0
    for line in io.lines(log) do
      if (tonumber(line:match "^replay (%d+)") or 0) > 100 then replays = replays + 1 end
    end
    assert.is_true(replays >= 17, "replays of the step: " .. replays)
  end)

  test("ops of the table, and their gradients, have the CPU's bits", function()
    local share = ("OP_ROUND=1 OP_SHARE=%d "):format(math.ceil(17 / math.min(engine.scale, 17)))
    local bits = "spec/dev/op_bits.lua"
    local out, status = device.run(bits, share)
    assert.are.equal(0, status, out)
    assert.are.equal(device.on_cpu(bits, share), out)
  end)
end)
