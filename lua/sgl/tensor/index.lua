-- index.lua: reading t[key].
--
-- In:    keys: a position, a list with one entry for each dim (a position, {} for all,
--        {first, last}, {first, last, step}, "..." for the dims between, an integer tensor), an
--        integer tensor (rows) or a bool tensor (a mask).
-- Out:   lazy tensors. t[#t + 1] is nil, so that ipairs ends.
-- Holds: positions in keys count from 1 or from the end, positions in tensors from 0. A result
--        whose size depends on values (a mask) is not possible inside sgl.compile and raises.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"
local movement = require "sgl.tensor.movement"

local apply, raise = core.apply, core.raise
local narrow, reshape = movement.narrow, movement.reshape

local index = {}

--- Raises unless the tensor can serve as an index.
function index.need_integers(op, t)
  if t.dtype:find "f" or t.dtype == "bool" then
    raise("SGL_EDTYPE", ("%s: the index must hold integers, got %s"):format(op, dims.text(t)),
      "index:int() converts it")
  end
end

-- A range {first, last, step} on a dim of n: first, last and step with first resolved.
local settle = core.number_settle

local function range(t, axis, key)
  local n = t.shape[axis]
  local first, last = settle(key[1], "the position"), settle(key[2], "the position")
  local step = settle(key[3] or 1, "the step of a slice")
  if step == 0 then raise("SGL_EARG", "the step of a slice must not be 0") end
  first = first or (step > 0 and 1 or n)
  last = last or (step > 0 and n or 1)
  for _, v in ipairs { first, last, step } do
    if math.type(v) ~= "integer" and not core.is_dim(v) then
      raise("SGL_EARG", ("a slice takes integers, got %s"):format(api.describe(v)))
    end
  end
  local from = first < 0 and first + n + 1 or first
  local to = last < 0 and last + n + 1 or last
  local empty = step > 0 and to == from - 1
  local low, high = from, to
  if step < 0 then low, high = to, from end
  if not empty and (low < 1 or high > n or step > 0 and from > to
    or step < 0 and from < to) then
    raise("SGL_EINDEX", ("the slice {%s} does not fit dim %s of %s"):format(
      dims.shape_text({ first, last, key[3] }):sub(2, -2), axis, dims.text(t)),
      ("positions count from 1 to %s, both ends included, or from -1 (the last)"):format(n))
  end
  return from, to, step
end

local function position(t, axis, key)
  local n = t.shape[axis]
  local at = key < 0 and key + n + 1 or key
  if at < 1 or at > n then
    raise("SGL_EINDEX", ("position %s is outside dim %s of %s"):format(key, axis, dims.text(t)),
      ("positions count from 1 to %s, or from -1 (the last)"):format(n))
  end
  return at
end

--- Positions of a dim that a key entry selects, as (first, step, count); nil for a tensor.
function index.selection(t, axis, key)
  if math.type(key) == "integer" or core.is_dim(key) then return position(t, axis, key), 1, 1 end
  if math.tointeger(key) then return position(t, axis, math.tointeger(key)), 1, 1 end
  if type(key) == "table" then
    local from, to, step = range(t, axis, key)
    return from, step, step > 0 and (to - from) // step + 1 or (from - to) // -step + 1
  end
  if core.weak(key) then return index.selection(t, axis, settle(key, "the position")) end
  raise("SGL_EARG", ("t[{…}]: entry %s must be a position, a slice {first, last} or an integer "
    .. "tensor, got %s"):format(axis, api.describe(key)))
end

--- A list key with "..." replaced, one entry for each dim.
function index.entries(t, key)
  local list, rank = {}, t.ndim
  local gap = rank - #key
  for i = 1, #key do
    if key[i] == "..." then
      for _ = 0, gap do list[#list + 1] = {} end
      gap = -1
    else
      list[#list + 1] = key[i]
    end
  end
  if #list > rank then
    raise("SGL_EINDEX", ("t[{…}]: %s entries for %s, which has %s dims"):format(
      #list, dims.text(t), rank))
  end
  while #list < rank do list[#list + 1] = {} end
  return list
end

local function slice(t, axis, from, step, count)
  if step < 0 then
    local n = t.shape[axis]
    return slice(apply("flip", t, { dims = { axis } }), axis, n - from + 1, -step, count)
  end
  local shape = t.shape
  local start, steps = dims.fill(#shape, 0), dims.fill(#shape, 1)
  start[axis], shape[axis], steps[axis] = from - 1, from - 1 + (count - 1) * step + 1, step
  if count == 0 then shape[axis] = from - 1 end
  return apply("slice", t, { start = start, stop = shape, step = steps })
end

-- Reads the entries from the last dim to the first, so that axes stay in place meanwhile.
local function get_list(t, key)
  local list = index.entries(t, key)
  for axis = #list, 1, -1 do
    local entry = list[axis]
    if core.is_tensor(entry) then
      index.need_integers("t[{…}]", entry)
      t = apply("gather", { t, entry }, { dim = axis })
    elseif type(entry) ~= "table" or next(entry) then
      local from, step, count = index.selection(t, axis, entry)
      t = slice(t, axis, from, step, count)
      if type(entry) ~= "table" then t = t:squeeze(axis) end
    end
  end
  return t
end

--- A mask seen with the rank of t (trailing dims of size 1), after checking that it fits.
function index.fit_mask(op, t, mask)
  local shape, own = t.shape, mask.shape
  for axis, size in ipairs(own) do
    if size ~= shape[axis] then
      raise("SGL_ESHAPE", ("%s: the mask %s does not fit %s: dim %s is %s"):format(
        op, dims.text(mask), dims.text(t), axis, tostring(shape[axis] or "missing")))
    end
  end
  for axis = #own + 1, #shape do own[axis] = 1 end
  return reshape(mask, own)
end

function index.refuse_in_capture(op)
  if core.capturing() then
    raise("SGL_ESTATE", op .. ": the size of the result depends on values, which are not known "
      .. "inside sgl.compile", "t[mask] = f(t) writes the selected rows of f(t); "
      .. "sgl.where(mask, t, 0) keeps the shape; or select outside the compiled function")
  end
end

--- Indices, from 0, of the true elements of a flat mask.
function index.true_positions(mask)
  local flat = mask:flatten():int()
  local count = flat:sum():item()
  local order = apply("argsort", flat, { dim = 1, descending = true })
  return narrow(order, 1, 1, count)
end

function index.select_mask(op, t, mask)
  index.refuse_in_capture(op)
  index.fit_mask(op, t, mask)
  local shape, lead = t.shape, mask.ndim
  local rest = table.move(shape, lead + 1, #shape, 2, { mask:numel() })
  return apply("gather", { reshape(t, rest), index.true_positions(mask) }, { dim = 1 })
end

function core.Tensor.__getitem(t, key)
  if math.type(key) == "integer" or core.is_dim(key) then
    if t.ndim == 0 then
      raise("SGL_EINDEX", ("%s has no dims to index"):format(dims.text(t)),
        "t:item() gives its value")
    end
    if key == t.shape[1] + 1 then return nil end
    return narrow(t, 1, position(t, 1, key), position(t, 1, key)):squeeze(1)
  elseif core.is_tensor(key) then
    if key.dtype == "bool" then return index.select_mask("t[mask]", t, key) end
    index.need_integers("t[index]", key)
    return apply("gather", { t, key }, { dim = 1 })
  elseif type(key) == "table" then
    return get_list(t, key)
  end
  if core.weak(key) then return core.Tensor.__getitem(t, settle(key, "the position")) end
  raise("SGL_EARG", ("a tensor is indexed by a position, a list such as {{1, 3}, {}} or a tensor, "
    .. "got %s"):format(api.describe(key)))
end

return index
