-- gather.lua: reading and adding at positions held in tensors, and choosing by masks.
--
-- In:    indices of integers from 0; masks of bool.
-- Out:   lazy tensors.
-- Holds: a position outside its dim is an error when the value is computed. The primitives
--        gather and scatter_add take whole slices along one dim; PyTorch's gather, with one
--        position for each element, reads the flattened tensor through them.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"
local index = require "sgl.tensor.index"
local movement = require "sgl.tensor.movement"

local apply, raise, root = core.apply, core.raise, api.root
local narrow, reshape = movement.narrow, movement.reshape

local INDEX_LIMIT = 2 ^ 31

-- The dtype that can count the elements of a shape.
local function index_dtype(shape)
  return dims.count(shape) < INDEX_LIMIT and "i32" or "i64"
end

local T = { "t", "tensor" }
local DIM = { "dim", "integer", "counts from 1, or from the end if negative" }
local INDEX = { "index", "tensor", "integers from 0" }

api.tensor("index_select", {
  doc = "Slices along a dim at the positions of an index, which may have any rank.",
  args = { T, DIM, INDEX }, returns = "tensor", errors = "a position outside the dim",
}, function(t, dim, at)
  index.need_integers("index_select", at)
  return apply("gather", { t, at }, { dim = dims.axis("index_select", t, dim) })
end)

api.tensor("take", {
  doc = "Elements at positions of the flattened tensor.", args = { T, INDEX },
  returns = "tensor of the shape of index", errors = "a position outside",
}, function(t, at)
  index.need_integers("take", at)
  return apply("gather", { t:flatten(), at }, { dim = 1 })
end)

-- For an index that names a position along one dim of `shape` for each of its elements: the
-- positions in the flattened tensor. Each is looked up in the list of the dim's positions, so that
-- one outside is reported as what it is.
local function flat_positions(op, shape, axis, at)
  index.need_integers(op, at)
  local own, strides = at.shape, dims.strides(shape)
  local dtype = index_dtype(shape)
  local positions = core.iota({ shape[axis] }, 1, dtype)
  local flat = apply("gather", { positions, at }, { dim = 1 }) * strides[axis]
  for other, size in ipairs(own) do
    if other ~= axis and size ~= 1 then
      flat = flat + core.iota(own, other, dtype) * strides[other]
    end
  end
  return flat
end

-- The rank of the index must be that of t; its dims, other than `axis`, at most those of t.
local function check_same_rank(op, t, axis, at)
  local shape, own = t.shape, at.shape
  local fits = #shape == #own
  for other, size in ipairs(own) do
    fits = fits and (other == axis or size <= shape[other])
  end
  if not fits then
    raise("SGL_ESHAPE", ("%s: the index %s does not fit %s along dim %s"):format(
      op, dims.text(at), dims.text(t), axis), "the index has the rank of the tensor and, in "
      .. "the other dims, at most its sizes; t:index_select(dim, index) takes whole slices")
  end
end

local function gather(op, t, dim, at)
  local axis = dims.axis(op, t, dim)
  check_same_rank(op, t, axis, at)
  return apply("gather", { t:flatten(), flat_positions(op, t.shape, axis, at) }, { dim = 1 })
end

for _, name in ipairs { "gather", "take_along_dim" } do
  api.tensor(name, {
    doc = "The element at position index[…] of a dim for each element of the index.",
    args = { T, DIM, INDEX }, returns = "tensor of the shape of index",
    errors = "a position outside the dim; ranks that differ",
  }, function(t, dim, at) return gather(name, t, dim, at) end)
end

api.tensor("scatter_add", {
  doc = "t with src[…] added at position index[…] of a dim, for each element of the index.",
  args = { T, DIM, INDEX, { "src", "tensor", "what is added, of the shape of index" } },
  returns = "tensor",
  errors = "a position outside the dim; shapes that do not fit",
}, function(t, dim, at, src)
  local axis = dims.axis("scatter_add", t, dim)
  check_same_rank("scatter_add", t, axis, at)
  local wide = src.ndim == at.ndim
  for other, size in ipairs(at.shape) do wide = wide and src.shape[other] >= size end
  if not wide then
    raise("SGL_ESHAPE", ("scatter_add: src %s does not fit the index %s"):format(
      dims.text(src), dims.text(at)), "src has an element for each of the index")
  end
  for other, size in ipairs(at.shape) do src = narrow(src, other, 1, size) end
  local flat = flat_positions("scatter_add", t.shape, axis, at)
  local sum = apply("scatter_add",
    { t:flatten(), flat:flatten(), src:to(t.dtype):flatten() }, { dim = 1 })
  return reshape(sum, t.shape)
end)

api.tensor("index_add", {
  doc = "t with the slices of src added at the positions of an index along a dim.",
  args = { T, DIM, INDEX, { "src", "tensor", "what is added, a slice for each index" } },
  returns = "tensor",
  errors = "a position outside the dim",
}, function(t, dim, at, src)
  index.need_integers("index_add", at)
  return apply("scatter_add", { t, at, src:to(t.dtype) },
    { dim = dims.axis("index_add", t, dim) })
end)

api.tensor("bincount", {
  doc = "How often each of 0 to n - 1 stands in the tensor.",
  args = { { "t", "tensor", "integers from 0" },
           { "n", "integer", "how many counts: above the largest", within = { 0, math.huge } } },
  returns = "tensor i32 [n]", errors = "a value outside",
}, function(t, n)
  index.need_integers("bincount", t)
  local counts, ones = core.full({ n }, 0, "i32"), core.full({ dims.count(t.shape) }, 1, "i32")
  return apply("scatter_add", { counts, t:flatten(), ones }, { dim = 1 })
end)

local MASK = { "mask", "tensor", "bool, broadcast to t" }

api.tensor("masked_fill", {
  doc = "t with a value where the mask is true.",
  args = { T, MASK, { "value", "number|tensor|boolean", "put where the mask is true" } },
  returns = "tensor",
}, function(t, mask, value)
  if core.is_tensor(value) then value = value:to(t.dtype) end
  return mask:where(value, t)
end)

api.tensor("masked_select", {
  doc = "The elements where the mask is true, in order. Not inside sgl.compile.",
  args = { T, MASK }, returns = "tensor [n]", errors = "inside sgl.compile",
}, function(t, mask)
  local shape = dims.broadcast(t.shape, mask.shape)
  if not shape then
    raise("SGL_ESHAPE", ("masked_select: %s and %s do not broadcast"):format(
      dims.text(t), dims.text(mask)))
  end
  return index.select_mask("masked_select", t:broadcast_to(shape), mask:broadcast_to(shape))
end)

api.tensor("nonzero", {
  doc = "The positions, from 0, of the elements that are not 0. Not inside sgl.compile.",
  args = { T }, returns = "tensor i32 [n, dims]", errors = "inside sgl.compile",
}, function(t)
  index.refuse_in_capture "nonzero"
  local shape = t.shape
  if #shape == 0 then return core.full({ t:ne(0):int():item(), 0 }, 0, "i32") end
  local at, columns = index.true_positions(t:ne(0)), {}
  for axis, stride in ipairs(dims.strides(shape)) do
    columns[axis] = at:floordiv(math.max(stride, 1)):mod(math.max(shape[axis], 1))
  end
  return root.stack(columns, 2)
end)

return { gather = gather }
