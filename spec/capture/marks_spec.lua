-- marks_spec.lua: what the text of a captured step tells beside the operations: samples, modules,
-- the loss, gradients; also through the passes.

local core = require "sgl.core"
local sgl = require "sgl"
local support = require "spec.support"

local nn, optim = sgl.nn, sgl.optim

local function lines(text, pattern)
  local list = {}
  for line in text:gmatch(pattern) do list[#list + 1] = line end
  return list
end

-- Names of composites and the paths of their modules, in order.
local function modules(step)
  local list = {}
  for name, rest in step:graph():text():gmatch '\n *composite @%d+ "(.-)" in @%d+([^\n]*)' do
    list[#list + 1] = name .. " " .. (rest:match 'module "(.-)"' or "-")
  end
  return list
end

local Block = nn.module("Block", function(self)
  self.norm = nn.LayerNorm(4)
  self.layers = { nn.Linear(4, 4), nn.Linear(4, 4) }
end)
function Block:forward(x)
  for _, layer in ipairs(self.layers) do x = layer(x):gelu() end
  return self.norm(x)
end

local Net = nn.module("Net", function(self)
  self.block = Block()
  self.head = nn.Linear(4, 1)
end)
function Net:forward(x) return self.head(self.block(x)) end

describe("a composite", function()
  it("has the path of the module that it was made in", function()
    local net = Net()
    local step = sgl.compile(function(x) return net(x):sigmoid() + (x * 1):softmax(2):sum() end)
    step(sgl.ones(2, 4))
    local found = {}
    for _, line in ipairs(modules(step)) do found[line] = true end
    for _, line in ipairs { "linear block.layers.1", "linear block.layers.2", "gelu block",
                            "layer_norm block.norm", "linear head" } do
      assert.is_true(found[line], line .. " in " .. table.concat(modules(step), ", "))
    end
    for line in pairs(found) do
      if line:find "^softmax" then assert.are.equal("softmax -", line) end
    end
  end)

  it("behind a call that raised, and was caught, has the path of where it is", function()
    local Bad = nn.module("Bad", function(self) self.x = nn.Linear(4, 4) end)
    function Bad:forward(x) return self.x(x):reshape(3) end
    local net, bad = Net(), Bad()
    local step = sgl.compile(function(x)
      pcall(bad, x)
      return net(x)
    end)
    step(sgl.ones(2, 4))
    assert.are.equal("linear head", table.remove(modules(step)))
  end)
end)

describe("the text of a training step", function()
  local function training()
    local net = Net()
    local opt = optim.SGD(net:parameters(), { lr = 0.1 })
    local step = sgl.compile(function(x)
      local loss = (net(x) * net(x)):mean()
      opt:minimize(loss)
      return loss
    end, { batch = { x = 1 } })
    step(sgl.ones(2, 4))
    return step, net
  end

  it("tells the loss and whose gradient is whose", function()
    local step, net = training()
    local text = step:graph():text()
    assert.are.same({ text:match '\noutput (%%%d+)' }, lines(text, "\nloss (%%%d+)"))
    local of = {}
    for id in text:gmatch "\ngrad %%%d+ of (%%%d+)" do
      of[#of + 1] = text:match("\ninput " .. id:gsub("%%", "%%%%") .. ' state "(.-)"')
    end
    local want = {}
    for name in net:named_parameters() do want[#want + 1] = name end
    assert.are.same(want, of)
    assert.are.equal(text, core.parse(text):text())
  end)

  it("tells it after the passes too, of the nodes that are left", function()
    local step = training()
    local text = step:graph():pass("simplify"):text()
    assert.are.equal(8, #lines(text, "\ngrad [^\n]*"))
    assert.are.equal(1, #lines(text, "\nloss [^\n]*"))
    assert.is_truthy(text:find 'arg "x" f32%[2, 4%] batch 1')
    assert.is_truthy(text:find 'module "block.norm"')
  end)

  it("tells nothing of gradients that are taken outside steps", function()
    local w = sgl.ones(2)
    local y = (w * w):sum()
    local g = sgl.grad(y, w)
    assert.is_nil(core.graph({ g }):text():find "grad %%")
  end)
end)

describe("the option batch of sgl.compile", function()
  it("counts dims from 1, or from the end, of arguments and tables of them", function()
    local step = sgl.compile(function(x, data) return x:sum() + data.ys:sum() end,
      { batch = { x = -1, ["data.ys"] = 1 } })
    step(sgl.ones(2, 3), { ys = sgl.ones(4) })
    assert.are.same({ 'x" f32[2, 3] batch 2', 'data.ys" f32[4] batch 1' },
      lines(step:graph():text(), 'arg "([^#\n]*) #'))
  end)

  it("refuses dims and arguments that are not there", function()
    local function failing(batch, ...)
      local step = sgl.compile(function(xs, n) return xs * (n or 1) end, { batch = batch })
      return support.error_of(step, ...).message
    end
    local x = sgl.ones(2, 3)
    assert.is_truthy(failing({ xs = 3 }, x):find("'xs' is", 1, true))
    assert.is_truthy(failing({ xs = 0 }, x):find("no dim 0", 1, true))
    assert.is_truthy(failing({ xs = 1.5 }, x):find("no dim 1.5", 1, true))
    assert.is_truthy(failing({ xs = "1" }, x):find("no dim 1", 1, true))
    assert.is_truthy(failing({ x = 1 }, x):find("no argument 'x'", 1, true))
    assert.is_truthy(failing({ n = 1 }, x, 2):find("'n' is", 1, true))
  end)
end)
