-- config.lua: docs/config.md: the settings.
--
-- In:    core.knobs().
-- Out:   the page as a string.
-- Holds: nothing in it depends on the machine or on settings that are in force: defaults only.
local core = require "sgl.core"
local words = require "api.words"

local HEAD = [[
# Settings

Written by `make docs` from `src/base/knob.def`; do not edit.

A setting can be given in three places; the later wins:

1. the environment: `SGL_THREADS=2 sgl train.lua`;
2. a flag before the script: `sgl --threads=2 train.lua` (also `--threads 2`);
3. the script: `sgl.config.threads = 2`. Reading `sgl.config.threads` gives the value in force.

A name or value that does not exist is an error (`SGL_EKNOB`) that says what would have fitted.
]]

local function range(knob)
  if knob.values then return (knob.values:gsub("%S+", "`%0`"):gsub(" ", ", ")) end
  return ("%d to %d"):format(knob.low, knob.high)
end

--- docs/config.md
return function()
  local rows = {}
  for i, knob in ipairs(core.knobs()) do
    rows[i] = {
      "`" .. knob.name .. "`", "`SGL_" .. knob.name:upper() .. "`", range(knob),
      "`" .. knob.default .. "`", knob.help,
    }
  end
  return HEAD .. "\n"
    .. words.table({ "name", "environment", "values", "default", "meaning" }, rows) .. "\n"
end
