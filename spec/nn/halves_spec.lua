-- halves_spec.lua: composites of f16 and bf16 against the same in f64 on the same numbers, up to
-- half the range: within 2 ulp of the rounded result, or what f32 loses of the largest operand
-- where results cancel (1 + erf, log of nearly 1). Nothing inside overflows. Then every row of the
-- fixtures, so every function and layer: 1 ulp, and gradients.

local sgl = require "sgl"
local fixture = require "spec.fixture"
local nn, F = sgl.nn, sgl.nn.functional

-- Half the range, and the unit roundoff. bf16 has the range of f32, whose squares f32 has not.
local KINDS = { f16 = { most = 30000, ulp = 2.0 ^ -10, least = 2.0 ^ -24 },
                bf16 = { most = 1e15, ulp = 2.0 ^ -7, least = 2.0 ^ -133 } }
local TOP = { f16 = 65504, bf16 = 3.3e38 }

local function rows(dtype, scale, ...)
  return (sgl.randn(...) * scale):to(dtype):realize()
end

local CASES = {
  { "mean", function(x) return x:mean(2) end }, { "var", function(x) return x:var(2) end, 1e-3 },
  { "std", function(x) return x:std(2) end }, { "norm", function(x) return x:norm(2, 2) end },
  { "norm 1", function(x) return x:norm(1, 2) end, 0.02 },
  { "softmax", function(x) return x:softmax(2) end, 1e-4 },
  { "log_softmax", function(x) return x:log_softmax(2) end },
  { "logsumexp", function(x) return x:logsumexp(2) end },
  { "layer_norm", function(x) return F.layer_norm(x, { 37 }) end },
  { "rms_norm", function(x) return F.rms_norm(x, { 37 }) end },
  { "group_norm", function(x) return F.group_norm(x:reshape(8, 37, 1):expand(8, 37, 2), 1) end },
  { "mse_loss", function(x) return nn.mse_loss(x, x * 0) end, 1e-3 },
  { "huber_loss", function(x) return nn.huber_loss(x, x * 0) end },
  { "gelu", function(x) return x:gelu() end }, { "silu", function(x) return x:silu() end },
  { "mish", function(x) return x:mish() end }, { "elu", function(x) return x:elu() end },
  { "avg_pool1d", function(x) return F.avg_pool1d(x:unsqueeze(2), 5) end },
  { "cross_entropy", function(x)
    return nn.cross_entropy(x, sgl.arange(8) % 37)
  end },
}

describe("a composite of halves", function()
  for dtype, kind in pairs(KINDS) do
    for _, case in ipairs(CASES) do
      it(("of %s: %s is that of f64, rounded"):format(dtype, case[1]), function()
        sgl.seed(3)
        for _, scale in ipairs { 0.5, 20, kind.most / 8 } do
          local x = rows(dtype, scale * (scale > 20 and case[3] or 1), 8, 37)
          local y, want = case[2](x), case[2](x:double())
          assert.are.equal(dtype, y.dtype)
          local f32 = x:double():abs():max():item() * 2.0 ^ -22
          local bound = (want:abs() * (2 * kind.ulp)):maximum(math.max(f32, 2 * kind.least))
          local far = ((y:double() - want):abs():gt(bound) | y:isnan()) & want:abs():lt(TOP[dtype])
          assert.is_false(far:any():item(), ("scale %g: %s against %s"):format(scale,
            tostring(y), tostring(want)))
        end
      end)
    end
  end

  it("adds up many elements", function()
    assert.are.equal(1.0, sgl.ones(100000, { dtype = "f16" }):mean():item())
    local logits = sgl.zeros(70000, 4, { dtype = "f16" })
    local loss = nn.cross_entropy(logits, sgl.zeros(70000, { dtype = "i32" }))
    assert.are.near(math.log(4), loss:item(), 1e-3)
  end)

  it("keeps a global norm finite", function()
    local grads = { sgl.full({ 100 }, 600, { dtype = "f16" }) }
    assert.are.near(6000, sgl.optim.clip_norm(grads, 1):item(), 1)
    assert.are.equal("f16", grads[1].dtype)
    assert.are.near(0.1, grads[1][1]:item(), 1e-3)
  end)

  it("draws no 1", function()
    for dtype in pairs(KINDS) do
      local u = sgl.rand(200000, { dtype = dtype })
      assert.is_true(u:max():item() < 1)
      assert.are.near(0.5, u:double():mean():item(), 5e-3)
    end
  end)

  it("trains with state in f32 by every rule", function()
    for _, rule in ipairs { "SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Lion" } do
      for dtype in pairs(KINDS) do
        sgl.seed(1)
        local p, q = sgl.ones(4, { dtype = dtype }):realize(), sgl.ones(4):realize()
        local a, b = sgl.optim[rule]({ p }, { lr = 0.125 }), sgl.optim[rule]({ q }, { lr = 0.125 })
        for _ = 1, 2 do
          a:step { sgl.full({ 4 }, 0.25, { dtype = dtype }) }
          b:step { sgl.full({ 4 }, 0.25) }
          q:assign(q:to(dtype):float())         -- rounded once a step, as the half is
        end
        assert.are.same(q:tolist(), p:float():tolist(), rule .. " of " .. dtype)
        assert.are.equal(dtype, p.dtype)
      end
    end
  end)
end)

-- ---- every function and layer, on the inputs of its rows and on numbers up to half the range

local HALVES = {
  f16 = { digits = 10, most = 65504, least = 2.0 ^ -24, scales = { 1, 5, 8000 } },
  bf16 = { digits = 7, most = 0x1.fep127, least = 2.0 ^ -133, scales = { 1, 5, 1e14 } },
}
-- Several layers one after the other round after each: their bound is that of the largest result,
-- as it is for gradients.
local CHAINS = { "MultiheadAttention", "Sequential", "ModuleList" }
-- Functions that give another dtype, whatever comes in.
local OTHER = { "float%(%)", "double%(%)", "one_hot", "clip_norm" }
-- Cubes of 10^14 are beyond bf16's range and f32's.
local CUBES = { "^x:norm%(3", "ij,kj,k%->i" }

-- The gradient of a power by its base has a power one lower, which a half rounds.
local STEEP = { "pow", "%^" }

local function matches(text, patterns)
  for _, pattern in ipairs(patterns) do
    if text:find(pattern) then return true end
  end
  return false
end

-- The distance to the next number at v.
local function ulp(v, kind)
  local exponent = v == 0 and -1000 or math.floor(math.log(math.abs(v), 2))
  return math.max(2.0 ^ (exponent - kind.digits), kind.least)
end

-- A list of numbers as Lua has them.
local function numbers(t) return t:numel() > 0 and t:double():flatten():tolist() or {} end

-- The largest finite magnitude of a list.
local function largest(list)
  local most = 0
  for _, v in ipairs(list) do
    if v == v and math.abs(v) < math.huge then most = math.max(most, math.abs(v)) end
  end
  return most
end

-- Inputs of the halves' dtype, the same in f64, and their largest magnitude: the row's own at scale
-- 1, else drawn.
local function inputs_of(row, dict, dtype, scale)
  local halves, doubles, top = {}, {}, 0
  for i = 1, 4 do
    local t = dict["in." .. row.inputs .. "." .. i]
    if not t then break end
    halves[i], doubles[i] = t, t
    if t:is_floating_point() then
      local from = scale == 1 and t or sgl.randn(t.shape):double():reshape(t.shape) * scale
      halves[i] = from:to(dtype):realize()
      doubles[i] = halves[i]:double():realize()
      top = math.max(top, largest(numbers(doubles[i])))
    end
  end
  return halves, doubles, top
end

-- The first element farther from f64's than an ulp and what f32 loses of the largest input.
local function far(got, want, kind, top, chain)
  local a, b = numbers(got), numbers(want)
  local size = chain and largest(b)
  for i, v in ipairs(b) do
    local x, limit = a[i], kind.most + ulp(kind.most, kind) / 2
    local bound = (chain and 3 * ulp(size, kind) or ulp(v, kind)) + top * 2.0 ^ -22
    local same = x == v or x ~= x and v ~= v
    local beyond = math.abs(v) >= limit * (1 - 2.0 ^ -kind.digits) and math.abs(x) >= kind.most
      and (x > 0) == (v > 0)
    if not (same or beyond or math.abs(x - v) <= bound) then
      return ("element %d: %.9g, f64 gives %.9g"):format(i, x, v)
    end
  end
end

local function check(row, dict, dtype, kind)
  local chain = matches(row.text, CHAINS)
  for _, scale in ipairs(kind.scales) do
    if not (scale > 1e13 and matches(row.text, CUBES)) then
      sgl.seed(1)
      local halves, doubles, top = inputs_of(row, dict, dtype, scale)
      local got, slopes = fixture.run(row, dict, halves, dtype, dtype)
      local wanted, right = fixture.run(row, dict, doubles, "f64", dtype)
      for i, want in ipairs(wanted) do
        if want:is_floating_point() and not matches(row.text, OTHER) then
          assert.are.equal(dtype, got[i].dtype)
        end
        local wrong = far(got[i], want, kind, top, chain)
        if wrong then error(("scale %g, result %d, %s"):format(scale, i, wrong), 0) end
      end
      for i, want in ipairs(scale <= 5 and not matches(row.text, STEEP) and right or {}) do
        local wrong = far(slopes[i], want, kind, top, true)
        if wrong then error(("scale %g, gradient %d, %s"):format(scale, i, wrong), 0) end
      end
    end
  end
end

describe("in halves", function()
  for _, file in ipairs { "functions", "layers" } do
    local rows, seen = fixture.load(file), {}
    for _, row in ipairs(rows) do
      local known = rows.dict["in." .. row.inputs .. ".1"]
      if known and not seen[row.text] and not row.text:find "f64" then
        seen[row.text] = true
        it(row.text .. " is that of f64, rounded", function()
          for dtype, kind in pairs(HALVES) do check(row, rows.dict, dtype, kind) end
        end)
      end
    end
  end
end)
