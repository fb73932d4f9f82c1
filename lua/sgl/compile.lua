-- compile.lua: sgl.compile: a function captured once for each signature and run as one program.
--
-- In:    a function of tensors, numbers and tables of them.
-- Out:   a callable object. A call looks its signature up, captures the function if it is new,
--        and runs the program on the tensors and numbers in the arguments.
-- Holds: the signature is the shape and dtype of each tensor, the place of each number, and the
--        value of everything else. Numbers are run-time inputs, so a changing number never
--        captures again. Tensors the function reads from outside are state: they are read, and
--        updated by `assign`, at each run. A compiled function called in another is part of it.
local api = require "sgl.api"
local core = require "sgl.core"

local raise, is_tensor = core.raise, core.is_tensor

local compile = {}

local MOST_DEPTH = 32

-- Objects that are arguments but not data (modules, functions) are told apart by a number.
local identities = setmetatable({}, { __mode = "k" })
local last_identity = 0

local function identity(v)
  if not identities[v] then
    last_identity = last_identity + 1
    identities[v] = last_identity
  end
  return identities[v]
end

local function is_plain(v)
  return type(v) == "table" and getmetatable(v) == nil
end

-- Keys in an order of their own: numbers by value, then strings.
local function sorted_keys(v)
  local keys = {}
  for key in pairs(v) do
    if type(key) ~= "string" and type(key) ~= "number" then
      raise("SGL_EARG", ("compile: a table argument has %s as a key"):format(api.describe(key)),
        "keys are names and positions")
    end
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    if type(a) ~= type(b) then return type(a) == "number" end
    return a < b
  end)
  return keys
end

-- A walk over the arguments: `key` collects the signature, `leaves` the run-time inputs, `names`
-- what they are called. Returns a plan from which `rebuild` makes the value again.
local function flatten(v, walk, name, depth)
  local key = walk.key
  if is_tensor(v) or type(v) == "number" then
    key[#key + 1] = is_tensor(v) and api.describe(v) or "#"
    walk.leaves[#walk.leaves + 1], walk.names[#walk.leaves + 1] = v, name
    return { leaf = #walk.leaves }
  elseif is_plain(v) then
    if depth > MOST_DEPTH then
      raise("SGL_EARG", ("compile: the argument '%s' is nested deeper than %d tables"):format(
        name, MOST_DEPTH))
    end
    local items = {}
    key[#key + 1] = "{"
    for i, k in ipairs(sorted_keys(v)) do
      key[#key + 1] = ("%q="):format(k)
      items[i] = { k, flatten(v[k], walk, name .. "." .. k, depth + 1) }
    end
    key[#key + 1] = "}"
    return { items = items }
  end
  key[#key + 1] = (v == nil or type(v) == "boolean") and tostring(v)
    or type(v) == "string" and ("%q"):format(v) or "@" .. identity(v)
  return { value = v }
end

local function rebuild(plan, leaves)
  if plan.leaf then return leaves[plan.leaf] end
  if not plan.items then return plan.value end
  local result = {}
  for _, item in ipairs(plan.items) do result[item[1]] = rebuild(item[2], leaves) end
  return result
end

-- The returned values as a plan over the tensors in them, which become the program's outputs.
local function collect(v, outputs, depth)
  if is_tensor(v) then
    outputs[#outputs + 1] = v
    return { leaf = #outputs }
  elseif is_plain(v) and depth <= MOST_DEPTH then
    local items = {}
    for i, k in ipairs(sorted_keys(v)) do
      items[i] = { k, collect(v[k], outputs, depth + 1) }
    end
    return { items = items }
  end
  return { value = v }
end

local Compiled = {}
Compiled.__index = Compiled
Compiled.__name = "sgl.compiled"

local function parameter_name(fn, i)
  return type(fn) == "function" and debug.getlocal(fn, i) or "arg" .. i
end

local function flatten_arguments(self, count, values)
  local walk, plans = { key = {}, leaves = {}, names = {} }, {}
  for i = 1, count do
    local name = self.parameters[i]
    if not name then
      name = parameter_name(self.fn, i)
      self.parameters[i] = name
    end
    plans[i] = flatten(values[i], walk, name, 1)
    walk.key[#walk.key + 1] = ";"
  end
  return table.concat(walk.key), walk, plans
end

local function capture(self, key, walk, plans)
  local returned
  local program = core.capture(function(...)
    local leaves, arguments, outputs = { ... }, {}, {}
    for i = 1, #plans do arguments[i] = rebuild(plans[i], leaves) end
    local results = table.pack(self.fn(table.unpack(arguments, 1, #plans)))
    returned = { n = results.n }
    for i = 1, results.n do returned[i] = collect(results[i], outputs, 1) end
    return outputs
  end, walk.leaves, walk.names, self.fn)
  local entry = { key = key, program = program, returned = returned, runs = 0 }
  self.entries[key] = entry
  self.order[#self.order + 1] = entry
  return entry
end

local function check_open(self)
  if not self.entries then raise("SGL_ECLOSED", "the compiled function is closed") end
end

-- The first result of the last call, if it is a scalar, for the progress bar: in a training step
-- it is the loss. A larger one would be kept alive by it.
compile.last = nil

function Compiled:__call(...)
  check_open(self)
  if core.capturing() then return self.fn(...) end
  local count = select("#", ...)
  local key, walk, plans = flatten_arguments(self, count, { ... })
  local entry = self.entries[key] or capture(self, key, walk, plans)
  local outputs = entry.program:run(walk.leaves)
  entry.runs = entry.runs + 1
  self.latest = entry
  local returned = entry.returned
  compile.last = outputs[1] and outputs[1].ndim == 0 and outputs[1] or nil
  if returned.n == 1 then return rebuild(returned[1], outputs) end
  local results = {}
  for i = 1, returned.n do results[i] = rebuild(returned[i], outputs) end
  return table.unpack(results, 1, returned.n)
end

function Compiled:__tostring()
  local count = self.order and #self.order or 0
  return ("compiled %s (%d program%s)"):format(self.name, count, count == 1 and "" or "s")
end

local function latest(self, what)
  check_open(self)
  local entry = self.latest or self.order[#self.order]
  if not entry then
    raise("SGL_ESTATE", what .. ": the function has no program yet",
      "call it once, so that it is captured for the shapes of that call")
  end
  return entry
end

local STAGES = { "captured", "fused", "plan", "kernels" }

api.class(api.root, "Compiled", {
  doc = "What sgl.compile returns. Calling it runs the program for the arguments' signature.",
}, Compiled)

api.method(Compiled, "graph", {
  doc = "The graph of the program that ran last, or its text after a stage: 'fused', 'plan' or "
    .. "'kernels'.",
  args = { { "stage", "string?", "default 'captured': a Graph" } }, returns = "Graph or string",
  errors = "no call yet; an unknown stage",
}, function(self, stage)
  local program = latest(self, "graph").program
  if stage == nil or stage == "captured" then return program:graph() end
  for _, known in ipairs(STAGES) do
    if stage == known then return program:print(stage) end
  end
  local near = core.nearest(stage, STAGES)
  raise("SGL_EARG", ("graph: unknown stage '%s' (%sstages: %s)"):format(stage,
    near and ("did you mean '%s'? "):format(near) or "", table.concat(STAGES, ", ")))
end)

api.method(Compiled, "info", {
  doc = "Facts of the program that ran last: nodes, kernels, steps, dots, arena_bytes, "
    .. "compile_ms, passes, runs, signature.",
  returns = "table", errors = "no call yet",
}, function(self)
  local entry = latest(self, "info")
  local info = entry.program:info()
  info.runs, info.signature = entry.runs, entry.key
  return info
end)

api.method(Compiled, "programs", {
  doc = "Every program so far: { signature, runs, program }.", returns = "list",
}, function(self)
  check_open(self)
  local list = {}
  for i, entry in ipairs(self.order) do
    list[i] = { signature = entry.key, runs = entry.runs, program = entry.program }
  end
  return list
end)

api.method(Compiled, "close", {
  doc = "Frees the programs. The object cannot be called again.",
}, function(self)
  check_open(self)
  for _, entry in ipairs(self.order) do entry.program:close() end
  self.entries, self.order, self.latest = nil, nil, nil
end)

function Compiled:__close()
  if self.entries then self:close() end
end

api.fn(api.root, "compile", {
  doc = "Makes a function one program for each signature of its arguments. It is called once "
    .. "for each to record what it does; what depends on Lua values is then fixed. Numbers in "
    .. "the arguments are run-time inputs, tensors from outside are state.",
  args = { { "fn", "function" } },
  opts = { { "name", "string", nil, "shown in messages; default the place of the definition" } },
  returns = "Compiled: call it as the function",
  errors = "reading a value inside (:item(), print), see the message",
}, function(fn, o)
  local where = type(fn) == "function" and debug.getinfo(fn, "S") or {}
  local name = o.name or ("%s:%d"):format(where.short_src or "?", where.linedefined or 0)
  return setmetatable({ fn = fn, name = name, entries = {}, order = {}, parameters = {} }, Compiled)
end)

return compile
