-- op_cases.lua: for each op of the table, calls that exercise it.
--
-- In:    a row of core.ops().
-- Out:   cases(op): a list of { title, shapes, kinds, fn }: fn applies the op to tensors of these
--        shapes; kinds[i] is "value" (of the dtype that is asked for), a dtype, or the bound of an
--        index.
--        sample(op, case, dtype): arguments from the op's domain.
-- Holds: elementwise ops need no entry here. An op with structure needs one in STRUCTURED, as its
--        shapes and attributes have to fit each other.

local core = require "sgl.core"

local M = {}

local apply = core.apply

-- What the ops of spec/ir/custom_ops.c are called by: the registered ones of `custom` and `result`.
M.library = (os.getenv "SGL_EXE" or "build/sgl"):gsub("[^/]*$", "") .. "spec/ops.so"
core.load_ops(M.library)   -- `make test` builds it

local function custom(name, attrs, which)
  return function(...) return core.custom(name, { ... }, attrs)[which or 1] end
end

-- ---- elementwise

-- No elements, one, few, a tail of 1 after full vectors, more than one tile.
local SHAPES = { {}, { 1 }, { 0 }, { 3, 0, 2 }, { 7 }, { 5, 33 }, { 2, 3, 4 }, { 1031 } }

local VIEWS = {
  { "permuted", { 33, 5 }, function(t) return apply("permute", t, { dims = { 2, 1 } }) end },
  { "sliced", { 9, 40 }, function(t)
    return apply("slice", t, { start = { 1, 2 }, stop = { 9, 38 }, step = { 2, 3 } })
  end },
  { "flipped", { 6, 11 }, function(t) return apply("flip", t, { dims = { 2 } }) end },
  { "repeated", { 5, 1 }, function(t) return apply("broadcast", t, { dims = { 5, 33 } }) end },
  { "padded", { 3, 5 }, function(t)
    return apply("slice", apply("pad", t, { lo = { 0, 2 }, hi = { 1, 0 }, value = 1 }),
      { start = { 0, 2 }, stop = { 3, 7 }, step = { 1, 1 } })
  end },
}

local PAIRS = {
  { { 5, 33 }, { 33 } }, { { 5, 1 }, { 1, 33 } }, { {}, { 7 } }, { { 0 }, { 1 } },
  { { 4, 1, 3 }, { 2, 1 } },
}

-- Dtypes of a second operand, promoted together with that of the first.
local OTHERS = { "f32", "f64", "f16", "i32", "u8", "bool" }

local function text_of(shapes)
  local parts = {}
  for i, s in ipairs(shapes) do parts[i] = "[" .. table.concat(s, ", ") .. "]" end
  return table.concat(parts, " ")
end

local function repeated(shape, n)
  local list = {}
  for i = 1, n do list[i] = shape end
  return list
end

local function elementwise(op)
  local cases, plain = {}, {}
  for i = 1, op.inputs do plain[i] = op.family == "select" and i == 1 and "bool" or "value" end
  local function add(title, shapes, view, kinds)
    cases[#cases + 1] = { title = title, shapes = shapes, kinds = kinds or plain, fn = function(...)
      local args = { ... }
      for i = 1, view and #args or 0 do args[i] = view(args[i]) end
      return apply(op.name, args)
    end }
  end
  for _, shape in ipairs(SHAPES) do
    local shapes = repeated(shape, op.inputs)
    add(text_of(shapes), shapes)
  end
  for _, view in ipairs(VIEWS) do
    add(view[1] .. " " .. text_of { view[2] }, repeated(view[2], op.inputs), view[3])
  end
  -- The domain "broken" keeps only elements of the same position apart.
  if op.inputs > 1 and op.domain ~= "broken" then
    for _, pair in ipairs(PAIRS) do
      local shapes = { pair[1], pair[2], pair[1] }
      shapes = { table.unpack(shapes, 1, op.inputs) }
      add("broadcast " .. text_of(shapes), shapes)
    end
    for _, other in ipairs(#op.types > 1 and OTHERS or {}) do
      local kinds = { table.unpack(plain) }
      kinds[#kinds] = other
      add("beside " .. other, repeated({ 5, 7 }, op.inputs), nil, kinds)
    end
  end
  return cases
end

-- ---- ops with structure: { shapes, attributes, kinds of the arguments that are no values, fn
-- where it is not core.apply }

local STRUCTURED = {
  cast = {
    { { { 5, 33 } }, { dtype = "f32" } }, { { { 300 } }, { dtype = "f64" } },
    { { { 5, 33 } }, { dtype = "f16" } }, { { { 5, 33 } }, { dtype = "bf16" } },
    { { { 5, 33 } }, { dtype = "i32" } }, { { { 5, 33 } }, { dtype = "i64" } },
    { { { 5, 33 } }, { dtype = "bool" } }, { { {} }, { dtype = "i32" } },
  },
  reshape = {
    { { { 5, 33 } }, { dims = { 165 } } }, { { { 6, 4 } }, { dims = { 3, 2, 2, 2 } } },
    { { { 6, 4, 5 } }, { dims = { 6, 20 } } }, { { { 1 } }, { dims = {} } },
    { { {} }, { dims = { 1, 1 } } }, { { { 3, 0 } }, { dims = { 0, 7 } } },
    { { { 4, 6 } }, { dims = { 8, 3 } } },
  },
  permute = {
    { { { 5, 33 } }, { dims = { 2, 1 } } }, { { { 2, 3, 4, 5 } }, { dims = { 3, 1, 4, 2 } } },
    { { { 64, 70 } }, { dims = { 2, 1 } } }, { { { 3, 0, 2 } }, { dims = { 3, 2, 1 } } },
    { { {} }, { dims = {} } },
  },
  broadcast = {
    { { { 5, 1 } }, { dims = { 5, 33 } } }, { { { 7 } }, { dims = { 3, 7 } } },
    { { {} }, { dims = { 4, 5 } } }, { { { 1 } }, { dims = { 0 } } },
    { { { 2, 1, 3, 1 } }, { dims = { 2, 5, 3, 4 } } },
  },
  slice = {
    { { { 9, 40 } }, { start = { 1, 2 }, stop = { 9, 38 }, step = { 2, 3 } } },
    { { { 100 } }, { start = { 3 }, stop = { 99 }, step = { 7 } } },
    { { { 5, 4 } }, { start = { 2, 0 }, stop = { 2, 4 }, step = { 1, 1 } } },
    { { { 3, 5, 7 } }, { start = { 2, 0, 6 }, stop = { 3, 5, 7 }, step = { 1, 4, 1 } } },
  },
  pad = {
    { { { 5, 33 } }, { lo = { 1, 2 }, hi = { 0, 3 }, value = 1 } },
    { { { 4 } }, { lo = { 0 }, hi = { 60 }, value = 0 } },
    { { { 0, 3 } }, { lo = { 1, 0 }, hi = { 1, 1 }, value = 2 } },
    { { { 2, 3, 4 } }, { lo = { 1, 0, 2 }, hi = { 0, 1, 1 }, value = 0 } },
  },
  flip = {
    { { { 5, 33 } }, { dims = { 2 } } }, { { { 5, 33 } }, { dims = { 1, 2 } } },
    { { { 0, 4 } }, { dims = { 1 } } }, { { { 2, 3, 4 } }, { dims = { 3, 1 } } },
  },
  barrier = {
    { { { 5, 33 } }, { number = 0 } }, { { {} }, { number = 3 } }, { { { 0, 4 } }, { number = 1 } },
    { { { 1031 } }, { number = 2147483648 } },
  },
  concat = {
    { { { 5, 3 }, { 5, 30 } }, { dim = 2 } }, { { { 2, 7 }, { 1, 7 }, { 4, 7 } }, { dim = 1 } },
    { { { 3 }, { 0 }, { 2 } }, { dim = 1 } }, { { { 2, 3, 4 }, { 2, 5, 4 } }, { dim = 2 } },
    { { { 6 } }, { dim = 1 } },
  },
  window = {
    { { { 20 } }, { dims = { 1 }, size = { 3 }, stride = { 2 }, dilation = { 3 } } },
    { { { 2, 7, 8 } },
      { dims = { 2, 3 }, size = { 3, 2 }, stride = { 1, 2 }, dilation = { 2, 1 } } },
    { { { 9, 4 } }, { dims = { 1 }, size = { 9 }, stride = { 1 }, dilation = { 1 } } },
    { { { 5, 6 } }, { dims = { 2, 1 }, size = { 2, 2 }, stride = { 2, 2 }, dilation = { 1, 1 } } },
  },
  fold = {
    { { { 7, 3 } }, { dims = { 1 }, into = { 20 }, stride = { 2 }, dilation = { 3 } } },
    { { { 2, 3, 4, 3, 2 } },
      { dims = { 2, 3 }, into = { 7, 8 }, stride = { 1, 2 }, dilation = { 2, 1 } } },
    { { { 6, 5 } }, { dims = { 1 }, into = { 10 }, stride = { 1 }, dilation = { 1 } } },
  },
  dot = {
    { { { 5, 7 }, { 7, 3 } } }, { { { 1, 33 }, { 33, 1 } } }, { { { 17, 400 }, { 400, 9 } } },
    { { { 2, 3, 5, 7 }, { 2, 3, 7, 4 } } }, { { { 3, 0 }, { 0, 4 } } }, { { { 0, 3 }, { 3, 2 } } },
    { { { 33, 31 }, { 31, 35 } } }, { { { 2, 1, 1 }, { 2, 1, 1 } } },
  },
  gather = {
    { { { 7, 5 }, { 3 } }, { dim = 1 }, { [2] = 7 } },
    { { { 7, 5 }, { 2, 4 } }, { dim = 2 }, { [2] = 5 } },
    { { { 40 }, {} }, { dim = 1 }, { [2] = 40 } },
    { { { 3, 4 }, { 0 } }, { dim = 1 }, { [2] = 3 } },
    { { { 2, 3, 4 }, { 70 } }, { dim = 2 }, { [2] = 3 } },
  },
  scatter_add = {
    { { { 7, 5 }, { 3 }, { 3, 5 } }, { dim = 1 }, { [2] = 7 } },
    { { { 7, 5 }, { 2, 4 }, { 7, 2, 4 } }, { dim = 2 }, { [2] = 5 } },
    { { { 4, 3 }, { 100 }, { 100, 3 } }, { dim = 1 }, { [2] = 4 } },
    { { { 3 }, { 0 }, { 0 } }, { dim = 1 }, { [2] = 3 } },
  },
  argsort = {
    { { { 33 } }, { dim = 1 } }, { { { 5, 33 } }, { dim = 1, descending = true } },
    { { { 5, 33 } }, { dim = 2, descending = 1 } }, { { { 2, 1, 3 } }, { dim = 2 } },
    { { { 0, 3 } }, { dim = 1 } },
  },
  cumsum = {
    { { { 33 } }, { dim = 1 } }, { { { 5, 33 } }, { dim = 1, reverse = true } },
    { { { 5, 33 } }, { dim = 2, reverse = 1 } }, { { { 2, 1, 3 } }, { dim = 2 } },
    { { { 0, 3 } }, { dim = 2 } }, { { { 3, 600 } }, { dim = 2 } },
  },
  -- On a mesh of one rank; with several, spec/cli/run_spec.lua.
  all_reduce = {
    { { { 5, 7 } }, { kind = "sum", mesh = { 1 }, axes = { 1 } } },
    { { {} }, { kind = "max", mesh = { 1, 1 }, axes = { 2, 1 } } },
    { { { 0, 4 } }, { kind = "prod", mesh = { 1 }, axes = { 1 } } },
  },
  all_gather = {
    { { { 5, 7 } }, { dim = 2, to = 7, size = 7, units = 7, blocks = 0, keep = 0, mesh = { 1 },
                      axes = { 1 } } },
  },
  all_to_all = {
    { { { 5, 7 } }, { mesh = { 1 }, axes = { 1 } } },
    { { { 3, 0 } }, { mesh = { 1, 1 }, axes = { 1, 2 } } },
  },
  copy_from = {
    { { { 5, 7 } }, { root = 0, mesh = { 1 }, axes = { 1 } } },
    { { {} }, { root = 0, mesh = { 1, 1 }, axes = { 1, 2 } } },
  },
  reduce_scatter = {
    { { { 5, 7 } }, { kind = "min", dim = 1, to = 5, size = 5, units = 5, blocks = 8, keep = 0,
                      mesh = { 1 }, axes = { 1 } } },
  },
}

-- Rows and columns around the sizes where the order of a reduction changes (kernel.h, N2 and N3).
local TOTALS = {
  { { { 7 } }, { dims = { 1 } } }, { { { 5, 33 } }, { dims = { 2 } } },
  { { { 5, 33 } }, { dims = { 1 } } }, { { { 5, 33 } }, { dims = { 1, 2 } } },
  { { { 2, 3, 4, 5 } }, { dims = { 1, 3 } } }, { { { 1, 5, 1 } }, { dims = { 1, 3 } } },
  { { { 3, 31 } }, { dims = { 2 } } }, { { { 2, 3, 32 } }, { dims = { 2, 3 } } },
  { { { 130, 3 } }, { dims = { 1 } } },
}
local EMPTY_TOTALS = { { { { 0 } }, { dims = { 1 } } }, { { { 3, 0 } }, { dims = { 2 } } },
                       { { { 0, 3 } }, { dims = { 2 } } } }
local LONG = { { { { 16500 } }, { dims = { 1 } } }, { { { 2, 16390 } }, { dims = { 2 } } },
               { { { 17000, 2 } }, { dims = { 1 } } } }
local ONE_DIM = {
  { { { 7 } }, { dims = { 1 } } }, { { { 5, 33 } }, { dims = { 2 } } },
  { { { 5, 33 } }, { dims = { 1 } } }, { { { 2, 3, 4 } }, { dims = { 2 } } },
  { { { 4, 1 } }, { dims = { 2 } } }, { { { 150, 2 } }, { dims = { 1 } } },
}

local function joined(...)
  local all = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #all + 1, all) end
  return all
end

STRUCTURED.sum = joined(TOTALS, EMPTY_TOTALS, LONG)
STRUCTURED.prod = joined(TOTALS, EMPTY_TOTALS)
STRUCTURED.reduce_max, STRUCTURED.reduce_min = joined(TOTALS, LONG), joined(TOTALS, LONG)
STRUCTURED.argmax, STRUCTURED.argmin = joined(ONE_DIM, LONG), joined(ONE_DIM, LONG)

STRUCTURED.custom = {
  { { { 7 } }, nil, nil, custom("t.affine", { by = -2.5 }) },
  { { { 5, 33 } }, nil, nil, custom("t.affine", { by = 0.5, plus = 1 }) },
  { { {} }, nil, nil, custom("t.affine", { by = 3 }) },
  { { { 3, 0, 2 } }, nil, nil, custom("t.affine", { by = 3 }) },
}
STRUCTURED.result = {
  { { { 7 } }, nil, nil, custom("t.halves", {}) },
  { { { 7 } }, nil, nil, custom("t.halves", {}, 2) },
  { { { 5, 33 } }, nil, nil, custom("t.halves", {}, 2) },
  { { { 1, 4 } }, nil, nil, custom("t.halves", {}) },
}

local function structured(op)
  local cases = {}
  local rows = assert(STRUCTURED[op.name], op.name .. ": spec/op_cases.lua has no cases")
  for _, row in ipairs(rows) do
    local kinds = {}
    for i = 1, #row[1] do kinds[i] = row[3] and row[3][i] or "value" end
    cases[#cases + 1] = { title = text_of(row[1]), shapes = row[1], kinds = kinds,
      attrs = row[2],
      fn = row[4] or function(...) return apply(op.name, { ... }, row[2] or {}) end }
  end
  return cases
end

-- ---- text, for ops that core.apply does not make: leaves, control flow, effects

M.texts = {
  input = { [[
graph
input %0 arg "x" f32[2, 3]
input %1 state "y" f32[2, 3]
output %0 "x"
output %1 "y"
]] },
  const = { [[
graph
%0 = const() {value=2.5, dims=[5, 33], dtype=f32} : f32[5, 33]
%1 = const() {value=-7, dims=[], dtype=i64} : i64[]
%2 = const() {value=1, dims=[0], dtype=bool} : bool[0]
%3 = const() {value=nan, dims=[2], dtype=f16} : f16[2]
%4 = const() {value=-inf, dims=[2], dtype=bf16} : bf16[2]
output %0 ""
output %1 ""
output %2 ""
output %3 ""
output %4 ""
]] },
  iota = { [[
graph
%0 = iota() {dim=1, dims=[7], dtype=i32} : i32[7]
%1 = iota() {dim=2, dims=[5, 33], dtype=f32} : f32[5, 33]
%2 = iota() {dim=1, dims=[5, 33], dtype=i64} : i64[5, 33]
%3 = iota() {dim=2, dims=[2, 300, 3], dtype=f64} : f64[2, 300, 3]
%4 = iota() {dim=1, dims=[0], dtype=u8} : u8[0]
output %0 ""
output %1 ""
output %2 ""
output %3 ""
output %4 ""
]] },
  size = {},   -- a static graph has none: spec/capture/dynamic_spec.lua
  rand = { [[
graph
input %0 state "rng" i64[2]
%1 = rand(%0) {draw=0, word=0, dims=[5, 33]} : f32[5, 33]
%2 = rand(%0) {draw=3, word=2, dims=[1031]} : f32[1031]
%3 = rand(%0) {draw=0, word=3, dims=[]} : f32[]
%4 = rand(%0) {draw=2147483647, word=1, dims=[0]} : f32[0]
output %1 ""
output %2 ""
output %3 ""
output %4 ""
]] },
  cond = { [[
graph
block $0
  input %0 arg "" f32[3]
  input %1 arg "" f32[]
  %2 = neg(%0) : f32[3]
  output %2 ""
  output %1 ""
end
block $1
  input %0 arg "" f32[3]
  input %1 arg "" f32[]
  %2 = sum(%0) {dims=[1]} : f32[]
  output %0 ""
  output %2 ""
end
input %0 arg "p" bool[]
input %1 arg "x" f32[3]
input %2 arg "y" f32[]
%3 = logical_not(%0) : bool[]
%4 = cond(%0, %1, %2) {then=$0, else=$1} : f32[0]
%5 = result(%4) {out=0} : f32[3]
%6 = cond(%3, %1, %2) {then=$0, else=$1} : f32[0]
%7 = result(%6) {out=0} : f32[3]
%8 = result(%6) {out=1} : f32[]
output %5 ""
output %7 ""
output %8 ""
]] },
  scan = { [[
graph
block $0
  input %0 arg "" f32[2]
  input %1 arg "" f32[2]
  input %2 arg "" f32[]
  %3 = reshape(%2) {dims=[1]} : f32[1]
  %4 = broadcast(%3) {dims=[2]} : f32[2]
  %5 = max(%1, %4) : f32[2]
  %6 = neg(%0) : f32[2]
  output %5 ""
  output %6 ""
end
input %0 arg "carry" f32[2]
input %1 arg "xs" f32[5, 2]
input %2 arg "least" f32[]
%3 = scan(%0, %1, %2) {body=$0, carry=1, xs=1, length=[5], reverse=0} : f32[0]
%4 = result(%3) {out=0} : f32[2]
%5 = result(%3) {out=1} : f32[5, 2]
%6 = result(%3) {out=2} : f32[5, 2]
%7 = scan(%0, %1, %2) {body=$0, carry=1, xs=1, length=[5], reverse=1} : f32[0]
%8 = result(%7) {out=1} : f32[5, 2]
output %4 ""
output %5 ""
output %6 ""
output %8 ""
]], [[
graph
block $0
  input %0 arg "" i32[]
  input %1 arg "" i32[0]
  output %0 ""
  output %1 ""
end
input %0 arg "carry" i32[]
input %1 arg "xs" i32[0, 0]
%2 = scan(%0, %1) {body=$0, carry=1, xs=1, length=[0], reverse=0} : f32[0]
%3 = result(%2) {out=0} : i32[]
%4 = result(%2) {out=1} : i32[0, 0]
output %3 ""
output %4 ""
]] },
  loop = { [[
graph
block $0
  input %0 arg "" bool[]
  input %1 arg "" i32[]
  input %2 arg "" i32[]
  %3 = add(%1, %2) : i32[]
  %4 = const() {value=10, dims=[], dtype=i32} : i32[]
  %5 = lt(%3, %4) : bool[]
  output %5 ""
  output %3 ""
end
%0 = const() {value=1, dims=[], dtype=bool} : bool[]
%1 = const() {value=0, dims=[], dtype=i32} : i32[]
%2 = const() {value=3, dims=[], dtype=i32} : i32[]
%3 = loop(%0, %1, %2) {body=$0, carry=2, max=9} : f32[0]
%4 = result(%3) {out=1} : i32[]
%5 = result(%3) {out=2} : i32[]
%6 = result(%3) {out=4} : i32[9]
%7 = loop(%0, %1, %2) {body=$0, carry=2, max=2} : f32[0]
%8 = result(%7) {out=1} : i32[]
output %4 ""
output %5 ""
output %6 ""
output %8 ""
]] },
  print = { [[
graph
input %0 arg "x" f32[2]
%1 = const() {value=0, dims=[], dtype=i32} : i32[]
%2 = print(%1) {text="a line of the spec of op print"} : i32[]
output %2 ""
effect %2
]] },
  assert = { [[
graph
%0 = const() {value=0, dims=[], dtype=i32} : i32[]
%1 = const() {value=1, dims=[], dtype=bool} : bool[]
%2 = assert(%0, %1) {text="it must \"hold\""} : i32[]
%3 = assert(%2, %1) {text="it must \"hold\""} : i32[]
output %3 ""
effect %3
]] },
}

-- ---- what the specs call

function M.cases(op)
  local families = { unary = true, test = true, binary = true, compare = true, select = true }
  return families[op.family] and elementwise(op) or structured(op)
end

function M.sample(op, case, dtype)
  local args = {}
  local domain = op.domain == "index" and "real" or op.domain
  for i, shape in ipairs(case.shapes) do
    local kind = case.kinds[i]
    if type(kind) == "number" then
      args[i] = core.sample("index", i, shape, "i32", kind)
    else
      args[i] = core.sample(domain, i, shape, kind == "value" and dtype or kind)
    end
  end
  return args
end

return M
