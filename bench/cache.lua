-- cache.lua: what the caches of programs give and cost.
--
--   sgl bench/cache.lua        SGL_CACHE_DIR: the folder (default a fresh one, removed at the end)
--
-- For a training step of N equal blocks: the best time to compile it without the disk, with an
-- entry stored, and with the entry loaded, in milliseconds, capture not included; what the passes
-- over the graph took and what the load took; the size of the entry. Then look-ups in memory.

local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim

local ROUNDS = 7
local folder = os.getenv "SGL_CACHE_DIR"
local own = not folder and os.tmpname() or nil
if own then
  os.remove(own)
  sgl.config.cache_dir = own
end
sgl.config.cache_min_nodes = 0

local function step_of(blocks)
  local layers = {}
  for _ = 1, blocks do
    table.move({ nn.Linear(32, 32), nn.LayerNorm(32), nn.GELU() }, 1, 3, #layers + 1, layers)
  end
  local model = nn.Sequential(table.unpack(layers))
  local opt = optim.AdamW(model:parameters(), { lr = 1e-3 })
  return function(x)
    local loss = model(x):square():mean()
    opt:minimize(loss)
    return loss
  end
end

-- The best time of compiling, what `first` took of it, and where the program was found.
local function best(step, x, before)
  local least, part, cache = math.huge, 0, "?"
  for _ = 1, ROUNDS do
    sgl.cache.clear()
    before()
    local compiled = sgl.compile(step)
    compiled(x)
    local info = compiled:info()
    if info.compile_ms < least then
      least, part, cache = info.compile_ms, info.passes[1].ms, info.cache
    end
    compiled:close()
  end
  return least, part, cache
end

print "blocks  nodes   without   stored   loaded   (simplify   load)   entry"
for _, blocks in ipairs { 1, 4, 16, 64 } do
  local step, x = step_of(blocks), sgl.ones(16, 32):realize()
  sgl.compile(step)(x)
  sgl.cache.clear { disk = true }
  sgl.config.enable = "-disk"
  local without, simplify = best(step, x, function() end)
  sgl.config.enable = "all"
  local stored = best(step, x, function() sgl.cache.clear { disk = true } end)
  local loaded, load, cache = best(step, x, function() end)
  assert(cache == "disk", "the program was not loaded")
  local compiled = sgl.compile(step)
  compiled(x)
  print(("%6d %6d %6.2f ms %6.2f ms %5.2f ms   %6.2f ms %5.2f ms   %d bytes"):format(blocks,
    compiled:info().nodes, without, stored, loaded, simplify, load,
    sgl.cache.stats().disk.bytes))
end

for i = 1, 20000 do (sgl.tensor { 1.5, 2.5 } + i % 4):sum():item() end
local s = sgl.cache.stats()
print(("look-ups in memory: p50 %.2f us, p95 %.2f us, p99 %.2f us; compiles: p50 %.0f us"):format(
  s.lookup_us.p50, s.lookup_us.p95, s.lookup_us.p99, s.compile_us.p50))
if own then
  sgl.cache.clear { disk = true }
  os.remove(own)
end
