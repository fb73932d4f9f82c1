-- subrange_spec.lua: an element's bits depend on its operands and the length reduced only: every
-- range of rows and columns, computed alone, has the bits of the whole. So it is the same element
-- whichever code runs: one row or many, few columns, tails of tiles, pieces of k, strided operands,
-- each instruction set, one thread or two, in blocks or not.

local sgl = require "sgl"
local core = require "sgl.core"
local engine = require "spec.engine"

local apply, sample = core.apply, core.sample

local function slice(x, start, stop)
  local step = {}
  for d = 1, #start do step[d] = 1 end
  return apply("slice", x, { start = start, stop = stop, step = step })
end

-- Deterministic, so that a failure repeats.
local state = 1
local function random(lo, hi)
  state = (state * 6364136223846793005 + 1442695040888963407)
  return lo + (state >> 33) % (hi - lo + 1)
end

-- Ranges of n things: the ends, single ones, and some at random.
local function ranges(n)
  local list = { { 0, 1 }, { n - 1, n }, { 0, n - 1 }, { 1, n } }
  for _ = 1, math.max(2, engine.times(8)) do
    local from = random(0, n - 1)
    list[#list + 1] = { from, random(from + 1, n) }
  end
  local kept = {}
  for _, r in ipairs(list) do if r[1] < r[2] and r[1] >= 0 then kept[#kept + 1] = r end end
  return kept
end

local function same(part, whole, ...)
  if part:bytes() ~= whole:bytes() then error((...):format(select(2, ...)), 0) end
end

-- ---- products

-- m, n, k; what is special about them
local PRODUCTS = {
  { 37, 45, 800, "tails, three pieces of k" }, { 1, 300, 900, "one row" },
  { 90, 1, 1000, "one column" }, { 2, 70, 384, "two rows, a whole piece of k" },
  { 200, 5, 385, "few columns, a piece and one" }, { 14, 33, 383, "one register tile" },
  { 170, 140, 64, "more than a block of rows" }, { 9, 2100, 40, "more than a block of columns" },
}
local LAYOUTS = { "plain", "a turned", "b turned", "strided" }

-- A matrix whose rows and columns lie as the layout says.
local function matrix(seed, rows, columns, dtype, layout, side)
  if layout == "strided" then
    local wide = sample("real", seed, { rows, columns + 3 }, dtype):realize()
    return slice(wide, { 0, 2 }, { rows, columns + 2 })
  end
  if layout == side .. " turned" then
    return apply("permute", sample("real", seed, { columns, rows }, dtype):realize(),
      { dims = { 2, 1 } })
  end
  return sample("real", seed, { rows, columns }, dtype):realize()
end

local function check_product(shape, dtype, layout, blocks)
  local m, n, k = table.unpack(shape)
  local a = matrix(1, m, k, dtype, layout, "a")
  local b = matrix(2, k, n, dtype, layout, "b")
  local attrs = { blocks = blocks, units = blocks > 1 and k or 1 }
  local whole = apply("dot", { a, b }, attrs):realize()
  local columns = ranges(n)
  for i, r in ipairs(ranges(m)) do
    local c = columns[i % #columns + 1]
    same(apply("dot", { slice(a, { r[1], 0 }, { r[2], k }), slice(b, { 0, c[1] }, { k, c[2] }) },
      attrs), slice(whole, { r[1], c[1] }, { r[2], c[2] }),
      "%s, %s, %s, %d blocks: rows %d to %d, columns %d to %d", shape[4], dtype, layout, blocks,
      r[1], r[2], c[1], c[2])
  end
end

-- ---- reductions of a matrix

local MATRICES = {
  { 37, 45, "rows in lanes" }, { 300, 5, "blocks of columns" }, { 5, 31, "shorter than the lanes" },
  { 20000, 3, "columns split over chunks" }, { 3, 20000, "chunks of rows" },
  { 700, 301, "many tiles" }, { 129, 40, "a block and one" }, { 2, 5000, "longer than a tile" },
}

-- A range of columns has the order of columns however few are left: `columns` says so.
local function check_reduction(shape, op, dim, dtype, blocks)
  local kept, size = shape[3 - dim], shape[dim]
  local x = sample(op == "sum" and "real" or "nonzero", 3, { shape[1], shape[2] }, dtype):realize()
  local attrs = { dims = { dim }, blocks = blocks, units = blocks > 1 and size or 1,
                  columns = dim == 1 and 1 or 0 }
  local whole = apply(op, x, attrs):realize()
  for _, r in ipairs(ranges(kept)) do
    for _, packed in ipairs { false, true } do
      local part = dim == 1 and slice(x, { 0, r[1] }, { size, r[2] })
        or slice(x, { r[1], 0 }, { r[2], size })
      if packed then part:realize() end
      same(apply(op, part, attrs), slice(whole, { r[1] }, { r[2] }),
        "%s over dim %d, %s, %s, %d blocks: %d to %d", op, dim, shape[3], dtype, blocks, r[1], r[2])
    end
  end
end

-- A row that goes through several reductions in one kernel.
local function softmax(x) return x:softmax(-1) end

local function check_rows(n)
  local x = sample("real", 4, { 40, n }, "f32"):realize()
  local whole = softmax(x):realize()
  for _, r in ipairs(ranges(40)) do
    same(softmax(slice(x, { r[1], 0 }, { r[2], n })), slice(whole, { r[1], 0 }, { r[2], n }),
      "softmax of %d: %d to %d", n, r[1], r[2])
  end
end

-- Ranges of what scatter_add leaves alone: the dims before and behind the scattered one.
local function check_scatter(blocks)
  local x = sample("real", 5, { 6, 9, 70 }, "f32"):realize()
  local index = sgl.tensor({ 3, 0, 3, 8, 3, 1, 0, 3 }, { dtype = "i32" })
  local updates = sample("real", 6, { 6, 8, 70 }, "f32"):realize()
  local attrs = { dim = 2, blocks = blocks, units = blocks > 1 and 8 or 1 }
  local whole = apply("scatter_add", { x, index, updates }, attrs):realize()
  local columns = ranges(70)
  for i, r in ipairs(ranges(6)) do
    local c = columns[i % #columns + 1]
    local first, stop = { r[1], 0, c[1] }, { r[2], 9, c[2] }
    same(apply("scatter_add", { slice(x, first, stop), index,
      slice(updates, first, { r[2], 8, c[2] }) }, attrs), slice(whole, first, stop),
      "scatter_add in %d blocks", blocks)
  end
end

-- ---- every instruction set, one thread and two

local function sets()
  local list = {}
  for _, name in ipairs { "portable", "avx2", "avx512" } do
    core.knob("isa", name)
    if pcall(function() return (sgl.ones(3) + 1):bytes() end) then list[#list + 1] = name end
  end
  core.knob("isa", "auto")
  return list
end

local function settings(set, threads)
  core.knob("isa", set)
  core.knob("threads", threads)
end

describe("a range of rows and columns has the bits of the whole #slow", function()
  local isa, threads = core.knob "isa", core.knob "threads"
  after_each(function() settings(isa, threads) end)

  for _, set in ipairs(sets()) do
    for count = 1, 2 do
      local where = (" with %s, %d threads"):format(set, count)

      it("in products" .. where, function()
        settings(set, count)
        for i, shape in ipairs(PRODUCTS) do
          for j, layout in ipairs(LAYOUTS) do
            check_product(shape, "f32", layout, (i + j) % 2 == 0 and 8 or 1)
          end
          check_product(shape, "f32", "plain", 1)
          check_product(shape, "f64", "plain", i % 2 == 0 and 4 or 1)
          check_product(shape, i % 2 == 0 and "f16" or "bf16", "plain", 1)
        end
      end)

      it("in sums and products of elements" .. where, function()
        settings(set, count)
        for i, shape in ipairs(MATRICES) do
          for dim = 1, 2 do
            for blocks = 1, 8, 7 do check_reduction(shape, "sum", dim, "f32", blocks) end
            check_reduction(shape, "prod", dim, "f32", i % 2 == 0 and 8 or 1)
            check_reduction(shape, "sum", dim, i % 2 == 0 and "f16" or "f64", 1)
          end
        end
      end)

      it("in rows and in scatter_add" .. where, function()
        settings(set, count)
        for _, n in ipairs { 7, 33, 500, 4096, 5000 } do check_rows(n) end
        for blocks = 1, 8, 7 do check_scatter(blocks) end
      end)
    end
  end

  it("whatever the set, in blocks", function()
    local first
    for _, set in ipairs(sets()) do
      settings(set, 1)
      local a, b = sample("real", 1, { 37, 900 }, "f32"), sample("real", 2, { 900, 45 }, "f32")
      local c = apply("dot", { a, b }, { blocks = 8, units = 900 }):bytes()
        .. apply("sum", a, { dims = { 2 }, blocks = 8, units = 900 }):bytes()
        .. apply("sum", b, { dims = { 1 }, blocks = 8, units = 10 }):bytes()
      first = first or c
      assert.is_true(first == c, set)
    end
  end)
end)
