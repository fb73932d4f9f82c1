-- dist/write.lua: a file that a script writes on every rank, and rank 0 writes alone.
--
-- In:    what writes it, called on all ranks: the others take part in putting together what ranks
--        share.
-- Out:   true where it was written, on all ranks, when the file is there; nil, message, code.
-- Holds: all ranks call it together.
local core = require "sgl.core"

return function(path, fn)
  local written, message, code = fn()
  if core.together(written) then return true end
  return nil, message or path .. ": rank 0 could not write it", code or "SGL_EFILE"
end
