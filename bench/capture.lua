-- capture.lua: what capture costs: guards at each step, capture of a step.
--
-- Out:   lines of text; the best of several runs each, in time of the processor.

local sgl = require "sgl"
local core = require "sgl.core"
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local models = require "models"
local nn, optim = sgl.nn, sgl.optim

local function best(runs, fn)
  local least = math.huge
  for _ = 1, runs do
    local start = os.clock()
    fn()
    least = math.min(least, os.clock() - start)
  end
  return least
end

local function linears(count, width)
  local list = {}
  for i = 1, count do list[i] = nn.Linear(width, width) end
  return nn.Sequential(table.unpack(list))
end

local function guard_line(what, step)
  local guards = step.order[1].guards
  local seconds = best(9, function()
    for _ = 1, 200 do core.guards_check(guards) end
  end) / 200
  core.touch()
  local moved = best(9, function()
    for _ = 1, 200 do
      core.touch()
      core.guards_check(guards)
    end
  end) / 200
  print(("%-28s %5d guards  %7.2f us a step, %7.2f us after a write to a module"):format(what,
    #core.guards_list(guards), seconds * 1e6, moved * 1e6))
end

local function guards()
  local model, x = linears(100, 8), sgl.ones(2, 8):realize()
  local forward = sgl.compile(function(v) return model(v) end)
  forward(x)
  guard_line("100 layers, forward", forward)
  local opt = optim.AdamW(model:parameters(), { lr = 1e-3 })
  local train = sgl.compile(function(v)
    local loss = model(v):sum()
    opt:minimize(loss)
    return loss
  end)
  train(x)
  guard_line("100 layers, training", train)
end

-- Milliseconds of capture with compilation, and of compilation alone.
local function times(make)
  local whole, compile, capture = math.huge, math.huge, core.capture
  for _ = 1, 7 do
    collectgarbage()
    local run, step = make()
    core.capture = function(...)
      local start = os.clock()
      local results = table.pack(capture(...))
      whole = math.min(whole, (os.clock() - start) * 1e3)
      return table.unpack(results, 1, results.n)
    end
    run()
    core.capture = capture
    compile = math.min(compile, step:info().compile_ms)
  end
  return whole, compile
end

guards()
local LINE = "%-28s capture and compile %7.2f ms, compile alone %7.2f ms"
print(LINE:format("gpt-small, training", times(models["gpt-small"])))
