-- nn/layers.lua: linear maps, embeddings, activations, normalisations, containers.
--
-- Parameters have PyTorch's names, layouts and default initialisation, so a state dict from there
-- loads here.

local core = require "sgl.core"
local api = require "sgl.api"
local base = require "sgl.nn.module"
local F = require "sgl.nn.functional"
local I = require "sgl.nn.initialise"
local create = require "sgl.tensor.create"
local widened = require "sgl.tensor.wide".one

local class, M = base.class, base.M
local parameter = M.parameter

local function empty(...) return create.zeros(...) end

local SIZES, COUNTS = { 0, math.huge }, { 0, math.huge }
local DTYPE = { "dtype", "string", "f32", "dtype of the parameters" }
local INIT = { "init", "function?", nil, "fills the weight instead of the default, fn(weight)" }

-- The parameters of a weight [out, …] and its bias [out]: Kaiming-uniform with slope √5, which is
-- uniform in ±1/√fan_in, for both (PyTorch's default).
local function weight_and_bias(self, shape, o)
  local weight = empty(table.unpack(shape)):to(o.dtype)
  if o.init then o.init(weight) else I.kaiming_uniform(weight, { slope = math.sqrt(5) }) end
  self.weight = parameter(weight)
  if o.bias then
    local fan_in = weight:numel() // shape[1]
    local bound = fan_in > 0 and 1 / math.sqrt(fan_in) or 0
    self.bias = parameter(I.uniform(empty(shape[1]):to(o.dtype), -bound, bound))
  end
end

local Linear = class("Linear", {
  doc = "y = x · weightᵀ + bias over the last dim. Parameters: weight f32[out, in], bias f32[out].",
  args = { { "inputs", "integer", "size of the last dim of x", within = SIZES },
           { "outputs", "integer", "size of the last dim of y", within = SIZES } },
  opts = { { "bias", "boolean", true, "with a bias" }, INIT, DTYPE },
  returns = "module: f32[…, in] -> f32[…, out]",
  errors = "a last dim that is not `in`",
}, function(self, inputs, outputs, o)
  self.inputs, self.outputs = inputs, outputs
  weight_and_bias(self, { outputs, inputs }, o)
end)
function Linear:forward(x)
  base.need_tensor(self, x)
  local shape = x.shape
  if #shape == 0 or shape[#shape] ~= self.inputs then
    local last = shape[#shape] or 1
    core.raise("SGL_ESHAPE", ("matmul: the inner dimensions differ: %s and %s[%s, %s] "
      .. "(%s against %s)."):format(api.describe(x), self.weight.dtype, self.inputs, self.outputs,
      last, self.inputs),
      ("the second operand was made at %s: did you mean nn.Linear(%s, %s)?"):format(
        base.made_at(self), last, self.outputs))
  end
  return F.linear(x, self.weight, self.bias)
end

local Embedding = class("Embedding", {
  doc = "Rows of a table by index. Parameter: weight f32[count, width], normal(0, 1).",
  args = { { "count", "integer", "rows", within = SIZES },
           { "width", "integer", "columns", within = SIZES } },
  opts = { INIT, DTYPE },
  returns = "module: integers […] from 0 -> f32[…, width]",
  errors = "an index outside [0, count), when the step runs",
}, function(self, count, width, o)
  local weight = empty(count, width):to(o.dtype)
  if o.init then o.init(weight) else I.normal(weight) end
  self.weight = parameter(weight)
end)
function Embedding:forward(index) return F.embedding(index, self.weight) end

-- Layers without state: a class whose forward is one function.
local function stateless(name, doc, forward, row)
  row = row or {}
  row.doc = doc
  row.returns = row.returns or "module: tensor -> tensor"
  local Class = class(name, row, function(self, ...) self.settings = table.pack(...) end)
  function Class:forward(x)
    return forward(x, self, table.unpack(self.settings, 1, self.settings.n))
  end
  return Class
end

stateless("Identity", "x as it is.", function(x) return x end)
stateless("ReLU", "max(x, 0).", function(x) return F.relu(x) end)
stateless("SiLU", "x · sigmoid(x).", function(x) return F.silu(x) end)
stateless("Tanh", "Hyperbolic tangent.", function(x) return F.tanh(x) end)
stateless("Sigmoid", "1 / (1 + exp(-x)).", function(x) return F.sigmoid(x) end)
stateless("Softplus", "log(1 + exp(x)).", function(x) return F.softplus(x) end)
stateless("GELU", "x · Φ(x).", function(x, _, o) return F.gelu(x, o) end,
  { opts = { { "approximate", "string", "none", "none: by erf; tanh: the tanh form",
               among = { "none", "tanh" } } } })
stateless("Softmax", "exp(x) divided by its sum along a dim.",
  function(x, _, dim) return F.softmax(x, dim or -1) end,
  { args = { { "dim", "integer?", "default -1" } } })
stateless("LogSoftmax", "Logarithm of softmax along a dim.",
  function(x, _, dim) return F.log_softmax(x, dim or -1) end,
  { args = { { "dim", "integer?", "default -1" } } })
stateless("Flatten", "Dims first to last as one.",
  function(x, _, first, last) return x:flatten(first or 2, last or -1) end,
  { args = { { "first", "integer?", "default 2" }, { "last", "integer?", "default -1" } } })
stateless("Dropout", "In training, zeroes elements with probability p and scales the others by "
  .. "1 / (1 - p); in evaluation, x as it is.",
  function(x, self, p) return F.dropout(x, p or 0.5, { training = self.training }) end,
  { args = { { "p", "number?", "probability, default 0.5", within = { 0, 1 } } } })

local Sequential = class("Sequential", {
  doc = "Modules one after the other; children are named 1, 2, … and are fields: seq[1].",
  args = { { "modules", "module...", "in their order" } },
  returns = "module",
}, function(self, modules)
  for i, m in ipairs(modules) do self[i] = m end
end)
function Sequential:forward(...)
  local first = self[1]
  if not first then return ... end
  local x = first(...)
  for i = 2, #self do x = self[i](x) end
  return x
end

local ModuleList = class("ModuleList", {
  doc = "A list of modules that its owner registers; list[1] and #list work as on a table.",
  args = { { "modules", "module...", "in their order" } },
  returns = "module without forward",
}, function(self, modules)
  for i, m in ipairs(modules) do self[i] = m end
end)
api.method(ModuleList, "append", {
  doc = "Adds a module at the end.", args = { { "module", "module", "the new last" } },
  returns = "the list",
}, function(self, m)
  self[#self + 1] = m
  return self
end)

-- The sizes of the trailing dims, given as one or as a list.
local function shape_of(name, v)
  local list = type(v) == "table" and v or { v }
  for i = 1, math.max(1, #list) do
    if math.type(list[i]) ~= "integer" or list[i] < 0 then
      core.raise("SGL_EARG", ("nn.%s: argument 'shape' must be sizes from 0, got %s"):format(name,
        api.describe(list[i])), "nn.LayerNorm(64) or nn.LayerNorm { 8, 8 }")
    end
  end
  return list
end
local function affine(self, shape, o)
  if not o.affine then return end
  self.weight = parameter(create.ones(table.unpack(shape)):to(o.dtype))
  if o.bias then self.bias = parameter(empty(table.unpack(shape)):to(o.dtype)) end
end
local AFFINE = { "affine", "boolean", true, "with a scale (and a shift)" }
local BIAS = { "bias", "boolean", true, "with a shift" }

local LayerNorm = class("LayerNorm", {
  doc = "Normalises over the trailing dims, then scales and shifts. Parameters: weight, bias "
    .. "f32[shape].",
  args = { { "shape", "integer|table", "sizes of the trailing dims" } },
  opts = { { "eps", "number", 1e-5, "added to the variance", within = COUNTS }, AFFINE, BIAS,
           DTYPE },
  returns = "module: f32[…, shape] -> the same shape",
  errors = "trailing dims that are not `shape`",
}, function(self, shape, o)
  self.shape, self.eps = shape_of("LayerNorm", shape), o.eps
  affine(self, self.shape, o)
end)
function LayerNorm:forward(x)
  return F.layer_norm(x, self.shape, self.weight, self.bias, { eps = self.eps })
end

local RMSNorm = class("RMSNorm", {
  doc = "Divides by the root of the mean square over the trailing dims, then scales. Parameter: "
    .. "weight.",
  args = { { "shape", "integer|table", "sizes of the trailing dims" } },
  opts = { { "eps", "number", 1e-6, "added to the mean of squares", within = COUNTS }, AFFINE,
           DTYPE },
  returns = "module: f32[…, shape] -> the same shape",
  errors = "trailing dims that are not `shape`",
}, function(self, shape, o)
  self.shape, self.eps = shape_of("RMSNorm", shape), o.eps
  affine(self, self.shape, { affine = o.affine, bias = false, dtype = o.dtype })
end)
function RMSNorm:forward(x) return F.rms_norm(x, self.shape, self.weight, { eps = self.eps }) end

local GroupNorm = class("GroupNorm", {
  doc = "Normalises each group of channels of each sample. Parameters: weight, bias f32[channels].",
  args = { { "groups", "integer", "divides channels", within = { 1, math.huge } },
           { "channels", "integer", "dim 2 of x", within = SIZES } },
  opts = { { "eps", "number", 1e-5, "added to the variance", within = COUNTS }, AFFINE, BIAS,
           DTYPE },
  returns = "module: f32[n, channels, …] -> the same shape",
  errors = "groups that do not divide the channels",
}, function(self, groups, channels, o)
  if channels % groups ~= 0 then
    core.raise("SGL_EARG", ("nn.GroupNorm: %s groups do not divide %s channels"):format(groups,
      channels), "the number of channels is a multiple of that of the groups")
  end
  self.groups, self.eps = groups, o.eps
  affine(self, { channels }, o)
end)
function GroupNorm:forward(x)
  return F.group_norm(x, self.groups, self.weight, self.bias, { eps = self.eps })
end

-- In training, statistics of the batch, which also move the running ones; in evaluation, those.
local function batch_norm_forward(wanted)
  return function(self, x)
    base.need_tensor(self, x)
    local shape = x.shape
    if not wanted.ranks[#shape] or shape[2] ~= self.channels then
      core.raise("SGL_ESHAPE", ("nn.%s: needs %s with %s channels, got %s"):format(wanted.class,
        wanted.shape, self.channels, api.describe(x)))
    end
    if not self.training then
      return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
        { eps = self.eps })
    end
    local dims, n = { 1 }, shape[1]
    for i = 3, #shape do dims[#dims + 1], n = i, n * shape[i] end
    if n == 0 then
      core.raise("SGL_ESHAPE", ("nn.%s: no statistics of an empty batch %s"):format(wanted.class,
        api.describe(x)), "leave empty batches out, or use model:eval()")
    end
    -- Halves are normalised in f32 by statistics in f32, so that the ways of the gradient, which
    -- nearly cancel, meet before it is rounded.
    local v = widened(x)
    local mean = v:mean(dims)
    local d = v - v:mean(dims, { keepdim = true })
    local variance = (d * d):mean(dims)
    local m, dtype = self.momentum, self.running_mean.dtype
    local old_mean, old_variance = widened(self.running_mean), widened(self.running_var)
    self.running_mean:assign((old_mean * (1 - m) + mean * m):to(dtype))
    local unbiased = variance * (m * n / math.max(n - 1, 1))
    self.running_var:assign((old_variance * (1 - m) + unbiased):to(dtype))
    self.num_batches_tracked:assign(self.num_batches_tracked + 1)
    local half = core.half({ x, self.weight, self.bias }, 3)
    local y = F.batch_norm(v, mean, variance, self.weight, self.bias, { eps = self.eps })
    return half and y:to(half) or y
  end
end

for _, wanted in ipairs {
  { class = "BatchNorm1d", ranks = { [2] = true, [3] = true }, shape = "[n, c] or [n, c, l]" },
  { class = "BatchNorm2d", ranks = { [4] = true }, shape = "[n, c, h, w]" },
} do
  local Class = class(wanted.class, {
    doc = "Normalises each channel over the batch (Ioffe and Szegedy, 2015). Parameters: weight, "
      .. "bias f32[channels]; buffers: running_mean, running_var f32[channels], "
      .. "num_batches_tracked.",
    args = { { "channels", "integer", "dim 2 of x", within = SIZES } },
    opts = { { "eps", "number", 1e-5, "added to the variance", within = COUNTS },
             { "momentum", "number", 0.1, "share of the new batch in the running statistics",
               within = { 0, 1 } },
             AFFINE, BIAS, DTYPE },
    returns = "module: f32" .. wanted.shape .. " -> the same shape",
    errors = "another rank or number of channels",
  }, function(self, channels, o)
    self.channels, self.eps, self.momentum = channels, o.eps, o.momentum
    affine(self, { channels }, o)
    self.running_mean = empty(channels):to(o.dtype)
    self.running_var = create.ones(channels):to(o.dtype)
    self.num_batches_tracked = core.tensor(0, "i64")
  end)
  Class.forward = batch_norm_forward(wanted)
end

return { weight_and_bias = weight_and_bias, DTYPE = DTYPE, INIT = INIT }
