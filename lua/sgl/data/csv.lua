-- data/csv.lua: numbers in a CSV file as a dataset of features and labels.
--
-- In:    a file, gzipped or not, of rows of numbers, with or without a line of names.
-- Out:   Dataset of f32[n, d] and, with a label column, i32[n].
-- Holds: a missing file gives nil, message, code; a cell that is not a number raises with its
--        line and column, a label that is no class with its row of numbers.
local api = require "sgl.api"
local core = require "sgl.core"
local dataset = require "sgl.data.dataset"

local raise = core.raise

local function trim(text)
  return (text:gsub('^%s*"?', ""):gsub('"?%s*$', ""))
end

local function header_names(text, separator)
  local names, line = {}, text:match "^[^\r\n]*"
  local plain = separator:gsub("%W", "%%%0")
  for name in (line .. separator):gmatch("(.-)" .. plain) do names[#names + 1] = trim(name) end
  return names
end

-- The first line holds names if a cell of it is no number.
local function looks_like_names(names)
  for _, name in ipairs(names) do
    if name ~= "" and not tonumber(name) and not name:lower():find "^[+-]?nan$"
      and not name:lower():find "^[+-]?inf" then
      return true
    end
  end
  return false
end

local function label_column(path, label, names, columns)
  if math.type(label) == "integer" then
    local at = label < 0 and label + columns + 1 or label
    if at >= 1 and at <= columns then return at end
    raise("SGL_EINDEX", ("data.csv: label column %d is not one of the %d columns of %s"):format(
      label, columns, path), "columns count from 1, or from -1 (the last)")
  end
  for i, name in ipairs(names or {}) do
    if name == label then return i end
  end
  local near = names and core.nearest(tostring(label), names)
  raise("SGL_EARG", ("data.csv: %s has no column '%s'%s"):format(path, tostring(label),
    near and (" (did you mean '%s'?)"):format(near) or ""),
    names and "columns: " .. table.concat(names, ", ") or "the file has no line of names")
end

-- The label column as classes; raises at the first value that is none, rather than cut it off.
local function classes(path, label, column)
  local ids = column:int()
  local odd = ids:ne(column):nonzero()
  if odd.shape[1] == 0 then return ids end
  local row = odd[{ 1, 1 }]:item() + 1
  raise("SGL_EFORMAT", ("data.csv: label column %s of %s holds %g in row %d, no class"):format(
    tostring(label), path, column[row]:item(), row),
    "classes are whole numbers; for other targets read without `label` and slice the columns")
end

api.fn(dataset.root, "csv", {
  doc = "Reads a CSV file of numbers, gzipped or not.",
  args = { { "path", "string", "of the file, .gz too" } },
  opts = {
    { "label", "integer|string", nil, "column of the class, by position or by name" },
    { "scale", "number", 1, "factor of the features" },
    { "header", "boolean", nil, "whether the first line holds names; default: by its look" },
    { "separator", "string", ",", "one character between the cells" },
    { "dtype", "string", "f32", "element type of the features" },
  },
  returns = "Dataset of f32[n, d] and i32[n]; or nil, message, code",
  errors = "a cell that is not a number, rows of different length, an unknown label column, a "
    .. "label that is not a whole number",
}, function(path, o)
  local text, message, code = dataset.read(path)
  if not text then return nil, message, code end
  if #o.separator ~= 1 then
    raise("SGL_EARG", ("data.csv: the separator must be one character, got '%s'"):format(
      o.separator))
  end
  local names = header_names(text, o.separator)
  local header = o.header
  if header == nil then header = looks_like_names(names) end
  local cells = core.csv(text, { separator = o.separator, header = header, name = path })
  local columns = cells.shape[2]
  local x, y = cells, nil
  if o.label then
    local at = label_column(path, o.label, header and names or nil, columns)
    y = classes(path, o.label, cells[{ {}, at }])
    local kept = {}
    if at > 1 then kept[1] = cells[{ {}, { 1, at - 1 } }] end
    if at < columns then kept[#kept + 1] = cells[{ {}, { at + 1, columns } }] end
    x = #kept > 0 and api.root.cat(kept, 2) or cells[{ {}, { 1, 0 } }]
  end
  x = (o.scale ~= 1 and x * o.scale or x):to(o.dtype)
  core.realize({ x, y })
  return dataset.from({ x, y })
end)
