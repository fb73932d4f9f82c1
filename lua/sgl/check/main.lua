-- check/main.lua: `sgl check` on the command line.
--
-- In:    the words behind `sgl check`.
-- Out:   the table while it grows, the reports as files; whether all lines hold.
local report = require "sgl.check.report"
local run = require "sgl.check.run"

local USAGE = [[
usage: sgl check SCRIPT [options] [-- ARGUMENTS]
  --ranks 2           ranks of the stages ddp and fsdp (default 2)
  --stages a,b        the stages instead: single, ddp:N, fsdp:N; with ; between also meshes:
                      "single;data=2,model=2"
  --steps 20          training steps of each stage
  --exact 8           blocks of exact mode; 0 compares within rounding
  --timeout 30        seconds that a rank waits for the others
  --limit 600         seconds that a stage may take
  --keep-going        go on behind a stage that fails
  --report rollout    name of the reports .html .json .xml; none: no files]]

local NUMBERS = { ["--ranks"] = "ranks", ["--steps"] = "steps", ["--exact"] = "exact",
                  ["--timeout"] = "timeout", ["--limit"] = "limit" }
local TEXTS = { ["--stages"] = "stages", ["--report"] = "report" }

local function usage(message) error(message .. "\n" .. USAGE, 0) end

-- The words of the command line as options.
local function options(words)
  local c = { arguments = {}, steps = 20, exact = 8, timeout = 30, limit = 600, ranks = 2,
              report = "rollout" }
  local i = 1
  while words[i] do
    local word, value = words[i], nil
    if word == "--" then
      table.move(words, i + 1, #words, 1, c.arguments)
      break
    end
    local name, joined = word:match "^(%-%-[%w-]+)=(.*)$"
    name = name or word
    if NUMBERS[name] or TEXTS[name] then
      value = joined or words[i + 1]
      i = i + (joined and 0 or 1)
      if not value then usage(name .. ": a value is missing") end
      c[NUMBERS[name] or TEXTS[name]] = NUMBERS[name] and (math.tointeger(tonumber(value))
        or usage(("%s: a whole number is needed, got '%s'"):format(name, value))) or value
    elseif word == "--keep-going" then c.keep_going = true
    elseif word:sub(1, 1) == "-" then usage("unknown option " .. word)
    elseif not c.script then c.script = word
    else usage(("arguments of the script stand behind --: %s"):format(word)) end
    i = i + 1
  end
  if not c.script then usage "no script" end
  if c.steps < 2 then usage "--steps: at least 2" end
  if c.ranks < 1 then usage "--ranks: at least 1" end
  return c
end

local function stages_of(c)
  if not c.stages then return { "single", "ddp:" .. c.ranks, "fsdp:" .. c.ranks } end
  local list, between = {}, c.stages:find ";" and "[^;]+" or "[^,]+"
  if c.stages:find "=" and not c.stages:find ";" then return { "single", c.stages } end
  for spec in c.stages:gmatch(between) do list[#list + 1] = spec end
  return list
end

--- `sgl check`: prints the table while it grows, writes the reports; returns whether all holds.
return function(...)
  local c = options { ... }
  c.stages = stages_of(c)
  c.each = function(i, ran)
    io.write(report.stage_text(i, ran))
    io.flush()
  end
  local r = run(c)
  local files = c.report ~= "none" and r:write(c.report) or nil
  print(r:verdict() .. (files and "      report: " .. table.concat(files, ", ") or ""))
  return r.ok
end
