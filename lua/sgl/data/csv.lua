-- data/csv.lua: a CSV file as a dataset of features and labels.
--
-- In:    a file in the form of RFC 4180, gzipped or not, with or without a line of names.
-- Out:   Dataset of numbers [n, d] and, with a label column, classes i32[n]; its `columns` are the
--        names (or positions) of the features, `classes` the texts of a label column of text,
--        `categories` those of other columns, by name.
-- Holds: a missing file gives nil, message, code. A cell that is none of what its column is raises
--        with line and cell: nothing is rounded, cut off or guessed. Categories are in the order
--        of their bytes, so they do not depend on the order of the rows.
local api = require "sgl.api"
local core = require "sgl.core"
local dataset = require "sgl.data.dataset"

local raise = core.raise

-- An open file: its name, the object of core.csv_open, rows, columns, names or nil. A file that
-- cannot be opened is nil, message, code.
local function open(path, o)
  if #o.separator ~= 1 then
    raise("SGL_EARG", ("data.csv: the separator must be one character, got %s"):format(
      core.quote(o.separator)))
  end
  local table, message, code = core.csv_open(path, o)
  if not table then return nil, message, code end
  local rows, count, names = core.csv_head(table)
  return { path = path, table = table, rows = rows, count = count, names = names }
end

-- The position of a column given by position or name; `role` is what it was given for.
local function find_column(file, column, role)
  if math.type(column) == "integer" then
    local at = column < 0 and column + file.count + 1 or column
    if at >= 1 and at <= file.count then return at end
    raise("SGL_EINDEX", ("data.csv: %s column %d is not one of the %d columns of %s"):format(
      role, column, file.count, file.path), "columns count from 1, or from -1 (the last)")
  end
  for i, name in ipairs(file.names or {}) do
    if name == column then return i end
  end
  local near = file.names and core.nearest(tostring(column), file.names)
  raise("SGL_EARG", ("data.csv: %s has no column %s%s"):format(file.path, core.quote(column),
    near and (" (did you mean '%s'?)"):format(near) or ""),
    file.names and "columns: " .. table.concat(file.names, ", ")
      or "the file has no line of names")
end

local function column_name(file, at) return file.names and file.names[at] or at end

-- Positions of a list of columns.
local function find_columns(file, list, role)
  local out = {}
  for i, column in ipairs(list) do out[i] = find_column(file, column, role) end
  return out
end

-- A column of texts as i32[n], and the texts that the numbers stand for; -1 where one is missing.
local function read_categories(file, at, missing)
  local texts, names, number = core.csv_texts(file.table, at), {}, {}
  for i, text in ipairs(texts) do
    if not text and missing == nil then
      raise("SGL_EFORMAT", ("data.csv: column '%s' of %s has no value in row %d"):format(
        column_name(file, at), file.path, i), "missing = 0 takes such a row, as category -1")
    end
    if text and not number[text] then
      number[text] = true
      names[#names + 1] = text
    end
  end
  table.sort(names)
  for i, name in ipairs(names) do number[name] = i - 1 end
  for i, text in ipairs(texts) do texts[i] = text and number[text] or -1 end
  return core.tensor(texts, "i32"), names
end

-- What to do about a cell that is no number: several numbers in it have another separator.
local function hint_of(text)
  if text:find("a number is missing", 1, true) then return "missing = 0 stands for such cells" end
  local cell = text:match "not a number: '(.*)'$"
  local other = cell and (cell:match "%d(;)" or cell:match "%d(\\t)" or cell:match "%d(|)")
  if other then return ('separator = "%s" cuts such lines'):format(other) end
  return cell and "categories = { … } takes columns of text as numbers; columns = { … } leaves "
    .. "columns out" or nil
end

-- Columns as numbers of a dtype that core.csv_numbers reads; an error says what to do.
local function read_numbers(file, columns, dtype, missing)
  local ok, x = pcall(core.csv_numbers, file.table, columns, dtype, missing)
  if ok then return x end
  local text = tostring(x.message)
  raise(x.code, text, hint_of(text))
end

-- The label column as classes, and their texts where it has text; raises at the first value that
-- is no class, rather than cut it off.
local function read_label(file, label, at, missing)
  local ok, column = pcall(core.csv_numbers, file.table, { at }, "f64", missing)
  if not ok then
    if not column.message:find("not a number", 1, true) then error(column, 0) end
    return read_categories(file, at, missing)
  end
  column = column:reshape(file.rows)
  local ids = column:int()
  local odd = ids:double():ne(column):nonzero()
  if odd.shape[1] == 0 then return ids end
  local row = odd[{ 1, 1 }]:item() + 1
  raise("SGL_EFORMAT", ("data.csv: label column %s of %s holds %.17g in row %d, no class"):format(
    tostring(label), file.path, column[row]:item(), row),
    "classes are whole numbers; for other targets read without `label` and slice the columns")
end

local EXACT = { f32 = "f32", f64 = "f64", i32 = "i32", i64 = "i64", f16 = "f32", bf16 = "f32",
                u8 = "i32", bool = "i32" }
local MOST = { u8 = 255, bool = 1 }

-- The feature columns in the dtype, scaled.
local function read_features(file, columns, o)
  local read = EXACT[o.dtype] or raise("SGL_EARG", ("data.csv: unknown dtype %s"):format(
    core.quote(o.dtype)))
  if o.scale ~= 1 and not o.dtype:find "^b?f" then
    raise("SGL_EARG", ("data.csv: a scale needs a float dtype, got %s"):format(o.dtype))
  end
  local x = read_numbers(file, columns, read, o.missing)
  local most = MOST[o.dtype]
  if most and (x:lt(0) | x:gt(most)):any():item() then
    raise("SGL_EFORMAT", ("data.csv: %s holds values out of the range of %s"):format(file.path,
      o.dtype))
  end
  return (o.scale ~= 1 and x * o.scale or x):to(o.dtype)
end

-- The features: numbers, with columns of text in place as categories.
local function join_features(file, columns, o)
  local is_text, found = {}, {}
  for _, at in ipairs(find_columns(file, o.categories or {}, "category")) do is_text[at] = true end
  local parts, run = {}, {}
  local function flush()
    if #run > 0 then parts[#parts + 1] = read_features(file, run, o) end
    run = {}
  end
  for _, at in ipairs(columns) do
    if is_text[at] then
      flush()
      local codes, names = read_categories(file, at, o.missing)
      found[column_name(file, at)] = names
      parts[#parts + 1] = codes:reshape(file.rows, 1):to(o.dtype)
    else
      run[#run + 1] = at
    end
  end
  flush()
  if #parts == 0 then parts[1] = read_features(file, {}, o) end
  return #parts == 1 and parts[1] or api.root.cat(parts, 2), found
end

api.fn(dataset.root, "csv", {
  doc = "Reads a CSV file (RFC 4180), gzipped or not. The dataset's `columns` are the names of the "
    .. "features, `classes` the texts of a label column of text, `categories` those of others.",
  args = { { "path", "string", "of the file, .gz too" } },
  opts = {
    { "label", "integer|string", nil, "column of the class, by position or by name; text is "
      .. "numbered in the order of its bytes" },
    { "columns", "table", nil, "the features, by position or by name; default: all but the label" },
    { "categories", "table", nil, "columns of text that become numbers from 0, in the order of "
      .. "their bytes" },
    { "missing", "number", nil, "what stands for an empty cell, NA, null and the like; default: an "
      .. "error. A missing category is -1" },
    { "scale", "number", 1, "factor of the features that are numbers" },
    { "header", "boolean", nil, "whether the first line holds names; default: by its look" },
    { "separator", "string", ",", "one character between the cells" },
    { "dtype", "string", "f32", "element type of the features; numbers are read with its digits" },
  },
  returns = "Dataset of numbers [n, d] and i32[n]; or nil, message, code",
  errors = "a cell that is not a number, or missing; rows of different length; equal names; an "
    .. "unknown column; a label that is not a whole number; a value that the dtype has not",
}, function(path, o)
  local file, message, code = open(path, o)
  if not file then return nil, message, code end
  local label = o.label and find_column(file, o.label, "label")
  local columns = {}
  if o.columns then
    columns = find_columns(file, o.columns, "feature")
  else
    for at = 1, file.count do
      if at ~= label then columns[#columns + 1] = at end
    end
  end
  local x, categories = join_features(file, columns, o)
  local y, classes
  if label then y, classes = read_label(file, o.label, label, o.missing) end
  core.realize({ x, y })
  local names = {}
  for i, at in ipairs(columns) do names[i] = column_name(file, at) end
  return dataset.from({ x, y }, { columns = names, classes = classes, categories = categories })
end)
