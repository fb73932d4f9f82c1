-- mask_spec.lua: masked and slice writes are selects: right values and gradients inside
-- sgl.compile, as if executed line by line.

local sgl = require "sgl"
local support = require "spec.support"

local function both(fn, ...)
  local plain, compiled = { fn(...) }, { sgl.compile(fn)(...) }
  for i, t in ipairs(plain) do support.close(compiled[i], t, 1e-6, 1e-7, "result " .. i) end
  return table.unpack(compiled)
end

local function process(h) return (h * 2):sin() + h:sum(2, { keepdim = true }) end

describe("a masked write", function()
  local mask = sgl.tensor { true, false, true }

  it("writes what was made of the selected rows", function()
    local h = sgl.randn(3, 4)
    local out = h * 0.5
    out[mask] = process(h[mask])
    local want = mask:reshape(3, 1):where(process(h), h * 0.5)
    support.close(out, want)
  end)

  it("has the same values and gradients when all rows are made, the selected written", function()
    local h = sgl.randn(3, 4)
    local function selected(x)
      local out = x * 0.5
      out[mask] = process(x[mask])
      return out, sgl.grad((out * out):sum(), x)
    end
    local function masked(x)
      local out = x * 0.5
      out[mask] = process(x)
      return out, sgl.grad((out * out):sum(), x)
    end
    local a, da = selected(h)
    local b, db = both(masked, h)
    support.close(b, a)
    support.close(db, da)
  end)

  it("refuses to select inside a step, and says how to write it", function()
    local e = support.error_of(sgl.compile(function(x)
      local out = x * 0.5
      out[mask] = process(x[mask])
      return out
    end), sgl.ones(3, 4))
    assert.are.equal("SGL_ESTATE", e.code)
    assert.is_truthy(e.hint:find("t[mask] = f(t)", 1, true))
  end)

  it("takes a number, a scalar, a list of what is selected", function()
    both(function(x)
      local a, b, c = x * 1, x * 1, x * 1
      a[x:gt(0)] = 7
      b[x:gt(0)] = x:sum()
      c[sgl.tensor { true, false, true }] = sgl.tensor { { 1.0, 2.0 }, { 3.0, 4.0 } }
      return a, b, c
    end, sgl.tensor { { 1.0, -2.0 }, { 3.0, 4.0 }, { -5.0, 6.0 } })
  end)

  it("refuses as many values as are not selected", function()
    local t = sgl.zeros(3, 2)
    local e = support.error_of(function() t[mask] = sgl.ones(1, 2) end)
    assert.are.equal("t[mask] = v: 2 elements are selected, but v is f32[1, 2]", e.message)
    e = support.error_of(function() t[mask] = sgl.ones(5) end)
    assert.is_truthy(e.message:find("as many values as are selected, or f32[3, 2], got f32[5]", 1,
      true))
  end)

  it("refuses at each run as many values as are not selected", function()
    local f = sgl.compile(function(m, v)
      local t = sgl.zeros(3)
      t[m] = v
      return t
    end)
    local two, one = sgl.tensor { true, false, true }, sgl.tensor { false, true, false }
    assert.are.same({ 5.0, 0.0, 6.0 }, f(two, sgl.tensor { 5.0, 6.0 }):tolist())
    local e = support.error_of(f, one, sgl.tensor { 5.0, 6.0 })
    assert.are.equal("t[mask] = v: 1 elements are selected, but v is f32[2]", e.message)
    assert.are.same({ 0.0, 7.0, 0.0 }, f(one, sgl.tensor { 7.0 }):tolist())
    assert.are.equal("SGL_ESHAPE", support.error_of(f, two, sgl.tensor { 7.0 }).code)
    assert.are.equal("SGL_ESHAPE", support.error_of(f, two, sgl.zeros(0)).code)
  end)

  it("keeps gradients finite where what is left out has none", function()
    local _, dx = both(function(x)
      local out = x * 1
      out[x:gt(0)] = x:sqrt()
      return out, sgl.grad(out:sum(), x)
    end, sgl.tensor { 4.0, 0.0, -1.0 })
    assert.are.same({ 0.25, 1.0, 1.0 }, dx:tolist())
  end)
end)

describe("a write in place", function()
  it("is seen by every later reader, also of what a function returned unchanged", function()
    local function f(given)
      local x = given:clone()
      local kept = x + 0
      local y = sgl.nn.dropout(x, 0.5, { training = false })
      y[1] = 7
      local z = y * 2
      y[{ { 2, 3 } }] = -1
      return kept, x * 1, y, z
    end
    local kept, x, y, z = both(f, sgl.ones(4))
    assert.are.same({ 1.0, 1.0, 1.0, 1.0 }, kept:tolist())
    assert.are.same(y:tolist(), x:tolist())
    assert.are.same({ 7.0, -1.0, -1.0, 1.0 }, y:tolist())
    assert.are.same({ 14.0, 2.0, 2.0, 2.0 }, z:tolist())
  end)
end)
