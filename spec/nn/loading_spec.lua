-- loading_spec.lua: state dicts from files and from elsewhere: nothing is dropped, nothing is
-- loaded into the wrong place.

local sgl = require "sgl"
local support = require "spec.support"

local nn = sgl.nn

local path
setup(function() path = os.tmpname() end)
teardown(function() os.remove(path) end)

local function error_of(...) return support.error_of(...) end

describe("sgl.save", function()
  it("keeps what stands beside the names of a state dict", function()
    local dict = nn.Linear(2, 1):state_dict()
    dict.epoch, dict.extra = 3, { a = sgl.ones(2) }
    assert(sgl.save(dict, path))
    local back = assert(sgl.load(path))
    assert.are.same({ "weight", "bias", "epoch", "extra.a" }, { table.unpack(back) })
    assert.are.equal(3.0, back.epoch:item())
  end)

  it("refuses names that nobody could read, and leaves the good file", function()
    assert(sgl.save({ a = sgl.ones(2) }, path))
    for _, name in ipairs { "\xff", "a\0b", "" } do
      local e = error_of(sgl.save, { [name] = sgl.zeros(2) }, path)
      assert.are.equal("SGL_EARG", e.code)
    end
    local e = error_of(sgl.save, { ["a.b"] = sgl.ones(1), a = { b = sgl.ones(1) } }, path)
    assert.matches("comes twice", e.message)
    assert.are.same({ 1.0, 1.0 }, sgl.load(path).a:tolist())
  end)

  it("refuses a table that contains itself", function()
    local t = { w = sgl.ones(1) }
    t.me = { again = t }
    assert.matches("contains itself", error_of(sgl.save, t, path).message)
    local shared = { w = sgl.ones(1) }
    assert(sgl.save({ a = shared, b = shared }, path))
  end)
end)

describe("load_state_dict", function()
  local function stack() return nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)) end

  it("takes the results of sgl.load as they come", function()
    local a, b = stack(), stack()
    assert(sgl.save(a, path, { metadata = { format = "pt" } }))
    assert.are.equal(b, (b:load_state_dict(sgl.load(path))))
    assert.is_true(a[1].weight:equal(b[1].weight))
    local opt = sgl.optim.SGD(a:parameters(), { momentum = 0.5 })
    assert(sgl.save(opt, path))
    opt:load_state_dict(sgl.load(path))
    local step = sgl.compile(function(x) opt:minimize(a(x):sum()) end)
    step(sgl.ones(1, 2))
    assert(sgl.save(step, path))
    step:load_state_dict(sgl.load(path))
  end)

  it("takes another module as its state dict", function()
    local a, b = stack(), stack()
    b:load_state_dict(a)
    for _, name in ipairs(a:state_dict()) do
      assert.is_true(a:state_dict()[name]:equal(b:state_dict()[name]))
    end
    assert.matches("missing: 3.weight", support.error_of(b.load_state_dict, b,
      nn.Sequential(nn.Linear(2, 2))).message)
  end)

  it("knows names that count from 0, and takes them where that is said", function()
    local a, b = stack(), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    local dict = {}
    for _, name in ipairs(a:state_dict()) do
      local zero = name:gsub("^%d+", function(n) return tostring(math.tointeger(n) - 1) end)
      dict[#dict + 1], dict[zero] = zero, a:state_dict()[name]
    end
    for _, strict in ipairs { true, false } do
      local e = error_of(a.load_state_dict, a, dict, { strict = strict })
      assert.matches("count from 0", e.hint)
    end
    local c = stack()
    c:load_state_dict(dict, { from = "pytorch" })
    assert.is_true(a[3].bias:equal(c[3].bias))
    -- Of a stack in which each name has a next one, 0 is what tells.
    local e = error_of(b.load_state_dict, b, { "0.weight", "1.weight",
      ["0.weight"] = sgl.ones(2, 2), ["1.weight"] = sgl.ones(2, 2) }, { strict = false })
    assert.matches("count from 0", e.hint)
  end)

  it("without strict says which names were on one side only", function()
    local m = stack()
    local _, missing, extra = m:load_state_dict({ "1.weight", "head", ["1.weight"] = sgl.ones(2, 2),
                                                  head = sgl.ones(1) }, { strict = false })
    assert.are.same({ "1.bias", "3.weight", "3.bias" }, missing)
    assert.are.same({ "head" }, extra)
  end)

  it("of an optimizer refuses the state of one with more parameters", function()
    local function adam(n)
      local params = {}
      for i = 1, n do params[i] = sgl.ones(2):realize() end
      return sgl.optim.Adam(params)
    end
    local e = error_of(adam(2).load_state_dict, adam(2), adam(4):state_dict())
    assert.matches("is not of this optimizer", e.message)
    adam(2):load_state_dict(adam(2):state_dict())
  end)
end)
