-- dist/plan.lua: `sgl plan`: what the step of a script costs each rank of a mesh, without ranks.
--
-- In:    the words behind `sgl plan`; the script, which runs up to its first training step.
-- Out:   a report on stdout: memory of a rank by class, collectives, an estimate of the time, the
--        largest buffers by line, and what would make it fit where it does not.
-- Holds: memory and bytes are those of the rank's own graph, partitioned and planned as `sgl run`
--        does it, of the rank with the largest parts; only times are estimates, of the device.
local api = require "sgl.api"
local core = require "sgl.core"

local USAGE = "usage: sgl plan [-n RANKS] [--plan PLAN] [--device NAME] [--memory GIB] [--exact S] "
  .. "SCRIPT [ARGUMENTS]"
local MOST_RANKS = 100000

-- What a device reaches of its peaks in a step: operations of products and bytes of memory a
-- second, seconds for a kernel to start; bytes a second between ranks of a machine and of several,
-- and seconds for a message. Ranks of a machine: `together`.
local DEVICES = {
  h200 = { memory = 141e9, dots = 40e12, traffic = 3.8e12, start = 4e-6, together = 8,
           near = 350e9, far = 40e9, message = 10e-6 },
  h100 = { memory = 80e9, dots = 40e12, traffic = 2.7e12, start = 4e-6, together = 8,
           near = 350e9, far = 40e9, message = 10e-6 },
  a100 = { memory = 80e9, dots = 14e12, traffic = 1.6e12, start = 5e-6, together = 8,
           near = 230e9, far = 20e9, message = 12e-6 },
}

-- The shortest of some runs, in seconds.
local function time(sgl, fn)
  local best = math.huge
  for _ = 1, 5 do
    local start = core.clock()
    sgl.realize(fn())
    best = math.min(best, core.clock() - start)
  end
  return best
end

-- This machine: a product and a copy are measured, the memory is read off.
local function measure()
  local sgl = require "sgl"
  local a, b = sgl.rand(384, 384), sgl.rand(384, 384)
  local x = sgl.rand(1 << 22)
  sgl.realize(a, b, x)
  local copy = 8 * x:numel() / time(sgl, function() return x + 1 end)
  local file, memory = io.open "/proc/meminfo", nil
  if file then
    memory = tonumber(file:read "a":match "MemTotal:%s*(%d+)")
    file:close()
  end
  return { memory = (memory or 2 ^ 24) * 1024, dots = 2 * 384 ^ 3 / time(sgl, function()
    return a:matmul(b)
  end), traffic = copy, start = 1e-6, together = math.huge, near = copy / 3, far = copy / 3,
    message = 5e-6 }
end

local function bytes_text(n)
  for _, unit in ipairs { { "GiB", 2 ^ 30 }, { "MiB", 2 ^ 20 }, { "KiB", 2 ^ 10 } } do
    if n >= unit[2] then return ("%.1f %s"):format(n / unit[2], unit[1]) end
  end
  return ("%.0f B"):format(n)
end

local function time_text(s)
  return s >= 1 and ("%.2f s"):format(s) or s >= 1e-3 and ("%.2f ms"):format(s * 1e3)
    or ("%.1f us"):format(s * 1e6)
end

local CLASSES = { "parameters", "gradients", "optimizer", "buffers", "arguments", "activations",
                  "results" }

-- An optimizer's state has its name, which is a setting of its class.
local function class_of(input)
  if input.kind == "arg" then return "arguments" end
  if input.trained then return "parameters" end
  return input.name:find "^opt[%w]*%." and "optimizer" or "buffers"
end

-- Bytes of a rank by class, and of the whole where that is something else.
local function memory_of(costs)
  local part, whole = {}, {}
  for _, class in ipairs(CLASSES) do part[class], whole[class] = 0, 0 end
  for _, input in ipairs(costs.inputs) do
    local class = class_of(input)
    part[class], whole[class] = part[class] + input.bytes, whole[class] + input.whole
    if input.trained then
      part.gradients, whole.gradients = part.gradients + input.bytes, whole.gradients + input.whole
    end
  end
  part.gradients = math.min(part.gradients, costs.workspace)
  part.activations = costs.workspace - part.gradients
  part.results = costs.outputs
  local total = 0
  for _, class in ipairs(CLASSES) do total = total + part[class] end
  return part, whole, total
end

-- Bytes that a rank sends, of a ring.
local function wire(c)
  local share = (c.members - 1) / c.members * c.bytes
  return c.op == "all_reduce" and 2 * share or share
end

local function comm_time(c, device)
  if c.members == 1 then return 0 end
  local rate = c.members > device.together and device.far or device.near
  return device.message * math.ceil(math.log(c.members, 2)) + wire(c) / rate
end

local function print_memory(costs, device, name)
  local part, whole, total = memory_of(costs)
  print(("\nmemory of a rank%25s%14s"):format("", "whole"))
  for _, class in ipairs(CLASSES) do
    if part[class] > 0 then
      print(("  %-24s%15s%14s"):format(class, bytes_text(part[class]),
        whole[class] > 0 and bytes_text(whole[class]) or ""))
    end
  end
  print(("  %-24s%15s   of %s (%s): %s"):format("all", bytes_text(total),
    bytes_text(device.memory), name, total <= device.memory and "fits" or "does not fit"))
  return total
end

-- Equal collectives are one line.
local function print_collectives(costs)
  local rows, by = {}, {}
  for _, c in ipairs(costs.collectives) do
    local key = c.op .. c.members
    local row = by[key]
    if not row then
      row = { op = c.op, members = c.members, count = 0, bytes = 0, wire = 0 }
      by[key], rows[#rows + 1] = row, row
    end
    row.count, row.bytes = row.count + 1, row.bytes + c.bytes
    row.wire = row.wire + wire(c)
  end
  print "\ncollectives of a step"
  if #rows == 0 then print "  none" end
  for _, row in ipairs(rows) do
    print(("  %-15s%6d over %-7d%12s, a rank sends %s"):format(row.op, row.count, row.members,
      bytes_text(row.bytes), bytes_text(row.wire)))
  end
end

local function print_time(costs, device, name)
  local compute = costs.dots / device.dots + costs.traffic / device.traffic
    + costs.steps * device.start
  local comm = 0
  for _, c in ipairs(costs.collectives) do comm = comm + comm_time(c, device) end
  print(("\ntime of a step, estimated (%s)"):format(name))
  print(("  computing     %12s   %.3g operations in products, %s read and written"):format(
    time_text(compute), costs.dots, bytes_text(costs.traffic)))
  print(("  communication %12s   exposed: nothing is computed meanwhile"):format(time_text(comm)))
  print(("  all           %12s"):format(time_text(compute + comm)))
end

local function print_buffers(costs)
  print "\nlargest buffers"
  for _, b in ipairs(costs.buffers) do
    print(("  %12s  %-24s %-12s %s"):format(bytes_text(b.bytes), b.type, b.op, b.where))
  end
end

-- The first plan that fits: shared state on the same ranks, then on more.
local function print_advice(graph, o, device, total)
  if total <= device.memory then return end
  local ranks = o.ranks
  while ranks <= MOST_RANKS do
    local ok, costs = pcall(core.ranks_plan, graph, { plan = "fsdp", ranks = ranks,
      exact = o.exact, reshard = api.root.config.reshard })
    local _, _, all = memory_of(ok and costs or { inputs = {}, workspace = 0, outputs = 0 })
    if ok and all <= device.memory then
      print(("\nit fits with: -n %d --plan fsdp (%s a rank)"):format(ranks, bytes_text(all)))
      return
    end
    ranks = ranks * 2
  end
  print("\nit fits with no number of ranks that share samples and state: "
    .. "fewer rows, a smaller model")
end

local function report(graph, o)
  local device = DEVICES[o.device] or measure()
  if o.memory then device.memory = o.memory * 2 ^ 30 end
  local costs = core.ranks_plan(graph, { plan = o.plan, ranks = o.ranks, exact = o.exact,
    reshard = api.root.config.reshard })
  o.ranks = costs.ranks
  print(("%s: a step on %d rank%s (%s)"):format(o.script, o.ranks, o.ranks == 1 and "" or "s",
    o.plan == "" and "ddp" or o.plan))
  local total = print_memory(costs, device, o.device)
  print_collectives(costs)
  print_time(costs, device, o.device)
  print_buffers(costs)
  print_advice(graph, o, device, total)
  io.stdout:flush()
end

local FLAGS = { ["-n"] = "ranks", ["--ranks"] = "ranks", ["--plan"] = "plan",
                ["--device"] = "device", ["--memory"] = "memory", ["--exact"] = "exact" }

-- The options before the script.
local function read_words(words)
  local o, i = { plan = "", device = "here", exact = 0 }, 1
  while words[i] and words[i]:sub(1, 1) == "-" do
    local name, value = words[i]:match "^(%-%-%w+)=(.*)$"
    local key = FLAGS[name or words[i]]
    value = value or words[i + 1]
    if not key or not value then error(USAGE, 0) end
    o[key] = key ~= "plan" and key ~= "device" and tonumber(value) or value
    i = i + (name and 1 or 2)
  end
  o.script, o.first = words[i], i
  local product = 1
  for size in o.plan:gmatch "=(%d+)" do product = product * tonumber(size) end
  o.ranks = o.ranks or product
  if not o.script then error(USAGE, 0) end
  if math.type(o.ranks) ~= "integer" or o.ranks < 1 or o.ranks > MOST_RANKS
    or math.type(o.exact) ~= "integer" or o.memory and type(o.memory) ~= "number" then
    error(("sgl plan: 1 to %d ranks, numbers\n%s"):format(MOST_RANKS, USAGE), 0)
  end
  if o.device ~= "here" and not DEVICES[o.device] then
    local names = {}
    for name in pairs(DEVICES) do names[#names + 1] = name end
    table.sort(names)
    error(("sgl plan: no device '%s'; here, %s"):format(o.device, table.concat(names, ", ")), 0)
  end
  return o
end

--- Runs the script until a step that updates state is captured, and reports on it; of a script
--- without one, on the last step.
return function(...)
  local words = { ... }
  local o, last = read_words(words), nil
  local chunk, message = loadfile(o.script)
  if not chunk then error(message, 0) end
  require "sgl"
  core.on_graph(function(graph)
    last = graph
    if graph:text():find "\nassign " then
      core.on_graph(nil)
      local ok, e = pcall(report, graph, o)
      if not ok then io.stderr:write("sgl: ", core.explain(tostring(e)), "\n") end
      io.stdout:flush()
      os.exit(ok, false)
    end
  end)
  _G.arg = { [0] = o.script, table.unpack(words, o.first + 1) }
  local ok, e = xpcall(chunk, function(e)
    return debug.traceback(core.explain(tostring(e)), 2)
  end, table.unpack(_G.arg))
  if not ok then error(e, 0) end
  if not last then error(("sgl plan: %s captured no step"):format(o.script), 0) end
  report(last, o)
end
