-- examples_of.lua: runs the examples of docs/api.md (calls.lua).
--
-- In:    the name of a row.
-- Out:   Markdown: the code, and behind "-->" what it gives; nil where there is no example.
-- Holds: each runs with fresh names and the same random numbers, as if it were the only one.
local sgl = require "sgl"
local calls = require "api.calls"

-- Runs fn with its prints in a list.
local function printed(fn)
  local lines, real = {}, print
  function _G.print(...)
    local words = table.pack(...)
    for i = 1, words.n do words[i] = tostring(words[i]) end
    lines[#lines + 1] = table.concat(words, "   ")
  end
  local ok, e = pcall(fn)
  _G.print = real
  if not ok then error(e, 0) end
  return lines
end

local function chunk(name, code)
  local head = calls.preamble .. "\n"
  local env = setmetatable({}, { __index = _G })
  local expression = load(head .. "print(" .. code .. ")", "=example", "t", env)
  local fn = expression or assert(load(head .. code, "=example", "t", env), name)
  return function()
    local made, real = {}, os.tmpname
    function os.tmpname()
      made[#made + 1] = real()
      return made[#made]
    end
    local ok, e = pcall(fn)
    os.tmpname = real
    for _, path in ipairs(made) do
      os.execute(("rm -rf '%s' '%s.dot' '%s.sgl'"):format(path, path, path))
    end
    if not ok then error(("%s: %s"):format(name, tostring(e)), 0) end
  end
end

--- The example of a row, run, as Markdown.
return function(name)
  local code, page = calls.code[name], calls.pages[name]
  if page then return ("Example: [%s](%s).\n"):format(page, page) end
  if not code then return nil end
  sgl.seed(0)
  local lines = printed(chunk(name, code))
  local out = { "```lua", code }
  local text = table.concat(lines, "\n"):gsub("%s+$", "")
  assert(not text:find "0x%x%x%x", name .. " shows an address")
  for line in (text == "" and "" or text .. "\n"):gmatch "(.-)\n" do
    out[#out + 1] = ("--> " .. line):gsub("%s+$", "")
  end
  out[#out + 1] = "```\n"
  return table.concat(out, "\n")
end
