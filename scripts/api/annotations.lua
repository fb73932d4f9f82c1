-- annotations.lua: lua/sgl.d.lua: the public functions as LuaCATS annotations, for editors.
--
-- In:    api.all(), core.knobs(), core.dtypes(), and the module itself, to see what inherits what.
-- Out:   the file as a string. It is Lua, but it is read by language servers, never run.
local core = require "sgl.core"
local words = require "api.words"

local HEAD = [[
---@meta sgl
-- sgl.d.lua: types of the public functions for language servers. Written by `make docs`; do not
-- edit. Point the workspace library of your editor at the folder of this file.

---@class sgl.Tensor
---@field shape integer[]
---@field dtype sgl.dtype
---@field ndim integer
---@operator add(sgl.Tensor|number): sgl.Tensor
---@operator sub(sgl.Tensor|number): sgl.Tensor
---@operator mul(sgl.Tensor|number): sgl.Tensor
---@operator div(sgl.Tensor|number): sgl.Tensor
---@operator idiv(sgl.Tensor|number): sgl.Tensor
---@operator mod(sgl.Tensor|number): sgl.Tensor
---@operator pow(sgl.Tensor|number): sgl.Tensor
---@operator unm: sgl.Tensor
---@operator len: integer
---@field [integer|table|sgl.Tensor] sgl.Tensor
local Tensor = {}

---@class sgl
---@field version string
---@field config sgl.config
local sgl = { Tensor = Tensor }
]]

-- What rows do not say of a class: how its objects are called, counted and read.
local EXTRA = {
  ["sgl.Compiled"] = "---@operator call(...): any\n",
  ["sgl.nn.Module"] = "---@field training boolean\n---@operator call(...): any\n",
  ["sgl.optim.Optimizer"] = "---@field params sgl.Tensor[]\n---@field steps sgl.Tensor\n",
  ["sgl.data.Dataset"] = "---@field tensors sgl.Tensor[]\n---@operator len: integer\n",
  ["sgl.data.Text"] = "---@field vocabulary string[]\n---@field ids sgl.Tensor\n"
    .. "---@operator len: integer\n",
}

local KNOB_TYPES = { integer = "integer", path = "string", text = "string", set = "string|table" }

local TYPES = { tensor = "sgl.Tensor", module = "sgl.nn.Module", ["function"] = "function" }

-- How the returns of a row begin, and the types that says. The first that fits counts.
local RETURNS = {
  { "^list of tensors", { "sgl.Tensor[]" } },
  { "^list of names", { "string[]" } },
  { "^list of integers", { "integer[]" } },
  { "^list of modules", { "sgl.nn.Module[]" } },
  { "^list or integer", { "integer[]|integer" } },
  { "^list", { "table" } },
  { "^tensor, …", { "sgl.Tensor", "sgl.Tensor ..." } },
  { "^tensor, or values, indices", { "sgl.Tensor", "sgl.Tensor?" } },
  { "^values, indices", { "sgl.Tensor", "sgl.Tensor" } },
  { "^tensor", { "sgl.Tensor" } },
  { "^t$", { "sgl.Tensor" } },
  { "^the tensors", { "sgl.Tensor", "sgl.Tensor ..." } },
  { "^a tensor for a tensor", { "sgl.Tensor|sgl.Tensor[]" } },
  { "^number or boolean", { "number|boolean" } },
  { "^table, number or boolean", { "table|number|boolean" } },
  { "^number", { "number" } },
  { "^integer", { "integer" } },
  { "^boolean", { "boolean" } },
  { "^true", { "boolean" } },
  { "^string", { "string" } },
  { "^the path", { "string" } },
  { "^table", { "table" } },
  { "^state dict", { "table<string|integer, any>", "table" } },
  { "^iterator", { "fun(...): any" } },
  { "^the module", { "self" } },
  { "^Graph or string", { "sgl.Graph|string" } },
  { "^Graph", { "sgl.Graph" } },
  { "^Compiled", { "sgl.Compiled" } },
  { "^Dataset, …", { "sgl.data.Dataset", "sgl.data.Dataset ..." } },
  { "^Dataset", { "sgl.data.Dataset" } },
  { "^Text, …", { "sgl.data.Text", "sgl.data.Text ..." } },
  { "^Text", { "sgl.data.Text" } },
  { "^Stream", { "sgl.data.Stream" } },
  { "^schedule", { "sgl.optim.schedule.Schedule" } },
  { "^plateau", { "sgl.optim.schedule.Plateau" } },
  { "^nothing", {} },
}

local KEYWORDS = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat "
  .. "return then true until while"):gmatch "%a+" do
  KEYWORDS[word] = true
end

local function identifier(name)
  return KEYWORDS[name] and name .. "_" or name
end

-- "nn.Linear" and "sgl.Graph" as they are reached from the table sgl.
local function path(name)
  return name:find "^sgl" and name or "sgl." .. name
end

local function type_of(text)
  local list = {}
  for i, name in ipairs(words.type(text).names) do list[i] = TYPES[name] or name end
  return table.concat(list, "|")
end

-- Documentation comments of any length, one line each.
local function comment(text)
  return "---" .. (text or ""):gsub("\n", " ") .. "\n"
end

local function note(text)
  return text and text ~= "" and " " .. text or ""
end

local function options_class(name, row)
  if not row.opts then return "" end
  local lines = { ("---@class %s.Options\n"):format(name) }
  for _, opt in ipairs(row.opts) do
    local default = opt[3] ~= nil and (" (default %s)"):format(words.value(opt[3])) or ""
    lines[#lines + 1] = ("---@field %s? %s%s%s\n"):format(opt[1], type_of(opt[2]), note(opt[4]),
      default)
  end
  return table.concat(lines) .. "\n"
end

-- Parameters as (annotation lines, names); `first` is the first argument that is no self.
local function parameters(name, row, first)
  local lines, names = {}, {}
  for i = first, #(row.args or {}) do
    local arg, t = row.args[i], words.type(row.args[i][2])
    local shown = (t.rest or arg[1] == "...") and "..." or identifier(arg[1])
    names[#names + 1] = shown
    lines[#lines + 1] = ("---@param %s%s %s%s\n"):format(shown, t.optional and "?" or "",
      type_of(arg[2]), note(arg[3]))
  end
  if row.opts and names[#names] ~= "..." then
    names[#names + 1] = "o"
    lines[#lines + 1] = ("---@param o? %s.Options\n"):format(name)
  end
  return table.concat(lines), table.concat(names, ", ")
end

local function return_lines(text)
  if not text then return "" end
  local may_fail = text:find "or nil, message, code" ~= nil
  local types = { "any" }
  for _, rule in ipairs(RETURNS) do
    if text:find(rule[1]) then
      types = rule[2]
      break
    end
  end
  local lines = {}
  for i, name in ipairs(types) do
    lines[i] = ("---@return %s%s%s\n"):format(name, may_fail and i == 1 and "?" or "",
      i == 1 and text ~= "tensor" and " # " .. text or "")
  end
  if may_fail then lines[#lines + 1] = "---@return string? message\n---@return string? code\n" end
  return table.concat(lines)
end

local function is_subclass(class, base)
  local meta = class and getmetatable(class)
  return meta and meta.__index == base
end

local printers = {}

function printers.module(row)
  return ("---%s.\n---@class %s\n%s = {}\n"):format(row.doc, path(row.full), path(row.full))
end

printers["function"] = function(row)
  local full = path(row.module) .. "." .. row.name
  local lines, names = parameters(full, row, 1)
  return options_class(full, row) .. comment(row.doc) .. lines .. return_lines(row.returns)
    .. ("function %s(%s) end\n"):format(full, names)
end

function printers.tensor(row)
  local full = "sgl." .. row.name
  local lines, names = parameters(full, row, 2)
  return options_class(full, row) .. comment(row.doc) .. lines .. return_lines(row.returns)
    .. ("function Tensor:%s(%s) end\n%s = Tensor.%s\n"):format(row.name, names, full, row.name)
end

function printers.alias(row)
  local of = row.of
  return ("Tensor.%s = Tensor.%s\nsgl.%s = sgl.%s\n"):format(row.name, of, row.name, of)
end

function printers.method(row)
  local class = path(row.module)
  local full = ("%s.%s"):format(class, row.name)
  local lines, names = parameters(full, row, 1)
  return options_class(full, row) .. comment(row.doc) .. lines .. return_lines(row.returns)
    .. ("function %s:%s(%s) end\n"):format(class == "sgl.Tensor" and "Tensor" or class, row.name,
      names)
end

-- A class that is called to make an object gets the call as an overload.
function printers.class(row, sgl)
  local full = path(row.full)
  if full == "sgl.Tensor" then return "" end
  local class, base = sgl, nil
  for name in full:gsub("^sgl%.", ""):gmatch "%w+" do class = class[name] end
  if is_subclass(class, sgl.nn.Module) then base = "sgl.nn.Module" end
  if is_subclass(class, sgl.optim.Optimizer) then base = "sgl.optim.Optimizer" end
  local overload = ""
  if row.args or row.opts or row.returns then
    local list = {}
    for _, arg in ipairs(row.args or {}) do
      local t = words.type(arg[2])
      list[#list + 1] = (t.rest and "...: %s" or identifier(arg[1]) .. (t.optional and "?" or "")
        .. ": %s"):format(type_of(arg[2]))
    end
    if row.opts then list[#list + 1] = ("o?: %s.Options"):format(full) end
    overload = ("---@overload fun(%s): %s\n"):format(table.concat(list, ", "), full)
  end
  return options_class(full, row) .. comment(row.doc)
    .. ("---@class %s%s\n"):format(full, base and ": " .. base or "")
    .. (EXTRA[full] or "") .. overload .. ("%s = {}\n"):format(full)
end

local function settings()
  local lines = { "---@class sgl.config\n" }
  for _, knob in ipairs(core.knobs()) do
    local type = KNOB_TYPES[knob.type] or knob.values:gsub("%S+", '"%0"'):gsub(" ", "|")
    lines[#lines + 1] = ("---@field %s %s %s\n"):format(knob.name, type, knob.help)
  end
  return table.concat(lines)
end

local function dtypes()
  local names = {}
  for i, dtype in ipairs(core.dtypes()) do names[i] = ('"%s"'):format(dtype.name) end
  return ("---@alias sgl.dtype %s\n"):format(table.concat(names, "|"))
end

-- What sgl.nn passes on from sgl.nn.functional.
local function passed_on(rows, sgl)
  local lines = {}
  for _, row in ipairs(rows) do
    local functional = row.module == "nn.functional" and row.kind == "function"
    if functional and rawget(sgl.nn, row.name) == sgl.nn.functional[row.name] then
      lines[#lines + 1] = ("sgl.nn.%s = sgl.nn.functional.%s\n"):format(row.name, row.name)
    end
  end
  return table.concat(lines)
end

--- lua/sgl.d.lua
return function(rows, sgl)
  local parts = { HEAD, settings(), dtypes() }
  for _, row in ipairs(rows) do parts[#parts + 1] = printers[row.kind](row, sgl) end
  parts[#parts + 1] = passed_on(rows, sgl)
  parts[#parts + 1] = "return sgl\n"
  return table.concat(parts, "\n")
end
