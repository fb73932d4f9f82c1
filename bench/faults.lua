-- faults.lua: kills, stops and breaks a random rank at a random step, and looks at what follows.
--
--   sgl bench/faults.lua [RUNS [KIND …]]      default: 20 runs of each kind
--
-- A line for each kind: in how many runs all ranks ended in time with the right verdict and status,
-- the longest and the median time from the fault to the end of the job, and what went wrong. At the
-- end: is anything left, of processes and in /dev/shm?

local BINARY = arg[-1]
local TIMEOUT, RANKS, STEPS = 0.5, 3, 30
local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir " .. folder))

-- What a rank does, the status of the job, what the verdict says of the rank, and whether the
-- others have to wait for it.
local KINDS = {
  { "kill", "os.execute 'kill -9 $PPID'", 137, "rank %d was killed by signal 9" },
  { "stop", "os.execute 'kill -STOP $PPID'", 1,
    "for rank %d in exchange .* stopped by a signal", 1 },
  { "exception", "error 'no luck'", 1, "rank %d failed with status 1 .*no luck" },
  { "exit", "os.exit(7)", 7, "rank %d failed with status 7" },
  { "leave", "os.exit(0)", 1, "rank %d has ended its script" },
  { "loop", "while true do end", 1, "for rank %d in exchange .* busy at .*s.lua:%%d+", 1 },
  { "read", "io.popen 'sleep 1000':read()", 1,
    "for rank %d in exchange .* blocked at .*s.lua:%%d+", 1 },
  { "term", "os.execute 'kill -TERM $PPID'", 143, "" },
  { "memory", "for n = 1, 999 do core.fail_alloc(n) sgl.ones(3, n):sum():item() end", 1,
    "rank %d failed with status 1" },
}

local SCRIPT = [[
local sgl = require "sgl"
local core = require "sgl.core"
local w = sgl.ones(4, 2)
local step = sgl.compile(function(x)
  local loss = x:matmul(w):sum()
  w:assign(w * 0.5)
  return loss
end)
local function saved(name)
  return function(e)
    io.open(arg[3] .. "/" .. name .. sgl.dist.rank, "w"):write(tostring(e.step)):close()
  end
end
sgl.dist.on_stop(saved "stop")
sgl.dist.on_failure(saved "failure")
for i = 1, %d do
  if i == tonumber(arg[1]) and sgl.dist.rank == tonumber(arg[2]) then
    local f = io.open("/proc/uptime")
    io.open(arg[3] .. "/began", "w"):write(f:read "n"):close()
    %s
  end
  step(sgl.ones(8, 4)):item()
end
]]

local function read(path)
  local f <close> = io.open(path)
  return f and f:read "a"
end

local function shell(command)
  local p = io.popen(command)
  local text = p:read "a"
  p:close()
  return text
end

-- nil and the seconds it took, or what is wrong.
local function run(kind, at, rank)
  os.execute(("rm -f %s/stop* %s/failure* %s/began"):format(folder, folder, folder))
  local path = folder .. "/s.lua"
  io.open(path, "w"):write(SCRIPT:format(STEPS, kind[2])):close()
  local command = "timeout 60 %s run -n %d --timeout %g %s %d %d %s 2>&1; printf '\n%%d' $?"
  local out = shell(command:format(BINARY, RANKS, TIMEOUT, path, at, rank, folder))
  local now = tonumber(read "/proc/uptime":match "%S+")
  local text, status = out:match "^(.*)\n(%d+)$"
  if tonumber(status) ~= kind[3] then return ("status %s\n%s"):format(status, text) end
  if not text:find(kind[4]:format(rank)) then return "verdict\n" .. text end
  local handler = kind[1] == "term" and "stop" or "failure"
  local steps = {}
  for r = 0, RANKS - 1 do
    local saved = read(("%s/%s%d"):format(folder, handler, r))
    if not saved and (r ~= rank or handler == "stop") then return "no handler on rank " .. r end
    steps[#steps + 1] = saved
  end
  if handler == "stop" and (steps[1] ~= steps[2] or steps[2] ~= steps[3]) then
    return "steps " .. table.concat(steps, " ")
  end
  local seconds = now - tonumber(read(folder .. "/began"))
  if seconds > (kind[5] and TIMEOUT or 0) + 3 then return ("%.1f s"):format(seconds) end
  return nil, seconds
end

local runs = tonumber(arg[1]) or 20
local wanted = {}
for i = 2, #arg do wanted[arg[i]] = true end
math.randomseed(tonumber(os.getenv "SGL_SEED") or 1)
local shm = shell "ls /dev/shm"
for _, kind in ipairs(KINDS) do
  if not next(wanted) or wanted[kind[1]] then
    local fine, times, wrong = 0, {}, {}
    for _ = 1, runs do
      local why, seconds = run(kind, math.random(2, STEPS), math.random(0, RANKS - 1))
      if why then wrong[#wrong + 1] = why else fine, times[#times + 1] = fine + 1, seconds end
    end
    table.sort(times)
    print(("%-10s %d of %d   median %.2f s, longest %.2f s"):format(kind[1], fine, runs,
      times[#times // 2 + 1] or 0, times[#times] or 0))
    for i = 1, math.min(3, #wrong) do print("  " .. wrong[i]:gsub("\n", "\n    ")) end
  end
end
print("left in /dev/shm: " .. (shell "ls /dev/shm" == shm and "nothing" or shell "ls /dev/shm"))
print("left processes: " .. shell("ps -eo args | grep -c '^sleep 1000' || true"):gsub("\n", ""))
os.execute("rm -r " .. folder)
