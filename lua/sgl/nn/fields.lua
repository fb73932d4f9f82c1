-- nn/fields.lua: what a module holds: its fields, the order in which they were assigned, and which
-- of them are parameters.
--
-- In:    assignments to fields; the tables behind modules (sgl/versioned.lua).
-- Out:   the tensors and modules that a module holds, each with its name and its place.
-- Holds: what a field is, is seen when it is asked for: a tensor made by nn.parameter is a
--        parameter, another tensor a buffer; tables without a metatable are gone through, numbers
--        first, then names in the order of their bytes. A field that holds a parameter or a module
--        takes no other kind of value: an optimizer would go on with what nobody reads. In
--        `self.a, self.b = …` Lua assigns from the right; the values' ages tell what was meant.
local core = require "sgl.core"
local api = require "sgl.api"
local names = require "sgl.names"
local versioned = require "sgl.versioned"

local fields = {}

local MOST_DEPTH = 8                                      -- of tables in a field

local is_parameter = setmetatable({}, { __mode = "k" })   -- tensor -> true
local order_of = setmetatable({}, { __mode = "k" })       -- module -> list of field names
local age_of = setmetatable({}, { __mode = "k" })         -- module -> its age
local last_of = setmetatable({}, { __mode = "k" })        -- module -> the last new field

--- Begins to note the fields of a new module.
function fields.open(module)
  order_of[module], age_of[module] = {}, core.born()
end

--- Is v a module?
function fields.is_module(v) return type(v) == "table" and order_of[v] ~= nil end

--- Is the tensor a parameter?
function fields.is_parameter(t) return is_parameter[t] == true end

--- Marks a tensor as a parameter, or as none.
function fields.mark(t, on) is_parameter[t] = on or nil end

local is_module = fields.is_module

-- Raises where a parameter or a module would be replaced by what is none.
local function check_replaced(key, old, value, class)
  if is_parameter[old] and not is_parameter[value] then
    core.raise("SGL_EARG", ("nn.%s: field '%s' is a parameter, and what is assigned is %s, which "
      .. "no optimizer would train"):format(class, tostring(key), api.describe(value)),
      ("self.%s:assign(value) changes its values; nn.parameter(value) makes another parameter; "
      .. "nil removes it"):format(tostring(key)))
  elseif is_module(old) and not is_module(value) then
    core.raise("SGL_EARG", ("nn.%s: field '%s' is a module, and what is assigned is %s"):format(
      class, tostring(key), api.describe(value)),
      "another module can take its place; nil removes it")
  end
end

-- The keys of a plain table under which tensors, modules or tables stand: numbers, then names.
local function keys_of(holder)
  local keys = {}
  for key, value in pairs(holder) do
    local held, kind = type(value), type(key)
    if (held == "table" or held == "userdata") and (kind == "string" or kind == "number") then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys, function(a, b)
    if type(a) ~= type(b) then return type(a) == "number" end
    return a < b
  end)
  return keys
end

local function is_plain(v) return type(v) == "table" and not getmetatable(v) end

-- When a value was made; of a table, the first tensor or module in it; nil: it holds none.
local function age(value, depth)
  if is_module(value) then return age_of[value] end
  if core.is_tensor(value) then return core.born(value) end
  depth = depth or 1
  for _, key in ipairs(is_plain(value) and depth <= MOST_DEPTH and keys_of(value) or {}) do
    local own = age(value[key], depth + 1)
    if own then return own end
  end
end

-- The place in `order` of a new field. One that is assigned on the same line as those before, to a
-- value that is older than theirs and was there before they were assigned, stands on their left.
local function place(self, order, value)
  local own, last = age(value), last_of[self]
  if not own then
    if last and last.at == #order then last.at = #order + 1 end
    return #order + 1
  end
  local file, line = core.position()
  local same = last and last.file == file and last.line == line and own < last.time
  local at = #order + 1
  if same and own < last.age and last.at == #order then
    at = last.first
  else
    last = { file = file, line = line, first = at }
    last_of[self] = last
  end
  last.age, last.time, last.at = own, core.born(), #order + 1
  return at
end

--- A field's assignment; `class` names the module in messages. The first fixes the field's place.
function fields.register(self, key, value, class)
  local order, old = order_of[self], rawget(versioned.fields(self), key)
  local known = old ~= nil
  if known and value ~= nil and not rawequal(old, value) then
    check_replaced(key, old, value, class)
    if is_parameter[old] then names.replace(old, tostring(key)) end
  end
  for _, name in ipairs(known and {} or order) do known = known or rawequal(name, key) end
  if not known then table.insert(order, place(self, order, value), key) end
  versioned.write(self, key, value)
end

-- What PyTorch calls the key of a list: positions count from 0 there.
local function from_zero(holder, key)
  local shifted = math.type(key) == "integer" and key >= 1 and rawequal(holder[0], nil)
  return tostring(shifted and key - 1 or key)
end

-- `way` is the link that leads to the holder, or nil: { up, holder, key, value, name }.
local function add(list, name, zero, holder, key, depth, way)
  local value = holder[key]
  way = { up = way, holder = holder, key = key, value = value, name = name }
  if core.is_tensor(value) or is_module(value) then
    list[#list + 1] = { name, value, holder, key, zero, way }
  elseif is_plain(value) and depth < MOST_DEPTH then
    for _, below in ipairs(keys_of(value)) do
      add(list, name .. "." .. below, zero .. "." .. from_zero(value, below), value, below,
        depth + 1, way)
    end
  end
end

--- What a module holds itself, as { name, value, holder, key, zero } with value = holder[key];
--- `zero` is the name with positions that count from 0. Behind them stands the link that leads to
--- the value, where `way` leads to the module.
function fields.list(self, way)
  local list = {}
  for _, key in ipairs(order_of[self]) do
    if key ~= "training" then add(list, tostring(key), from_zero(self, key), self, key, 0, way) end
  end
  return list
end

--- Adds a module to the set of those that are being gone through; raises if it is among them.
function fields.enter(above, module, name)
  if above[module] then
    core.raise("SGL_EARG", ("nn: the module at '%s' is one of those that hold it"):format(name),
      "keep what is above in a function: self.parent = function() return parent end")
  end
  above[module] = true
end

local function walk(self, visit, prefix, zeros, above, way)
  fields.enter(above, self, prefix:sub(1, -2))
  for _, field in ipairs(fields.list(self, way)) do
    local name, value, zero = prefix .. field[1], field[2], zeros .. field[5]
    visit(name, value, field[3], field[4], zero)
    if is_parameter[value] and above.root then names.found(value, above.root, field[6]) end
    if is_module(value) then walk(value, visit, name .. ".", zero .. ".", above, field[6]) end
  end
  above[self] = nil
end

--- Calls visit(name, value, holder, key, zero) for every tensor and module below, parents first.
--- What is noted of the ways is none of a step that is being captured.
function fields.walk(self, visit)
  walk(self, visit, "", "", { root = not core.capturing() and self })
end

return fields
