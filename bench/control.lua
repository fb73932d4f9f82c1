-- control.lua: control flow as nodes against the same computation unrolled, and equal blocks.
--
-- Out:   for an LSTM by scan and by a Lua loop: time of the first call (capture and compilation)
--        and of a step with gradients; for N equal blocks: the same, kernels and distinct kernels;
--        the cost of one step of a loop that does next to nothing, and of a cond in it.
-- Holds: times are the best of several runs, in time of the processor.
local sgl = require "sgl"
local nn = sgl.nn

local function best(runs, fn)
  local least = math.huge
  for _ = 1, runs do
    local start = os.clock()
    fn()
    least = math.min(least, os.clock() - start)
  end
  return least * 1e3
end

-- { first call, later ones } in ms of a compiled function, and its facts.
local function measure(fn, ...)
  local f, args = sgl.compile(fn), { ... }
  local first = best(1, function() f(table.unpack(args)) end)
  return first, best(15, function() f(table.unpack(args)) end), f:info()
end

local HIDDEN, BATCH = 64, 32

local function lstm_line(steps)
  local cell = nn.LSTM(HIDDEN, HIDDEN)
  local params, x = cell:parameters(), sgl.randn(BATCH, steps, HIDDEN)
  local function unrolled(input)
    local y = cell(input)
    return sgl.grad((y * y):mean(), params)
  end
  local function scanned(input)
    local projected = nn.linear(input, cell.weight_ih_l0, cell.bias_ih_l0):transpose(1, 2)
    local zero = sgl.zeros(BATCH, HIDDEN)
    local _, y = sgl.scan(function(s, v)
      local i, f, g, o = (v + nn.linear(s.h, cell.weight_hh_l0, cell.bias_hh_l0)):chunk(4, -1)
      local c = f:sigmoid() * s.c + i:sigmoid() * g:tanh()
      local h = o:sigmoid() * c:tanh()
      return { h = h, c = c }, h
    end, { h = zero, c = zero }, projected)
    return sgl.grad((y * y):mean(), params)
  end
  for _, way in ipairs { { "unrolled", unrolled }, { "by scan", scanned } } do
    local first, later, info = measure(way[2], x)
    print(("LSTM %4d steps %-8s  first %8.1f ms  step %7.2f ms  %5d kernels %4d distinct %7d KiB")
      :format(steps, way[1], first, later, info.kernels, info.bodies, info.arena_bytes // 1024))
  end
end

local WIDTH = 32
local Block = nn.module("Block", function(self)
  self.norm = nn.LayerNorm(WIDTH)
  self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
end)
function Block:forward(x)
  local h = self.norm(x)
  x = x + (h:matmul(h:transpose(-1, -2)) / WIDTH):softmax(-1):matmul(h)
  return x + self.down(nn.gelu(self.up(self.norm(x))))
end

local function blocks_line(count)
  local list = {}
  for i = 1, count do list[i] = Block() end
  local net = nn.Sequential(table.unpack(list))
  local params, x = net:parameters(), sgl.randn(2, 16, WIDTH)
  local first, later, info = measure(function(input)
    return sgl.grad((net(input) ^ 2):mean(), params)
  end, x)
  print(("%4d equal blocks  first %7.1f ms (%5.2f each)  step %7.2f ms  %5d kernels %4d distinct")
    :format(count, first, first / count, later, info.kernels, info.bodies))
end

local function small_lines()
  local n = 10000
  local x = sgl.tensor(0.0)
  local _, loop = measure(function(v)
    return (sgl.loop(function(s) return s:lt(n) end, function(s) return s + 1 end, v, { max = n }))
  end, x)
  local _, scan = measure(function(v)
    return (sgl.scan(function(s) return s + 1 end, v, n))
  end, x)
  local _, cond = measure(function(v)
    return (sgl.scan(function(s)
      return sgl.cond(s:lt(n), function() return s + 1 end, function() return s end)
    end, v, n))
  end, x)
  print(("a step of a loop %.3f us, of a scan %.3f us, of a scan with a cond %.3f us"):format(
    loop * 1e3 / n, scan * 1e3 / n, cond * 1e3 / n))
end

for _, steps in ipairs { 8, 32, 128 } do lstm_line(steps) end
for _, count in ipairs { 2, 8, 32, 128 } do blocks_line(count) end
small_lines()
