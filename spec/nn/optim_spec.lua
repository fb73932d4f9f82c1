-- optim_spec.lua: optimizers go downhill, follow their formulas, keep the learning rate a run-time
-- value, and resume from a file where they stopped. Ten steps against PyTorch: torch_spec.lua.

local sgl = require "sgl"
local support = require "spec.support"
local nn, optim = sgl.nn, sgl.optim
local schedule = optim.schedule

local function parameter(values) return nn.parameter(sgl.tensor(values, "f32")) end

-- Steps at a constant gradient of 1: an SGD step is then minus the learning rate.
local function slope(p) return p:sum() end

describe("an optimizer", function()
  local RULES = {
    { "SGD", { lr = 0.1 } }, { "SGD", { lr = 0.05, momentum = 0.9 } },
    { "SGD", { lr = 0.05, momentum = 0.9, nesterov = true } }, { "Adam", { lr = 0.1 } },
    { "AdamW", { lr = 0.1, weight_decay = 1e-3 } }, { "Adagrad", { lr = 0.5 } },
    { "RMSprop", { lr = 0.02 } }, { "RMSprop", { lr = 0.01, momentum = 0.5 } },
    { "Lion", { lr = 0.02 } },
  }
  for i, rule in ipairs(RULES) do
    it(("%s goes down a quadratic, case %d"):format(rule[1], i), function()
      local p, target = parameter { 0, 0, 0 }, sgl.tensor { 1.0, -2.0, 0.5 }
      local curve, opt = sgl.tensor { 1.0, 0.3, 2.0 }, optim[rule[1]]({ p }, rule[2])
      local step = sgl.compile(function()
        local d = p - target
        local loss = (d * d * curve):sum()
        opt:minimize(loss)
        return loss
      end)
      local first = step():item()
      for _ = 1, 299 do step() end
      assert.is_true(step():item() < 1e-2 * first, p)
      assert.are.equal(301, opt.steps:item())
      assert.are.equal(1, #step:programs())
    end)
  end

  it("Lion follows the sign of the interpolated momentum", function()
    local lr, beta1, beta2, decay = 0.1, 0.9, 0.99, 0.5
    local p = parameter { 1, -2, 3 }
    local opt = optim.Lion({ p }, { lr = lr, weight_decay = decay })
    local want, m = { 1, -2, 3 }, { 0, 0, 0 }
    for _, grads in ipairs { { 1, -1, 0.5 }, { -0.05, 3, 0.5 }, { -10, -20, 0 } } do
      opt:step { sgl.tensor(grads, "f32") }
      for i, g in ipairs(grads) do
        local along = beta1 * m[i] + (1 - beta1) * g
        local sign = along > 0 and 1 or along < 0 and -1 or 0
        want[i] = want[i] * (1 - lr * decay) - lr * sign
        m[i] = beta2 * m[i] + (1 - beta2) * g
      end
      support.close(p, want, 1e-6, 0)
    end
  end)

  it("AdamW takes its share of the parameter away, Adam adds to the gradient", function()
    local one, other = parameter { 2 }, parameter { 2 }
    optim.AdamW({ one }, { lr = 0.1, weight_decay = 0.5 }):step { sgl.zeros(1) }
    support.close(one, { 2 * (1 - 0.1 * 0.5) }, 1e-6, 0)
    -- The first step of Adam is lr times the sign of the gradient, here that of the penalty.
    optim.Adam({ other }, { lr = 0.1, weight_decay = 0.5 }):step { sgl.zeros(1) }
    support.close(other, { 2 - 0.1 }, 1e-6, 0)
  end)

  it("gives a parameter that the loss does not use a zero gradient", function()
    local used, other = parameter { 1 }, parameter { 1 }
    optim.SGD({ used, other }, { lr = 0.5 }):minimize(slope(used))
    assert.are.same({ 0.5, 1.0 }, { used:item(), other:item() })
  end)

  it("has groups with options of their own over common ones", function()
    local a, b, c = parameter { 0 }, parameter { 0 }, parameter { 0 }
    local opt = optim.SGD({ { params = { a }, lr = 0.5 }, { params = { b, c } } }, { lr = 0.25 })
    assert.are.equal(3, #opt.params)
    local step = sgl.compile(function() opt:minimize(slope(a) + slope(b) + slope(c)) end)
    step()
    assert.are.same({ -0.5, -0.25, -0.25 }, { a:item(), b:item(), c:item() })
    opt:set_lr(1, 2)
    step()
    assert.are.same({ -1.0, -1.25, -1.25 }, { a:item(), b:item(), c:item() })
    opt:set_lr(0)
    step()
    assert.are.same({ -1.0, -1.25, -1.25 }, { a:item(), b:item(), c:item() })
    assert.are.same({ 0.0, 0.0 }, { opt:lr(1), opt:lr(2) })
    assert.are.equal(1, #step:programs())
  end)

  it("takes the rate as an argument of the step: 1,000 rates, one program", function()
    local p = parameter { 0 }
    local opt, sum = optim.SGD({ p }), 0
    local step = sgl.compile(function(lr) opt:minimize(slope(p), { lr = lr }) end)
    for i = 1, 1000 do
      step(i / 4096)
      sum = sum + i / 4096
    end
    assert.are.equal(1, #step:programs())
    support.close(p, { -sum }, 1e-5, 0)
    assert.are.equal(1000, opt.steps:item())
  end)
end)

describe("clipping", function()
  it("by norm scales all gradients together, and gives the norm before", function()
    local grads = { sgl.tensor { 3.0, 0.0 }, sgl.tensor { { 4.0 } } }
    assert.are.equal(5.0, optim.clip_norm(grads, 1):item())
    support.close(grads[1], { 0.6, 0 }, 1e-5, 0)
    support.close(grads[2], sgl.tensor { { 0.8 } }, 1e-5, 0)
  end)

  it("by norm leaves short and zero gradients", function()
    local grads = { sgl.tensor { 0.3, 0.4 } }
    assert.are.equal(0.5, optim.clip_norm(grads, 1):item())
    assert.are.same(sgl.tensor({ 0.3, 0.4 }):tolist(), grads[1]:tolist())
    local zero = { sgl.zeros(2) }
    assert.are.equal(0.0, optim.clip_norm(zero, 1):item())
    assert.are.same({ 0.0, 0.0 }, zero[1]:tolist())
  end)

  it("by value clamps each element", function()
    local grads = { sgl.tensor { 3.0, -0.5, -7.0 } }
    optim.clip_value(grads, 2)
    assert.are.same({ 2.0, -0.5, -2.0 }, grads[1]:tolist())
  end)

  it("is an option of minimize", function()
    local p = parameter { 0, 0 }
    local opt = optim.SGD({ p }, { lr = 1 })
    local norm = opt:minimize((p * sgl.tensor { 3.0, 4.0 }):sum(), { clip_norm = 1 })
    assert.are.equal(5.0, norm:item())
    support.close(p, { -0.6, -0.8 }, 1e-5, 0)
    opt:set_lr(0.5)
    assert.is_nil(opt:minimize((p * sgl.tensor { 3.0, 4.0 }):sum(), { clip_value = 2 }))
    support.close(p, { -1.6, -1.8 }, 1e-5, 0)
  end)
end)

describe("a schedule", function()
  local cos, pi = math.cos, math.pi
  local function half_cosine(from, to, way)
    return to + (from - to) * (1 + cos(pi * math.max(0, math.min(1, way)))) / 2
  end

  -- The schedule and its closed form.
  local CASES = {
    constant = { schedule.constant(0.5), function() return 0.5 end },
    step = { schedule.step(0.5, { every = 3, factor = 0.1 }),
             function(n) return 0.5 * 0.1 ^ (n // 3) end },
    warmup = { schedule.warmup(0.5, 4), function(n) return 0.5 * math.min(1, (n + 1) / 4) end },
    cosine = { schedule.cosine(0.5, 10), function(n) return half_cosine(0.5, 0, n / 10) end },
    ["cosine with warm-up"] = { schedule.cosine(0.5, 10, { warmup = 4, last = 0.1 }), function(n)
      return n < 4 and 0.5 * (n + 1) / 4 or half_cosine(0.5, 0.1, (n - 4) / 6)
    end },
    one_cycle = { schedule.one_cycle(1.0, 11, { up = 0.5, start = 10, finish = 100 }), function(n)
      local top = 0.5 * 11 - 1
      if n <= top then return half_cosine(0.1, 1, n / top) end
      return half_cosine(1, 0.001, (n - top) / (10 - top))
    end },
  }
  local names = {}
  for name in pairs(CASES) do names[#names + 1] = name end
  table.sort(names)

  for _, name in ipairs(names) do
    local rate, formula = table.unpack(CASES[name])
    it(name .. " has the values of its formula", function()
      local got, want = {}, {}
      for n = 0, 13 do got[n + 1], want[n + 1] = rate:at(n), formula(n) end
      support.close(got, want, 1e-5, 1e-7, name)
    end)

    it(name .. " gives a step, in the graph, what at() gives", function()
      local p = parameter { 0 }
      local opt = optim.SGD({ p }, { lr = rate })
      local step = sgl.compile(function() opt:minimize(slope(p)) end)
      for n = 0, 13 do
        assert.are.equal(rate:at(n), opt:lr())
        p:assign(sgl.zeros(1))
        step()
        assert.are.equal(-rate:at(n), p:item(), ("%s at %d"):format(name, n))
      end
      assert.are.equal(1, #step:programs())
    end)
  end

  it("is multiplied by the rate that is set", function()
    local p = parameter { 0 }
    local opt = optim.SGD({ p }, { lr = schedule.warmup(1, 4) })
    opt:set_lr(0.5)
    opt:minimize(slope(p))
    assert.are.equal(-0.125, p:item())
    assert.are.equal(0.25, opt:lr())
  end)
end)

describe("plateau", function()
  -- Rates after each value.
  local function rates(values, options)
    local opt = optim.SGD({ parameter { 0 } }, { lr = 1 })
    local plateau, list = schedule.plateau(opt, options), {}
    for i, value in ipairs(values) do
      local before = opt:lr()
      local lowered = plateau:update(value)
      list[i] = opt:lr()
      assert.are.equal(lowered, list[i] < before)
    end
    return list
  end

  it("lowers the rate after more than `patience` values without improvement", function()
    assert.are.same({ 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25 },
      rates({ 5, 4, 4, 4, 3, 3, 3.5, 3 }, { factor = 0.5, patience = 1, threshold = 0 }))
  end)

  it("counts only improvements above the threshold", function()
    assert.are.same({ 1.0, 0.5, 0.25, 0.25 },
      rates({ 1, 0.99, 0.98, 0.5 }, { factor = 0.5, patience = 0, threshold = 0.1 }))
  end)

  it("looks for the highest in mode max, and stops at the lowest rate", function()
    local opt = optim.SGD({ parameter { 0 } }, { lr = 1 })
    local plateau = schedule.plateau(opt, { factor = 0.25, patience = 0, mode = "max",
                                            lowest = 0.125 })
    local list = {}
    for i, value in ipairs { 1, 2, 1, 1, 1 } do
      plateau:update(value)
      list[i] = opt:lr()
    end
    assert.are.same({ 1.0, 1.0, 0.25, 0.125, 0.125 }, list)
  end)
end)

describe("training that is stopped and resumed from a file", function()
  local path
  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  local X = sgl.linspace(-1, 1, 12):reshape(6, 2):realize()

  local function run(rule, options)
    local model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    local opt = optim[rule](model:parameters(), options())
    return model, opt, sgl.compile(function(x)
      local y = model(x)
      opt:minimize((y * y):mean() + (y - 1):abs():mean(), { clip_norm = 1 })
    end)
  end

  local CASES = {
    { "SGD", function() return { lr = 0.1, momentum = 0.9 } end },
    { "Adam", function() return { lr = schedule.cosine(0.1, 20, { warmup = 5 }) } end },
    { "AdamW", function() return { lr = 0.01, weight_decay = 0.1 } end },
    { "Adagrad", function() return { lr = 0.1 } end },
    { "RMSprop", function() return { lr = 0.01, momentum = 0.3 } end },
    { "Lion", function() return { lr = 0.01 } end },
  }
  for _, case in ipairs(CASES) do
    it("goes on bit by bit with " .. case[1], function()
      local model, opt, step = run(table.unpack(case))
      for _ = 1, 5 do step(X) end
      assert.is_true(sgl.save({ model = model, opt = opt }, path))
      for _ = 1, 5 do step(X) end

      local again, resumed, go_on = run(table.unpack(case))
      go_on(X)
      again:load_state_dict((sgl.load(path, { prefix = "model." })))
      resumed:load_state_dict((sgl.load(path, { prefix = "opt." })))
      for _ = 1, 5 do go_on(X) end
      assert.are.equal(10, resumed.steps:item())
      for name, want in pairs(model:state_dict()) do
        if type(name) == "string" then
          assert.are.equal(want:bytes(), again:state_dict()[name]:bytes(), name)
        end
      end
      assert.are.equal(1, #go_on:programs())
    end)
  end
end)
