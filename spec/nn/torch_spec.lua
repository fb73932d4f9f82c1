-- torch_spec.lua: training agrees with PyTorch 2, from fixtures/make_training.py. Functions, layers
-- and optimizers have specs of their own: functions_spec, layers_spec, optimizers_spec.

local sgl = require "sgl"
local support = require "spec.support"
local nn, optim = sgl.nn, sgl.optim

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
