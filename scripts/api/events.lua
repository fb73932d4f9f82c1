-- events.lua: the tables inside docs/events.md; the rest of that page is written by hand.
--
-- In:    core.event_kinds(), core.lifecycle_steps(), and the page as it is.
-- Out:   the page with the lines between the marks replaced.
local core = require "sgl.core"
local words = require "api.words"

local function kinds()
  local rows = {}
  for i, kind in ipairs(core.event_kinds()) do
    rows[i] = { "`" .. kind.name .. "`", kind.help, (kind.fields:gsub("[%w_]+", "`%0`")), kind.pace,
                kind.component == "" and "" or "`" .. kind.component .. "`" }
  end
  return words.table({ "event", "happens when", "fields", "pace", "component" }, rows)
end

local function steps()
  local rows = {}
  for i, step in ipairs(core.lifecycle_steps()) do rows[i] = { step.from, step.to, step.when } end
  return words.table({ "from", "to", "when" }, rows)
end

local function replace(page, name, text)
  local _, open = page:find("<!-- " .. name .. ": written by make docs -->\n", 1, true)
  local close = open and page:find("<!-- end of " .. name .. " -->", open, true)
  assert(close, "docs/events.md has lost the marks around " .. name)
  return page:sub(1, open) .. text .. "\n" .. page:sub(close)
end

--- docs/events.md
return function(page)
  return replace(replace(page, "events", kinds()), "lifecycle", steps())
end
