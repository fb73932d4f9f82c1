#!/usr/bin/env sgl
-- Exports a training step, a model and data for train.c, then trains as it does.
--
--   sgl export.lua FOLDER      writes step.sgl, model.sgl, rows.sgl and test.sgl there
--
-- The last two lines are those of train.c, bit for bit.

local sgl = require "sgl"
local nn, optim, data = sgl.nn, sgl.optim, sgl.data

local here, out = arg[0]:match("^(.*/)") or "./", arg[1] or "."
local BATCH, EPOCHS = 64, 10

sgl.seed(7)
local train, test = data.csv(here .. "../digits/digits.csv.gz", { label = 65, scale = 1 / 16 })
  :split(0.7)
local function whole(set) return set:batches(#set, { shuffle = false })() end
local images, labels = whole(train)
local test_images, test_labels = whole(test)

local model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 10))
local steps = EPOCHS * math.ceil(#train / BATCH)
local opt = optim.AdamW(model:parameters(), { lr = optim.schedule.cosine(1e-2, steps),
                                              weight_decay = 0.01 })
local step = sgl.compile(function(x, y)
  local loss = nn.cross_entropy(model(x), y)
  opt:minimize(loss)
  return loss
end)

local function rows(at) return images:index_select(1, at), labels:index_select(1, at) end

local n = sgl.dim("n", { max = 4096 })
local function export(what, specs, name)
  assert(sgl.export(what, specs, { file = ("%s/%s.sgl"):format(out, name), name = name }))
end
export(step, { sgl.spec({ n, 64 }), sgl.spec({ n }, "i32") }, "step")
export(model, { sgl.spec({ n, 64 }) }, "model")
export(rows, { sgl.spec({ n }, "i32") }, "rows")
export(function() return test_images, test_labels end, {}, "test")

local loss
for _ = 1, EPOCHS do
  for first = 0, #train - 1, BATCH do
    loss = step(rows(sgl.arange(first, math.min(first + BATCH, #train)):to "i32"))
  end
end
model:eval()
local right = model(test_images):argmax(-1):eq(test_labels):sum():item()
print(("final loss %.4f %a"):format(loss:item(), loss:item()))
print(("test accuracy %.2f %%"):format(100 * right / #test))
