-- guards.lua: guards in words: which place of the script changed, from what to what.
--
-- In:    the guards of a capture, the number of one that fails.
-- Out:   "cfg.k changed from 2 to 3". A place is named as the script reaches it: by the upvalue or
--        global that leads to it, then fields.
local core = require "sgl.core"

local guards = {}

--- The table that serves the fields that a table has not itself, or nil.
function guards.fields(v)
  local meta = type(v) == "table" and debug.getmetatable(v)
  local behind = meta and rawget(meta, "__index")
  return type(behind) == "table" and behind or nil
end

-- The guards by the value that they found: where each object is reached from.
local function reached_from(list)
  local from = {}
  for _, g in ipairs(list) do
    local v = g.value
    local kind = type(v)
    if kind == "table" or kind == "function" or kind == "userdata" then
      if g.kind == "upvalue" and g.name ~= "_ENV" then from[v] = g end
      if g.kind ~= "length" and g.kind ~= "keys" then from[v] = from[v] or g end
      local behind = guards.fields(v)
      if behind then from[behind] = from[behind] or from[v] end
    end
  end
  return from
end

local MOST_DEPTH = 12
-- One value of each type that may have a metatable; nil is the one that is missing.
local OF_TYPES = { 0, true, "", print, coroutine.create(print) }

-- "the metatable of numbers"
local function type_path(meta)
  if debug.getmetatable(nil) == meta then return "the metatable of nil" end
  for _, v in ipairs(OF_TYPES) do
    if debug.getmetatable(v) == meta then return ("the metatable of %ss"):format(type(v)) end
  end
end

local path_of

local function container_path(g, from, names, depth)
  local c = g.container
  if c == nil then return "(a table that is gone)" end
  if names[c] then return names[c] end
  local up = from[c]
  if c == _G or up and up.kind == "upvalue" and up.name == "_ENV" then return "" end
  if not up or depth > MOST_DEPTH then
    if c == core.Tensor then return "sgl.Tensor" end
    local of_type = type_path(c)
    if of_type then return of_type end
    local name = debug.getmetatable(c) and rawget(debug.getmetatable(c), "__name")
    return name and ("(%s)"):format(name) or "(a table)"
  end
  return path_of(up, from, names, depth + 1)
end

-- A key in brackets. Objects are called by the place that leads to them: what they are as text is
-- for the script, and of a tensor it may not be known yet.
local function key_text(key, from, names, depth)
  local kind = type(key)
  if kind == "string" then return ("%q"):format(key) end
  if kind == "number" or kind == "boolean" then return tostring(key) end
  local up = depth <= MOST_DEPTH and from[key]
  if up then return path_of(up, from, names, depth + 1) end
  return core.is_tensor(key) and "a tensor" or "a " .. kind
end

function path_of(g, from, names, depth)
  if g.kind == "upvalue" then return g.name end
  local base = container_path(g, from, names, depth)
  if g.kind == "length" then return "#" .. base end
  if g.kind == "metatable" then return "the metatable of " .. base end
  if g.kind == "keys" then return "the number of keys of " .. base end
  if g.kind == "order" then return "the order of the keys of " .. base end
  if g.kind == "values" then return "the values of " .. base end
  if type(g.key) == "string" and g.key:find "^[%a_][%w_]*$" then
    if base:find "^the metatable of " then return ("%s of %s"):format(g.key, base) end
    return base == "" and g.key or base .. "." .. g.key
  end
  return ("%s[%s]"):format(base, key_text(g.key, from, names, depth))
end

-- A tensor by the name that came with it, or by the path that leads to it.
local function called(tensor, from, names)
  if type(tensor) == "string" then return tensor end
  return from[tensor] and path_of(from[tensor], from, names, 1) or "a tensor"
end

local function value_words(v)
  if type(v) == "string" then return ("%q"):format(v):gsub("\\\n", "\\n") end
  if core.is_tensor(v) then return "a tensor" end
  if v == nil or type(v) == "number" or type(v) == "boolean" then return tostring(v) end
  if type(v) == "function" then
    local info = debug.getinfo(v, "S")
    return info.what == "C" and "a C function"
      or ("the function of %s:%d"):format(info.short_src, info.linedefined)
  end
  return "a " .. type(v)
end

--- What guard `number` says now, and the place it is about. `names` gives names of objects that
--- came as arguments.
function guards.reason(held, number, names)
  local list = core.guards_list(held)
  local from, g = reached_from(list), list[number]
  names = names or {}
  if g.kind == "rules" then
    return "debug changed a metatable or an upvalue of a type, a module or the library", "debug"
  end
  if g.kind == "history" then
    local path = "the history of " .. called(g.through, from, names)
    return ("%s, from which the gradient at %s goes back to %s, changed"):format(path, g.position,
      called(g.by, from, names)), path
  end
  if g.kind == "comparison" then
    local place = ("%s at %s"):format(g.what, g.position)
    return ("the comparison by %s, of a number among the arguments, comes out otherwise"):format(
      place), place
  elseif g.kind == "number" then
    local place = ("a number for %s at %s"):format(g.what, g.position)
    return ("%s is no longer %s"):format(place, g.value), place
  end
  local now = core.guards_now(held, number)
  local before, after = value_words(g.value), value_words(now)
  local change = ("changed from %s to %s"):format(before, after)
  if g.kind == "values" or g.kind == "order" then
    change = "changed"
  elseif before == after then
    change = "is another " .. (type(now) == "function" and "function" or before:gsub("^an? ", ""))
  end
  local path = path_of(g, from, names, 1)
  return path .. " " .. change, path
end

--- The place that guard `number` is about, a field or an upvalue.
function guards.place(held, number, names)
  local list = core.guards_list(held)
  return path_of(list[number], reached_from(list), names or {}, 1)
end

--- A function that gives the place of an object among the guards in the list, or nil.
function guards.places(list, names)
  local from = reached_from(list)
  return function(object)
    return from[object] and path_of(from[object], from, names or {}, 1)
  end
end

--- The path of an object that the step read, or nil: "hidden.cache[3]", "upvalue" before it when
--- an upvalue leads to it.
function guards.path(held, object, names)
  local list = core.guards_list(held)
  local from = reached_from(list)
  local g = from[object]
  if not g then return nil end
  local top = g
  while top.kind ~= "upvalue" and from[top.container] do top = from[top.container] end
  local path = path_of(g, from, names or {}, 1)
  return top.kind == "upvalue" and top.name ~= "_ENV" and "upvalue " .. path or path
end

return guards
