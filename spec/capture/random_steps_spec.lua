-- random_steps_spec.lua: random step functions: nested closures, tables, conditions on plain
-- values, loops, varargs, metatables; between calls the values that they read change. Compiled and
-- plain they give the same bits. So do random steps of number arguments. SGL_SEED repeats a run.

local sgl = require "sgl"
local engine = require "spec.engine"
local random_step = require "spec.random_step"

local COUNT, CALLS = 10000, 4
local CHANGES = random_step.CHANGES

local seed = math.tointeger(tonumber(os.getenv "SGL_SEED")) or os.time()

local function pick(list) return list[math.random(#list)] end

-- The same values; what is not a number on one side is none on the other.
local function same(a, b)
  return a:equal(b) or a.dtype == b.dtype and (a:eq(b) | a:isnan() & b:isnan()):all():item()
end

-- nil, or what differs.
local function difference(text, rolls)
  local x = sgl.tensor { 0.5, -1, 2 }
  local plain, change = assert(load(text, "=step"))(sgl, x)
  local twin, change_twin = assert(load(text, "=step"))(sgl, x)
  local step = sgl.compile(twin, { max_recaptures = 100 })
  for call = 1, CALLS do
    local fine, want = pcall(plain, x)
    local done, got = pcall(step, x)
    if fine ~= done then
      return ("call %d: %s against %s"):format(call, tostring(want), tostring(got))
    end
    if fine and not same(want, got) then
      return ("call %d: %s against %s"):format(call, tostring(want), tostring(got))
    end
    change[rolls[call]]()
    change_twin[rolls[call]]()
  end
end

describe("random steps", function()
  it("give the same compiled, whatever changes between calls", function()
    local count = math.max(100, engine.times(COUNT))
    io.stderr:write(("random steps: SGL_SEED=%d\n"):format(seed))
    math.randomseed(seed)
    for i = 1, count do
      local text, rolls = random_step.program(), {}
      for call = 1, CALLS do rolls[call] = math.random(#CHANGES) end
      local wrong = difference(text, rolls)
      if wrong then
        local done = {}
        for call, roll in ipairs(rolls) do done[call] = CHANGES[roll] end
        error(("step %d of SGL_SEED=%d: %s\n%s\nchanges: %s"):format(i, seed, wrong, text,
          table.concat(done, "; ")), 0)
      end
      if i % 50 == 0 then collectgarbage() end
    end
  end)
end)

-- ---- steps of numbers

local function value_text(v)
  if sgl.is_tensor(v) then
    local list = {}
    for i, item in ipairs(v:flatten():tolist()) do list[i] = value_text(item) end
    return v.dtype .. tostring(v.shape) .. table.concat(list, " ")
  end
  return v ~= v and "nan" or math.type(v) == "float" and ("%a"):format(v) or tostring(v)
end

local DTYPES = { "f32", "f64", "f16", "bf16", "i32", "i64", "u8" }

local function number_difference(text)
  local x = sgl.tensor({ 1, 2, 3 }, { dtype = pick(DTYPES) })
  local y, w = sgl.tensor({ 5, 0, 1 }, { dtype = pick(DTYPES) }), sgl.ones(3)
  local plain = assert(load(text, "=step"))(sgl, w)
  local step = sgl.compile(assert(load(text, "=step"))(sgl, w), { max_recaptures = 100 })
  for call = 1, CALLS * 2 do
    local k, m = pick(random_step.ARGUMENTS), pick(random_step.ARGUMENTS)
    local n = pick(random_step.ARGUMENTS)
    local want = table.pack(pcall(plain, x, y, k, m, { n = n }))
    local got = table.pack(pcall(step, x, y, k, m, { n = n }))
    local where = ("call %d with %s, %s, %s on %s and %s"):format(call, k, m, n, x.dtype, y.dtype)
    if want[1] ~= got[1] then
      return ("%s: %s against %s"):format(where, tostring(want[2]), tostring(got[2]))
    end
    for i = 2, want[1] and want.n or 0 do
      local a, b = value_text(want[i]), value_text(got[i])
      if a ~= b then return ("%s, result %d: %s against %s"):format(where, i - 1, a, b) end
    end
  end
end

describe("random steps of numbers", function()
  it("give the same compiled", function()
    local count = math.max(100, engine.times(COUNT // 4))
    io.stderr:write(("random steps of numbers: SGL_SEED=%d\n"):format(seed))
    math.randomseed(seed)
    for i = 1, count do
      local text = random_step.number_step()
      local wrong = number_difference(text)
      if wrong then error(("step %d of SGL_SEED=%d: %s\n%s"):format(i, seed, wrong, text), 0) end
      if i % 50 == 0 then collectgarbage() end
    end
  end)
end)
