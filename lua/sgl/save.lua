-- save.lua: tensors by name to and from a file, in the format that its ending names (core.formats,
-- src/io/format.def), else safetensors.
--
-- In:    a state dict (names from 1 and name -> tensor), a module, or tables of such: names of
--        nested tables are joined by dots. Numbers are stored as f64 scalars.
-- Out:   a file written whole or not at all; a state dict that load_state_dict takes.
-- Holds: nothing of a table is left out; names keep their order, but for further names of a tensor
--        that has one: it is written once, and those stand in the metadata (ALIAS) and come behind
--        the others when they are read. A missing file gives nil, message, code. A tensor of a
--        dtype that there is not here is refused when it is asked for; the others of its file can
--        be read.
local api = require "sgl.api"
local core = require "sgl.core"
local write = require "sgl.dist.write"

local raise = core.raise

-- The keys of a table of tensors: the names in its list part first, in their order, then the others
-- in the order of the alphabet.
local function keys_of(value)
  local names, listed = {}, {}
  for i, key in ipairs(value) do
    if type(key) ~= "string" then break end
    names[i], listed[key] = key, true
  end
  local count, others = #names, {}
  for key in pairs(value) do
    local name = math.type(key) == "integer" and key >= 1 and key <= count
    if not name and not listed[key] then others[#others + 1] = key end
  end
  table.sort(others, function(a, b) return tostring(a) < tostring(b) end)
  return table.move(others, 1, #others, count + 1, names)
end

-- A name of the file: what the formats can hold.
local function check_name(name, seen, path)
  local what = name == "" and "is empty" or not utf8.len(name) and "is not UTF-8"
    or name:find "%z" and "has a zero byte" or seen[name] and "comes twice"
  if what then
    raise("SGL_EARG", ("save: the name %s %s: nobody could read %s"):format(
      core.quote(name), what, path),
      "names are texts; keys of nested tables are joined by dots")
  end
  seen[name] = true
end

local function add(list, name, value, path, seen, above)
  if core.is_tensor(value) or type(value) == "number" then
    check_name(name, seen, path)
    list[#list + 1] = { name, core.is_tensor(value) and value or core.full({}, value, "f64") }
    return list
  elseif type(value) ~= "table" then
    raise("SGL_EARG", ("save: %s is %s, which %s cannot hold"):format(
      core.quote(name), api.describe(value), path),
      "tensors, numbers and tables of them can be saved")
  elseif above[value] then
    raise("SGL_EARG", ("save: %s is a table that contains itself"):format(core.quote(name)))
  end
  above[value] = true
  local dict = type(value.state_dict) == "function" and value:state_dict() or value
  for _, key in ipairs(keys_of(dict)) do
    add(list, name == "" and tostring(key) or name .. "." .. tostring(key), dict[key], path, seen,
      above)
  end
  above[value] = nil
  return list
end

local ALIAS = "alias:"     -- before a name, in the metadata; its value: that tensor's first name

-- The tensors of the list, each once; the metadata, with the further names.
local function once(list, metadata)
  local out, names, pairs_out = {}, {}, {}
  for key, value in pairs(metadata) do
    if type(key) == "string" and key:sub(1, #ALIAS) == ALIAS then
      raise("SGL_EARG", ("save: the metadata has %s: such keys are for further names of a tensor")
        :format(core.quote(key)), "another key")
    end
    pairs_out[key] = value
  end
  for _, item in ipairs(list) do
    local name, tensor = item[1], item[2]
    if names[tensor] then
      pairs_out[ALIAS .. name] = names[tensor]
    else
      out[#out + 1], names[tensor] = item, name
    end
  end
  return out, pairs_out
end

-- Adds the further names to the dict, and takes them out of the metadata.
local function add_aliases(dict, metadata, path, prefix)
  local aliases = {}
  for key in pairs(metadata) do
    if key:sub(1, #ALIAS + #prefix) == ALIAS .. prefix then aliases[#aliases + 1] = key end
  end
  table.sort(aliases)
  for _, key in ipairs(aliases) do
    local kept, name = metadata[key], key:sub(#ALIAS + #prefix + 1)
    local tensor = kept:sub(1, #prefix) == prefix and dict[kept:sub(#prefix + 1)]
    for _, item in ipairs(not tensor and core.open(path, nil, kept) or {}) do
      if item[1] == kept then tensor = item[2] end
    end
    if not tensor or dict[name] then
      raise("SGL_EFORMAT", ("load: %s: '%s' is another name of '%s', which %s"):format(path,
        prefix .. name, kept, tensor and "it has too" or "is not there"), "save it again")
    end
    dict[#dict + 1], dict[name] = name, tensor
  end
  for key in pairs(metadata) do
    if key:sub(1, #ALIAS) == ALIAS then metadata[key] = nil end
  end
end

api.fn(api.root, "save", {
  doc = "Writes tensors by name to a file, in the format that its ending names, else safetensors. "
    .. "A tensor with several names is written once. On several ranks all call it, and rank 0 "
    .. "writes.",
  args = { { "state", "table", "a state dict, a module, or tables of them" },
           { "path", "string", "of the file; it is replaced as a whole" } },
  opts = { { "metadata", "table", nil, "strings by name, kept in the file" } },
  returns = "true, or nil, message, code",
  errors = "a value that is not a tensor or a number; a name that is not UTF-8 or comes twice; a "
    .. "table that contains itself",
}, function(state, path, o)
  local list, metadata = once(add({}, "", state, path, {}, {}), o.metadata or {})
  return write(path, function() return core.save(list, metadata, path) end)
end)

-- Reading such a name says why there is no tensor.
local function refuse_foreign(path, foreign)
  return { __index = function(_, name)
    local dtype = foreign[name]
    if dtype then
      raise("SGL_EDTYPE", ("load: '%s' of %s is %s, a dtype that there is not here"):format(name,
        path, dtype:sub(1, 20)), "the other tensors of the file can be read; convert this one "
        .. "where it was saved")
    end
  end }
end

api.fn(api.root, "load", {
  doc = "Reads a file of tensors (safetensors, or by its ending another format such as IDX) as a "
    .. "state dict: the names from 1, and name -> tensor. A tensor of another dtype (I8, U16, "
    .. "F8_E4M3, …) is listed, and refused when it is read.",
  args = { { "path", "string", "of the file" } },
  opts = { { "prefix", "string", "", "take only names that begin so, without it" } },
  returns = "state dict, metadata; or nil, message, code",
  errors = "a damaged file",
}, function(path, o)
  local list, metadata, code = core.open(path, nil, o.prefix)
  if not list then return nil, metadata, code end
  local dict, foreign = {}, {}
  for _, item in ipairs(list) do
    local name = item[1]:sub(#o.prefix + 1)
    dict[#dict + 1], dict[name], foreign[name] = name, item[2] or nil, item[3]
  end
  add_aliases(dict, metadata, path, o.prefix)
  if next(foreign) then setmetatable(dict, refuse_foreign(path, foreign)) end
  return dict, api.extra(metadata)
end)
