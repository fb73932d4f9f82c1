-- nn/state.lua: the values of a module by name, out of it and into it.
--
-- In:    a module, the names that are wanted: those of this library, or PyTorch's.
-- Out:   a state dict; or the module with the values of one.
-- Holds: PyTorch's names come from the module, not from the file: positions of lists count from 0,
--        and a class may say which tensors are one there (its __pytorch: { name, names here } each,
--        joined along dim 1).
local api = require "sgl.api"
local core = require "sgl.core"
local fields = require "sgl.nn.fields"
local loading = require "sgl.loading"

local state = {}

-- The tensor at "q.weight" below a module, or nil.
local function find(module, path)
  local value = module
  for word in path:gmatch "[^.]+" do value = value and value[word] end
  return value
end

-- The tensors that a class has under other names there, as rows.
local function add_layout(rows, taken, module, name, zero)
  for _, row in ipairs(module.__pytorch or {}) do
    local parts = {}
    for i, path in ipairs(row[2]) do
      parts[i] = find(module, path)
      taken[name .. path] = true
    end
    if #parts == #row[2] then rows[#rows + 1] = { zero .. row[1], parts } end
  end
end

-- { name, { tensor, … } } each, in order.
local function rows_of(module, from)
  local rows, taken, torch = {}, {}, from == "pytorch"
  if torch then add_layout(rows, taken, module, "", "") end
  fields.walk(module, function(name, value, _, _, zero)
    if not core.is_tensor(value) then
      if torch then add_layout(rows, taken, value, name .. ".", zero .. ".") end
    elseif not taken[name] then
      rows[#rows + 1] = { torch and zero or name, { value } }
    end
  end)
  return rows
end

local FROM = { sgl = true, pytorch = true }

local function check_from(caller, option, from)
  if from and not FROM[from] then
    core.raise("SGL_EARG", ("%s: option '%s' must be 'sgl' or 'pytorch', got '%s'"):format(caller,
      option, from))
  end
end

--- The state dict: the names from 1 in order, and name -> tensor.
function state.state_dict(module, names)
  check_from("state_dict", "names", names)
  local dict = {}
  for _, row in ipairs(rows_of(module, names)) do
    local parts = row[2]
    dict[#dict + 1], dict[row[1]] = row[1], #parts == 1 and parts[1] or api.root.cat(parts, 1)
  end
  return dict
end

local function set_of(rows)
  local set = {}
  for _, row in ipairs(rows) do set[row[1]] = true end
  return set
end

-- Raises where a name is one that PyTorch would have for a tensor here, and none of this library.
local function check_shifted(module, own, given)
  local torch = set_of(rows_of(module, "pytorch"))
  for _, name in ipairs(given) do
    if torch[name] and not own[name] then
      core.raise("SGL_EARG", ("load_state_dict: '%s' is a name as PyTorch gives it: others would "
        .. "go into the next layer here"):format(name), "its names count from 0, as PyTorch's do: "
        .. "pass { from = \"pytorch\" }, or { from = \"sgl\" } to take them as they are")
    end
  end
end

--- Copies values by name into the module, as loading.into does; o.from: whose names they are.
function state.load(module, dict, o)
  check_from("load_state_dict", "from", o.from)
  if fields.is_module(dict) then dict = state.state_dict(dict, o.from) end
  local rows = rows_of(module, o.from)
  if not o.from then check_shifted(module, set_of(rows), loading.names(dict)) end
  return loading.into(rows, dict, o.strict)
end

return state
