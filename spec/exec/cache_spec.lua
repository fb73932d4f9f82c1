-- cache_spec.lua: programs in memory stay within their limit and come back with the same bits; the
-- figures are right; equal captures share a program.

local sgl = require "sgl"
local core = require "sgl.core"
local support = require "spec.support"

local VALUES = {}
for i = 1, 64 do VALUES[i] = string.pack("<f", i - 1) end

-- The same values as a new leaf each time: what was computed of another is not known for it.
local function leaf() return core.from_bytes(table.concat(VALUES), "f32", { 64 }) end

local x = leaf()

-- A function that no other program is equal to, with a program of about 64 KiB.
local serial = 0
local function fresh()
  serial = serial + 1
  local k = serial + 0.125
  return function(v) return ((v * k):exp() + v:sum()):log() end
end

local function stats_of(fn)
  local before, after
  before = sgl.cache.stats()
  fn()
  after = sgl.cache.stats()
  local change = {}
  for _, name in ipairs { "hits", "misses", "evictions", "refaults", "bytes", "entries", "held" } do
    change[name] = after[name] - before[name]
  end
  return change
end

local LIMIT = core.knob "cache_size_limit"

local function reset()
  sgl.config.cache_size_limit, sgl.config.enable = LIMIT, "all"
  collectgarbage()
  collectgarbage()
  sgl.cache.clear()
end

describe("the cache of programs", function()
  before_each(reset)
  teardown(reset)

  it("counts a miss for what is new and a hit for what is not", function()
    local change = stats_of(function() for _ = 1, 5 do leaf():sum():item() end end)
    assert.are.equal("1 4 1", ("%d %d %d"):format(change.misses, change.hits, change.entries))
    assert.is_true(change.bytes > 0)
  end)

  it("gives equal captures one program, which is told as found in memory", function()
    local fn, found = fresh(), {}
    local listener <close> = sgl.on("compile_end", function(e) found[#found + 1] = e.cache end)
    local first, second = sgl.compile(fn), sgl.compile(fn)
    local a, b = first(x), second(x)
    assert.are.equal(a:bytes(), b:bytes())
    assert.are.same({ "none", "memory" }, found)
    assert.are.equal(2, listener.calls)
    first:close()
    assert.are.equal(a:bytes(), second(x):bytes())
  end)

  it("does not take equal captures of other lines for one: messages name the line", function()
    local found = {}
    local listener <close> = sgl.on("compile_end", function(e) found[#found + 1] = e.cache end)
    sgl.compile(function(v) return v:exp() * 3.25 end)(x)
    sgl.compile(function(v) return v:exp() * 3.25 end)(x)
    assert.are.same({ "none", "none" }, found)
    assert.are.equal(2, listener.calls)
  end)

  it("keeps within its limit, the least recently used go first", function()
    local order, steps = {}, {}
    local listener <close> = sgl.on("cache_evict", function(e) order[#order + 1] = e.bytes end)
    for i = 1, 4 do
      steps[i] = sgl.compile(fresh())
      steps[i](x)
    end
    local bytes = sgl.cache.stats().bytes
    steps[1](x)                                  -- used last now; the oldest is steps[2]
    sgl.config.cache_size_limit = math.floor(bytes * 0.8)
    assert.is_true(sgl.cache.stats().bytes <= bytes * 0.8)
    assert.are.equal(1, #order)
    assert.are.equal(1, listener.calls)
    local change = stats_of(function() steps[1](x) steps[3](x) steps[4](x) end)
    assert.are.equal(0, change.refaults)
    assert.are.equal(1, stats_of(function() steps[2](x) end).refaults)
    assert.is_true(sgl.cache.stats().bytes <= bytes * 0.8)
  end)

  it("keeps the program used last, whatever the limit", function()
    sgl.config.cache_size_limit = 0
    local step = sgl.compile(fresh())
    local want = step(x)
    assert.are.equal(0, stats_of(function() for _ = 1, 3 do step(x) end end).refaults)
    assert.are.equal(1, sgl.cache.stats().entries)
    assert.are.equal(want:bytes(), step(x):bytes())
  end)

  it("gives a function that lost its program the same bits, its graph and its state", function()
    local weight = sgl.ones(64)
    local step = sgl.compile(function(v)
      weight:assign(weight * 0.75 + v)
      return (weight * v):sum()
    end)
    local other = sgl.compile(fresh())
    local want = {}
    for i = 1, 4 do want[i] = step(x):bytes() end
    local text = step:graph():text()
    weight:assign(sgl.ones(64))
    sgl.config.cache_size_limit = 0
    for i = 1, 4 do
      other(x)
      assert.are.equal(text, step:graph():text())
      other(x)
      assert.are.equal(want[i], step(x):bytes())
    end
    assert.is_true(sgl.cache.stats().refaults >= 8)
    other(x)
    assert.are.equal(1, sgl.cache.stats().held)
    assert.are.equal("function", type(step.info))
    assert.is_true(step:info().kernels > 0)
  end)

  it("warns once of a limit that makes it compile again and again, and advises another", function()
    local out = support.script [[
      local sgl = require "sgl"
      warn "@on"
      local x = sgl.ones(64):realize()
      local a = sgl.compile(function(v) return v:exp() * 2 end)
      local b = sgl.compile(function(v) return v:exp() * 3 end)
      sgl.config.cache_size_limit = 1000
      for _ = 1, 20 do a(x) b(x) end
      print(sgl.cache.stats().advice)
      sgl.config.cache_size_limit =
        math.tointeger(sgl.cache.stats().advice:match "cache_size_limit = (%d+)")
      a(x) b(x)
      local before = sgl.cache.stats().refaults
      for _ = 1, 20 do a(x) b(x) end
      print(sgl.cache.stats().refaults - before)
    ]]
    local warnings = select(2, out:gsub("Lua warning: sgl: programs are compiled again", ""))
    assert.are.equal(1, warnings, out)
    assert.matches("%d+ programs were compiled again after they had been evicted: raise the limit, "
      .. "sgl.config.cache_size_limit = %d+\n0\n$", out)
  end)

  it("advises on what it sees", function()
    local function advice(code)
      return (support.script("local sgl = require 'sgl' local x = sgl.ones(8):realize()\n" .. code
        .. "\nprint(sgl.cache.stats().advice)"))
    end
    assert.matches("the limit fits: all programs take %d+ bytes of 1024 MiB",
      advice "x:sum():item()")
    assert.matches("1%d%d of 1%d%d look%-ups missed, and not for want of room", advice [[
      for i = 1, 120 do sgl.ones(i):sum():item() end]])
    assert.matches("the limit fits: none of the %d+ programs that were evicted was needed again",
      advice "sgl.config.cache_size_limit = 0 for i = 1, 3 do (x + i):sum():item() end")
    assert.matches("not enabled", advice "sgl.config.enable = '-cache'")
  end)

  it("frees a closed function's program at once, a collected one's when room is needed", function()
    local step = sgl.compile(fresh())
    step(x)
    local entries = sgl.cache.stats().entries
    step:close()
    assert.are.equal(entries - 1, sgl.cache.stats().entries)
    local fn = fresh()
    sgl.compile(fn)(x)
    collectgarbage()
    collectgarbage()
    assert.are.equal(entries, sgl.cache.stats().entries)
    local again = sgl.compile(fn)
    assert.are.equal(1, stats_of(function() again(x) end).hits)
    again = nil
    collectgarbage()
    collectgarbage()
    sgl.config.cache_size_limit = 0
    assert.is_true(sgl.cache.stats().entries <= 1)
    assert.is_nil(again)
  end)

  it("is emptied by clear; functions that are there compile again", function()
    local step = sgl.compile(fresh())
    local want = step(x):bytes()
    sgl.cache.clear()
    local s = sgl.cache.stats()
    assert.are.equal("0 0 1", ("%d %d %d"):format(s.bytes, s.entries, s.held))
    assert.are.equal(want, step(x):bytes())
    assert.are.equal(0, sgl.cache.stats().held)
  end)

  it("finds nothing while it is not enabled", function()
    sgl.config.enable = "-cache"
    local change = stats_of(function() for _ = 1, 4 do leaf():sum():item() end end)
    assert.are.equal(0, change.hits)
    assert.are.equal(4, change.misses)
    local step = sgl.compile(fresh())
    assert.are.equal(0, stats_of(function() for _ = 1, 4 do step(x) end end).refaults)
  end)

  it("tells how long look-ups and compiles take", function()
    for i = 1, 40 do (x * i):sum():item() end
    local s = sgl.cache.stats()
    for _, name in ipairs { "lookup_us", "compile_us" } do
      local p = s[name]
      assert.is_true(0 < p.p50 and p.p50 <= p.p95 and p.p95 <= p.p99 and p.p99 < 1e7, name)
      assert.is_true(p.count >= 5)
    end
    assert.is_true(s.lookup_us.p50 < s.compile_us.p50)
  end)

  it("bounds programs of symbolic sizes too, and makes them again when they had to go", function()
    local batch = sgl.dim("cached_batch", { max = 64 })
    local step = sgl.compile(function(v) return (v * 3.5):exp():sum(1) end,
      { inputs = { sgl.spec { batch, 4 } } })
    local want = {}
    local change = stats_of(function()
      for n = 1, 5 do want[n] = step(sgl.ones(n, 4)):bytes() end
    end)
    assert.is_true(change.entries >= 1 and change.bytes > 0)
    assert.are.equal(1, step:info().specialisations)
    sgl.config.cache_size_limit = 0
    for n = 1, 5 do
      assert.are.equal(n, (sgl.ones(n) * 2.25 + n):tolist()[1] - 2.25)
      assert.is_true(sgl.cache.stats().held >= 1)
      assert.are.equal(want[n], step(sgl.ones(n, 4)):bytes())
    end
    assert.is_true(step:info().kernels > 0)
    assert.are.equal(1, step:info().captures)
    step:close()
    assert.are.equal(0, sgl.cache.stats().held)
  end)

  it("frees nothing under a program that runs: its prints may use the cache", function()
    local out, status = support.script [[
      local sgl = require "sgl"
      sgl.config.cache_size_limit = 0
      local x, step = sgl.ones(64):realize(), nil
      local plain, depth = print, 0
      function print(...)
        if depth == 0 then
          depth = 1
          for i = 1, 3 do (sgl.ones(4 + i) * 3):sum():item() end
          sgl.cache.clear()
          plain(select(2, pcall(step, x)).message)
          plain(select(2, pcall(step.close, step)).message)
          depth = 0
        end
        plain(...)
      end
      step = sgl.compile(function(v)
        sgl.print("sum", v:sum())
        return (v * 2):exp():sum()
      end)
      local y = step(x)
      plain(y:item(), sgl.cache.stats().entries)
    ]]
    assert.are.equal(0, status, out)
    assert.matches("a program cannot be run by what it prints while it runs\na program cannot be "
      .. "closed by what it prints while it runs\nsum.*64", out)
    assert.matches("472.89%d*\t%d\n$", out)
  end)

  it("is emptied by another instruction set, and the bits stay", function()
    local step = sgl.compile(fresh())
    local want = step(x):bytes()
    sgl.config.isa = "portable"
    assert.are.equal(want, step(x):bytes())
    sgl.config.isa = "auto"
    assert.are.equal(want, step(x):bytes())
  end)

  it("is emptied by each setting that changes programs: compiled functions follow it", function()
    local other = { fuse = 0, backend = "null" }
    local n = sgl.dim "n"
    local steps = { sgl.compile(fresh()), sgl.compile(fresh(), { inputs = { sgl.spec { n } } }) }
    for _, knob in ipairs(core.knobs()) do
      if knob.key then
        assert.is_truthy(other[knob.name], knob.name .. " changes programs and is not tried here")
        for _, step in ipairs(steps) do
          local want, kernels = step(x):bytes(), step:info().kernels
          sgl.config[knob.name] = other[knob.name]
          local is = step(x):bytes()
          assert.is_true(is ~= want or step:info().kernels ~= kernels, knob.name)
          sgl.config[knob.name] = knob.value
          assert.are.equal(want, step(x):bytes(), knob.name)
          assert.are.equal(1, #step:programs())
        end
      end
    end
  end)
end)
