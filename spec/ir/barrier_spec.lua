-- barrier_spec.lua: a barrier keeps equal nodes apart through the whole pipeline, changes no bit,
-- passes gradients on, and costs no step and no memory.

local core = require "sgl.core"
local engine = require "spec.engine"
local sgl = require "sgl"

local HEAD = 'graph\ninput %0 arg "x" f32[64, 64]\n'

-- exp(x) twice, the second of what `between` makes of x.
local function twice(between)
  return core.parse(HEAD .. between .. [[
%2 = exp(%0) : f32[64, 64]
%3 = exp(%1) : f32[64, 64]
%4 = permute(%3) {dims=[2, 1]} : f32[64, 64]
%5 = dot(%2, %4) : f32[64, 64]
output %5 ""
]])
end

local BARRIER = "%1 = barrier(%0) {number=0} : f32[64, 64]\n"
local NOTHING = "%1 = reshape(%0) {dims=[64, 64]} : f32[64, 64]\n"

local function count(graph, op)
  local n = 0
  for _, node in ipairs(graph:pass("simplify"):nodes()) do n = n + (node.op == op and 1 or 0) end
  return n
end

describe("a barrier", function()
  it("keeps equal nodes on both sides of it apart", function()
    assert.are.equal(1, count(twice(NOTHING), "exp"))
    assert.are.equal(2, count(twice(BARRIER), "exp"))
    assert.are.equal(1, count(twice(BARRIER), "barrier"))
  end)

  it("is one with a barrier of the same number and input only", function()
    local function barriers(numbers)
      local text, sum = HEAD, "%0"
      for i, number in ipairs(numbers) do
        text = text .. ("%%%d = barrier(%%0) {number=%d} : f32[64, 64]\n"):format(2 * i, number)
          .. ("%%%d = add(%s, %%%d) : f32[64, 64]\n"):format(2 * i + 1, sum, 2 * i)
        sum = "%" .. 2 * i + 1
      end
      return count(core.parse(text .. ("output %s \"\"\n"):format(sum)), "barrier")
    end
    assert.are.equal(1, barriers { 4, 4, 4 })
    assert.are.equal(3, barriers { 0, 1, 2 })
  end)

  it("gives the bits that there are without it", function()
    local x = core.sample("real", 3, { 64, 64 }, "f32")
    local with, without = twice(BARRIER):run { x }, twice(NOTHING):run { x }
    assert.are.equal(without[1]:bytes(), with[1]:bytes())
  end)

  it("lets no constant through", function()
    local g = core.parse [[
graph
%0 = const() {value=2, dims=[3], dtype=f32} : f32[3]
%1 = barrier(%0) {number=0} : f32[3]
%2 = add(%1, %0) : f32[3]
output %2 ""
]]
    assert.are.equal(1, count(g, "add"))
    assert.are.same({ 4, 4, 4 }, engine.values(g:run({})[1]))
  end)

  it("costs no step and no memory", function()
    local function info(through)
      local step = sgl.compile(function(x, y)
        local p = through(x:matmul(y))
        return p:matmul(y), through(x) + 1
      end)
      step(sgl.ones(33, 33), sgl.ones(33, 33))
      local all = step:info()
      return { all.steps, all.kernels, all.arena_bytes }
    end
    assert.are.same(info(function(x) return x end),
      info(function(x) return core.apply("barrier", x, { number = 2 }) end))
  end)

  it("has the gradient of the identity", function()
    local fn = function(x)
      local y = core.apply("barrier", x * x, { number = 1 })
      local loss = core.apply("sum", y * x, { dims = { 1 } })
      return core.grad(loss, { x })[1]
    end
    local x = core.sample("real", 5, { 7 }, "f64")
    local out = engine.capture(fn, { x }):eval { x }
    local want = {}
    for i, v in ipairs(engine.values(x)) do want[i] = 3 * v * v end
    for i, v in ipairs(engine.values(out[1])) do
      assert.is_true(math.abs(v - want[i]) <= 1e-12 * math.abs(want[i]))
    end
  end)

  it("refuses a number below 0", function()
    local ok, e = pcall(core.parse, HEAD .. '%1 = barrier(%0) {number=-1} : f32[64, 64]\n')
    assert.is_false(ok)
    assert.is_truthy(tostring(e.message):find("number is below 0", 1, true), e.message)
  end)
end)
