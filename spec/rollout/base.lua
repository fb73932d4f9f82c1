-- base.lua: a small training script for `sgl check`, with a place for each planted fault.
--
--   sgl base.lua [FAULT]
--
-- Each fault is what somebody wrote who meant one device: it shows when there are several ranks, or
-- when training is resumed, or at the export.

local sgl = require "sgl"
local nn, optim, dist = sgl.nn, sgl.optim, sgl.dist
local fault = arg[1] or ""

sgl.seed(3)
local rank, size = dist.rank, dist.size
local rows = 24
local first, second = nn.Linear(6, 6), nn.Linear(6, 6)
if fault == "tied" then                -- one weight on one rank, two on several
  second.weight = size == 1 and first.weight or nn.parameter(first.weight:clone())
end
local model = nn.Sequential(first, second, nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(),
  nn.Dropout(0.2), nn.Linear(16, 3))
local opt = optim.AdamW(model:parameters(), { lr = optim.schedule.cosine(1e-2, 40) })
local running = sgl.zeros(3):realize()

local FAULTS = {
  fan_in = function()                  -- initial weights scaled by what this rank has of a layer
    for _, p in ipairs(model:parameters()) do p:assign(p * (1 / size) ^ 0.5) end
  end,
  seed = function() sgl.seed(3 + rank) end,       -- other initial values and masks on each rank
}
if FAULTS[fault] then FAULTS[fault]() end

local function loss_of(x, y)
  if fault == "norm_rank" and rank == 1 then x = x * 1.0001 end
  local logits = model(x)
  local loss = nn.cross_entropy(logits, y)
  if fault == "average" then loss = loss / size end          -- divided by the ranks once more
  if fault == "batch_norm" then        -- statistics of the rows that this rank would have
    local n = rows // size
    loss = loss + x[{ { rank * n + 1, (rank + 1) * n } }]:mean() * logits:mean()
  end
  if fault == "gather" then            -- a penalty on the rank's part of a weight
    local n = 16 // size
    loss = loss + model[3].weight[{ { rank * n + 1, (rank + 1) * n } }]:square():sum() * 1e-3
  end
  if fault == "dtype" and size > 1 then loss = loss:to("f16"):to("f32") end
  if fault == "unregistered" then
    running:assign(running * 0.9 + logits:detach():mean(1) * 0.1)
    loss = loss + (running * 0):sum()
  end
  return loss
end

local counter = { steps = 0 }
local step = sgl.compile(function(x, y)
  local loss = loss_of(x, y)
  if fault == "counter" then           -- a count that no checkpoint has
    counter.steps = counter.steps + 1
    loss = loss * (1 + counter.steps / 100)
  end
  if fault == "print" then sgl.print("loss", loss) end
  if fault == "break" then if loss:item() > 100 then error "diverged" end end
  opt:minimize(loss)
  return loss
end, { fullgraph = fault ~= "break" })

for i = 1, 12 do
  local x = sgl.randn(rows, 6)
  local y = (sgl.rand(rows) * 3):to "i32"
  if fault == "mask" and rank == 1 then sgl.rand(1):realize() end
  if fault == "shuffled" and rank == 1 then x = x:roll(1, 1) end
  if fault == "rows" then              -- what this rank would read
    local n = rows // size
    x, y = x[{ { 1, n } }], y[{ { 1, n } }]
  end
  if fault == "accumulation" and i == 12 then x = x * (1 / size) end
  if fault == "error" and i == 5 and rank == size - 1 then error "this rank has no data" end
  if fault == "dies" and i == 5 and rank == 1 then os.execute "kill -9 $PPID" end
  step(x, y)
end
