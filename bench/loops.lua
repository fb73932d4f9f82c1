-- loops.lua: loops outside sgl.compile: time of the first and the last 1,000 steps, and memory.
--
--   sgl bench/loops.lua [STEPS [LOOP …]]      default: 100000 steps of each

local sgl = require "sgl"
local core = require "sgl.core"
local nn, optim = sgl.nn, sgl.optim

local function training(options)
  local m = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8))
  local opt = optim.AdamW(m:parameters(), { lr = 1e-3 })
  local x = sgl.randn(16, 8):realize()
  local function step()
    local loss = (m(x) ^ 2):mean()
    if options.segments and loss:item() > 1e9 then error "it diverged" end
    opt:minimize(loss)
    if options.read then loss:item() end
    return loss
  end
  return options.segments and sgl.compile(step, { fullgraph = false }) or step
end

local LOOPS = {
  { "adamw, loss read", function() return training { read = true } end },
  { "adamw, nothing read", function() return training {} end },
  { "adamw in segments", function() return training { segments = true } end },
  { "a sum of losses", function()
    local w, total = sgl.randn(8):realize(), nil
    return function()
      local l = (w * 2):sum()
      l:item()
      total = total and total + l or l
    end
  end },
  { "a moving average", function()
    local w, average = sgl.randn(8):realize(), sgl.zeros(8)
    return function()
      w:assign(w * 0.999 + 0.01)
      average:assign(average * 0.9 + w * 0.1)
      w:sum():item()
    end
  end },
}

local steps = math.tointeger(tonumber(arg[1])) or 100000
local wanted = {}
for i = 2, #arg do wanted[arg[i]] = true end
local part = math.min(1000, steps // 4)

local function timed(step)
  local start = core.clock()
  for _ = 1, part do step() end
  return (core.clock() - start) / part * 1e6
end

for _, loop in ipairs(LOOPS) do
  local name = loop[1]
  if #arg < 2 or wanted[name] then
    sgl.seed(1)
    core.cache_clear()
    local step = loop[2]()
    for _ = 1, part // 4 do step() end
    local first = timed(step)
    collectgarbage()
    local before = core.memory().live
    for _ = 1, steps - 2 * part do step() end
    local last = timed(step)
    collectgarbage()
    print(("%-20s %d steps: first %8.1f us, last %8.1f us, ratio %.2f, memory %7.1f -> %7.1f MB")
      :format(name, steps, first, last, last / first, before / 2 ^ 20, core.memory().live / 2 ^ 20))
  end
end
