-- dist/write.lua: a file that a script writes on every rank, and rank 0 writes alone.
--
-- In:    the tensors that go into the file, as { name, tensor }; what writes them.
-- Out:   true where it was written, on all ranks, when the file is there; nil, message, code.
-- Holds: all ranks call it together. The others take part in putting together what ranks share.
local core = require "sgl.core"

return function(list, path, fn)
  local rank, written, message, code = core.job(), true, nil, nil
  if rank == 0 then written, message, code = fn() end
  for i = 1, rank > 0 and #list or 0 do list[i][2]:bytes() end
  if core.together(written) then return true end
  return nil, message or path .. ": rank 0 could not write it", code or "SGL_EFILE"
end
