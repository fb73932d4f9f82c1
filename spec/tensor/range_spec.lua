-- range_spec.lua: a number that an integer dtype has not is refused, whoever makes a tensor of it;
-- what only loses a fraction is cut off, as PyTorch does, and casts of tensors saturate as stated.

local sgl = require "sgl"
local support = require "spec.support"

-- Functions of a number; `unfit` are numbers that they refuse, `fit` those that they take, each
-- with the value that comes out first.
local ROWS = {
  { "full u8", function(k) return sgl.full(2, k, { dtype = "u8" }) end,
    unfit = { 256, -1, 300.0, -1.5, 1 / 0 }, fit = { [255] = 255, [0] = 0, [2.5] = 2 } },
  { "full i32", function(k) return sgl.full(2, k, { dtype = "i32" }) end,
    unfit = { 1 << 31, 2.0 ^ 31, -2.0 ^ 31 - 1, 1e10 }, fit = { [-5] = -5, [7.9] = 7 } },
  { "full i64", function(k) return sgl.full(2, k, { dtype = "i64" }) end,
    unfit = { 2.0 ^ 63, 1e300, -1e300 }, fit = { [1 << 62] = 1 << 62 } },
  { "full_like", function(k) return sgl.zeros(2, { dtype = "u8" }):full_like(k) end,
    unfit = { 256, -1 }, fit = { [255] = 255 } },
  { "a list", function(k) return sgl.tensor({ k, 1 }, "u8") end,
    unfit = { 256, -1 }, fit = { [255] = 255 }, constant = true },
  { "t[key] = v", function(k)
    local t = sgl.zeros(2, { dtype = "u8" })
    t[1] = k
    return t
  end, unfit = { 256, -1, 300.5 }, fit = { [200] = 200, [2.5] = 2 } },
  { "t[mask] = v", function(k)
    local t = sgl.zeros(2, { dtype = "i32" })
    t[sgl.tensor { true, false }] = k
    return t
  end, unfit = { 2.0 ^ 40 }, fit = { [-3] = -3 } },
  { "nn.init.constant", function(k)
    return sgl.nn.init.constant(sgl.zeros(2, { dtype = "u8" }), k)
  end, unfit = { 256 }, fit = { [9] = 9 }, constant = true },
  { "pad", function(k)
    return sgl.zeros(2, { dtype = "u8" }):pad({ 1, 1 }, { value = k })
  end, unfit = { 256, -1 }, fit = { [9] = 9 }, constant = true },
  { "arange u8", function(k) return sgl.arange(k, { dtype = "u8" }):flip(1) end,
    unfit = { 257 }, fit = { [256] = 255 }, constant = true },
  { "arange below 0", function(k) return sgl.arange(k, 2, { dtype = "u8" }) end,
    unfit = { -1 }, fit = { [0] = 0 }, constant = true },
  { "arange i32", function(k) return sgl.arange(k, k + 2) end,
    unfit = { 1 << 40 }, fit = { [5] = 5 }, constant = true },
  { "linspace", function(k) return sgl.linspace(k, 5, 3, { dtype = "u8" }) end,
    unfit = { 256, -5 }, fit = { [255] = 255 }, constant = true },
  { "linspace i32", function(k) return sgl.linspace(k, 5, 3, { dtype = "i32" }) end,
    unfit = { 1e10 }, fit = { [255] = 255 }, constant = true },
  { "logspace", function(k) return sgl.logspace(k, 1, 3, { dtype = "i32" }) end,
    unfit = { 10, 400 }, fit = { [2] = 100 }, constant = true },
  { "randint u8", function(k) return sgl.randint(k, k + 1, { 2 }, { dtype = "u8" }) end,
    unfit = { 256, -1 }, fit = { [255] = 255 }, constant = true },
  { "randint bool", function(k) return sgl.randint(0, k, { 2 }, { dtype = "bool" }):int() * 0 end,
    unfit = { 3 }, fit = { [2] = 0 }, constant = true },
  { "randperm", function(k) return sgl.randperm(k, { dtype = "u8" }):max():reshape(1) end,
    unfit = { 257 }, fit = { [256] = 255 }, constant = true },
}

-- The ways in which a function of a number runs. A number of a step is one where it can be.
local function ways(row, k)
  local fn = row[2]
  local list = { function() return fn(k) end, sgl.compile(function() return fn(k) end),
                 sgl.compile(function() return fn(k) end, { fullgraph = false }) }
  if not row.constant then
    local step = sgl.compile(fn)
    list[4] = function() return step(k) end
  end
  return list
end

for _, row in ipairs(ROWS) do
  describe(row[1], function()
    it("refuses what its dtype has not", function()
      for _, k in ipairs(row.unfit) do
        for way, fn in ipairs(ways(row, k)) do
          local e = support.error_of(fn)
          assert.are.equal("SGL_EARG", e.code, ("%s, way %d"):format(k, way))
          assert.matches("does not fit into", e.message)
        end
      end
    end)

    it("takes what it has", function()
      for k, want in pairs(row.fit) do
        for _, fn in ipairs(ways(row, k)) do assert.are.equal(want, fn()[1]:item()) end
      end
    end)
  end)
end

describe("draws of floats", function()
  it("refuse dtypes that would make them all 0", function()
    for _, fn in ipairs { function() return sgl.rand(2, { dtype = "i32" }) end,
                          function() return sgl.randn(2, { dtype = "u8" }) end,
                          function() return sgl.zeros(2, { dtype = "bool" }):rand_like() end } do
      assert.are.equal("SGL_EDTYPE", support.error_of(fn).code)
      assert.are.equal("SGL_EDTYPE", support.error_of(sgl.compile(fn)).code)
    end
    assert.are.equal("f64", sgl.zeros(2, { dtype = "i32" }):rand_like({ dtype = "f64" }).dtype)
  end)
end)

describe("a cast of a tensor", function()
  it("truncates and saturates, as documented", function()
    local t = sgl.tensor { -1.5, 2.9, 300, 1e10 }
    assert.are.same({ 0, 2, 255, 255 }, t:to("u8"):tolist())
    assert.are.same({ -1, 2, 300, 2147483647 }, t:int():tolist())
  end)
end)
