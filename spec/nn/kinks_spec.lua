-- kinks_spec.lua: values and gradients where functions have corners, ties, zeros, infinities and
-- NaN are PyTorch's, from fixtures/make_kinks.py. KEPT lists what differs on purpose; each row
-- stands in docs/numerics.md with its reason.

local sgl = require "sgl"
local support = require "spec.support"
local F, nn = sgl.nn.functional, sgl.nn

local dict = assert(sgl.load(support.root .. "spec/fixtures/kinks.safetensors"))
local none = { reduction = "none" }

local function bce(target, options)
  return function(x) return nn.bce_with_logits(x, x:full_like(target), options or none) end
end

local ONE = {
  softplus3 = function(x) return x:softplus { beta = 3 } end,
  gelu_tanh = function(x) return x:gelu { approximate = "tanh" } end,
  pow2 = function(x) return x ^ 2 end, pow3 = function(x) return x ^ 3 end,
  pow_half = function(x) return x ^ 0.5 end, pow0 = function(x) return x ^ 0 end,
  pow1 = function(x) return x ^ 1 end, pow_minus1 = function(x) return x ^ -1 end,
  two_pow = function(x) return 2 ^ x end, bce1 = bce(1), bce0 = bce(0),
  bce_weight = bce(0.25, { reduction = "none", pos_weight = 3 }),
  clamp = function(x) return x:clamp(-1, 3) end,
  clamp_low = function(x) return x:clamp(0.5) end,
  clamp_high = function(x) return x:clamp(nil, 0.5) end,
}
local SMOOTH = { "softplus", "softplus3", "logsigmoid", "sigmoid", "tanh", "silu", "mish", "gelu",
  "gelu_tanh", "exp", "expm1", "erf", "sin", "cos", "atan", "square", "log1p", "log", "sqrt",
  "rsqrt", "reciprocal", "asin", "acos", "sinh", "cosh", "exp2", "log2", "log10", "tan", "pow2",
  "pow3", "pow_half", "pow0", "pow1", "pow_minus1", "two_pow", "bce1", "bce0", "bce_weight" }
local CORNERS = { "relu", "relu6", "hardtanh", "leaky_relu", "elu", "softsign", "abs", "sign",
  "clamp", "clamp_low", "clamp_high", "floor", "ceil", "round", "trunc", "frac", "nan_to_num" }
local TWO = {
  maximum = sgl.maximum, minimum = sgl.minimum, logaddexp = sgl.logaddexp, atan2 = sgl.atan2,
  fmod = sgl.fmod, mod = function(a, b) return a % b end, div = function(a, b) return a / b end,
  mul = function(a, b) return a * b end, clamp_tensor = function(a, b) return a:clamp(b) end,
  mse = function(a, b) return nn.mse_loss(a, b, none) end,
  l1 = function(a, b) return nn.l1_loss(a, b, none) end,
  huber = function(a, b) return nn.huber_loss(a, b, none) end,
  lerp1 = function(a, b) return a:lerp(b, 1) end, lerp0 = function(a, b) return a:lerp(b, 0) end,
  lerp7 = function(a, b) return a:lerp(b, 0.7) end,
}
local function norm(p) return function(x) return x:norm(p, 2) end end
local REDUCE = {
  max = function(x) return (x:max(2)) end, min = function(x) return (x:min(2)) end,
  amax = function(x) return x:amax(2) end, amin = function(x) return x:amin(2) end,
  median = function(x) return (x:median(2)) end, sum = function(x) return x:sum(2) end,
  mean = function(x) return x:mean(2) end, prod = function(x) return x:prod(2) end,
  var = function(x) return x:var(2) end, std = function(x) return x:std(2) end,
  logsumexp = function(x) return x:logsumexp(2) end,
  softmax = function(x) return (x:softmax(2) ^ 2):sum(2) end,
  log_softmax = function(x) return x:log_softmax(2)[{ {}, 1 }] end,
  cumsum = function(x) return x:cumsum(2)[{ {}, 3 }] end,
  cumprod = function(x) return x:cumprod(2):sum(2) end,
  cummax = function(x) return (x:cummax(2)):sum(2) end,
  cummin = function(x) return (x:cummin(2)):sum(2) end,
  norm1 = norm(1), norm2 = norm(2), norm3 = norm(3), norm_half = norm(0.5),
  norm_inf = norm(math.huge), norm0 = norm(0),
}

-- What differs on purpose: patterns of "name what place".
local KEPT = {
  "^pow_half%.?1? %-inf$",                     -- pow is C's: (-inf)^0.5 = inf
  "^mod%.1b %(.*inf",                          -- the quotient is Lua's //, an infinity has no other
  "^norm_half%.1 row %d+, 3$",                 -- 0 stays without gradient beside NaN and infinity
  "^logsumexp%.1 row 9", "^logsumexp%.1 row 15", -- all -inf: 0; large equals: shares, not 1 each
  "^norm_inf%.1 row [67],",                    -- where a NaN is the norm, all get NaN
  "^cumprod%.1 row %d+,",                      -- products with NaN or infinity
  "^var%.1 row %d+,",                          -- an infinity in a row: NaN for all
}

local function is_kept(text)
  for _, pattern in ipairs(KEPT) do
    if text:find(pattern) then return true end
  end
  return false
end

local function near(a, b)
  return a == b or a ~= a and b ~= b or math.abs(a - b) <= 1e-9 * math.max(1, math.abs(b))
end

local function compare(name, what, got, places, wrong)
  local want = dict[name .. what]:flatten():tolist()
  for i, v in ipairs(got:double():flatten():tolist()) do
    local place = places(i)
    if not near(v, want[i]) and not is_kept(("%s%s %s"):format(name, what, place)) then
      wrong[#wrong + 1] = ("%s%s at %s: %g, PyTorch has %g"):format(name, what, place, v, want[i])
    end
  end
end

local function report(wrong)
  if #wrong > 0 then error(table.concat(wrong, "\n", 1, math.min(#wrong, 40)), 0) end
end

local points = dict.points:tolist()
local function point(i) return ("%g"):format(points[i]) end

local function check_one(name, order)
  local f = ONE[name] or sgl.Tensor[name]
  local x, wrong = dict.points, {}
  local y = f(x)
  compare(name, "", y, point, wrong)
  local g = sgl.grad(y:sum(), x)
  compare(name, ".1", g, point, wrong)
  if order == 2 then compare(name, ".2", sgl.grad(g:sum(), x), point, wrong) end
  report(wrong)
end

describe("PyTorch's values and gradients", function()
  for _, name in ipairs(SMOOTH) do
    it("of the smooth function " .. name, function() check_one(name, 2) end)
  end
  for _, name in ipairs(CORNERS) do
    it("of " .. name .. " at its corners", function() check_one(name, 1) end)
  end
  for name, f in pairs(TWO) do
    it("of " .. name .. " at ties, zeros, infinities", function()
      local a, b, wrong = dict.left, dict.right, {}
      local left, right = a:tolist(), b:tolist()
      local function pair(i) return ("(%g, %g)"):format(left[i], right[i]) end
      local y = f(a, b)
      local ga, gb = table.unpack(sgl.grad(y:sum(), { a, b }))
      compare(name, "", y, pair, wrong)
      compare(name, ".1a", ga, pair, wrong)
      compare(name, ".1b", gb, pair, wrong)
      report(wrong)
    end)
  end
  for name, f in pairs(REDUCE) do
    it("of " .. name .. " over rows with ties, zeros, NaN", function()
      local x, wrong = dict.rows, {}
      local y = f(x)
      compare(name, "", y, function(i) return "row " .. i end, wrong)
      compare(name, ".1", sgl.grad(y:sum(), x), function(i)
        return ("row %d, %d"):format((i - 1) // 5 + 1, (i - 1) % 5 + 1)
      end, wrong)
      report(wrong)
    end)
  end
end)
