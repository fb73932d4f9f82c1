-- linalg.lua: products of vectors, matrices and batches of them; triangles and diagonals.
--
-- In:    tensors of any rank as NumPy and PyTorch take them.
-- Out:   lazy tensors; every product becomes one `dot` [b…, m…, k] x [b…, k, n].
-- Holds: batch dims broadcast. A batch of rows times one matrix is a single larger product, whose
--        rows keep their dims.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"
local movement = require "sgl.tensor.movement"
local wide = require "sgl.tensor.wide".composite

local apply, raise = core.apply, core.raise
local reshape = movement.reshape

local T = { "t", "tensor" }
local OTHER = { "other", "tensor", "of a size that fits" }

local function dot(a, b)
  return apply("dot", { a, b })
end

-- What else may have been meant when the inner dims differ.
local function product_hint(a, b)
  local k, sb = a.shape[a.ndim], b.shape
  if #sb >= 2 and sb[#sb] == k then
    return "did you mean the transpose of the second operand, b:transpose()?"
  end
  return "the last dim of the first operand meets the last but one of the second"
end

local function differ(op, a, b, m, n)
  raise("SGL_ESHAPE", ("%s: the inner dimensions differ: %s and %s (%s against %s)."):format(
    op, dims.text(a), dims.text(b), m, n), product_hint(a, b))
end

local function batched(op, a, b)
  local sa, sb = a.shape, b.shape
  local lead_a = table.move(sa, 1, #sa - 2, 1, {})
  local lead_b = table.move(sb, 1, #sb - 2, 1, {})
  local lead = dims.broadcast(lead_a, lead_b)
  if not lead then
    raise("SGL_ESHAPE", ("%s: the batch dims do not broadcast: %s and %s"):format(
      op, dims.text(a), dims.text(b)))
  end
  local function widen(t, shape)
    local wide = table.move(shape, #shape - 1, #shape, #lead + 1, table.move(lead, 1, #lead, 1, {}))
    return dims.shape_text(wide) == dims.shape_text(shape) and t
      or apply("broadcast", t, { dims = wide })
  end
  local wide = widen(b, sb)      -- the second first: see ir_elementwise
  return dot(widen(a, sa), wide)
end

local function matmul(op, a, b)
  local sa, sb = a.shape, b.shape
  local ra, rb = #sa, #sb
  if ra == 0 or rb == 0 then
    raise("SGL_ESHAPE", ("%s: takes vectors, matrices and batches, got %s and %s"):format(
      op, dims.text(a), dims.text(b)), "use a * b to multiply by a scalar")
  end
  local m, n = sa[ra], sb[math.max(1, rb - 1)]
  if m ~= n then differ(op, a, b, m, n) end
  if ra == 1 then a = reshape(a, { 1, m }) end
  if rb == 1 then b = reshape(b, { n, 1 }) end
  if ra > 2 and rb <= 2 then
    return rb == 2 and dot(a, b) or reshape(dot(a, b), table.move(sa, 1, ra - 1, 1, {}))
  end
  local result = batched(op, a, b)
  if ra == 1 then result = result:squeeze(-2) end
  return rb == 1 and result:squeeze(-1) or result
end

api.tensor("matmul", {
  doc = "Matrix product. Vectors are taken as a row on the left and a column on the right, batch "
    .. "dims broadcast.",
  args = { T, OTHER }, returns = "tensor", errors = "inner dims that differ",
}, function(a, b) return matmul("matmul", a, b) end)

local function fixed_rank(name, doc, ra, rb)
  api.tensor(name, {
    doc = doc, args = { T, OTHER }, returns = "tensor", errors = "other ranks; dims that differ",
  }, function(a, b)
    if a.ndim ~= ra or b.ndim ~= rb then
      raise("SGL_ESHAPE", ("%s: takes tensors of %s and %s dims, got %s and %s"):format(
        name, ra, rb, dims.text(a), dims.text(b)), "matmul takes every rank")
    end
    return matmul(name, a, b)
  end)
end

fixed_rank("mm", "Matrix times matrix.", 2, 2)
fixed_rank("mv", "Matrix times vector.", 2, 1)
fixed_rank("dot", "Inner product of two vectors.", 1, 1)

api.tensor("bmm", {
  doc = "Batch of matrices times batch of matrices.", args = { T, OTHER }, returns = "tensor",
  errors = "other ranks; dims that differ",
}, function(a, b)
  if a.ndim ~= 3 or b.ndim ~= 3 or a.shape[1] ~= b.shape[1] then
    raise("SGL_ESHAPE", ("bmm: takes two batches of matrices of the same number, got %s and %s")
      :format(dims.text(a), dims.text(b)), "matmul takes every rank and broadcasts batch dims")
  end
  return matmul("bmm", a, b)
end)

api.tensor("outer", {
  doc = "Every element of one vector times every element of another.", args = { T, OTHER },
  returns = "tensor [n, m]", errors = "operands that are not vectors",
}, function(a, b)
  if a.ndim ~= 1 or b.ndim ~= 1 then
    raise("SGL_ESHAPE", ("outer: takes two vectors, got %s and %s"):format(
      dims.text(a), dims.text(b)))
  end
  return a:unsqueeze(2) * b:unsqueeze(1)
end)

api.tensor("cross", {
  doc = "Cross product of vectors of three components along a dim.",
  args = { T, OTHER, { "dim", "integer?", "default -1" } }, returns = "tensor",
  errors = "a dim that has not size 3; shapes that do not broadcast",
}, function(a, b, dim)
  -- The dim counts from the end, where shapes that broadcast meet.
  local axis = dims.axis("cross", a, dim or -1) - a.ndim - 1
  for _, t in ipairs { a, b } do
    if t.shape[dims.axis("cross", t, axis)] ~= 3 then
      raise("SGL_ESHAPE", ("cross: dim %s must have size 3, got %s"):format(axis, dims.text(t)))
    end
  end
  -- Component i is a[i+1]·b[i+2] - a[i+2]·b[i+1], positions taken modulo 3.
  return wide("cross", { a, b }, 2, function(x, y)
    return x:roll(-1, axis) * y:roll(-2, axis) - x:roll(-2, axis) * y:roll(-1, axis)
  end)
end)

api.tensor("kron", {
  doc = "Kronecker product: every element of t times all of the other tensor, in its place.",
  args = { T, { "other", "tensor", "of any shape" } }, returns = "tensor",
}, function(a, b)
  local rank = math.max(a.ndim, b.ndim)
  local outer, inner, sizes = {}, {}, {}
  for d = 1, rank do
    local i, j = d - rank + a.ndim, d - rank + b.ndim
    local n, m = i > 0 and a.shape[i] or 1, j > 0 and b.shape[j] or 1
    outer[2 * d - 1], outer[2 * d] = n, 1
    inner[2 * d - 1], inner[2 * d] = 1, m
    sizes[d] = n * m
  end
  return reshape(reshape(a, outer) * reshape(b, inner), sizes)
end)

-- Column minus row for each element of the last two dims.
local function column_minus_row(op, t)
  local shape = t.shape
  local rank = #shape
  if rank < 2 then
    raise("SGL_ESHAPE", ("%s: takes a matrix or a batch of them, got %s"):format(
      op, dims.text(t)))
  end
  local last = { shape[rank - 1], shape[rank] }
  return core.iota(last, 2, "i32") - core.iota(last, 1, "i32")
end

local DIAGONAL = { "diagonal", "integer?", "0: the main one; above it positive" }

api.tensor("tril", {
  doc = "The lower triangle; 0 above the diagonal.", args = { T, DIAGONAL }, returns = "tensor",
}, function(t, diagonal)
  return column_minus_row("tril", t):le(diagonal or 0):where(t, t:zeros_like())
end)

api.tensor("triu", {
  doc = "The upper triangle; 0 below the diagonal.", args = { T, DIAGONAL }, returns = "tensor",
}, function(t, diagonal)
  return column_minus_row("triu", t):ge(diagonal or 0):where(t, t:zeros_like())
end)

-- The diagonal of two dims, as a new last dim: with the two dims last, its elements lie a row
-- and one element apart in the flattened matrix.
local function diagonal(op, t, offset, a, b)
  a, b = dims.axis(op, t, a or 1), dims.axis(op, t, b or 2)
  if a == b then
    raise("SGL_EARG", ("%s: the two dims must differ, got %s twice for %s"):format(
      op, a, dims.text(t)))
  end
  local shape, order, flat = t.shape, {}, {}
  for axis = 1, #shape do
    if axis ~= a and axis ~= b then
      order[#order + 1], flat[#flat + 1] = axis, shape[axis]
    end
  end
  order[#order + 1], order[#order + 2] = a, b
  local rows, columns = shape[a], shape[b]
  local row, column = math.max(0, -offset), math.max(0, offset)
  local n = dims.larger(0, dims.smaller(rows - row, columns - column))
  flat[#flat + 1] = rows * columns
  local at = core.iota({ n }, 1, "i64") * (columns + 1) + (row * columns + column)
  t = reshape(apply("permute", t, { dims = order }), flat)
  return apply("gather", { t, at }, { dim = #flat })
end

api.tensor("diagonal", {
  doc = "The diagonal of two dims, as the last dim.",
  args = { T, { "offset", "integer?", "above 0 upwards; default 0" },
           { "dim1", "integer?", "default 1" },
           { "dim2", "integer?", "default 2" } },
  returns = "tensor",
}, function(t, offset, a, b) return diagonal("diagonal", t, offset or 0, a, b) end)

api.tensor("diag", {
  doc = "The diagonal of a matrix, or the matrix with a vector on its diagonal.",
  args = { T, DIAGONAL }, returns = "tensor", errors = "other ranks",
}, function(t, offset)
  offset = offset or 0
  if t.ndim == 2 then return diagonal("diag", t, offset) end
  if t.ndim ~= 1 then
    raise("SGL_ESHAPE", ("diag: takes a vector or a matrix, got %s"):format(dims.text(t)),
      "t:diagonal(offset, dim1, dim2) takes every rank")
  end
  local n = t.shape[1]
  local size = n + math.abs(offset)
  local at = core.iota({ size, size }, 2, "i32") - core.iota({ size, size }, 1, "i32")
  local before, behind = math.max(0, offset), math.max(0, -offset)
  local row = apply("pad", t, { lo = { before }, hi = { behind }, value = 0 })
  return at:eq(offset):where(reshape(row, { 1, size }), core.full({}, 0, t.dtype))
end)

api.tensor("trace", {
  doc = "Sum of the diagonal of a matrix.", args = { T }, returns = "tensor",
  errors = "a tensor that is not a matrix",
}, function(t)
  if t.ndim ~= 2 then
    raise("SGL_ESHAPE", ("trace: takes a matrix, got %s"):format(dims.text(t)))
  end
  return diagonal("trace", t, 0):sum()
end)

return { matmul = matmul, diagonal = diagonal, dot = dot }
