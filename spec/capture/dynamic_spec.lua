-- dynamic_spec.lua: symbolic sizes: one capture serves every size, with the bits of the static
-- program; what cannot be symbolic says which dim, where, and what to write.

local sgl = require "sgl"
local core = require "sgl.core"
local nn = sgl.nn

local batch = sgl.dim("batch", { min = 1, max = 64 })
local length = sgl.dim("length", { max = 64 })
local rows = sgl.spec { batch, 8 }
local sequences = sgl.spec { batch, length, 8 }

local function one_of(size) return size end

local function script(text)
  local chunk = assert(load(text, "@step.lua"))
  return function(...) return pcall(chunk, ...) end
end

local function failure(fn, ...)
  local ok, e = pcall(fn, ...)
  assert.is_false(ok, "it was accepted")
  return e
end

-- Results of fn with symbolic sizes and of fn captured for each, compared by their bytes.
local function check(specs, calls, fn)
  local f, static = sgl.compile(fn, { inputs = specs }), sgl.compile(fn)
  for _, arguments in ipairs(calls) do
    core.rng(1, 1)
    local got = table.pack(f(table.unpack(arguments)))
    core.rng(1, 1)
    local want = table.pack(static(table.unpack(arguments)))
    assert.are.equal(want.n, got.n)
    for i = 1, want.n do
      assert.are.same(want[i].shape, got[i].shape, "result " .. i)
      assert.are.equal(want[i].dtype, got[i].dtype)
      assert.is_true(want[i]:bytes() == got[i]:bytes(), "bits differ in result " .. i)
    end
  end
  local text = f:graph():text()
  assert.are.equal(text, core.parse(text):text())
  assert.is_true(f:graph():verify())
  return f
end

local function batches(...)
  local list = {}
  for i, n in ipairs { ... } do list[i] = { sgl.randn(n, 8) } end
  return list
end

local function pairs_of(...)
  local list = {}
  for i, p in ipairs { ... } do list[i] = { sgl.randn(p[1], p[2], 8) } end
  return list
end

local ALL = function() return batches(1, 2, 7, 32) end
local MANY = function() return pairs_of({ 1, 1 }, { 2, 3 }, { 7, 5 }, { 32, 16 }) end

local conv, strided = nn.Conv2d(3, 4, 3, { padding = 1 }), nn.Conv2d(4, 4, 3, { stride = 2 })
local attention = nn.MultiheadAttention(8, 2)
local lstm, gru = nn.LSTM(8, 4), nn.GRU(8, 4)

-- { title, spec, calls, function of x }
local ROWS = {
  { "sums and means", rows, ALL, function(x) return x:sum(1), x:mean(1), x:mean(), x:sum() end },
  { "variance", rows, function() return batches(2, 7, 32) end,
    function(x) return x:var(1), x:std() end },
  { "softmax and its kin", rows, ALL,
    function(x) return x:softmax(2), x:softmax(1), x:log_softmax(1), x:logsumexp(1) end },
  { "extremes and their places", sequences, MANY,
    function(x) return x:amax(1), x:max(2), x:argmax(2), x:argmin(1), x:argmax() end },
  { "matmul", sequences, MANY, function(x)
    return x:matmul(sgl.ones(8, 3)), x:matmul(x:transpose(2, 3)), x:flatten(1, 2):matmul(
      sgl.ones(8, 3))
  end },
  { "reshape, with -1 too", sequences, MANY, function(x)
    local b, l = x.shape[1], x.shape[2]
    return x:reshape(-1, 8), x:reshape(b * l, 8), x:reshape(-1), x:reshape(b, -1),
      x:reshape(-1, 8):reshape(b, -1, 8), x:reshape(b, l, 2, -1), x:flatten(2),
      x:unflatten(3, { 2, -1 })
  end },
  { "movement", sequences, MANY, function(x)
    return x:permute(2, 1, 3), x:flip(1, 2), x:unsqueeze(1), x:transpose(1, 2), x:tile(1, 2, 1),
      x:repeat_interleave(2, 1), x:roll(1, 2)
  end },
  { "concat and stack", sequences, MANY, function(x)
    return sgl.cat({ x, x }, 1), sgl.cat({ x, sgl.zeros(x.shape[1], 4, 8) }, 2), sgl.stack({ x, x })
  end },
  { "slices", sequences, MANY, function(x)
    local l = x.shape[2]
    return x[{ {}, { 1, l } }], x[{ {}, { 1, -1, 2 } }], x[1], x[-1], x[{ {}, { l, 1, -1 } }],
      x:narrow(2, 1, 1), x[{ {}, { 1, (l + 1) // 2 } }], x[{ {}, { l // 2 + 1, l } }]
  end },
  { "broadcast", rows, ALL, function(x)
    return x + x:mean(1, { keepdim = true }), sgl.ones(8):broadcast_to(x.shape),
      sgl.ones(1, 8):expand(x.shape[1], 8), sgl.ones(1, 8):expand_as(x)
  end },
  { "sizes as numbers", rows, ALL, function(x)
    local n = x.shape[1]
    return x * n, x / n, x - (n + 1), x + 1 / n, x:sum() * 2 / n, x:gt(n // 2)
  end },
  { "cumsum, sort, argsort", sequences, MANY,
    function(x) return x:cumsum(1), x:cumsum(2), x:argsort(1), x:sort(2) end },
  { "quantiles", sequences, MANY, function(x)
    return x:quantile(0.3, 1), x:quantile(0.9, 2, { keepdim = true }), x:quantile(0, 1),
      x:quantile(1, 2), x:quantile(0.5), x:median(1)
  end },
  { "gather and one_hot", rows, ALL, function(x)
    local order = x:argsort(1)[{ {}, 1 }]
    return x[order], x:gather(2, x:argsort(2)), sgl.zeros_like(x):index_add(1, order, x),
      order:one_hot(64)
  end },
  { "padding", sequences, MANY,
    function(x) return x:pad { 1, 1 }, x:pad { 0, 0, 1, 2 }, x:pad { 0, 0, 0, 0, 1, 0 } end },
  { "iota: causal masks, triangles, arange", sequences, MANY, function(x)
    return x:tril(), x:triu(1), sgl.arange(x.shape[2]), sgl.eye(x.shape[2]),
      sgl.full({ x.shape[1] }, 3)
  end },
  { "assignment to a part", rows, ALL, function(x)
    local y, z = sgl.zeros_like(x), x * 1
    y[{ {}, { 1, 2 } }] = 1
    z[z:gt(0)] = 0
    return y, z
  end },
  { "einsum", sequences, MANY, function(x)
    return sgl.einsum("blc,bmc->blm", x, x), sgl.einsum("blc->bc", x)
  end },
  { "random numbers and dropout", rows, ALL, function(x)
    return nn.dropout(x, 0.5, { training = true }), sgl.rand_like(x), sgl.randn(x.shape)
  end },
  { "normalisation", rows, function() return batches(2, 7, 32) end,
    function(x) return nn.BatchNorm1d(8)(x), nn.LayerNorm(8)(x), nn.gelu(x) end },
  { "attention with a causal mask", sequences, MANY, function(x)
    return nn.scaled_dot_product_attention(x, x, x, { causal = true }), attention(x)
  end },
  { "convolution and pooling over images of any size",
    sgl.spec { batch, 3, sgl.dim("height", { min = 8 }), sgl.dim("width", { min = 8 }) },
    function()
      return { { sgl.randn(1, 3, 8, 8) }, { sgl.randn(2, 3, 9, 11) }, { sgl.randn(5, 3, 16, 8) } }
    end,
    function(x)
      local y = conv(x)
      return strided(y), nn.max_pool2d(y, 2), nn.avg_pool2d(y, 3, { stride = 2 })
    end },
  { "branches and scans", sequences, MANY, function(x)
    local y = sgl.cond(x:sum():gt(0), function(t) return t * t.shape[1] end,
      function(t) return t + 1 end, x)
    local carry, ys = sgl.scan(function(c, t)
      local n = (c + t):tanh()
      return n, n * 2
    end, sgl.zeros(x.shape[2], 8), x)
    return y, carry, ys
  end },
  { "a recurrent layer", sgl.spec { batch, 5, 8 },
    function() return { { sgl.randn(1, 5, 8) }, { sgl.randn(7, 5, 8) } } end,
    function(x) return (lstm(x)) end },
  { "layers over time", sequences, MANY, function(x)
    local y, state = lstm(x)
    return y, state[1], state[2], (gru(x))
  end },
  { "a loop", sequences, MANY, function(x)
    return sgl.loop(function(y) return y:abs():sum():lt(1e3) end,
      function(y) return y * 1.5 + y:mean(1, { keepdim = true }) end, x, { max = 20 })
  end },
  { "diagonals", sequences, MANY, function(x)
    local y = x:matmul(x:transpose(2, 3))
    return y:diagonal(0, 2, 3), y:diagonal(1, 2, 3):sum()
  end },
  { "a write under a mask", sequences, MANY, function(x)
    local y = x * 1
    y[y:gt(0)] = y * 2
    y[{ { 1, 1 } }] = x[{ { 1, 1 } }] * 3
    return y
  end },
}

describe("symbolic sizes", function()
  for _, row in ipairs(ROWS) do
    local title, spec, calls, fn = table.unpack(row)
    it("go through " .. title .. " with the bits of static programs, in one capture", function()
      assert.are.equal(1, check({ spec }, calls(), fn):info().captures)
    end)
  end

  local SMOOTH = { "sums and means", "variance", "softmax and its kin", "matmul", "movement",
    "reshape, with -1 too", "concat and stack", "slices", "broadcast", "padding", "einsum",
    "assignment to a part", "normalisation", "attention with a causal mask",
    "random numbers and dropout", "a recurrent layer",
    "branches and scans", "a loop", "layers over time", "diagonals", "a write under a mask",
    "convolution and pooling over images of any size" }
  for _, row in ipairs(ROWS) do
    local title, spec, calls, fn = table.unpack(row)
    for _, smooth in ipairs(SMOOTH) do
      if smooth == title then
        it("have gradients: " .. title, function()
          local f = check({ spec }, calls(), function(x)
            local loss = 0
            for i, y in ipairs { fn(x) } do
              if y.dtype == "f32" then loss = (y * y:detach():sin()):sum() * i + loss end
            end
            return loss, core.grad(loss, { x })[1]
          end)
          assert.are.equal(1, f:info().captures)
        end)
      end
    end
  end

  it("serve a step of training, optimizer and all", function()
    local function trainer()
      sgl.seed(3)
      local model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
      local optimizer = sgl.optim.AdamW(model:parameters())
      return model, function(x, y)
        local loss = nn.cross_entropy(model(x), y, { label_smoothing = 0.1 })
        optimizer:minimize(loss, { clip_norm = 1 })
        return loss
      end
    end
    local one, step = trainer()
    local two, other = trainer()
    step = sgl.compile(step, { inputs = { rows, sgl.spec({ batch }, "i32") } })
    other = sgl.compile(other)
    for _, n in ipairs { 1, 2, 7, 32, 7 } do
      local x, y = sgl.randn(n, 8), sgl.randint(4, { n })
      assert.is_true(step(x, y):bytes() == other(x, y):bytes())
    end
    for i, p in ipairs(one:parameters()) do
      assert.is_true(p:bytes() == two:parameters()[i]:bytes())
    end
    assert.are.equal(1, step:info().captures)
    assert.are.equal(1, step:info().specialisations)
    assert.are.equal(5, step:info().bindings)
  end)

  it("bind in a graph: then it is the graph of a static capture", function()
    local layer = nn.Linear(8, 4)
    local fn = function(x) return layer(x):mean(1) / x.shape[1] end
    local f, static = sgl.compile(fn, { inputs = { rows } }), sgl.compile(fn)
    f(sgl.ones(2, 8))
    static(sgl.ones(7, 8))
    local bound = f:graph():bind { batch = 7 }
    assert.are.equal(static:graph():text(), bound:text())
    assert.are.equal(static:graph():hash(), bound:hash())
    local e = failure(bound.bind, f:graph(), { batch = 65 })
    assert.is_truthy(e.message:find("1 to 64", 1, true), e.message)
  end)
end)

describe("a dynamic batch in 1..32 captured with batch 1", function()
  it("runs at 1, 2, 7 and 32 with one capture, bit-equal to static programs", function()
    local b, layer = sgl.dim("batch", { min = 1, max = 32 }), nn.Linear(8, 4)
    local f = check({ sgl.spec { b, 8 } }, ALL(), function(x) return layer(x) end)
    local info = f:info()
    assert.are.equal(1, info.captures)
    assert.are.equal(4, info.bindings)
    local e = failure(f, sgl.ones(33, 8))
    assert.are.equal("SGL_ESHAPE", e.code)
    assert.is_truthy(e.message:find("dim 'batch' is 33 by dim 1 of 'x'", 1, true), e.message)
    assert.is_truthy(e.message:find("1 to 32", 1, true), e.message)
  end)

  it("has one program for all sizes", function()
    local f = sgl.compile(function(x) return x * 2 end,
      { inputs = { sgl.spec { sgl.dim "n" } } })
    for n = 1, 200 do f(sgl.ones(n)) end
    assert.are.equal(1, f:info().specialisations)
    assert.are.equal(200, f:info().bindings)
    assert.are.same({ 2.0 }, f(sgl.ones(1)):tolist())
  end)
end)

describe("sizes that a static program treats in different ways", function()
  local function vectors(...)
    local list = {}
    for i, n in ipairs { ... } do list[i] = { sgl.randn(n) } end
    return list
  end
  local function total(x) return x:sum(), (x * x):mean(), (x - x:mean()):exp():sum() end

  it("share a program with those that are treated alike", function()
    local f = check({ sgl.spec { sgl.dim "long" } },
      vectors(3, 31, 32, 40, 4096, 5000, 2, 20000, 1), total)
    assert.are.equal(1, f:info().captures)
    assert.are.equal(2, f:info().specialisations)
  end)

  it("are one program where the range leaves nothing open", function()
    local f = check({ sgl.spec { sgl.dim("short", { max = 4096 }) } },
      vectors(3, 33, 4096, 1), total)
    assert.are.equal(1, f:info().specialisations)
  end)

  it("are told apart by a dim of size 1 behind a long one", function()
    local calls = {}
    for i, p in ipairs { { 40, 3 }, { 70, 1 }, { 3, 1 }, { 33, 2 }, { 200, 1 } } do
      calls[i] = { sgl.randn(p[1], p[2]) * 1e3 }
    end
    local f = check({ sgl.spec { sgl.dim "m", sgl.dim "n" } }, calls, function(x)
      return x:sum(1), x:exp():mean(1), x:amax(1)
    end)
    assert.are.equal(2, f:info().specialisations)
  end)

  it("are told apart by a size that is 0", function()
    local f = check({ sgl.spec { sgl.dim "k" } }, vectors(5, 1, 2, 1, 9), function(x)
      local n = x.shape[1]
      local rest = x:narrow(1, 1, n - 1)
      return rest * 2, rest:sum(), sgl.cat({ rest, x }, 1), rest:pad { 1, 0 }
    end)
    assert.are.equal(1, f:info().captures)
    assert.are.equal(2, f:info().specialisations)
  end)

  it("go on after memory was out while sizes were filled in", function()
    local f = sgl.compile(function(x) return (x * 2):sum(1) end, { inputs = { rows } })
    local x = { sgl.ones(3, 8):realize(), sgl.ones(5, 8):realize() }
    f(x[1])
    for n = 1, 60 do
      core.fail_alloc(n)
      local fine, y = pcall(f, x[n % 2 + 1])
      core.fail_alloc(0)
      if not fine then y = f(x[n % 2 + 1]) end
      assert.are.equal((n % 2 == 0 and 3 or 5) * 2.0, y:tolist()[1])
    end
  end)
end)

describe("a size whose range begins at 1", function()
  it("is named with the least size by an index, and squeezed where it is 1", function()
    local function step_of(dim, fn)
      return sgl.compile(fn, { inputs = { sgl.spec { dim, 4 } } })
    end
    local function third(x) return x[3] end
    local e = failure(step_of(sgl.dim("n"), third), sgl.ones(5, 4))
    local fix = e.hint:match "sgl%.dim%b()"
    local dim = load("local sgl = ... return " .. fix)(sgl)
    assert.are.same({ 1.0, 1.0, 1.0, 1.0 }, step_of(dim, third)(sgl.ones(5, 4)):tolist())
    local function squeezed(x) return x:squeeze(), x:squeeze(1), x:sum(2):squeeze() end
    local step = step_of(sgl.dim("n"), squeezed)
    for _, k in ipairs { 3, 1, 5, 1 } do
      local x = sgl.arange(4 * k):reshape(k, 4):float()
      local want, got = table.pack(squeezed(x)), table.pack(step(x))
      for i = 1, want.n do assert.is_true(want[i]:equal(got[i])) end
    end
    assert.are.equal(2, #step:programs())
  end)
end)

describe("a length that must be a multiple of 8", function()
  local TEXT = [[
local sgl = require "sgl"
local length = %s
local f = sgl.compile(function(x)
  return x:reshape(x.shape[1], x.shape[2] // 8, 8), x:reshape(x.shape[1], -1, 8)
end, { inputs = { sgl.spec { sgl.dim "batch", length } } })
return f, f(sgl.ones(2, 16))
]]

  it("is one error with dim, line, op and a fix that works when pasted", function()
    local ok, e = script(TEXT:format 'sgl.dim "length"')()
    assert.is_false(ok)
    assert.are.equal(4, e.line)
    assert.is_truthy(e.message:find("^reshape: .*length"), e.message)
    local fix = e.hint:match "sgl%.dim%b()"
    assert.is_truthy(fix and fix:find("multiple = 8", 1, true), e.hint)
    local fine, f, first = script(TEXT:format(fix))()
    assert.is_true(fine, tostring(f))
    assert.are.same({ 2, 2, 8 }, first.shape)
    local refused = failure(f, sgl.ones(2, 9))
    assert.is_truthy(refused.message:find("dim 'length' is 9 by dim 2 of 'x'", 1, true),
      refused.message)
    assert.is_truthy(refused.message:find("multiple of 8", 1, true), refused.message)
  end)

  it("is the same error where -1 asks for the rest", function()
    local f = sgl.compile(function(x) return x:reshape(x.shape[1], -1, 8) end,
      { inputs = { sgl.spec { batch, sgl.dim "free" } } })
    local e = failure(f, sgl.ones(2, 16))
    assert.is_truthy(e.message:find("free", 1, true), e.message)
    assert.is_truthy(e.hint:find("multiple = 8", 1, true), e.hint)
  end)
end)

describe("the arithmetic on sizes", function()
  it("adds up 100 run-time sizes and divides them by 5 in under 2 s", function()
    local specs, arguments, before = {}, {}, core.clock()
    for i = 1, 100 do
      specs[i] = sgl.spec { sgl.dim("n" .. i, { max = 1000 }) }
      arguments[i] = sgl.ones(i)
    end
    local f = sgl.compile(function(...)
      local total = 0
      for _, x in ipairs { ... } do total = total + x.shape[1] end
      return sgl.ones(total // 5)
    end, { inputs = specs })
    assert.are.same({ 1010 }, f(table.unpack(arguments)).shape)
    arguments[1] = sgl.ones(11)
    assert.are.same({ 1012 }, f(table.unpack(arguments)).shape)
    assert.is_true(core.clock() - before < 2)
  end)

  it("stops with the budget's message where it would not end", function()
    local specs, arguments, before = {}, {}, core.clock()
    for i = 1, 40 do
      specs[i], arguments[i] = sgl.spec { sgl.dim("n" .. i) }, sgl.ones(1)
    end
    local e = failure(sgl.compile(function(...)
      local total = 1
      for _, x in ipairs { ... } do total = total * (x.shape[1] + 1) end
      return sgl.ones(total)
    end, { inputs = specs }), table.unpack(arguments))
    assert.is_truthy(e.message:find("budget", 1, true), e.message)
    assert.is_true(core.clock() - before < 2)
  end)

  it("keeps sums, products and quotients exact", function()
    local a, b = sgl.dim("a", { max = 100 }), sgl.dim("b", { multiple = 4 })
    assert.are.equal("2*a+1", tostring(a + a + 1))
    assert.are.equal("a*b", tostring(b * a))
    assert.is_true((a + b) * (a - b + 2 * b) == a * a + 2 * a * b + b * b)
    assert.are.equal("b/4", tostring(b // 4))
    assert.are.equal(0, b % 4)
    assert.are.equal(7, a + 7 - a)
    assert.is_true((a * b) // a == b)
    assert.are.equal("a", tostring((4 * a + 3) // 4))
    assert.are.same({ 1, 100 }, { a.min, a.max })
  end)

  it("decides what the ranges decide", function()
    local a = sgl.dim("a", { min = 2, max = 9 })
    assert.is_true(a > 1 and a >= 2 and a < 10 and a <= 9 and 1 < a and 2 <= a)
    assert.is_false(a < 2 or a > 9 or 9.5 < a or a >= 9.5)
    assert.is_true(a // 2 <= a and a - a // 2 > 0 and a + 1 > a)
    assert.is_truthy(failure(function() return a < 5 end).message:find("'a'", 1, true))
  end)
end)

describe("a comparison that the ranges leave open", function()
  it("is decided for the example, and captured again where it comes out otherwise", function()
    local f = check({ rows }, batches(2, 3, 20, 30, 2), function(x)
      if x.shape[1] < 16 then return x * 2 end
      return x * 3
    end)
    assert.are.equal(2, f:info().captures)
    assert.is_truthy(f:info().guards[1]:find("batch < 16 is true", 1, true), f:info().guards[1])
  end)
end)

describe("a size compared with a number by ==", function()
  it("is a break where the range leaves it open, and n:eq is not", function()
    for _, fn in ipairs {
      function(x) return x.shape[1] == 1 and x or x * 2 end,
      function(x) local one = 1.0 return #x ~= one and x or x * 2 end,
      function(x) return one_of(x.shape[1]) == 3 and x or x * 2 end,
    } do
      local e = failure(sgl.compile(fn, { inputs = { rows } }), sgl.ones(2, 8))
      assert.is_truthy(e.message:find("symbolic size and a number", 1, true), e.message)
    end
    local never = function(x) return x.shape[1] == 0 and x or x * 2 end
    assert.are.equal(1, check({ rows }, batches(1, 2), never):info().captures)
    local same = function(x)
      local n = x.shape[1]
      if n <= 3 and n >= 3 then return x end
      return x * 2
    end
    check({ rows }, batches(1, 3, 5, 3), same)
    local eq = function(x) return x.shape[1]:eq(1) and x or x * 2 end
    local f = sgl.compile(eq, { inputs = { rows } })
    assert.are.equal(1, f(sgl.ones(1, 8))[1][1]:item())
    assert.are.equal(2, f(sgl.ones(2, 8))[1][1]:item())
    assert.are.equal(2, f:info().captures)
  end)
end)

describe("a size that Lua would take for something else", function()
  for _, row in ipairs {
    { "a 'for' loop", function(x) for _ = 1, x.shape[1] do x = x + 1 end return x end },
    { "a 'for' loop", function(x) for _ = x.shape[1], 1, -1 do x = x + 1 end return x end },
    { "the key of a table", function(x) return ({ x * 2, x * 3 })[x.shape[1]] or x end },
    { "the key of a table", function(x) local t = {} t[x.shape[1]] = 2 return x * #t end },
    { "type of", function(x) return type(x.shape[1]) == "number" and x * 2 or x end },
    { "math.type of", function(x) return math.type(x.shape[1]) and x * 2 or x end },
    { "math.floor of", function(x) return x * math.floor(x.shape[1]) end },
    { "tonumber of", function(x) return x * tonumber(x.shape[1]) end },
  } do
    it("is a break with the line: " .. row[1], function()
      local e = failure(sgl.compile(row[2], { inputs = { rows } }), sgl.ones(2, 8))
      assert.is_truthy(e.message:find(row[1], 1, true), e.message)
      assert.is_truthy(tostring(e):find("[break B-SIZE", 1, true), tostring(e))
      assert.are.equal(debug.getinfo(row[2], "S").linedefined, e.line)
    end)
  end

  it("has as text the number that the call has, which is a guard", function()
    local f = check({ rows }, batches(2, 3, 12, 3), function(x)
      local n = x.shape[1]
      return x * #tostring(n), x * tonumber("1" .. n), x + #("%s"):format(n + 7)
    end)
    assert.are.equal(3, f:info().captures)
    assert.is_truthy(f:info().guards[1]:find("is true", 1, true), f:info().guards[1])
    assert.are.equal("batch", tostring(batch))
  end)

  it("goes through math.max and math.min, which compare", function()
    check({ rows }, batches(2, 7), function(x)
      return x * math.max(x.shape[1], 5), x * math.min(3, x.shape[1])
    end)
  end)
end)

describe("programs of one function", function()
  it("share the memory they run in, whatever the sizes", function()
    local function grown(most)
      collectgarbage()
      local f <close> = sgl.compile(function(x)
        local y = x:matmul(sgl.ones(8, 40000)):tanh()
        return (y:matmul(y:transpose(1, 2))):sum()
      end, { inputs = { rows } })
      local inputs = {}
      for n = 1, most do inputs[n] = sgl.ones(n + 24, 8):realize() end
      f(sgl.ones(64, 8))
      local before = sgl.memory().live
      for n = 1, most do f(inputs[n]) end
      assert.are.equal(1, f:info().specialisations)
      return sgl.memory().live - before, f:info().arena_bytes
    end
    local growth, arena = grown(16)
    assert.is_true(arena > 4e6, arena)
    assert.is_true(growth < arena, growth)
  end)
end)

describe("a constant where a symbol is needed", function()
  it("is refused with the dim, and the symbol is offered", function()
    local f = sgl.compile(function(x) return x:expand(32, 8) end, { inputs = { rows } })
    local e = failure(f, sgl.ones(32, 8))
    assert.is_truthy(e.message:find("dim 1: batch to 32", 1, true), e.message)
    assert.is_truthy(e.hint:find("write batch, the value of t.shape[1]", 1, true), e.hint)
    f = sgl.compile(function(x) return sgl.ones(1, 8):expand(32, 8) + x end, { inputs = { rows } })
    e = failure(f, sgl.ones(32, 8))
    assert.is_truthy(e.message:find("dim 1: 32 against batch", 1, true), e.message)
    assert.is_truthy(e.hint:find("batch", 1, true), e.hint)
  end)
end)

describe("a window over a symbolic dim that can be smaller", function()
  it("is refused with a declaration that works", function()
    local made = function(dim)
      local f = sgl.compile(function(x) return nn.max_pool2d(x, 2) end,
        { inputs = { sgl.spec { 1, 2, dim, dim } } })
      return f(sgl.ones(1, 2, 8, 8))
    end
    local e = failure(made, sgl.dim("side", { max = 64 }))
    local fix = assert(e.hint:match "sgl%.dim%b()", e.hint)
    assert.are.equal('sgl.dim("side", { min = 2 })', fix)
    local dim = load("return " .. fix, "=fix", "t", { sgl = sgl })()
    assert.are.same({ 1, 2, 4, 4 }, made(dim).shape)
  end)
end)

describe("running results along a symbolic dim", function()
  for _, name in ipairs { "cumsum", "cumprod", "cummax", "cummin" } do
    it("have the bits of static programs: " .. name, function()
      local sizes = { 1, 2, 3, 4, 5, 8, 9, 64 }
      check({ rows }, batches(table.unpack(sizes)), function(x)
        return x[name](x, 1), x[name](x, 2)
      end)
      check({ rows }, batches(table.unpack(sizes)), function(x)
        local y = x[name](x, 1)
        return sgl.grad((y * y):sum(), x)
      end)
    end)
  end
end)

describe("the inputs of a run", function()
  it("must agree on dims of one name", function()
    local f = sgl.compile(function(a, b) return a + b end, { inputs = { rows, rows } })
    f(sgl.ones(3, 8), sgl.ones(3, 8))
    local e = failure(f, sgl.ones(3, 8), sgl.ones(4, 8))
    assert.is_truthy(e.message:find("dim 'batch' is 3 by 'a' but 4 by dim 1 of 'b'", 1, true),
      e.message)
    assert.is_truthy(e.hint:find("give 'b' a sgl.dim of its own", 1, true), e.hint)
  end)

  it("outside a range or not of a multiple get a declaration or a size that works", function()
    local made = function(dim, n)
      local f = sgl.compile(function(x) return x * 2 end, { inputs = { sgl.spec { dim } } })
      return f(sgl.ones(n))
    end
    for _, row in ipairs {
      { sgl.dim("batch", { max = 32 }), 33 },
      { sgl.dim("batch", { min = 8, max = 32 }), 3 },
      { sgl.dim("batch", { min = 8, max = 32, multiple = 8 }), 40 },
      { sgl.dim("batch", { min = 16, max = 32, multiple = 8 }), 8 },
    } do
      local e = failure(made, row[1], row[2])
      local fix = assert(e.hint:match "sgl%.dim%b()", e.hint)
      local dim = assert(load("return " .. fix, "=fix", "t", { sgl = sgl }))()
      assert.are.equal(row[1].multiple, dim.multiple)
      assert.are.same({ row[2] }, made(dim, row[2]).shape)
    end
    local odd = failure(made, sgl.dim("batch", { max = 32, multiple = 8 }), 41)
    assert.is_truthy(odd.hint:find("max = 48, multiple = 8", 1, true), odd.hint)
    assert.are.equal("pad the input to 8",
      failure(made, sgl.dim("batch", { max = 32, multiple = 8 }), 7).hint)
    assert.are.equal("cut the input to 16",
      failure(made, sgl.dim("batch", { max = 20, multiple = 8 }), 18).hint)
    local none = failure(made, sgl.dim("batch", { max = 32 }), 0)
    assert.is_nil(none.hint:find "sgl%.dim%b()", none.hint)
  end)

  it("of two dims that must be one say so", function()
    local f = sgl.compile(function(a, b) return a + b end,
      { inputs = { rows, sgl.spec { sgl.dim "other", 8 } } })
    local e = failure(f, sgl.ones(3, 8), sgl.ones(3, 8))
    assert.is_truthy(e.hint:find("batch and other are two dims", 1, true), e.hint)
  end)

  it("must be what their specs are for, or nil", function()
    local f = sgl.compile(function(x, y) return y and x or 1 end, { inputs = { rows, rows } })
    assert.are.equal(1, f(sgl.ones(2, 8)))
    for _, wrong in ipairs { 3, "x", true, { sgl.ones(2, 8) } } do
      local e = failure(f, sgl.ones(2, 8), wrong)
      assert.is_truthy(e.message:find("argument 'y' is ", 1, true), e.message)
      assert.is_truthy(e.message:find("its spec says f32[batch, 8]", 1, true), e.message)
    end
    local t = sgl.compile(function(x) return x end, { inputs = { { rows } } })
    local e = failure(t, sgl.ones(2, 8))
    assert.is_truthy(e.message:find("its spec says a table", 1, true), e.message)
  end)

  it("must have what the spec says beside the symbols", function()
    local f = sgl.compile(function(x) return x end, { inputs = { rows } })
    local e = failure(f, sgl.ones(3, 9))
    assert.are.equal("SGL_ESHAPE", e.code)
    assert.is_truthy(e.message:find("'x' is f32[3, 9], its spec says f32[batch, 8]", 1, true),
      e.message)
    assert.are.equal("SGL_EDTYPE", failure(f, sgl.ones(3, 8):int()).code)
  end)

  it("may be expressions of dims that other inputs give", function()
    local f = sgl.compile(function(a, b) return a:sum() + b:sum() end,
      { inputs = { sgl.spec { batch }, sgl.spec { 2 * batch + 1 } } })
    assert.are.equal(10, f(sgl.ones(3), sgl.ones(7)):item())
    local e = failure(f, sgl.ones(3), sgl.ones(8))
    assert.is_truthy(e.message:find("2*batch+1 = 7", 1, true), e.message)
    f = sgl.compile(function(a) return a end, { inputs = { sgl.spec { batch * 2 } } })
    assert.is_truthy(failure(f, sgl.ones(4)).message:find("batch", 1, true))
  end)

  it("may stand in tables, and other arguments have no spec", function()
    local f = sgl.compile(function(t, k) return t.x * k + t.list[1] end,
      { inputs = { { x = rows, list = { rows } } } })
    for _, n in ipairs { 1, 5 } do
      local y = f({ x = sgl.ones(n, 8), list = { sgl.ones(n, 8) } }, 3)
      assert.are.equal(4, y[1][1]:item())
    end
    assert.are.equal(1, f:info().captures)
  end)
end)

describe("specs and dims that cannot be", function()
  for _, row in ipairs {
    { "an empty range", function() sgl.dim("x", { min = 5, max = 4 }) end, "no multiple" },
    { "min 0", function() sgl.dim("x", { min = 0 }) end, "at least 1" },
    { "no name", function() sgl.dim "2x" end, "not a name" },
    { "a size that is none", function() sgl.spec { "batch" } end, "size 1" },
    { "no spec", function() sgl.compile(print, { inputs = { { batch, 8 } } }) end, "sgl.spec" },
    { "a spec that is no list", function()
      sgl.compile(function(x) return x end, { inputs = rows })
    end, "must be a list, got a spec" },
    { "specs by name", function()
      sgl.compile(function(x) return x end, { inputs = { x = rows } })
    end, "must be a list, got the key 'x'" },
    { "two dims of one name", function()
      sgl.compile(print, { inputs = { sgl.spec { sgl.dim "q" },
        sgl.spec { sgl.dim("q", { max = 4 }) } } })
    end, "two dims are called 'q'" },
    { "another field", function() return batch.size end, "no 'size'" },
    { "a size as a number outside a step", function() return batch / 2 end, "outside" },
  } do
    it("are refused: " .. row[1], function()
      local e = failure(row[2])
      assert.is_truthy(e.message:find(row[3], 1, true), e.message)
    end)
  end
end)

describe("an allocation that fails, with symbolic sizes", function()
  it("is an error that says so, and the next call works", function()
    local layer, x, y = nn.Linear(8, 4), sgl.randn(3, 8):realize(), sgl.randn(20, 8):realize()
    local function work()
      local f <close> = sgl.compile(function(t)
        if t.shape[1] < 16 then t = t * 2 end
        return layer(t):mean(1) / t.shape[1], t[{ { 1, (t.shape[1] + 1) // 2 } }]:reshape(-1)
      end, { inputs = { rows } })
      f(x)
      f(y)
      return f:graph():bind({ batch = 4 }):text()
    end
    local text, failed = work(), 0
    for n = 1, 600 do
      core.fail_alloc(n)
      local ok, e = pcall(work)
      core.fail_alloc(0)
      if not ok then
        failed = failed + 1
        assert.is_truthy(tostring(e):find("memory", 1, true), tostring(e))
      end
    end
    assert.is_true(failed > 20, failed)
    assert.are.equal(text, work())
  end)
end)

describe("with dynamic = true", function()
  it("a dim is symbolic from its second size on", function()
    local f = sgl.compile(function(x, y) return x:matmul(y), x:mean(1) end, { dynamic = true })
    for _, n in ipairs { 5, 7, 9, 1, 11 } do
      assert.are.same({ n, n }, (f(sgl.ones(n, 4), sgl.ones(4, n))).shape)
    end
    assert.are.equal(2, f:info().captures)
    assert.are.equal("f32[x_1, 4];f32[4, x_1];", f:info().signature)
    -- Dims that went together go apart when they differ.
    assert.are.same({ 3, 6 }, (f(sgl.ones(3, 4), sgl.ones(4, 6))).shape)
    assert.are.same({ 5, 2 }, (f(sgl.ones(5, 4), sgl.ones(4, 2))).shape)
    assert.are.equal(3, f:info().captures)
  end)

  it("what cannot be symbolic is captured for each size, and says why", function()
    local f = sgl.compile(function(x) return x:reshape(-1, 2) end, { dynamic = true })
    for _, n in ipairs { 4, 6, 8 } do assert.are.same({ n // 2, 2 }, f(sgl.ones(n)).shape) end
    assert.are.equal(3, f:info().captures)
    assert.is_truthy(f:info().refused:find("multiple = 2", 1, true), f:info().refused)
  end)

  it("an empty input has a program of its own", function()
    local f = sgl.compile(function(x) return x:sum() end, { dynamic = true })
    for _, n in ipairs { 3, 0, 4, 0, 5 } do assert.are.equal(n, f(sgl.ones(n)):item()) end
    assert.are.equal(3, f:info().captures)
  end)
end)

describe("the text of sizes", function()
  it("is read back as the same size", function()
    for _, size in ipairs { "n", "2*n", "n+3", "n*m", "n*m/4", "(n)//2", "(2*n+1)//3*m", "m/4",
      "n*n-n+1", "((n+1)//2)//3+2" } do
      local text = ('graph\ndim n 4 64 1\ndim m 4 64 4\ninput %%0 arg "x" f32[n, m]\n'
        .. '%%1 = const() {value=1, dims=[%s], dtype=f32} : f32[%s]\noutput %%1 ""\n'
        .. "output %%0 \"\"\n"):format(size, size)
      local once = core.parse(text):text()
      assert.are.equal(once, core.parse(once):text())
    end
  end)

  it("a known size is no node: the verifier refuses it", function()
    local e = failure(core.parse,
      "graph\n%0 = size() {of=[3], dtype=f32} : f32[]\noutput %0 \"\"\n")
    assert.is_truthy(e.message:find("constant", 1, true), e.message)
  end)
end)
