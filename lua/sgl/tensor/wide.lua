-- wide.lua: composites of f16 and bf16 are computed in f32 and rounded once at their end.
--
-- In:    a name, tensors (nil where one is left out), how many, a function of them.
-- Out:   the composite. Halves go to f32 at entry; the result has the halves' dtype where all
--        floats among the tensors are of it, else f32. Other dtypes go through as they are.
-- Holds: the conversions are nodes of the composite, so what is fused and what is not have the same
--        bits, and its gradient is computed in f32 too.
local core = require "sgl.core"

local HALF = { f16 = true, bf16 = true }

-- Whether a tensor is a half, and the dtype of the result.
local function result_dtype(tensors, n)
  local half, dtype = false, nil
  for i = 1, n do
    local t = tensors[i]
    if t and t.dtype:find "f" then
      half = half or HALF[t.dtype]
      dtype = (dtype == nil or dtype == t.dtype) and t.dtype or "f32"
    end
  end
  return half, dtype
end

return function(name, tensors, n, fn)
  local present = {}
  for i = 1, n do present[#present + 1] = tensors[i] end
  local half, dtype = result_dtype(tensors, n)
  if not half then return (core.region(name, present, fn, table.unpack(tensors, 1, n))) end
  return (core.region(name, present, function()
    local wide = {}
    for i = 1, n do
      local t = tensors[i]
      wide[i] = t and HALF[t.dtype] and t:to("f32") or t
    end
    local y = fn(table.unpack(wide, 1, n))
    return HALF[dtype] and y:to(dtype) or y
  end))
end
