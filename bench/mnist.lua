-- mnist.lua: MLP 784-512-512-10 on the 10,000 test images of MNIST, 9,000 to train and 1,000 held
-- out, 10 epochs.
--
--   sgl bench/mnist.lua DIR       DIR holds t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz
--
-- Ends with throughput and the accuracy on the held-out images.

local sgl = require "sgl"
local core = require "sgl.core"
local nn, optim, data = sgl.nn, sgl.optim, sgl.data

local dir = arg[1] or "../shared/data"
sgl.seed(1)
local train, test = data.idx(dir .. "/t10k-images-idx3-ubyte.gz",
  dir .. "/t10k-labels-idx1-ubyte.gz",
  { scale = 1 / 255, flatten = true }):split(0.9)

local model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
  nn.Linear(512, 10))
local opt = optim.AdamW(model:parameters(), { lr = 1e-3, weight_decay = 0.01 })
local step = sgl.compile(function(x, y)
  local loss = nn.cross_entropy(model(x), y)
  opt:minimize(loss)
  return loss
end)
local predict = sgl.compile(function(x) return model(x):argmax(-1) end)

local images, start = 0, core.clock()
for epoch = 1, 10 do
  local loss
  for x, y in train:batches(64) do
    loss = step(x, y)
    images = images + #x
  end
  print(("epoch %2d   loss %.4f"):format(epoch, loss:item()))
end
local seconds = core.clock() - start

model:eval()
local right = 0
for x, y in test:batches(250, { shuffle = false }) do
  right = right + predict(x):eq(y):sum():item()
end
print(("%d images trained in %.2f s: %.0f images a second, %d threads, %s"):format(images, seconds,
  images / seconds, core.threads(), core.isa()))
print(("accuracy on %d held-out images %.2f %%"):format(#test, 100 * right / #test))
