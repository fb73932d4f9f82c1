-- check/init.lua: sgl.rollout and `sgl check`: one script in stages, from one device to many ranks,
-- and a verdict.
--
-- In:    a script, its arguments, the stages, how many steps.
-- Out:   a Report (report.lua): lines by stage, a verdict, files for people and for CI systems.
-- Holds: a stage runs when the one before holds, unless `keep_going`. Nothing of the script is
--        changed; what stages write lies in a folder that is gone afterwards.
local api = require "sgl.api"
local core = require "sgl.core"
local lines = require "sgl.check.lines"
local report = require "sgl.check.report"
local stage = require "sgl.check.stage"

local check = {}

local function remove(folder) os.execute(("rm -rf '%s'"):format(folder)) end

local function new_folder()
  local pipe <close> = io.popen "mktemp -d"
  return pipe:read "l" or error("check: there is no room for a folder of temporary files", 0)
end

-- Looks at a finished stage; returns its lines and whether all hold.
local function look(c)
  local out, fine = {}, true
  for _, row in ipairs(lines) do
    local name, fn, applies = row[1], row[2], row[3]
    if not applies or applies(c) then
      local ok, text = fn(c)
      out[#out + 1] = { name = name, ok = ok, text = text }
      fine = fine and ok
      if not ok and name == "captured whole" then break end
    end
  end
  return out, fine
end

local function run_stage(c, spec, before, first)
  local s = stage.parse(spec)
  local ran = stage.run(c, s)
  local view = { stage = ran, record = ran.record, first = first or ran, from = before or ran,
                 exact = c.exact > 0, at = c.at }
  local whole = ran.status == 0 and ran.record and not ran.record.error and #ran.record.steps > c.at
  if whole then
    local from = before or ran
    view.resumed = stage.run(c, s, { folder = from.folder, results = stage.results(from) })
  end
  ran.lines, ran.ok = look(view)
  return ran
end

--- Runs the stages; c: script, arguments, stages, steps, exact, timeout, limit, keep_going.
function check.run(c)
  for _, spec in ipairs(c.stages) do stage.parse(spec) end
  local file <close>, message = io.open(c.script)
  if not file then core.raise("SGL_EFILE", "check: " .. message) end
  c.folder = new_folder()
  c.at = c.steps // 2
  local out = { script = c.script, steps = c.steps, exact = c.exact, stages = {}, ok = true }
  local cleaned <close> = setmetatable({}, { __close = function() remove(c.folder) end })
  for i, spec in ipairs(c.stages) do
    local ran = run_stage(c, spec, out.stages[i - 1], out.stages[1])
    out.stages[i] = ran
    out.ok = out.ok and ran.ok
    if c.each then c.each(i, ran) end
    if not ran.ok and not (c.keep_going and ran.record and #ran.record.steps > c.at) then
      out.skipped = #c.stages - i
      break
    end
  end
  return report.new(out)
end

api.fn(api.root, "rollout", {
  doc = "Runs a script in stages, from one rank to many, each in processes of its own, and "
    .. "compares graphs, data, state, losses, exported files and checkpoints. `sgl check` is the "
    .. "same. See rollout.md.",
  opts = { { "script", "string", nil, "the path of the script" },
           { "arguments", "table", nil, "texts that it gets" },
           { "stages", "table", nil, "default { 'single', 'ddp:2', 'fsdp:2' }" },
           { "steps", "integer", 20, "training steps of each stage", within = { 2, 1000000 } },
           { "exact", "integer", 8, "blocks of exact mode; 0: compare within rounding",
             within = { 0, 256 } },
           { "timeout", "number", 30, "seconds that a rank waits for the others" },
           { "limit", "integer", 600, "seconds that a stage may take", within = { 1, 1000000 } },
           { "keep_going", "boolean", false, "go on behind a stage that fails" } },
  returns = "Report: ok, lines, first_failure(), json(), junit(), html()",
  errors = "no script, a stage that is none",
}, function(o)
  if not o.script then
    core.raise("SGL_EARG", "rollout: option 'script' is missing", "script = \"train.lua\"")
  end
  o.stages = o.stages or { "single", "ddp:2", "fsdp:2" }
  return check.run(o)
end)

-- ---- the command line

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
function check.main(...)
  local c = options { ... }
  c.stages = stages_of(c)
  c.each = function(i, ran)
    io.write(report.stage_text(i, ran))
    io.flush()
  end
  local r = check.run(c)
  local files = c.report ~= "none" and r:write(c.report) or nil
  print(r:verdict() .. (files and "      report: " .. table.concat(files, ", ") or ""))
  return r.ok
end

return check
