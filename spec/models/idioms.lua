-- idioms.lua: what people write around a model, as they write it (see models_spec.lua).
--
-- Each function gets `compile` and returns what turn i of its training loop does with a batch of n,
-- and the modules, optimizers and tensors whose state is compared.

local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim

local M = {}

local function mlp(inputs, hidden, outputs)
  return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
end

-- ---- an optimizer of one's own, with its state in a table by parameter

local Momentum = {}
Momentum.__index = Momentum

function Momentum.new(params, lr, beta)
  local self = setmetatable({ params = params, lr = lr, beta = beta, state = {} }, Momentum)
  for _, p in ipairs(params) do self.state[p] = { v = sgl.zeros_like(p) } end
  return self
end
function Momentum:step(loss)
  local grads = sgl.grad(loss, self.params)
  for i, p in ipairs(self.params) do
    local s = self.state[p]
    s.v:assign(self.beta * s.v + grads[i])
    p:assign(p - self.lr * s.v)
  end
end

function M.own_optimizer(compile)
  local model = mlp(3, 5, 1)
  local opt = Momentum.new(model:parameters(), 0.05, 0.9)
  local step = compile(function(x, y)
    local loss = nn.mse_loss(model(x), y)
    opt:step(loss)
    return loss
  end)
  local velocities = {}
  for i, p in ipairs(opt.params) do velocities[i] = opt.state[p].v end
  return function(_, n)
    local x = sgl.randn(n, 3)
    return step(x, x:sum(2, { keepdim = true }))
  end, { model, velocities }
end

-- ---- weight decay by hand, a rate that is set before each step, the norm of the gradients

function M.by_hand(compile)
  local model = mlp(4, 6, 3)
  local opt = optim.SGD(model:parameters(), { lr = 0.1, momentum = 0.9 })
  local step = compile(function(x, y)
    local loss = nn.cross_entropy(model(x), y)
    local penalty = 0
    for name, p in model:named_parameters() do
      if name:match "weight$" then penalty = penalty + p:square():sum() end
    end
    local grads = sgl.grad(loss + 1e-2 * penalty, opt.params)
    local norm = sgl.stack((function()
      local norms = {}
      for i, g in ipairs(grads) do norms[i] = g:norm() end
      return norms
    end)()):norm()
    local scale = (1 / (norm + 1e-6)):clamp(nil, 1)
    for i, g in ipairs(grads) do grads[i] = g * scale end
    opt:step(grads)
    return loss, norm
  end)
  return function(i, n)
    opt:set_lr(0.1 * 0.5 ^ i)
    return step(sgl.randn(n, 4), sgl.randint(0, 3, { n }))
  end, { model, opt }
end

-- ---- mixup: two samples mixed by a drawn share, both labels in the loss

function M.mixup(compile)
  local model = mlp(4, 6, 3)
  local opt = optim.Adam(model:parameters(), { lr = 1e-2 })
  local step = compile(function(x, y, lambda)
    local index = sgl.randperm(x.shape[1])
    local mixed = lambda * x + (1 - lambda) * x[index]
    local logits = model(mixed)
    local loss = lambda * nn.cross_entropy(logits, y)
      + (1 - lambda) * nn.cross_entropy(logits, y[index])
    opt:minimize(loss)
    return loss
  end)
  return function(i, n) return step(sgl.randn(n, 4), sgl.randint(0, 3, { n }), 1 / (i + 1)) end,
    { model, opt }
end

-- ---- spectral norm: the largest singular value by a step of power iteration in each forward

local Spectral = nn.module("Spectral", function(self, inputs, outputs)
  self.linear = nn.Linear(inputs, outputs)
  self.u = sgl.randn(outputs)
end)
function Spectral:forward(x)
  local w = self.linear.weight
  local function unit(v) return v / (v:norm() + 1e-12) end
  local v = unit(w:t():mv(self.u))
  local u = unit(w:mv(v))
  if self.training then self.u:assign(u) end
  local sigma = u:detach():dot(w:mv(v:detach()))
  return nn.linear(x, w / sigma, self.linear.bias)
end

function M.spectral_norm(compile)
  local model = nn.Sequential(Spectral(3, 5), nn.Tanh(), Spectral(5, 1))
  local opt = optim.Adam(model:parameters(), { lr = 1e-2 })
  local step = compile(function(x, y)
    local loss = (1 - y * model(x):squeeze(-1)):relu():mean()
    opt:minimize(loss)
    return loss
  end)
  return function(_, n) return step(sgl.randn(n, 3), sgl.randint(0, 2, { n }):float() * 2 - 1) end,
    { model, opt }
end

-- ---- memories of the windows before, one for each layer (Transformer-XL)

local Remembering = nn.module("Remembering", function(self, width)
  self.norm, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, 2)
end)
function Remembering:forward(x, memory)
  local seen = memory and sgl.cat({ memory, x }, 2) or x
  local h = self.norm(seen)
  return x + self.attention(self.norm(x), h, h), x:detach()
end

function M.memories(compile)
  local embed, head = nn.Embedding(9, 4), nn.Linear(4, 9)
  local layers = nn.ModuleList(Remembering(4), Remembering(4))
  local params = {}
  for _, m in ipairs { embed, layers, head } do
    for _, p in ipairs(m:parameters()) do table.insert(params, p) end
  end
  local opt = optim.Adam(params, { lr = 1e-2 })
  local step = compile(function(ids, targets, memories)
    memories = memories or {}
    local x, kept = embed(ids), {}
    for i, layer in ipairs(layers) do x, kept[i] = layer(x, memories[i]) end
    local loss = nn.cross_entropy(head(x):flatten(1, 2), targets:flatten())
    opt:minimize(loss)
    return loss, kept
  end)
  local memories
  return function()
    local loss
    loss, memories = step(sgl.randint(0, 9, { 2, 3 }), sgl.randint(0, 9, { 2, 3 }), memories)
    return loss, memories
  end, { embed, layers, head, opt }
end

-- ---- a text that grows: greedy, then the best k by a draw, with keys and values kept

local Cached = nn.module("Cached", function(self, vocab, width)
  self.embed, self.head = nn.Embedding(vocab, width), nn.Linear(width, vocab)
  self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
end)
function Cached:forward(id, cache)
  local x = self.embed(id):unsqueeze(2)
  local k, v = self.k(x), self.v(x)
  if cache then
    k = sgl.cat({ cache.k, k }, 2)
    v = sgl.cat({ cache.v, v }, 2)
  end
  local y = nn.scaled_dot_product_attention(self.q(x), k, v)
  return self.head(x + y):squeeze(2), { k = k, v = v }
end

function M.generation(compile)
  local model = Cached(7, 4)
  local function generate(id, steps, k)
    local cache
    local ids = { id }
    for _ = 1, steps do
      local logits
      logits, cache = model(ids[#ids], cache)
      if k then
        local best = logits:topk(k, -1)
        logits[logits:lt(best[{ {}, { k, k } }])] = -math.huge
        logits = logits - (-sgl.rand_like(logits):clamp(1e-9):log()):log()
      end
      ids[#ids + 1] = logits:argmax(-1)
    end
    return sgl.stack(ids, 2)
  end
  local greedy = compile(function(id) return generate(id, 3) end)
  local drawn = compile(function(id) return generate(id, 3, 2) end)
  local opt = optim.Adam(model:parameters(), { lr = 1e-2 })
  local train = compile(function(id, target)
    local loss = nn.cross_entropy((model(id)), target)
    opt:minimize(loss)
    return loss
  end)
  return function(_, n)
    local id = sgl.randint(0, 7, { n })
    return train(id, sgl.randint(0, 7, { n })), greedy(id), drawn(id)
  end, { model, opt }
end

-- ---- what was learnt before is kept near (EWC), and is forgotten in another domain (a gradient
-- ---- that is turned round)

function M.continual(compile)
  local body, task, domain = mlp(4, 6, 5), nn.Linear(5, 3), nn.Linear(5, 2)
  local params = {}
  for _, m in ipairs { body, task, domain } do
    for _, p in ipairs(m:parameters()) do params[#params + 1] = p end
  end
  local anchors, fisher = {}, {}
  for i, p in ipairs(params) do anchors[i], fisher[i] = p:clone():detach(), sgl.zeros_like(p) end
  local function turned(x, alpha) return (1 + alpha) * x:detach() - alpha * x end
  local opt = optim.Adam(params, { lr = 1e-2 })
  local learn = compile(function(x, y, d)
    local h = body(x):relu()
    local loss = nn.cross_entropy(task(h), y) + nn.cross_entropy(domain(turned(h, 0.5)), d)
    for i, p in ipairs(params) do
      loss = loss + (fisher[i] * (p - anchors[i]) ^ 2):sum() / 2
    end
    opt:minimize(loss)
    return loss
  end)
  local keep = compile(function(x, y)
    local grads = sgl.grad(nn.cross_entropy(task(body(x):relu()), y), params)
    for i, g in ipairs(grads) do
      fisher[i]:assign(0.9 * fisher[i] + 0.1 * g ^ 2)
      anchors[i]:assign(params[i])
    end
  end)
  return function(i, n)
    local x, y = sgl.randn(n, 4), sgl.randint(0, 3, { n })
    local loss = learn(x, y, sgl.randint(0, 2, { n }))
    if i % 2 == 0 then keep(x, y) end
    return loss
  end, { body, task, domain, opt, anchors, fisher }
end

-- ---- several losses with weights that are learnt, and how sure the model is, by dropout

function M.uncertainty(compile)
  local model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))
  local log_vars = { nn.parameter(sgl.zeros(1)), nn.parameter(sgl.zeros(1)) }
  local params = model:parameters()
  for _, v in ipairs(log_vars) do params[#params + 1] = v end
  local opt = optim.Adam(params, { lr = 1e-2 })
  local step = compile(function(x, targets)
    local out = model(x)
    local total = 0
    for i, name in ipairs { "height", "width" } do
      local loss = nn.l1_loss(out[{ {}, i }], targets[name])
      total = total + (-log_vars[i]):exp() * loss + log_vars[i]
    end
    opt:minimize(total:sum())
    return total
  end)
  local sure = compile(function(x)
    local outs = {}
    for i = 1, 3 do outs[i] = model(x) end
    outs = sgl.stack(outs)
    return outs:mean(1), outs:std(1)
  end)
  return function(_, n)
    local x = sgl.randn(n, 3)
    return step(x, { height = x:sum(2), width = x:mean(2) }), sure(x)
  end, { model, opt, log_vars }
end

-- ---- capsules: routing by agreement, three times

function M.capsules(compile)
  local weight = nn.parameter(sgl.randn(4, 3, 2, 5) * 0.1)          -- inputs, outputs, in, out
  local opt = optim.Adam({ weight }, { lr = 1e-2 })
  local function squash(s)
    local square = s:square():sum(-1, { keepdim = true })
    return square / (1 + square) * s / (square + 1e-8):sqrt()
  end
  local step = compile(function(x, y)
    local votes = sgl.einsum("nid,iode->nioe", x, weight)
    local b = sgl.zeros(x.shape[1], 4, 3)
    local v
    for r = 1, 3 do
      local c = b:softmax(3):unsqueeze(-1)
      v = squash((c * (r < 3 and votes:detach() or votes)):sum(2))
      if r < 3 then b = b + (votes:detach() * v:unsqueeze(2)):sum(-1) end
    end
    local length = (v:square():sum(-1) + 1e-8):sqrt()
    local t = nn.one_hot(y, 3)
    local loss = (t * (0.9 - length):clamp(0) ^ 2 + 0.5 * (1 - t) * (length - 0.1):clamp(0) ^ 2)
      :sum(-1):mean()
    opt:minimize(loss)
    return loss, length:argmax(-1):eq(y):float():mean()
  end)
  return function(_, n) return step(sgl.randn(n, 4, 2), sgl.randint(0, 3, { n })) end,
    { opt, { weight = weight } }
end

return M
