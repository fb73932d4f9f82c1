-- random_history_spec.lua: random scripts of eager operations, assignments, compiled steps and
-- gradients, on a few tensors that all of them share: compiled or not, each value is the same, or
-- the script ends with the error that a way of a gradient is not recorded.

local sgl = require "sgl"
local engine = require "spec.engine"

local COMPILERS = {
  whole = sgl.compile,
  segments = function(fn) return sgl.compile(fn, { fullgraph = false }) end,
}

local OPERATIONS = {
  function(a, b) return a * b + 0.1 end,
  function(a, b) return a:sin() + b end,
  function(a, b) return a:detach() * 0.5 + b * 0.25 end,
  function(a, b) return (a * 0.3):exp() - b * 0.5 end,
}

-- A function of three tensors that may detach, assign to the last and take gradients.
local function random_body(r)
  local first, second = OPERATIONS[r(4)], OPERATIONS[r(4)]
  local a, b, by = r(3), r(3), r(3)
  local detaches, assigns, differentiates = r(5) == 1, r(6) == 1, r(2) == 1
  return function(x, y, z)
    local list = { x, y, z }
    local u = first(list[a], list[b])
    local v = second(u, z)
    if detaches then v = v:detach() * 1.5 end
    if assigns then z:assign(v * 0.5) end
    if not differentiates then return v, u end
    local g = sgl.grad((v * v * u):sum(), { list[by], x })
    return v, g[1] + g[2]
  end
end

-- What is assigned is read at once: a program computes it, so that it is a leaf.
local ACTIONS = {
  function(r, n)
    local op, a, b, read = OPERATIONS[r(4)], r(n), r(n), r(2) == 1
    return function(pool, note)
      pool[#pool + 1] = op(pool[a], pool[b])
      if read then note(pool[#pool]) end
    end, 1
  end,
  function(r, n)
    local to, from, detached = r(3), r(n), r(2) == 1
    return function(pool, note)
      pool[to]:assign(detached and pool[from]:detach() or pool[from] * 0.9)
      note(pool[to])
    end, 0
  end,
  function(r, n)
    local a, b, c, body = r(n), r(n), r(n), random_body(r)
    return function(pool, note, compile)
      local z = pool[c]
      local v, g = compile(body)(pool[a], pool[b], z)
      note(z)
      pool[#pool + 1] = note(v)
      pool[#pool + 1] = note(g)
    end, 2
  end,
  function(r, n)
    local a, b, c, d = r(n), r(n), r(n), r(n)
    return function(pool, note)
      for _, g in ipairs(sgl.grad((pool[a] * pool[b]):sum(), { pool[c], pool[d] })) do note(g) end
    end, 0
  end,
}

local function random_script(r)
  local script, n = {}, 4
  for i = 1, r(4, 14) do
    local kind = r(10)
    local action, more = ACTIONS[kind <= 3 and 1 or kind <= 4 and 2 or kind <= 8 and 3 or 4](r, n)
    script[i], n = action, n + more
  end
  return script
end

-- The values in order, and the error that ended it.
local function run(script, compile)
  local pool = { sgl.tensor { 0.5, 0.7 }, sgl.tensor { 1.1, -0.4 }, sgl.tensor { 0.9, 0.3 },
    sgl.tensor { 0.2, 0.6 } }
  local values = {}
  local function note(t)
    values[#values + 1] = t:tolist()
    return t
  end
  for _, action in ipairs(script) do
    local fine, e = pcall(action, pool, note, compile)
    if not fine then return values, e end
  end
  return values
end

local function is_near(a, b)
  for i = 1, #a do
    local d = math.abs(a[i] - b[i])
    if a[i] == a[i] and d > 1e-4 * (1 + math.abs(a[i])) then return false end
  end
  return true
end

describe("random scripts of steps and gradients", function()
  it("give the same values compiled, or say that a way is not recorded", function()
    print("random histories: SGL_SEED=" .. engine.seed)
    local refused, whole = 0, 0
    for k = 1, engine.times(750) do
      math.randomseed(engine.seed, k)
      local script = random_script(math.random)
      local want, wrong = run(script, function(fn) return fn end)
      assert(not wrong, wrong)
      for name, compile in pairs(COMPILERS) do
        local got, e = run(script, compile)
        for i, v in ipairs(got) do
          assert(is_near(want[i], v), ("script %d, %s: value %d is %s, not %s"):format(k, name, i,
            table.concat(v, " "), table.concat(want[i], " ")))
        end
        local code = type(e) == "table" and (e.reason or e.code)
        assert(not e or code == "B-GRAD" or code == "SGL_EGRAD", tostring(e))
        if e then refused = refused + 1 else whole = whole + 1 end
      end
    end
    assert(refused > 0 and whole > refused / 2, ("%d refused, %d not"):format(refused, whole))
  end)
end)
