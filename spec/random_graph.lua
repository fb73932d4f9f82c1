-- random_graph.lua: random graphs as text, with a bound on the error of each node.
--
-- In:    a seed.
-- Out:   generate(seed): { text, args, outputs }: outputs[i] has the dtype and `err`, how far a
--        correct backend may be from the reference.
-- A node carries facts: an interval [lo, hi] of its finite values; err, the largest absolute error
-- that roundings so far can have caused, by first-order analysis; whole: its finite values are
-- integers, computed without rounding; special: elements may be infinite or NaN.
-- Holds: a step that would make an integer wrap, a value huge or the error bound useless is not
--        taken, and ops that jump (floor, comparisons, argmax) take exact operands only. So every
--        generated graph is well conditioned and the comparison needs no tuned tolerance.
-- The steps are in random_ops.lua.

local engine = require "spec.engine"
local ops = require "spec.random_ops"

local M = {}

-- Integers up to here are exact in the dtype.
local EXACT = { f64 = 2.0 ^ 53, f32 = 2.0 ^ 24, f16 = 2.0 ^ 11, bf16 = 2.0 ^ 8, i64 = 2.0 ^ 53,
                i32 = 2.0 ^ 31 - 1, u8 = 255, bool = 1 }
local MOST = 1e4           -- no value that is not whole is larger
local WORST = 0.05         -- nor is its error bound a larger part of the largest value
local MOST_ELEMENTS, LARGE_ELEMENTS = 600, 40000

local Builder = {}
Builder.__index = Builder

local function mag(f)
  return math.max(math.abs(f.lo), math.abs(f.hi))
end

-- The facts of a result of this dtype, the rounding to it counted in; nil: do not take the step.
-- `roundoffs`: how many the op may make (default 1: correctly rounded).
local function settle(dtype, f, roundoffs)
  local size = mag(f)
  if size ~= size or f.err ~= f.err then return nil end
  if f.whole and size <= EXACT[dtype] and not (dtype == "u8" and f.lo < 0) then
    f.err = 0
    return f
  end
  if not engine.is_float(dtype) or size > MOST then return nil end
  f.err = f.err + (roundoffs or 1) * engine.roundoff[dtype] * size + engine.smallest[dtype]
  f.whole = false
  return f.err <= WORST * math.max(size, 1e-3) and f or nil
end

-- The rest of a line after the type: the composite it is in.
function Builder:place()
  return self.composite and (" @%d"):format(self.composite) or ""
end

function Builder:line(...)
  self.lines[#self.lines + 1] = (...):format(select(2, ...))
end

function Builder:add(node)
  self.nodes[#self.nodes + 1] = node
  node.id, node.users = #self.nodes - 1, 0
  return node
end

-- Adds a node whose facts are settled; nil when the facts forbid it or it is too large.
function Builder:emit(op, inputs, attrs, dtype, dims, facts, roundoffs)
  if #dims > 6 or engine.count(dims) > self.most_elements then return nil end
  facts = settle(dtype, facts, roundoffs)
  if not facts then return nil end
  facts.dtype, facts.dims = dtype, dims
  local refs = {}
  for i, n in ipairs(inputs) do
    refs[i] = "%" .. n.id
    n.users = n.users + 1
    facts.special = facts.special or n.special
  end
  self:add(facts)
  self:line("%%%d = %s(%s)%s : %s%s%s", facts.id, op, table.concat(refs, ", "),
    attrs and " {" .. attrs .. "}" or "", dtype, engine.shape_text(dims), self:place())
  return facts
end

-- ---- leaves

local SPECIALS = { 0.0 / 0.0, math.huge, -math.huge, 0.0, -0.0 }

-- Values of a new input: integers in [lo, hi] or, for real ones, anything between.
local function input_values(r, n, whole, lo, hi, special)
  local list = {}
  for i = 1, n do
    list[i] = whole and r:int(math.ceil(lo), math.floor(hi)) or lo + (hi - lo) * r:unit()
    if special and r:chance(0.15) then list[i] = r:pick(SPECIALS) end
  end
  return list
end

local RANGES = { { -3, 3 }, { 1, 4 }, { 0, 2 }, { -20, 20 }, { 0, 1 }, { -0.75, 0.75 } }

-- A new input. Inputs come first in the text, so they are declared before the other nodes; their
-- ids are given once the graph is complete.
function Builder:input(dtype, dims, range)
  if engine.count(dims) > self.most_elements then return nil end
  local r = self.random
  local lo, hi = table.unpack(range or r:pick(RANGES))
  if dtype == "bool" then lo, hi = 0, 1 end
  if dtype == "u8" then lo = math.max(lo, 0) end
  local float = engine.is_float(dtype)
  local whole = not float or range ~= nil or r:chance(0.4)
  local special = float and not range and r:chance(self.special)
  local values = input_values(r, engine.count(dims), whole, lo, hi, special)
  for i = 1, float and #values or 0 do values[i] = values[i] + 0.0 end
  local kind = range and "arg" or r:pick { "arg", "arg", "state" }
  -- 16-bit floats are read as f32 and converted, so that the reference sees rounded values.
  local stored = (dtype == "f16" or dtype == "bf16") and "f32" or dtype
  self.args[#self.args + 1] = engine.pack(values, stored, dims)
  local node = self:add { dtype = stored, dims = dims, lo = lo, hi = hi, err = 0, whole = whole,
    special = special, state = kind == "state", input = #self.args }
  self.inputs[#self.inputs + 1] = ('input %%%d %s "in%d" %s%s'):format(node.id, kind, #self.args,
    stored, engine.shape_text(dims))
  if stored == dtype then return node end
  return self:emit("cast", { node }, "dtype=" .. dtype, dtype, dims,
    { lo = lo, hi = hi, err = 0, whole = whole })
end

function Builder:const(dtype, dims, value)
  local whole = value == math.floor(value)
  return self:emit("const", {}, ("value=%s, dims=%s, dtype=%s"):format(
    dtype == "bool" and (value ~= 0 and "1" or "0") or ("%.17g"):format(value),
    engine.shape_text(dims), dtype), dtype, dims,
    { lo = value, hi = value, err = 0, whole = whole })
end

-- ---- choosing operands

-- An earlier node for which `fits` holds, rather a late one; nil when none is found.
function Builder:pick(fits)
  for _ = 1, 12 do
    local back = math.floor(self.random:unit() ^ 2 * #self.nodes)
    local n = self.nodes[#self.nodes - back]
    if n and not n.hidden and (not fits or fits(n)) then return n end
  end
  return nil
end

-- Whether dims, aligned from the right, repeat into `to`.
local function repeats_into(dims, to)
  if #dims > #to then return false end
  for i = 1, #dims do
    local d = dims[#dims - i + 1]
    if d ~= 1 and d ~= to[#to - i + 1] then return false end
  end
  return true
end

-- n repeated to dims: explicit reshape and broadcast, as the builders record them.
function Builder:fit(n, dims)
  local ones = {}
  for i = 1, #dims - #n.dims do ones[i] = 1 end
  table.move(n.dims, 1, #n.dims, #ones + 1, ones)
  if #ones ~= #n.dims then
    n = self:emit("reshape", { n }, "dims=" .. engine.shape_text(ones), n.dtype, ones, ops.copy(n))
  end
  if n and engine.shape_text(ones) ~= engine.shape_text(dims) then
    n = self:emit("broadcast", { n }, "dims=" .. engine.shape_text(dims), n.dtype, dims,
      ops.copy(n))
  end
  return n
end

-- Dims that repeat into `dims`: some are 1, some leading ones are missing.
local function narrowed(r, dims)
  local list = {}
  for i = r:chance(0.5) and 1 or r:int(1, #dims + 1), #dims do
    list[#list + 1] = r:chance(0.4) and 1 or dims[i]
  end
  return list
end

-- Another operand of this dtype and these dims: an earlier node, or a new leaf.
function Builder:match(dtype, dims, fits)
  local r = self.random
  local n = r:chance(0.75) and self:pick(function(m)
    return m.dtype == dtype and repeats_into(m.dims, dims) and (not fits or fits(m))
  end)
  if n then return self:fit(n, dims) end
  if fits then return nil end
  if r:chance(0.3) then return self:const(dtype, dims, dtype == "bool" and 1 or r:int(1, 3)) end
  n = self:input(dtype, r:chance(0.5) and narrowed(r, dims) or dims)
  return n and self:fit(n, dims)
end

-- ---- a whole graph

local DTYPES = { "f32", "f32", "f32", "f32", "f64", "i32", "i64", "u8", "bool", "f16", "bf16" }

-- Beyond a tile, a chunk of a row (16,384) and a block of a column (128).
local LARGE = { { 16390 }, { 2, 16400 }, { 400, 37 }, { 37, 400 }, { 3, 17, 300 } }

local function random_dims(r, large)
  local dims = {}
  if large then return r:pick(LARGE) end
  for i = 1, r:pick { 0, 1, 2, 2, 2, 3, 3, 4 } do
    dims[i] = r:chance(0.015) and 0 or r:pick { 1, 2, 3, 4, 5, 6, 7, 8, 12, 33 }
  end
  return dims
end

-- Outputs: what nothing uses, and a few that something uses too.
local function finish(b)
  local r, outputs, seen = b.random, {}, {}
  local function output(n)
    if seen[n] then return end
    seen[n] = true
    outputs[#outputs + 1] = n
    b:line('output %%%d "out%d"', n.id, #outputs)
  end
  for _, n in ipairs(b.nodes) do
    if n.users == 0 and not n.input or r:chance(0.06) then output(n) end
  end
  if #outputs == 0 then output(b.nodes[#b.nodes]) end
  for _, n in ipairs(b.nodes) do
    local value = n.state and r:chance(0.6) and b:pick(function(m)
      return m ~= n and m.dtype == n.dtype
        and engine.shape_text(m.dims) == engine.shape_text(n.dims)
    end)
    if value then b:line("assign %%%d = %%%d", n.id, value.id) end
  end
  return outputs
end

-- One random call of a step; retried by the caller when it does not fit.
local function step(b)
  local total = 0
  for _, s in ipairs(ops.steps) do total = total + s.weight end
  local at = b.random:unit() * total
  for _, s in ipairs(ops.steps) do
    at = at - s.weight
    if at <= 0 then return s.run(b) end
  end
end

function M.generate(seed)
  local r = engine.random(seed)
  local large = r:chance(0.02)
  local b = setmetatable({ random = r, nodes = {}, lines = {}, composites = {}, inputs = {},
    args = {}, calls = {}, special = r:chance(0.25) and 0.5 or 0,
    most_elements = large and LARGE_ELEMENTS or MOST_ELEMENTS }, Builder)
  for _ = 1, r:int(1, 3) do b:input(r:pick(DTYPES), random_dims(r, large)) end
  if #b.nodes == 0 then b:input("f32", { 3 }) end
  local wanted = large and r:int(2, 8) or r:int(3, 28)
  for _ = 1, wanted * 3 do
    if #b.nodes < wanted + 3 then step(b) end
  end
  local outputs = finish(b)
  local parts = { "graph\n" }
  for _, list in ipairs { b.composites, b.inputs, b.lines, b.calls } do
    for _, line in ipairs(list) do parts[#parts + 1] = line .. "\n" end
  end
  return { text = table.concat(parts), args = b.args, outputs = outputs, seed = seed }
end

return M
