-- shape.lua: what t.shape gives: a new list of sizes at each read, which prints as "[2, 3]".
--
-- Holds: two shapes are equal when their sizes are; sizes that are symbolic are compared as sizes.
--        shape[-1] is the last size, and shape[0] an error. In everything else a shape is a plain
--        list, the caller's own.
local core = require "sgl.core"

local Shape = { __name = "shape" }

function Shape.__tostring(shape)
  local words = {}
  for i, size in ipairs(shape) do words[i] = core.size_text(size) end
  return "[" .. table.concat(words, ", ") .. "]"
end

-- Behind the end there is nothing, so that ipairs ends.
function Shape.__index(shape, i)
  if math.type(i) ~= "integer" or i > 0 then return nil end
  return i < 0 and rawget(shape, #shape + 1 + i) or core.raise("SGL_EARG",
    ("the shape %s has no size %d"):format(tostring(shape), i),
    #shape == 0 and "a tensor without dims has no sizes"
      or ("sizes count from 1 to %d, or from -1 (the last)"):format(#shape))
end

function Shape.__eq(a, b)
  for i = 1, math.max(#a, #b) do
    local p, q = a[i], b[i]
    if p == nil or q == nil then return false end
    if core.is_dim(q) then p, q = q, p end
    if core.is_dim(p) then
      if not p:eq(q) then return false end
    elseif p ~= q then
      return false
    end
  end
  return true
end

core.Tensor.__shape = Shape

return Shape
