-- create.lua: new tensors: from values, constant, counted, random.
--
-- In:    shapes as arguments or one list, values, options { dtype }.
-- Out:   lazy tensors (sgl.tensor: a concrete one). The default dtype is f32; sgl.arange of
--        whole numbers is i32.
-- Holds: random tensors are functions of (seed, count of draws, element position) only.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"

local root = api.root
local apply = core.apply

local SIZE = { "size", "integer|table...", "sizes, as arguments or one list" }
local DTYPE = { "dtype", "string", "f32", "element type" }
local LIKE_DTYPE = { "dtype", "string", nil, "element type; default that of t" }
local UNIFORM_BITS = 2.0 ^ -24
local I32_MOST = 2 ^ 31 - 1

local function cast(t, dtype)
  return t.dtype == dtype and t or apply("cast", t, { dtype = dtype })
end

api.fn(root, "tensor", {
  doc = "A tensor from a number, a boolean, nested lists or another tensor. Without a dtype, "
    .. "whole numbers give i32, others f32, booleans bool.",
  args = { { "value", "tensor|number|boolean|table", "the values, row by row" },
           { "dtype", "string?", "element type" } },
  opts = { { "dtype", "string", nil, "element type" } },
  returns = "tensor",
  errors = "rows of different length; a whole number that does not fit i32",
}, function(value, dtype, o)
  dtype = dtype or o.dtype
  if core.is_tensor(value) then return cast(value, dtype or value.dtype) end
  return core.tensor(value, dtype)
end)

local function constant(name, doc, value)
  api.fn(root, name, { doc = doc, args = { SIZE }, opts = { DTYPE }, returns = "tensor" },
    function(size, o) return core.full(dims.sizes(name, size), value, o.dtype) end)
  api.tensor(name .. "_like", {
    doc = doc .. " With the shape of t.", args = { { "t", "tensor" } }, opts = { LIKE_DTYPE },
    returns = "tensor",
  }, function(t, o) return core.full(t.shape, value, o.dtype or t.dtype) end)
end

-- The least and the largest value of the dtypes that hold integers.
local RANGE = { bool = { 0, 1 }, u8 = { 0, 255 }, i32 = { -I32_MOST - 1, I32_MOST },
                i64 = { math.mininteger, math.maxinteger } }

-- Raises where the values from `least` to `most` are not all in the dtype: they would saturate.
local function need_fit(op, least, most, dtype)
  local range = RANGE[dtype]
  if not range or core.is_dim(least) or core.is_dim(most) then return end
  if least > most then least, most = most, least end
  if least >= range[1] and most <= range[2] and most < 2.0 ^ 63 then return end
  core.raise("SGL_EARG", ("%s: %s to %s does not fit into %s"):format(op, least, most, dtype),
    dtype == "i64" and "f64 holds such numbers"
    or "give a dtype that holds it: { dtype = \"i64\" } or \"f32\"")
end

constant("zeros", "Zeros.", 0)
constant("ones", "Ones.", 1)
-- Memory that nobody wrote would be another value in every run.
api.alias("zeros", "empty")
api.alias("zeros_like", "empty_like")

api.fn(root, "full", {
  doc = "One value everywhere.",
  args = { { "size", "integer|table", "a size or a list" },
           { "value", "number|boolean", "of each element", input = true } },
  opts = { { "dtype", "string", nil, "element type; default f32, bool for a boolean" } },
  returns = "tensor",
}, function(size, value, o)
  local dtype = o.dtype or (type(value) == "boolean" and "bool" or "f32")
  return core.full(dims.sizes("full", { size }), value, dtype)
end)

api.tensor("full_like", {
  doc = "One value everywhere, with the shape of t.",
  args = { { "t", "tensor" }, { "value", "number|boolean", "of each element", input = true } },
  opts = { LIKE_DTYPE },
  returns = "tensor",
}, function(t, value, o) return core.full(t.shape, value, o.dtype or t.dtype) end)

api.fn(root, "arange", {
  doc = "Numbers from start, below stop, by step. arange(n) counts from 0.",
  args = { { "start", "number", "the first; with nothing behind it, the stop" },
           { "stop", "number?", "not reached" }, { "step", "number?", "default 1" } },
  opts = { { "dtype", "string", nil, "default i32 for whole numbers, else f32" } },
  returns = "tensor [n]", errors = "a step of 0",
}, function(start, stop, step, o)
  if not stop then start, stop = 0, start end
  step = step or 1
  if step == 0 then core.raise("SGL_EARG", "arange: the step must not be 0") end
  local symbolic = core.is_dim(start) or core.is_dim(stop)
  local n = symbolic and (stop - start + step - 1) // step
    or math.tointeger(math.max(math.ceil((stop - start) / step), 0))
  if not n then
    core.raise("SGL_EARG", ("arange: from %s to %s by %s is no number of elements"):format(
      start, stop, step), "start, stop and step must be finite")
  end
  local whole = math.type(start) ~= "float" and math.type(step) == "integer"
  local dtype = o.dtype or (whole and math.type(stop) ~= "float" and "i32" or "f32")
  if not symbolic and n > 0 then need_fit("arange", start, start + (n - 1) * step, dtype) end
  local t = core.iota({ n }, 1, whole and (dtype == "i64" and "i64" or "i32") or dtype)
  if step ~= 1 then t = t * step end
  if start ~= 0 then t = t + start end
  return cast(t, dtype)
end)

-- In which numbers of a dtype that is no wide float are computed.
local EXACT = { bool = "f64", u8 = "f64", i32 = "f64", i64 = "f64", f16 = "f32", bf16 = "f32" }

api.fn(root, "linspace", {
  doc = "n numbers spread evenly from start to stop, both included.",
  args = { { "start", "number", "the first" }, { "stop", "number", "the last" },
           { "n", "integer", "how many" } },
  opts = { DTYPE }, returns = "tensor [n]", errors = "n below 0",
}, function(start, stop, n, o)
  if n < 0 then core.raise("SGL_EARG", ("linspace: n must be at least 0, got %s"):format(n)) end
  need_fit("linspace", start, n > 1 and stop or start, o.dtype)
  local step = n > 1 and (stop - start) / (n - 1) or 0.0
  local exact = EXACT[o.dtype] or o.dtype       -- integers are cut off at the end, as in PyTorch
  local at = core.iota({ n }, 1, exact)
  -- Each half counts from its own end, so that both ends are exact.
  local ahead, behind = at * step + start, (at - (n - 1)) * step + stop
  return cast(n == 1 and ahead or root.where(at:lt((n + 1) // 2), ahead, behind), o.dtype)
end)

api.fn(root, "logspace", {
  doc = "n numbers from base ^ start to base ^ stop, both included, each the same multiple of the "
    .. "one before.",
  args = { { "start", "number", "the first exponent" }, { "stop", "number", "the last" },
           { "n", "integer", "how many" } },
  opts = { { "base", "number", 10, "above 0", within = { 0, math.huge } }, DTYPE },
  returns = "tensor [n]", errors = "n below 0",
}, function(start, stop, n, o)
  if n < 0 then core.raise("SGL_EARG", ("logspace: n must be at least 0, got %s"):format(n)) end
  need_fit("logspace", o.base ^ start, o.base ^ (n > 1 and stop or start), o.dtype)
  local exact = EXACT[o.dtype] or o.dtype
  return cast(o.base ^ root.linspace(start, stop, n, { dtype = exact }), o.dtype)
end)

api.fn(root, "eye", {
  doc = "Ones on the main diagonal, zeros elsewhere.",
  args = { { "n", "integer", "rows" }, { "m", "integer?", "columns; default n" } },
  opts = { DTYPE }, returns = "tensor [n, m]",
}, function(n, m, o)
  local shape = dims.sizes("eye", { n, m or n })
  return cast(core.iota(shape, 1, "i32"):eq(core.iota(shape, 2, "i32")), o.dtype)
end)

api.tensor("one_hot", {
  doc = "A row of n values for each index: 1 at the index, 0 elsewhere.",
  args = { { "t", "tensor", "integers from 0" },
           { "n", "integer", "number of classes", within = { 0, math.huge } } },
  opts = { DTYPE }, returns = "tensor [..., n]",
  errors = "a tensor that is not of integers, an index outside [0, n) when it is computed",
}, function(t, n, o)
  if t.dtype:find "f" or t.dtype == "bool" then
    core.raise("SGL_EDTYPE", ("one_hot: the indices must be integers, got %s"):format(
      dims.text(t)), "t:int() converts them")
  end
  local shape = t.shape
  shape[#shape + 1] = n
  -- Looked up in the list of all, so that a class outside it is an error when it is computed.
  local class = apply("gather", { core.iota({ n }, 1, t.dtype), t }, { dim = 1 })
  return cast(class:unsqueeze(-1):eq(core.iota(shape, #shape, t.dtype)), o.dtype)
end)

-- Uniform f64 in [0, 1) of 48 random bits: enough that a range of 2^31 is even.
local RANDOM_RANGE = 1 << 48
local function uniform48(shape)
  local high, low = core.rand(shape, 2)
  return cast(high, "f64") + cast(low, "f64") * UNIFORM_BITS
end

-- Box-Muller. 1 - u is in (0, 1], so the logarithm is finite.
local function normal(shape)
  local u, v = core.rand(shape, 2)
  return (-2 * (1 - u):log()):sqrt() * (v * (2 * math.pi)):cos()
end

local function random(name, doc, draw)
  local function drawn(shape, dtype)
    if RANGE[dtype] then
      core.raise("SGL_EDTYPE", ("%s: draws are floats, got the dtype %s"):format(name, dtype),
        "sgl.randint draws integers")
    end
    return cast(draw(shape, dtype), dtype)
  end
  api.fn(root, name, {
    doc = doc, args = { SIZE }, opts = { DTYPE }, returns = "tensor", errors = "no float dtype",
  }, function(size, o) return drawn(dims.sizes(name, size), o.dtype) end)
  api.tensor(name .. "_like", {
    doc = doc .. " With the shape of t.", args = { { "t", "tensor" } }, opts = { LIKE_DTYPE },
    returns = "tensor", errors = "no float dtype",
  }, function(t, o) return drawn(t.shape, o.dtype or t.dtype) end)
end

-- Bits below 1 that a half has: rounded to it, numbers near 1 would be 1.
local HALF_BITS = { f16 = 2.0 ^ 11, bf16 = 2.0 ^ 8 }

random("rand", "Uniform random numbers in [0, 1).", function(shape, dtype)
  local u = core.rand(shape, 1)
  local bits = HALF_BITS[dtype]
  return bits and (u * bits):floor() / bits or u
end)
random("randn", "Normal random numbers, mean 0, variance 1.", normal)

api.fn(root, "randint", {
  doc = "Random integers in [low, high). randint(high, size) counts from 0.",
  args = { { "low", "integer", "the least; with nothing behind it, the bound, from 0" },
           { "high", "integer|table", "exclusive" },
           { "size", "integer|table?", "a size or a list" } },
  opts = { { "dtype", "string", "i32", "element type" } },
  returns = "tensor", errors = "high not above low",
}, function(low, high, size, o)
  if size == nil then low, high, size = 0, low, high end
  if type(high) == "table" or high <= low then
    core.raise("SGL_EARG", ("randint: high must be above low, got low %s and high %s"):format(
      api.describe(low), api.describe(high)))
  end
  need_fit("randint", low, high - 1, o.dtype)
  local range = high - low
  if range < 0 or range > RANDOM_RANGE then          -- below 0: the difference wrapped around
    core.raise("SGL_EARG", ("randint: %d to %d is too wide a range"):format(low, high),
      "it holds at most 2^48 numbers")
  end
  local t = (uniform48(dims.sizes("randint", { size })) * range):floor()
  return cast(t:minimum(range - 1) + low, o.dtype)
end)

api.fn(root, "randperm", {
  doc = "The numbers 0 to n - 1 in random order.",
  args = { { "n", "integer", "how many" } },
  opts = { { "dtype", "string", "i32", "element type" } },
  returns = "tensor [n]",
}, function(n, o)
  need_fit("randperm", 0, core.is_dim(n) and n or math.max(n - 1, 0), o.dtype)
  local keys = uniform48(dims.sizes("randperm", { n }))
  return cast(apply("argsort", keys, { dim = 1, descending = false }), o.dtype)
end)

api.tensor("bernoulli", {
  doc = "1 with the probability that t gives for each element, else 0.",
  args = { { "t", "tensor|number", "probabilities" },
           { "size", "integer|table?", "shape, when t is a number" } },
  opts = { { "dtype", "string", nil, "default that of t, f32 for a number" } },
  returns = "tensor",
}, function(t, size, o)
  local text = "bernoulli: argument 't' must be a probability in [0, 1], got {}"
  if core.weak(t) then
    core.number_within(t, 0, 1 + 0x1p-52, text)
  elseif type(t) == "number" and not (t >= 0 and t <= 1) then
    core.raise("SGL_EARG", (text:gsub("{}", tostring(t))))
  end
  local shape = core.is_tensor(t) and t.shape or dims.sizes("bernoulli", { size or {} })
  local drawn = (core.rand(shape, 1)):lt(t)
  return cast(drawn, o.dtype or (core.is_tensor(t) and t.dtype or "f32"))
end)

api.tensor("to", {
  doc = "The values in another element type: f32, f64, f16, bf16, i32, i64, u8 or bool. To "
    .. "integers truncates and saturates.",
  args = { { "t", "tensor" }, { "dtype", "string", "bool, u8, i32, i64, f16, bf16, f32 or f64" } },
  returns = "tensor",
  errors = "an unknown dtype",
}, cast)

for _, row in ipairs {
  { "float", "f32" }, { "double", "f64" }, { "half", "f16" }, { "bfloat16", "bf16" },
  { "int", "i32" }, { "long", "i64" }, { "byte", "u8" }, { "bool", "bool" },
} do
  local name, dtype = row[1], row[2]
  api.tensor(name, {
    doc = ("Short for t:to(%q)."):format(dtype), args = { { "t", "tensor" } }, returns = "tensor",
  }, function(t) return cast(t, dtype) end)
end

api.tensor("type_as", {
  doc = "The values in the element type of another tensor.",
  args = { { "t", "tensor" }, { "other", "tensor", "the dtype to take" } }, returns = "tensor",
}, function(t, other) return cast(t, other.dtype) end)

-- The other makers of tensors (cat, stack, …) are in the same table.
return root
