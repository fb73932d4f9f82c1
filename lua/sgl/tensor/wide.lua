-- wide.lua: composites of f16 and bf16 are computed in f32 and rounded once at their end.
--
-- In:    composite(name, tensors (nil where one is left out), how many, a function of them).
-- Out:   the composite. Halves go to f32 at entry; the result has the halves' dtype where all
--        floats among the tensors are of it, else f32. Other dtypes go through as they are.
-- Holds: the conversions are nodes of the composite, so what is fused and what is not have the same
--        bits, and its gradient is computed in f32 too.
local core = require "sgl.core"

local half, composite, unpack = core.half, core.composite, table.unpack

local M = {}

-- A tensor of halves in f32; another one, or nil, as it is.
function M.one(t)
  return t and (t.dtype == "f16" or t.dtype == "bf16") and t:to("f32") or t
end

function M.composite(name, tensors, n, fn)
  local dtype = half(tensors, n)
  if not dtype then return (composite(name, tensors, fn, unpack(tensors, 1, n))) end
  return (composite(name, tensors, function()
    local list = {}
    for i = 1, n do list[i] = M.one(tensors[i]) end
    local y = fn(unpack(list, 1, n))
    return dtype == "f32" and y or y:to(dtype)
  end))
end

return M
