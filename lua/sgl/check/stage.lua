-- check/stage.lua: a stage of `sgl check`: the script run in processes of its own.
--
-- In:    what is checked (see init.lua), the stage's spec: "single", "ddp:2", "fsdp:4", or a mesh
--        such as "data=2,model=2".
-- Out:   { spec, ranks, plan, records, status, output, folder }: what each rank noted (record.lua).
-- Holds: all stages get the same script, arguments, seeds and number of steps. A stage that does
--        not end by itself is ended by its time limit.
local core = require "sgl.core"
local pack = require "sgl.check.pack"
local shell = require "sgl.shell"

local stage = {}

local MAIN = 'require "sgl" require("sgl.check.record").main(...)\n'

--- A spec as { spec, ranks, plan }, plan nil for one rank; raises on what is none.
function stage.parse(spec)
  local kind, count = spec:match "^(%a+):(%d+)$"
  if spec == "single" then return { spec = spec, ranks = 1, title = spec } end
  if kind == "ddp" or kind == "fsdp" then
    local ranks = math.tointeger(tonumber(count))
    if ranks < 1 then core.raise("SGL_EARG", ("check: stage '%s': no rank"):format(spec)) end
    return { spec = spec, ranks = ranks, plan = kind, title = ("%s × %d"):format(kind, ranks) }
  end
  local ranks = 1
  for axis in (spec .. ","):gmatch "([^,]*)," do
    local size = axis:match "^%a[%w_]*=(%d+)$"
    if not size then
      core.raise("SGL_EARG", ("check: '%s' is no stage"):format(spec),
        "single, ddp:2, fsdp:4, or a mesh such as data=2,model=2")
    end
    ranks = ranks * math.tointeger(tonumber(size))
  end
  return { spec = spec, ranks = ranks, plan = spec, title = spec }
end

-- This program itself: the shell's parent.
local function program()
  local file <close> = io.popen "readlink /proc/$PPID/exe"
  return file:read "l"
end

local function command_of(c, s, main, options)
  local words = { shell.quote(program()) }
  local function add(...)
    for _, w in ipairs { ... } do words[#words + 1] = shell.quote(tostring(w)) end
  end
  if s.plan then add("run", "-n", s.ranks, "--timeout", c.timeout, "--plan", s.plan) end
  if c.exact > 0 then add("--exact", c.exact) end
  add(main, options, c.script)
  add(table.unpack(c.arguments or {}))
  return ("timeout -k 5 %d %s"):format(c.limit, table.concat(words, " "))
end

local function read_all(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a" or ""
end

--- Runs a stage; `resume` continues from the checkpoint of another one.
function stage.run(c, s, resume)
  local folder = ("%s/%s%s"):format(c.folder, s.spec:gsub("%W", "-"), resume and "-resumed" or "")
  assert(os.execute("mkdir -p " .. shell.quote(folder)))
  local main, options = folder .. "/main.lua", folder .. "/options"
  local file <close> = assert(io.open(main, "w"))
  file:write(MAIN)
  file:close()
  pack.write(options, { folder = folder, steps = c.steps, at = c.at, export = not resume,
    resume = resume ~= nil, checkpoint = resume and resume.folder .. "/checkpoint.safetensors",
    given = resume and resume.folder .. "/results.safetensors",
    results = resume and resume.results })
  local started = core.clock()
  local log = folder .. "/output"
  local ok, _, status = os.execute(("%s > %s 2>&1 < /dev/null"):format(
    command_of(c, s, main, options), shell.quote(log)))
  local out = { spec = s.spec, title = s.title, ranks = s.ranks, folder = folder,
                status = ok and 0 or status, output = read_all(log),
                seconds = core.clock() - started, records = {} }
  for rank = 0, s.ranks - 1 do
    out.records[rank + 1] = pack.read(("%s/rank%d"):format(folder, rank)) or nil
  end
  out.record = out.records[1]
  return out
end

--- What the stage's first rank noted of the results of its steps, for one that resumes.
function stage.results(s)
  local list = {}
  for n, step in ipairs(s.record.steps) do list[n] = step.results end
  return list
end

return stage
