-- config.lua: docs/config.md: the settings.
--
-- In:    core.knobs(), core.presets().
-- Out:   the page as a string.
-- Holds: nothing in it depends on the machine or on settings that are in force: defaults only.
local core = require "sgl.core"
local words = require "api.words"

local HEAD = [[
# Settings

Written by `make docs` from `src/base/knob.def` and `src/base/preset.def`; do not edit.

A setting can be given in four places; the later wins, in whatever order they are read:

1. a configuration file, see below;
2. the environment: `SGL_THREADS=2 sgl train.lua`;
3. a flag before the script: `sgl --threads=2 train.lua` (also `--threads 2`);
4. the script: `sgl.config.threads = 2`. Reading `sgl.config.threads` gives the value in force,
   `sgl.config.from "threads"` where it came from, `print(sgl.config)` all of them.

A name or value that does not exist is an error (`SGL_EKNOB`) that names the nearest one and, in a
file, the line. In the environment, that is a variable `SGL_…` that is nearly a setting's.
]]

local FILE = [[
## The file

The first of these that is there: what `--config` or `SGL_CONFIG` names, `sgl.yaml`,
`sgl.config.lua`; the last two in the current folder. A file that is named and not there is an
error; so is one that is there and cannot be read, or a folder or a pipe in its place. A path that
begins with `~/` is in the folder that `HOME` names.

A file that is only found, not named, may have come with a folder of somebody else's. It sets no
path (`cache_dir`), and one in Lua ends after some seconds with an error.

YAML (read by libyaml, package `libyaml-0-2`) takes names with values, and lists for sets:

```yaml
preset: prod
threads: 4
enable: [cpu, cache, compile]
```

A Lua file sets globals. It sees nothing but `env "NAME"` (the environment), copies of `math`,
`string` and `table`, and a few functions:

```
threads = tonumber(env "SLURM_CPUS_PER_TASK" or 2)
enable = { disk = false }          -- all but disk
```

A C program reads the environment when it opens a context, and a YAML file when it says so:
`sgl_config_load(cx, NULL)` takes the file that would be found here, `sgl_set` sets one setting.

## Sets

`enable` names the components that start and whose events are told: `cpu,cache` is these two,
`all`, `none`, and with a minus sign all but one: `-disk`. In Lua also `{ "cpu", "cache" }` and
`{ disk = false }`. A backend that is left out cannot be used; without `cache` each reading of a
tensor compiles anew; without `disk` nothing is read from or written to the folder of programs.

## Presets

`sgl.config.preset "prod"`, or the setting `preset` in any of the other places, sets what the table
says. `sgl.config.preset` is a function, which prints as the preset; to compare, call it:
`sgl.config.preset() == "prod"`.
]]

local RANGES = {
  integer = function(knob) return ("%d to %d"):format(knob.low, knob.high) end,
  choice = function(knob) return (knob.values:gsub("%S+", "`%0`"):gsub(" ", ", ")) end,
  set = function(knob) return "a set of " .. knob.values:gsub("%S+", "`%0`"):gsub(" ", ", ") end,
  path = function() return "a path" end,
  text = function() return "a text" end,
}

local function preset_rows()
  local rows = {}
  for i, row in ipairs(core.presets()) do
    rows[i] = { "`" .. row.preset .. "`", "`" .. row.setting .. "`", "`" .. row.value .. "`" }
  end
  return rows
end

--- docs/config.md
return function()
  local rows = {}
  for i, knob in ipairs(core.knobs()) do
    rows[i] = {
      "`" .. knob.name .. "`", "`SGL_" .. knob.name:upper() .. "`", RANGES[knob.type](knob),
      knob.default == "" and "" or "`" .. knob.default .. "`", knob.help,
    }
  end
  return HEAD .. "\n"
    .. words.table({ "name", "environment", "values", "default", "meaning" }, rows) .. "\n\n"
    .. FILE .. "\n" .. words.table({ "preset", "setting", "value" }, preset_rows())
    .. "\n\nWhat is said expressly in the same place wins over the preset; in the script the last "
    .. "word counts.\n"
end
