-- names_spec.lua: the names of state: those of the module and the optimizer, in the graph, in files
-- and in state dicts; unlike each other whatever the step reaches.

local core = require "sgl.core"
local sgl = require "sgl"
local support = require "spec.support"

local nn, optim = sgl.nn, sgl.optim

-- The names of the state inputs of a step's graph, in order.
local function in_graph(step)
  local list = {}
  for name in step:graph():text():gmatch '\ninput %%%d+ state "(.-)"' do list[#list + 1] = name end
  return list
end

local function model() return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)) end

-- A step that trains the model, and what it holds.
local function training()
  local m = model()
  local opt = optim.Adam(m:parameters(), { lr = 0.1 })
  local step = sgl.compile(function(x)
    local loss = (m(x) * m(x)):sum()
    opt:minimize(loss)
    return loss
  end)
  step(sgl.ones(2, 3))
  return step, m, opt
end

describe("the name of state", function()
  it("is that of the model, and of the optimizer behind its own", function()
    assert.are.same({ "1.weight", "1.bias", "3.weight", "3.bias", "opt.steps",
      "opt.m.1.weight", "opt.v.1.weight", "opt.lr.1", "opt.m.1.bias", "opt.v.1.bias",
      "opt.m.3.weight", "opt.v.3.weight", "opt.m.3.bias", "opt.v.3.bias" }, in_graph(training()))
  end)

  it("is the same where the model is an argument", function()
    local m = model()
    local step = sgl.compile(function(net, x) return net(x) end)
    step(m, sgl.ones(2, 3))
    assert.are.same({ "1.weight", "1.bias", "3.weight", "3.bias" }, in_graph(step))
  end)

  it("tells several models apart by the places that lead to them", function()
    local gen, both = nn.Linear(2, 2), { nn.Linear(2, 2), nn.Linear(2, 2) }
    local step = sgl.compile(function(x) return both[2](both[1](gen(x))) end)
    step(sgl.ones(2, 2))
    assert.are.same({ "gen.weight", "gen.bias", "both.1.weight", "both.1.bias", "both.2.weight",
      "both.2.bias" }, in_graph(step))
  end)

  it("is that of the model where only a part of it is reached by another way", function()
    local m = model()
    local last = m[3]
    local step = sgl.compile(function(x) return m(x) + last(sgl.ones(2, 4)) end)
    step(sgl.ones(2, 3))
    assert.are.same({ "1.weight", "1.bias", "3.weight", "3.bias" }, in_graph(step))
  end)

  it("is the first of two under which a model holds one tensor", function()
    local Tied = nn.module("Tied", function(self)
      self.inner = nn.Linear(2, 2, { bias = false })
      self.again = self.inner.weight
    end)
    function Tied:forward(x) return self.inner(x):matmul(self.again) end
    local tied = Tied()
    local step = sgl.compile(function(x) return tied(x) end)
    step(sgl.ones(2, 2))
    assert.are.same({ "inner.weight" }, in_graph(step))
  end)

  it("is the place of a tensor that no module holds", function()
    local w, cfg = sgl.ones(2), { scale = { sgl.ones(2), sgl.ones(2) }, ["a b"] = sgl.ones(2) }
    local step = sgl.compile(function(x) return x * w * cfg.scale[2] + cfg["a b"] end)
    step(sgl.ones(2))
    assert.are.same({ "w", "cfg.scale.2", "state" }, in_graph(step))
  end)

  it("has a number behind it where it would come twice", function()
    local function reader(w) return function(x) return x * w end end
    local one, two = reader(sgl.ones(2)), reader(sgl.ones(2))
    local step = sgl.compile(function(x) return two(one(x)) end)
    step(sgl.ones(2))
    assert.are.same({ "w", "w.2" }, in_graph(step))
    local rng = sgl.ones(2)
    step = sgl.compile(function(x) return x * rng * sgl.rand(2) end)
    step(sgl.ones(2))
    assert.are.same({ "rng.2", "rng" }, in_graph(step))
  end)

  it("tells the parameters of two models in one optimizer apart", function()
    local a, b = nn.Linear(2, 2, { bias = false }), nn.Linear(2, 2, { bias = false })
    local opt = optim.SGD({ { params = a:parameters() }, { params = b:parameters() } },
      { momentum = 0.5 })
    assert.are.same({ "steps", "lr.1", "lr.2", "velocity.weight", "velocity.2" },
      table.move(opt:state_dict(), 1, 5, 1, {}))
  end)

  it("does not change which programs are shared", function()
    local function make(w) return sgl.compile(function(x) return x * w end) end
    local before = core.cache_stats().misses
    make(sgl.ones(5))(sgl.ones(5))
    make(sgl.zeros(5):realize())(sgl.ones(5))
    assert.are.equal(1, core.cache_stats().misses - before)
  end)
end)

describe("a step's state", function()
  it("is written and read under the names of the graph", function()
    local path = os.tmpname()
    local step, m, opt = training()
    assert.are.same(in_graph(step), table.move(step:state_dict(), 1, 99, 1, {}))
    assert.is_true(rawequal(m[1].weight, step:state_dict()["1.weight"]))
    assert.is_true(sgl.save(step, path))
    local other, again, resumed = training()
    local file = assert(sgl.load(path))
    assert.are.same(in_graph(step), table.move(file, 1, 99, 1, {}))
    other:load_state_dict(file)
    assert.are.equal(m[3].weight:bytes(), again[3].weight:bytes())
    assert.are.equal(opt:state_dict()["m.3.weight"]:bytes(),
      resumed:state_dict()["m.3.weight"]:bytes())
    local x = sgl.ones(2, 3)
    assert.are.equal(step(x):bytes(), other(x):bytes())
    os.remove(path)
  end)

  it("refuses a dict of other names or shapes", function()
    local step = training()
    local dict = step:state_dict()
    dict["1.weight"] = nil
    assert.is_truthy(support.error_of(step.load_state_dict, step, dict).message:find(
      "missing: 1.weight", 1, true))
    dict["1.weight"] = sgl.ones(1)
    assert.is_truthy(support.error_of(step.load_state_dict, step, dict).message:find(
      "'1.weight' is", 1, true))
    step:load_state_dict({}, { strict = false })
    local new = sgl.compile(function(x) return x end)
    assert.are.equal("SGL_ESTATE", support.error_of(new.state_dict, new).code)
  end)
end)

describe("an optimizer's state", function()
  it("is read from files that know parameters by their numbers", function()
    local m = nn.Linear(2, 2)
    local opt = optim.Adam(m:parameters())
    opt:load_state_dict {
      steps = sgl.tensor(3, { dtype = "i32" }), ["lr.1"] = sgl.tensor(0.5),
      ["1.m"] = sgl.full({ 2, 2 }, 7), ["1.v"] = sgl.zeros(2, 2), ["2.m"] = sgl.zeros(2),
      ["2.v"] = sgl.zeros(2),
    }
    assert.are.equal(28, opt:state_dict()["m.weight"]:sum():item())
    assert.are.equal(3, opt.steps:item())
  end)
end)

describe("the advance of random numbers", function()
  local function drawing()
    local drop = nn.Dropout(0.5)
    return sgl.compile(function(x)
      local c = sgl.scan(function(c, v) return c + v * sgl.rand {} end, sgl.rand {}, x)
      return drop(x) * sgl.rand(3), c
    end)
  end

  it("is an assign of the graph, by as much as uncompiled draws count on", function()
    local step = drawing()
    sgl.seed(41)
    sgl.rand(1):realize()
    step(sgl.ones(3))
    local g = step:graph()
    local text = g:text()
    local input = text:match 'input (%%%d+) state "rng" i64%[2%]':sub(2)
    local value = text:match("\nassign %%" .. input .. " = (%%%d+)")
    local again = core.parse(text)
    local _, before = core.rng()
    local out = again:eval({ sgl.ones(3), core.from_bytes(string.pack("<i8i8", 41, before), "i64",
      { 2 }) }, { value })[1]
    step(sgl.ones(3))
    local seed, after = core.rng()
    assert.are.same({ seed, after }, out:tolist())
    assert.are.equal(4, after - before)
  end)
end)

describe("a table by tensors", function()
  it("is read in a step, and its entries are called by what leads to the tensor", function()
    local opt = { params = { sgl.ones(2) * 1 }, state = {} }
    local entry = { v = sgl.zeros(2), k = 1 }
    opt.state[opt.params[1]] = entry
    local step = sgl.compile(function(x)
      local p = opt.params[1]
      local s = opt.state[p]
      s.v:assign(s.v + x * s.k)
      p:assign(p - s.v)
      return s.v
    end)
    assert.are.same({ 1, 1 }, step(sgl.ones(2)):tolist())
    assert.are.same({ 2, 2 }, step(sgl.ones(2)):tolist())
    entry.k = 2
    assert.are.same({ 4, 4 }, step(sgl.ones(2)):tolist())
    assert.are.same({ -6, -6 }, opt.params[1]:tolist())
    assert.are.equal("opt.state[opt.params[1]].k changed from 1 to 2", step:programs()[2].reason)
  end)
end)
