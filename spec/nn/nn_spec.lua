-- nn_spec.lua: modules know their parts in order, keep and restore their state, and layers do what
-- the papers say where PyTorch's numbers (torch_spec.lua) cannot tell.

local sgl = require "sgl"
local support = require "spec.support"
local nn = sgl.nn

local function names_of(iterator)
  local names = {}
  for name in iterator do names[#names + 1] = name end
  return names
end

local function parameter(...) return nn.parameter(sgl.ones(...)) end

-- Fields in an order that is not that of the alphabet, plain lists, a shared tensor, a buffer.
local Part = nn.module("Part", function(self)
  self.zeta = parameter(2)
  self.alpha = parameter(3)
  self.seen = sgl.zeros(1)
  self.size = 7
end)
local Whole = nn.module("Whole", function(self)
  self.last = nn.Linear(2, 3, { bias = false })
  self.parts = { Part(), { Part(), parameter(4) } }
  self.list = nn.ModuleList(nn.ReLU(), Part())
  self.tied = self.last.weight
  self.first = parameter(1)
end)

describe("a module", function()
  it("names its parameters in the order of assignment, nested lists by position", function()
    assert.are.same({
      "last.weight", "parts.1.zeta", "parts.1.alpha", "parts.2.1.zeta", "parts.2.1.alpha",
      "parts.2.2", "list.2.zeta", "list.2.alpha", "first",
    }, names_of(Whole():named_parameters()))
  end)

  it("prints as it was made, what has its default left out", function()
    local TEXTS = {
      "nn.Linear(64, 10)", "nn.Linear(64, 10, { bias = false })", "nn.Embedding(72, 32)",
      "nn.Conv1d(3, 6, 5)", "nn.Conv2d(3, 16, { 3, 5 }, { stride = 2, padding = { 1, 2 } })",
      "nn.BatchNorm1d(16, { momentum = 0.2 })", "nn.BatchNorm2d(16)", "nn.MaxPool2d(2)",
      "nn.LayerNorm({ 2, 3 })", "nn.GroupNorm(2, 4)", "nn.Dropout(0.1)", "nn.Flatten(nil, 3)",
      'nn.GELU({ approximate = "tanh" })', "nn.LSTM(2, 3, { layers = 2 })",
    }
    for _, text in ipairs(TEXTS) do
      assert.are.equal(text, tostring(assert(load("local nn = ... return " .. text))(nn)))
    end
    assert.are.equal("nn.ReLU", tostring(nn.ReLU()))
    assert.are.equal("nn.Linear(2, 2)", tostring(nn.Linear(2, 2, { init = nn.init.ones })))
    assert.are.equal("nn.Sequential {\n  (1): nn.Softmax(1)\n}",
      tostring(nn.Sequential(nn.Softmax(1))))
  end)

  it("lists a tied parameter once, under its first name", function()
    local whole = Whole()
    assert.are.equal(9, #whole:parameters())
    assert.is_true(rawequal(whole.tied, whole:parameters()[1]))
    assert.are.equal(6 + 3 * 5 + 4 + 1, whole:count())
  end)

  it("keeps the place of a field that is assigned again", function()
    local part = Part()
    part.zeta = parameter(5)
    assert.are.same({ "zeta", "alpha" }, names_of(part:named_parameters()))
    assert.are.same({ 5 }, part.zeta.shape)
  end)

  it("tells buffers from parameters", function()
    assert.are.same({ "parts.1.seen", "parts.2.1.seen", "list.2.seen" },
      names_of(Whole():named_buffers()))
    assert.are.equal(3, #Whole():buffers())
  end)

  it("gives modules from the outside in, applies functions from the inside out", function()
    local whole, applied = Whole(), {}
    assert.are.same({ "", "last", "parts.1", "parts.2.1", "list", "list.1", "list.2" },
      names_of(whole:named_modules()))
    assert.are.equal(4, #whole:children())
    assert.are.equal(whole, whole:apply(function(m) applied[#applied + 1] = m end))
    assert.are.equal(7, #applied)
    assert.are.equal(whole, applied[7])
  end)

  it("passes training mode down", function()
    local whole = Whole()
    assert.is_true(whole.training and whole.parts[2][1].training)
    whole:eval()
    assert.is_false(whole.training or whole.parts[2][1].training or whole.list[1].training)
    whole:train()
    assert.is_true(whole.list[2].training)
    whole.list[2]:eval()
    assert.is_true(whole.training)
  end)

  it("shows its children and their sizes", function()
    local net = nn.Sequential(nn.Linear(4, 2), nn.Sequential(nn.ReLU()))
    assert.are.equal("nn.Sequential {\n  (1): nn.Linear(4, 2)\n  (2): nn.Sequential {\n"
      .. "    (1): nn.ReLU\n  }\n}", tostring(net))
  end)

  it("casts floats to a dtype, tied ones together, and leaves integers", function()
    local whole = Whole()
    whole.count_seen = sgl.tensor(3, "i64")
    local before = whole:state_dict()
    assert.are.equal(whole, whole:to "f64")
    for name, t in pairs(whole:state_dict()) do
      if type(name) == "string" then
        assert.are.equal(name == "count_seen" and "i64" or "f64", t.dtype, name)
        assert.are.same(before[name]:tolist(), t:tolist(), name)
      end
    end
    assert.is_true(rawequal(whole.tied, whole.last.weight))
    assert.are.equal(9, #whole:parameters())
    assert.are.equal("f64", whole.last(sgl.ones(1, 2):double()).dtype)
  end)
end)

describe("a state dict", function()
  local path
  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  local function model()
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))
  end

  it("holds parameters and buffers in order, tied ones under each name", function()
    local dict = model():state_dict()
    assert.are.same({ "1.weight", "1.bias", "2.weight", "2.bias", "2.running_mean",
      "2.running_var", "2.num_batches_tracked", "4.weight", "4.bias" },
      table.move(dict, 1, #dict, 1, {}))
    local whole = Whole()
    assert.is_true(rawequal(whole:state_dict().tied, whole:state_dict()["last.weight"]))
  end)

  it("comes back from a file bit by bit", function()
    local one, other = model(), model()
    one(sgl.randn(4, 1, 4, 4)):realize()
    assert.is_true(sgl.save(one:state_dict(), path))
    assert.are.equal(other, other:load_state_dict((sgl.load(path))))
    local want, got = one:state_dict(), other:state_dict()
    for _, name in ipairs(want) do
      assert.are.equal(want[name].dtype, got[name].dtype)
      assert.are.equal(want[name]:bytes(), got[name]:bytes(), name)
    end
    local x = sgl.randn(2, 1, 4, 4)
    assert.are.same(one:eval()(x):tolist(), other:eval()(x):tolist())
  end)

  it("is loaded into the tensors that are there, which a compiled step then reads", function()
    local layer = nn.Linear(1, 1, { bias = false })
    local weight, f = layer.weight, sgl.compile(function(x) return layer(x) end)
    f(sgl.ones(1, 1))
    layer:load_state_dict { weight = sgl.tensor { { 5.0 } } }
    assert.is_true(rawequal(weight, layer.weight))
    assert.are.equal(5.0, f(sgl.ones(1, 1)):item())
    assert.are.equal(1, #f:programs())
  end)

  it("that does not fit changes nothing", function()
    local layer = nn.Linear(2, 2)
    local before = layer.weight:tolist()
    for _, dict in ipairs {
      { weight = sgl.zeros(2, 2) },
      { weight = sgl.zeros(2, 2), bias = sgl.zeros(3) },
      { weight = sgl.zeros(2, 2), bias = sgl.zeros(2):double() },
      { weight = sgl.zeros(2, 2), bias = sgl.zeros(2), more = sgl.zeros(1) },
    } do
      support.error_of(layer.load_state_dict, layer, dict)
      assert.are.same(before, layer.weight:tolist())
    end
    layer:load_state_dict({ weight = sgl.zeros(2, 2), more = sgl.zeros(1) }, { strict = false })
    assert.are.equal(0.0, layer.weight:sum():item())
  end)
end)

describe("containers", function()
  it("run their modules in order", function()
    local net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    local x = sgl.randn(3, 2)
    support.close(net(x), net[1](x):tanh(), 0, 1e-7)
    assert.are.equal(2, #net)
    assert.are.same(x:tolist(), nn.Sequential()(x):tolist())
  end)

  it("grow: what is appended is registered", function()
    local list = nn.ModuleList(nn.Linear(1, 2))
    assert.are.equal(list, list:append(nn.Linear(2, 1)))
    assert.are.equal(2, #list)
    assert.are.same({ "1.weight", "1.bias", "2.weight", "2.bias" },
      names_of(list:named_parameters()))
    local sizes = {}
    for i, layer in ipairs(list) do sizes[i] = layer.outputs end
    assert.are.same({ 2, 1 }, sizes)
  end)
end)

describe("dropout", function()
  local P, N = 0.3, 100000

  it("zeroes its share and scales the rest, so that the mean stays", function()
    sgl.seed(1)
    local y = nn.Dropout(P)(sgl.ones(N))
    -- Five standard deviations of the binomial distribution.
    local share, slack = y:eq(0):float():mean():item(), 5 * math.sqrt(P * (1 - P) / N)
    assert.is_true(math.abs(share - P) < slack, share)
    local kept = y:gt(0):where(y, 1 / (1 - P))
    support.close(kept, sgl.full(N, 1 / (1 - P)), 1e-6, 0)
  end)

  it("is the identity in evaluation and for p = 0", function()
    local x = sgl.randn(5)
    assert.are.same(x:tolist(), nn.Dropout(P):eval()(x):tolist())
    assert.are.same(x:tolist(), nn.Dropout(0)(x):tolist())
    assert.are.same(x:tolist(), nn.dropout(x, P, { training = false }):tolist())
  end)

  it("of attention falls on the weights", function()
    sgl.seed(1)
    -- Eight equal weights of 1/8 over values of 1: what is kept counts 2/8 each.
    local y = nn.scaled_dot_product_attention(sgl.zeros(64, 2), sgl.zeros(8, 2), sgl.ones(8, 1),
      { dropout = 0.5 }) * 4
    assert.are.same(y:round():tolist(), y:tolist())
    assert.is_true(y:min():item() < y:max():item())
    local layer, x = nn.MultiheadAttention(4, 2, { dropout = 0.5 }), sgl.randn(2, 3, 4)
    assert.are_not.same(layer(x):tolist(), layer(x):tolist())
    layer:eval()
    assert.are.same(layer(x):tolist(), layer(x):tolist())
  end)

  it("draws a mask for each layer and each call of a compiled step, the same after a seed",
    function()
      local layer = nn.Dropout(0.5)
      local step = sgl.compile(function(x) return layer(x), layer(x) end)
      local function draw()
        sgl.seed(4)
        local masks = {}
        for i = 1, 5, 2 do
          local a, b = step(sgl.ones(64))
          masks[i], masks[i + 1] = a:bytes(), b:bytes()
        end
        return masks
      end
      local first, seen = draw(), {}
      for _, mask in ipairs(first) do
        assert.is_nil(seen[mask])
        seen[mask] = true
      end
      assert.are.same(first, draw())
      assert.are.equal(1, #step:programs())
    end)

  it("passes gradients where it passes values", function()
    local x = sgl.ones(100)
    local y = nn.dropout(x, 0.5)
    assert.are.same(y:tolist(), sgl.grad(y:sum(), x):tolist())
  end)
end)

describe("batch norm", function()
  it("moves the running statistics by the momentum, the variance unbiased", function()
    local norm = nn.BatchNorm1d(1, { momentum = 0.25 })
    local step = sgl.compile(function(x) return norm(x) end)
    step(sgl.tensor { { 1.0 }, { 3.0 } })                 -- mean 2, variance 1, unbiased 2
    assert.are.equal(0.5, norm.running_mean:item())
    assert.are.equal(0.75 * 1 + 0.25 * 2, norm.running_var:item())
    step(sgl.tensor { { 5.0 }, { 5.0 } })                 -- mean 5, variance 0
    assert.are.equal(0.75 * 0.5 + 0.25 * 5, norm.running_mean:item())
    assert.are.equal(0.75 * 1.25, norm.running_var:item())
    assert.are.equal(2, norm.num_batches_tracked:item())
  end)

  it("uses them in evaluation and leaves them", function()
    local norm = nn.BatchNorm2d(2):eval()
    norm.running_mean:assign(sgl.tensor { 1.0, -1.0 })
    norm.running_var:assign(sgl.tensor { 4.0, 0.25 })
    local y = norm(sgl.ones(1, 2, 1, 1)):flatten()
    support.close(y, { 0, 4 }, 1e-4, 1e-6)
    assert.are.same({ 1.0, -1.0 }, norm.running_mean:tolist())
    assert.are.equal(0, norm.num_batches_tracked:item())
  end)

  it("gives a batch of mean 0 and variance 1", function()
    local y = nn.BatchNorm1d(3)(sgl.randn(64, 3, 5) * 4 + 2)
    support.close(y:mean({ 1, 3 }), sgl.zeros(3), 0, 1e-5)
    support.close((y * y):mean({ 1, 3 }), sgl.ones(3), 1e-4, 0)
  end)
end)

describe("attention", function()
  -- Output i must not depend on input j: the gradient is exactly 0.
  it("that is causal sees nothing of the future", function()
    sgl.seed(2)
    local layer, x = nn.MultiheadAttention(8, 2, { causal = true }), sgl.randn(1, 5, 8)
    local y = layer(x)
    for i = 1, 5 do
      local reach = sgl.grad(y[{ 1, i }]:sum(), x)[1]:abs():sum(2):tolist()
      for j = 1, 5 do assert.are.equal(j <= i, reach[j] > 0, ("%d from %d"):format(i, j)) end
    end
  end)

  it("without a mask sees everything, with one what it leaves", function()
    local layer, x = nn.MultiheadAttention(8, 2), sgl.randn(1, 3, 8)
    local mask = sgl.tensor { { true, false, true }, { true, true, true }, { false, false, true } }
    local function reach(y, i)
      return sgl.grad(y[{ 1, i }]:sum(), x)[1]:abs():sum(2):gt(0):tolist()
    end
    assert.are.same({ true, true, true }, reach(layer(x), 1))
    local masked = layer(x, nil, nil, { mask = mask })
    assert.are.same({ true, false, true }, reach(masked, 1))
    -- The query itself still counts: position 3 sees only itself.
    assert.are.same({ false, false, true }, reach(masked, 3))
  end)

  it("is the mean of the values when all scores are equal", function()
    local v = sgl.tensor { { { 1.0, 2.0 }, { 3.0, 6.0 } } }
    local y = nn.scaled_dot_product_attention(sgl.zeros(1, 1, 2), sgl.randn(1, 2, 2), v)
    support.close(y:flatten(), { 2, 4 }, 1e-6, 0)
  end)
end)

describe("an initialiser", function()
  local N = 40000

  -- The mean and deviation of the drawn values, within five standard errors (a deviation's is
  -- at most that of the mean for these distributions), and the bound of uniform ones.
  local function check_moments(t, mean, deviation, bound)
    local slack = 5 * deviation / math.sqrt(t:numel())
    assert.is_true(math.abs(t:mean():item() - mean) < slack, "mean " .. t:mean():item())
    assert.is_true(math.abs(t:std():item() - deviation) < slack, "deviation " .. t:std():item())
    if bound then assert.is_true((t - mean):abs():max():item() <= bound) end
  end

  local SQRT3 = math.sqrt(3)
  -- For a weight [100, 400]: fan_in 400, fan_out 100.
  local CASES = {
    { "uniform", { -1, 3 }, 1, 2 / SQRT3, 2 }, { "normal", { 2, 0.5 }, 2, 0.5 },
    { "xavier_uniform", {}, 0, math.sqrt(2 / 500), math.sqrt(6 / 500) },
    { "xavier_normal", { { gain = 2 } }, 0, 2 * math.sqrt(2 / 500) },
    { "kaiming_uniform", {}, 0, math.sqrt(2 / 400), math.sqrt(6 / 400) },
    { "kaiming_normal", { { mode = "fan_out" } }, 0, math.sqrt(2 / 100) },
    { "kaiming_normal", { { nonlinearity = "tanh" } }, 0, 5 / 3 / math.sqrt(400) },
    { "kaiming_normal", { { slope = 1 } }, 0, 1 / math.sqrt(400) },
  }
  for i, case in ipairs(CASES) do
    it(case[1] .. " has the moments of its distribution, case " .. i, function()
      sgl.seed(i)
      local t = sgl.zeros(100, N // 100)
      assert.is_true(rawequal(t, nn.init[case[1]](t, table.unpack(case[2]))))
      check_moments(t, case[3], case[4], case[5])
    end)
  end

  it("counts a kernel's elements into the fans", function()
    local t = nn.init.kaiming_uniform(sgl.zeros(64, 16, 5, 5))
    check_moments(t, 0, math.sqrt(2 / (16 * 25)), math.sqrt(6 / (16 * 25)))
  end)

  for _, shape in ipairs { { 6, 20 }, { 20, 6 }, { 7, 7 }, { 4, 3, 2, 2 } } do
    it("orthogonal makes orthonormal rows or columns of " .. table.concat(shape, "×"), function()
      local q = nn.init.orthogonal(sgl.zeros(shape), { gain = 3 }):flatten(2) / 3
      if q.shape[1] > q.shape[2] then q = q:t() end
      support.close(q:matmul(q:t()), sgl.eye(q.shape[1]), 0, 2e-6)
    end)
  end

  it("fills with constants", function()
    assert.are.same({ 2.5, 2.5 }, nn.init.constant(sgl.zeros(2), 2.5):tolist())
    assert.are.same({ 1.0, 1.0 }, nn.init.ones(sgl.zeros(2)):tolist())
    assert.are.same({ 0.0, 0.0 }, nn.init.zeros(sgl.ones(2)):tolist())
  end)

  it("is what layers take in place of their own", function()
    local layer = nn.Linear(2, 2, { init = nn.init.ones, bias = false })
    assert.are.same({ { 1.0, 1.0 }, { 1.0, 1.0 } }, layer.weight:tolist())
    assert.is_nil(rawget(layer, "bias"))
  end)

  it("of linear layers and convolutions is uniform in ±1/√fan_in, after the seed the same",
    function()
      sgl.seed(9)
      local one = nn.Linear(400, 100)
      check_moments(one.weight, 0, 1 / 20 / SQRT3, 1 / 20)
      check_moments(nn.Conv2d(16, 64, 5).weight, 0, 1 / 20 / SQRT3, 1 / 20)
      assert.is_true(one.bias:abs():max():item() <= 1 / 20)
      sgl.seed(9)
      assert.are.same(one.weight:tolist(), nn.Linear(400, 100).weight:tolist())
    end)
end)
