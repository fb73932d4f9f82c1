-- json.lua: values as JSON.
--
-- Holds: an object is a table with the order of its keys in `fields`; another table is a list.
--        Numbers that JSON does not know are null.
local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function text(v)
  return '"' .. v:gsub('[%c"\\]', function(c)
    return ESCAPES[c] or ("\\u%04x"):format(c:byte())
  end) .. '"'
end

local function json(v)
  if type(v) == "string" then return text(v) end
  if math.type(v) == "float" then
    return v == v and math.abs(v) < math.huge and ("%.17g"):format(v) or "null"
  end
  if type(v) ~= "table" then return v == nil and "null" or tostring(v) end
  local items = {}
  for i, key in ipairs(v.fields or {}) do items[i] = text(key) .. ": " .. json(v[key]) end
  if v.fields then return "{" .. table.concat(items, ", ") .. "}" end
  for i, item in ipairs(v) do items[i] = json(item) end
  return "[" .. table.concat(items, ", ") .. "]"
end

return json
