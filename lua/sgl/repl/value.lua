-- value.lua: how the session writes a result.
--
-- In:    any value.
-- Out:   its text. A table without a metatable is written one level deep: the list part, then
--        the fields by name; tensors in it by dtype and shape. All else as tostring has it.
-- Holds: of a long table only the first MOST items are written, with how many there are.
local api = require "sgl.api"
local core = require "sgl.core"

local value = {}

local MOST = 20

local is_plain = require "sgl.tree".is_plain

local function item_text(v)
  if type(v) == "string" then return ("%q"):format(v) end
  if core.is_tensor(v) then return api.describe(v) end
  if is_plain(v) then return next(v) == nil and "{}" or "{…}" end
  return tostring(v)
end

local function field_text(key, v)
  local name = type(key) == "string" and key:find "^[%a_][%w_]*$" and key
    or "[" .. item_text(key) .. "]"
  return name .. " = " .. item_text(v)
end

local function table_text(t)
  local items, fields = {}, {}
  for i, v in ipairs(t) do items[i] = item_text(v) end
  for key, v in next, t do
    local listed = math.type(key) == "integer" and key >= 1 and key <= #items
    if not listed then fields[#fields + 1] = field_text(key, v) end
  end
  table.sort(fields)
  table.move(fields, 1, #fields, #items + 1, items)
  local count = #items
  if count == 0 then return "{}" end
  if count > MOST then items[MOST + 1] = ("… (%d in all)"):format(count) end
  return "{ " .. table.concat(items, ", ", 1, math.min(count, MOST + 1)) .. " }"
end

--- The text of a value at the prompt.
function value.text(v)
  return is_plain(v) and table_text(v) or (tostring(v):gsub("\n$", ""))
end

return value
