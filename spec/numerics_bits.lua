-- numerics_bits.lua: prints a hash of the bits of many results, one "name hash" a line.
--
-- numerics_spec.lua runs it under each instruction set and number of threads: the lines must not
-- change. The sizes are those at which code takes another way: vectors and their tails, tiles,
-- chunks of rows (16,384), blocks of columns (128), panels and k blocks (384) of products, and
-- enough work for threads to share.

local sgl = require "sgl"
local core = require "sgl.core"

local apply, sample = core.apply, core.sample

local function hash(t)
  local bytes = t:bytes()
  bytes = bytes .. ("\0"):rep(-#bytes % 8)
  local h = 0xcbf29ce484222325
  for at = 1, #bytes, 8 * 64 do
    local n = math.min(64, (#bytes - at + 1) // 8)
    local words = { string.unpack("<" .. ("i8"):rep(n), bytes, at) }
    for i = 1, n do h = (h ~ words[i]) * 0x100000001b3 end
  end
  return h
end

local function show(name, t)
  print(("%s %016x"):format(name, hash(t)))
end

-- ---- each elementwise op over values of all kinds, more than a tile and a tail

for _, op in ipairs(core.ops()) do
  local elementwise = op.family == "unary" or op.family == "binary" or op.family == "test"
  for _, dtype in ipairs(elementwise and op.types[1] ~= "bool" and { "f32", "f16", "bf16", "i32" }
                         or {}) do
    local args = {}
    for i = 1, op.inputs do args[i] = sample("anything", i, { 5003 }, dtype) end
    show(op.name .. " " .. dtype, apply(op.name, args))
    for i = 1, op.inputs do args[i] = sample(op.domain, i, { 70001 }, "f32") end
    if dtype == "f32" then show(op.name .. " many", apply(op.name, args)) end
  end
end

-- ---- reductions of awkward sizes, over rows, columns and both

local ROWS = { 1, 7, 31, 32, 33, 63, 65, 1000, 16383, 16384, 16385, 40961, 200003 }
for _, n in ipairs(ROWS) do
  local x = sample("real", n, { n }, "f32")
  for _, op in ipairs { "sum", "reduce_max", "reduce_min" } do
    show(("%s [%d]"):format(op, n), apply(op, x, {}))
  end
  show(("argmax [%d]"):format(n), apply("argmax", x, { dims = { 1 } }))
  show(("cumsum [%d]"):format(n), apply("cumsum", x, { dim = 1 }))
end
local MATRICES = { { 3, 16390 }, { 127, 33 }, { 128, 32 }, { 129, 31 }, { 300, 1 }, { 1000, 7 },
                   { 700, 301 }, { 20000, 3 }, { 2, 100003 } }
for _, shape in ipairs(MATRICES) do
  for dim = 1, 2 do
    for _, dtype in ipairs { "f32", "f16", "bf16", "f64", "i32" } do
      local x = sample("real", dim, shape, dtype)
      show(("sum %s %dx%d over %d"):format(dtype, shape[1], shape[2], dim),
        apply("sum", x, { dims = { dim } }))
    end
    local y = sample("real", dim, shape, "f32")
    show(("prod %dx%d over %d"):format(shape[1], shape[2], dim),
      apply("prod", y:tanh() + 1, { dims = { dim } }))
  end
  show(("sum of all %dx%d"):format(shape[1], shape[2]),
    apply("sum", sample("real", 3, shape, "f32"), {}))
end
show("sum of a view", apply("sum", apply("permute", sample("real", 4, { 90, 70, 50 }, "f32"),
  { dims = { 3, 1, 2 } }), { dims = { 1, 3 } }))

-- ---- products of odd shapes, plain, transposed and in batches

local PRODUCTS = {
  { 1, 1, 1 }, { 1, 512, 784 }, { 2, 65, 383 }, { 3, 5, 7 }, { 6, 16, 384 }, { 7, 17, 385 },
  { 13, 33, 769 }, { 14, 32, 31 }, { 64, 10, 512 }, { 65, 65, 65 }, { 83, 64, 100 },
  { 85, 66, 400 }, { 145, 200, 90 }, { 500, 3, 64 }, { 3, 500, 64 }, { 200, 200, 1 },
  { 257, 129, 800 },
}
local function transposed(t) return apply("permute", t, { dims = { 2, 1 } }) end
for _, p in ipairs(PRODUCTS) do
  local m, n, k = table.unpack(p)
  local name = ("dot %dx%dx%d"):format(m, n, k)
  local a, b = sample("real", 1, { m, k }, "f32"), sample("real", 2, { k, n }, "f32")
  local at, bt = sample("real", 1, { k, m }, "f32"), sample("real", 2, { n, k }, "f32")
  show(name, apply("dot", { a, b }))
  show(name .. " a'", apply("dot", { transposed(at), b }))
  show(name .. " b'", apply("dot", { a, transposed(bt) }))
  show(name .. " a'b'", apply("dot", { transposed(at), transposed(bt) }))
end
show("dot in batches", apply("dot", { sample("real", 1, { 3, 16, 33, 20 }, "f32"),
  sample("real", 2, { 3, 16, 20, 35 }, "f32") }))
for _, dtype in ipairs { "f64", "f16", "bf16", "i32" } do
  show("dot " .. dtype, apply("dot", { sample("real", 1, { 67, 401 }, dtype),
    sample("real", 2, { 401, 70 }, dtype) }))
end

-- ---- indexing and random numbers

local index = sample("index", 1, { 9000 }, "i32", 300)
show("gather", apply("gather", { sample("real", 1, { 300, 40 }, "f32"), index }, { dim = 1 }))
show("scatter_add", apply("scatter_add", { sample("real", 1, { 300, 40 }, "f32"), index,
  sample("real", 2, { 9000, 40 }, "f32") }, { dim = 1 }))
show("argsort", apply("argsort", sample("anything", 1, { 50, 1001 }, "f32"), { dim = 2 }))
core.seed(5)
show("rand", core.rand({ 100003 }, 1))

-- ---- fused rows and a training step

local x = sample("real", 1, { 130, 257 }, "f32")
show("softmax", sgl.softmax(x, -1))
show("softmax of long rows", sgl.softmax(sample("real", 1, { 3, 70000 }, "f32"), -1))
show("layer norm", sgl.nn.functional.layer_norm(x, { 257 }))
show("gelu", sgl.nn.functional.gelu(x))

sgl.seed(3)
local model = sgl.nn.Sequential(sgl.nn.Conv2d(1, 5, 3), sgl.nn.ReLU(), sgl.nn.MaxPool2d(2),
  sgl.nn.Flatten(), sgl.nn.Linear(5 * 6 * 6, 31), sgl.nn.GELU(), sgl.nn.Dropout(0.2),
  sgl.nn.Linear(31, 10))
local optimizer = sgl.optim.AdamW(model:parameters(), { lr = 1e-2 })
local images = sample("real", 1, { 33, 1, 14, 14 }, "f32")
local labels = sample("index", 2, { 33 }, "i32", 10)
local step = sgl.compile(function(input, target)
  local loss = sgl.nn.cross_entropy(model(input), target)
  optimizer:minimize(loss, { clip_norm = 1 })
  return loss
end)
for i = 1, 4 do show("loss " .. i, step(images, labels)) end
for i, p in ipairs(model:parameters()) do show("parameter " .. i, p) end
