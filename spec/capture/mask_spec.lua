-- mask_spec.lua: what a step never looks at among its arguments captures nothing again, and what it
-- looks at is always told apart.
local engine = require "spec.engine"
local sgl = require "sgl"

local w = sgl.tensor { 1.0, 2.0, 3.0 }

local Class = { __index = {} }

-- What differs from call to call, and is looked at by nobody: i -> what stands under `y`.
local UNREAD = {
  { "an object made for the call", function(i) return setmetatable({ n = i }, Class) end },
  { "a closure", function(i) return function() return i end end },
  { "a text", function(i) return "file" .. i end },
  { "a boolean or nil", function(i) return ({ true, false })[i % 3 + 1] end },
  { "a list of texts that grows", function(i)
    local list = {}
    for k = 1, i do list[k] = "n" .. k end
    return list
  end },
  { "a list of tensors that grows", function(i)
    local list = {}
    for k = 1, i do list[k] = sgl.ones(k) end
    return list
  end },
  { "a tensor of other sizes", function(i) return sgl.ones(i) end },
  { "a tensor of another rank", function(i)
    return sgl.ones(table.unpack({ 1, 1, 1 }, 1, i % 4))
  end },
  { "a table with other keys", function(i) return { ["k" .. i] = 1, [i + 100] = 2 } end },
  { "a table keyed by a tensor", function() return { [sgl.ones(1)] = 1 } end },
  { "a table keyed by a table", function() return { [{}] = { 1 } } end },
  { "a coroutine", function() return coroutine.create(print) end },
  { "a module", function() return sgl.nn.Linear(2, 2) end },
  { "a table that holds itself", function() local t = {} t.t = t return t end },
}

describe("arguments that a step never looks at", function()
  for _, fullgraph in ipairs { true, false } do
    for _, row in ipairs(UNREAD) do
      local what, make = row[1], row[2]
      it(("capture nothing again: %s, fullgraph = %s"):format(what, fullgraph), function()
        local field = sgl.compile(function(batch) return batch.x * w end, { fullgraph = fullgraph })
        local last = sgl.compile(function(x, _) return x * w end, { fullgraph = fullgraph })
        local extra = sgl.compile(function(x) return x * w end, { fullgraph = fullgraph })
        local below = sgl.compile(function(t) return t.a.b.x * w end, { fullgraph = fullgraph })
        for i = 1, 80 do
          local x, y = sgl.full({ 3 }, i), make(i)
          local want = { i, 2.0 * i, 3.0 * i }
          assert.are.same(want, field({ x = x, y = y }):tolist())
          assert.are.same(want, last(x, y):tolist())
          assert.are.same(want, extra(x, y, i % 2 == 0 and 1 or nil):tolist())
          assert.are.same(want, below({ a = { b = { x = x, [i] = y }, c = y }, d = y }):tolist())
        end
        for _, step in ipairs { field, last, extra, below } do
          assert.is_true(#step:programs() <= 2, #step:programs())
          step:close()
        end
      end)
    end
  end

  it("may come to be looked at in another capture", function()
    local step = sgl.compile(function(batch, deep)
      if deep then return batch.x * batch.scale end
      return batch.x * w
    end)
    for i = 1, 20 do
      local batch = { x = sgl.ones(3), name = "n" .. i, scale = sgl.full({ 3 }, i) }
      assert.are.same(i % 3 == 0 and { i * 1.0, i * 1.0, i * 1.0 } or { 1.0, 2.0, 3.0 },
        step(batch, i % 3 == 0):tolist())
    end
    assert.is_true(#step:programs() <= 6)
  end)

  it("are in the table that comes back", function()
    local step = sgl.compile(function(batch) batch.x = batch.x * 2 return batch end)
    for i = 1, 5 do
      local batch = { x = sgl.ones(1), name = "n" .. i, list = { i } }
      local back = step(batch)
      assert.equal(batch, back)
      assert.equal(2.0, back.x:tolist()[1])
      assert.equal("n" .. i, back.name)
      assert.equal(i, back.list[1])
    end
    assert.is_true(#step:programs() <= 3)
  end)

  it("count where one table stands at two places", function()
    local step = sgl.compile(function(a, b) return a.x + b.y end)
    for i = 1, 6 do
      local t = { x = sgl.full({ 1 }, i), y = sgl.full({ 1 }, 10), name = "n" .. i }
      local u = i % 2 == 0 and t or { y = sgl.full({ 1 }, 20), x = 1, other = i }
      assert.equal(i + (i % 2 == 0 and 10.0 or 20.0), step(t, u):item())
    end
  end)
end)

-- Ways in which a step looks at a table; what each gives is compared with Lua's own run.
local LOOKS = {
  function(t) return #t.list end,
  function(t) local n = 0 for _ in pairs(t) do n = n + 1 end return n end,
  function(t) local n = 0 for _, v in ipairs(t.list) do n = n + v end return n end,
  function(t) return select("#", table.unpack(t.list)) end,
  function(t) return rawget(t, "name") == "a" and 1 or 2 end,
  function(t) return t.name == "a" and 1 or 2 end,
  function(t) return rawlen(t.list) end,
  function(t) return next(t.deep) and 1 or 0 end,
  function(t) return t.deep.flag and 3 or 4 end,
  function(t) return t.deep.at == t.list and 5 or 6 end,
  function(t) return sgl.tensor(t.list):sum() end,
  function(t) return sgl.tensor({ t.list, t.list }):sum() end,
  function(t) local key = t.deep.key return key and t[key] and 7 or 8 end,
  function(t) return (function() return t.deep.flag and 9 or 10 end)() end,
  function(t)
    local copy = {}
    for k, v in pairs(t.deep) do copy[k] = v end
    return copy.flag and 1 or 0
  end,
  function(t) return #table.concat(t.names, ",") end,
  function(t) return type(t.any) == "table" and 1 or t.any and 2 or 3 end,
  function(t) t.made = t.made and t.made + 1 or 1 return t.made end,
  function(t) return t.deep.f and t.deep.f() or 0 end,
  function(t) return t.x end,
}

local function pick(...) return (select(math.random(select("#", ...)), ...)) end

local function batch()
  local list, names = {}, {}
  for k = 1, math.random(3) do list[k], names[k] = k, pick("a", "bc") end
  local flag = pick(true, false)
  return {
    x = sgl.full({ 2 }, math.random(9)), list = list, names = names, name = pick("a", "b", "c"),
    any = pick(nil, 1, "t", list, true, setmetatable({}, Class)), spare = pick(1, "s", {}, nil),
    deep = { flag = flag, key = pick("name", "no", nil), at = pick(list, names, nil),
             other = math.random(99) .. "", f = pick(nil, function() return flag and 2 or 3 end) },
  }
end

local function read(v) return sgl.is_tensor(v) and v:sum():item() or v end

describe("arguments that a step looks at", function()
  it("are told apart, whichever the ways #random", function()
    local seed = math.tointeger(tonumber(os.getenv "SGL_SEED")) or os.time()
    io.stderr:write(("looks at arguments: SGL_SEED=%d\n"):format(seed))
    math.randomseed(seed)
    for _ = 1, engine.times(300) do
      local looks, ways = {}, math.random(3)
      for k = 1, ways do looks[k] = LOOKS[math.random(#LOOKS)] end
      local function run(t, mode)
        local sum = t.x
        for k = 1, ways do if k ~= mode then sum = sum + looks[k](t) end end
        return sum
      end
      local step = sgl.compile(run, { fullgraph = false, max_recaptures = 1000 })
      for _ = 1, 12 do
        local t, mode = batch(), pick("none", nil)
        local twin = {}
        for k, v in pairs(t) do twin[k] = v end
        local fine, want = pcall(run, twin, mode)
        local same, got = pcall(step, t, mode)
        assert.equal(fine, same, tostring(got) .. " / " .. tostring(want))
        if fine then
          assert.equal(read(want), read(got))
          assert.equal(read(twin.made), read(t.made))
        end
      end
      step:close()
    end
  end)

  it("count in tables that the step only wraps", function()
    local cfg = { a = { 1, 2 }, b = { 3, 4 } }
    local step = sgl.compile(function(x) return x + sgl.tensor { cfg.a, cfg.b } end)
    assert.are.same({ { 1.0, 2.0 }, { 3.0, 4.0 } }, step(sgl.zeros(2, 2)):tolist())
    cfg.a[1] = 100
    assert.are.same({ { 100.0, 2.0 }, { 3.0, 4.0 } }, step(sgl.zeros(2, 2)):tolist())
    local given = sgl.compile(function(t) return sgl.cat({ t.a.list[1], t.a.list[2] }) end)
    for i = 1, 4 do
      local list = { sgl.full({ 1 }, 5), sgl.full({ 1 }, i) }
      assert.are.same({ 5.0, i * 1.0 }, given { a = { list = list, name = "n" .. i } }:tolist())
    end
  end)
end)
