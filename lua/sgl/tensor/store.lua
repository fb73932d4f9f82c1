-- store.lua: writing t[key] = value.
--
-- In:    keys as index.lua reads them; a number, a list or a tensor as the value.
-- Out:   nothing; t has a new value, in which `where` chose between the old and the given.
-- Holds: value semantics: tensors made from t before keep their values. The result has the dtype
--        of t. Inside sgl.compile a write to a state tensor becomes an update of the step.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"
local index = require "sgl.tensor.index"
local movement = require "sgl.tensor.movement"

local apply, raise, reshape = core.apply, core.raise, movement.reshape

-- The value broadcast to the selected shape, its selected dims restored as size 1.
local function fit_value(t, v, shape, kept)
  if v.ndim == 0 then return v end
  local whole = dims.broadcast(v.shape, kept)
  if not whole or dims.shape_text(whole) ~= dims.shape_text(kept) then
    raise("SGL_ESHAPE", ("a value %s cannot be put into the part %s of %s"):format(
      dims.text(v), dims.shape_text(kept), dims.text(t)))
  end
  return reshape(apply("broadcast", v, { dims = kept }), shape)
end

-- Along one dim: which positions are selected, and the value moved to them.
local function spread(t, axis, from, step, count, v)
  local shape = dims.fill(t.ndim, 1)
  local n = t.shape[axis]
  shape[axis] = n
  local at = core.iota(shape, axis, "i32") - (from - 1)
  if step < 0 then at, step = -at, -step end
  local nth = at:floordiv(step)
  local hit = at:ge(0):logical_and(nth:lt(count))
  if step > 1 then hit = hit:logical_and(at:mod(step):eq(0)) end
  if v.ndim > 0 and v.shape[axis] ~= 1 then
    v = apply("gather", { v, reshape(nth:clamp(0, count - 1), { n }) }, { dim = axis })
  end
  return hit, v
end

local function set_list(t, key, v)
  local list, shape, kept = index.entries(t, key), {}, {}
  local from, step, count = {}, {}, {}
  for axis, entry in ipairs(list) do
    if core.is_tensor(entry) then
      raise("SGL_EUNSUP", "t[{…}] = v: a tensor is not taken in a list",
        "use t[index] = v for rows, or t[mask] = v")
    end
    from[axis], step[axis], count[axis] = index.selection(t, axis, entry)
    shape[axis] = count[axis]
    if type(entry) == "table" then kept[#kept + 1] = count[axis] end
  end
  v = fit_value(t, v, shape, kept)
  if dims.count(shape) == 0 then return end
  local where
  for axis, n in ipairs(t.shape) do
    if count[axis] ~= n or step[axis] ~= 1 then
      local hit
      hit, v = spread(t, axis, from[axis], step[axis], count[axis], v)
      where = where and where:logical_and(hit) or hit
    end
  end
  t:__put(where and where:where(v, t) or v)
end

-- Does v hold one value, or row behind the mask's dims, for each that the mask selects?
local function is_selection(t, mask, v)
  local lead, shape, own = mask.ndim, t.shape, v.shape
  if #own ~= #shape - lead + 1 then return false end
  for axis = lead + 1, #shape do
    if own[axis - lead + 1] ~= shape[axis] then return false end
  end
  return true
end

-- The selected values at the places of the mask's true elements, in order; nil: there are none.
-- Inside a capture their number is known, and compared, at each run.
local function at_places(t, mask, v)
  local flat, count = mask:flatten():int(), v.shape[1]
  if core.capturing() then
    core.effect_assert(flat:sum():eq(count), ("t[mask] = v: v is %s, but not so many elements are "
      .. "selected"):format(dims.text(v)))
  elseif flat:sum():item() ~= count then
    raise("SGL_ESHAPE", ("t[mask] = v: %s elements are selected, but v is %s"):format(
      flat:sum():item(), dims.text(v)))
  end
  if count == 0 then return nil end
  local rank = (apply("cumsum", flat, { dim = 1, reverse = false }) - 1):clamp(0, count - 1)
  return reshape(apply("gather", { v, rank }, { dim = 1 }), t.shape)
end

-- v: a scalar, a tensor of the shape of t, or what is selected, in order. Where the last two have
-- one shape they mean the same, because then all is selected.
local function set_mask(t, mask, v)
  local wide = index.fit_mask("t[mask] = v", t, mask)
  if v.ndim > 0 and dims.shape_text(v.shape) ~= dims.shape_text(t.shape) then
    if not is_selection(t, mask, v) then
      raise("SGL_ESHAPE", ("t[mask] = v: v must be a number, a scalar, as many values as are "
        .. "selected, or %s, got %s"):format(dims.text(t), dims.text(v)),
        "sgl.where(mask, v, t) chooses element by element")
    end
    v = at_places(t, mask, v)
  end
  if v then t:__put(wide:where(v, t)) end
end

-- The last of the values given for a row wins, as if they were written one after the other. Rows
-- that are not there would hit nothing; reading their numbers refuses them, as t[index] does.
local function set_rows(t, at, v)
  index.need_integers("t[index] = v", at)
  local shape = t.shape
  local n, k = shape[1], at:numel()
  if t.ndim == 0 then
    raise("SGL_EINDEX", ("t[index] = v: %s has no dims to index"):format(dims.text(t)),
      "t:assign(v) sets its value")
  end
  if k == 0 then return end
  local numbers = core.iota({ n }, 1, "i32")
  local rows = apply("gather", { numbers, at:flatten() }, { dim = 1 })
  local hit = reshape(numbers, { n, 1 }):eq(reshape(rows, { 1, k }))
  local order = core.iota({ 1, k }, 2, "i32") + 1
  local last = hit:where(order, 0):amax(2)
  local ones = dims.fill(#shape, 1)
  ones[1] = n
  if v.ndim > 0 then
    local kept = table.move(shape, 2, #shape, at.ndim + 1, at.shape)
    local flat = table.move(shape, 2, #shape, 2, { k })
    v = fit_value(t, v, flat, kept)
    v = apply("gather", { v, (last - 1):maximum(0) }, { dim = 1 })
  end
  t:__put(reshape(last:gt(0), ones):where(v, t))
end

core.Tensor.__unheld = core.unheld          -- asked by t[key] = v and t:assign(v)

function core.Tensor.__setitem(t, key, v)
  if type(v) == "number" or type(v) == "boolean" or core.weak(v) then
    v = core.full({}, v, t.dtype, "t[key] = v")
  else
    v = core.is_tensor(v) and v:to(t.dtype) or core.tensor(v, t.dtype)
  end
  if math.tointeger(key) then
    set_list(t, { key }, v)
  elseif core.is_tensor(key) then
    if key.dtype == "bool" then set_mask(t, key, v) else set_rows(t, key, v) end
  elseif type(key) == "table" then
    set_list(t, key, v)
  else
    if core.weak(key) then
      return core.Tensor.__setitem(t, core.number_settle(key, "the position"), v)
    end
    raise("SGL_EARG", ("a tensor has no field %s to set"):format(api.describe(key)),
      "t[1] = v and t[{ {1, 3}, {} }] = v set values")
  end
end
