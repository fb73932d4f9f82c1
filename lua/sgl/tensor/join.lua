-- join.lua: several tensors made one, and grids over several vectors.
--
-- In:    lists of tensors, dims as dims.lua reads them.
-- Out:   lazy tensors of the dtype that all promote to.
-- Holds: what is joined agrees in every other dim; a message names the first that does not.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"
local movement = require "sgl.tensor.movement"

local apply, raise = core.apply, core.raise
local concat, reshape = movement.concat, movement.reshape

-- The list of a joining function, checked: tensors, at least one.
local function tensor_list(op, list)
  for i = 1, math.max(1, #list) do
    if not core.is_tensor(list[i]) then
      raise("SGL_EARG", ("%s: item %s of the list must be a tensor, got %s"):format(
        op, i, api.describe(list[i])))
    end
  end
  return list
end

-- Each operand in the dtype they all promote to.
local function promoted(list)
  local dtype, result = list[1].dtype, {}
  for i = 2, #list do dtype = dims.promote(dtype, list[i].dtype) end
  for i, t in ipairs(list) do result[i] = t:to(dtype) end
  return result
end

local function cat(op, list, dim)
  local axis = dims.axis(op, list[1], dim)
  local first = list[1].shape
  for i = 2, #list do
    local shape = list[i].shape
    shape[axis] = #shape == #first and first[axis] or -1
    if dims.shape_text(shape) ~= dims.shape_text(first) then
      raise("SGL_ESHAPE", ("%s: %s and %s (item %s) differ in more than dim %s"):format(op,
        dims.text(list[1]), dims.text(list[i]), i, dim))
    end
  end
  return concat(promoted(list), axis)
end

api.fn(api.root, "cat", {
  doc = "Tensors joined along one dim.",
  args = { { "list", "table", "tensors" }, { "dim", "integer?", "default 1" } },
  returns = "tensor", errors = "other dims that differ",
}, function(list, dim) return cat("cat", tensor_list("cat", list), dim or 1) end)
api.alias("cat", "concat", "concatenate")

api.fn(api.root, "stack", {
  doc = "Tensors of one shape joined along a new dim.",
  args = { { "list", "table", "tensors" }, { "dim", "integer?", "default 1" } },
  returns = "tensor", errors = "shapes that differ",
}, function(list, dim)
  tensor_list("stack", list)
  local axis, shape = dims.axis("stack", list[1], dim or 1, 1), list[1].shape
  local columns = {}
  for i, t in ipairs(list) do
    if dims.shape_text(t.shape) ~= dims.shape_text(shape) then
      raise("SGL_ESHAPE", ("stack: %s and %s (item %s) have different shapes"):format(
        dims.text(list[1]), dims.text(t), i))
    end
    columns[i] = t:unsqueeze(axis)
  end
  return concat(promoted(columns), axis)
end)

-- The tensors with at least `rank` dims each, which come before those that they have.
local function raised(op, list, rank)
  local result = {}
  for i, t in ipairs(tensor_list(op, list)) do
    result[i] = t
    for _ = t.ndim + 1, rank do result[i] = result[i]:unsqueeze(1) end
  end
  return result
end

api.fn(api.root, "vstack", {
  doc = "Tensors joined along dim 1, vectors being rows.",
  args = { { "list", "table", "tensors" } }, returns = "tensor",
  errors = "other dims that differ",
}, function(list) return cat("vstack", raised("vstack", list, 2), 1) end)

api.fn(api.root, "hstack", {
  doc = "Tensors joined along dim 2, vectors along their only one.",
  args = { { "list", "table", "tensors" } }, returns = "tensor",
  errors = "other dims that differ",
}, function(list)
  local flat = raised("hstack", list, 1)
  return cat("hstack", flat, math.min(flat[1].ndim, 2))
end)

api.fn(api.root, "meshgrid", {
  doc = "The grid over vectors: result i holds the values of vector i along dim i.",
  args = { { "vectors", "tensor...", "one for each dim of the result" } }, returns = "tensor, …",
  errors = "a tensor of another rank",
}, function(list)
  local sizes, result = {}, {}
  for i, t in ipairs(list) do
    if t.ndim ~= 1 then
      raise("SGL_ESHAPE", ("meshgrid: takes vectors, got %s"):format(dims.text(t)))
    end
    sizes[i] = t.shape[1]
  end
  for i, t in ipairs(list) do
    local column = dims.fill(#list, 1)
    column[i] = sizes[i]
    result[i] = apply("broadcast", reshape(t, column), { dims = sizes })
  end
  return table.unpack(result)
end)
