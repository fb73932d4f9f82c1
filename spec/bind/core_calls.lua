-- core_calls.lua: calls a function of sgl.core, or a method of its classes, with random arguments.
--
-- In:    no argument: prints the names of all. Else a name, the seed and how many calls.
-- Out:   the arguments' numbers on stderr, before each call; "usable" at the end, when the engine
--        still computes.
local core = require "sgl.core"
local sgl = require "sgl"

local graph = core.parse 'graph\ninput %0 arg "x" f32[2]\n%1 = neg(%0) : f32[2]\noutput %1 ""\n'
local program = core.capture(function(x) return { x * 2 } end, { sgl.ones(2) })
local calls = core.calls()
local file = assert(io.tmpfile())
file:close()

-- Of each class an object, and so its methods.
local OBJECTS = { Tensor = sgl.ones(2, 3), Graph = graph, Program = program, Calls = calls,
                  Dim = sgl.dim("n_calls", { min = 1, max = 9 }) }

local entries = {}
for name, value in pairs(core) do
  if type(value) == "function" then entries[name] = value end
end
for class, object in pairs(OBJECTS) do
  local meta = debug.getmetatable(object)
  for _, methods in ipairs { meta, type(meta.__index) == "table" and meta.__index or {} } do
    for name, value in pairs(methods) do
      local own = type(value) == "function" and name ~= "__gc"
      if own then entries[class .. "." .. name] = value end
    end
  end
end

local name, seed, count = arg[1], tonumber(arg[2]), tonumber(arg[3])
if not name then
  local names = {}
  for entry in pairs(entries) do names[#names + 1] = entry end
  table.sort(names)
  print(table.concat(names, "\n"))
  os.exit(0)
end

-- ---- values of every kind, fresh for each call

local function list(...) return { ... } end
local VALUES = {
  function() return nil end, function() return true end, function() return false end,
  function() return 0 end, function() return -1 end, function() return 1 end,
  function() return 2 end, function() return 3.5 end, function() return 1e308 end,
  function() return 0 / 0 end, function() return math.maxinteger end,
  function() return math.mininteger end, function() return "" end, function() return "add" end,
  function() return "sum" end, function() return "f32" end, function() return "threads" end,
  function() return ("x"):rep(300) end, function() return "\0%s%n" end,
  function() return "/nonexistent/x" end, function() return {} end, function() return { 1, 2 } end,
  function() return { 0, -3 } end, function() return { {} } end, function() return { "a" } end,
  function() return { dims = { 1 } } end, function() return { dim = 1 } end,
  function() return { sgl.ones(2), sgl.ones(2) } end, function() return { sgl.ones(2) } end,
  function() return { [1] = 1, [3] = 3 } end,
  function() return setmetatable({}, { __index = error }) end,
  function() return sgl.tensor { 1, 2 } end, function() return sgl.ones() end,
  function() return print end, function() return list end, function() return error end,
  function() return file end, function() return io.stderr end,
  function() return coroutine.create(print) end, function() return core.Tensor end,
}
for _, class in ipairs { "Tensor", "Graph", "Program", "Calls", "Dim" } do
  VALUES[#VALUES + 1] = function() return OBJECTS[class] end
end

math.randomseed(seed)
local fn, own = entries[name], OBJECTS[name:match "^(%u%w*)%."]
for call = 1, count do
  local args, chosen, n = {}, {}, math.random(0, 6)
  for k = 1, n do
    chosen[k] = math.random(#VALUES)
    args[k] = VALUES[chosen[k]]()
  end
  if own and n > 0 and math.random(4) > 1 then args[1], chosen[1] = own, "itself" end
  io.stderr:write(("%s, call %d: %s\n"):format(name, call, table.concat(chosen, " ")))
  pcall(fn, table.unpack(args, 1, n))
end
collectgarbage()
collectgarbage()
if name ~= "fail_alloc" then assert(sgl.ones(2):sum():item() == 2) end
print "usable"
