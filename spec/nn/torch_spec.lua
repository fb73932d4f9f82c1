-- torch_spec.lua: layers, losses and training agree with PyTorch 2, from the fixtures that
-- fixtures/make_fixtures.py wrote.

local sgl = require "sgl"
local support = require "spec.support"
local nn, optim = sgl.nn, sgl.optim
local F = nn.functional

local function load(name)
  local dict = assert(sgl.load(support.root .. "spec/fixtures/" .. name .. ".safetensors"))
  return dict
end

-- The part of a dict whose names begin with the prefix, which is taken off. PyTorch counts list
-- items from 0, sgl from 1: `rename` may translate.
local function with_prefix(dict, prefix, rename)
  local part = {}
  for _, name in ipairs(dict) do
    if name:sub(1, #prefix) == prefix then
      local rest = name:sub(#prefix + 1)
      part[#part + 1] = rename and rename(rest) or rest
      part[part[#part]] = dict[name]
    end
  end
  return part
end

describe("a layer, as PyTorch computes it", function()
  local fixtures = load "layers"

  -- Attention with PyTorch's four projections is MultiheadAttention here.
  local LAYERS = {
    { "linear", function() return nn.Linear(5, 3) end },
    { "conv2d", function() return nn.Conv2d(4, 6, 3) end },
    { "conv2d_all", function()
      return nn.Conv2d(4, 6, { 3, 2 }, { stride = { 2, 1 }, padding = { 2, 1 }, dilation = { 1, 2 },
                                         groups = 2 })
    end },
    { "conv1d", function() return nn.Conv1d(4, 6, 3, { stride = 2, padding = 1 }) end },
    { "max_pool2d", function() return nn.MaxPool2d(3, { stride = 2, padding = 1 }) end },
    { "avg_pool2d", function() return nn.AvgPool2d(2) end },
    { "layer_norm", function() return nn.LayerNorm(40) end },
    { "layer_norm2", function() return nn.LayerNorm({ 4, 6 }) end },
    { "rms_norm", function() return nn.RMSNorm(6) end },
    { "group_norm", function() return nn.GroupNorm(2, 4) end },
    { "batch_norm2d", function() return nn.BatchNorm2d(4) end },
    { "batch_norm1d", function() return nn.BatchNorm1d(4) end },
    { "rnn", function() return nn.RNN(4, 5) end },
    { "lstm", function() return nn.LSTM(4, 5, { layers = 2 }) end },
    { "gru", function() return nn.GRU(4, 5) end },
    { "attention", function() return nn.MultiheadAttention(8, 2, { causal = true }) end },
    { "relu", function() return F.relu end },
    { "silu", function() return F.silu end },
    { "softplus", function() return F.softplus end },
    { "gelu", function() return F.gelu end },
    { "gelu_tanh", function()
      return function(x) return F.gelu(x, { approximate = "tanh" }) end
    end },
    { "tanh", function() return F.tanh end },
    { "sigmoid", function() return F.sigmoid end },
    { "softmax", function() return F.softmax end },
    { "log_softmax", function() return function(x) return F.log_softmax(x, 2) end end },
    { "cross_entropy", function() return nn.cross_entropy end },
    { "cross_entropy_smooth", function()
      return function(x, t)
        return nn.cross_entropy(x, t, { label_smoothing = 0.2, ignore_index = 2 })
      end
    end },
    { "cross_entropy_images", function()
      return function(x, t) return nn.cross_entropy(x, t, { reduction = "none" }) end
    end },
    { "nll_loss", function()
      return function(x, t) return nn.nll_loss(x, t, { reduction = "sum" }) end
    end },
    { "mse_loss", function() return nn.mse_loss end },
    { "l1_loss", function() return nn.l1_loss end },
    { "huber_loss", function()
      return function(x, y) return nn.huber_loss(x, y, { delta = 0.7 }) end
    end },
    { "bce_with_logits", function() return nn.bce_with_logits end },
    { "kl_div", function()
      return function(x, y) return nn.kl_div(F.log_softmax(x, -1), F.softmax(y, -1)) end
    end },
  }

  for _, layer in ipairs(LAYERS) do
    local name, make = layer[1], layer[2]
    it(name .. ": value and gradients", function()
      local case, fn = with_prefix(fixtures, name .. "."), make()
      local inputs, wrt, wanted = {}, {}, {}
      while case["in." .. #inputs + 1] do
        local key = "in." .. #inputs + 1
        inputs[#inputs + 1] = case[key]
        if case["d." .. key] then
          wrt[#wrt + 1], wanted[#wanted + 1] = case[key], case["d." .. key]
        end
      end
      local weights = with_prefix(case, "w.")
      if #weights > 0 then
        fn:load_state_dict(weights, { strict = false })
        local own = fn:state_dict()
        for _, w in ipairs(weights) do
          assert.is_not_nil(own[w], w .. " is missing")
          wrt[#wrt + 1], wanted[#wanted + 1] = own[w], case["d.w." .. w]
        end
      end
      local out = fn(table.unpack(inputs))
      local grads = sgl.grad((out * out:cos()):sum(), wrt)
      assert.are.same(case.out.shape, out.shape)
      support.close(out, case.out, 2e-5, 2e-6, name)
      for i, g in ipairs(grads) do
        support.close(g, wanted[i], 2e-4, 2e-5, name .. " gradient " .. i)
      end
    end)
  end
end)

describe("ten steps of an optimizer, as PyTorch makes them", function()
  local fixtures = load "optimizers"
  local RULES = {
    SGD = function(p) return optim.SGD(p, { lr = 0.1 }) end,
    SGD_nesterov = function(p)
      return optim.SGD(p, { lr = 0.1, momentum = 0.9, nesterov = true, weight_decay = 0.01 })
    end,
    Adam = function(p) return optim.Adam(p, { lr = 0.1, weight_decay = 0.01 }) end,
    AdamW = function(p) return optim.AdamW(p, { lr = 0.1, weight_decay = 0.1 }) end,
    Adagrad = function(p) return optim.Adagrad(p, { lr = 0.1 }) end,
    RMSprop = function(p) return optim.RMSprop(p, { lr = 0.05, momentum = 0.5 }) end,
  }
  for name, make in pairs(RULES) do
    it(name, function()
      local p = nn.parameter(fixtures.start * 1)
      local opt, path = make({ p }), {}
      local step = sgl.compile(function() opt:minimize((p * p * fixtures.curve):sum()) end)
      for i = 1, 10 do
        step()
        path[i] = p:tolist()
      end
      support.close(sgl.tensor(path), fixtures[name], 1e-4, 1e-6, name)
    end)
  end
end)

describe("twenty training steps from PyTorch's weights", function()
  local function from_one(name)
    return (name:gsub("%d+", function(i) return math.tointeger(tonumber(i)) + 1 end, 1))
  end

  local function follow(model, opt, fixture, minimize_options)
    model:load_state_dict(with_prefix(fixture, "w.", function(name)
      return name:find("^%d") and from_one(name) or name:gsub("^blocks%.%d", from_one)
    end))
    local step = sgl.compile(function(x, y)
      local loss = nn.cross_entropy(model(x), y:flatten())
      opt:minimize(loss, minimize_options)
      return loss
    end)
    local losses = {}
    for i = 1, 20 do losses[i] = step(fixture.x[i], fixture.y[i]):item() end
    support.close(losses, fixture.losses:tolist(), 1e-4, 0, "losses")
  end

  it("gives the losses of an MLP with Adam within 1e-4", function()
    local model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 10))
    follow(model, optim.Adam(model:parameters(), { lr = 1e-2 }), load "losses_mlp", {})
  end)

  it("gives the losses of a two-layer GPT with AdamW and clipping within 1e-4", function()
    local Block = nn.module("Block", function(self)
      self.norm1, self.norm2 = nn.LayerNorm(32), nn.LayerNorm(32)
      self.attention = nn.MultiheadAttention(32, 2, { causal = true })
      self.up, self.down = nn.Linear(32, 128), nn.Linear(128, 32)
    end)
    function Block:forward(x)
      x = x + self.attention(self.norm1(x))
      return x + self.down(nn.gelu(self.up(self.norm2(x))))
    end
    local GPT = nn.module("GPT", function(self)
      self.token, self.position = nn.Embedding(65, 32), nn.Embedding(16, 32)
      self.blocks = nn.ModuleList(Block(), Block())
      self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 65, { bias = false })
    end)
    function GPT:forward(ids)
      local x = self.token(ids) + self.position.weight
      for _, block in ipairs(self.blocks) do x = block(x) end
      return self.head(self.norm(x)):flatten(1, 2)
    end
    local model = GPT()
    follow(model, optim.AdamW(model:parameters(), { lr = 3e-3, weight_decay = 0.1 }),
      load "losses_gpt", { clip_norm = 0.5 })
  end)
end)
