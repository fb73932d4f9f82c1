-- outside_spec.lua: what is no part of a step is none of its program: finalizers, collections, the
-- frames that called it, the order that `pairs` had; and where its errors point to.

local sgl = require "sgl"
local support = require "spec.support"

local x = sgl.ones(1)

describe("a finalizer that runs while a step is captured", function()
  for how, collect in pairs {
    ["of a collection that the step asks for"] = function() collectgarbage() end,
    ["of one by memory"] = function()
      for _ = 1, 2000 do local _ = { {}, {}, ("a"):rep(99) } end
    end,
  } do
    it("is no part of it: " .. how, function()
      local w, count = sgl.zeros(1), 0
      local function litter()
        setmetatable({}, { __gc = function()
          w:assign(w + 1)
          count = count + 1
        end })
      end
      local step = sgl.compile(function(v)
        litter()
        collect()
        return v * 2
      end)
      litter()
      step(x)
      collectgarbage()
      local before = count
      assert.are.same({ before + 0.0 }, w:tolist())
      for _ = 1, 3 do step(x) end
      assert.are.same({ before + 0.0 }, w:tolist())
      local plain = sgl.compile(function(v) return v * 2 end)
      plain(x)
      assert.are.equal(plain:info().nodes, step:info().nodes)
      assert.are.equal(0, #step:state())
    end)
  end

  it("finds the collector as it was", function()
    local step = sgl.compile(function(v) return v * 2 end)
    collectgarbage "stop"
    step(x)
    assert.is_false(collectgarbage "isrunning")
    collectgarbage "restart"
    sgl.compile(function(v) return v * 3 end)(x)
    pcall(sgl.compile(function(v) return v:item() end), x)
    assert.is_true(collectgarbage "isrunning")
  end)
end)

describe("what Lua tells of the world outside a step breaks:", function()
  for what, fn in pairs {
    ["whether a collection came to its end"] = function(v)
      return v * (collectgarbage "step" and 2 or 3)
    end,
    ["how the collector is set"] = function(v) collectgarbage "incremental" return v end,
    ["whether it runs"] = function(v) return v * (collectgarbage "isrunning" and 2 or 3) end,
    ["a traceback"] = function(v) return v * #debug.traceback() end,
    ["the caller's line"] = function(v) return v * debug.getinfo(2, "l").currentline end,
    ["how deep it stands"] = function(v) return v * (debug.getinfo(20, "l") and 2 or 3) end,
  } do
    it(what, function()
      local e = support.error_of(sgl.compile(fn), x)
      assert.are.equal("B-CALL", e.reason)
      assert.matches("collectgarbage", (e.message:gsub("debug%.%a+", "collectgarbage")))
      local step = sgl.compile(fn, { fullgraph = false })
      assert.are.equal(sgl.is_tensor(step(x)), true)
    end)
  end

  it("not its own lines and functions", function()
    local function fn(v)
      local own = debug.getinfo(1, "l").currentline
      return v * own * debug.getinfo(print, "S").what:len()
    end
    assert.is_true(sgl.compile(fn)(x):equal(fn(x)))
  end)
end)

-- A table whose keys come in another order once it grew and shrank.
local function reordered()
  local function order(t)
    local keys = {}
    for key in pairs(t) do keys[#keys + 1] = key end
    return table.concat(keys, " ")
  end
  for n = 3, 40 do
    local t = {}
    for i = 1, n do t["k" .. i] = i end
    local before = order(t)
    local function change()
      for i = 1, 500 do t["other" .. i] = 1 end
      for i = 1, 500 do t["other" .. i] = nil end
      t.again = 1
      t.again = nil
      for i = 1, 1000 do t[i] = i end
      for i = 1, 1000 do t[i] = nil end
    end
    change()
    if order(t) ~= before then
      local fresh = {}
      for i = 1, n do fresh["k" .. i] = i end
      return fresh, function()
        for i = 1, 500 do fresh["other" .. i] = 1 end
        for i = 1, 500 do fresh["other" .. i] = nil end
        for i = 1, 1000 do fresh[i] = i end
        for i = 1, 1000 do fresh[i] = nil end
      end
    end
  end
end

it("the order in which a step saw keys is checked", function()
  local t, change = reordered()
  local function fn(v)
    local first = next(t)
    local all = {}
    for key in pairs(t) do all[#all + 1] = key end
    return v * tonumber((all[1]:gsub("%a", ""))) + tonumber((first:gsub("%a", "")))
      + tonumber((all[#all]:gsub("%a", "")))
  end
  local step = sgl.compile(fn)
  assert.is_true(step(x):equal(fn(x)))
  change()
  assert.is_true(step(x):equal(fn(x)))
  local programs = step:programs()
  if programs[2] then
    assert.matches("^the order of the keys of t changed$", programs[2].reason)
  end
end)

describe("an error of the step", function()
  local function fn() error("mine", 2) end
  for way, options in pairs {
    ["captured whole"] = {}, ["with fullgraph = false"] = { fullgraph = false },
    ["with symbolic sizes"] = { inputs = { sgl.spec { sgl.dim("n", { max = 9 }) } } },
  } do
    it("points to the call of the step where it means that, " .. way, function()
      local step = sgl.compile(fn, options)
      for _ = 1, 2 do
        local line = debug.getinfo(1, "l").currentline + 2
        local ok, e = pcall(function()
          local result = step(x)
          return result
        end)
        assert.is_false(ok)
        assert.matches("outside_spec.lua:" .. line .. ": mine$", e)
      end
    end)
  end
end)

describe("a function of the library that needs a value", function()
  it("is named in the break", function()
    local e = support.error_of(sgl.compile(function()
      local w = sgl.zeros(2, 2)
      sgl.nn.init.orthogonal(w)
      return w
    end), x)
    assert.are.equal("B-READ", e.reason)
    assert.matches("^nn.init.orthogonal, which needs tolist", e.message)
  end)

  it("need not be one: schedules, parameters and initialisers work in a step", function()
    local schedule = sgl.optim.schedule.cosine(1, 10)
    local step = sgl.compile(function(v, i) return v * schedule:at(i), schedule:at(i) end)
    for i = 0, 12 do
      local y, rate = step(x, i)
      assert.are.equal(schedule:at(i), rate)
      assert.is_true(y:equal(x * schedule:at(i)))
    end
    assert.are.equal(1, #step:programs())
    assert.is_true(sgl.compile(function(v) return v * schedule:at(5) end)(x)
      :equal(x * schedule:at(5)))
    assert.are.same({ 2.0 }, sgl.compile(function(v) return sgl.nn.parameter(v * 2) end)(x)
      :tolist())
    sgl.seed(1)
    local made = sgl.compile(function()
      local w = sgl.zeros(2, 2)
      sgl.nn.init.xavier_uniform(w)
      return w
    end)(x)
    assert.is_true(made:abs():max():item() > 0)
  end)
end)
