-- pad.lua: elements added around a tensor.
--
-- In:    two counts for each dim from the last, as in PyTorch; negative ones cut.
-- Out:   a lazy tensor: the primitive pad for a constant, a gather for the modes that repeat
--        elements.
-- Holds: dims without counts stay as they are.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"
local narrow = require "sgl.tensor.movement".narrow

local apply, raise = core.apply, core.raise

local function reflected(i, n)
  return i < 0 and -i or i >= n and 2 * (n - 1) - i or i
end

-- For each mode, the element (from 0) that stands at position i of the padded dim of n elements.
local MODES = {
  reflect   = reflected,
  replicate = function(i, n) return math.max(0, math.min(n - 1, i)) end,
  circular  = function(i, n) return i % n end,
}

local function pad_by_index(t, axis, before, behind, mode)
  local n, index = t.shape[axis], {}
  local limit = mode == "reflect" and n - 1 or mode == "circular" and n or math.huge
  if n == 0 or before > limit or behind > limit then
    raise("SGL_ESHAPE", ("pad: %s and %s elements in mode '%s' are too many for dim %s of %s")
      :format(before, behind, mode, axis, dims.text(t)))
  end
  for i = -before, n + behind - 1 do index[#index + 1] = MODES[mode](i, n) end
  return apply("gather", { t, core.tensor(index, "i32") }, { dim = axis })
end

api.tensor("pad", {
  doc = "Elements added around: a list of two counts for each dim, the last dim first. Negative "
    .. "counts cut.",
  args = { { "t", "tensor" }, { "counts", "table", "{ before, behind, … } from the last dim" } },
  opts = { { "value", "number", 0, "for mode constant" },
           { "mode", "string", "constant", "constant, reflect, replicate or circular",
             among = { "constant", "reflect", "replicate", "circular" } } },
  returns = "tensor", errors = "an odd list; more counts than dims",
}, function(t, counts, o)
  if #counts % 2 == 1 or #counts > 2 * t.ndim then
    raise("SGL_EARG", ("pad: %s counts do not fit %s"):format(#counts, dims.text(t)),
      "give two counts, before and behind, for each dim from the last")
  end
  local lo, hi = dims.fill(t.ndim, 0), dims.fill(t.ndim, 0)
  for i = 1, #counts, 2 do
    local axis, before, behind = t.ndim - i // 2, counts[i], counts[i + 1]
    local n = t.shape[axis]
    if before + behind + n < 0 then
      raise("SGL_ESHAPE", ("pad: cutting %s and %s leaves nothing of dim %s of %s"):format(
        -before, -behind, axis, dims.text(t)))
    end
    t = narrow(t, axis, 1 + math.max(0, -before), n - math.max(0, -behind))
    lo[axis], hi[axis] = math.max(0, before), math.max(0, behind)
    if o.mode ~= "constant" then t = pad_by_index(t, axis, lo[axis], hi[axis], o.mode) end
  end
  if o.mode ~= "constant" then return t end
  core.full({}, o.value, t.dtype, "pad")      -- refuses a value that the dtype has not
  return apply("pad", t, { lo = lo, hi = hi, value = o.value })
end)
