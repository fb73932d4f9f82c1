-- help.lua: `?name` at the prompt: prints the row of a public function, or of a setting.
--
-- Holds: the text comes from the rows that check the calls, so it cannot be out of date.
local api = require "sgl.api"
local breaks = require "sgl.breaks"
local core = require "sgl.core"

local help = {}

local function signature(row)
  local words = {}
  for _, arg in ipairs(row.args or {}) do
    local rest = arg[2]:find "%.%.%.$" and "..." or ""
    words[#words + 1] = arg[2]:find "%?$" and ("[%s]"):format(arg[1]) or arg[1] .. rest
  end
  if row.opts then words[#words + 1] = "{ options }" end
  if row.kind == "class" and not row.args then return row.full end
  return ("%s(%s)"):format(row.full, table.concat(words, ", "))
end

local function describe_row(row, out)
  out[#out + 1] = signature(row)
  out[#out + 1] = "  " .. (row.doc or "")
  for _, arg in ipairs(row.args or {}) do
    out[#out + 1] = ("  %-18s %s%s"):format(arg[1], arg[2], arg[3] and ": " .. arg[3] or "")
  end
  for _, opt in ipairs(row.opts or {}) do
    local default = opt[3] ~= nil and (" (default %s)"):format(tostring(opt[3])) or ""
    out[#out + 1] = ("  %-18s %s%s%s"):format(opt[1] .. " =", opt[2],
      opt[4] and ": " .. opt[4] or "", default)
  end
  if row.returns then out[#out + 1] = "  returns " .. row.returns end
  if row.errors then out[#out + 1] = "  error on " .. row.errors end
end

-- What a setting may be, by the type of its row.
local RANGES = {
  integer = function(knob) return ("%d to %d"):format(knob.low, knob.high) end,
  choice = function(knob) return "one of: " .. knob.values end,
  set = function(knob) return "all, none, or some of: " .. knob.values end,
  path = function() return "a path" end,
}

local function describe_knob(knob, out)
  out[#out + 1] = ("sgl.config.%s = %s"):format(knob.name, knob.value)
  out[#out + 1] = "  " .. knob.help
  out[#out + 1] = ("  %s; default %s%s"):format(RANGES[knob.type](knob),
    knob.default == "" and "empty" or knob.default,
    knob.from == "default" and "" or ("; set by: %s"):format(knob.from))
end

-- Does a row answer to the name? "linear", "nn.linear" and "sgl.nn.linear" all do.
local function answers(row, name)
  local full = row.full:gsub("^sgl%.", "")
  return row.name == name or full == name:gsub("^sgl%.", "")
end

local function rows_named(name)
  local found = {}
  for _, row in ipairs(api.all()) do
    if row.kind == "alias" and answers(row, name) then return rows_named(row.of) end
    if row.kind ~= "module" and answers(row, name) then found[#found + 1] = row end
  end
  return found
end

local function suggestion(name)
  local names = {}
  for _, row in ipairs(api.all()) do names[#names + 1] = row.name end
  local near = core.nearest(name, names)
  return near and (" (did you mean ?%s)"):format(near) or ""
end

--- The help text for a name.
function help.text(name)
  for _, room in ipairs { "sgl.nn", "sgl.optim", "sgl.data" } do require(room) end
  local out = {}
  for i, row in ipairs(rows_named(name)) do
    if i > 1 then out[#out + 1] = "" end
    describe_row(row, out)
  end
  for _, knob in ipairs(core.knobs()) do
    if knob.name == name:gsub("^sgl%.config%.", "") then describe_knob(knob, out) end
  end
  local entry = breaks.text(name)
  if entry then out[#out + 1] = entry end
  if #out == 0 then
    return ("nothing is known of %s%s"):format(core.quote(name), suggestion(name))
  end
  return table.concat(out, "\n")
end

return help
