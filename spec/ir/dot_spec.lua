-- dot_spec.lua: products with several free dims on the left and several inner dims: the bits and
-- the gradients of the flattened product, with no reshape recorded.

local sgl = require "sgl"
local core = require "sgl.core"
local engine = require "spec.engine"

local apply, sample = core.apply, core.sample

local function real(seed, ...)
  return sample("real", seed, { ... }, "f32"):realize()
end

local function same(a, b)
  assert.is_true(a:bytes() == b:bytes())
end

describe("a product with several free dims", function()
  local x, w = real(1, 5, 6, 7), real(2, 7, 4)

  it("has the bits of the flattened one", function()
    local y = x:matmul(w)
    assert.same({ 5, 6, 4 }, y.shape)
    same(x:reshape(30, 7):matmul(w):reshape(5, 6, 4), y)
    same(x:reshape(30, 7):matmul(w[{ {}, 1 }]):reshape(5, 6), x:matmul(w[{ {}, 1 }]))
  end)

  it("reads operands where they lie, or a copy where their dims have no one stride", function()
    local turned = apply("permute", real(3, 6, 5, 7), { dims = { 2, 1, 3 } })
    same(turned:reshape(30, 7):matmul(w):reshape(5, 6, 4), turned:matmul(w))
    local part = apply("slice", real(4, 5, 9, 7), { start = { 0, 2, 0 }, stop = { 5, 8, 7 } })
    same(part:reshape(30, 7):matmul(w):reshape(5, 6, 4), part:matmul(w))
    local one = real(5, 5, 1, 7)
    same(one:reshape(5, 7):matmul(w):reshape(5, 1, 4), one:matmul(w))
  end)

  it("has the gradients of the flattened one, without a reshape of an operand", function()
    local weights = real(6, 5, 6, 4)
    local function gradients(a)
      local dims = a.ndim == 3 and { 5, 6, 4 } or { 30, 4 }
      local loss = (a:matmul(w) * weights:reshape(table.unpack(dims))):sum()
      return sgl.grad(loss, a), sgl.grad(loss, w)
    end
    local dx, dw = gradients(x)
    local fx, fw = gradients(x:reshape(30, 7):realize())
    same(fx:reshape(5, 6, 7), dx)
    same(fw, dw)
    local layer = sgl.compile(function(a) return a:matmul(w) end)
    layer(x)
    assert.falsy(layer:graph():text():find("reshape", 1, true))
  end)

  it("serves every size of its free dims", function()
    local b, t = sgl.dim("rows", { max = 64 }), sgl.dim("columns", { max = 64 })
    local f = sgl.compile(function(a) return a:matmul(w) end, { inputs = { sgl.spec { b, t, 7 } } })
    for _, s in ipairs { { 2, 3 }, { 1, 5 }, { 4, 1 }, { 1, 1 }, { 7, 9 } } do
      local a = real(s[1], s[1], s[2], 7)
      same(a:reshape(s[1] * s[2], 7):matmul(w):reshape(s[1], s[2], 4), f(a))
    end
  end)
end)

describe("a product with several inner dims", function()
  local a, b = real(1, 2, 3, 5, 6), real(2, 2, 5, 6, 4)
  local flat_a, flat_b = a:reshape(2, 3, 30), b:reshape(2, 30, 4)

  it("has the bits of the one over their product, in blocks too", function()
    same(apply("dot", { flat_a, flat_b }), apply("dot", { a, b }, { inner = 2 }))
    local attrs = { blocks = 8, units = 10 }
    local whole = apply("dot", { flat_a, flat_b }, attrs)
    attrs.inner = 2
    same(whole, apply("dot", { a, b }, attrs))
  end)

  it("agrees with the reference and keeps its text", function()
    local text = [[graph
input %0 arg "a" f32[2, 3, 2, 5, 6]
input %1 arg "b" f32[2, 5, 6, 4]
%2 = dot(%0, %1) {blocks=4, units=5, inner=2} : f32[2, 3, 2, 4]
output %2 ""
]]
    local graph = core.parse(text)
    assert.equal(text, graph:text())
    local args = { real(3, 2, 3, 2, 5, 6), real(4, 2, 5, 6, 4) }
    local got, want = graph:run(args)[1], graph:eval(args)[1]
    assert.is_nil(engine.difference(engine.values(got), engine.values(want), "f32",
      function() return 1e-4 end))
  end)

  it("has the gradients of the flattened one", function()
    local weights = real(5, 2, 3, 4)
    local function gradients(x, y, attrs)
      local loss = (apply("dot", { x, y }, attrs) * weights):sum()
      return sgl.grad(loss, x), sgl.grad(loss, y)
    end
    local da, db = gradients(a, b, { inner = 2 })
    local fa, fb = gradients(flat_a, flat_b, {})
    same(fa:reshape(2, 3, 5, 6), da)
    same(fb:reshape(2, 5, 6, 4), db)
  end)

  it("refuses dims that do not fit", function()
    local function message(x, y, attrs)
      local ok, e = pcall(apply, "dot", { x, y }, attrs)
      assert.is_false(ok)
      return tostring(e)
    end
    assert.matches("number of inner dims is out of range.*0 outside 1 to 3",
      message(a, b, { inner = 0 }))
    assert.matches("number of inner dims is out of range.*4 outside 1 to 3",
      message(a, b, { inner = 4 }))
    assert.matches("inner dimensions differ.*6 against 7",
      message(a, sgl.ones(2, 5, 7, 4), { inner = 2 }))
    assert.matches("batch dimensions differ.*dim 1: 2 against 3",
      message(a, sgl.ones(3, 5, 6, 4), { inner = 2 }))
    assert.matches("numbers of dims differ.*2 against 3",
      message(sgl.ones(3, 5), sgl.ones(2, 5, 4)))
  end)
end)
