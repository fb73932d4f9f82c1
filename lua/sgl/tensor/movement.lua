-- movement.lua: the same elements in another arrangement.
--
-- In:    tensors and dims as dims.lua reads them.
-- Out:   lazy tensors; nothing is copied that a kernel can read in place.
-- Holds: everything comes down to reshape, permute, broadcast, slice, pad, flip, concat and
--        window.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"

local apply, raise = core.apply, core.raise

local T = { "t", "tensor" }
local DIM = { "dim", "integer", "counts from 1, or from the end if negative" }
local SHAPE = { "size", "integer|table...", "sizes, as arguments or one list" }

local function reshape(t, shape)
  return apply("reshape", t, { dims = shape })
end

-- Elements first … last (from 1) of one dim.
local function narrow(t, axis, first, last)
  local shape = t.shape
  local start, step = dims.fill(#shape, 0), dims.fill(#shape, 1)
  start[axis], shape[axis] = first - 1, last
  return apply("slice", t, { start = start, stop = shape, step = step })
end

api.tensor("reshape", {
  doc = "The same elements in row-major order under another shape; one size may be -1.",
  args = { T, SHAPE }, returns = "tensor", errors = "another number of elements",
}, function(t, size) return reshape(t, dims.sizes("reshape", size, -1)) end)
api.alias("reshape", "view")

api.tensor("clone", {
  doc = "The same value under a handle of its own: writing to one leaves the other.",
  args = { T }, returns = "tensor",
}, function(t) return reshape(t, t.shape) end)

api.tensor("flatten", {
  doc = "Dims first to last made one.",
  args = { T, { "first", "integer?", "default 1" }, { "last", "integer?", "default -1" } },
  returns = "tensor",
}, function(t, first, last)
  if t.ndim == 0 then return reshape(t, { 1 }) end
  local from, to = dims.axis("flatten", t, first or 1), dims.axis("flatten", t, last or -1)
  if from > to then
    raise("SGL_EARG", ("flatten: dim %s lies behind dim %s of %s"):format(from, to, dims.text(t)))
  end
  local shape = t.shape
  local joined = dims.count(table.move(shape, from, to, 1, {}))
  local result = table.move(shape, 1, from - 1, 1, {})
  result[from] = joined
  return reshape(t, table.move(shape, to + 1, #shape, from + 1, result))
end)
api.alias("flatten", "ravel")

api.tensor("unflatten", {
  doc = "One dim made several; one of the sizes may be -1.",
  args = { T, DIM, { "sizes", "table", "of the parts, one of them may be -1" } },
  returns = "tensor",
}, function(t, dim, sizes)
  local shape, axis = t.shape, dims.axis("unflatten", t, dim)
  local known, open, total = 1, nil, shape[axis]
  for i, size in ipairs(sizes) do
    if size == -1 then open = i else known = known * size end
  end
  sizes = table.move(sizes, 1, #sizes, 1, {})
  if open and known > 0 then sizes[open] = total // known end
  if dims.count(sizes) ~= total then
    raise("SGL_ESHAPE", ("unflatten: dim %s of %s cannot be split into %s"):format(
      dim, dims.text(t), dims.shape_text(sizes)))
  end
  local result = table.move(shape, 1, axis - 1, 1, {})
  table.move(sizes, 1, #sizes, axis, result)
  return reshape(t, table.move(shape, axis + 1, #shape, axis + #sizes, result))
end)

api.tensor("permute", {
  doc = "Dims in another order: dim i of the result is dim dims[i] of t.",
  args = { T, { "dims", "integer|table...", "every dim once" } }, returns = "tensor",
}, function(t, list)
  local axes = dims.axes("permute", t, dims.rest(list) or {})
  if #axes ~= t.ndim then
    raise("SGL_ESHAPE", ("permute: %s does not name every dim of %s once"):format(
      dims.shape_text(axes), dims.text(t)))
  end
  return #axes == 0 and t or apply("permute", t, { dims = axes })
end)

local function swap(t, a, b)
  local order = {}
  for axis = 1, t.ndim do order[axis] = axis end
  order[a], order[b] = b, a
  return a == b and t or apply("permute", t, { dims = order })
end

api.tensor("transpose", {
  doc = "Two dims exchanged; the last two when none are given.",
  args = { T, { "a", "integer?", "default -2" }, { "b", "integer?", "default -1" } },
  returns = "tensor",
}, function(t, a, b)
  return swap(t, dims.axis("transpose", t, a or -2), dims.axis("transpose", t, b or -1))
end)
api.alias("transpose", "swapaxes", "swapdims")

api.tensor("t", {
  doc = "The transpose of a matrix; a vector stays as it is.", args = { T }, returns = "tensor",
  errors = "more than 2 dims",
}, function(t)
  if t.ndim > 2 then
    raise("SGL_ESHAPE", ("t: takes at most 2 dims, got %s"):format(dims.text(t)),
      "use t:transpose(a, b) to exchange two dims")
  end
  return t.ndim < 2 and t or swap(t, 1, 2)
end)

api.tensor("movedim", {
  doc = "One dim moved to another place, the others keeping their order.",
  args = { T, { "from", "integer", "where it is" }, { "to", "integer", "where it goes" } },
  returns = "tensor",
}, function(t, from, to)
  from, to = dims.axis("movedim", t, from), dims.axis("movedim", t, to)
  local order = {}
  for axis = 1, t.ndim do order[axis] = axis end
  table.insert(order, to, table.remove(order, from))
  return from == to and t or apply("permute", t, { dims = order })
end)
api.alias("movedim", "moveaxis")

api.tensor("broadcast_to", {
  doc = "Dims of size 1 repeated, new dims added in front.",
  args = { T, SHAPE }, returns = "tensor", errors = "sizes that do not fit",
}, function(t, size)
  return apply("broadcast", t, { dims = dims.sizes("broadcast_to", size) })
end)

api.tensor("expand", {
  doc = "As broadcast_to; -1 keeps a size.", args = { T, SHAPE }, returns = "tensor",
}, function(t, size)
  local sizes, shape = dims.sizes("expand", size, -1), t.shape
  for i, n in ipairs(sizes) do
    local from = i - #sizes + #shape
    if n == -1 then sizes[i] = from > 0 and shape[from] or 1 end
  end
  return apply("broadcast", t, { dims = sizes })
end)

api.tensor("expand_as", {
  doc = "Broadcast to the shape of another tensor.",
  args = { T, { "other", "tensor", "the shape to take" } },
  returns = "tensor",
}, function(t, other) return apply("broadcast", t, { dims = other.shape }) end)

api.tensor("squeeze", {
  doc = "Dims of size 1 removed: all of them, or those named if their size is 1.",
  args = { T, { "dim", "integer|table?", "only these; default: every dim of size 1" } },
  returns = "tensor",
}, function(t, dim)
  local shape, result, gone = t.shape, {}, {}
  for _, axis in ipairs(dims.axes("squeeze", t, dim)) do gone[axis] = dims.is_one(shape[axis]) end
  for axis, size in ipairs(shape) do
    if not gone[axis] then
      result[#result + 1] = size
    elseif core.is_dim(size) then
      t = narrow(t, axis, 1, 1)
    end
  end
  return #result == #shape and t or reshape(t, result)
end)

api.tensor("unsqueeze", {
  doc = "A new dim of size 1 at a place.", args = { T, DIM }, returns = "tensor",
}, function(t, dim)
  local axis, shape = dims.axis("unsqueeze", t, dim, 1), t.shape
  table.insert(shape, axis, 1)
  return reshape(t, shape)
end)
api.alias("unsqueeze", "expand_dims")

api.tensor("flip", {
  doc = "Order reversed along dims; all when none are given.",
  args = { T, { "dims", "integer|table...", "to turn around" } }, returns = "tensor",
}, function(t, list)
  local axes = dims.axes("flip", t, dims.rest(list))
  return #axes == 0 and t or apply("flip", t, { dims = axes })
end)

local function concat(list, axis)
  return #list == 1 and list[1] or apply("concat", list, { dim = axis })
end

-- A tensor of its own whatever the size is, so that writing to one leaves the other.
local function roll_one(t, shift, axis)
  local n = t.shape[axis]
  if n == 0 then return t:clone() end
  local cut = core.is_dim(n) and (shift < 0 and -shift or n - shift) or n - shift % n
  if cut == n then return t:clone() end
  return concat({ narrow(t, axis, cut + 1, n), narrow(t, axis, 1, cut) }, axis)
end

api.tensor("roll", {
  doc = "Elements shifted along dims; what leaves at the end comes back in front. Without dims "
    .. "the flattened elements are shifted.",
  args = { T, { "shifts", "integer|table", "by how many places, for each dim" },
           { "dims", "integer|table?", "default: the elements in row order" } }, returns = "tensor",
}, function(t, shifts, list)
  if type(shifts) ~= "table" then shifts = { shifts } end
  if list == nil then return reshape(roll_one(t:flatten(), shifts[1], 1), t.shape) end
  local axes = dims.axes("roll", t, list)
  if #axes ~= #shifts then
    raise("SGL_EARG", ("roll: %s shifts for %s dims"):format(#shifts, #axes))
  end
  for i, axis in ipairs(axes) do t = roll_one(t, shifts[i], axis) end
  return t
end)

-- Each dim n seen as [1, n], the 1 broadcast to the repeats, and both joined.
local function tile(op, t, repeats)
  local shape, split, wide, result = t.shape, {}, {}, {}
  while #repeats < #shape do table.insert(repeats, 1, 1) end
  while #shape < #repeats do table.insert(shape, 1, 1) end
  for i, size in ipairs(shape) do
    if repeats[i] < 0 then
      raise("SGL_EARG", ("%s: a repeat must be at least 0, got %s"):format(op, repeats[i]))
    end
    split[2 * i - 1], split[2 * i] = 1, size
    wide[2 * i - 1], wide[2 * i] = repeats[i], size
    result[i] = repeats[i] * size
  end
  return reshape(apply("broadcast", reshape(t, split), { dims = wide }), result)
end

for _, name in ipairs { "tile", "repeat_" } do
  api.tensor(name, {
    doc = "The tensor repeated along each dim, counted from the last (`repeat` is a Lua word).",
    args = { T, { "repeats", "integer|table...", "for each dim, from the last" } },
    returns = "tensor",
  }, function(t, list) return tile(name, t, dims.sizes(name, list)) end)
end

api.tensor("repeat_interleave", {
  doc = "Each element along a dim repeated n times in place.",
  args = { T, { "n", "integer", "how often each comes", within = { 0, math.huge } },
           { "dim", "integer?", "default: the flattened tensor" } },
  returns = "tensor",
}, function(t, n, dim)
  if not dim then t = t:flatten() end
  local axis, shape = dims.axis("repeat_interleave", t, dim or 1), t.shape
  local wide = table.move(shape, 1, #shape, 1, {})
  table.insert(wide, axis + 1, n)
  shape[axis] = shape[axis] * n
  return reshape(apply("broadcast", t:unsqueeze(axis + 1), { dims = wide }), shape)
end)

api.tensor("select", {
  doc = "The slice at one position of a dim, which disappears.",
  args = { T, DIM, { "at", "integer", "from 1, or from the end" } },
  returns = "tensor, without the dim", errors = "a position outside the dim",
}, function(t, dim, at)
  local axis = dims.axis("select", t, dim)
  local size = t.shape[axis]
  local place = at < 0 and size + 1 + at or at
  if place < 1 or place > size then
    raise("SGL_EINDEX", ("select: position %s is outside dim %s of %s"):format(
      at, dim, dims.text(t)))
  end
  return narrow(t, axis, place, place):squeeze(axis)
end)

api.tensor("narrow", {
  doc = "`length` elements of a dim from position `first`.",
  args = { T, DIM, { "first", "integer", "from 1, or from the end" },
           { "length", "integer", "how many positions" } },
  returns = "tensor", errors = "a range that leaves the dim",
}, function(t, dim, first, length)
  local axis = dims.axis("narrow", t, dim)
  local n = t.shape[axis]
  local from = first < 0 and first + n + 1 or first
  if from < 1 or length < 0 or from + length - 1 > n then
    raise("SGL_EINDEX", ("narrow: %s elements from %s leave dim %s of %s"):format(
      length, first, dim, dims.text(t)))
  end
  return narrow(t, axis, from, from + length - 1)
end)

local function pieces(t, axis, sizes)
  local result, from = {}, 1
  for i, size in ipairs(sizes) do
    result[i] = narrow(t, axis, from, from + size - 1)
    from = from + size
  end
  return table.unpack(result)
end

api.tensor("split", {
  doc = "Parts along a dim: n equal ones, or ones of the sizes in a list.",
  args = { T, { "parts", "integer|table", "how many, or their sizes" },
           { "dim", "integer?", "default 1" } },
  returns = "tensor, …", errors = "parts that do not add up to the dim",
}, function(t, parts, dim)
  local axis = dims.axis("split", t, dim or 1)
  local n = t.shape[axis]
  if type(parts) == "table" then
    local total = 0
    for _, size in ipairs(dims.sizes("split", parts)) do total = total + size end
    if total ~= n then
      raise("SGL_ESHAPE", ("split: the parts %s add up to %s, but dim %s of %s is %s"):format(
        dims.shape_text(parts), total, dim or 1, dims.text(t), n), "t:chunk(n, dim) cuts n parts")
    end
    return pieces(t, axis, parts)
  end
  if parts < 1 or n % parts ~= 0 then
    raise("SGL_ESHAPE", ("split: dim %s of %s cannot be cut into %s equal parts"):format(
      dim or 1, dims.text(t), parts), "t:chunk(n, dim) allows a smaller last part; "
      .. "t:split({ sizes }, dim) takes any")
  end
  return pieces(t, axis, dims.fill(parts, n // parts))
end)

api.tensor("chunk", {
  doc = "At most n parts along a dim, of equal size but for a smaller last one.",
  args = { T, { "n", "integer", "how many parts" }, { "dim", "integer?", "default 1" } },
  returns = "tensor, …",
}, function(t, n, dim)
  local axis = dims.axis("chunk", t, dim or 1)
  if n < 1 then raise("SGL_EARG", ("chunk: n must be at least 1, got %s"):format(n)) end
  local total, sizes = t.shape[axis], {}
  local each = math.max(1, (total + n - 1) // n)
  for from = 0, math.max(total, 1) - 1, each do
    sizes[#sizes + 1] = math.min(each, total - from)
  end
  return pieces(t, axis, sizes)
end)

api.tensor("unbind", {
  doc = "The slices along a dim, without that dim.",
  args = { T, { "dim", "integer?", "default 1" } }, returns = "tensor, …",
}, function(t, dim)
  local axis, result = dims.axis("unbind", t, dim or 1), {}
  for i = 1, t.shape[axis] do result[i] = narrow(t, axis, i, i):squeeze(axis) end
  return table.unpack(result)
end)

api.tensor("unfold", {
  doc = "Sliding windows of `size` along a dim, `step` apart: a new last dim.",
  args = { T, DIM, { "size", "integer", "of the window" }, { "step", "integer?", "default 1" } },
  returns = "tensor", errors = "a window longer than the dim",
}, function(t, dim, size, step)
  local axis = dims.axis("unfold", t, dim)
  if size < 1 or size > t.shape[axis] or (step or 1) < 1 then
    raise("SGL_ESHAPE", ("unfold: windows of %s, %s apart, do not fit dim %s of %s"):format(
      size, step or 1, dim, dims.text(t)))
  end
  return apply("window", t,
    { dims = { axis }, size = { size }, stride = { step or 1 }, dilation = { 1 } })
end)

return { concat = concat, narrow = narrow, reshape = reshape, swap = swap }
