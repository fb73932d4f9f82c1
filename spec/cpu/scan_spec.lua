-- scan_spec.lua: running sums stay exact to the dtype however long they are, from either end, with
-- infinities, signs of zero and lines side by side.

local sgl = require "sgl"

describe("cumsum", function()
  it("of three million tenths is right to the last bit but one", function()
    for dtype, ulp in pairs { f32 = 2.0 ^ -23, f64 = 2.0 ^ -52 } do
      local x = sgl.full({ 3000000 }, 0.1, { dtype = dtype })
      local tenth = x[1]:double():item()
      for _, reverse in ipairs { false, true } do
        local sum = x:cumsum(1, { reverse = reverse })[reverse and 1 or 3000000]:double():item()
        assert.are.near(3000000 * tenth, sum, 300000 * ulp)
      end
    end
  end)

  it("of halves is f32 inside and rounded once", function()
    local sum = sgl.full({ 3000 }, 1, { dtype = "f16" }):cumsum(1)
    assert.are.equal(3000.0, sum[3000]:item())
  end)

  it("keeps infinities and zeros", function()
    local inf = math.huge
    for _, dtype in ipairs { "f32", "f64" } do
      local x = sgl.tensor({ { -0.0, -0.0, 1, inf, 2 }, { 1e30, 1, -1e30, -inf, inf } }, dtype)
      local sum = x:cumsum(2):tolist()
      assert.are.equal(-inf, 1 / sum[1][2])
      assert.are.same({ 1.0, inf, inf }, { sum[1][3], sum[1][4], sum[1][5] })
      assert.are.equal(-inf, sum[2][4])
      assert.is_true(sum[2][5] ~= sum[2][5])
    end
  end)

  it("gives each of many lines side by side the bits of that line alone", function()
    sgl.seed(4)
    local x = sgl.randn(40, 1030):realize()
    local all = x:cumsum(1)
    for _, j in ipairs { 1, 7, 1024, 1025, 1030 } do
      assert.is_true(all[{ {}, j }]:equal(x[{ {}, j }]:cumsum(1)))
    end
  end)
end)
