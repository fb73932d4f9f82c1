-- names.lua: what the state of a step is called, in its graph, in files and in C programs.
--
-- In:    the guards of a capture, the tensors from outside that it uses.
-- Out:   a name for each, unlike all others of the graph.
-- Holds: what a module or an optimizer that the step read holds has the name of its state_dict:
--        with one module as it is ("1.weight"), with several behind the place of each
--        ("gen.1.weight"); an optimizer's always ("opt.m.1.weight"). Other tensors are called by
--        the place that leads to them ("w", "cfg.scale"); one without a place is "state". A name
--        that is taken gets a number behind it. Only what the step read decides, in that order.
local core = require "sgl.core"
local guards = require "sgl.compile.guards"

local names = {}

-- Objects that hold state, as { kind, entries }; the object in front of each table behind one.
local holders = setmetatable({}, { __mode = "k" })
local front = setmetatable({}, { __mode = "k" })
-- Parameters by the name under which a module listed them last.
local listed = setmetatable({}, { __mode = "k" })

--- Registers an object that holds state: entries(object) lists { name, value }, values being
--- tensors and, for modules, the modules below. `kind` names it where no place leads to it;
--- `behind` is the table that has its fields, if that is another.
function names.holder(object, kind, entries, behind)
  holders[object] = { kind = kind, entries = entries }
  if behind then front[behind] = object end
  return object
end

--- Notes the names under which parameters were listed: { name, tensor } each.
function names.note(list)
  for _, item in ipairs(list) do listed[item[2]] = item[1] end
end

--- The name under which a module listed the tensor last, or nil.
function names.listed(tensor) return listed[tensor] end

-- Parameters whose place in a module went to another one, as { field, file, line }.
local replaced = setmetatable({}, { __mode = "k" })

--- Notes that another parameter takes the tensor's place in a field.
function names.replace(tensor, field)
  local file, line = core.position()
  replaced[tensor] = { field, file or "?", line or 0 }
end

-- The way on which a module led to a parameter when it was last gone through: parameter -> module
-- -> link { up, holder, key, value, name }. In a user's table a write leaves no other trace.
local ways = setmetatable({}, { __mode = "k" })

-- The topmost link of a way that leads elsewhere now; nil: none.
local function broken(way)
  local found
  while way do
    if not rawequal(way.holder[way.key], way.value) then found = way end
    way = way.up
  end
  return found
end

--- A module leads to the parameter on that way.
function names.found(tensor, module, way)
  local known = ways[tensor] or {}
  ways[tensor] = known
  if not known[module] or broken(known[module]) then known[module] = way end
end

-- The name of what stands on the way to the tensor, where no module leads to it any more.
local function lost(tensor)
  local name
  for _, way in pairs(ways[tensor] or {}) do
    local link = broken(way)
    if not link then return nil end
    name = not name and link.name or name < link.name and name or link.name
  end
  return name
end

--- "field 'weight' at train.lua:7", where the tensor was replaced last; nil: it was not.
function names.replaced(tensor)
  local at = replaced[tensor]
  if at then return ("field '%s' at %s:%d"):format(at[1], at[2], at[3]) end
  local name = lost(tensor)
  return name and ("at '%s'"):format(name) or nil
end

-- The objects that hold state among all that the guards lead through, in their order.
local function met_holders(list)
  local found, seen = {}, {}
  local function meet(v)
    local object = v ~= nil and (holders[v] and v or front[v])
    if not object or seen[object] then return end
    seen[object], found[#found + 1] = true, object
  end
  for _, g in ipairs(list) do
    meet(g.container)
    meet(g.value)
  end
  return found
end

-- "models[1].net" as "models.1.net"; nil where words, not a place, lead to the object.
local function dotted(path)
  local name = path:gsub('%["?(.-)"?%]', ".%1"):gsub("^%.", "")
  return not name:find "[%s()%[%]]" and name ~= "" and name or nil
end

local function unlike(taken, name)
  local free, n = name, 1
  while taken[free] do
    n = n + 1
    free = name .. "." .. n
  end
  taken[free] = true
  return free
end

-- The holders that no other holds, each with what is wanted of its entries: { object, kind, list }.
local function roots_of(found, wanted)
  local roots, inside = {}, {}
  for _, object in ipairs(found) do
    local list, facts = {}, holders[object]
    for _, entry in ipairs(not inside[object] and facts.entries(object) or {}) do
      if wanted[entry[2]] then list[#list + 1] = entry end
      if holders[entry[2]] then inside[entry[2]] = true end
    end
    roots[#roots + 1] = { object = object, kind = facts.kind, list = list }
  end
  local kept = {}
  for _, root in ipairs(roots) do
    if #root.list > 0 and not inside[root.object] then kept[#kept + 1] = root end
  end
  return kept
end

local function count_modules(roots)
  local n = 0
  for _, root in ipairs(roots) do n = n + (root.kind == "module" and 1 or 0) end
  return n
end

--- The names of the tensors, as a list, and whether a module or an optimizer holds each;
--- `arguments` gives names of objects that came as arguments.
function names.of(held, tensors, arguments)
  if #tensors == 0 then return {}, {} end
  local list = core.guards_objects(held)
  local place = guards.places(list, arguments)
  local wanted, given, taken, prefixes = {}, {}, { rng = true }, {}
  for _, t in ipairs(tensors) do wanted[t] = true end
  local roots = roots_of(met_holders(list), wanted)
  local alone = count_modules(roots) == 1
  for _, root in ipairs(roots) do
    local path, prefix = arguments[root.object] or place(root.object), ""
    if root.kind ~= "module" or not alone then
      prefix = unlike(prefixes, path and dotted(path) or root.kind) .. "."
    end
    for _, entry in ipairs(root.list) do
      given[entry[2]] = given[entry[2]] or unlike(taken, prefix .. entry[1])
    end
  end
  local out, registered = {}, {}
  for i, t in ipairs(tensors) do
    local path = not given[t] and (listed[t] or place(t))
    out[i] = given[t] or unlike(taken, path and dotted(path) or "state")
    registered[i] = given[t] ~= nil or listed[t] ~= nil
  end
  return out, registered
end

--- The paths of the modules that were called, for a list of { module, number of the call around
--- it }: below that one, whose path is "" if it was called in no other.
function names.paths(calls)
  local paths, below = {}, {}
  local function found(outer)
    local list = {}
    for _, entry in ipairs(holders[outer].entries(outer)) do
      list[entry[2]] = list[entry[2]] or entry[1]
    end
    return list
  end
  for i, made in ipairs(calls) do
    local outer = calls[made[2]] and calls[made[2]][1]
    if outer then below[outer] = below[outer] or found(outer) end
    local name, path = outer and below[outer][made[1]], paths[made[2]]
    paths[i] = not name and "" or path == "" and name or path .. "." .. name
  end
  return paths
end

return names
