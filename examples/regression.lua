#!/usr/bin/env sgl
-- Fits a line to noisy points and compares it with the least-squares solution.

local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim

sgl.seed(1)
local n = 200
local x = sgl.linspace(-1, 1, n):reshape(n, 1)
local y = x * 3 - 0.5 + sgl.randn(n, 1) * 0.1

local model = nn.Linear(1, 1)
local opt = optim.SGD(model:parameters(), { lr = 0.1, momentum = 0.9 })

local step = sgl.compile(function(input, target)
  local loss = nn.mse_loss(model(input), target)
  opt:minimize(loss)
  return loss
end)

for i = 1, 200 do
  local loss = step(x, y)
  if i == 1 or i % 50 == 0 then print(("step %3d   loss %.6f"):format(i, loss:item())) end
end

-- The exact answer, for one feature: covariance over variance.
local dx, dy = x - x:mean(), y - y:mean()
local slope = ((dx * dy):sum() / (dx * dx):sum()):item()
print(("slope %.4f, least squares %.4f"):format(model.weight:item(), slope))
print(("shift %.4f, least squares %.4f"):format(model.bias:item(),
  y:mean():item() - slope * x:mean():item()))
