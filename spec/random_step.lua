-- random_step.lua: random step functions as texts of Lua chunks: nested closures, tables,
-- conditions on plain values, loops, varargs, metatables; and steps of number arguments.
--
-- In:    the state of math.random.
-- Out:   program(): a chunk (sgl, x) -> a step of x, and a list of functions, the CHANGES, that
--        change what the step reads; number_step(): a chunk (sgl, w) -> a step of two tensors and
--        three numbers, and ARGUMENTS, the numbers to try.

local M = {}

local function pick(list) return list[math.random(#list)] end

-- Places that a step reads: the text of the read, and of a statement that changes it. The chunk has
-- them in its head.
local HEAD = [[
local sgl, x0 = ...
local a, b, flag, name = 2, 3, true, "mul"
local cfg = { k = 2, on = false, deep = { n = 3, list = { 1, 2, 3 } } }
local list = { 1, 2 }
local base = { slope = 2 }
local object = setmetatable({ own = 1 }, { __index = base })
local fns = { double = function(t) return t * 2 end, shift = function(t) return t + 1 end }
local function make(n) return function(t) return t * n + a end end
local closure = make(3)
local weight = sgl.ones(3)
local behind = { 3, 4 }
local meta = { __index = behind, __len = function() return 2 end,
  __tostring = function() return "5" end, __lt = function() return a > 2 end,
  __call = function() return b end }
local front = setmetatable({}, meta)
]]

local NUMBERS = { "a", "b", "cfg.k", "cfg.deep.n", "#list", "#cfg.deep.list", "list[1]",
  "cfg.deep.list[2]", "object.slope", "object.own", "(list[3] or 5)", "(cfg.none or 1)",
  "select('#', table.unpack(list))", "math.max(a, b)", "(flag and a or b)", "#name",
  "rawlen(list)", "(next(cfg.deep) and 2 or 1)",
  "front[2]", "#front", "select('#', table.unpack(front))", "(table.unpack(front, 2, 2))",
  "tonumber(tostring(front))", "#('%s'):format(front)", "select(2, pcall(front))",
  "weight:tolist()[2]" }
local CONDITIONS = { "flag", "cfg.on", "not cfg.on", "a > b", "cfg.k == 2", "name == 'mul'",
  "#list < 3", "object.slope > 1", "list[3] == nil", "cfg.deep.n % 2 == 0", "weight",
  "front < 3" }
M.CHANGES = { "a = a + 1", "b = b - 1", "flag = not flag",
  "name = name == 'mul' and 'add' or 'mul'",
  "cfg.k = cfg.k + 1", "cfg.on = not cfg.on", "cfg.deep.n = cfg.deep.n + 1",
  "cfg.deep = { n = 1, list = { 4, 5 } }", "list[#list + 1] = #list", "list[1] = list[1] + 1",
  "list = { 7 }", "base.slope = base.slope + 1", "object.own = object.own * 2",
  "object.slope = rawget(object, 'slope') and 4 or 3",
  "setmetatable(object, { __index = { slope = 5 } })", "closure = make(b)",
  "fns.double, fns.shift = fns.shift, fns.double", "cfg.none = cfg.none and nil or 2",
  "weight = weight + 1", "table.remove(cfg.deep.list)",
  "cfg = { k = 1, on = true, deep = cfg.deep }", "behind[2] = behind[2] + 1",
  "meta.__index = { 1, 9 }", "meta.__len = function() return 1 end",
  "meta.__tostring = function() return '61' end", "meta.__lt = function() return false end",
  "meta.__call = function() return 7 end", "weight:assign(weight * 2)" }

local expression

local function number() return pick(NUMBERS) end

local TENSORS = {
  function() return "x" end,
  function() return "x" end,
  function() return "weight" end,
  function(d) return ("(%s + %s)"):format(expression(d), number()) end,
  function(d) return ("(%s * %s)"):format(expression(d), number()) end,
  function(d) return ("(%s - %s)"):format(expression(d), expression(d)) end,
  function(d) return ("closure(%s)"):format(expression(d)) end,
  function(d) return ("fns.%s(%s)"):format(pick { "double", "shift" }, expression(d)) end,
  function(d) return ("x[name](%s, %s)"):format(expression(d), number()) end,
  function(d) return ("make(%s)(%s)"):format(number(), expression(d)) end,
  function(d) return ("(function(t, ...) return t + select('#', ...) end)(%s, table.unpack(list))")
    :format(expression(d)) end,
}

function expression(depth)
  return TENSORS[depth <= 0 and math.random(3) or math.random(#TENSORS)](depth - 1)
end

local block

local STATEMENTS = {
  function() return ("x = %s"):format(expression(2)) end,
  function(d) return ("if %s then\n%selse\n%send"):format(pick(CONDITIONS), block(d), block(d)) end,
  function(d) return ("for i = 1, %s do\nx = x + i\n%send"):format(number(), block(d)) end,
  function() return "for _, v in ipairs(list) do x = x + v end" end,
  function() return "for _, v in pairs(cfg.deep.list) do x = x + v end" end,
  function() return ("do\nlocal t = { %s, n = %s }\nt.m = t.n + 1\nx = t[1] * t.m\nend"):format(
    expression(1), number()) end,
  function()
    return ("do\nlocal n = 0\nlocal function up() n = n + %s end\nup() up()\nx = x + n\nend")
      :format(number())
  end,
  function() return "do\nlocal ok, y = pcall(closure, x)\nif ok then x = y end\nend" end,
  function() return "x = coroutine.wrap(function(t) return t + a end)(x)" end,
}

function block(depth)
  local lines = {}
  for i = 1, math.random(2) do
    lines[i] = STATEMENTS[depth <= 0 and 1 or math.random(#STATEMENTS)](depth - 1) .. "\n"
  end
  return table.concat(lines)
end

local function changes()
  local out = {}
  for i = 1, #M.CHANGES do out[i] = ("function() %s end"):format(M.CHANGES[i]) end
  return table.concat(out, ",\n")
end

local ALL = changes()

-- The text of a chunk that returns a step and the changes.
function M.program()
  return ("%sreturn function(x)\n%sreturn x + 0\nend, {\n%s }\n"):format(HEAD, block(2), ALL)
end

-- ---- steps of numbers

M.ARGUMENTS = { 0, 1, -1, 2, 3, -7, 255, 1 << 20, 16777217, -(1 << 31), 1 << 53, -(1 << 53),
  math.mininteger, 0.5, -2.5, 2.0, 0.0, -0.0, 0.1, 1 / 3, 16777217.5, 1e10, 1e300, 1e-300 }
local DIVISORS = { "1", "2", "-3", "7", "2.5", "-0.5", "1024", "9007199254740993" }

-- Constants stand beside something else: Lua computes with constants itself, and subtracts a
-- known 0 as it adds one, which is another zero than -0.0 - n gives with n = 0.
local function of_numbers(depth)
  if depth <= 0 then return pick { "k", "m", "t.n" } end
  local a, b = of_numbers(depth - 1), of_numbers(depth - math.random(2))
  if math.random(4) == 1 then b = pick { "3", "0.25", "(-16777216)", "9007199254740993" } end
  if math.random(8) == 1 then a, b = b, a end
  return pick {
    ("(%s + %s)"):format(a, b), ("(%s - %s)"):format(a, b), ("(%s * %s)"):format(a, b),
    ("(%s / %s)"):format(a, b), ("(%s ^ %s)"):format(a, b), ("(- %s)"):format(a),
    ("((%s - m) // %s)"):format(a, pick(DIVISORS)), ("((%s + k) %% %s)"):format(a, pick(DIVISORS)),
    ("(%s + 0.0) // %s"):format(a, b), ("(%s * 1.0) %% %s"):format(a, b),
  }
end

local function of_tensors(depth)
  if depth <= 0 then return pick { "x", "y", "x", "y", "w" } end
  local a, b, n = of_tensors(depth - 1), of_tensors(depth - 2), of_numbers(math.random(0, 2))
  return pick {
    ("(%s + %s)"):format(a, n), ("(%s - %s)"):format(n, a), ("(%s * %s)"):format(a, n),
    ("(%s / %s)"):format(a, n), ("(%s %% %s)"):format(a, n), ("(%s + %s)"):format(a, b),
    ("sgl.where(%s:gt(1), %s, %s)"):format(a, n, b), ("sgl.maximum(%s, %s)"):format(a, n),
    ("(%s * sgl.maximum(%s, %s))"):format(a, n, of_numbers(1)),
    ("(%s + sgl.tensor(%s))"):format(a, n), ("%s:full_like(%s)"):format(a, n),
    ("sgl.cond(%s:gt(1):any(), function(v) return %s * v end, function(v) return %s + v end, %s)")
      :format(a, b, b, n),
    ("(sgl.scan(function(c) return (c + %s):type_as(c) end, %s, 3))"):format(n, a),
    ("(function() local z = %s + 0 z:assign(%s) return z end)()"):format(a, n),
  }
end

function M.number_step()
  return ("local sgl, w = ... return function(x, y, k, m, t)\nreturn %s, %s, %s\nend\n"):format(
    of_tensors(2), of_numbers(3), of_tensors(1))
end

return M
