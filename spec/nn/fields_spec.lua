-- fields_spec.lua: what modules hold: nothing that is assigned is lost to the optimizer, and the
-- order is the one that was written.

local sgl = require "sgl"
local support = require "spec.support"

local nn, optim = sgl.nn, sgl.optim

local function names_of(module)
  local list = {}
  for name in module:named_parameters() do list[#list + 1] = name end
  return list
end

local function made(constructor) return nn.module("Net", constructor)() end

describe("a field that holds a parameter", function()
  it("takes no other value", function()
    local m = nn.Linear(2, 2)
    local before = m.weight
    for _, value in ipairs { m.weight * 0.5, sgl.zeros(2, 2), 3, "w", { m.weight } } do
      local e = support.error_of(function() m.weight = value end)
      assert.are.equal("SGL_EARG", e.code)
      assert.matches("nn.Linear: field 'weight' is a parameter", e.message)
      assert.matches("weight:assign%(value%) changes its values", e.hint)
      assert.matches("fields_spec.lua", e.file)
    end
    assert.is_true(rawequal(before, m.weight))
    assert.are.equal(2, #m:parameters())
  end)

  it("refuses it in a step too", function()
    local m = nn.Linear(2, 2)
    local function halve() m.weight = m.weight * 0.5 end
    assert.matches("'weight'", support.error_of(sgl.compile(halve)).message)
    assert.matches("is a parameter",
      support.error_of(sgl.compile(halve, { fullgraph = false })).message)
    assert.are.equal(2, #m:parameters())
  end)

  it("passes no gradient on to what the parameter was made of", function()
    local w = nn.parameter(sgl.ones(2))
    local function gradients()
      local v = nn.parameter(w * 3)
      local loss = (v * v):sum()
      return sgl.grad(loss, w), sgl.grad(loss, v)
    end
    for _, fn in ipairs { gradients, sgl.compile(gradients) } do
      local before, own = fn()
      assert.are.same({ { 0.0, 0.0 }, { 6.0, 6.0 } }, { before:tolist(), own:tolist() })
    end
  end)

  it("takes another parameter, itself and nil", function()
    local m = nn.Linear(2, 2)
    m.weight = m.weight
    m.weight = nn.parameter(sgl.ones(2, 2))
    m.bias = nil
    assert.are.same({ "weight" }, names_of(m))
  end)
end)

describe("a field that holds a module", function()
  it("takes another module or nil only", function()
    local m = made(function(self) self.head = nn.Linear(2, 2) end)
    local e = support.error_of(function() m.head = m.head(sgl.ones(1, 2)) end)
    assert.matches("field 'head' is a module, and what is assigned is f32%[1, 2%]", e.message)
    m.head = nn.Linear(2, 3)
    m.head = nil
    assert.are.same({}, names_of(m))
  end)

  it("may not hold what holds it", function()
    local m = made(function(self) self.head = nn.Linear(2, 2) end)
    m.head.owner = m
    for _, use in ipairs { m.parameters, m.eval, m.state_dict, tostring } do
      local e = support.error_of(use, m)
      assert.matches("one of those that hold it", e.message)
      assert.matches("function%(%) return parent end", e.hint)
    end
    m.head.owner = nil
    assert.are.equal(2, #m:parameters())
    local twice = nn.Linear(2, 2)
    assert.are.equal(2, #nn.Sequential(twice, twice):parameters())
  end)
end)

describe("tables in fields", function()
  it("are gone through by number, then by name", function()
    local m = made(function(self)
      self.heads = { b = nn.Linear(1, 1), a = nn.Linear(1, 1, { bias = false }),
                     nn.Linear(1, 1, { bias = false }), [0] = nn.Linear(1, 1, { bias = false }) }
      self.deep = { x = { scale = nn.parameter(sgl.ones(1)), note = "text", 1, 2 } }
    end)
    assert.are.same({ "heads.0.weight", "heads.1.weight", "heads.a.weight", "heads.b.weight",
                      "heads.b.bias", "deep.x.scale" }, names_of(m))
    m:eval()
    assert.is_false(m.heads.a.training)
    local other = made(function(self)
      self.heads = { a = nn.Linear(1, 1, { bias = false }) }
    end)
    other:load_state_dict(m:state_dict(), { strict = false })
    assert.is_true(other.heads.a.weight:equal(m.heads.a.weight))
  end)

  it("train what they hold", function()
    local m = made(function(self) self.heads = { a = nn.Linear(1, 1) } end)
    function m.forward(x) return m.heads.a(x) end
    m.heads.a.weight:assign(4)
    local opt = optim.SGD(m:parameters(), { lr = 1 })
    for _, step in ipairs { function(x) opt:minimize(m.forward(x):sum()) end,
                            sgl.compile(function(x) opt:minimize(m.forward(x):sum()) end) } do
      step(sgl.ones(1, 1))
    end
    assert.are.equal(2.0, m.heads.a.weight:item())
  end)
end)

describe("the order of fields", function()
  it("is that of the text where several are assigned at once", function()
    local m = made(function(self)
      self.a, self.b = nn.Linear(1, 1), nn.Linear(1, 1)
      self.c, self.d, self.n, self.e = nn.parameter(sgl.ones(1)), nn.Linear(1, 1), 3,
        nn.parameter(sgl.ones(1))
      self.f = nn.parameter(sgl.ones(1)) self.g = nn.parameter(sgl.ones(1))
      self.h, self.i = { nn.Linear(1, 1) }, { nn.Linear(1, 1) }
    end)
    assert.are.same({ "a.weight", "a.bias", "b.weight", "b.bias", "c", "d.weight", "d.bias", "e",
      "f", "g", "h.1.weight", "h.1.bias", "i.1.weight", "i.1.bias" }, names_of(m))
  end)

  it("is that of the assignments elsewhere, whatever was made first", function()
    local m = made(function(self)
      local last = nn.Linear(1, 1, { bias = false })
      self.first = nn.Linear(1, 1, { bias = false })
      self.last = last
    end)
    assert.are.same({ "first.weight", "last.weight" }, names_of(m))
  end)
end)

describe("minimize", function()
  local function both(fn, check)
    for _, wrap in ipairs { function(f) return f end, sgl.compile,
                            function(f) return sgl.compile(f, { fullgraph = false }) end } do
      check(support.error_of(wrap(fn)))
    end
  end

  it("refuses a loss that reaches no parameter", function()
    local m, x = nn.Linear(2, 1), sgl.ones(1, 2)
    local opt = optim.Adam(m:parameters())
    for _, loss in ipairs { function() return x:sum() end,
                            function() return m(x):detach():sum() end,
                            function() return m(x):gt(0):float():sum() end } do
      both(function() opt:minimize(loss()) end, function(e)
        assert.are.equal("SGL_EARG", e.code)
        assert.matches("the loss reaches none of the 2 parameters", e.message)
      end)
    end
    assert.are.equal(0, opt.steps:item())
  end)

  it("trains those that it reaches", function()
    local a, b = nn.Linear(2, 1), nn.Linear(2, 1)
    local params = table.move(b:parameters(), 1, 2, 3, a:parameters())
    optim.SGD(params):minimize(a(sgl.ones(1, 2)):sum())
  end)

  it("refuses parameters whose place another took", function()
    local m, x = nn.Linear(2, 1), sgl.ones(1, 2)
    local opt = optim.SGD(m:parameters())
    m.weight = nn.parameter(sgl.ones(1, 2))
    both(function() opt:minimize(m(x):sum()) end, function(e)
      assert.matches("parameter 1 is no longer in the model", e.message)
      assert.matches("field 'weight' at .*fields_spec.lua:%d+", e.message)
      assert.matches("make the optimizer after that", e.hint)
    end)
    optim.SGD(m:parameters()):minimize(m(x):sum())
    local cast = nn.Linear(2, 1)
    local early = optim.SGD(cast:parameters())
    cast:to("f64")
    both(function() early:minimize(cast(x:double()):sum()) end, function(e)
      assert.matches("no longer in the model", e.message)
    end)
  end)

  -- What happens to a model with lists after its optimizer was made, and the place that is named.
  local LOST = {
    { "a computed tensor in a list", "ps%.1", function(m) m.ps[1] = m.ps[1] * 0.5 end },
    { "another parameter in a list", "ps%.1", function(m) m.ps[1] = nn.parameter(sgl.ones(2)) end },
    { "another list", "'ps'", function(m) m.ps = { nn.parameter(sgl.ones(2)) } end },
    { "another layer in a list", "layers%.2", function(m) m.layers[2] = nn.Linear(2, 2) end },
    { "another layer in a table", "heads%.a", function(m) m.heads.a = nn.Linear(2, 2) end },
    { "another layer in a field", "'only'", function(m) m.only = nn.Linear(2, 2) end },
    { "a layer less", "layers%.2", function(m) m.layers[2] = nil end },
  }
  local KEPT = {
    { "layers that change places", function(m)
      m.layers[1], m.layers[2] = m.layers[2], m.layers[1]
    end },
    { "a layer in two places, gone from one", function(m) m.layers[3] = nil end },
    { "a layer that moved", function(m) m.other, m.layers[2] = m.layers[2], nil end },
    { "new values", function(m) m.ps[1]:assign(m.ps[1] * 0.5) end },
  }
  local Lists = nn.module("Lists", function(self)
    self.layers = { nn.Linear(2, 2), nn.Linear(2, 2) }
    self.heads = { a = nn.Linear(2, 2) }
    self.last, self.only = nn.Linear(2, 2), nn.Linear(2, 2)
    self.ps = { nn.parameter(sgl.ones(2)) }
    self.layers[3] = self.last
  end)

  local function trained(change, compiled)
    local m = Lists()
    local opt = optim.SGD(m:parameters(), { lr = 0.1 })
    local function step()
      local loss = 0
      for _, p in ipairs(m:parameters()) do loss = loss + (p * p):sum() end
      opt:minimize(loss)
    end
    if compiled then step = sgl.compile(step) end
    step()
    change(m)
    step()
  end

  for _, compiled in ipairs { false, true } do
    for _, row in ipairs(LOST) do
      it(("refuses parameters that are gone: %s, compiled: %s"):format(row[1], compiled), function()
        local e = support.error_of(trained, row[3], compiled)
        assert.matches("is no longer in the model", e.message)
        assert.matches(row[2], e.message)
      end)
    end
    for _, row in ipairs(KEPT) do
      it(("goes on with parameters that are there: %s, compiled: %s"):format(row[1], compiled),
        function() trained(row[2], compiled) end)
    end
  end
end)
