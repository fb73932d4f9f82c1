-- blocks_spec.lua: float reductions in blocks. Each block is reduced like a whole dim of the
-- longest block's length, padded with what is neutral; their results meet in a tree of halves. So
-- the blocks may be spread over any number of ranks.

local sgl = require "sgl"
local core = require "sgl.core"
local engine = require "spec.engine"

local apply, sample = core.apply, core.sample

-- Where block i of a dim of `size` elements begins, by the definition.
local function start(case, i)
  return i * case.units // case.blocks * (case.size // case.units)
end

local function longest(case)
  local most = 0
  for i = 0, case.blocks - 1 do most = math.max(most, start(case, i + 1) - start(case, i)) end
  return most
end

-- leaf(i) for the blocks [lo, hi), combined by halves.
local function tree(combine, leaf, lo, hi)
  if hi - lo == 1 then return leaf(lo) end
  local middle = (lo + hi) // 2
  return combine(tree(combine, leaf, lo, middle), tree(combine, leaf, middle, hi))
end

local function add(a, b) return a + b end
local function multiply(a, b) return a * b end

-- Elements [from, to) of one dim of x, and as many neutral ones behind as make up `length`.
local function padded(x, dim, from, to, length, neutral)
  local first, stop, step, lo, hi = {}, {}, {}, {}, {}
  for d, n in ipairs(x.shape) do
    first[d], stop[d], step[d], lo[d], hi[d] = 0, n, 1, 0, 0
  end
  first[dim], stop[dim], hi[dim] = from, to, length - (to - from)
  return apply("pad", apply("slice", x, { start = first, stop = stop, step = step }),
    { lo = lo, hi = hi, value = neutral })
end

-- A reduction of 2 dims (sum, prod) or a product, in blocks and block by block.
local KINDS = {
  sum = { neutral = -0.0, combine = add, domain = "real" },
  prod = { neutral = 1, combine = multiply, domain = "nonzero" },
}

local function reduction(case)
  local kind, dim = KINDS[case.op], case.dim
  local shape = dim == 1 and { case.size, case.other } or { case.other, case.size }
  local x = sample(kind.domain, case.size, shape, case.dtype):realize()
  local attrs = { dims = { dim }, columns = dim == 1 and 1 or 0 }
  local function part(i)
    return apply(case.op, padded(x, dim, start(case, i), start(case, i + 1), longest(case),
      kind.neutral), attrs)
  end
  local whole = apply(case.op, x, { dims = { dim }, blocks = case.blocks, units = case.units,
    columns = attrs.columns })
  return whole, part, kind.combine, x
end

-- The missing elements of one side are 0, of the other -0: then no product changes a sum.
local function product(case)
  local a = sample("real", 1, { case.other, case.size }, case.dtype):realize()
  local b = sample("real", 2, { case.size, case.columns }, case.dtype):realize()
  local function part(i)
    local from, to = start(case, i), start(case, i + 1)
    if from == to then
      return sgl.full({ case.other, case.columns }, -0.0, { dtype = case.dtype })
    end
    return apply("dot", { padded(a, 2, from, to, longest(case), 0),
                          padded(b, 1, from, to, longest(case), -0.0) })
  end
  local whole = apply("dot", { a, b }, { blocks = case.blocks, units = case.units })
  return whole, part, add
end

local function make(case)
  return (case.op == "dot" and product or reduction)(case)
end

local function name_of(case)
  return ("%s of %d in %d blocks of %d units, %s"):format(case.op, case.size, case.blocks,
    case.units, case.dtype)
end

local function same(a, b, what)
  if a:bytes() ~= b:bytes() then error(what .. ": other bits", 0) end
end

-- size, blocks, units, the kept dim
local SIZES = { { 10, 8, 10, 3 }, { 3, 8, 3, 5 }, { 30, 8, 3, 40 }, { 64, 8, 64, 33 },
                { 800, 8, 10, 70 }, { 1000, 4, 1000, 7 }, { 4096, 256, 4096, 3 },
                { 24000, 8, 10, 2 }, { 6000, 256, 6000, 2 }, { 20000, 3, 10, 1 },
                { 100000, 8, 5, 2 } }

local function each_case(visit)
  for _, s in ipairs(SIZES) do
    for _, dtype in ipairs { "f32", "f64" } do
      local case = { size = s[1], blocks = s[2], units = s[3], other = s[4], dtype = dtype }
      local function with(op, dim)
        case.op, case.dim, case.columns = op, dim, 21
        visit(case)
      end
      with("sum", 1) with("sum", 2) with("prod", 1) with("prod", 2)
      if s[1] <= 10000 then with("dot") end
    end
  end
end

describe("a reduction in blocks", function()
  it("is the tree of its blocks, each padded to the longest", function()
    each_case(function(case)
      local whole, part, combine = make(case)
      same(whole, tree(combine, part, 0, case.blocks), name_of(case))
    end)
  end)

  it("has the same bits however many ranks hold its blocks", function()
    for _, s in ipairs { { 10, 8, 10 }, { 3, 8, 3 }, { 120, 8, 10 }, { 96, 8, 3 },
      { 784, 8, 49 } } do
      for _, op in ipairs { "sum", "prod", "dot" } do
        local case = { op = op, size = s[1], blocks = s[2], units = s[3], other = 6, columns = 9,
                       dim = 1, dtype = "f32" }
        local whole, part, combine = make(case)
        for _, ranks in ipairs { 1, 2, 4, 8 } do
          local own = {}
          for r = 0, ranks - 1 do
            own[r] = tree(combine, part, r * 8 // ranks, (r + 1) * 8 // ranks):realize()
          end
          local all = tree(combine, function(r) return own[r] end, 0, ranks)
          same(whole, all, ("%s, %d ranks"):format(name_of(case), ranks))
        end
      end
    end
  end)

  it("rounds 16-bit floats once, at the end", function()
    for _, dtype in ipairs { "f16", "bf16" } do
      local x = sample("real", 5, { 7, 96 }, dtype):realize()
      local attrs = { dims = { 2 }, blocks = 8, units = 96 }
      same(apply("sum", x, attrs), apply("sum", x:float(), attrs):to(dtype), dtype .. " sum")
      local y = sample("real", 6, { 96, 5 }, dtype):realize()
      local blocks = { blocks = 8, units = 96 }
      same(apply("dot", { x, y }, blocks),
        apply("dot", { x:float(), y:float() }, blocks):to(dtype), dtype .. " dot")
    end
  end)

  it("changes nothing for integers", function()
    local x = sample("smallint", 3, { 40, 9 }, "i32"):realize()
    same(apply("sum", x, { dims = { 1 }, blocks = 4, units = 40 }),
      apply("sum", x, { dims = { 1 } }), "sum")
    same(apply("prod", x, { dims = { 1 }, blocks = 4, units = 20 }),
      apply("prod", x, { dims = { 1 } }), "prod")
  end)

  it("agrees with the reference", function()
    local text = [[graph
input %0 arg "x" f32[12, 40]
input %1 arg "y" f32[40, 7]
%2 = sum(%0) {dims=[2], blocks=8, units=10} : f32[12]
%3 = sum(%0) {dims=[1], blocks=4, units=3} : f32[40]
%4 = prod(%0) {dims=[2], blocks=5, units=40} : f32[12]
%5 = dot(%0, %1) {blocks=8, units=10} : f32[12, 7]
output %2 ""
output %3 ""
output %4 ""
output %5 ""
]]
    local graph = core.parse(text)
    assert.equal(text, graph:text())
    local args = { sample("unit", 1, { 12, 40 }, "f32"), sample("real", 2, { 40, 7 }, "f32") }
    local got = graph:run(args)
    for i, want in ipairs(graph:eval(args)) do
      local wrong = engine.difference(engine.values(got[i]), engine.values(want), "f32",
        function() return 1e-4 end)
      assert.is_nil(wrong)
    end
  end)

  it("stays apart from the same without, and is told apart by the hash", function()
    local form = 'graph\ninput %%0 arg "x" f32[40, 4]\n%%1 = sum(%%0) {dims=[1]%s} : f32[4]\n'
      .. 'output %%1 ""\n'
    local plain, blocks = core.parse(form:format ""), core.parse(form:format ", blocks=8, units=40")
    assert.not_equal(plain:hash(), blocks:hash())
    assert.equal(plain:hash(), core.parse(form:format ", blocks=1, units=1"):hash())
    assert.truthy(plain:text():find("{dims=[1]}", 1, true))
  end)

  it("has the gradient that it has without", function()
    for _, op in ipairs { "sum", "prod" } do
      local x = sample("nonzero", 8, { 6, 8 }, "f32"):realize()
      local function gradient(attrs)
        return sgl.grad((apply(op, x, attrs) * sgl.arange(1, 9):float()):sum(), x)
      end
      same(gradient { dims = { 1 } }, gradient { dims = { 1 }, blocks = 2, units = 3 }, op)
    end
  end)

  it("refuses what cannot be cut", function()
    local x = sgl.ones(4, 10)
    local function message(op, inputs, attrs)
      local ok, e = pcall(apply, op, inputs, attrs)
      assert.is_false(ok)
      return tostring(e)
    end
    local function sum(attrs)
      attrs.dims = attrs.dims or { 2 }
      return message("sum", x, attrs)
    end
    assert.matches("number of blocks is out of range.*0 outside 1 to 256", sum { blocks = 0 })
    assert.matches("number of blocks is out of range.*257", sum { blocks = 257, units = 10 })
    assert.matches("10 elements in 3 units", sum { blocks = 4, units = 3 })
    assert.matches("number of units is out of range", sum { blocks = 4, units = 0 })
    assert.matches("blocks cut exactly one dim", sum { dims = { 1, 2 }, blocks = 2 })
    assert.matches("columns is 0 or 1", sum { columns = 2 })
    assert.matches("10 elements in 4 units",
      message("dot", { x, sgl.ones(10, 3) }, { blocks = 2, units = 4 }))
    assert.matches("3 elements in 2 units", message("scatter_add",
      { x, sgl.tensor({ 0, 1, 1 }, { dtype = "i32" }), sgl.ones(3, 10) },
      { dim = 1, blocks = 2, units = 2 }))
  end)
end)

describe("scatter_add in blocks", function()
  -- By the definition: for each row the tree of what the blocks of the index add, then x.
  local function by_hand(x, index, updates, blocks, units)
    local case = { blocks = blocks, units = units, size = index.shape[1] }
    local function leaf(i)
      local from, to = start(case, i), start(case, i + 1)
      local none = sgl.full(x.shape, -0.0)
      if from == to then return none end
      return apply("scatter_add", { none, index[{ { from + 1, to } }],
                                    updates[{ { from + 1, to } }] }, { dim = 1 })
    end
    return x + tree(add, leaf, 0, blocks)
  end

  it("is the tree of what each block of the index adds, and x", function()
    for _, s in ipairs { { 24, 5, 3 }, { 10, 7, 70 }, { 3, 4, 2 }, { 800, 50, 130 },
      { 64, 1, 1 } } do
      local n, rows, inner = table.unpack(s)
      for _, units in ipairs { n, 1, n % 8 == 0 and 8 or n } do
        local x = sample("real", 1, { rows, inner }, "f32"):realize()
        local index = (sgl.rand(n) * rows):floor():to("i32"):realize()
        local updates = sample("real", 2, { n, inner }, "f32"):realize()
        local got = apply("scatter_add", { x, index, updates },
          { dim = 1, blocks = 8, units = units })
        same(got, by_hand(x, index, updates, 8, units), ("%d rows, %d units"):format(n, units))
      end
    end
  end)

  it("cuts the first dim of an index of several, and agrees with the reference", function()
    local text = [[graph
input %0 arg "x" f32[3, 5, 4]
input %1 arg "i" i64[6, 2]
input %2 arg "u" f32[3, 6, 2, 4]
%3 = scatter_add(%0, %1, %2) {dim=2, blocks=4, units=3} : f32[3, 5, 4]
output %3 ""
]]
    local graph = core.parse(text)
    assert.equal(text, graph:text())
    local index = sgl.tensor({ { 0, 1 }, { 4, 4 }, { 2, 0 }, { 0, 0 }, { 4, 1 }, { 2, 2 } },
      { dtype = "i64" })
    local args = { sample("real", 1, { 3, 5, 4 }, "f32"), index,
                   sample("real", 2, { 3, 6, 2, 4 }, "f32") }
    local got, want = graph:run(args)[1], graph:eval(args)[1]
    assert.is_nil(engine.difference(engine.values(got), engine.values(want), "f32",
      function() return 1e-5 end))
  end)
end)
