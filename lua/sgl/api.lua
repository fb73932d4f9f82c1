-- api.lua: public functions are table rows: the row checks the call and is the documentation.
--
-- In:    a row { doc, args, opts, returns, errors } and the function that does the work.
-- Out:   a checked function in its module, and the row in the registry that docs/api.md and the
--        editor annotations are printed from (`api.all`).
-- Rows:  args = { { name, type, text }, … }, opts = { { name, type, default, text }, … }.
--        A type is tensor number integer string boolean table function module any; "a|b" is
--        either, "type?" may be nil, "type..." takes what is left as one list. An entry may say
--        within = { least, limit }: a number must then be at least the one and below the other;
--        with a third, true, above the one;
--        among = { word, … }: a string must be one of these;
--        items = n: a list must have n integers, each in the range;
--        usage = text: the hint of an error at it.
-- Steps: a number of a captured step is accepted where a number or a tensor can stand, and where
--        the entry says input = true; where only a number can, its value is needed: a break.
-- Holds: the work gets the positional arguments in order (a rest argument as a list), then, if
--        the row has opts, a fresh table with every default filled in. An options table may
--        stand where optional arguments are left out.
local core = require "sgl.core"
local pytorch = require "sgl.pytorch"

local api = {}
local rows = {}
local unpack = table.unpack

-- The table that `require "sgl"` returns.
api.root = {}

local function is_callable(v)
  if type(v) == "function" then return true end
  local meta = getmetatable(v)
  return type(meta) == "table" and meta.__call ~= nil
end

-- An object of a class of nn.module, whose metatable is fixed (versioned.lua); that of the class
-- itself, a slip for Class(), is not.
local function is_module(v)
  return type(v) == "table" and is_callable(v) and getmetatable(v).__metatable ~= nil
end

local CHECKS = {
  tensor     = core.is_tensor,
  number     = function(v) return type(v) == "number" or core.is_dim(v) end,
  integer    = function(v) return math.type(v) == "integer" or core.is_dim(v) end,
  string     = function(v) return type(v) == "string" end,
  boolean    = function(v) return type(v) == "boolean" end,
  table      = function(v) return type(v) == "table" end,
  ["function"] = is_callable,
  module     = is_module,
  any        = function(v) return v ~= nil end,
}

--- Sizes as text: "[2, 3]", "[batch, 3]".
function api.shape_text(shape)
  local words = {}
  for i, size in ipairs(shape) do words[i] = tostring(size) end
  return "[" .. table.concat(words, ", ") .. "]"
end

--- "f32[2, 3]" for a tensor, `{2, 3}` for a list of numbers, else what Lua calls the value.
function api.describe(v)
  if core.is_tensor(v) then
    return v.dtype .. api.shape_text(v.shape)
  elseif core.is_dim(v) then
    return ("the size '%s'"):format(v)
  elseif type(v) == "string" then
    return core.quote(v)
  elseif type(v) == "number" or type(v) == "boolean" then
    return tostring(v)
  elseif is_module(v) then
    return "a module"
  end
  return core.weak(v) or type(v) == "nil" and "nil" or "a " .. type(v)
end

-- "tensor|number|table" as words: "a tensor, a number or a table".
local function type_words(names)
  local words = {}
  for i, name in ipairs(names) do
    words[i] = (name:find "^[aeiou]" and "an " or "a ") .. name
  end
  local last = table.remove(words)
  return #words > 0 and table.concat(words, ", ") .. " or " .. last or last
end

local function parse_type(full, text)
  local body = text:gsub("%?$", ""):gsub("%.%.%.$", "")
  local spec = { optional = text:find "%?$" ~= nil, rest = text:find "%.%.%.$" ~= nil, names = {} }
  for name in body:gmatch "[^|]+" do
    assert(CHECKS[name], ("%s: the row names no type '%s'"):format(full, name))
    spec.names[#spec.names + 1] = name
  end
  return spec
end

-- The value in its checked form (2.0 where an integer is due becomes 2), or nil.
local function accept(spec, value)
  for _, name in ipairs(spec.names) do
    if CHECKS[name](value) then return value end
  end
  for _, name in ipairs(spec.names) do
    local whole = name == "integer" and math.type(value) == "float" and math.tointeger(value)
    if whole then return whole end
  end
  return nil
end

-- `item` is the place among the values of a rest argument.
local function wrong_type(full, kind, row, spec, value, item)
  core.raise("SGL_EARG", ("%s: %s '%s' must be %s, got %s%s"):format(
    full, kind, row[1], type_words(spec.names), api.describe(value),
    item and item > 1 and (" (number %d of them)"):format(item) or ""), row.usage)
end

local function range_words(range, value)
  if value == math.huge then return "finite" end
  if range[2] == math.huge then
    return (range[3] and "above %g" or "at least %g"):format(range[1])
  end
  return ("in %s%g, %g)"):format(range[3] and "(" or "[", range[1], range[2])
end

-- The least number that a range has: 0 itself is not above 0.
local function least_of(range)
  return range[3] and range[1] == 0 and 2.0 ^ -1074 or range[1]
end

local function in_range(range, value)
  return value >= range[1] and value < range[2] and not (range[3] and value == range[1])
end

local function check_word(full, kind, row, value)
  for _, word in ipairs(row.among) do
    if word == value then return end
  end
  local near, count = core.nearest(value, row.among), #row.among
  core.raise("SGL_EARG", ("%s: %s '%s' must be '%s' or '%s', got %s%s"):format(full, kind, row[1],
    table.concat(row.among, "', '", 1, count - 1), row.among[count], api.describe(value),
    near and (" (did you mean '%s'?)"):format(near) or ""))
end

-- A number of a captured step: itself, its range checked at each run; where Lua has to look at it,
-- its value, to which the step is held; or nil.
local function accept_weak(full, kind, row, spec, value)
  local can = {}
  for _, name in ipairs(spec.names) do can[name] = true end
  local whole = can.integer and row.input and core.number_type(value) == "integer"
  if whole or can.number and (can.tensor or row.input) then
    local range = row.within
    if range then
      local text = ("%s: %s '%s' must be %s, got {}"):format(full, kind, row[1], range_words(range))
      core.number_within(value, least_of(range), range[2], text)
    end
    return value
  end
  if can.number or can.integer then
    return accept(spec, core.number_settle(value, ("%s ('%s')"):format(full, row[1])))
  end
  return nil
end

-- A list of row.items integers, each in the range of the row.
local function check_items(full, kind, row, value)
  local fine = #value == row.items
  for _, item in ipairs(fine and value or {}) do
    fine = fine and math.type(item) == "integer" and (not row.within or in_range(row.within, item))
  end
  if fine then return end
  local words, each = {}, row.within and ", each " .. range_words(row.within) or ""
  for i, item in ipairs(value) do words[i] = api.describe(item) end
  core.raise("SGL_EARG", ("%s: %s '%s' must be an integer or a list of %s%s, got { %s }"):format(
    full, kind, row[1], row.items == 2 and "two" or row.items, each, table.concat(words, ", ")))
end

-- The value of an argument or option in its checked form; raises when it is not as its row says.
local function checked(full, kind, row, spec, value, item)
  local result, range = accept(spec, value), row.within
  if result == nil and core.weak(value) then
    result = accept_weak(full, kind, row, spec, value)
  end
  if result == nil then wrong_type(full, kind, row, spec, value, item) end
  if row.among then check_word(full, kind, row, result) end
  if row.items and type(result) == "table" then check_items(full, kind, row, result) end
  if range and type(result) == "number" and not in_range(range, result) then
    core.raise("SGL_EARG", ("%s: %s '%s' must be %s, got %s"):format(
      full, kind, row[1], range_words(range, result), api.describe(value)))
  end
  return result
end

-- A table that can only be meant as options: plain, with a key that is a name.
local function looks_like_options(v)
  if type(v) ~= "table" or getmetatable(v) then return false end
  return type(next(v)) == "string"
end

local function option_names(opts)
  local names = {}
  for i, opt in ipairs(opts) do names[i] = opt[1] end
  return names
end

local function unknown_option(full, opts, key)
  local names = option_names(opts)
  local near = core.nearest(tostring(key), names)
  core.raise("SGL_EARG", ("%s: unknown option %s (%soptions: %s)"):format(
    full, core.quote(key), near and ("did you mean '%s'? "):format(near) or "",
    table.concat(names, ", ")))
end

-- Tables that a function returned behind its result: passed on by f(g(x)), they are no options.
local extras = setmetatable({}, { __mode = "k" })

--- Marks a further result, such as a file's metadata, as no options table; returns it.
function api.extra(t)
  extras[t] = true
  return t
end

--- Checks an options table against rows of options and returns a fresh one with the defaults.
function api.options(full, opts, given)
  local specs, known, result = opts.specs, opts.known, {}
  if not specs then
    specs, known = {}, {}
    for i, opt in ipairs(opts) do
      specs[i], known[opt[1]] = parse_type(full, opt[2]), true
    end
    opts.specs, opts.known = specs, known
  end
  if given then
    if type(given) ~= "table" then
      core.raise("SGL_EARG", ("%s: the options must be a table, got %s"):format(
        full, api.describe(given)))
    end
    for key in pairs(given) do
      if not known[key] then unknown_option(full, opts, key) end
    end
  end
  for i, opt in ipairs(opts) do
    local value = given and given[opt[1]]
    if value == nil then
      result[opt[1]] = opt[3]
    else
      result[opt[1]] = checked(full, "option", opt, specs[i], value)
    end
  end
  return result
end

local function check_one(full, arg, spec, value, item)
  if value == nil and spec.optional then return nil end
  return checked(full, "argument", arg, spec, value, item)
end

-- Raises for too many arguments. What a loader gives for a file that it cannot read (nil, a text,
-- a code) is told as that.
local function too_many(full, most, values, count)
  local code = values[count]
  if values[count - 2] == nil and type(code) == "string" and code:find "^SGL_E" then
    core.raise(code, ("%s: got nil, as the call for an argument failed: %s"):format(
      full, values[count - 1]), "assert(…) around that call raises this there")
  end
  core.raise("SGL_EARG", ("%s: takes at most %d argument%s, got %d"):format(
    full, most, most == 1 and "" or "s", count))
end

-- Index of the options table among `count` given values: behind the positional ones, or, where
-- only optional ones are left out, the last value if it cannot be anything else.
local function options_at(specs, given, count, fixed, rest)
  if not rest and count == fixed + 1 then return count end
  local spec = specs[count] or rest
  if count > 0 and spec and (spec.rest or spec.optional) and looks_like_options(given[count]) then
    return count
  end
  return nil
end

--- A function that takes a call's values and returns them checked, as the head of the file says.
function api.checker(full, row)
  local args, opts = row.args or {}, row.opts
  local specs = {}
  for i, arg in ipairs(args) do specs[i] = parse_type(full, arg[2]) end
  local rest = #specs > 0 and specs[#specs].rest and specs[#specs] or nil
  local fixed = rest and #specs - 1 or #specs
  local total = #specs
  return function(...)
    local count, given = select("#", ...), { ... }
    while count > 0 and (given[count] == nil or extras[given[count]]) do count = count - 1 end
    local chosen
    if opts then
      local at = options_at(specs, given, count, fixed, rest)
      chosen = at and given[at]
      if at then given[at], count = nil, at - 1 end
    end
    if not rest and count > fixed then too_many(full, fixed + (opts and 1 or 0), given, count) end
    local out = {}
    for i = 1, fixed do out[i] = check_one(full, args[i], specs[i], given[i]) end
    if rest then
      local list = {}
      for i = fixed + 1, count do
        list[i - fixed] = check_one(full, args[total], rest, given[i], i - fixed)
      end
      out[total] = list
    end
    if opts then out[total + 1] = api.options(full, opts, chosen) end
    return unpack(out, 1, opts and total + 1 or total)
  end
end

local full_of = setmetatable({}, { __mode = "k" })   -- function -> its name for users

--- The name for users of the function that a frame runs, or nil.
function api.full_name(fn) return full_of[fn] end

--- Hands on what it gets. The functions that users call end in it, so that they make no tail call
--- themselves: an error then knows whether the user made one, and lost the line.
function api.pass(...) return ... end

local pass = api.pass

local function wrap(full, row, fn)
  full_of[fn] = full
  local check = api.checker(full, row)
  return function(...) return pass(fn(check(...))) end
end

-- The file that is being loaded, as "tensor/reduce.lua": the docs group rows by it.
local function loading_file()
  local level, info = 1
  repeat
    level = level + 1
    info = debug.getinfo(level, "S")
  until not info or info.what == "main"
  return info and info.source:gsub("^=sgl/", "") or nil
end

local function register(kind, module, name, full, row)
  row.kind, row.module, row.name, row.full = kind, module, name, full
  row.file = row.file or loading_file()
  rows[#rows + 1] = row
  return row
end

local names = setmetatable({ [api.root] = "sgl" }, { __mode = "k" })

-- nn.functional's functions are reached as nn.relu, so messages name them so.
local function prefix(module)
  return (names[module] or "sgl"):gsub("%.functional$", "")
end

--- Raises for a field that a table has not, with what is written for it here, or the nearest of
--- those it has.
function api.no_field(name, known, key)
  local hint = pytorch.hint(api.root, name, key)
  table.sort(known)
  local near = not hint and core.nearest(tostring(key), known)
  core.raise("SGL_EARG", ("%s has no field %s%s"):format(name, core.quote(key),
    near and (" (did you mean '%s'?)"):format(near) or ""), hint)
end

-- What a method is called that tensors have not; src/tensor/meta.c asks.
function core.Tensor.__hint(name) return pytorch.hint(api.root, "tensor", name) end

--- The names that a table has for users.
function api.fields(t)
  local known = {}
  for key in pairs(t) do
    if type(key) == "string" and not key:find "^__" then known[#known + 1] = key end
  end
  return known
end

--- Makes it an error to read a field that is neither a class's nor one of `fields`, those of its
--- objects, which may be nil. Lua itself looks for names with two underscores.
function api.strict(class, what, fields)
  local known = {}
  for _, name in ipairs(fields or {}) do known[name] = true end
  setmetatable(class, { __index = function(t, key)
    if known[key] or type(key) == "string" and key:find "^__" then return nil end
    local all = api.fields(t)
    api.no_field(what, table.move(fields or {}, 1, #(fields or {}), #all + 1, all), key)
  end })
end

--- A table to put functions in, known by `name` in messages and docs. Reading a name that it has
--- not raises, so that a typo is found where it stands.
function api.module(name, doc)
  local module = setmetatable({}, {
    __index = function(t, key) api.no_field(name, api.fields(t), key) end,
  })
  names[module] = name
  register("module", name, name, name, { doc = doc })
  return module
end

--- Puts a checked function into a module.
function api.fn(module, name, row, fn)
  local full = prefix(module) .. "." .. name
  register("function", names[module], name, full, row)
  module[name] = wrap(full, row, fn)
  return module[name]
end

-- "sum(…)": a call without its first argument, or with a dot for the colon, lacks an argument.
local function tensor_usage(name, args)
  local words = {}
  for i = 2, #args do words[i - 1] = args[i][1] end
  local rest = table.concat(words, ", ")
  return ("%s:%s(%s), with a colon, or sgl.%s(%s%s%s)"):format(args[1][1], name, rest, name,
    args[1][1], rest ~= "" and ", " or "", rest)
end

-- Rows of several functions may share an argument.
local function with_usage(name, args)
  local list, first = table.move(args, 1, #args, 1, {}), {}
  for key, value in pairs(args[1]) do first[key] = value end
  list[1], first.usage = first, tensor_usage(name, args)
  return list
end

--- A function on tensors: `sgl.name(t, …)` and `t:name(…)`.
function api.tensor(name, row, fn)
  register("tensor", "sgl", name, name, row)
  row.args = with_usage(name, row.args)
  local wrapped = wrap(name, row, fn)
  api.root[name], core.Tensor[name] = wrapped, wrapped
  return wrapped
end

--- Further names of a tensor function.
function api.alias(name, ...)
  for _, other in ipairs { ... } do
    api.root[other], core.Tensor[other] = api.root[name], core.Tensor[name]
    register("alias", "sgl", other, other, { of = name })
  end
end

--- Registers a class under module[name]; returns it and the checker of its constructor.
function api.class(module, name, row, class)
  local full = prefix(module) .. "." .. name
  register("class", names[module], name, full, row)
  class = class or {}
  class.__index = class.__index or class
  class.__name = class.__name or full
  names[class] = full
  module[name] = class
  return class, api.checker(full, row)
end

--- Is v a class of the library?
function api.is_class(v) return names[v] ~= nil end

-- "model:forward(…)" for nn.Linear:forward.
local function wrong_self(full, name, value)
  core.raise("SGL_EARG", ("%s: called on %s"):format(full, api.describe(value)),
    ("object:%s(…), with a colon"):format(name))
end

--- A method of a class that is called with an object of that class before anything else.
function api.bound(class, full, name, fn)
  return function(self, ...)
    if not core.is_a(self, class) then wrong_self(full, name, self) end
    return pass(fn(self, ...))
  end
end

--- Puts a checked method into a class.
function api.method(class, name, row, fn)
  local full = (names[class] or class.__name) .. ":" .. name
  register("method", names[class] or class.__name, name, full, row)
  local check = api.checker(full, row)
  class[name] = api.bound(class, full, name, function(self, ...) return fn(self, check(...)) end)
  return class[name]
end

--- Registers what C gives: a class api.root[name] whose methods check their own arguments.
function api.native(name, row, methods)
  local full = "sgl." .. name
  if row.doc then register("class", "sgl", name, full, row) end
  for _, method in ipairs(methods) do
    register("method", full, method[1], full .. ":" .. method[1], method[2])
  end
end

--- Every row, in the order of definition.
function api.all()
  return rows
end

return api
