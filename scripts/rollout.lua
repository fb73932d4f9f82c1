#!/usr/bin/env sgl
-- rollout.lua: a gate for a release: a script must be ready on one rank and on many.
--
--   sgl scripts/rollout.lua SCRIPT [REPORT]      REPORT: name of the reports (default: rollout)
--
-- Out:   the table; exit status 0 when it is ready, 1 when not. A gate of your own may ask for
--        more, as this one does for a bound on what a step sends.
local sgl = require "sgl"

local MOST_MEGABYTES = 100

local script, name = arg[1], arg[2] or "rollout"
if not script then
  io.stderr:write("usage: sgl rollout.lua SCRIPT [REPORT]\n")
  os.exit(1)
end

local report = sgl.rollout { script = script, stages = { "single", "ddp:2", "fsdp:2" } }
print(report)
report:write(name)

local ready = report.ok
for _, stage in ipairs(report.stages) do
  for _, line in ipairs(stage.lines) do
    local sent = line.name == "schedule" and tonumber(line.text:match "([%d.e+]+) MB a step")
    if sent and sent > MOST_MEGABYTES then
      print(("%s sends %g MB a step, more than %d"):format(stage.title, sent, MOST_MEGABYTES))
      ready = false
    end
  end
end
os.exit(ready, true)
