-- check/run.lua: the stages of a rollout one after the other, and what is found in each.
--
-- In:    script, arguments, stages, steps, exact, timeout, limit, keep_going; each: a function that
--        is told of a stage when it has ended.
-- Out:   a Report (report.lua).
-- Holds: a stage runs when the one before holds, unless `keep_going`. What stages write lies in a
--        folder that is gone afterwards.
local core = require "sgl.core"
local lines = require "sgl.check.lines"
local report = require "sgl.check.report"
local shell = require "sgl.shell"
local stage = require "sgl.check.stage"

local function remove(folder) os.execute("rm -rf " .. shell.quote(folder)) end

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

--- Runs the stages.
return function(c)
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
