-- nn/initialise.lua: initialisers: fill a parameter in place and return it.
--
-- fan_in and fan_out of a weight [out, in, …] are in·… and out·…, as PyTorch counts them.

local core = require "sgl.core"
local api = require "sgl.api"
local create = require "sgl.tensor.create"

local I = api.module("nn.init", "Initialisers, which fill a tensor and return it")
local T = { "t", "tensor", "filled in place" }

local function fans(name, t)
  local shape = t.shape
  if #shape < 2 then
    core.raise("SGL_ESHAPE", ("nn.init.%s: needs at least 2 dims, got %s[%s]"):format(name, t.dtype,
      table.concat(shape, ", ")))
  end
  local receptive = 1
  for i = 3, #shape do receptive = receptive * shape[i] end
  return shape[2] * receptive, shape[1] * receptive
end

local function need_float(name, t)
  if t:is_floating_point() then return end
  core.raise("SGL_EDTYPE", ("nn.init.%s: draws are floats, got %s"):format(name, api.describe(t)),
    "convert it with :float()")
end

local function fill_uniform(name, t, lo, hi)
  need_float(name, t)
  return t:assign((create.rand(table.unpack(t.shape)) * (hi - lo) + lo):to(t.dtype))
end
local function fill_normal(name, t, mean, std)
  need_float(name, t)
  return t:assign((create.randn(table.unpack(t.shape)) * std + mean):to(t.dtype))
end

-- Gain of a nonlinearity (PyTorch's table).
local GAINS = { linear = 1, sigmoid = 1, tanh = 5 / 3, relu = math.sqrt(2), selu = 3 / 4 }
local function gain_of(name, slope)
  if name == "leaky_relu" then return math.sqrt(2 / (1 + slope * slope)) end
  return GAINS[name]
end

api.fn(I, "constant", { doc = "Every element the same.", returns = "t",
  args = { T, { "value", "number", "of each element" } } },
  function(t, value) return t:assign(core.full(t.shape, value, t.dtype, "nn.init.constant")) end)
api.fn(I, "zeros", { doc = "All 0.", args = { T }, returns = "t" },
  function(t) return t:assign(core.full(t.shape, 0, t.dtype)) end)
api.fn(I, "ones", { doc = "All 1.", args = { T }, returns = "t" },
  function(t) return t:assign(core.full(t.shape, 1, t.dtype)) end)
api.fn(I, "uniform", { doc = "Uniform in [lo, hi).", returns = "t",
  args = { T, { "lo", "number?", "default 0" }, { "hi", "number?", "default 1" } } },
  function(t, lo, hi)
    lo, hi = lo or 0, hi or 1
    if lo > hi then
      core.raise("SGL_EARG", ("nn.init.uniform: from %s to %s there is nothing"):format(lo, hi),
        "the lower bound comes first")
    end
    return fill_uniform("uniform", t, lo, hi)
  end)
api.fn(I, "normal", { doc = "Normal with a mean and a standard deviation.", returns = "t",
  args = { T, { "mean", "number?", "default 0" },
           { "std", "number?", "default 1", within = { 0, math.huge } } } },
  function(t, mean, std) return fill_normal("normal", t, mean or 0, std or 1) end)

api.fn(I, "xavier_uniform", { doc = "Uniform in ±gain·sqrt(6 / (fan_in + fan_out)) (Glorot and "
  .. "Bengio, 2010).", args = { T }, opts = { { "gain", "number", 1, "" } }, returns = "t" },
  function(t, o)
    local fan_in, fan_out = fans("xavier_uniform", t)
    local bound = o.gain * math.sqrt(6 / (fan_in + fan_out))
    return fill_uniform("xavier_uniform", t, -bound, bound)
  end)
api.fn(I, "xavier_normal", { doc = "Normal with deviation gain·sqrt(2 / (fan_in + fan_out)).",
  args = { T }, opts = { { "gain", "number", 1, "" } }, returns = "t" },
  function(t, o)
    local fan_in, fan_out = fans("xavier_normal", t)
    return fill_normal("xavier_normal", t, 0, o.gain * math.sqrt(2 / (fan_in + fan_out)))
  end)

local KAIMING = {
  { "slope", "number", 0, "negative slope of leaky_relu" },
  { "mode", "string", "fan_in", "fan_in or fan_out", among = { "fan_in", "fan_out" } },
  { "nonlinearity", "string", "leaky_relu", "whose gain to use",
    among = { "linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu" } },
}
local function kaiming_std(name, t, o)
  local fan_in, fan_out = fans(name, t)
  local fan = o.mode == "fan_in" and fan_in or fan_out
  return gain_of(o.nonlinearity, o.slope) / math.sqrt(math.max(fan, 1))
end
api.fn(I, "kaiming_uniform", { doc = "Uniform with deviation gain / sqrt(fan) (He et al., 2015).",
  args = { T }, opts = KAIMING, returns = "t" }, function(t, o)
  local bound = math.sqrt(3) * kaiming_std("kaiming_uniform", t, o)
  return fill_uniform("kaiming_uniform", t, -bound, bound)
end)
api.fn(I, "kaiming_normal", { doc = "Normal with deviation gain / sqrt(fan) (He et al., 2015).",
  args = { T }, opts = KAIMING, returns = "t" }, function(t, o)
  return fill_normal("kaiming_normal", t, 0, kaiming_std("kaiming_normal", t, o))
end)

-- Orthonormal rows of a rows × cols list of lists, rows <= cols: modified Gram-Schmidt, twice,
-- which keeps the error at the rounding level.
local function orthonormalise(m)
  for _ = 1, 2 do
    for i = 1, #m do
      local row = m[i]
      for j = 1, i - 1 do
        local dot = 0
        for k = 1, #row do dot = dot + row[k] * m[j][k] end
        for k = 1, #row do row[k] = row[k] - dot * m[j][k] end
      end
      local norm = 0
      for k = 1, #row do norm = norm + row[k] * row[k] end
      norm = math.sqrt(norm)
      for k = 1, #row do row[k] = row[k] / norm end
    end
  end
  return m
end

api.fn(I, "orthogonal", {
  doc = "A (semi-)orthogonal matrix, uniformly distributed: rows or columns, whichever are fewer, "
    .. "are orthonormal (Saxe, McClelland and Ganguli, 2014). Dims behind the first are taken as "
    .. "one.", args = { T }, opts = { { "gain", "number", 1, "" } }, returns = "t" },
  function(t, o)
    fans("orthogonal", t)
    need_float("orthogonal", t)
    local rows = t.shape[1]
    local cols = t:numel() // rows
    local wide = rows <= cols
    local m = orthonormalise(create.randn(math.min(rows, cols), math.max(rows, cols)):tolist())
    local q = core.tensor(m, "f32")
    if not wide then q = q:t() end
    return t:assign((q * o.gain):reshape(table.unpack(t.shape)):to(t.dtype))
  end)

return I
