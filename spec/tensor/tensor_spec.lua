-- tensor_spec.lua: the functions of tensors give the values worked out by hand, for every dtype,
-- at the edges, written into and differentiated.

local sgl = require "sgl"
local support = require "spec.support"
local cases = require "spec.tensor_cases"

local function x(value, dtype) return sgl.tensor(value, dtype) end

local ENV = setmetatable({
  x = x, sgl = sgl, m = sgl.arange(6):reshape(2, 3),
  A = x { { 1.0, 2.0 }, { 3.0, 4.0 } }, B = x { { 5.0, 6.0 }, { 7.0, 8.0 } },
}, { __index = _G })

-- Nested lists as text, floats rounded, so that kinds and shapes count too.
local function text(v)
  if sgl.is_tensor(v) then v = v:tolist() end
  if type(v) == "table" then
    local parts = {}
    for i, item in ipairs(v) do parts[i] = text(item) end
    return "{" .. table.concat(parts, ", ") .. "}"
  elseif math.type(v) == "float" then
    if v ~= v then return "nan" end
    return (("%.4f"):format(v):gsub("^%-0%.0000$", "0.0000"))
  end
  return tostring(v)
end

local function same(want, got) assert.are.equal(text(want), text(got)) end

for _, group in ipairs(cases) do
  describe("a tensor " .. group[1] .. ":", function()
    for i = 2, #group do
      local expression, want = group[i][1], group[i][2]
      it(expression, function()
        same(want, (assert(load("return " .. expression, expression, "t", ENV))()))
      end)
    end
  end)
end

describe("writing into a tensor", function()
  local m
  before_each(function() m = sgl.arange(6):reshape(2, 3) end)

  -- The key, the value and what m is then.
  local CASES = {
    { 1, x { 7, 8, 9 }, { { 7, 8, 9 }, { 3, 4, 5 } } },
    { -1, { 7, 8, 9 }, { { 0, 1, 2 }, { 7, 8, 9 } } },
    { { 2, 3 }, 9, { { 0, 1, 2 }, { 3, 4, 9 } } },
    { {}, 4, { { 4, 4, 4 }, { 4, 4, 4 } } },
    { { {}, { 1, 2 } }, x { { 6, 7 }, { 8, 9 } }, { { 6, 7, 2 }, { 8, 9, 5 } } },
    { { {}, 2 }, x { 8, 9 }, { { 0, 8, 2 }, { 3, 9, 5 } } },
    { { 1, { 3, 1, -2 } }, x { 10, 20 }, { { 20, 1, 10 }, { 3, 4, 5 } } },
    { { { 2, 1 } }, 9, { { 0, 1, 2 }, { 3, 4, 5 } } },
    { x { 1, 0 }, x { { 1, 1, 1 }, { 2, 2, 2 } }, { { 2, 2, 2 }, { 1, 1, 1 } } },
    { x { 1, 1 }, x { { 1, 1, 1 }, { 2, 2, 2 } }, { { 0, 1, 2 }, { 2, 2, 2 } } },
    { x { { true, false, true }, { false, false, true } }, 0, { { 0, 1, 0 }, { 3, 4, 0 } } },
    { x { { true, false, true }, { false, false, true } }, x { 7, 8, 9 },
      { { 7, 1, 8 }, { 3, 4, 9 } } },
    { x { true, false }, 1, { { 1, 1, 1 }, { 3, 4, 5 } } },
    { 2, 2.7, { { 0, 1, 2 }, { 2, 2, 2 } } },
  }
  for i, case in ipairs(CASES) do
    it("puts the value there, case " .. i, function()
      m[case[1]] = case[2]
      same(case[3], m)
    end)
    it("does so inside a compiled function, case " .. i, function()
      local f = sgl.compile(function(t)
        local copy = t * 1
        copy[case[1]] = case[2]
        return copy
      end)
      same(case[3], f(m))
      same({ { 0, 1, 2 }, { 3, 4, 5 } }, m)
    end)
  end

  it("leaves what was made from the tensor before", function()
    local before = m + 0
    m[1] = 0
    same({ { 0, 1, 2 }, { 3, 4, 5 } }, before)
  end)
end)

describe("a dtype", function()
  -- Whole numbers small enough for every dtype.
  local CASES = {
    { "t:sum()", 21 }, { "t:max()", 6 }, { "(t:sort())", { { 1, 2, 3 }, { 4, 5, 6 } } },
    { "t:mean()", 3.5 }, { "t:prod(2)", { 6, 120 } }, { "t[{ 2, { 1, 2 } }]", { 4, 6 } },
    { "t:cumsum(2)", { { 3, 4, 6 }, { 4, 10, 15 } } }, { "t:t():matmul(t)[1]", { 25, 27, 26 } },
    { "t:gather(2, sgl.tensor { { 2 }, { 0 } })", { { 2 }, { 4 } } },
    { "t:pad({ 1, 0 })[1]", { 0, 3, 1, 2 } }, { "t:clamp(2, 4)", { { 3, 2, 2 }, { 4, 4, 4 } } },
    { "t:cummax(2)", { { 3, 3, 3 }, { 4, 6, 6 } } }, { "t:cumprod(2)[1]", { 3, 3, 6 } },
    { "sgl.where(t:gt(3), t, 0)", { { 0, 0, 0 }, { 4, 6, 5 } } }, { "t:softmax(2):sum()", 2 },
    { "t:flip(1)[1]", { 4, 6, 5 } }, { "(t:topk(1))", { { 3 }, { 6 } } },
  }
  for _, dtype in ipairs { "f16", "bf16", "f32", "f64", "i32", "i64", "u8" } do
    it(dtype .. " computes whole numbers as every other", function()
      local env = setmetatable({ t = x({ { 3, 1, 2 }, { 4, 6, 5 } }, dtype) }, { __index = ENV })
      for _, case in ipairs(CASES) do
        local got = assert(load("return " .. case[1], case[1], "t", env))()
        assert.are.equal(text(x(case[2], "f64")), text(got:to "f64"), case[1])
      end
    end)
  end
end)

describe("the gradient of", function()
  local CASES = {
    { "t:softmax(2)", { 3, 4 } }, { "t:log_softmax(-1)", { 3, 4 } }, { "t:logsumexp(1)", { 3, 4 } },
    { "t:gelu()", { 5 } }, { 't:gelu { approximate = "tanh" }', { 5 } }, { "t:silu()", { 5 } },
    { "t:softplus()", { 5 } }, { "t:elu()", { 5 } }, { "t:mish()", { 5 } },
    { "t:var(1)", { 4, 3 } }, { "t:std(2)", { 4, 3 } }, { "t:norm(2, 1)", { 4, 3 } },
    { "t:norm(3, 1)", { 4, 3 } },
    { "t:mean(1)", { 4, 3 } }, { "t:prod(1)", { 3, 2 } }, { "t:amax({ 1, 2 })", { 2, 3 } },
    { "t:cumprod(1)", { 5, 2 } }, { "t:cumsum(2)", { 2, 5 } }, { "t:cummax(1)", { 6 } },
    { "(t:sort(1))", { 5, 2 } }, { "(t:topk(2, 1))", { 5, 2 } }, { "(t:median(1))", { 5, 2 } },
    { "t:gather(2, sgl.tensor { { 0, 1, 1 }, { 2, 0, 2 } })", { 2, 3 } },
    { "t:scatter_add(2, sgl.tensor { { 0, 1 }, { 2, 2 } }, t * 2)", { 2, 3 } },
    { "t:diag(1)", { 3 } }, { "t:diagonal()", { 3, 3 } }, { "t:tril()", { 3, 3 } },
    { "t:unfold(1, 3, 1)", { 5 } }, { 't:pad({ 2, 1 }, { mode = "reflect" })', { 5 } },
    { "t:roll(2, 1)", { 5 } }, { "t:tile(2, 2)", { 2, 2 } }, { "t:matmul(t[1])", { 3, 3 } },
    { "t:matmul(t:transpose())", { 2, 3, 4 } }, { 'sgl.einsum("bij,bjk->ik", t, t)', { 2, 3, 3 } },
    { 'sgl.einsum("ii->i", t)', { 3, 3 } }, { "t[{ { 3, 1, -1 }, { 1, 2 } }]", { 3, 3 } },
    { "t:clamp(-0.5, 0.5)", { 6 } }, { "sgl.stack({ t, t * t }, 2)", { 2, 3 } },
  }
  for _, case in ipairs(CASES) do
    it(case[1] .. " is what finite differences give", function()
      sgl.seed(11)
      local at = sgl.randn(case[2]):to("f64"):realize()
      local fn = load("local t = ... return " .. case[1], case[1], "t", ENV)
      local weights = sgl.randn(fn(at).shape):to("f64"):realize()
      local function loss(t) return (fn(t) * weights):sum() end
      local got, flat, step = sgl.grad(loss(at), at), at:flatten():tolist(), 1e-5
      local want = {}
      for i = 1, #flat do
        local function moved(by)
          local copy = table.move(flat, 1, #flat, 1, {})
          copy[i] = copy[i] + by
          return loss(x(copy, "f64"):reshape(at.shape)):item()
        end
        want[i] = (moved(step) - moved(-step)) / (2 * step)
      end
      support.close(got, x(want, "f64"), 1e-6, 1e-6, case[1])
    end)
  end

  -- Where the plain formula is infinite or not a number.
  for _, case in ipairs {
    { "t:norm()", { 0.0, 0.0 }, { 0.0, 0.0 } }, { "t:std()", { 0.0, 0.0 }, { 0.0, 0.0 } },
    { "t:logsumexp()", { -math.huge, -math.huge }, { 0.0, 0.0 } },
    { "t:logsumexp()", { -math.huge, 1.0 }, { 0.0, 1.0 } },
    { "t:elu():sum()", { 1000.0 }, { 1.0 } }, { "t:softplus():sum()", { 1000.0 }, { 1.0 } },
  } do
    it(case[1] .. " is finite at " .. text(case[2]), function()
      local t = x(case[2])
      same(case[3], sgl.grad(load("local t = ... return " .. case[1])(t), t))
    end)
  end
end)

describe("a shape", function()
  it("prints as its sizes, and equals another with the same", function()
    local t = sgl.ones(2, 3)
    assert.are.equal("[2, 3]", tostring(t.shape))
    assert.are.equal("[]", tostring(sgl.ones(2):sum().shape))
    assert.is_true(t.shape == (t * 2).shape)
    assert.is_false(t.shape == t:t().shape)
    assert.is_false(t.shape == sgl.ones(2).shape)
  end)

  it("is a list of its own, which goes wherever sizes go", function()
    local t = sgl.ones(2, 3)
    local shape = t.shape
    shape[1] = 6
    shape[2] = nil
    assert.are.same({ 2, 3 }, t.shape)
    assert.are.equal("[6]", tostring(t:reshape(shape).shape))
    assert.are.equal("2x3", table.concat(t.shape, "x"))
    local step = sgl.compile(function(v, y) return v:reshape(y.shape) * #y.shape end)
    assert.are.same({ 3, 2 }, step(t, t:t()).shape)
  end)

  it("of symbolic sizes compares them as sizes", function()
    local n, m = sgl.dim("rows", { max = 8 }), sgl.dim("columns", { max = 8 })
    local f = sgl.compile(function(v, y)
      if v.shape == y.shape then return v:sum() end
      return v:sum() * 2
    end, { inputs = { sgl.spec { n, m }, sgl.spec { m, n } } })
    assert.are.equal(12, f(sgl.ones(2, 3), sgl.ones(3, 2)):item())
    assert.are.equal(9, f(sgl.ones(3, 3), sgl.ones(3, 3)):item())
  end)
end)
