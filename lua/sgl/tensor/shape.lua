-- shape.lua: what t.shape gives: a new list of sizes at each read, which prints as "[2, 3]".
--
-- Holds: two shapes are equal when their sizes are; sizes that are symbolic are compared as sizes.
--        In everything else a shape is a plain list, the caller's own.
local core = require "sgl.core"

local Shape = { __name = "shape" }

function Shape.__tostring(shape)
  local words = {}
  for i, size in ipairs(shape) do words[i] = core.size_text(size) end
  return "[" .. table.concat(words, ", ") .. "]"
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
