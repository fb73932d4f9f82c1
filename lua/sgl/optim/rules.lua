-- optim/rules.lua: the update rules, one entry each: options, state, formula.
--
-- update(p, g, s, h) gets the parameter, its gradient, its state tensors by name, and h: the
-- options, with h.lr the learning rate as a tensor and h.t the number of this step from 1 (f32,
-- 0-d). It returns the new parameter and a table of new state. State starts at 0 unless the rule
-- says otherwise. Everything is tensor arithmetic, so a step is part of the captured graph. check
-- (nil: none) raises where options do not go together.

local core = require "sgl.core"

local function decayed(g, p, weight_decay)
  return weight_decay ~= 0 and g + p * weight_decay or g
end

-- 1 - beta^t, without the cancellation that f32 has for beta near 1.
local function bias_correction(beta, t) return -(t * math.log(beta)):expm1() end

local function adam_step(p, g, s, h)
  local m = s.m * h.beta1 + g * (1 - h.beta1)
  local v = s.v * h.beta2 + g * g * (1 - h.beta2)
  local m_hat = m / bias_correction(h.beta1, h.t)
  local v_hat = v / bias_correction(h.beta2, h.t)
  return p - h.lr * m_hat / (v_hat:sqrt() + h.eps), { m = m, v = v }
end

local SHARE, POSITIVE = { 0, 1 }, { 0, math.huge }

local function betas(beta1, beta2)
  return { "beta1", "number", beta1, "decay of the mean of gradients", within = SHARE },
    { "beta2", "number", beta2, "decay of the mean of their squares", within = SHARE }
end
local EPS = { "eps", "number", 1e-8, "added to the denominator", within = POSITIVE }
local function weight_decay(default, doc)
  return { "weight_decay", "number", default, doc, within = POSITIVE }
end
local MOMENTUM = { "momentum", "number", 0, "decay of the velocity", within = SHARE }
local L2 = weight_decay(0, "L2 penalty, added to the gradient")
local ADAM_B1, ADAM_B2 = betas(0.9, 0.999)

return {
  { name = "SGD", lr = 1e-2,
    doc = "Gradient descent with momentum (Polyak, 1964) and Nesterov's variant, as PyTorch's.",
    opts = { MOMENTUM,
             { "nesterov", "boolean", false, "look ahead along the velocity" }, L2 },
    check = function(full, o)
      if o.nesterov and o.momentum == 0 then
        core.raise("SGL_EARG", full .. ": option 'nesterov' needs a momentum, got 0",
          "give one: { nesterov = true, momentum = 0.9 }")
      end
    end,
    state = function(h) return h.momentum ~= 0 and { "velocity" } or {} end,
    update = function(p, g, s, h)
      g = decayed(g, p, h.weight_decay)
      if h.momentum == 0 then return p - h.lr * g, {} end
      local velocity = s.velocity * h.momentum + g
      local along = h.nesterov and g + velocity * h.momentum or velocity
      return p - h.lr * along, { velocity = velocity }
    end },

  { name = "Adam", lr = 1e-3, doc = "Adam (Kingma and Ba, 2015).",
    opts = { ADAM_B1, ADAM_B2, EPS, L2 },
    state = function() return { "m", "v" } end,
    update = function(p, g, s, h) return adam_step(p, decayed(g, p, h.weight_decay), s, h) end },

  { name = "AdamW", lr = 1e-3,
    doc = "Adam with decoupled weight decay (Loshchilov and Hutter, 2019).",
    opts = { ADAM_B1, ADAM_B2, EPS,
             weight_decay(1e-2, "share of the parameter taken away, times the learning rate") },
    state = function() return { "m", "v" } end,
    update = function(p, g, s, h) return adam_step(p * (1 - h.lr * h.weight_decay), g, s, h) end },

  { name = "Adagrad", lr = 1e-2, doc = "Adagrad (Duchi, Hazan and Singer, 2011).",
    opts = { { "eps", "number", 1e-10, "added to the denominator", within = POSITIVE }, L2 },
    state = function() return { "sum" } end,
    update = function(p, g, s, h)
      g = decayed(g, p, h.weight_decay)
      local sum = s.sum + g * g
      return p - h.lr * g / (sum:sqrt() + h.eps), { sum = sum }
    end },

  { name = "RMSprop", lr = 1e-2, doc = "RMSprop (Hinton, 2012).",
    opts = { { "alpha", "number", 0.99, "decay of the mean of squares", within = SHARE }, EPS,
             MOMENTUM, L2 },
    state = function(h) return h.momentum ~= 0 and { "v", "velocity" } or { "v" } end,
    update = function(p, g, s, h)
      g = decayed(g, p, h.weight_decay)
      local v = s.v * h.alpha + g * g * (1 - h.alpha)
      local along = g / (v:sqrt() + h.eps)
      if h.momentum == 0 then return p - h.lr * along, { v = v } end
      local velocity = s.velocity * h.momentum + along
      return p - h.lr * velocity, { v = v, velocity = velocity }
    end },

  { name = "Lion", lr = 1e-4,
    doc = "Lion (Chen et al., 2023): the sign of an interpolated momentum.",
    opts = { { "beta1", "number", 0.9, "weight of the momentum in the update", within = SHARE },
             { "beta2", "number", 0.99, "decay of the momentum", within = SHARE },
             weight_decay(0, "share of the parameter taken away, times the learning rate") },
    state = function() return { "m" } end,
    update = function(p, g, s, h)
      local along = (s.m * h.beta1 + g * (1 - h.beta1)):sign()
      local m = s.m * h.beta2 + g * (1 - h.beta2)
      return p * (1 - h.lr * h.weight_decay) - h.lr * along, { m = m }
    end },
}
