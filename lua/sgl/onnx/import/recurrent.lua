-- onnx/import/recurrent.lua: RNN, GRU and LSTM.
--
-- Weights are [directions, gates · hidden, …], x is [time, batch, inputs] (or, with layout 1, batch
-- first). The product of the input is one for all steps; the recurrence is a scan.
local api = require "sgl.api"
local core = require "sgl.core"
local ops = require "sgl.onnx.ops"

local op, root = ops.op, api.root

local ATTRS = "activation_alpha activation_beta activations clip direction hidden_size layout"

local FUNCTIONS = {
  sigmoid = function(x) return x:sigmoid() end,
  tanh = function(x) return x:tanh() end,
  relu = function(x) return x:relu() end,
  affine = function(x, alpha, beta) return x * (alpha or 1) + (beta or 0) end,
  leakyrelu = function(x, alpha) return x:ge(0):where(x, x * (alpha or 0.01)) end,
  thresholdedrelu = function(x, alpha) return x:gt(alpha or 1):where(x, 0) end,
  scaledtanh = function(x, alpha, beta) return (x * (beta or 1)):tanh() * (alpha or 1) end,
  hardsigmoid = function(x, alpha, beta)
    return (x * (alpha or 0.2) + (beta or 0.5)):clamp(0, 1)
  end,
  elu = function(x, alpha) return x:elu { alpha = alpha or 1 } end,
  softsign = function(x) return x:softsign() end,
  softplus = function(x) return x:softplus() end,
}

-- Functions that take a number of activation_alpha or activation_beta, if there are any.
local TAKES = { affine = 2, leakyrelu = 1, thresholdedrelu = 1, scaledtanh = 2, hardsigmoid = 2,
                elu = 1 }

-- The activations of a direction; numbers of alpha and beta go to those that take some, in order.
local function activations(c, a, defaults, direction)
  local list, alphas, betas, names = {}, 0, 0, a.activations
  local first = (direction - 1) * #defaults
  for i = 1, first + #defaults do
    local name = (names and #names > 0 and names[i] or defaults[(i - 1) % #defaults + 1]):lower()
    local fn, takes = FUNCTIONS[name], TAKES[name] or 0
    if not fn then c:refuse(("the activation %s"):format(core.quote(name))) end
    local alpha = takes > 0 and a.activation_alpha and a.activation_alpha[alphas + 1]
    local beta = takes > 1 and a.activation_beta and a.activation_beta[betas + 1]
    alphas, betas = alphas + (takes > 0 and 1 or 0), betas + (takes > 1 and 1 or 0)
    if i > first then
      list[i - first] = function(x)
        if a.clip then x = x:clamp(-a.clip, a.clip) end
        return fn(x, alpha or nil, beta or nil)
      end
    end
  end
  return list
end

-- One step of each kind: k has the weights of a direction, x and state are [batch, …].
local STEPS = {
  RNN = function(k, x, state)
    return { k.f[1](x + state[1]:matmul(k.r) + k.rb) }
  end,
  GRU = function(k, x, state)
    local h = state[1]
    local xz, xr, xh = x:chunk(3, 2)
    local rz, rr, rh = k.r:chunk(3, 2)
    local bz, br, bh = k.rb:chunk(3, 1)
    local z, r = k.f[1](xz + h:matmul(rz) + bz), k.f[1](xr + h:matmul(rr) + br)
    local new
    if k.linear then new = k.f[2](xh + r * (h:matmul(rh) + bh))
    else new = k.f[2](xh + (r * h):matmul(rh) + bh) end
    return { (1 - z) * new + z * h }
  end,
  LSTM = function(k, x, state)
    local h, cell = state[1], state[2]
    local i, o, f, g = (x + h:matmul(k.r) + k.rb):chunk(4, 2)
    if k.p then
      local pi, _, pf = k.p:chunk(3, 1)
      i, f = i + pi * cell, f + pf * cell
    end
    i, f = k.f[1](i), k.forget and 1 - k.f[1](i) or k.f[1](f)
    local next_cell = f * cell + i * k.f[2](g)
    if k.p then
      local _, po = k.p:chunk(3, 1)
      o = o + po * next_cell
    end
    return { k.f[1](o) * k.f[3](next_cell), next_cell }
  end,
}

local KINDS = {
  RNN = { gates = 1, states = 1, f = { "Tanh" } },
  GRU = { gates = 3, states = 1, f = { "Sigmoid", "Tanh" } },
  LSTM = { gates = 4, states = 2, f = { "Sigmoid", "Tanh", "Tanh" } },
}

-- A state [directions, batch, hidden] of a direction; absent: zeros.
local function initial(c, x, given, d, hidden)
  local batch = x.shape[2]
  if not given then return core.full({ batch, hidden }, 0, x.dtype) end
  local own = given.shape
  if #own ~= 3 or own[2] ~= batch or own[3] ~= hidden then
    c:refuse(("the state is %s, the input %s"):format(api.describe(given), api.describe(x)),
      ("a state is [directions, %s, %s]"):format(batch, hidden), "SGL_ESHAPE")
  end
  return given:select(1, d)
end

-- Which directions there are, as { reverse? }.
local DIRECTIONS = { forward = { false }, reverse = { true }, bidirectional = { false, true } }

-- Runs one direction: the outputs [time, batch, hidden] and the last states.
local function run(c, a, name, d, reverse, x, t)
  local kind = KINDS[name]
  local hidden, w = t.r.shape[3], t.w:select(1, d)
  local bias = t.b and t.b:select(1, d) or core.full({ 2 * kind.gates * hidden }, 0, x.dtype)
  local half = kind.gates * hidden
  local k = { r = t.r:select(1, d):t(), rb = bias:narrow(1, half + 1, half), p = t.p and
              t.p:select(1, d), linear = a.linear_before_reset == 1, forget = a.input_forget == 1,
              f = activations(c, a, kind.f, d) }
  local projected = x:matmul(w:t()) + bias:narrow(1, 1, half)
  local state = {}
  for i = 1, kind.states do state[i] = initial(c, x, t.state[i], d, hidden) end
  local last, out = root.scan(function(carry, now)
    local after = STEPS[name](k, now, carry)
    return after, after[1]
  end, state, projected, { reverse = reverse })
  return out, last
end

-- Lengths of sequences are read where all are as long as x.
local function check_lengths(c, lengths, time)
  if lengths == nil then return end
  for _, n in ipairs(c:list(lengths, "lengths of the sequences")) do
    if n ~= time then c:refuse "sequences of different lengths" end
  end
end

local function recurrent(name, extra, most)
  local kind = KINDS[name]
  op(name, { inputs = { 3, most }, attrs = ATTRS .. extra, raw = true },
    function(c, a, x, w, r, b, lengths, h, cell, p)
      x, w, r = c:tensor(x), c:tensor(w), c:tensor(r)
      b, h, cell, p = c:tensor(b), c:tensor(h), c:tensor(cell), c:tensor(p)
      local batch_first = a.layout == 1
      if batch_first then
        x, h, cell = x:transpose(1, 2), h and h:transpose(1, 2), cell and cell:transpose(1, 2)
      end
      check_lengths(c, lengths, x.shape[1])
      local directions = DIRECTIONS[a.direction or "forward"]
      if not directions or #directions ~= w.shape[1] then c:refuse "directions that do not fit" end
      local outs, lasts = {}, {}
      for d, reverse in ipairs(directions) do
        local out, last = run(c, a, name, d, reverse, x, { w = w, r = r, b = b, p = p,
          state = { h, cell } })
        outs[d] = out
        for i = 1, kind.states do
          lasts[i] = lasts[i] or {}
          lasts[i][d] = last[i]
        end
      end
      local y = root.stack(outs, 2)                        -- [time, directions, batch, hidden]
      for i = 1, kind.states do lasts[i] = root.stack(lasts[i], 1) end
      if batch_first then
        y = y:permute(3, 1, 2, 4)
        for i = 1, kind.states do lasts[i] = lasts[i]:transpose(1, 2) end
      end
      return y, lasts[1], lasts[2]
    end)
end

recurrent("RNN", "", 6)
recurrent("GRU", " linear_before_reset", 6)
recurrent("LSTM", " input_forget", 8)
