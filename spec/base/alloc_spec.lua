-- alloc_spec.lua: memory that runs out: each of the first 2,000 allocations of a training run fails
-- once, and gives an error or, where Lua collected and tried again, the run; never a crash, never a
-- leak, and everything works again after it.
--
-- Most failures are injected inside this process. What happens before a script runs (the host, the
-- library, the command line) is tried in processes of their own, by SGL_FAIL_ALLOC.

local core = require "sgl.core"
local sgl = require "sgl"
local engine = require "spec.engine"

local FAILURES = 2000
local STRIDE = math.max(1, math.floor(1 / engine.scale))   -- under a scale, each STRIDE-th of them
local LOOK = 50                 -- failures between two looks at what is left
local SLACK = { live = 8 * 1024, blocks = 12, -- Lua's own room: its stack, its table of strings
  tensors = 256 }               -- the last loss, which the progress bar shows

-- A model with each kind of step (products, convolution, normalisation, random numbers, indexing),
-- a captured step with assigns, eager reading, the text of the graph.
local function prepare()
  sgl.seed(1)
  local model = sgl.nn.Sequential(sgl.nn.Conv2d(1, 2, 3), sgl.nn.BatchNorm2d(2), sgl.nn.ReLU(),
    sgl.nn.Flatten(), sgl.nn.Dropout(0.1), sgl.nn.Linear(8, 5), sgl.nn.Linear(5, 3))
  local optimizer = sgl.optim.Adam(model:parameters(), { lr = 0.01 })
  local step = sgl.compile(function(x, y)
    local loss = sgl.nn.cross_entropy(model(x), y)
    optimizer:minimize(loss)
    return loss
  end)
  return model, step, sgl.randn(4, 1, 4, 4), sgl.tensor({ 0, 1, 2, 1 }, { dtype = "i32" })
end

local function steps(model, step, x, y)
  local losses = {}
  for i = 1, 2 do losses[i] = step(x, y):item() end
  return losses, #(tostring(model(x)) .. step:graph():text())
end

local function train()
  return steps(prepare())
end

-- Blocks, effects, gradients of gradients, what blocks assign.
local function flow()
  local w, seen = sgl.tensor { 0.5, -0.5 }, sgl.tensor(0)
  local function f(xs)
    local last = sgl.scan(function(c, x)
      seen:assign(seen + 1)
      return sgl.cond(x:sum():gt(0), function() return c * w + x end, function() return c:sin() end)
    end, sgl.rand(2), xs)
    local s = sgl.loop(function(v) return v:sum():lt(9) end, function(v) return v * 1.5 + w end,
      last:abs(), { max = 5 })
    sgl.assert(s:isfinite(), "finite")
    return s:sum()
  end
  local step = sgl.compile(function(xs)
    local d = sgl.grad(f(xs), w)
    return sgl.grad((d * d):sum(), w)
  end)
  return step(sgl.ones(3, 2)):tolist(), #step:graph():text()
end

-- Tensors with a history that come into steps and out of them.
local function histories()
  local w, h, sum = sgl.tensor { 0.5, -0.5 }, sgl.ones(2) * 0.1, 0
  local step = sgl.compile(function(x, state)
    local new = (state * w + x):tanh()
    local loss = (new * new):sum()
    w:assign(w - 0.1 * sgl.grad(loss, w))
    return new, loss
  end)
  for i = 1, 3 do
    local loss
    h, loss = step(sgl.ones(2) * i, h + 1)
    sum = sum + sgl.grad((h * loss * w):sum(), w):sum():item()
  end
  local last = sgl.compile(function(x) return x * w end)
  for _ = 1, 3 do h = h + last(h) end
  local fine, e = pcall(sgl.grad, last(h):sum(), w)
  if fine or e.code ~= "SGL_EGRAD" then error(e, 0) end
  return sum
end

-- Memory with nothing of ours alive. The newest program always stays in the cache, so that is
-- made the same one each time. A finalizer may wait already when the first collection begins, and
-- that of a capture lets go of the list of its tensors, which have finalizers of their own.
local function settle()
  assert(core.full({ 2 }, 1, "f32"):neg():tolist()[1] == -1)
  for _ = 1, 3 do collectgarbage() end
  return core.memory()
end

-- Tables with weak keys (what nn knows of modules) never give back the room that they once had. So
-- they get all that they can need before the first look: that of the runs between two looks.
local function widen()
  collectgarbage "stop"
  for _ = 1, LOOK + STRIDE do train() end
  collectgarbage "restart"
end

-- Runs fn with the n-th allocation failing.
local function failing(n, fn, ...)
  core.fail_alloc(n)
  local ok, e = pcall(fn, ...)
  core.fail_alloc(0)
  return ok, e
end

-- An error says what happened: of ours with its code, or Lua's own words.
local function is_memory_error(e)
  if type(e) == "table" then return e.code == "SGL_ENOMEM", tostring(e) end
  return tostring(e):find("not enough memory", 1, true) ~= nil, tostring(e)
end

describe("an allocation that fails #slow", function()
  local cache = core.knob("cache_size_limit")
  setup(function() core.knob("cache_size_limit", 0) end)
  teardown(function()
    core.fail_alloc(0)
    core.knob("cache_size_limit", cache)
  end)

  -- Fails each of the first `most` allocations of one(n) in turn; returns how many gave an error.
  local function sweep(one, most)
    most = most or FAILURES
    widen()
    local start, errors = settle(), 0
    for n = 1, most, STRIDE do
      local ok, e = one(n)
      if not ok then
        local good, text = is_memory_error(e)
        assert(good, ("allocation %d: another error: %s"):format(n, text))
        errors = errors + 1
      end
      if n % LOOK < STRIDE or n + STRIDE > most then
        local now = settle()
        for what, slack in pairs(SLACK) do
          local more = now[what] - start[what]
          assert(more < slack, ("allocation %d: %d more of %s"):format(n, more, what))
        end
      end
    end
    return errors
  end

  it(("gives an error and no leak at each of the first %d of a training run"):format(FAILURES),
    function()
      local want = train()
      sweep(function(n) return failing(n, train) end)
      assert.are.same(want, (train()))
    end)

  it(("gives an error and no leak at each of the first %d of its first step"):format(2 * FAILURES),
    function()
      -- Lua's own allocations succeed after a collection; those of the engine are the later ones.
      local errors = sweep(function(n) return failing(n, steps, prepare()) end, 2 * FAILURES)
      assert(errors > FAILURES / STRIDE / 4, errors .. " errors: few reached the engine")
    end)

  it(("gives an error and no leak at each of the first %d of a step with control flow"):format(
    FAILURES), function()
    sgl.seed(4)
    flow()
    sweep(function(n) return failing(n, flow) end)
  end)

  it(("gives an error and no leak at each of the first %d of steps with histories"):format(
    FAILURES), function()
    local want = histories()
    sweep(function(n) return failing(n, histories) end)
    assert.are.equal(want, histories())
  end)

  it("leaves no block behind when the same one fails again and again", function()
    local repeats = math.max(16, engine.times(20))
    for _, n in ipairs { 40, 200, 500, 900, 1500 } do
      for _ = 1, 3 do failing(n, train) end
      local before = settle()
      for _ = 1, repeats do failing(n, train) end
      local after = settle()
      local more = after.blocks - before.blocks
      assert(more < repeats * 0.8, ("allocation %d leaks %d bytes, %d blocks"):format(n,
        after.live - before.live, more))
    end
  end)

  it("is looked for where only what is needed counts, though an older tensor keeps the past",
    function()
      local waiting = sgl.ones(3) + 1
      train()
      local before = settle()
      for _ = 1, 5 do train() end
      local after = settle()
      assert(after.blocks - before.blocks < SLACK.blocks, after.blocks - before.blocks)
      assert.are.same({ 2, 2, 2 }, waiting:tolist())
    end)

  it("before and while a program starts gives an error and a status, not a signal", function()
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write [[
local sgl = require "sgl"
local w = sgl.nn.parameter(sgl.ones(3))
local step = sgl.compile(function(x) return ((w * x) ^ 2):sum() end)
print(step(sgl.tensor({ 1.0, 2.0, 3.0 })):item())
]]
    file:close()
    local SAMPLES = { 1, 2, 3, 5, 8, 13, 21, 34, 55, 100, 300, 1000, 2000, 5000, 10000 }
    for i = 1, math.ceil(#SAMPLES * math.min(1, engine.scale)) do
      local n = SAMPLES[i]
      local pipe = assert(io.popen(("SGL_FAIL_ALLOC=%d %s %s 2>&1; echo status $?"):format(n,
        engine.binary, name)))
      local text = pipe:read("a")
      pipe:close()
      local out, status = text:match("^(.*)status (%d+)\n$")
      assert(status == "0" and out == "14.0\n" or status == "1" and #out > 0,
        ("allocation %d: status %s\n%s"):format(n, status, out))
    end
    os.remove(name)
  end)
end)
