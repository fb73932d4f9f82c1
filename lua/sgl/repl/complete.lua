-- complete.lua: what a word at the prompt can become.
--
-- In:    the word before the cursor, such as "sgl.nn.Li" or "x:ma".
-- Out:   a sorted list of whole words that begin with it.
-- Holds: completing never calls the user's code: fields are read raw, and metatables are followed
--        only where __index is a table.
local core = require "sgl.core"

local KEYWORDS = {
  "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
  "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
}
local PROPERTIES = { "shape", "dtype", "ndim" }
local ROOMS = { "sgl.nn", "sgl.optim", "sgl.data" }
local MOST_TABLES = 16

-- The tables in which a field of the value is looked for, nearest first.
local function tables_of(value)
  local list, seen = {}, {}
  local at = type(value) == "table" and value or nil
  local meta = debug.getmetatable(value)
  while #list < MOST_TABLES do
    if at and not seen[at] then
      seen[at] = true
      list[#list + 1] = at
    end
    local next_table = type(meta) == "table" and rawget(meta, "__index")
    if type(next_table) ~= "table" or seen[next_table] then break end
    at, meta = next_table, debug.getmetatable(next_table)
  end
  if core.is_tensor(value) then list[#list + 1] = core.Tensor end
  return list
end

local function raw_field(value, name)
  for _, at in ipairs(tables_of(value)) do
    local found = rawget(at, name)
    if found ~= nil then return found end
  end
end

-- The value that a prefix like "sgl.nn" names, or nil. Rooms of sgl are loaded when first named.
local function resolve(prefix)
  for _, room in ipairs(ROOMS) do
    if prefix == room then return require(room) end
  end
  local value = _G
  for name in prefix:gmatch "[^.:]+" do
    value = raw_field(value, name)
    if value == nil then return nil end
  end
  return value
end

return function(word)
  local prefix, mark, start = word:match "^(.-)([.:]?)([%w_]*)$"
  if not prefix or (prefix ~= "" and mark == "") then return {} end
  local value = _G
  if prefix ~= "" then value = resolve(prefix) end
  if value == nil then return {} end
  local found, seen = {}, {}
  local function offer(name, method)
    local fits = type(name) == "string" and name:sub(1, #start) == start and not seen[name]
      and name:find "^[%a_][%w_]*$" and (start ~= "" or name:sub(1, 2) ~= "__")
    if not fits or (mark == ":" and not method) then return end
    seen[name] = true
    found[#found + 1] = prefix .. mark .. name
  end
  for _, at in ipairs(tables_of(value)) do
    for name, field in next, at do offer(name, type(field) == "function") end
  end
  if core.is_tensor(value) and mark == "." then
    for _, name in ipairs(PROPERTIES) do offer(name) end
  end
  if prefix == "" then
    for _, name in ipairs(KEYWORDS) do offer(name) end
  elseif prefix == "sgl" then
    for _, room in ipairs(ROOMS) do offer(room:sub(#"sgl." + 1)) end
  end
  table.sort(found)
  return found
end
