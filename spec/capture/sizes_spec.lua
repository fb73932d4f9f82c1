-- sizes_spec.lua: sizes that change from call to call where nothing is said of them.

local sgl = require "sgl"
local support = require "spec.support"

describe("sizes that vary, where nothing is said of them,", function()
  local function step(x, y) return (x * 2):sum() + y:mean(), x:reshape(-1) end

  it("become symbolic after eight programs, with a note", function()
    local f = sgl.compile(step)
    for n = 1, 100 do
      local x, y = sgl.arange(2 * n):reshape(n, 2) / 4, sgl.ones(n + 3)
      local a, b = f(x, y)
      local c, d = step(x, y)
      assert.is_true(a:equal(c) and b:equal(d))
    end
    local programs = f:programs()
    assert.are.equal(9, #programs)
    assert.are.equal("x changed from f32[8, 2] to f32[9, 2]; sizes that vary are symbolic from "
      .. "here on", programs[9].reason)
    assert.are.equal("f32[x_1, 2];f32[y_1];", programs[9].signature)
    assert.are.equal(92, programs[9].runs)
  end)

  it("stay known with dynamic = false, up to the limit", function()
    local f = sgl.compile(step, { dynamic = false })
    local e
    for n = 1, 66 do
      local ok, problem = pcall(f, sgl.ones(n, 2), sgl.ones(3))
      if not ok then e = e or { n, problem } end
    end
    assert.are.equal(66, e[1])
    assert.matches("at most 64 re%-captures", e[2].message)
  end)

  it("say at the limit why they cannot be symbolic", function()
    local f = sgl.compile(function(x)
      for _ = 1, x.shape[1] do x = x + 1 end
      return x
    end, { max_recaptures = 12 })
    local e
    for n = 1, 20 do
      local ok, got = pcall(f, sgl.zeros(n))
      if ok then assert.are.equal(n + 0.0, got[1]:item()) end
      e = e or not ok and got
    end
    assert.matches("13  x\n", e.hint)
    assert.matches("the sizes cannot be symbolic: .*'for' loop over a symbolic size", e.hint)
  end)

  it("are no reason where something else changed", function()
    local f = sgl.compile(function(x, name) return x * #name end)
    for n = 1, 12 do f(sgl.ones(n), ("a"):rep(n)) end
    assert.are.equal(12, #f:programs())
  end)
end)

it("a size beyond 2^60 that a step returns is refused: it has no value there", function()
  local n = sgl.dim "n"
  local step = sgl.compile(function(x)
    local k = x.shape[1]
    return k * k * k * k
  end, { inputs = { sgl.spec { n } } })
  assert.are.equal(10000, step(sgl.ones(10)))
  assert.are.equal(30000 ^ 4 // 1 | 0, step(sgl.ones(30000)))
  assert.matches("beyond 2%^60", support.error_of(step, sgl.ones(40000)).message)
end)

-- Uses of what is computed of a size k beyond 2^60, which no size is; the same of floats is right.
local BEYOND = {
  { "in the graph", function(x, k) return x:sum():to "f64" * (k * k * k * k) end,
    function(x, k) return x:sum():to "f64" * (k * 1.0 * k * k * k) end },
  { "a rest", function(x, k) return x:sum():to "f64" * ((k * k * k * k) % 7) end,
    function(x, k) return x:sum():to "f64" * ((k * 1.0 * k * k * k) % 7) end },
  { "a quotient", function(x, k) return x:sum():to "f64" * ((k * k * k * k) // k) end,
    function(x, k) return x:sum():to "f64" * ((k * 1.0 * k * k * k) // k) end },
  { "a difference", function(x, k) return x:sum():to "f64" * (k * k * k * k - k * k * k * k) end,
    function(x) return x:sum():to "f64" * 0 end },
  { "a sum with a large number", function(x, k) return x:sum():to "f64" + (k + (1 << 60)) end,
    function(x, k) return x:sum():to "f64" + (k + 2.0 ^ 60) end },
}

describe("what a step computes of sizes beyond 2^60", function()
  for _, row in ipairs(BEYOND) do
    it(("is refused where it is computed: %s"):format(row[1]), function()
      local function run(f, options)
        options.inputs = { sgl.spec { sgl.dim "n" } }
        return sgl.compile(function(x) return f(x, x.shape[1]) end, options)
      end
      local step, floats = run(row[2], {}), run(row[3], {})
      for _, n in ipairs { 3, 40000, 5 } do
        local x = sgl.ones(n)
        local fits = n < 40000 and not row[1]:find "large"
        if fits then
          assert.are.equal(row[2](x, n):item(), step(x):item())
        else
          local e = support.error_of(step, x)
          assert.matches("beyond 2%^60", e.message)
          assert.matches("sizes_spec.lua", e.file)
          assert.matches("floats", e.hint)
          assert.are.equal(row[2](x, n):item(), run(row[2], { fullgraph = false })(x):item())
        end
        assert.are.equal(row[3](x, n):item(), floats(x):item())
      end
    end)
  end

  it("leaves sizes that were found fixed", function()
    local step = sgl.compile(function(x)
      local k = x.shape[1]
      return x:sum():to "f64" * (k * k * k * k)
    end, { dynamic = true })
    for _, n in ipairs { 3, 5, 30000, 40000, 40001 } do
      assert.are.equal(n * 1.0 * (n * n * n * n), step(sgl.ones(n)):item())
    end
  end)
end)
