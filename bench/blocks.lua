-- blocks.lua: what a reduction in blocks costs beside the same without.
--
-- Runs each product and sum with 1, 4 and 8 blocks one after the other, many times, and prints the
-- least time of each with 1 block and the ratios to it. One thread, unless SGL_THREADS says more.
--
--   build/sgl bench/blocks.lua [repetitions]

local sgl = require "sgl"
local core = require "sgl.core"

local REPEATS = tonumber(arg and arg[1]) or 60
local BLOCKS = { 1, 4, 8 }

if not os.getenv "SGL_THREADS" then core.knob("threads", 1) end

local function types(shapes)
  local lines = {}
  for i, s in ipairs(shapes) do
    lines[i] = ('input %%%d arg "" f32[%s]'):format(i - 1, table.concat(s, ", "))
  end
  return table.concat(lines, "\n")
end

-- A graph of one reduction of size k in `blocks` blocks.
local function graph(case, blocks)
  local attrs = {}
  if case.attrs then attrs[1] = case.attrs end
  if blocks > 1 then attrs[#attrs + 1] = ("blocks=%d, units=%d"):format(blocks, case.units) end
  local list = {}
  for i = 1, #case.inputs do list[i] = "%" .. i - 1 end
  return core.parse(("graph\n%s\n%%9 = %s(%s) %s : f32[%s]\noutput %%9 \"\"\n"):format(
    types(case.inputs), case.op, table.concat(list, ", "),
    #attrs > 0 and "{" .. table.concat(attrs, ", ") .. "}" or "", table.concat(case.out, ", ")))
end

local function measure(case)
  local graphs, args, least = {}, {}, {}
  for i, s in ipairs(case.inputs) do args[i] = sgl.randn(table.unpack(s)):realize() end
  for i, blocks in ipairs(BLOCKS) do graphs[i], least[i] = graph(case, blocks), math.huge end
  for _ = 1, REPEATS do
    for i, g in ipairs(graphs) do
      local start = core.clock()
      g:run(args)
      least[i] = math.min(least[i], core.clock() - start)
    end
  end
  print(("%-28s %9.1f us   %5.2f   %5.2f"):format(case.name, least[1] * 1e6, least[2] / least[1],
    least[3] / least[1]))
end

local PRODUCTS = { { 256, 128, 64 }, { 512, 512, 64 }, { 256, 128, 128 }, { 768, 512, 128 },
                   { 256, 128, 384 }, { 256, 128, 512 }, { 64, 512, 784 }, { 128, 512, 768 },
                   { 256, 256, 3072 } }
local SUMS = { { { 768, 512 }, 1 }, { { 64, 512 }, 1 }, { { 768, 512 }, 2 }, { { 12, 100000 }, 2 } }

print("                                one block   4 blocks  8 blocks: times as long")
for _, p in ipairs(PRODUCTS) do
  local m, n, k = table.unpack(p)
  measure { name = ("dot %d x %d, k = %d"):format(m, n, k), op = "dot", units = k,
            inputs = { { m, k }, { k, n } }, out = { m, n } }
end
for _, s in ipairs(SUMS) do
  local shape, dim = s[1], s[2]
  measure { name = ("sum %d x %d over dim %d"):format(shape[1], shape[2], dim), op = "sum",
            attrs = ("dims=[%d]"):format(dim), units = shape[dim], inputs = { shape },
            out = { shape[3 - dim] } }
end
