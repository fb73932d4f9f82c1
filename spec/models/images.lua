-- images.lua: models of images, as people write them (see models_spec.lua).
--
-- Each function gets `compile` and returns what turn i of its training loop does with a batch of n,
-- and the modules, optimizers and tensors whose state is compared.

local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim

local M = {}

-- ---- ResNet: a shortcut that is there or not

local Basic = nn.module("Basic", function(self, inputs, outputs, stride)
  self.conv1 = nn.Conv2d(inputs, outputs, 3, { stride = stride, padding = 1, bias = false })
  self.bn1 = nn.BatchNorm2d(outputs)
  self.conv2 = nn.Conv2d(outputs, outputs, 3, { padding = 1, bias = false })
  self.bn2 = nn.BatchNorm2d(outputs)
  if stride ~= 1 or inputs ~= outputs then
    self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, { stride = stride, bias = false }),
      nn.BatchNorm2d(outputs))
  end
end)
function Basic:forward(x)
  local identity = x
  local y = nn.relu(self.bn1(self.conv1(x)))
  y = self.bn2(self.conv2(y))
  if self.down then identity = self.down(x) end
  return nn.relu(y + identity)
end

local ResNet = nn.module("ResNet", function(self, classes)
  self.stem = nn.Conv2d(3, 4, 3, { padding = 1, bias = false })
  self.bn = nn.BatchNorm2d(4)
  self.layers = nn.Sequential(Basic(4, 4, 1), Basic(4, 6, 2))
  self.fc = nn.Linear(6, classes)
end)
function ResNet:forward(x)
  x = nn.relu(self.bn(self.stem(x)))
  x = self.layers(x)
  return self.fc(x:mean({ 3, 4 }))
end

function M.resnet(compile)
  local model = ResNet(5)
  local opt = optim.SGD(model:parameters(), { lr = optim.schedule.step(0.1, { every = 2 }),
    momentum = 0.9, nesterov = true, weight_decay = 5e-4 })
  local train = compile(function(x, y)
    model:train()
    local loss = nn.cross_entropy(model(x), y)
    opt:minimize(loss)
    return loss
  end)
  local test = compile(function(x, y)
    model:eval()
    local logits = model(x)
    return nn.cross_entropy(logits, y, { reduction = "sum" }), logits:argmax(2):eq(y):sum()
  end)
  return function(_, n)
    local x, y = sgl.randn(n, 3, 6, 6), sgl.randint(0, 5, { n })
    local loss = train(x, y)
    return loss, test(x, y)
  end, { model, opt }
end

-- ---- ViT: patches, a class token, blocks with the norm in front

local Layer = nn.module("Layer", function(self, width, heads)
  self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
  self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
  self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
  self.heads = heads
end)
function Layer:attention(x)
  local b, t, c = table.unpack(x.shape)
  local q, k, v = self.qkv(x):view(b, t, 3, self.heads, c // self.heads):permute(3, 1, 4, 2, 5)
    :unbind(1)
  local weights = (q:matmul(k:transpose(-2, -1)) * (c // self.heads) ^ -0.5):softmax(-1)
  return self.proj(weights:matmul(v):transpose(2, 3):reshape(b, t, c))
end
function Layer:forward(x)
  x = x + self:attention(self.norm1(x))
  return x + self.down(nn.gelu(self.up(self.norm2(x))))
end

local ViT = nn.module("ViT", function(self, o)
  self.patch = nn.Conv2d(o.channels, o.width, o.patch, { stride = o.patch })
  local side = o.size // o.patch
  self.class = nn.parameter(sgl.zeros(1, 1, o.width))
  self.position = nn.parameter(sgl.randn(1, side * side + 1, o.width) * 0.02)
  self.layers = nn.Sequential(Layer(o.width, 2), Layer(o.width, 2))
  self.norm, self.head = nn.LayerNorm(o.width), nn.Linear(o.width, o.classes)
end)
function ViT:forward(x)
  x = self.patch(x):flatten(3):transpose(2, 3)
  x = sgl.cat({ self.class:expand(x.shape[1], -1, -1), x }, 2) + self.position
  x = self.norm(self.layers(x))
  return self.head(x[{ {}, 1 }])
end

function M.vit(compile)
  local model = ViT { channels = 3, size = 4, patch = 2, width = 8, classes = 3 }
  local opt = optim.AdamW(model:parameters(), { lr = 1e-3, weight_decay = 0.05 })
  local step = compile(function(x, y)
    local logits = model(x)
    local loss = nn.cross_entropy(logits, y, { label_smoothing = 0.1 })
    opt:minimize(loss, { clip_norm = 1 })
    return loss, logits:softmax(-1)
  end)
  return function(_, n) return step(sgl.randn(n, 3, 4, 4), sgl.randint(0, 3, { n })) end,
    { model, opt }
end

-- ---- U-Net: levels down, levels up, joined by skips

local function double(inputs, outputs)
  return nn.Sequential(nn.Conv2d(inputs, outputs, 3, { padding = 1 }), nn.BatchNorm2d(outputs),
    nn.ReLU(), nn.Conv2d(outputs, outputs, 3, { padding = 1 }), nn.GroupNorm(2, outputs), nn.ReLU())
end

local UNet = nn.module("UNet", function(self, inputs, classes)
  self.down, self.up = nn.ModuleList(), nn.ModuleList()
  local widths = { 2, 4 }
  for _, width in ipairs(widths) do
    self.down:append(double(inputs, width))
    inputs = width
  end
  self.middle = double(4, 6)
  inputs = 6
  for i = #widths, 1, -1 do
    self.up:append(double(inputs + widths[i], widths[i]))
    inputs = widths[i]
  end
  self.pool, self.out = nn.MaxPool2d(2), nn.Conv2d(inputs, classes, 1)
end)
local function upsample(x) return x:repeat_interleave(2, 3):repeat_interleave(2, 4) end
function UNet:forward(x)
  local skips = {}
  for _, block in ipairs(self.down) do
    x = block(x)
    table.insert(skips, x)
    x = self.pool(x)
  end
  x = self.middle(x)
  for _, block in ipairs(self.up) do
    x = block(sgl.cat({ upsample(x), table.remove(skips) }, 2))
  end
  return self.out(x)
end

local function dice(logits, mask)
  local p = logits:sigmoid()
  local dims = { 2, 3, 4 }
  local score = ((p * mask):sum(dims) * 2 + 1) / (p:sum(dims) + mask:sum(dims) + 1)
  return 1 - score:mean()
end

function M.unet(compile)
  local model = UNet(1, 1)
  local opt = optim.Adam(model:parameters(), { lr = 1e-3 })
  local step = compile(function(x, mask)
    local logits = model(x)
    local loss = nn.bce_with_logits(logits, mask) + dice(logits, mask)
    opt:minimize(loss)
    return loss
  end)
  return function(_, n)
    local x = sgl.rand(n, 1, 4, 4)
    return step(x, x:gt(0.5):float())
  end, { model, opt }
end

-- ---- Siamese networks: pairs that are alike come close, others stay apart

function M.siamese(compile)
  local net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    nn.Linear(3 * 2 * 2, 4))
  local opt = optim.Adam(net:parameters())
  local function contrastive(a, b, same, margin)
    local distance = ((a - b):square():sum(-1) + 1e-12):sqrt()
    local apart = (margin - distance):clamp(0)
    return (same * distance:square() + (1 - same) * apart:square()):mean()
  end
  local step = compile(function(a, b, same)
    local loss = contrastive(net(a), net(b), same, 1.0)
    opt:minimize(loss)
    return loss
  end)
  return function(_, n)
    return step(sgl.randn(n, 1, 6, 6), sgl.randn(n, 1, 6, 6), sgl.randint(0, 2, { n }):float())
  end, { net, opt }
end

-- ---- SimCLR: two views, normalised features, the temperature as a parameter

function M.simclr(compile)
  local net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
  local temperature = nn.parameter(sgl.tensor(math.log(0.5)))
  local params = net:parameters()
  table.insert(params, temperature)
  local opt = optim.Lion(params, { lr = 1e-3, weight_decay = 0.01 })
  local function augment(x) return x + sgl.randn_like(x) * 0.1 end
  local function normalize(x) return x / x:norm(2, -1, { keepdim = true }):clamp(1e-8) end
  local step = compile(function(x)
    local n = x.shape[1]
    local z = normalize(net(sgl.cat({ augment(x), augment(x) })))
    local similar = z:matmul(z:t()) / temperature:exp()
    similar = similar:masked_fill(sgl.eye(2 * n):bool(), -math.huge)
    local targets = (sgl.arange(2 * n) + n) % (2 * n)
    local loss = nn.cross_entropy(similar, targets)
    opt:minimize(loss)
    return loss
  end)
  return function(_, n) return step(sgl.randn(n, 6)) end,
    { net, opt, { temperature = temperature } }
end

-- ---- a classifier with a head on the way that counts in training alone

local Deep = nn.module("Deep", function(self)
  self.first, self.second = nn.Linear(5, 6), nn.Linear(6, 6)
  self.aux, self.head = nn.Linear(6, 3), nn.Linear(6, 3)
end)
function Deep:forward(x)
  x = self.first(x):relu()
  local aux
  if self.training then aux = self.aux(x) end
  return self.head(self.second(x):relu()), aux
end

function M.deep_supervision(compile)
  local model = Deep()
  local opt = optim.SGD(model:parameters(), { lr = 0.1, momentum = 0.9 })
  local step = compile(function(x, y)
    local out, aux = model(x)
    local loss = nn.cross_entropy(out, y)
    if aux then loss = loss + 0.4 * nn.cross_entropy(aux, y) end
    if model.training then opt:minimize(loss) end
    return loss
  end)
  return function(i, n)
    model:train(i % 2 == 1)
    return step(sgl.randn(n, 5), sgl.randint(0, 3, { n }))
  end, { model, opt }
end

-- ---- detection: scores, boxes and classes of one grid, each with its loss

function M.detection(compile)
  local net = nn.Sequential(nn.Conv2d(3, 4, 3, { padding = 1 }), nn.SiLU(),
    nn.Conv2d(4, 1 + 4 + 2, 1))
  local opt = optim.AdamW(net:parameters(), { lr = 1e-2 })
  local step = compile(function(x, there, boxes, classes)
    local score, box, logits = net(x):split({ 1, 4, 2 }, 2)
    local losses = {
      score = nn.bce_with_logits(score:squeeze(2), there, { pos_weight = 3 }),
      box = (nn.huber_loss(box, boxes, { reduction = "none" }):sum(2) * there):sum()
        / there:sum():clamp(1),
      class = (nn.cross_entropy(logits, classes, { reduction = "none" }) * there):sum()
        / there:sum():clamp(1),
    }
    local total
    for _, name in ipairs { "score", "box", "class" } do
      total = total and total + losses[name] or losses[name]
    end
    opt:minimize(total)
    losses.total = total
    return losses
  end)
  return function(_, n)
    return step(sgl.randn(n, 3, 4, 4), sgl.rand(n, 4, 4):gt(0.7):float(), sgl.rand(n, 4, 4, 4),
      sgl.randint(0, 2, { n, 4, 4 }))
  end, { net, opt }
end

return M
