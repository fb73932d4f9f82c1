-- emit.lua: the one place from which compiled functions tell of re-captures and fallbacks.
--
-- Holds: without listeners, which core.event serves, telling costs one look.
local core = require "sgl.core"

local emit = {}

--- Tells that something happened: guard_fail, fallback.
function emit.emit(name, facts)
  if core.event then core.event(name, facts) end
end

return emit
