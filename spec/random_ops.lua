-- random_ops.lua: the steps of random graphs: what each does to shapes, intervals and errors.
--
-- In:    the builder of random_graph.lua.
-- Out:   steps: a list of { weight, run }; run(builder) adds nodes, or returns nil when what it
--        picked does not fit.
-- Holds: bounds are those of the exact functions on the operands' intervals, and errors grow by
--        the largest slope there. A rounded result adds its roundoff in Builder:emit.

local engine = require "spec.engine"

local M = { steps = {} }

local shape_text = engine.shape_text

local function mag(n)
  return math.max(math.abs(n.lo), math.abs(n.hi))
end

-- The facts of a node whose elements are those of n.
function M.copy(n)
  return { lo = n.lo, hi = n.hi, err = n.err, whole = n.whole, special = n.special }
end
local copy = M.copy

local function is_number(n) return n.dtype ~= "bool" end
local function is_float(n) return engine.is_float(n.dtype) end
local function is_exact(n) return n.err == 0 end

local function step(weight, run)
  M.steps[#M.steps + 1] = { weight = weight, run = run }
end

local function list_attr(list)
  return "[" .. table.concat(list, ", ") .. "]"
end

local function copy_list(list)
  return table.move(list, 1, #list, 1, {})
end

-- ---- elementwise, one operand

local TRANSCENDENTAL = 5   -- roundoffs: 2 ulp, and the rounding to 16 bits

-- A function that rises (or falls) over [lo, hi], which must lie in [from, to]; slope(n) is the
-- largest there.
local function smooth(name, f, from, to, slope)
  return { name = name, run = function(n)
    if n.lo < from or n.hi > to then return nil end
    local a, b = f(n.lo), f(n.hi)
    return { lo = math.min(a, b), hi = math.max(a, b), err = n.err * slope(n) }, TRANSCENDENTAL
  end }
end

local function bounded(name, lo, hi, slope, most)
  return { name = name, run = function(n)
    if mag(n) > (most or 1e4) then return nil end
    return { lo = lo, hi = hi, err = n.err * slope }, TRANSCENDENTAL
  end }
end

local exp, log = math.exp, math.log
local function sinh(x) return (exp(x) - exp(-x)) / 2 end
local function cosh(x) return (exp(x) + exp(-x)) / 2 end
local function at_high(f) return function(n) return f(n.hi) end end
local function at_low(f) return function(n) return f(n.lo) end end
local function constant(c) return function() return c end end

local SMOOTH = {
  smooth("exp", exp, -20, 4, at_high(exp)),
  smooth("exp2", function(x) return 2.0 ^ x end, -20, 5, at_high(function(x) return 2.0 ^ x end)),
  smooth("expm1", function(x) return exp(x) - 1 end, -20, 4, at_high(exp)),
  smooth("log", log, 0.05, 1e4, at_low(function(x) return 1 / x end)),
  smooth("log2", function(x) return log(x, 2) end, 0.05, 1e4,
    at_low(function(x) return 1.5 / x end)),
  smooth("log1p", function(x) return log(1 + x) end, -0.9, 1e4,
    at_low(function(x) return 1 / (1 + x) end)),
  smooth("sqrt", math.sqrt, 0.01, 1e4, at_low(function(x) return 0.5 / math.sqrt(x) end)),
  smooth("rsqrt", function(x) return 1 / math.sqrt(x) end, 0.05, 1e4,
    at_low(function(x) return 0.5 * x ^ -1.5 end)),
  smooth("tan", math.tan, -1, 1, constant(3.5)),
  smooth("asin", math.asin, -0.9, 0.9, constant(2.3)),
  smooth("acos", math.acos, -0.9, 0.9, constant(2.3)),
  smooth("sinh", sinh, -4, 4, function(n) return cosh(mag(n)) end),
  { name = "cosh", run = function(n)
    if mag(n) > 4 then return nil end
    return { lo = 1, hi = cosh(mag(n)), err = n.err * sinh(mag(n)) }, TRANSCENDENTAL
  end },
  bounded("sin", -1, 1, 1, 100), bounded("cos", -1, 1, 1, 100),
  bounded("atan", -1.5708, 1.5708, 1), bounded("tanh", -1, 1, 1), bounded("erf", -1, 1, 1.13),
  bounded("sigmoid", 0, 1, 0.25),
}

step(8, function(b)
  local row = b.random:pick(SMOOTH)
  local n = b:pick(function(m) return is_float(m) and row.run(m) end)
  if not n then return nil end
  local facts, roundoffs = row.run(n)
  return b:emit(row.name, { n }, nil, n.dtype, n.dims, facts, roundoffs)
end)

local EXACT = {
  { "neg", is_number, function(n)
    return { lo = -n.hi, hi = -n.lo, err = n.err, whole = n.whole }
  end },
  { "abs", is_number, function(n)
    return { lo = 0, hi = mag(n), err = n.err, whole = n.whole }
  end },
  { "detach", nil, copy },
  { "sign", function(n) return is_number(n) and is_exact(n) end,
    function() return { lo = -1, hi = 1, err = 0, whole = true } end },
}
for _, name in ipairs { "floor", "ceil", "round" } do
  EXACT[#EXACT + 1] = { name, function(n) return is_float(n) and is_exact(n) end, function(n)
    return { lo = math.floor(n.lo), hi = math.ceil(n.hi), err = 0, whole = true }
  end }
end

step(4, function(b)
  local row = b.random:pick(EXACT)
  local n = b:pick(row[2])
  return n and b:emit(row[1], { n }, nil, n.dtype, n.dims, row[3](n))
end)

step(1, function(b)
  local n = b:pick(is_float)
  return n and b:emit(b.random:pick { "isnan", "isinf", "isfinite" }, { n }, nil, "bool", n.dims,
    { lo = 0, hi = 1, err = 0, whole = true })
end)

-- ---- elementwise, two operands and three

local function hull(list)
  local lo, hi = math.huge, -math.huge
  for _, v in ipairs(list) do lo, hi = math.min(lo, v), math.max(hi, v) end
  return lo, hi
end

-- One of the two: beside an infinite element the other may be any of its values.
local function either(x, y)
  return { lo = math.min(x.lo, y.lo), hi = math.max(x.hi, y.hi), err = math.max(x.err, y.err),
           whole = x.whole and y.whole, special = x.special or y.special }
end

local BINARY = {
  add = function(x, y)
    return { lo = x.lo + y.lo, hi = x.hi + y.hi, err = x.err + y.err, whole = x.whole and y.whole }
  end,
  sub = function(x, y)
    return { lo = x.lo - y.hi, hi = x.hi - y.lo, err = x.err + y.err, whole = x.whole and y.whole }
  end,
  mul = function(x, y)
    local lo, hi = hull { x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi }
    if x == y then lo = math.max(lo, 0) end
    return { lo = lo, hi = hi, err = mag(x) * y.err + mag(y) * x.err + x.err * y.err,
             whole = x.whole and y.whole }
  end,
  min = function(x, y)
    local f = either(x, y)
    if not f.special then f.hi = math.min(x.hi, y.hi) end
    return f
  end,
  max = function(x, y)
    local f = either(x, y)
    if not f.special then f.lo = math.max(x.lo, y.lo) end
    return f
  end,
}

local FLOAT_BINARY = {
  div = function(x, y)
    if y.lo < 0.2 and y.hi > -0.2 then return nil end
    local least = math.min(math.abs(y.lo), math.abs(y.hi))
    local lo, hi = hull { x.lo / y.lo, x.lo / y.hi, x.hi / y.lo, x.hi / y.hi }
    return { lo = lo, hi = hi, err = x.err / least + y.err * mag(x) / least ^ 2 }
  end,
  pow = function(x, y)
    if x.lo < 0.2 or x.hi > 4 or mag(y) > 3 then return nil end
    local lo, hi = hull { x.lo ^ y.lo, x.lo ^ y.hi, x.hi ^ y.lo, x.hi ^ y.hi }
    local by_x, by_y = mag(y) * hi / x.lo, hi * math.max(math.abs(log(x.lo)), math.abs(log(x.hi)))
    return { lo = lo, hi = hi, err = x.err * by_x + y.err * by_y }, TRANSCENDENTAL
  end,
  atan2 = function(x, y)
    if x.lo < 0.2 and y.lo < 0.2 then return nil end
    return { lo = -3.1416, hi = 3.1416, err = (x.err + y.err) / 0.2 }, TRANSCENDENTAL
  end,
}

-- Steps over random rows of a table of functions from operands to facts.
local function binary_step(weight, rows, fits)
  local names = {}
  for name in pairs(rows) do names[#names + 1] = name end
  table.sort(names)
  step(weight, function(b)
    local x = b:pick(fits)
    local y = x and (b.random:chance(0.15) and x or b:match(x.dtype, x.dims))
    if not y then return nil end
    if b.random:chance(0.5) then x, y = y, x end
    local name = b.random:pick(names)
    local facts, roundoffs = rows[name](x, y)
    return facts and b:emit(name, { x, y }, nil, x.dtype, x.dims, facts, roundoffs)
  end)
end
binary_step(14, BINARY, is_number)
binary_step(4, FLOAT_BINARY, is_float)

-- The quotient of whole numbers is further from an integer than its rounding, below 2^20.
step(2, function(b)
  local x = b:pick(function(n)
    return is_number(n) and n.whole and mag(n) < 2 ^ 20 and n.dtype ~= "f16" and n.dtype ~= "bf16"
  end)
  local by = b.random:int(2, 9)
  local y = x and b:const(x.dtype, x.dims, by)
  if not y then return nil end
  local facts = { lo = 0, hi = by - 1, err = 0, whole = true }
  local name = b.random:pick { "mod", "floordiv" }
  if name == "floordiv" then facts.lo, facts.hi = x.lo // by, x.hi // by end
  return b:emit(name, { x, y }, nil, x.dtype, x.dims, facts)
end)

local TRUTH = { lo = 0, hi = 1, err = 0, whole = true }

step(4, function(b)
  local x = b:pick(is_exact)
  local y = x and b:match(x.dtype, x.dims)
  if not y or not is_exact(y) then return nil end
  return b:emit(b.random:pick { "eq", "ne", "lt", "le", "gt", "ge" }, { x, y }, nil, "bool", x.dims,
    copy(TRUTH))
end)

step(2, function(b)
  local x = b:pick(function(n) return n.dtype == "bool" end)
  local y = x and b:match("bool", x.dims)
  if not y then return nil end
  if b.random:chance(0.25) then
    return b:emit("logical_not", { x }, nil, "bool", x.dims, copy(TRUTH))
  end
  return b:emit(b.random:pick { "logical_and", "logical_or", "logical_xor" }, { x, y }, nil, "bool",
    x.dims, copy(TRUTH))
end)

step(4, function(b)
  local x = b:pick()
  local y = x and b:match(x.dtype, x.dims)
  local c = y and b:match("bool", x.dims)
  if not c then return nil end
  return b:emit("where", { c, x, y }, nil, x.dtype, x.dims, either(x, y))
end)

-- To integers only exact values: what is between two would be cut either way.
step(4, function(b)
  local n = b:pick()
  if not n then return nil end
  local dtype = b.random:pick { "f32", "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "bool" }
  local facts = copy(n)
  if not engine.is_float(dtype) and (not n.whole or n.special) then return nil end
  if dtype == "bool" then facts.lo, facts.hi = 0, 1 end
  return dtype ~= n.dtype
    and b:emit("cast", { n }, "dtype=" .. dtype, dtype, n.dims, facts)
end)

-- ---- movement

local function reshaped(r, dims)
  local out = copy_list(dims)
  local i = #out > 0 and r:int(1, #out) or 0
  local how = r:int(1, 4)
  if how == 1 and #out >= 2 then                       -- merge two neighbours
    i = math.min(i, #out - 1)
    out[i] = out[i] * table.remove(out, i + 1)
  elseif how == 2 and i > 0 then                       -- split one
    local divisors = {}
    for d = 1, out[i] do if out[i] % d == 0 then divisors[#divisors + 1] = d end end
    if #divisors == 0 then return nil end
    local d = r:pick(divisors)
    out[i] = out[i] // d
    table.insert(out, i + 1, d)
  elseif how == 3 then                                 -- add a dim of 1
    table.insert(out, r:int(1, #out + 1), 1)
  else                                                 -- one dim of all
    out = { engine.count(dims) }
  end
  return out
end

step(6, function(b)
  local n = b:pick()
  local dims = n and reshaped(b.random, n.dims)
  return dims and b:emit("reshape", { n }, "dims=" .. shape_text(dims), n.dtype, dims, copy(n))
end)

local function permute(b, n, order)
  local dims = {}
  for i, d in ipairs(order) do dims[i] = n.dims[d] end
  return b:emit("permute", { n }, "dims=" .. list_attr(order), n.dtype, dims, copy(n))
end

local function identity(rank)
  local order = {}
  for i = 1, rank do order[i] = i end
  return order
end

step(6, function(b)
  local n = b:pick(function(m) return #m.dims >= 2 end)
  return n and permute(b, n, b.random:shuffle(identity(#n.dims)))
end)

step(3, function(b)
  local n = b:pick()
  if not n then return nil end
  local dims, changed = copy_list(n.dims), false
  for i, d in ipairs(dims) do
    if d == 1 then dims[i], changed = b.random:int(1, 5), true end
  end
  return changed
    and b:emit("broadcast", { n }, "dims=" .. shape_text(dims), n.dtype, dims, copy(n))
end)

step(5, function(b)
  local n = b:pick(function(m) return #m.dims >= 1 end)
  if not n then return nil end
  local r, start, stop, by, dims = b.random, {}, {}, {}, {}
  for i, d in ipairs(n.dims) do
    start[i] = r:chance(0.5) and 0 or r:int(0, d)
    stop[i] = r:chance(0.5) and d or r:int(start[i], d)
    by[i] = r:pick { 1, 1, 1, 2, 3 }
    dims[i] = (stop[i] - start[i] + by[i] - 1) // by[i]
  end
  return b:emit("slice", { n }, ("start=%s, stop=%s, step=%s"):format(list_attr(start),
    list_attr(stop), list_attr(by)), n.dtype, dims, copy(n))
end)

step(4, function(b)
  local n = b:pick(function(m) return #m.dims >= 1 end)
  if not n then return nil end
  local r, lo, hi, dims = b.random, {}, {}, {}
  for i, d in ipairs(n.dims) do
    lo[i], hi[i] = r:pick { 0, 0, 1, 2 }, r:pick { 0, 0, 1, 3 }
    dims[i] = lo[i] + d + hi[i]
  end
  local value = n.dtype == "bool" and r:int(0, 1) or r:int(0, 2)
  local attrs = ("lo=%s, hi=%s, value=%d"):format(list_attr(lo), list_attr(hi), value)
  return b:emit("pad", { n }, attrs, n.dtype, dims, { lo = math.min(n.lo, value),
    hi = math.max(n.hi, value), err = n.err, whole = n.whole })
end)

step(3, function(b)
  local n = b:pick(function(m) return #m.dims >= 1 end)
  return n and b:emit("flip", { n }, "dims=" .. list_attr { b.random:int(1, #n.dims) }, n.dtype,
    n.dims, copy(n))
end)

step(2, function(b)
  local n = b:pick()
  return n and b:emit("barrier", { n }, "number=" .. b.random:int(0, 2), n.dtype, n.dims, copy(n))
end)

step(4, function(b)
  local n = b:pick(function(m) return #m.dims >= 1 end)
  if not n then return nil end
  local axis = b.random:int(1, #n.dims)
  local other = copy_list(n.dims)
  if b.random:chance(0.5) then other[axis] = b.random:int(1, 4) end
  local m = b:match(n.dtype, other)
  if not m then return nil end
  local dims = copy_list(n.dims)
  dims[axis] = dims[axis] + other[axis]
  return b:emit("concat", { n, m }, "dim=" .. axis, n.dtype, dims, either(n, m))
end)

step(3, function(b)
  local n = b:pick(function(m) return #m.dims >= 1 and #m.dims <= 4 end)
  if not n then return nil end
  local r = b.random
  local axis, size, stride, dilation = r:int(1, #n.dims), r:int(1, 4), r:int(1, 3), r:int(1, 3)
  local room = n.dims[axis] - dilation * (size - 1) - 1
  if room < 0 then return nil end
  local dims = copy_list(n.dims)
  dims[axis], dims[#dims + 1] = room // stride + 1, size
  return b:emit("window", { n }, ("dims=[%d], size=[%d], stride=[%d], dilation=[%d]"):format(axis,
    size, stride, dilation), n.dtype, dims, copy(n))
end)

-- The facts of sums of up to n elements of x; depth: additions that one element goes through.
local function summed(x, n, depth)
  local lo, hi = math.min(0, n * x.lo), math.max(0, n * x.hi)
  local u = engine.roundoff[x.dtype] or 0
  if u > engine.roundoff.f32 and depth > 0 then u = engine.roundoff.f32 end
  return { lo = lo, hi = hi, err = n * x.err + math.abs(depth) * u * n * mag(x), whole = x.whole }
end

step(2, function(b)
  local n = b:pick(function(m)
    return is_number(m) and #m.dims >= 2 and engine.count(m.dims) > 0 and m.dims[#m.dims] <= 8
  end)
  if not n then return nil end
  local r = b.random
  local axis, size = r:int(1, #n.dims - 1), n.dims[#n.dims]
  local stride, dilation = r:int(1, 3), r:int(1, 3)
  local into = (n.dims[axis] - 1) * stride + dilation * (size - 1) + 1
  if into > 4 * n.dims[axis] + 20 then return nil end
  into = into + r:int(0, stride - 1)
  local dims = copy_list(n.dims)
  dims[axis], dims[#dims] = into, nil
  return b:emit("fold", { n }, ("dims=[%d], into=[%d], stride=[%d], dilation=[%d]"):format(axis,
    into, stride, dilation), n.dtype, dims, summed(n, size, -size))
end)

-- ---- reductions

-- Some of the dims, and the dims that stay.
local function some_dims(r, dims)
  local gone, rest, n = {}, {}, 1
  for i, d in ipairs(dims) do
    if r:chance(0.5) then gone[#gone + 1], n = i, n * d else rest[#rest + 1] = d end
  end
  if #gone == 0 and #dims > 0 then
    gone, n = { #dims }, dims[#dims]
    rest = { table.unpack(dims, 1, #dims - 1) }
  end
  return gone, rest, n
end

local function wide(dtype)
  return (dtype == "u8" or dtype == "bool") and "i32" or dtype
end

local DEPTH = 160   -- no element of these sizes goes through more additions (kernel.h, N2 and N3)

local function reduce(b, op, n, gone, rest, facts)
  return b:emit(op, { n }, "dims=" .. list_attr(gone), facts.dtype or n.dtype, rest, facts)
end

step(7, function(b)
  local n = b:pick(function(m) return #m.dims >= 1 end)
  if not n then return nil end
  local gone, rest, count = some_dims(b.random, n.dims)
  local facts = summed(n, count, math.min(count, DEPTH))
  return b:emit("sum", { n }, "dims=" .. list_attr(gone), wide(n.dtype), rest, facts)
end)

step(1, function(b)
  local n = b:pick(function(m) return #m.dims >= 1 and mag(m) <= 4 end)
  if not n then return nil end
  local gone, rest, count = some_dims(b.random, n.dims)
  if count > 6 then return nil end
  local most = math.max(1, mag(n)) ^ count
  return b:emit("prod", { n }, "dims=" .. list_attr(gone), wide(n.dtype), rest,
    { lo = -most, hi = most, err = count * n.err * most, whole = n.whole }, count + 1)
end)

step(5, function(b)
  local n = b:pick(function(m) return #m.dims >= 1 and engine.count(m.dims) > 0 end)
  if not n then return nil end
  local gone, rest = some_dims(b.random, n.dims)
  return reduce(b, b.random:pick { "reduce_max", "reduce_min" }, n, gone, rest, copy(n))
end)

step(3, function(b)
  local n = b:pick(function(m) return is_exact(m) and #m.dims >= 1 and engine.count(m.dims) > 0 end)
  if not n then return nil end
  local axis = b.random:int(1, #n.dims)
  local rest, size = copy_list(n.dims), n.dims[axis]
  table.remove(rest, axis)
  local made = b:emit(b.random:pick { "argmax", "argmin" }, { n }, ("dims=[%d]"):format(axis),
    "i32", rest, { lo = 0, hi = size - 1, err = 0, whole = true })
  if made then made.special = false end
  return made
end)

step(2, function(b)
  local n = b:pick(function(m) return is_exact(m) and #m.dims >= 1 end)
  if not n then return nil end
  local axis = b.random:int(1, #n.dims)
  local made = b:emit("argsort", { n }, ("dim=%d, descending=%d"):format(axis, b.random:int(0, 1)),
    "i32", n.dims, { lo = 0, hi = math.max(n.dims[axis] - 1, 0), err = 0, whole = true })
  if made then made.special = false end
  return made
end)

step(2, function(b)
  local n = b:pick(function(m) return is_number(m) and #m.dims >= 1 end)
  if not n then return nil end
  local axis = b.random:int(1, #n.dims)
  local size = n.dims[axis]
  return b:emit("cumsum", { n }, ("dim=%d, reverse=%d"):format(axis, b.random:int(0, 1)), n.dtype,
    n.dims, summed(n, size, -size))
end)

-- ---- products, indexing, random numbers

local function transposed(b, n)
  local order = identity(#n.dims)
  order[#order], order[#order - 1] = order[#order - 1], order[#order]
  return permute(b, n, order)
end

step(6, function(b)
  local x = b:pick(function(n)
    return #n.dims >= 2 and #n.dims <= 4 and n.dtype ~= "bool" and n.dtype ~= "u8"
  end)
  if not x then return nil end
  if b.random:chance(0.3) then x = transposed(b, x) end
  local other = x and copy_list(x.dims)
  if not other then return nil end
  other[#other - 1], other[#other] = x.dims[#other], b.random:pick { 1, 2, 3, 5, 8, 17 }
  if b.random:chance(0.3) then
    other[#other], other[#other - 1] = other[#other - 1], other[#other]
  end
  local y = b:match(x.dtype, other)
  if y and y.dims[#other - 1] ~= x.dims[#other] then y = transposed(b, y) end
  if not y or y.dims[#other - 1] ~= x.dims[#other] then return nil end
  local dims, k = copy_list(x.dims), x.dims[#x.dims]
  dims[#dims] = y.dims[#dims]
  local product = BINARY.mul({ lo = x.lo, hi = x.hi, err = x.err, whole = x.whole }, y)
  product.dtype = x.dtype
  return b:emit("dot", { x, y }, nil, x.dtype, dims, summed(product, k, math.min(k, 800) + 1))
end)

-- An index into a dim of this size: an earlier node in range, or a new input.
local function index_for(b, size)
  if size < 1 then return nil end
  return b.random:chance(0.4) and b:pick(function(n)
    return (n.dtype == "i32" or n.dtype == "i64") and n.lo >= 0 and n.hi < size
  end) or b:input(b.random:pick { "i32", "i64" }, b.random:pick { {}, { 3 }, { 2, 4 }, { 9 } },
    { 0, size - 1 })
end

local function gathered_dims(dims, axis, index)
  local out = { table.unpack(dims, 1, axis - 1) }
  table.move(index, 1, #index, #out + 1, out)
  return table.move(dims, axis + 1, #dims, #out + 1, out)
end

step(4, function(b)
  local n = b:pick(function(m) return #m.dims >= 1 end)
  if not n then return nil end
  local axis = b.random:int(1, #n.dims)
  local index = index_for(b, n.dims[axis])
  return index and b:emit("gather", { n, index }, "dim=" .. axis, n.dtype,
    gathered_dims(n.dims, axis, index.dims), copy(n))
end)

step(3, function(b)
  local n = b:pick(function(m) return is_number(m) and #m.dims >= 1 end)
  if not n then return nil end
  local axis = b.random:int(1, #n.dims)
  local index = index_for(b, n.dims[axis])
  local updates = index and b:match(n.dtype, gathered_dims(n.dims, axis, index.dims))
  if not updates then return nil end
  local most = engine.count(index.dims)
  local sums = summed(updates, most, -most - 1)
  local facts = BINARY.add(n, sums)
  facts.err = facts.err + (engine.roundoff[n.dtype] or 0) * most * mag(n)
  return b:emit("scatter_add", { n, index, updates }, "dim=" .. axis, n.dtype, n.dims, facts)
end)

step(1, function(b)
  local state = b:input("i64", { 2 }, { 0, 1000 })
  local dims = b.random:pick { { 5 }, { 3, 4 }, { 33 } }
  return state and b:emit("rand", { state }, ("draw=%d, word=%d, dims=%s"):format(
    b.random:int(0, 5), b.random:int(0, 3), shape_text(dims)), "f32", dims,
    { lo = 0, hi = 1, err = 0 })
end)

-- ---- rows, as composites

-- Runs fn inside a new composite on x. What fn makes before it gives up stays, unused.
local function composite(b, name, x, fn)
  local outer = b.composite
  b.composite = #b.composites + 1
  b.composites[b.composite] = ('composite @%d "%s" in @%d'):format(b.composite, name, outer or 0)
  local at = #b.nodes
  local out = fn()
  -- Facts inside hold only for the whole composite, so nothing else may build on them.
  for i = at + 1, #b.nodes do b.nodes[i].hidden = b.nodes[i] ~= out end
  b.calls[#b.calls + 1] = ("call @%d(%%%d)%s"):format(b.composite, x.id,
    out and (" = %%%d"):format(out.id) or "")
  b.composite = outer
  return out
end

-- A reduction of the last dim, repeated back to x's dims.
local function spread(b, op, x, facts)
  local rank = #x.dims
  local kept = { table.unpack(x.dims, 1, rank - 1) }
  local n = reduce(b, op, x, { rank }, kept, facts)
  kept[rank] = 1
  n = n and b:emit("reshape", { n }, "dims=" .. shape_text(kept), x.dtype, kept, copy(n))
  return n and b:emit("broadcast", { n }, "dims=" .. shape_text(x.dims), x.dtype, x.dims, copy(n))
end

local function is_row(n)
  return is_float(n) and #n.dims >= 1 and engine.count(n.dims) > 0 and not n.special
    and n.hi - n.lo < 30
end

-- exp(x - max) / sum: its own bounds, since intervals do not see that the sum is at least 1.
step(4, function(b)
  local x = b:pick(is_row)
  return x and composite(b, "softmax", x, function()
    local n, u = x.dims[#x.dims], engine.roundoff[x.dtype]
    local top = spread(b, "reduce_max", x, copy(x))
    local low = top and b:emit("sub", { x, top }, nil, x.dtype, x.dims,
      { lo = x.lo - x.hi, hi = 0, err = 2 * x.err })
    local part = low and low.err + TRANSCENDENTAL * u
    local e = low and b:emit("exp", { low }, nil, x.dtype, x.dims,
      { lo = 0, hi = 1, err = low.err }, TRANSCENDENTAL)
    local all = e and spread(b, "sum", e, summed(e, n, math.min(n, DEPTH)))
    return all and b:emit("div", { e, all }, nil, x.dtype, x.dims,
      { lo = 0, hi = 1, err = 2 * part + (DEPTH + 2) * u })
  end)
end)

-- About 1 / n, with the eight digits that every float has.
local function reciprocal(n)
  local unit = 2.0 ^ (7 - math.floor(log(1 / n, 2)))
  return math.floor(unit / n) / unit
end

step(3, function(b)
  local x = b:pick(is_row)
  return x and composite(b, "layer_norm", x, function()
    local n = x.dims[#x.dims]
    local share = b:const(x.dtype, x.dims, reciprocal(n))
    local part = n * reciprocal(n)
    local function mean(v)
      local s = spread(b, "sum", v, summed(v, n, math.min(n, DEPTH)))
      return s and share and b:emit("mul", { s, share }, nil, x.dtype, x.dims,
        { lo = v.lo * part, hi = v.hi * part,
          err = s.err / n + engine.roundoff[x.dtype] * mag(v) })
    end
    local m = mean(x)
    local d = m and b:emit("sub", { x, m }, nil, x.dtype, x.dims, BINARY.sub(x, m))
    local square = d and b:emit("mul", { d, d }, nil, x.dtype, x.dims, BINARY.mul(d, d))
    local variance = square and mean(square)
    local eps = variance and b:const(x.dtype, x.dims, 0.125)
    local sum = eps and b:emit("add", { variance, eps }, nil, x.dtype, x.dims,
      { lo = 0.125, hi = variance.hi + 0.125, err = variance.err })
    local scale = sum and b:emit("rsqrt", { sum }, nil, x.dtype, x.dims,
      { lo = 0, hi = 0.125 ^ -0.5, err = sum.err * 0.5 * 0.125 ^ -1.5 }, 3)
    return scale and b:emit("mul", { d, scale }, nil, x.dtype, x.dims, BINARY.mul(d, scale))
  end)
end)

return M
