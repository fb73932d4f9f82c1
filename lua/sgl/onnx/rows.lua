-- onnx/rows.lua: what each op is in ONNX: one row per op.
--
-- An elementwise op whose row in src/ir/op.def names an ONNX op needs none here: that op is
-- written, with its inputs broadcast by ONNX itself. A row here is a function (s, n, x, y, z) of
-- the scope, the node and the names of its inputs that returns the name of its value. What has no
-- row is refused, with `BLOCKED`'s reason if it has one.
-- Holds: the values are those of op.def; where an op of ONNX's differs in a corner (NaN, division
--        of integers), the row says it in others.
local core = require "sgl.core"
local values = require "sgl.onnx.values"

local rows = {}

local HIGHEST = math.maxinteger

local function is_float(n) return n.dtype:find "f" ~= nil end

local function scalar(s, n, v) return s:scalar(v, n.dtype) end

-- ---- element by element

function rows.detach(_, _, x) return x end
function rows.barrier(_, _, x) return x end

function rows.exp2(s, n, x) return s:op("Pow", { scalar(s, n, 2), x }) end
function rows.expm1(s, n, x) return s:op("Sub", { s:op("Exp", { x }), scalar(s, n, 1) }) end
function rows.log1p(s, n, x) return s:op("Log", { s:op("Add", { x, scalar(s, n, 1) }) }) end
function rows.rsqrt(s, _, x) return s:op("Reciprocal", { s:op("Sqrt", { x }) }) end
function rows.ne(s, _, x, y) return s:op("Not", { s:op("Equal", { x, y }) }) end

function rows.log2(s, n, x)
  return s:op("Div", { s:op("Log", { x }), scalar(s, n, math.log(2)) })
end

function rows.relu(s, n, x)
  if is_float(n) then return s:op("Relu", { x }) end
  return s:op("Max", { x, scalar(s, n, 0) })
end

function rows.isfinite(s, _, x)
  return s:op("Not", { s:op("Or", { s:op("IsNaN", { x }), s:op("IsInf", { x }) }) })
end

-- x - y * floor(x / y) would lose digits: fmod, moved to the sign of y.
function rows.mod(s, n, x, y)
  if not is_float(n) then return s:op("Mod", { x, y }) end
  local rest, zero = s:op("Mod", { x, y }, { fmod = 1 }), scalar(s, n, 0)
  local other = s:op("Xor", { s:op("Less", { rest, zero }), s:op("Less", { y, zero }) })
  local some = s:op("Not", { s:op("Equal", { rest, zero }) })
  return s:op("Where", { s:op("And", { other, some }), s:op("Add", { rest, y }), rest })
end

function rows.floordiv(s, n, x, y)
  if is_float(n) then return s:op("Floor", { s:op("Div", { x, y }) }) end
  return s:op("Div", { s:op("Sub", { x, s:op("Mod", { x, y }) }), y })
end

function rows.logaddexp(s, n, x, y)
  local off = s:op("Neg", { s:op("Abs", { s:op("Sub", { x, y }) }) })
  local log = s:op("Log", { s:op("Add", { s:op("Exp", { off }), scalar(s, n, 1) }) })
  return s:op("Add", { s:op("Max", { x, y }), log })
end

-- The angle of (y, x) by the arc tangent of the quotient, moved by π on the left side.
function rows.atan2(s, n, y, x)
  local zero = scalar(s, n, 0)
  local angle = s:op("Atan", { s:op("Div", { y, x }) })
  local turn = s:op("Where", { s:op("Less", { y, zero }), scalar(s, n, -math.pi),
    scalar(s, n, math.pi) })
  local left = s:op("Where", { s:op("Less", { x, zero }), s:op("Add", { angle, turn }), angle })
  local both = s:op("And", { s:op("Equal", { x, zero }), s:op("Equal", { y, zero }) })
  return s:op("Where", { both, zero, left })
end

-- ---- leaves

function rows.const(s, n)
  return s:expand(s:scalar(n.attrs.value or 0, n.dtype), {}, n.shape)
end

function rows.iota(s, n)
  local dim, shape = n.attrs.dim, n.shape
  local start = n.attrs.start and n.attrs.start[1]
  local from = start and s:op("Squeeze", { s:size(start) }) or s:integer(0)
  local to = s:op("Squeeze", { s:size(shape[dim]) })
  if start then to = s:op("Add", { from, to }) end
  local name = s:op("Range", { from, to, s:integer(1) })
  if n.dtype ~= "i64" then name = s:cast(name, n.dtype) end
  if #shape == 1 then return name end
  local line = {}
  for i = 1, #shape do line[i] = i == dim and shape[dim] or 1 end
  return s:expand(s:reshape(name, { shape[dim] }, line), line, shape)
end

function rows.size(s, n)
  local name = s:op("Squeeze", { s:size(n.attrs.of[1]) })
  return n.dtype == "i64" and name or s:cast(name, n.dtype)
end

function rows.cast(s, n, x) return s:cast(x, n.dtype) end

-- ---- shape and order

function rows.reshape(s, n, x) return s:reshape(x, s.by_id[n.inputs[1]].shape, n.shape) end
function rows.broadcast(s, n, x) return s:expand(x, s.by_id[n.inputs[1]].shape, n.shape) end

-- Dims or axes, which count from 0 in ONNX.
local function from_zero(list)
  local out = {}
  for i, v in ipairs(list) do out[i] = v - 1 end
  return out
end

function rows.permute(s, n, x)
  return s:op("Transpose", { x }, { perm = from_zero(n.attrs.dims) })
end

function rows.concat(s, n, ...) return s:op("Concat", { ... }, { axis = n.attrs.dim - 1 }) end

function rows.slice(s, n, x)
  local from = s.by_id[n.inputs[1]].shape
  local starts, stops, axes, steps = {}, {}, {}, {}
  local function add(i, start, stop, step)
    starts[#starts + 1], stops[#stops + 1] = start, stop
    axes[#axes + 1], steps[#steps + 1] = i - 1, step
  end
  for i, size in ipairs(from) do
    local start = n.attrs.start and n.attrs.start[i] or 0
    local stop, step = n.attrs.stop[i], n.attrs.step and n.attrs.step[i] or 1
    local whole = s.text(stop) == s.text(size)
    if start ~= 0 or step ~= 1 or not whole then add(i, start, whole and HIGHEST or stop, step) end
  end
  if #axes == 0 then return x end
  return s:op("Slice", { x, s:sizes(starts), s:sizes(stops), s:integers(axes), s:integers(steps) })
end

function rows.flip(s, n, x)
  local first, last, step = {}, {}, {}
  for i = 1, #n.attrs.dims do first[i], last[i], step[i] = -1, math.mininteger, -1 end
  return s:op("Slice", { x, s:integers(first), s:integers(last),
    s:integers(from_zero(n.attrs.dims)), s:integers(step) })
end

function rows.pad(s, n, x)
  local pads, rank = {}, #n.shape
  for i = 1, rank do
    pads[i], pads[rank + i] = n.attrs.lo[i] or 0, n.attrs.hi[i] or 0
  end
  return s:op("Pad", { x, s:sizes(pads), scalar(s, n, n.attrs.value or 0) })
end

-- The positions of the windows along one dim as a matrix [positions, size].
local function positions(s, count, size, stride, dilation)
  local list = {}
  for p = 0, count - 1 do
    for k = 0, size - 1 do list[#list + 1] = p * stride + k * dilation end
  end
  return s:constant("windows", values.integers(nil, list, { count, size }))
end

-- Each dim by a Gather of its windows, whose second dim goes to the end.
function rows.window(s, n, x)
  local a, rank = n.attrs, #s.by_id[n.inputs[1]].shape
  for i, dim in ipairs(a.dims) do
    local count = n.shape[dim]
    if math.type(count) ~= "integer" then
      s:blocked(n, "windows over a symbolic size, outside convolution and pooling")
    end
    local at = positions(s, count, a.size[i], a.stride and a.stride[i] or 1,
      a.dilation and a.dilation[i] or 1)
    x = s:op("Gather", { x, at }, { axis = dim - 1 })
    rank = rank + 1
    local perm = {}
    for k = 0, rank - 1 do if k ~= dim then perm[#perm + 1] = k end end
    perm[#perm + 1] = dim
    x = s:op("Transpose", { x }, { perm = perm })
  end
  return x
end

-- ---- reductions, products, positions

local function reduction(kind)
  return function(s, n, x)
    return s:op(kind, { x, s:integers(from_zero(n.attrs.dims)) }, { keepdims = 0 })
  end
end

rows.sum, rows.prod = reduction "ReduceSum", reduction "ReduceProd"
rows.reduce_max, rows.reduce_min = reduction "ReduceMax", reduction "ReduceMin"

local function position(kind)
  return function(s, n, x)
    local at = s:op(kind, { x }, { axis = n.attrs.dims[1] - 1, keepdims = 0 })
    return n.dtype == "i64" and at or s:cast(at, n.dtype)
  end
end

rows.argmax, rows.argmin = position "ArgMax", position "ArgMin"

-- The sizes of a shape from `first` to `last`, then others.
local function joined(shape, first, last, ...)
  local out = table.move(shape, first, last, 1, {})
  for _, size in ipairs { ... } do out[#out + 1] = size end
  return out
end

-- [b…, m…, k…] · [b…, k…, n]: MatMul has one k, and one m where there are b.
function rows.dot(s, n, x, y)
  local xs, ys = s.by_id[n.inputs[1]].shape, s.by_id[n.inputs[2]].shape
  local inner = n.attrs.inner or 1
  local batch = #ys - 1 - inner
  local free = #xs - batch - inner
  if inner > 1 then
    local k = s.product(joined(ys, batch + 1, batch + inner))
    x, xs = s:reshape(x, xs, joined(xs, 1, batch + free, k)), joined(xs, 1, batch + free, k)
    y, ys = s:reshape(y, ys, joined(ys, 1, batch, k, ys[#ys])), joined(ys, 1, batch, k, ys[#ys])
  end
  if batch == 0 or free == 1 then return s:op("MatMul", { x, y }) end
  if free == 0 then
    local wide = s:op("Unsqueeze", { x, s:integers { -2 } })
    return s:op("Squeeze", { s:op("MatMul", { wide, y }), s:integers { -2 } })
  end
  local m = s.product(joined(xs, batch + 1, batch + free))
  local flat = s:reshape(x, xs, joined(xs, 1, batch, m, xs[#xs]))
  return s:reshape(s:op("MatMul", { flat, y }), joined(xs, 1, batch, m, ys[#ys]), n.shape)
end

-- An index in a dtype that ONNX takes.
local function index_of(s, n, i, name)
  local dtype = s.by_id[n.inputs[i]].dtype
  return (dtype == "i32" or dtype == "i64") and name or s:cast(name, "i64")
end

function rows.gather(s, n, x, at)
  return s:op("Gather", { x, index_of(s, n, 2, at) }, { axis = n.attrs.dim - 1 })
end

-- The dim that is added to comes first for ScatterND, and goes back to its place.
function rows.scatter_add(s, n, x, at, update)
  local dim, rank = n.attrs.dim, #n.shape
  local index_rank = #s.by_id[n.inputs[2]].shape
  local there, update_there, back = { dim - 1 }, {}, {}
  for k = 0, index_rank - 1 do update_there[k + 1] = dim - 1 + k end
  for k = 0, rank - 1 do
    if k ~= dim - 1 then
      there[#there + 1] = k
      update_there[#update_there + 1] = k < dim - 1 and k or k + index_rank - 1
    end
  end
  for i, k in ipairs(there) do back[k + 1] = i - 1 end
  local index = s:op("Unsqueeze", { s:cast(at, "i64"), s:integers { -1 } })
  if dim == 1 then return s:op("ScatterND", { x, index, update }, { reduction = "add" }) end
  local sum = s:op("ScatterND", { s:op("Transpose", { x }, { perm = there }), index,
    s:op("Transpose", { update }, { perm = update_there }) }, { reduction = "add" })
  return s:op("Transpose", { sum }, { perm = back })
end

function rows.argsort(s, n, x)
  local axis = n.attrs.dim
  local descending = n.attrs.descending == 1 or n.attrs.descending == true
  local _, at = s:op("TopK", { x, s:size(n.shape[axis]) }, { axis = axis - 1,
    largest = descending and 1 or 0, sorted = 1 }, 2)
  return s:cast(at, n.dtype)
end

function rows.cumsum(s, n, x)
  local reverse = n.attrs.reverse == 1 or n.attrs.reverse == true
  return s:op("CumSum", { x, s:integer(n.attrs.dim - 1) }, { reverse = reverse and 1 or 0 })
end

-- ---- what there is none for

local EVALUATION = "export what the model computes in evaluation"
local BLOCKED = {
  rand = { "it draws random numbers, and ONNX has no such generator", EVALUATION },
  fold = { "windows are added up, as in the gradient of a convolution", EVALUATION },
  custom = { "an op of a library's own", "write it with sgl's ops, or export a bundle" },
  print = { "it prints", "leave sgl.print out of what is exported" },
  assert = { "it asserts", "leave sgl.assert out of what is exported" },
}

-- Ops that have a row above, and not only a name in the op table.
local OWN = {}
for name in pairs(rows) do OWN[name] = true end

-- Elementwise ops of the table, by name.
local SIMPLE = {}
for _, op in ipairs(core.ops()) do
  local elementwise = op.family == "unary" or op.family == "test" or op.family == "binary"
    or op.family == "compare" or op.family == "select"
  if elementwise then
    SIMPLE[op.name] = true
    if op.onnx ~= "" and not rows[op.name] then
      rows[op.name] = function(s, _, ...) return s:op(op.onnx, { ... }) end
    end
  end
end

--- Whether an op works element by element, so that its inputs may be of shapes that broadcast.
function rows.elementwise(op) return SIMPLE[op] or false end

--- Whether an op has a row of its own here; why there is none, where that is known. For the docs.
function rows.own(op) return OWN[op] or false end
function rows.blocked(op) return BLOCKED[op] and BLOCKED[op][1] end

--- Refuses a node that there is no row for.
function rows.refuse(s, n)
  local why = BLOCKED[n.op]
  s:blocked(n, why and why[1] or "there is nothing like it in ONNX", why and why[2]
    or "write it with other ops, or export a bundle")
end

return rows
