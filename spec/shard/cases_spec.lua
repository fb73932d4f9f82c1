-- cases_spec.lua: what went wrong elsewhere on several ranks: values worked out by hand, the same
-- on one rank, on meshes that share samples, state and dims, and with uneven parts.

local support = require "spec.support"

local SCRIPT = [[
local sgl = require "sgl"
local nn, dist = sgl.nn, sgl.dist
sgl.seed(5)
local function show(what, ...)
  local words = { what }
  for _, t in ipairs { ... } do
    for _, v in ipairs(t:flatten():tolist()) do words[#words + 1] = ("%.6g"):format(v) end
  end
  print(table.concat(words, " "))
end

-- Statistics of all rows, not of each rank's.
local norm = nn.BatchNorm1d(1)
sgl.compile(function(x) return norm(x) end)(sgl.tensor { 0, 0, 0, 10, 5 }:float():reshape(5, 1))
show("batch norm", norm.running_mean, norm.running_var)

-- Norms of a gradient that is whole, shared by one axis, and by another.
local a, b, c = sgl.zeros(1), sgl.zeros(1), sgl.zeros(2)
dist.place(c, dist.shard(1, "model"))
local opt = sgl.optim.SGD({ a, b, c }, { lr = 1 })
local clip = sgl.compile(function(x)
  local loss = ((3 * a - 4 * b) * x:mean() + (c * sgl.tensor { 1, -2 }):sum() * x:mean()):sum()
  local list, squares, ones, most = sgl.grad(loss, { a, b, c }), 0, 0, nil
  for _, g in ipairs(list) do
    squares, ones = squares + (g * g):sum(), ones + g:abs():sum()
    most = most and sgl.maximum(most, g:abs():max()) or g:abs():max()
  end
  opt:minimize(loss, { clip_norm = 30 ^ 0.5 / 2 })
  return squares:sqrt(), ones, most
end)
show("norms", clip(sgl.ones(5)))
show("clipped", a, b, c)

-- What is added to a short part is neutral for each reduction.
local rows = sgl.tensor { -5, -3, -4, -1, -2 }:float()
show("rows", sgl.compile(function(x)
  return x:max(), x:min(), x:prod(), x:mean(), x:argmax():float(), x:logsumexp(1)
end)(rows))

-- A table by vocabulary: row 3 is kept out, rows 0 and 3 have the same place on two ranks.
local words = dist.place(sgl.zeros(5, 1), dist.shard(1, "model"))
show("embedding", sgl.compile(function(ids)
  local got = words[{ ids }] * ids:ne(3):float():reshape(-1, 1)
  return sgl.grad(got:sum(), words)
end)(sgl.tensor({ 3, 0, 4, 0 }, "i32")))

-- A moving average of state that ranks share unevenly.
local e, w = sgl.zeros(5), sgl.zeros(5)
local average = sgl.compile(function(x)
  w:assign(w + x:mean())
  e:assign(0.9 * e + 0.1 * w)
end)
for _ = 1, 3 do average(sgl.ones(3)) end
show("average", e)

-- The gradient of what is whole inside a region that an axis shares: summed, not averaged.
local g = sgl.ones(2)
show("gain", sgl.compile(function(x)
  dist.place(x, dist.shard(1, "data", "fsdp", "model"))
  return sgl.grad((x * g):sum(), g)
end)(sgl.tensor { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 } }:float()))

-- An optimizer that needs the norm of a whole tensor.
local p, u = sgl.tensor { 3, 0, 0, 4 }:float(), sgl.tensor { 1, 0, 0, 0 }:float()
dist.place(p, dist.shard(1, "model"))
sgl.compile(function(x)
  local function size(t) return (t * t):sum():sqrt() end
  p:assign(p - 0.1 * x:mean() * size(p) / size(u) * u)
end)(sgl.ones(6))
show("trust", p)

-- Initial values come from the whole shape, numbers from the place in the whole.
local linear = nn.Linear(64, 8)
dist.place(linear.weight, dist.shard(2, "model"))
show("fan", linear.weight:abs():max():lt(0.125):float(), linear.weight:abs():max():gt(0.12):float())
local draw = sgl.compile(function(x)
  local r = sgl.randn(6, 10)
  dist.place(r, dist.shard(2, "model"), dist.shard(1, "data"))
  return (r * 2 + x:mean() - x:mean()), sgl.randn(3)
end)
show("draws", draw(sgl.ones(4)))
show("draws", draw(sgl.ones(4)))

-- Means of halves, and of the counts of a metric.
local mean = sgl.compile(function(x) return x:mean():float() end)
show("halves", mean(sgl.full({ 4 }, 30000, { dtype = "f16" })),
  mean(sgl.full({ 4 }, 5.96e-8, { dtype = "f16" })))
local right, seen = 0, 0
local count = sgl.compile(function(hit) return hit:sum(), hit:ne(2):float():sum() end)
for _, batch in ipairs { { 1, 1, 0, 1 }, { 1, 0, 1, 1 }, { 1, 0 } } do
  local r, n = count(sgl.tensor(batch):float())
  right, seen = right + r:item(), seen + n:item()
end
print("accuracy", right / seen, seen)
]]

local EXPECTED = {
  ["batch norm"] = "0.3 2.9", norms = "5.47723 10 4", clipped = "-1.5 2 -0.5 1",
  rows = "-1 -5 -120 -3 3 -0.548086", embedding = "2 0 0 0 1",
  average = "0.561 0.561 0.561 0.561 0.561", gain = "16 20", trust = "2.5 0 0 4", fan = "1 1",
  halves = "30000 5.96046e-08",
}

describe("on any mesh", function()
  local folder, alone = support.folder(), nil
  support.write(folder .. "s.lua", SCRIPT)
  local function output(words)
    local out, status = support.run(("%s %s %ss.lua"):format(support.binary, words, folder))
    assert.are.equal(0, status, words .. "\n" .. out)
    return out
  end
  teardown(function() support.remove(folder) end)

  it("values are those of one rank: by hand", function()
    alone = output "--exact 8"
    for name, values in pairs(EXPECTED) do
      assert.truthy(("\n" .. alone):find("\n" .. name .. " " .. values .. "\n", 1, true),
        name .. "\n" .. alone)
    end
    assert.truthy(alone:find("accuracy\t0.7\t10.0\n", 1, true), alone)
  end)

  for _, words in ipairs { "run -n 2", "run -n 4", "run -n 3 --plan fsdp",
    "run -n 2 --plan model=2", "run -n 4 --plan data=2,model=2",
    "run -n 4 --plan fsdp=2,model=2" } do
    it("values are those of one rank: " .. words, function()
      assert.are.equal(alone, output(words .. " --exact 8"))
    end)
  end
end)
