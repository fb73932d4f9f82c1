-- random_blocks_spec.lua: random steps of control flow, updates, errors and what catches them
-- (random_program.lua). Compiled and plain they give the same values, objects, errors, prints and
-- random numbers, and leave the same behind, whether they end well or not. SGL_SEED repeats a run.
-- Or the step is refused, and then nothing of the call is done.

local sgl = require "sgl"
local engine = require "spec.engine"
local random_program = require "spec.random_program"

local COUNT, CALLS = 2000, 3

local function pick(list) return list[math.random(#list)] end

-- Values as lists, and which of them are one object; what is no tensor as it is.
local function note(values)
  local out, number, count = {}, {}, 0
  for i, v in ipairs(values) do
    if sgl.is_tensor(v) then
      if not number[v] then number[v], count = count, count + 1 end
      out[i] = { number[v], v.dtype, tostring(v.shape), v:flatten():tolist() }
    else
      out[i] = { tostring(v) }
    end
  end
  return out
end

local function is_near(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b or a ~= a and b ~= b
      or math.type(a) == "float" and math.abs(a - b) <= 3e-5 * (1 + math.abs(b))
  end
  for i = 1, math.max(#a, #b) do
    if not is_near(a[i], b[i]) then return false end
  end
  return true
end

local function message_of(e)
  if type(e) ~= "table" then return tostring(e) end
  return e.message and (e.message:gsub("%s*%(.-:%d+%)$", "")) or tostring(e[1])
end

local Object = {}
Object.__index = Object
function Object:twice(t) return t * self.factor end

local function input_of(n)
  local input = {
    n = n, k = pick { 1, 2, 3, 0.5 }, alias = math.random(12), yes = math.random(2) == 1,
    seed = math.random(1 << 20), word = pick { "fine", "fine", "fail" },
    at = pick { 0, 1, 2, 2, 3, -1 }, factor = pick { 2, 2, 3 },
  }
  for i = 1, 12 do input[i] = pick { 0.0, 0.0, -1.5, -0.5, 0.5, 1.0, 1.5 } end
  return input
end

-- Everything that a call shows and leaves: whether it ended well; results or the error; what is
-- left; prints.
local function observe(fn, state, input)
  local function fill(i)
    local t = sgl.tensor { input[i], input[i + 1], input[i + 2], input[i + 3] }
    return t[{ { 1, input.n } }]:clone():detach()
  end
  local x, y = fill(1), fill(5)
  local o = setmetatable({
    t = fill(9), s = sgl.tensor(0.25), sub = { t = fill(3) }, yes = sgl.tensor(input.yes),
    at = sgl.tensor({ input.at }, { dtype = "i64" }), word = input.word, factor = input.factor,
  }, Object)
  if input.alias == 1 then y = x elseif input.alias == 2 then o.t = y end
  sgl.realize(x, y, o.t)
  local factor = input.factor
  local lines, said = {}, print
  sgl.seed(input.seed)
  rawset(_G, "print", function(...) lines[#lines + 1] = table.concat({ ... }, " ") end)
  local results = table.pack(pcall(fn, x, y, input.k, o, function(t) return t + factor end))
  local given = { results[1] and "fine" or message_of(results[2]) }
  local read, why = pcall(function()
    if not results[1] then return end
    for _, flag in ipairs(results[2]) do given[#given + 1] = tostring(flag) end
    table.move(note { table.unpack(results, 3, results.n) }, 1, results.n - 2, #given + 1, given)
  end)
  if not read then results[1], results[2], given = false, why, { message_of(why) } end
  local left = note { x, y, o.t, o.s, o.sub.t, state.w, state.v, state.s, sgl.rand(1) }
  rawset(_G, "print", said)
  return results[1], given, left, lines, results[2]
end

local REFUSALS = { ["B-GRAD"] = true, ["B-CARRY"] = true, ["B-CAUGHT"] = true, ["B-BLOCK"] = true,
  SGL_EGRAD = true }

local function is_refusal(e)
  return type(e) == "table" and (REFUSALS[e.reason or e.code]
    or (e.message or ""):find("also takes from outside", 1, true))
end

local function states_of(state) return note { state.w, state.v, state.s } end

-- A way back through a call before is an error where that was a program and this one runs as Lua;
-- what catches it in the step would hide it.
local function end_histories(...)
  for _, state in ipairs { ... } do
    for _, t in pairs(state) do t:assign(t:detach()) end
  end
end

-- nil, or what differs; and whether the step was refused.
local function difference(text, n)
  local plain, state = assert(load(text, "=step"))(sgl)
  local twin, other = assert(load(text, "=step"))(sgl)
  local options = { fullgraph = math.random(3) > 1, dynamic = math.random(3) == 1 }
  local compiled = sgl.compile(twin, options)
  for call = 1, CALLS do
    local input, before = input_of(n), states_of(other)
    local fine, want, left, lines = observe(plain, state, input)
    local done, got, there, others, e = observe(compiled, other, input)
    if not done and is_refusal(e) then
      local same = fine == done or is_near(before, states_of(other))
      return not same and ("call %d: refused, and done"):format(call), true
    end
    if not is_near(want, got) then
      return ("call %d: %s against %s"):format(call, tostring(want[1]), tostring(got[1]))
    end
    for i = 1, #left do
      if not is_near(left[i], there[i]) then
        return ("call %d: %d is left differently"):format(call, i)
      end
    end
    if table.concat(lines, "\n") ~= table.concat(others, "\n") then
      return ("call %d: other prints"):format(call)
    end
    if not options.fullgraph then end_histories(state, other) end
  end
  compiled:close()
end

describe("random steps of blocks", function()
  it("give and leave the same compiled, whatever happens in them", function()
    print("random blocks: SGL_SEED=" .. engine.seed)
    local refusals = 0
    for i = 1, engine.times(COUNT) do
      math.randomseed(engine.seed, i)
      local n = math.random(0, 4)
      local text = random_program.program(n)
      local wrong, refused = difference(text, n)
      if wrong then error(("step %d: %s\n%s"):format(i, wrong, text), 0) end
      if refused then refusals = refusals + 1 end
      if i % 50 == 0 then collectgarbage() end
    end
    assert(refusals <= engine.times(COUNT) / 2, refusals .. " refused")
  end)
end)
