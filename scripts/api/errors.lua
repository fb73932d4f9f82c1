-- errors.lua: the table of codes inside docs/errors.md; the rest of that page is written by hand.
--
-- In:    src/base/err.def, and the page as it is.
-- Out:   the page with the lines between the two marks replaced.
local words = require "api.words"

local OPEN, CLOSE = "<!-- codes: written by make docs -->\n", "<!-- end of codes -->"

local function codes(definitions)
  local rows = {}
  for name, number, sentence in definitions:gmatch 'X%(([%w_]+),%s*(-?%d+),%s*"([^"]*)"%)' do
    rows[#rows + 1] = { "`" .. name .. "`", number, sentence }
  end
  return words.table({ "code", "number in C", "meaning" }, rows)
end

--- docs/errors.md
return function(definitions, page)
  local _, open = page:find(OPEN, 1, true)
  local close = open and page:find(CLOSE, open, true)
  assert(close, "docs/errors.md has lost the marks around the table of codes")
  return page:sub(1, open) .. codes(definitions) .. "\n" .. page:sub(close)
end
