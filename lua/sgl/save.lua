-- save.lua: tensors by name to and from a file, in the format that its ending names (core.formats,
-- src/io/format.def), else safetensors.
--
-- In:    a state dict (names from 1 and name -> tensor), a module, or tables of such: names of
--        nested tables are joined by dots. Numbers are stored as f64 scalars.
-- Out:   a file written whole or not at all; a state dict that load_state_dict takes.
-- Holds: names keep their order. A missing file gives nil, message, code.
local api = require "sgl.api"
local core = require "sgl.core"

local raise = core.raise

local function add(list, name, value, path)
  if core.is_tensor(value) then
    list[#list + 1] = { name, value }
  elseif type(value) == "number" then
    list[#list + 1] = { name, core.full({}, value, "f64") }
  elseif type(value) == "table" then
    if type(value.state_dict) == "function" then value = value:state_dict() end
    local names = {}
    for i, key in ipairs(value) do names[i] = key end
    -- Without a list of names the order is that of the alphabet.
    if type(names[1]) ~= "string" then
      names = {}
      for key in pairs(value) do names[#names + 1] = key end
      table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
    end
    for _, key in ipairs(names) do
      add(list, name == "" and tostring(key) or name .. "." .. tostring(key), value[key], path)
    end
  else
    raise("SGL_EARG", ("save: '%s' is %s, which %s cannot hold"):format(
      name, api.describe(value), path), "tensors, numbers and tables of them can be saved")
  end
  return list
end

api.fn(api.root, "save", {
  doc = "Writes tensors by name to a file, in the format that its ending names, else safetensors.",
  args = { { "state", "table", "a state dict, a module, or tables of them" },
           { "path", "string", "of the file; it is replaced as a whole" } },
  opts = { { "metadata", "table", nil, "strings by name, kept in the file" } },
  returns = "true, or nil, message, code", errors = "a value that is not a tensor or a number",
}, function(state, path, o)
  local list = add({}, "", state, path)
  return core.write(path, core.save(list, o.metadata or {}, path))
end)

api.fn(api.root, "load", {
  doc = "Reads a file of tensors (safetensors, or by its ending another format such as IDX) as a "
    .. "state dict: the names from 1, and name -> tensor.",
  args = { { "path", "string", "of the file" } },
  opts = { { "prefix", "string", "", "take only names that begin so, without it" } },
  returns = "state dict, metadata; or nil, message, code",
  errors = "a damaged file",
}, function(path, o)
  local text, message, code = core.read(path)
  if not text and code ~= "SGL_EFILE" then raise(code, message, "the file is not whole") end
  if not text then return nil, message, code end
  local list, metadata = core.load(text, path)
  if not list then return nil, metadata end
  local dict, prefix = {}, o.prefix
  for _, item in ipairs(list) do
    if item[1]:sub(1, #prefix) == prefix then
      local name = item[1]:sub(#prefix + 1)
      dict[#dict + 1], dict[name] = name, item[2]
    end
  end
  return dict, metadata
end)
