-- words.lua: rows of the registry as words: types, defaults, calls.
--
-- In:    rows as lua/sgl/api.lua describes them.
-- Out:   Markdown fragments that the pages share.
local words = {}

local SHOWN = { ["function"] = "function", any = "any value", table = "table" }

--- "integer|table?" as `{ names = { "integer", "table" }, optional = true, rest = false }`.
function words.type(text)
  local names = {}
  for name in text:gsub("%?$", ""):gsub("%.%.%.$", ""):gmatch "[^|]+" do
    names[#names + 1] = name
  end
  return { names = names, optional = text:find "%?$" ~= nil, rest = text:find "%.%.%.$" ~= nil }
end

local function range(within)
  if not within then return "" end
  if within[2] == math.huge then return (", at least %.14g"):format(within[1]) end
  return (", in [%.14g, %.14g)"):format(within[1], within[2])
end

--- The type of an argument or option in words: "integer or table, at least 0, optional".
function words.type_text(entry)
  local t, shown = words.type(entry[2]), {}
  for i, name in ipairs(t.names) do shown[i] = SHOWN[name] or name end
  return table.concat(shown, " or ") .. range(entry.within) .. (t.optional and ", optional" or "")
    .. (t.rest and ", any number" or "")
end

--- A default as one writes it in Lua.
function words.value(v)
  if type(v) == "string" then return ("%q"):format(v) end
  return type(v) == "number" and ("%.14g"):format(v) or tostring(v)
end

--- The names between the brackets of a call; `first` is the first argument shown.
function words.arguments(row, first)
  local list = {}
  for i = first or 1, #(row.args or {}) do
    local arg, t = row.args[i], words.type(row.args[i][2])
    if arg[1] == "..." then
      list[#list + 1] = "..."
    else
      list[#list + 1] = arg[1] .. (t.optional and "?" or "") .. (t.rest and "..." or "")
    end
  end
  if row.opts then
    local names = {}
    for i, opt in ipairs(row.opts) do names[i] = opt[1] end
    list[#list + 1] = "{ " .. table.concat(names, ", ") .. " }"
  end
  return table.concat(list, ", ")
end

--- How a row is called: "t:sum(dims?, { keepdim })", "nn.Linear(inputs, outputs, { … })".
function words.call(row)
  if row.kind == "tensor" then return ("t:%s(%s)"):format(row.name, words.arguments(row, 2)) end
  if row.module == "sgl.Tensor" then return ("t:%s(%s)"):format(row.name, words.arguments(row)) end
  if row.kind == "class" and not (row.args or row.opts or row.returns) then return row.full end
  return ("%s(%s)"):format(row.full, words.arguments(row))
end

--- Text whose signs Markdown would take for its own.
function words.plain(text)
  return (text:gsub("[<*]", "\\%0"))
end

--- A cell of a Markdown table.
function words.cell(text)
  return (tostring(text):gsub("|", "\\|"):gsub("\n", " "))
end

--- Lines of a Markdown table.
function words.table(head, rows)
  local lines = { "| " .. table.concat(head, " | ") .. " |", "|" .. ("---|"):rep(#head) }
  for _, row in ipairs(rows) do
    local cells = {}
    for i = 1, #head do cells[i] = words.cell(row[i]) end
    lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  return table.concat(lines, "\n")
end

return words
