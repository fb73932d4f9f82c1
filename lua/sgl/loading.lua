-- loading.lua: values by name into tensors.
--
-- In:    rows { name, { tensor, … } } of what there is here, the tensors of a row being one in the
--        dict, one behind the other along dim 1; a dict: name -> tensor, with or without a list of
--        its names.
-- Out:   the names that were missing and those that were not expected.
-- Holds: all is checked before the first value is copied. A value that cannot be read (save.lua) is
--        asked for only if there is a row for it.
local api = require "sgl.api"
local core = require "sgl.core"

local loading = {}

--- The names of a dict: those of its list part, then the others in the order of their bytes.
function loading.names(dict)
  local list, seen, others = {}, {}, {}
  for _, name in ipairs(dict) do
    if type(name) == "string" and not seen[name] then list[#list + 1], seen[name] = name, true end
  end
  for name in pairs(dict) do
    if type(name) == "string" and not seen[name] then others[#others + 1] = name end
  end
  table.sort(others)
  return table.move(others, 1, #others, #list + 1, list)
end

-- What a value for the tensors must be: the tensors one behind the other along dim 1.
local function wanted(parts)
  local shape, rows = parts[1].shape, 0
  if #parts == 1 then return api.describe(parts[1]) end
  for _, t in ipairs(parts) do rows = rows + t.shape[1] end
  shape[1] = rows
  return parts[1].dtype .. api.shape_text(shape)
end

-- Refuses two values for a tensor that has two names.
local function check_tied(before, name, value)
  if rawequal(before[2], value) or before[2]:bytes() == value:bytes() then return end
  core.raise("SGL_EARG", ("load_state_dict: '%s' and '%s' are one tensor here, and two that differ "
    .. "in the dict"):format(before[1], name),
    "the dict must come from a module that ties them too")
end

-- { tensor, value } for each tensor of the rows that the dict has a value for; the names that it
-- lacks.
local function match(rows, dict, given)
  local pending, missing, there, before = {}, {}, {}, {}
  for _, name in ipairs(given) do there[name] = true end
  for _, row in ipairs(rows) do
    local name, parts = row[1], row[2]
    local value, first = there[name] and dict[name], 1
    if not value then
      missing[#missing + 1] = name
    elseif api.describe(value) ~= wanted(parts) then
      core.raise("SGL_ESHAPE", ("load_state_dict: '%s' is %s here and %s in the dict"):format(name,
        wanted(parts), api.describe(value)),
        "the dict must come from a module of the same sizes and dtype")
    end
    for _, t in ipairs(value and parts or {}) do
      local part = #parts == 1 and value or value:narrow(1, first, t.shape[1])
      if before[t] then check_tied(before[t], name, part) end
      before[t] = before[t] or { name, part }
      pending[#pending + 1] = { t, part }
      first = first + (#parts == 1 and 0 or t.shape[1])
    end
  end
  return pending, missing
end

local function check_names(missing, extra)
  if #missing > 0 then
    core.raise("SGL_EARG", "load_state_dict: missing: " .. table.concat(missing, ", "),
      "pass { strict = false } to load what is there")
  elseif #extra > 0 then
    core.raise("SGL_EARG", "load_state_dict: unexpected: " .. table.concat(extra, ", "),
      "pass { strict = false } to ignore them")
  end
end

--- Copies the values. With `strict` the names must be the same on both sides.
function loading.into(rows, dict, strict)
  local given, own, extra = loading.names(dict), {}, {}
  local pending, missing = match(rows, dict, given)
  for _, row in ipairs(rows) do own[row[1]] = true end
  for _, name in ipairs(given) do
    if not own[name] then extra[#extra + 1] = name end
  end
  if strict then check_names(missing, extra) end
  for _, p in ipairs(pending) do p[1]:assign(p[2]) end
  return missing, extra
end

return loading
