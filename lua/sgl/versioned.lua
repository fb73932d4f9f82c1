-- versioned.lua: tables whose fields lie in a table behind, so that every write is seen.
--
-- In:    the fields, and further metamethods.
-- Out:   an empty table that reads and writes them. A write that changes something moves the
--        version that guards look at: a compiled step checks one number, not every field.
-- Holds: rawget, rawset and rawlen go to the fields (watch/raw.c); next finds nothing; its
--        metatable cannot be replaced.
local core = require "sgl.core"

local versioned = {}

--- The table behind.
function versioned.fields(self) return debug.getmetatable(self).__index end

--- Writes a field.
function versioned.write(self, key, value)
  local fields = versioned.fields(self)
  if rawequal(rawget(fields, key), value) then return end
  rawset(fields, key, value)
  core.touch()
end

local function length(self) return #versioned.fields(self) end
local function all(self) return next, versioned.fields(self), nil end

--- A table in front of `fields`; `extra` are metamethods beside those for reading and writing.
function versioned.new(fields, extra)
  local meta = { __index = fields, __newindex = versioned.write, __len = length, __pairs = all }
  for name, method in pairs(extra or {}) do meta[name] = method end
  meta.__metatable = meta
  core.versioned(meta)
  return setmetatable({}, meta)
end

return versioned
