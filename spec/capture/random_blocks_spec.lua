-- random_blocks_spec.lua: random steps of sgl.cond, scan and loop, one in the other, that assign to
-- arguments, to state, to what the step made and to what a block was given; they draw random
-- numbers, print and check. Compiled and plain they give the same values, objects, prints and
-- random numbers, and leave the same behind. SGL_SEED repeats a run.
-- Or the step says that a gradient would have to go where nothing is recorded.

local sgl = require "sgl"
local engine = require "spec.engine"

local COUNT, CALLS, DEPTH = 1000, 3, 2

local function pick(list) return list[math.random(#list)] end

-- ---- the text of a step

-- A scope has the names of tensors f32[3] (`wide`) and f32[] (`single`) that may be used.
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
  local a, b = expression(scope, depth - 1), wide(scope)
  return pick {
    ("(%s + %s)"):format(a, b), ("(%s - %s)"):format(b, a), ("%s:sin()"):format(a),
    ("(%s * %s)"):format(a, pick { "0.5", "k", "-0.25", single(scope) }), b .. ":clone()",
    ("sgl.where(%s:gt(0), %s, %s)"):format(b, a, wide(scope)), ("(%s + sgl.rand(3))"):format(b),
    "sgl.zeros(3)", "sgl.full({ 3 }, k + 0.0)", "sgl.tensor { 1.0, 2, 3 }", b .. ":roll(3, 1)",
    ("same(%s)"):format(b), single(scope) .. ":expand(3)", b .. "[{ { 3, 1, -1 } }]",
    ("made.%s"):format(pick { "a", "b" }),
  }
end

local function value(scope) return expression(scope, math.random(0, 2)) end

local function predicate(scope)
  return pick({ "%s:sum():gt(0)", "%s:mean():lt(0.5)", "%s[1]:gt(%s)" }):format(wide(scope),
    single(scope))
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
  local new = inside(scope, carry, #xs > 1 and xs:find "[^%w_.]" and x or xs == "rows" and x or nil)
  if xs ~= "2" and #new.wide == #scope.wide + 3 then table.insert(new.single, x) end
  emit("local %s, %s = sgl.scan(function(%s, %s)", last, ys, carry, x)
  block(new, value)
  emit("end, %s, %s, { reverse = %s })", wide(scope), xs, pick { "true", "false" })
  emit("local last_%s = %s[-1]", ys, ys)
  table.insert(scope.wide, last)
  table.insert(scope.wide, "last_" .. ys)
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
  if scope.depth < DEPTH then pick { cond, scan, loop }(scope) end
end

local STATEMENTS = {
  function(scope)
    local name = fresh "t"
    emit("local %s = %s", name, value(scope))
    table.insert(scope.wide, name)
  end,
  function(scope)
    local name = fresh "s"
    emit("local %s = %s:%s()", name, wide(scope), pick { "sum", "mean" })
    table.insert(scope.single, name)
  end,
  assign "%s:assign(%s)", assign "%s:assign(%s)", assign "%s[2] = %s:sum()",
  assign "do local v = %s v[v:gt(0)] = %s end",
  function(scope) emit("%s:assign(%s + k)", single(scope), single(scope)) end,
  function(scope) emit("sgl.print('%s', %s)", fresh "p", pick { wide(scope), single(scope) }) end,
  function(scope) emit("sgl.assert(%s:sum():lt(60), 'large')", wide(scope)) end,
  function(scope)
    if scope.depth > 0 then return end
    local name = fresh "g"
    emit("local %s = sgl.grad((%s * %s):sum(), %s)", name, wide(scope), wide(scope),
      wide(scope))
    table.insert(scope.wide, name)
  end,
  construct, construct, construct,
}

-- The statements of a block and its results; `also` makes a second one.
function block(scope, also)
  for _ = 1, math.random(0, 3) do pick(STATEMENTS)(scope) end
  emit("return %s%s", value(scope), also and ", " .. also(scope) or "")
end

local function random_step()
  step = { lines = {}, names = 0 }
  local scope = { depth = 0, wide = { "x", "y", "W.w", "W.v", "o.t" }, single = { "W.s", "o.s" } }
  for _ = 1, math.random(2, 6) do pick(STATEMENTS)(scope) end
  local results = {}
  for i = 1, math.random(4) do
    results[i] = pick { wide(scope), single(scope), scope.wide[#scope.wide] }
  end
  return ([[
local sgl = ...
local W = { w = sgl.tensor { 0.5, -1, 2 }, v = sgl.tensor { -0.25, 0.75, 0 }, s = sgl.tensor(0.5) }
local function same(t) return t end
return function(x, y, k, o)
local rows, made = sgl.stack { x, y }, { a = x * 2, b = sgl.zeros(3) }
%s
return %s
end, W]]):format(table.concat(step.lines, "\n"), table.concat(results, ", "))
end

-- ---- running it

-- Values as lists, and which of them are one object.
local function note(values)
  local out, number, count = {}, {}, 0
  for i, t in ipairs(values) do
    if not number[t] then number[t], count = count, count + 1 end
    out[i] = { number[t], t.dtype, t:flatten():tolist() }
  end
  return out
end

local function is_near(a, b)
  if type(a) ~= "table" then
    return a == b or a ~= a and b ~= b
      or math.type(a) == "float" and math.abs(a - b) <= 3e-5 * (1 + math.abs(b))
  end
  for i = 1, math.max(#a, #b) do
    if not is_near(a[i], b[i]) then return false end
  end
  return true
end

-- Everything that a call shows, or the error.
local function observe(fn, state, input)
  local function fill(i) return sgl.tensor { input[i], input[i + 1], input[i + 2] } end
  local x, y, o = fill(1), fill(2), { t = fill(3), s = sgl.tensor(0.25) }
  if input.alias == 1 then y = x elseif input.alias == 2 then o.t = y end
  local lines, said = {}, print
  sgl.seed(input.seed)
  rawset(_G, "print", function(...) lines[#lines + 1] = table.concat({ ... }, " ") end)
  local results = table.pack(pcall(fn, x, y, input.k, o))
  local fine, noted = pcall(function()
    if not results[1] then error(results[2], 0) end
    return note { x, y, o.t, o.s, state.w, state.v, state.s, sgl.rand(1),
      table.unpack(results, 2, results.n) }
  end)
  rawset(_G, "print", said)
  return fine, noted, lines
end

local REFUSALS = { ["B-GRAD"] = true, ["B-CARRY"] = true, SGL_EGRAD = true }

local function is_refusal(e) return type(e) == "table" and REFUSALS[e.reason or e.code] end

local function difference(text)
  local plain, state = assert(load(text, "=step"))(sgl)
  local twin, other = assert(load(text, "=step"))(sgl)
  local compiled = sgl.compile(twin,
    { fullgraph = math.random(3) > 1, dynamic = math.random(3) == 1 })
  for call = 1, CALLS do
    local input = { k = pick { 1, 2, 3 }, alias = math.random(8), seed = math.random(1 << 20) }
    for i = 1, 5 do input[i] = math.random(-3, 3) * 0.5 end
    local fine, want, lines = observe(plain, state, input)
    local done, got, others = observe(compiled, other, input)
    if not done and is_refusal(got) then return nil end
    if fine ~= done then
      return ("call %d: %s against %s"):format(call, tostring(want), tostring(got))
    elseif not fine then
      return nil
    end
    for i = 1, math.max(#want, #got) do
      if not is_near(want[i], got[i]) then return ("call %d: value %d differs"):format(call, i) end
    end
    if #lines ~= #others then return ("call %d: other prints"):format(call) end
  end
  compiled:close()
end

describe("random steps of blocks", function()
  it("give the same compiled, whatever they assign", function()
    print("random blocks: SGL_SEED=" .. engine.seed)
    for i = 1, engine.times(COUNT) do
      math.randomseed(engine.seed, i)
      local text = random_step()
      local wrong = difference(text)
      if wrong then error(("step %d: %s\n%s"):format(i, wrong, text), 0) end
      if i % 50 == 0 then collectgarbage() end
    end
  end)
end)
