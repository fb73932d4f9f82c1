#!/usr/bin/env sgl
-- A layer of one's own inside a model: a gated residual unit, trained to sort out two rings.

local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim

-- Fields that are tensors or modules are registered in the order in which they are assigned.
local Gate = nn.module("Gate", function(self, width)
  self.proj = nn.Linear(width, 2 * width)
  self.scale = nn.parameter(sgl.ones(width))
end)
function Gate:forward(x)
  local a, b = self.proj(x):split(2, -1)
  return a * b:sigmoid() * self.scale + x
end

sgl.seed(3)
local n = 512
local angle = sgl.rand(n) * (2 * math.pi)
local outer = sgl.arange(0, n):mod(2)                     -- 0 inside, 1 outside
local radius = outer + 0.7 + sgl.randn(n) * 0.15
local points = sgl.stack({ radius * angle:cos(), radius * angle:sin() }, 2)
local labels = outer:int()

local model = nn.Sequential(nn.Linear(2, 16), Gate(16), nn.LayerNorm(16), Gate(16),
                            nn.Linear(16, 2))
for name, p in model:named_parameters() do
  print(("%-14s [%s]"):format(name, table.concat(p.shape, ", ")))
end

local rate = optim.schedule.cosine(1e-2, 200, { warmup = 20 })
local opt = optim.AdamW(model:parameters(), { lr = rate })
local step = sgl.compile(function(x, y)
  local logits = model(x)
  local loss = nn.cross_entropy(logits, y)
  opt:minimize(loss, { clip_norm = 1 })
  return loss, logits:argmax(-1):eq(y):float():mean()
end)

for i = 1, 200 do
  local loss, accuracy = step(points, labels)
  if i % 40 == 0 then
    print(("step %3d   loss %.4f   accuracy %.1f %%"):format(i, loss:item(), 100 * accuracy:item()))
  end
end
