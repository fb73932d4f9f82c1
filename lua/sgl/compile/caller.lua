-- caller.lua: calls a function so that for it the caller is the line of the user's that called the
-- compiled function: where error("…", 2) points to.
--
-- In:    the function and its arguments, while the user's call of the compiled function is on.
-- Out:   its results.
-- Holds: Lua asks the frame that stands below. So that is one of a chunk with the name of the
--        user's file, in which the call stands on the user's line; one for each place is kept.
local core = require "sgl.core"

local caller = {}

local TEXT = "local pack, unpack = ... return function(fn, ...) local results = pack(fn(...)) "
  .. "return unpack(results, 1, results.n) end"
local MOST = 256

local known, count = {}, 0

local function frame_of(file, line)
  local place = file .. ":" .. line
  if known[place] then return known[place] end
  if count >= MOST then known, count = {}, 0 end
  local chunk = assert(load(("\n"):rep(line - 1) .. TEXT, "@" .. file, "t", {}))
  known[place], count = chunk(table.pack, table.unpack), count + 1
  return known[place]
end

--- fn(...).
function caller.call(fn, ...)
  local file, line = core.position()
  if not file then return fn(...) end
  return frame_of(file, line)(fn, ...)
end

return caller
