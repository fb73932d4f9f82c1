-- halves_spec.lua: composites of f16 and bf16 against the same in f64 on the same numbers, up to
-- half the range: within 2 ulp of the rounded result, or what f32 loses of the largest operand
-- where results cancel (1 + erf, log of nearly 1). Nothing inside overflows.

local sgl = require "sgl"
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
