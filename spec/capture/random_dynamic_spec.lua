-- random_dynamic_spec.lua: random steps over tensors of symbolic sizes, with their gradients: one
-- capture gives the bits of static captures, whatever the sizes: 1 and equal ones too, where a
-- static capture could take two things for one. SGL_SEED repeats a run.

local sgl = require "sgl"
local engine = require "spec.engine"

local COUNT, LINES = 400, 10
local SIZES = { 1, 1, 2, 3, 5, 33 }
local A = sgl.dim("randomA", { max = 64 })
local B = sgl.dim("randomB", { max = 64 })
-- Names of sizes in a shape are the text of the size in the step.
local INPUTS = {
  { name = "x", shape = { "a", "4" } }, { name = "y", shape = { "b", "4" } },
  { name = "u", shape = { "1", "4" } }, { name = "w", shape = { "4" } },
  { name = "z", shape = { "a", "b" } },
}

local seed = math.tointeger(tonumber(os.getenv "SGL_SEED")) or os.time()

local function pick(list) return list[math.random(#list)] end

local function known(step) return pick(step.values) end

local function emit(step, shape, text, ...)
  local name = "t" .. #step.values
  step.lines[#step.lines + 1] = ("local %s = "):format(name) .. text:format(...)
  step.values[#step.values + 1] = { name = name, shape = shape }
end

local function copy(list) return table.move(list, 1, #list, 1, {}) end

-- The shape of a op b, or nil: sizes are the same text, or 1.
local function joined(a, b)
  local shape = {}
  for i = 1, math.max(#a, #b) do
    local p, q = a[#a + 1 - i] or "1", b[#b + 1 - i] or "1"
    if p ~= q and p ~= "1" and q ~= "1" then return nil end
    table.insert(shape, 1, p == "1" and q or p)
  end
  return shape
end

local function sizes_text(shape) return table.concat(shape, ", ") end

local STEPS = {
  function(s)
    local v = known(s)
    emit(s, v.shape, pick { "%s:tanh()", "%s:sin()", "%s * 0.5", "-%s", "%s:relu()", "%s:abs()" },
      v.name)
  end,
  function(s)
    local v, o = known(s), known(s)
    local shape = joined(v.shape, o.shape)
    if not shape then return end
    emit(s, shape, pick { "%s + %s", "%s * %s", "%s - %s", "%s:maximum(%s)" }, v.name, o.name)
  end,
  function(s)
    local v, o, p = known(s), known(s), known(s)
    local shape = joined(v.shape, o.shape)
    shape = shape and joined(shape, p.shape)
    if shape then emit(s, shape, "sgl.where(%s:gt(0), %s, %s)", v.name, o.name, p.name) end
  end,
  function(s)
    local v = known(s)
    if #v.shape == 0 then return end
    local d, shape = math.random(#v.shape), copy(v.shape)
    shape[d] = "1"
    emit(s, shape, pick { "%s:sum(%d, { keepdim = true })", "%s:mean(%d, { keepdim = true })",
      "%s:amax(%d, { keepdim = true })" }, v.name, d)
  end,
  function(s)
    local v = known(s)
    if #v.shape < 2 then return end
    local d, shape = math.random(#v.shape), copy(v.shape)
    table.remove(shape, d)
    emit(s, shape, "%s:sum(%d)", v.name, d)
  end,
  function(s)
    local v = known(s)
    local shape = copy(v.shape)
    for d = 1, #shape do shape[d] = shape[d] == "1" and pick { "a", "b", "1" } or shape[d] end
    emit(s, shape, "%s:expand(%s)", v.name, sizes_text(shape))
  end,
  function(s)
    local v = known(s)
    if #v.shape ~= 2 then return end
    emit(s, { v.shape[2], v.shape[1] }, "%s:t()", v.name)
  end,
  function(s)
    local v = known(s)
    if #v.shape == 0 then return end
    emit(s, v.shape, "%s:softmax(%d)", v.name, math.random(#v.shape))
  end,
  function(s)
    local v, o = known(s), known(s)
    if #v.shape ~= 2 or #o.shape ~= 2 or v.shape[2] ~= o.shape[1] then return end
    emit(s, { v.shape[1], o.shape[2] }, "%s:matmul(%s)", v.name, o.name)
  end,
  function(s)
    local v = known(s)
    if #v.shape ~= 2 then return end
    local shape = { v.shape[2], v.shape[1] }
    emit(s, shape, "%s:reshape(%s)", v.name, sizes_text(shape))
  end,
  function(s)
    local v = known(s)
    if #v.shape == 0 then return end
    local shape = copy(v.shape)
    shape[1] = "1"
    emit(s, shape, "%s[{ { 1, 1 } }]", v.name)
  end,
  function(s)
    local v = known(s)
    if #v.shape == 0 then return end
    emit(s, v.shape, "sgl.cat({ %s, %s }, 1)[{ { 1, %s } }]", v.name, v.name, v.shape[1])
  end,
  function(s)
    local v = known(s)
    if #v.shape == 0 then return end
    emit(s, v.shape, "%s:flip(%d)", v.name, math.random(#v.shape))
  end,
}

local function random_step()
  local s = { values = copy(INPUTS), lines = {} }
  while #s.lines < LINES do pick(STEPS)(s) end
  local terms = {}
  for i = #INPUTS + 1, #s.values do
    terms[#terms + 1] = ("(%s * %s):sum()"):format(s.values[i].name, pick { "0.3", "0.7", "1.1" })
  end
  return ([[
local sgl = ...
return function(x, y, u, w, z)
local a, b = x.shape[1], y.shape[1]
%s
local loss = %s
local gx, gy, gu, gw, gz = table.unpack(sgl.grad(loss, { x, y, u, w, z }))
local more = sgl.grad((gx * gx):sum() + (gw * gw):sum(), w)
return loss, gx, gy, gu, gw, gz, more
end
]]):format(table.concat(s.lines, "\n"), table.concat(terms, " + "))
end

local SPECS = { sgl.spec { A, 4 }, sgl.spec { B, 4 }, sgl.spec { 1, 4 }, sgl.spec { 4 },
  sgl.spec { A, B } }

local function arguments(a, b)
  return { sgl.randn(a, 4), sgl.randn(b, 4), sgl.randn(1, 4), sgl.randn(4), sgl.randn(a, b) }
end

local function check(text)
  local fn = assert(load(text, "=step"))(sgl)
  local symbolic = sgl.compile(fn, { inputs = SPECS })
  for _ = 1, 3 do
    local a = pick(SIZES)
    local b = math.random(3) == 1 and a or pick(SIZES)
    local list = arguments(a, b)
    local got = table.pack(symbolic(table.unpack(list)))
    local want = table.pack(sgl.compile(fn)(table.unpack(list)))
    for i = 1, want.n do
      if got[i]:bytes() ~= want[i]:bytes() then
        return ("result %d differs for a = %d, b = %d"):format(i, a, b)
      end
    end
  end
  symbolic:close()
end

describe("random steps over symbolic sizes", function()
  it("have the bits of static captures", function()
    math.randomseed(seed)
    for i = 1, math.max(20, math.floor(COUNT * engine.scale)) do
      local text = random_step()
      local ok, wrong = pcall(check, text)
      assert(ok and not wrong,
        ("step %d of seed %d: %s\n%s"):format(i, seed, tostring(wrong), text))
    end
  end)
end)
