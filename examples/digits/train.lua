#!/usr/bin/env sgl
-- Trains a classifier of handwritten digits and measures it on images it has not seen.
--
--   sgl train.lua            a multilayer perceptron, about 98 %
--   sgl train.lua convnet    a small convolutional network
--
-- 70 % of the 1,797 images train, 30 % are held out. The numbers printed do not depend on the
-- number of threads or on the instruction set.

local sgl = require "sgl"
local nn, optim, data = sgl.nn, sgl.optim, sgl.data

local here = arg[0]:match("^(.*/)") or "./"
local kind = arg[1] or "mlp"

sgl.seed(7)
local train, test = data.csv(here .. "digits.csv.gz", { label = 65, scale = 1 / 16 }):split(0.7)

local MODELS = {
  mlp = function()
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 10)), 30
  end,
  convnet = function()
    local images = nn.module("Images", function() end)     -- 64 pixels to one channel of 8×8
    function images.forward(_, x) return x:reshape(-1, 1, 8, 8) end
    return nn.Sequential(images(),
      nn.Conv2d(1, 16, 3, { padding = 1 }), nn.ReLU(), nn.MaxPool2d(2),
      nn.Conv2d(16, 32, 3, { padding = 1 }), nn.ReLU(), nn.MaxPool2d(2),
      nn.Flatten(), nn.Linear(128, 10)), 15
  end,
}
if not MODELS[kind] then
  io.stderr:write("usage: sgl train.lua [mlp | convnet]\n")
  os.exit(1)
end

local model, epochs = MODELS[kind]()
local batch = 64
local steps = epochs * math.ceil(#train / batch)
local opt = optim.AdamW(model:parameters(), { lr = optim.schedule.cosine(1e-2, steps),
                                              weight_decay = 0.01 })
print(("%s with %d parameters, %d images to train on, %d to test"):format(kind, model:count(),
  #train, #test))

-- One training step: forward, loss, backward and update are captured as one graph.
local step = sgl.compile(function(x, y)
  local loss = nn.cross_entropy(model(x), y)
  opt:minimize(loss)
  return loss
end)

local loss
for epoch = 1, epochs do
  for x, y in train:batches(batch, { progress = "epoch " .. epoch }) do loss = step(x, y) end
end

model:eval()
local predict = sgl.compile(function(x) return model(x):argmax(-1) end)
local right = 0
for x, y in test:batches(256, { shuffle = false }) do
  right = right + predict(x):eq(y):sum():item()
end
print(("final loss %.4f %a"):format(loss:item(), loss:item()))
print(("test accuracy %.2f %%"):format(100 * right / #test))
