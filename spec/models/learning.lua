-- learning.lua: ways of learning: reinforcement, meta, contrastive and continued learning, as
-- people write them (see models_spec.lua).
--
-- Each function gets `compile` and returns what turn i of its training loop does with a batch of n,
-- and the modules, optimizers and tensors whose state is compared.

local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim

local M = {}

local function mlp(inputs, hidden, outputs)
  return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
end

-- A walk on a line of five places; the right end pays. Returns place, reward and whether it ended.
local function walk(place, action)
  place = math.max(0, math.min(4, place + (action == 1 and 1 or -1)))
  return place, place == 4 and 1.0 or -0.1, place == 4
end

-- ---- DQN: a memory of what happened, a target network, actions drawn with epsilon

function M.dqn(compile)
  local online, target = mlp(5, 8, 2), mlp(5, 8, 2)
  target:load_state_dict(online:state_dict())
  local opt = optim.Adam(online:parameters(), { lr = 1e-2 })
  local gamma = 0.9
  local act = compile(function(state) return online(state):argmax(-1) end)
  local learn = compile(function(s, a, r, s2, done)
    local q = online(s):gather(2, a:unsqueeze(2)):squeeze(2)
    local best = target(s2):max(2)
    local wanted = (r + gamma * best * (1 - done)):detach()
    local loss = nn.huber_loss(q, wanted)
    opt:minimize(loss, { clip_value = 1 })
    return loss
  end)
  local function hot(place) return nn.one_hot(sgl.tensor { place }, 5) end
  local memory, place, turn = {}, 0, 0
  return function(i)
    local seen = {}
    for _ = 1, 4 do
      turn = turn + 1
      local action = act(hot(place)):item()
      if turn % 3 == 0 then action = 1 - action end
      local new, reward, done = walk(place, action)
      memory[#memory + 1] = { place, action, reward, new, done and 1 or 0 }
      place = done and 0 or new
      seen[#seen + 1] = action
    end
    local batch = { {}, {}, {}, {}, {} }
    for k = 1, 4 do
      for column, value in ipairs(memory[(k * 7 + i) % #memory + 1]) do batch[column][k] = value end
    end
    local loss = learn(nn.one_hot(sgl.tensor(batch[1]), 5), sgl.tensor(batch[2]),
      sgl.tensor(batch[3], "f32"), nn.one_hot(sgl.tensor(batch[4]), 5), sgl.tensor(batch[5], "f32"))
    if i % 2 == 0 then target:load_state_dict(online:state_dict()) end
    return loss, seen
  end, { online, target, opt }
end

-- ---- REINFORCE: episodes by sampling, returns with discount, a baseline

function M.reinforce(compile)
  local policy = mlp(5, 8, 2)
  local opt = optim.Adam(policy:parameters(), { lr = 1e-2 })
  local baseline = sgl.tensor(0.0)
  local act = compile(function(state)
    local p = policy(state):softmax(-1)
    return sgl.rand(1):lt(p[{ {}, 2 }]):int()
  end)
  local learn = compile(function(states, actions, rewards)
    local returns, R = {}, 0
    for t = #rewards, 1, -1 do
      R = rewards[t] + 0.9 * R
      table.insert(returns, 1, R)
    end
    returns = sgl.stack(returns)
    local advantage = returns - baseline
    baseline:assign(0.9 * baseline + 0.1 * returns:mean())
    local logp = policy(states):log_softmax(-1):gather(2, actions:view(-1, 1)):squeeze(2)
    local loss = -(logp * advantage:detach()):mean()
    opt:minimize(loss)
    return loss
  end)
  return function()
    local place, states, actions, rewards = 0, {}, {}, {}
    for t = 1, 4 do
      local state = nn.one_hot(sgl.tensor { place }, 5)
      local action = act(state)
      states[t], actions[t] = state[1], action[1]
      place, rewards[t] = walk(place, action:item())
    end
    return learn(sgl.stack(states), sgl.stack(actions), sgl.tensor(rewards, "f32"))
  end, { policy, opt, { baseline = baseline } }
end

-- ---- PPO: advantages along the time, a clipped ratio, an entropy bonus, several epochs

local ActorCritic = nn.module("ActorCritic", function(self, inputs, actions)
  self.body = nn.Sequential(nn.Linear(inputs, 8), nn.Tanh())
  self.actor, self.critic = nn.Linear(8, actions), nn.Linear(8, 1)
  nn.init.orthogonal(self.actor.weight, { gain = 0.01 })
end)
function ActorCritic:forward(x)
  local h = self.body(x)
  return self.actor(h):log_softmax(-1), self.critic(h):squeeze(-1)
end

function M.ppo(compile)
  local model = ActorCritic(3, 2)
  local opt = optim.Adam(model:parameters(), { lr = 3e-3, eps = 1e-5 })
  local function advantages(rewards, values, gamma, lambda)
    local list, last = {}, 0
    for t = rewards.shape[1], 1, -1 do
      local after = t < rewards.shape[1] and values[t + 1] or 0
      local delta = rewards[t] + gamma * after - values[t]
      last = delta + gamma * lambda * last
      list[t] = last
    end
    return sgl.stack(list)
  end
  local collect = compile(function(states, actions, rewards)
    local logp, values = model(states)
    local gain = advantages(rewards, values, 0.99, 0.95)
    return logp:gather(2, actions:unsqueeze(2)):squeeze(2):detach(), gain:detach(),
      (gain + values):detach()
  end)
  local update = compile(function(states, actions, old, gain, returns)
    gain = (gain - gain:mean()) / (gain:std() + 1e-8)
    local logp, values = model(states)
    local chosen = logp:gather(2, actions:unsqueeze(2)):squeeze(2)
    local ratio = (chosen - old):exp()
    local policy = -sgl.minimum(ratio * gain, ratio:clamp(0.8, 1.2) * gain):mean()
    local entropy = -(logp:exp() * logp):sum(-1):mean()
    local loss = policy + 0.5 * nn.mse_loss(values, returns) - 0.01 * entropy
    opt:minimize(loss, { clip_norm = 0.5 })
    return loss
  end)
  return function(_, n)
    local states, actions = sgl.randn(n, 3), sgl.randint(0, 2, { n })
    local old, gain, returns = collect(states, actions, sgl.rand(n))
    local losses = {}
    for epoch = 1, 2 do losses[epoch] = update(states, actions, old, gain, returns) end
    return losses
  end, { model, opt }
end

-- ---- MAML: the gradient of a loss after a step of gradient descent

function M.maml(compile)
  local params = {}
  for i, shape in ipairs { { 6, 1 }, { 6 }, { 1, 6 }, { 1 } } do
    params[i] = nn.parameter(sgl.randn(shape) * 0.5)
  end
  local opt = optim.Adam(params, { lr = 1e-2 })
  local function net(x, p)
    local h = nn.linear(x, p[1], p[2]):tanh()
    return nn.linear(h, p[3], p[4])
  end
  local step = compile(function(xs, ys, xq, yq)
    local total = 0
    for task = 1, xs.shape[1] do
      local fast = params
      for _ = 1, 2 do
        local grads = sgl.grad(nn.mse_loss(net(xs[task], fast), ys[task]), fast)
        local moved = {}
        for i, p in ipairs(fast) do moved[i] = p - 0.1 * grads[i] end
        fast = moved
      end
      total = total + nn.mse_loss(net(xq[task], fast), yq[task])
    end
    local loss = total / xs.shape[1]
    opt:minimize(loss)
    return loss
  end)
  return function(_, n)
    local phase, xs, xq = sgl.rand(2, 1, 1) * 3, sgl.randn(2, n, 1), sgl.randn(2, n, 1)
    return step(xs, (xs + phase):sin(), xq, (xq + phase):sin())
  end, { opt, params }
end

-- ---- MoCo: a queue of keys, an encoder that follows by momentum

local MoCo = nn.module("MoCo", function(self, inputs, width, size)
  self.query, self.key = mlp(inputs, 8, width), mlp(inputs, 8, width)
  self.key:load_state_dict(self.query:state_dict())
  self.queue = sgl.randn(width, size)
  self.queue = self.queue / self.queue:norm(2, 1, { keepdim = true })
  self.size, self.pointer, self.momentum = size, 0, 0.99
end)
function MoCo:follow()
  local query = self.query:parameters()
  for i, p in ipairs(self.key:parameters()) do
    p:assign(p * self.momentum + query[i] * (1 - self.momentum))
  end
end
function MoCo:enqueue(keys)
  local n = keys.shape[1]
  self.queue[{ {}, { self.pointer + 1, self.pointer + n } }] = keys:t()
  self.pointer = (self.pointer + n) % self.size
end
function MoCo:forward(x, y)
  local q = self.query(x)
  q = q / q:norm(2, 2, { keepdim = true })
  self:follow()
  local k = self.key(y)
  k = (k / k:norm(2, 2, { keepdim = true })):detach()
  local positive = sgl.einsum("nc,nc->n", q, k):unsqueeze(-1)
  local negative = sgl.einsum("nc,ck->nk", q, self.queue:clone():detach())
  self:enqueue(k)
  return sgl.cat({ positive, negative }, 2) / 0.07
end

function M.moco(compile)
  local model = MoCo(4, 3, 6)
  local opt = optim.SGD(model.query:parameters(),
    { lr = 0.03, momentum = 0.9, weight_decay = 1e-4 })
  local step = compile(function(x, y)
    local logits = model(x, y)
    local loss = nn.cross_entropy(logits, sgl.zeros(x.shape[1], { dtype = "i32" }))
    opt:minimize(loss)
    return loss
  end)
  return function()
    local x = sgl.randn(2, 4)
    return step(x, x + sgl.randn(2, 4) * 0.1), model.pointer
  end, { model, opt }
end

-- ---- a mixture of experts: the best two of four, a loss that spreads the load

local Experts = nn.module("Experts", function(self, width, count, top)
  self.gate = nn.Linear(width, count, { bias = false })
  self.experts = nn.ModuleList()
  for _ = 1, count do self.experts:append(mlp(width, 6, width)) end
  self.top = top
end)
function Experts:forward(x)
  local p = self.gate(x):softmax(-1)
  local weights, index = p:topk(self.top, -1)
  weights = weights / weights:sum(-1, { keepdim = true })
  local y = sgl.zeros_like(x)
  for i, expert in ipairs(self.experts) do
    local chosen = index:eq(i - 1)
    local weight = (weights * chosen):sum(-1, { keepdim = true })
    y = y + weight * expert(x)
  end
  local load = nn.one_hot(index[{ {}, 1 }], #self.experts):mean(1)
  return y, #self.experts * (load * p:mean(1)):sum()
end

function M.mixture_of_experts(compile)
  local moe, head = Experts(4, 4, 2), nn.Linear(4, 3)
  local params = moe:parameters()
  for _, p in ipairs(head:parameters()) do table.insert(params, p) end
  local opt = optim.AdamW(params, { lr = 1e-2 })
  local step = compile(function(x, y)
    local h, balance = moe(x)
    local loss = nn.cross_entropy(head(h), y) + 0.01 * balance
    opt:minimize(loss)
    return loss, balance
  end)
  return function(_, n) return step(sgl.randn(n, 4), sgl.randint(0, 3, { n })) end,
    { moe, head, opt }
end

-- ---- LoRA: frozen weights, two thin matrices beside them

local LoRA = nn.module("LoRA", function(self, base, rank)
  self.base = base
  local outputs, inputs = table.unpack(base.weight.shape)
  self.a = nn.parameter(sgl.randn(rank, inputs) * 0.01)
  self.b = nn.parameter(sgl.zeros(outputs, rank))
  self.scale = 2 / rank
end)
function LoRA:forward(x)
  return self.base(x) + x:matmul(self.a:t()):matmul(self.b:t()) * self.scale
end

function M.lora(compile)
  local model = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 3))
  for _, i in ipairs { 1, 3 } do model[i] = LoRA(model[i], 2) end
  local trainable = {}
  for name, p in model:named_parameters() do
    if name:match "%.[ab]$" then trainable[#trainable + 1] = p end
  end
  local opt = optim.AdamW(trainable, { lr = 1e-2 })
  local step = compile(function(x, y)
    local loss = nn.cross_entropy(model(x), y)
    opt:minimize(loss)
    return loss
  end)
  return function(_, n) return step(sgl.randn(n, 4), sgl.randint(0, 3, { n })) end, { model, opt }
end

-- ---- distillation from a teacher that is the average of the student

local function average(teacher, student, decay)
  local from = student:state_dict()
  for name, t in pairs(teacher:state_dict()) do
    if type(name) == "string" and t:is_floating_point() then
      t:assign(t * decay + from[name] * (1 - decay))
    end
  end
end

function M.distillation(compile)
  local function make()
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.2),
      nn.Linear(6, 3))
  end
  local student, teacher = make(), make():eval()
  teacher:load_state_dict(student:state_dict())
  local opt = optim.SGD(student:parameters(), { lr = 0.1 })
  local T = 2
  local step = compile(function(x, y)
    local logits = student(x)
    local soft = (teacher(x) / T):softmax(-1):detach()
    local loss = nn.cross_entropy(logits, y)
      + T * T * nn.kl_div((logits / T):log_softmax(-1), soft, { reduction = "sum" }) / x.shape[1]
    opt:minimize(loss)
    average(teacher, student, 0.9)
    return loss
  end)
  return function(_, n) return step(sgl.randn(n, 4), sgl.randint(0, 3, { n })) end,
    { student, teacher, opt }
end

-- ---- a graph network: messages along edges, added up at nodes

local Convolve = nn.module("Convolve", function(self, inputs, outputs)
  self.linear, self.own = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs)
end)
function Convolve:forward(x, from, to)
  local n = x.shape[1]
  local degree = sgl.zeros(n):index_add(1, to, sgl.ones(to.shape[1])):clamp(1)
  local messages = self.linear(x)[from]
  local sum = sgl.zeros(n, messages.shape[2]):index_add(1, to, messages)
  return self.own(x) + sum / degree:unsqueeze(2)
end

function M.graph_network(compile)
  local one, two = Convolve(3, 6), Convolve(6, 2)
  local params = {}
  for _, m in ipairs { one, two } do
    for _, p in ipairs(m:parameters()) do params[#params + 1] = p end
  end
  local opt = optim.Adam(params, { lr = 1e-2, weight_decay = 5e-4 })
  local from, to = sgl.tensor { 0, 1, 2, 3, 4, 0, 2 }, sgl.tensor { 1, 2, 3, 4, 0, 3, 1 }
  local labelled = sgl.tensor { true, false, true, true, false }
  local step = compile(function(x, y)
    local h = nn.dropout(one(x, from, to):relu(), 0.3)
    local logits = two(h, from, to)
    local losses = nn.cross_entropy(logits, y, { reduction = "none" })
    local loss = losses:masked_fill(~labelled, 0):sum() / labelled:sum()
    opt:minimize(loss)
    return loss
  end)
  return function() return step(sgl.randn(5, 3), sgl.randint(0, 2, { 5 })) end, { one, two, opt }
end

-- ---- accumulation: gradients of several small batches, one step

function M.accumulation(compile)
  local model = mlp(4, 6, 2)
  local opt = optim.AdamW(model:parameters(), { lr = 1e-2 })
  local step = compile(function(batches)
    local sums, total
    for _, batch in ipairs(batches) do
      local loss = nn.cross_entropy(model(batch.x), batch.y) / #batches
      local grads = sgl.grad(loss, opt.params)
      if sums then
        for i, g in ipairs(grads) do sums[i] = sums[i] + g end
      else
        sums = grads
      end
      total = total and total + loss or loss
    end
    local norm = optim.clip_norm(sums, 1)
    opt:step(sums)
    return total, norm
  end)
  return function(_, n)
    local batches = {}
    for i = 1, 3 do batches[i] = { x = sgl.randn(n, 4), y = sgl.randint(0, 2, { n }) } end
    return step(batches)
  end, { model, opt }
end

-- ---- a neural differential equation, by the method of Runge and Kutta

function M.neural_ode(compile)
  local f = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
  local opt = optim.Adam(f:parameters(), { lr = 1e-2 })
  local function integrate(y, t0, t1, steps)
    local h = (t1 - t0) / steps
    local way = { y }
    for _ = 1, steps do
      local k1 = f(y)
      local k2 = f(y + h / 2 * k1)
      local k3 = f(y + h / 2 * k2)
      local k4 = f(y + h * k3)
      y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
      way[#way + 1] = y
    end
    return sgl.stack(way)
  end
  local step = compile(function(start, truth)
    local way = integrate(start, 0, 1, 3)
    local loss = (way - truth):abs():mean()
    opt:minimize(loss)
    return loss
  end)
  return function(_, n) return step(sgl.randn(n, 2), sgl.randn(4, n, 2)) end, { f, opt }
end

-- ---- soft actor-critic: two critics, targets that follow softly, a temperature that is learnt

function M.actor_critic(compile)
  local actor = mlp(3, 8, 2)
  local q1, q2, t1, t2 = mlp(4, 8, 1), mlp(4, 8, 1), mlp(4, 8, 1), mlp(4, 8, 1)
  t1:load_state_dict(q1:state_dict())
  t2:load_state_dict(q2:state_dict())
  local log_alpha = nn.parameter(sgl.zeros(1))
  local critics = q1:parameters()
  for _, p in ipairs(q2:parameters()) do critics[#critics + 1] = p end
  local opt_q = optim.Adam(critics, { lr = 1e-2 })
  local opt_pi = optim.Adam(actor:parameters(), { lr = 1e-2 })
  local opt_alpha = optim.Adam({ log_alpha }, { lr = 1e-2 })

  local function sample(s)
    local mean, log_std = actor(s):chunk(2, -1)
    log_std = log_std:clamp(-5, 2)
    local noise = sgl.randn_like(mean)
    local raw = mean + noise * log_std:exp()
    local a = raw:tanh()
    local logp = -0.5 * noise ^ 2 - log_std - 0.5 * math.log(2 * math.pi)
    return a, (logp - (1 - a ^ 2 + 1e-6):log()):sum(-1)
  end
  local function value(q, s, a) return q(sgl.cat({ s, a }, -1)):squeeze(-1) end

  local step = compile(function(s, a, r, s2, done)
    local alpha = log_alpha:exp():detach()
    local a2, logp2 = sample(s2)
    local after = sgl.minimum(value(t1, s2, a2), value(t2, s2, a2)) - alpha * logp2
    local wanted = (r + 0.99 * (~done):float() * after):detach()
    local loss_q = nn.mse_loss(value(q1, s, a), wanted) + nn.mse_loss(value(q2, s, a), wanted)
    opt_q:minimize(loss_q)
    local action, logp = sample(s)
    local loss_pi = (alpha * logp - sgl.minimum(value(q1, s, action), value(q2, s, action))):mean()
    opt_pi:minimize(loss_pi)
    local loss_alpha = -(log_alpha * (logp - 1):detach()):mean()
    opt_alpha:minimize(loss_alpha)
    for _, pair in ipairs { { t1, q1 }, { t2, q2 } } do
      local own = pair[2]:parameters()
      for i, p in ipairs(pair[1]:parameters()) do p:assign(p:lerp(own[i], 0.05)) end
    end
    return loss_q, loss_pi, loss_alpha
  end)
  return function(_, n)
    return step(sgl.randn(n, 3), sgl.rand(n, 1), sgl.randn(n), sgl.randn(n, 3),
      sgl.rand(n):lt(0.2))
  end, { actor, q1, q2, t1, t2, opt_q, opt_pi, opt_alpha, { log_alpha = log_alpha } }
end

return M
