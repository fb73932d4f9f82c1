-- random_program.lua: the text of random steps of sgl.cond, scan and loop, one in the other, that
-- assign to arguments, to state, to what the step made and to what a block was given; that draw
-- random numbers, print, check, read positions, fail, and catch what fails; with gradients and
-- gradients of those, over tensors of 0 to 4 elements.

local M = {}

local DEPTH = 2

local function pick(list) return list[math.random(#list)] end

-- A scope has the names of tensors f32[n] (`wide`) and f32[] (`single`) that may be used.
local step

local function emit(text, ...) step.lines[#step.lines + 1] = text:format(...) end

local function fresh(letter)
  step.names = step.names + 1
  return letter .. step.names
end

local function wide(scope) return pick(scope.wide) end

local function single(scope) return pick(scope.single) end

local function expression(scope, depth)
  if depth <= 0 then return wide(scope) end
  local a, b, n = expression(scope, depth - 1), wide(scope), step.n
  return pick({
    "(%s + %s)", "(%s - %s)", "(%s * %s)", "%s:sin()", "(%s * 0.5)", "(%s * k)", "%s:abs():sqrt()",
    "sgl.where(%s:gt(0), %s, %s)", "(%s + sgl.rand(N))", "%s:clone()", "same(%s)", "sgl.zeros(N)",
    "sgl.full({ N }, k + 0.0)", "made.a", "made.b", "o.sub.t", "o:twice(%s)", "hook(%s)",
    "(%s * single)", "single:expand(N)", "(%s / (%s * %s + 1))", "%s:exp():minimum(4.0)",
    "(%s * 0)", "%s:detach()",
    n > 0 and "%s:roll(3, 1)" or "%s:neg()", n > 0 and "%s:softmax(1)" or "%s:square()",
    n > 0 and "%s[{ { N, 1, -1 } }]" or "%s:tanh()", n > 0 and "%s:cumsum(1)" or "(%s * 2)",
  }):gsub("single", function() return single(scope) end)
    :gsub("%%s", function() return pick { a, a, b, wide(scope) } end):gsub("N", n)
end

local function value(scope) return (expression(scope, math.random(0, 2))) end

local function predicate(scope)
  return (pick({ "%s:sum():gt(0)", "%s:sum():lt(0.5)", "%s:sum():gt(%s)", "o.yes", "%s:eq(0):all()",
    "sgl.tensor(false)" }):format(wide(scope), single(scope)))
end

-- What a block sees; what it is given is likelier to be used.
local function inside(scope, ...)
  local new = { depth = scope.depth + 1, wide = { table.unpack(scope.wide) },
    single = { table.unpack(scope.single) } }
  for _, name in ipairs { ... } do
    for _ = 1, 3 do table.insert(new.wide, name) end
  end
  return new
end

local block

local function assign(text)
  return function(scope) emit(text, wide(scope), value(scope)) end
end

local function cond(scope)
  local name, given = fresh "c", math.random(2) == 1 and fresh "p" or nil
  emit("local %s = sgl.cond(%s, function(%s)", name, predicate(scope), given or "")
  block(inside(scope, given))
  emit("end, function(%s)", given or "")
  block(inside(scope, given))
  emit("end%s)", given and ", " .. wide(scope) or "")
  table.insert(scope.wide, name)
end

local function scan(scope)
  local last, ys, carry, x = fresh "c", fresh "y", fresh "p", fresh "q"
  local xs = pick { "2", "rows", "rows", wide(scope), "sgl.stack { x, W.w }" }
  local new = inside(scope, carry, (xs == "rows" or xs:find "stack") and x or nil)
  if xs ~= "2" and #new.wide == #scope.wide + 3 then table.insert(new.single, x) end
  emit("local %s, %s = sgl.scan(function(%s, %s)", last, ys, carry, x)
  block(new, value)
  emit("end, %s, %s, { reverse = %s })", wide(scope), xs, pick { "true", "false" })
  if xs == "2" or xs == "rows" or xs:find "stack" then
    emit("local last_%s = %s[-1]", ys, ys)
    table.insert(scope.wide, "last_" .. ys)
  end
  table.insert(scope.wide, last)
end

local function loop(scope)
  local last, count, state = fresh "c", fresh "n", fresh "p"
  emit("local %s, %s = sgl.loop(function(%s) return %s end, function(%s)", last, count, state,
    predicate(inside(scope, state)), state)
  block(inside(scope, state))
  emit("end, %s, { max = %d })", wide(scope), math.random(0, 3))
  emit("local f%s = %s:float()", count, count)
  table.insert(scope.wide, last)
  table.insert(scope.single, "f" .. count)
end

local function construct(scope)
  if scope.depth < DEPTH then pick { cond, cond, scan, loop }(scope) end
end

-- What a function that may fail gives, or something else, and whether it did.
local function protected(scope)
  local fine, got, name = fresh "ok", fresh "e", fresh "t"
  emit(pick { "local %s, %s = pcall(function()", "local %s, %s = pcall(function()",
    "local %s, %s = xpcall(function()" }, fine, got)
  local handler = step.lines[#step.lines]:find "xpcall" and ", function(m) return { m } end" or ""
  local new = inside(scope)
  new.depth = scope.depth
  block(new)
  emit("end%s)", handler)
  emit("local %s = %s and %s or %s", name, fine, got, wide(scope))
  if scope.depth == 0 then emit("flags[#flags + 1] = %s", fine) end -- in a block a break, B-BLOCK
  table.insert(scope.wide, name)
end

local function gradient(scope)
  local name, by = fresh "g", wide(scope)
  emit("local %s = sgl.grad((%s * %s):sum(), %s)", name, value(scope), wide(scope), by)
  table.insert(scope.wide, name)
  if math.random(2) == 1 then return end
  emit("local h%s = sgl.grad((%s * %s):sum(), %s)", name, name, wide(scope),
    pick { by, by, wide(scope) })
  table.insert(scope.wide, "h" .. name)
end

local STATEMENTS = {
  function(scope)
    local name = fresh "t"
    emit("local %s = %s", name, value(scope))
    table.insert(scope.wide, name)
  end,
  function(scope)
    local name = fresh "s"
    emit("local %s = %s:sum()", name, wide(scope))
    table.insert(scope.single, name)
  end,
  assign "%s:assign(%s)", assign "%s:assign(%s)", assign "do local v = %s v[v:gt(0)] = %s end",
  function(scope)
    if step.n > 0 then emit("%s[%d] = %s", wide(scope), math.random(step.n), single(scope)) end
  end,
  function(scope) emit("%s:assign(%s + k)", single(scope), single(scope)) end,
  function(scope) emit("sgl.print('%s', %s)", fresh "p", pick { wide(scope), single(scope) }) end,
  function(scope)
    emit("sgl.assert(%s:sum():lt(%s), 'large')", wide(scope), pick { "60", "3", "0.5" })
  end,
  function(scope)
    local name = fresh "i"
    emit("local %s = sgl.tensor { 1.0, 2, 3 }:index_select(1, o.at):sum()", name)
    emit("sgl.print(%s)", name) -- what nobody reads is not computed, and does not fail
    table.insert(scope.single, name)
  end,
  function(scope)
    emit(pick { "if o.word == 'fail' then error('own', 0) end",
      "if o.word == 'fail' then error({ 'own' }) end", "if o.word == 'fail' then o.none.x = 1 end",
      scope.depth > 0 and "do error('always', 0) end" or "if o.word == 'fail' then error() end" })
  end,
  gradient, gradient, protected, protected, construct, construct, construct,
}

-- The statements of a block and its results; `also` makes a second one.
function block(scope, also)
  for _ = 1, math.random(0, 3) do pick(STATEMENTS)(scope) end
  emit("return %s%s", value(scope), also and ", " .. also(scope) or "")
end

--- A step over tensors of n elements: a chunk that gives the function and its state.
function M.program(n)
  step = { lines = {}, names = 0, n = n }
  local scope = { depth = 0, wide = { "x", "y", "W.w", "W.v", "o.t" }, single = { "W.s", "o.s" } }
  for _ = 1, math.random(2, 6) do pick(STATEMENTS)(scope) end
  local results = {}
  for i = 1, math.random(4) do
    results[i] = pick { wide(scope), single(scope), scope.wide[#scope.wide] }
  end
  return ([[
local sgl = ...
local W = { w = sgl.tensor { 0.5, -1, 0, 2 }[{ { 1, N } }]:clone(),
  v = sgl.tensor { -0.25, 0.75, 0, 0 }[{ { 1, N } }]:clone(), s = sgl.tensor(0.5) }
local function same(t) return t end
return function(x, y, k, o, hook)
local rows, made, flags = sgl.stack { x, y }, { a = x * 2, b = sgl.zeros(N) }, {}
LINES
return flags, RESULTS
end, W]]):gsub("%u%u+", {
    LINES = table.concat(step.lines, "\n"), RESULTS = table.concat(results, ", "),
  }):gsub("%f[%w]N%f[%W]", n)
end

return M
