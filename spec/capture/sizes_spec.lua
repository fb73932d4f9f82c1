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
