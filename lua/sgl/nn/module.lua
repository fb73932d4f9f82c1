-- nn/module.lua: modules: objects with parameters, buffers and children.
--
-- In:    classes of the library and of users, with their constructors and forwards.
-- Out:   objects whose fields are registered as they are assigned (nn/fields.lua), and the methods
--        that every module has.
-- Holds: fields live in a table behind the module (sgl/versioned.lua), so writes are seen and
--        reading costs no call. The names are PyTorch's, list positions count from 1; attention
--        keeps its projections apart.

local core = require "sgl.core"
local api = require "sgl.api"
local fields = require "sgl.nn.fields"
local state = require "sgl.nn.state"
local names = require "sgl.names"
local pytorch = require "sgl.pytorch"
local versioned = require "sgl.versioned"

local M = api.module("nn", "Modules, layers, losses and initialisers")
local Module = api.class(M, "Module", { doc = "Base of every layer and model; nn.module makes "
  .. "classes of it." })

-- A field that a module has not is nil, but for names of PyTorch that mean something else here.
setmetatable(Module, { __index = function(_, key)
  local hint = pytorch.hint(api.root, "module", key)
  if hint then core.raise("SGL_EARG", "modules have no method " .. core.quote(key), hint) end
end })

local facts_of = setmetatable({}, { __mode = "k" })       -- module -> {class, file, line, name}

local is_module = fields.is_module

-- A field's assignment; it names a child that has no name yet.
local function register(self, key, value)
  fields.register(self, key, value, facts_of[self].class)
  if is_module(value) and not facts_of[value].name then facts_of[value].name = tostring(key) end
end

-- An iterator over {name, value} pairs; with `shared` false each value comes once.
local function pairs_of(list)
  local i = 0
  return function()
    i = i + 1
    if list[i] then return list[i][1], list[i][2] end
  end
end

local function collect(self, accept, keep_shared)
  local list, seen = {}, {}
  fields.walk(self, function(name, value)
    if accept(value) and (keep_shared or not seen[value]) then
      seen[value] = true
      list[#list + 1] = { name, value }
    end
  end)
  return list
end

-- All tensors and modules below, shared ones under each name.
local function entries(self)
  return collect(self, function() return true end, true)
end

-- Back in the call around, with the results of one.
local function leave(around, ...)
  core.module(around)
  return ...
end

-- In a capture composites know which module they are made in.
local function call(self, ...)
  if not core.capturing() then return api.pass(self:forward(...)) end
  return leave(core.module(), self:forward(...))
end

local accept_parameter = fields.is_parameter
local function accept_buffer(v) return core.is_tensor(v) and not fields.is_parameter(v) end

-- The parameters, as the user lists them: an optimizer calls its state after these names.
local function named_parameters(self)
  local list = collect(self, accept_parameter)
  names.note(list)
  return list
end

local function seconds(list)
  local values = {}
  for i, item in ipairs(list) do values[i] = item[2] end
  return values
end

local function method(name, row, fn) api.method(Module, name, row, fn) end

method("forward", { doc = "What calling the module computes; every class defines its own.",
  args = { { "...", "any...", "as the class takes them" } },
  returns = "what the class says" }, function(self)
  core.raise("SGL_ESTATE", ("nn.%s has no forward"):format(facts_of[self].class),
    ("define function %s:forward(...)"):format(facts_of[self].class))
end)
method("named_parameters", { doc = "Iterates over name, parameter in order of assignment; a shared "
  .. "parameter comes once, under its first name.", returns = "iterator" },
  function(self) return pairs_of(named_parameters(self)) end)
method("parameters", { doc = "The parameters as a list, each once.", returns = "list of tensors" },
  function(self) return seconds(named_parameters(self)) end)
method("named_buffers", { doc = "Iterates over name, tensor for tensors that are no parameters.",
  returns = "iterator" }, function(self) return pairs_of(collect(self, accept_buffer)) end)
method("buffers", { doc = "The tensors that are no parameters, as a list.",
  returns = "list of tensors" }, function(self) return seconds(collect(self, accept_buffer)) end)
method("named_modules", { doc = "Iterates over name, module, itself first under the name ''.",
  returns = "iterator" }, function(self)
  local list = collect(self, is_module)
  table.insert(list, 1, { "", self })
  return pairs_of(list)
end)
method("children", { doc = "The modules held directly, as a list.", returns = "list of modules" },
  function(self)
    local list = {}
    for _, field in ipairs(fields.list(self)) do
      if is_module(field[2]) then list[#list + 1] = field[2] end
    end
    return list
  end)
local function apply(self, fn, name, above)
  fields.enter(above, self, name)
  for _, field in ipairs(fields.list(self)) do
    if is_module(field[2]) then apply(field[2], fn, field[1], above) end
  end
  above[self] = nil
  fn(self)
  return self
end

method("apply", { doc = "Calls fn(module) for every module below and then itself.",
  args = { { "fn", "function", "gets a module" } }, returns = "the module" },
  function(self, fn) return apply(self, fn, "", {}) end)
method("train", { doc = "Sets training mode (dropout, batch statistics), below too.",
  args = { { "on", "boolean?", "default true" } }, returns = "the module" }, function(self, on)
  return self:apply(function(m) m.training = on ~= false end)
end)
method("eval", { doc = "Sets evaluation mode, below too.", returns = "the module" },
  function(self) return self:train(false) end)
method("count", { doc = "Number of elements of all parameters.", returns = "integer" },
  function(self)
    local n = 0
    for _, item in ipairs(collect(self, accept_parameter)) do n = n + item[2]:numel() end
    return n
  end)
method("to", { doc = "Casts parameters and buffers of float type to a dtype.",
  args = { { "dtype", "string", "a float dtype" } }, returns = "the module",
  errors = "another dtype" },
  function(self, dtype)
    local cast = {}
    fields.walk(self, function(_, value, holder, key)
      local is_float = core.is_tensor(value) and value:is_floating_point()
      if not is_float or value.dtype == dtype then return end
      local new = cast[value] or value:detach():to(dtype):realize()
      if not new:is_floating_point() then
        core.raise("SGL_EDTYPE", ("to: a module's tensors stay floats, got '%s'"):format(dtype),
          "f32, f64, f16 or bf16")
      end
      cast[value] = new
      fields.mark(new, fields.is_parameter(value))
      holder[key] = new
    end)
    return self
  end)

method("state_dict", { doc = "Parameters and buffers by name. The list part of the table holds "
  .. "the names in order; values are the tensors themselves, not copies. With PyTorch's names, "
  .. "what is one tensor there is joined.",
  opts = { { "names", "string", nil, "'pytorch': names and layouts that load there" } },
  returns = "table: name -> tensor, and names from 1" },
  function(self, o) return state.state_dict(self, o.names) end)

method("load_state_dict", {
  doc = "Copies values by name into parameters and buffers.",
  args = { { "dict", "table", "name -> tensor, as state_dict or sgl.load gives; or a module" } },
  opts = { { "strict", "boolean", true, "names must be the same on both sides" },
           { "from", "string", nil, "'pytorch': names and layouts of a file saved there; 'sgl': "
             .. "those of this library, whatever they look like" } },
  returns = "the module; names that were missing and that were unexpected, as lists",
  errors = "a missing or unexpected name (strict), a shape or dtype that differs",
}, function(self, dict, o) return self, state.load(self, dict, o) end)

local function describe(self, indent, name, above)
  local lines = {}
  fields.enter(above, self, name)
  for _, field in ipairs(fields.list(self)) do
    if is_module(field[2]) then
      lines[#lines + 1] = ("%s  (%s): %s"):format(indent, field[1],
        describe(field[2], indent .. "  ", field[1], above))
    end
  end
  above[self] = nil
  local head = "nn." .. facts_of[self].class .. facts_of[self].call
  if #lines == 0 then return head end
  return head .. " {\n" .. table.concat(lines, "\n") .. "\n" .. indent .. "}"
end

-- What can be written as it is; nil for modules, tensors and functions.
local function value_text(v)
  if type(v) == "string" then return ("%q"):format(v) end
  if type(v) == "number" then return ("%.14g"):format(v) end
  if type(v) ~= "table" then return (v == nil or type(v) == "boolean") and tostring(v) or nil end
  local words = {}
  for i, item in ipairs(v) do
    words[i] = type(item) == "number" and value_text(item) or nil
  end
  return #words > 0 and "{ " .. table.concat(words, ", ") .. " }" or nil
end

-- The arguments of a constructor's call as they would be written: "(3, 16, 3, { stride = 2 })".
-- What has its default is left out.
local function call_text(row, ...)
  local words, options, count = {}, {}, #(row.args or {})
  for i = 1, count do
    words[i] = value_text((select(i, ...)))
    if not words[i] then break end
  end
  while words[#words] == "nil" do words[#words] = nil end
  for _, opt in ipairs(row.opts or {}) do
    local value = select(count + 1, ...)[opt[1]]
    local text = value ~= opt[3] and value_text(value)
    if text then options[#options + 1] = ("%s = %s"):format(opt[1], text) end
  end
  if #options > 0 then words[#words + 1] = "{ " .. table.concat(options, ", ") .. " }" end
  return #words > 0 and "(" .. table.concat(words, ", ") .. ")" or ""
end

local function module_text(self) return describe(self, "", "", {}) end

-- A class: a table of methods that is called to make an object. `row` documents it; user classes
-- have none and take their arguments as they come.
local function new_class(name, constructor, row)
  local class, check = {}, nil
  if row then class, check = api.class(M, name, row) end
  local meta = {
    __newindex = register, __call = call, __tostring = module_text, __name = "nn." .. name,
  }
  local inherit = { __index = class }
  local function build(...)
    local self = versioned.new(setmetatable({}, inherit), meta)
    fields.open(self)
    names.holder(self, "module", entries, versioned.fields(self))
    local file, line = core.position()
    facts_of[self] = { class = name, file = file, line = line,
                       call = row and call_text(row, ...) or "" }
    self.training = true
    constructor(self, ...)
    return self
  end
  -- What a layer of the library does not take is no input of it, though Lua would drop it.
  local function counted(fn)
    local info = debug.getinfo(fn, "u")
    local most = info.nparams - 1
    return info.isvararg and fn or function(self, ...)
      for i = most + 1, select("#", ...) do
        local extra = select(i, ...)
        if extra ~= nil then
          core.raise("SGL_EARG", ("nn.%s: takes at most %d input%s, got %s as well"):format(name,
            most, most == 1 and "" or "s", api.describe(extra)),
            "options are given where the layer is made")
        end
      end
      return fn(self, ...)
    end
  end
  -- The library's own methods say where a dot stood for the colon; a user's are the user's.
  local function bind(_, key, fn)
    if row and type(fn) == "function" then
      if key == "forward" then fn = counted(fn) end
      fn = api.bound(class, ("nn.%s:%s"):format(name, key), key, fn)
    end
    rawset(class, key, fn)
  end
  return setmetatable(class, {
    __newindex = bind, __index = Module, __name = "nn." .. name,
    __call = function(_, ...)
      if check then return api.pass(build(check(...))) end
      return api.pass(build(...))
    end,
  })
end

api.fn(M, "module", {
  doc = "A new class of modules. The constructor receives the object and then the arguments of "
    .. "the call; fields that are tensors or modules are registered. Define Class:forward(...).",
  args = { { "name", "string", "shown in messages" },
           { "constructor", "function", "fn(self, ...)" } },
  returns = "class: call it to make an object",
}, function(name, constructor) return new_class(name, constructor) end)

api.fn(M, "parameter", {
  doc = "Marks a tensor as trainable: a module that holds it lists it among its parameters. "
    .. "What it was computed from gets no gradient through it.",
  args = { { "value", "tensor", "of a float dtype" } },
  returns = "tensor, the same",
  errors = "an integer tensor",
}, function(value)
  if not value:is_floating_point() then
    core.raise("SGL_EDTYPE", ("nn.parameter: needs a float tensor, got %s"):format(
      api.describe(value)),
      "convert it with :float(), or register it as a buffer by plain assignment")
  end
  fields.mark(value, true)
  return core.derived(value) and value:assign(value) or value
end)

-- A documented class of this library.
local function class(name, row, constructor) return new_class(name, constructor, row) end

-- Where a module was made and what it is called, for messages.
local function made_at(self)
  local f = facts_of[self]
  local called = f.name and (' "%s"'):format(f.name) or ""
  return ("%s:%d (nn.%s%s)"):format(f.file or "?", f.line or 0, f.class, called)
end

-- Refuses anything but a tensor as a module's input.
local function need_tensor(self, x)
  if not core.is_tensor(x) then
    core.raise("SGL_EARG", ("nn.%s: the input must be a tensor, got %s"):format(
      facts_of[self].class, api.describe(x)))
  end
end

-- Refuses anything but [batch, time, size] as a module's input; `name` is what the size is called.
local function need_sequence(self, x, name, size)
  need_tensor(self, x)
  if x.ndim ~= 3 or x.shape[3] ~= size then
    core.raise("SGL_ESHAPE", ("nn.%s: needs [batch, time, %s] with %s %d, got %s"):format(
      facts_of[self].class, name, name, size, api.describe(x)),
      ("the module was made at %s"):format(made_at(self)))
  end
end

return {
  M = M, Module = Module, class = class, is_module = is_module, made_at = made_at,
  need_tensor = need_tensor, need_sequence = need_sequence,
  is_parameter = fields.is_parameter,
}
