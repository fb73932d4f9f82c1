-- cases_spec.lua: cases from public reports of what graph compilers do wrong, each in its smallest
-- form: capture, control flow, sizes that change, caching.
--
-- Holds: one `it` for each case, its number first; what a case says is checked here by value, and
--        around it in the spec of the part it belongs to.

local sgl = require "sgl"
local core = require "sgl.core"
local support = require "spec.support"

local nn = sgl.nn
local close, error_of = support.close, support.error_of

-- A step with its gradient by the first argument.
local function with_gradient(fn)
  return sgl.compile(function(x) return fn(x), sgl.grad(fn(x):sum(), x) end)
end

local function contains(text, part)
  assert.is_truthy(text and text:find(part, 1, true), ("%s\nlacks %s"):format(text, part))
end

describe("capture", function()
  it("case 1: where: the side not chosen leaves no NaN in the gradient", function()
    for _, case in ipairs {
      { { 0.0, 2.0, 3.0 }, { 0.0, 4.0, 1.584963 }, { 2, 2, 0.480898 },
        function(x) return sgl.where(x:gt(2), x:log2(), 2 * x) end },
      { { -1.0, -4.0 }, { -1.0, -4.0 }, { 1, 1 },
        function(x) return sgl.where(x:gt(0), x:sqrt(), x) end },
      { { 100.0 }, { 101.0 }, { 1 },
        function(x) return sgl.where(x:le(0), x:exp(), 1 + x) end },
    } do
      local y, dx = with_gradient(case[4])(sgl.tensor(case[1]))
      close(y, case[2])
      close(dx, case[3])
    end
  end)

  it("case 2: cond of identity and sin(x) + 2: trains as uncompiled code for both p", function()
    local function train(wrap, p)
      local x = sgl.tensor { 0.5, -1.0, 2.0, 0.1 }
      local opt = sgl.optim.SGD({ x }, { lr = 0.1 })
      local step = wrap(function(q)
        local y = sgl.cond(q, function(v) return v end, function(v) return v:sin() + 2 end, x)
        opt:minimize((y * y):sum())
        return y
      end)
      local values = {}
      for i = 1, 3 do values[i] = step(p) end
      return sgl.stack(values), x, step
    end
    for _, p in ipairs { sgl.tensor(true), sgl.tensor(false) } do
      local y, x = train(function(f) return f end, p)
      local compiled, z, step = train(sgl.compile, p)
      close(compiled, y)
      close(z, x)
      assert.are.equal(0, #sgl.coverage(step).breaks)
    end
    local _, taken = train(sgl.compile, sgl.tensor(true))
    close(taken, { 0.5 * 0.512, -0.512, 2 * 0.512, 0.1 * 0.512 })
  end)

  it("case 3: a branch on item() is refused with its line, or breaks once", function()
    local function f(x)
      if x:sum():item() > 0 then return x * 2 end
      return x - 1
    end
    local line = debug.getinfo(f, "S").linedefined + 1
    local e = error_of(sgl.compile(f), sgl.ones(2))
    assert.are.equal(line, e.line)
    assert.matches("cases_spec%.lua$", e.file)
    contains(e.message, "item")
    contains(e.hint, "sgl.cond")
    local step = sgl.compile(f, { fullgraph = false })
    for _ = 1, 2 do
      assert.are.same({ 2.0, 2.0 }, step(sgl.ones(2)):tolist())
      assert.are.same({ -2.0, -2.0 }, step(-sgl.ones(2)):tolist())
    end
    local breaks = sgl.coverage(step).breaks
    assert.are.equal(1, #breaks)
    assert.are.equal(line, breaks[1].line)
  end)

  it("case 4: prints of tensors: no break, right values, in order, at each step", function()
    local lines = {}
    local said = stub(_G, "print").invokes(function(text) lines[#lines + 1] = text end)
    local step = sgl.compile(function(x)
      sgl.print(x:sum())
      sgl.print((x * 2):sum())
      return x
    end)
    local ok, problem = pcall(function()
      for i = 1, 3 do step(sgl.tensor { 1.0 * i, 1.0 }) end
    end)
    said:revert()
    assert(ok, problem)
    local want = {}
    for i = 1, 3 do
      want[2 * i - 1] = tostring(sgl.tensor(i + 1.0))
      want[2 * i] = tostring(sgl.tensor(2 * i + 2.0))
    end
    assert.are.same(want, lines)
    assert.are.equal(0, #sgl.coverage(step).breaks)
    assert.are.equal(1, #step:programs())
  end)
end)

describe("sizes that change", function()
  it("case 5: a batch in 1..32, captured with 1, runs at 1, 2, 7, 32 in one capture", function()
    local layer = nn.Linear(8, 4)
    local function f(x) return layer(x) end
    local step = sgl.compile(f, { inputs = { sgl.spec { sgl.dim("batch", { max = 32 }), 8 } } })
    for _, n in ipairs { 1, 2, 7, 32 } do
      local x = sgl.randn(n, 8):realize()
      local y = step(x)
      assert.are.same({ n, 4 }, y.shape)
      assert.is_true(y:equal(sgl.compile(f)(x)))
    end
    assert.are.equal(1, step:info().captures)
    contains(error_of(step, sgl.ones(33, 8)).message, "batch")
  end)

  it("case 6: [B, L] to [B, L/8, 8]: the error's own fix works; L = 9 is refused", function()
    local function step_with(length)
      return sgl.compile(function(x)
        return x:reshape(x.shape[1], x.shape[2] // 8, 8)
      end, { inputs = { sgl.spec { sgl.dim "B", length } } })
    end
    local e = error_of(step_with(sgl.dim "L"), sgl.ones(2, 16))
    assert.are.equal(debug.getinfo(step_with, "S").linedefined + 2, e.line)
    contains(e.message, "L")
    contains(e.hint, [[sgl.dim("L", { multiple = 8 })]])
    local step = step_with(sgl.dim("L", { multiple = 8 }))
    assert.are.same({ 2, 2, 8 }, step(sgl.ones(2, 16)).shape)
    assert.are.same({ 3, 1, 8 }, step(sgl.ones(3, 8)).shape)
    contains(error_of(step, sgl.ones(2, 9)).message, "dim 'L' is 9")
  end)

  it("case 7: 100 sizes summed, then divided by 5: right, or the budget's message", function()
    local specs, args = {}, {}
    for i = 1, 100 do specs[i], args[i] = sgl.spec { sgl.dim("n" .. i) }, sgl.ones(i) end
    local started = core.clock()
    local step = sgl.compile(function(...)
      local total = 0
      for _, x in ipairs { ... } do total = total + x.shape[1] end
      return sgl.ones(total // 5)
    end, { inputs = specs })
    local ok, result = pcall(step, table.unpack(args))
    assert.is_true(core.clock() - started < 2)
    if ok then assert.are.same({ 1010 }, result.shape) else contains(result.message, "budget") end
  end)

  it("case 8: 1,000 learning rates and new optimizer state: one compile", function()
    local w = sgl.ones(4)
    local opt = sgl.optim.AdamW({ w }, { lr = 0.1 })
    local step = sgl.compile(function(x, lr)
      local loss = ((w - x) ^ 2):sum()
      opt:step(sgl.grad(loss, opt.params), { lr = lr })
      return loss
    end)
    local x, compiled = sgl.zeros(4), sgl.counters().compile_end.count
    for i = 1, 1000 do step(x, 1 / i) end
    assert.are.equal(1, #step:programs())
    assert.are.equal(compiled + 1, sgl.counters().compile_end.count)
  end)
end)

describe("tensors in place", function()
  it("case 9: dropout in eval returns its input: every later reader sees an update", function()
    local off = nn.Dropout(0.5):eval()
    local function f(given)
      local x = given * 1
      local before = x * 10
      local y = off(x)
      y[1] = 7
      local between = x * 10            -- x is the very tensor that was updated
      x:assign(x + 1)
      return before, between, x * 1, y * 1, rawequal(x, y)
    end
    local want = { { 10.0, 10.0 }, { 70.0, 10.0 }, { 8.0, 2.0 }, { 8.0, 2.0 } }
    for _, run in ipairs { f, sgl.compile(f) } do
      for _ = 1, 2 do
        local results = { run(sgl.ones(2)) }
        assert.is_true(table.remove(results))
        for i, result in ipairs(results) do assert.are.same(want[i], result:tolist()) end
      end
    end
  end)

  it("case 10: random numbers are fresh at every call; a host's shuffle is refused", function()
    local drawn = sgl.compile(function(x) return x + sgl.rand(4), sgl.randperm(50) end)
    local a, order = drawn(sgl.zeros(4))
    local b, other = drawn(sgl.zeros(4))
    assert.is_false(a:equal(b))
    assert.is_false(order:equal(other))
    local function f(x) return x * math.random() end
    local e = error_of(sgl.compile(f), sgl.ones(1))
    assert.are.equal(debug.getinfo(f, "S").linedefined, e.line)
    contains(e.message, "random")
  end)

  it("case 11: x = x*x + x, 64 deep: the text grows by as much for each level", function()
    local function size(depth)
      local step = sgl.compile(function(x)
        for _ = 1, depth do x = x * x + x end
        return x
      end)
      step(sgl.zeros(2))
      return #step:graph():nodes(), #step:graph():text()
    end
    local nodes, text = size(32)
    local double_nodes, double_text = size(64)
    assert.are.equal(1 + 2 * 64, double_nodes)
    assert.are.equal(1 + 2 * 32, nodes)
    assert.is_true(double_text < 2.5 * text)
  end)

  it("case 12: expand to a constant where a symbol is needed: dim and symbol named", function()
    local step = sgl.compile(function(x) return x:expand(32, 8) end,
      { inputs = { sgl.spec { sgl.dim "batch", 8 } } })
    local e = error_of(step, sgl.ones(32, 8))
    contains(e.message, "dim 1: batch to 32")
    contains(e.hint, "write batch")
  end)

  it("case 13: rows selected by a mask, processed, written back: values and gradients", function()
    local function process(v) return v * v end
    local function plain(h, mask)
      local out = h * 1
      out[mask] = process(h[mask])
      return out, sgl.grad(out:sum(), h)
    end
    local step = sgl.compile(function(h, mask)
      local out = h * 1
      out[mask] = process(h)
      return out, sgl.grad(out:sum(), h)
    end)
    for _, run in ipairs { plain, step } do
      local out, dh = run(sgl.tensor { { 1.0, 2.0 }, { 3.0, 4.0 }, { 5.0, 6.0 } },
        sgl.tensor { true, false, true })
      assert.are.same({ { 1.0, 4.0 }, { 3.0, 4.0 }, { 25.0, 36.0 } }, out:tolist())
      assert.are.same({ { 2.0, 4.0 }, { 1.0, 1.0 }, { 10.0, 12.0 } }, dh:tolist())
    end
  end)

  it("case 14: cfg.k from 2 to 3 between calls: captured again, both values named", function()
    local cfg = { k = 2 }
    local step = sgl.compile(function(x) return x * cfg.k end)
    assert.are.same({ 2.0 }, step(sgl.ones(1)):tolist())
    cfg.k = 3
    assert.are.same({ 3.0 }, step(sgl.ones(1)):tolist())
    assert.are.equal("cfg.k changed from 2 to 3", step:programs()[2].reason)
  end)

  it("case 15: two inputs that share storage, one updated: as uncompiled", function()
    local function f(a, b)
      a:assign(a + 1)
      return a * 1, b * 1
    end
    local step = sgl.compile(f)
    step(sgl.ones(2, 2), sgl.ones(2, 2))
    local base, same = sgl.ones(2, 2), sgl.ones(2, 2)
    for _, pair in ipairs { { base, base, same, same }, { base, base[1], same, same[1] },
      { base, base:t(), same, same:t() } } do
      local a, b = f(pair[1], pair[2])
      local c, d = step(pair[3], pair[4])
      assert.are.same({ a:tolist(), b:tolist() }, { c:tolist(), d:tolist() })
      assert.are.same(base:tolist(), same:tolist())
    end
  end)
end)

describe("programs", function()
  it("case 16: 2, 8 and 32 identical blocks have the kernels of one", function()
    local function bodies(blocks)
      local list = {}
      for i = 1, blocks do
        list[i] = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU())
      end
      local model = nn.Sequential(table.unpack(list))
      local step = sgl.compile(function(x) return model(x) end)
      step(sgl.ones(2, 8))
      return step:info().bodies, step:info().kernels
    end
    local two, few = bodies(2)
    local eight = bodies(8)
    local most, many = bodies(32)
    assert.is_true(eight <= two and most <= two, ("%d, %d, %d"):format(two, eight, most))
    assert.is_true(many >= 10 * few)
  end)

  it("case 17: after max_recaptures: an error that lists which guard failed how often", function()
    local cfg = { k = 0, flag = false }
    local step = sgl.compile(function(x) return cfg.flag and x or x * cfg.k end,
      { max_recaptures = 4 })
    for i = 1, 5 do
      cfg.k = i
      step(sgl.ones(1))
    end
    cfg.k = 6
    local e = error_of(step, sgl.ones(1))
    contains(e.message, "at most 4 re-captures")
    assert.matches("5  cfg%.k\n", e.hint)
  end)
end)
