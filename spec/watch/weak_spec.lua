-- weak_spec.lua: guards keep alive nothing that the script keeps in weak tables alone.

local sgl = require "sgl"

local x = sgl.ones(2)

-- Each row: what the step reaches through a weak table; a function that gives a step of no
-- arguments over the table, what is put into it (a number makes it differ), and its mode.
local ROWS = {
  { "a value", "v", function(cache)
    return function() local c = cache.a return c and x * c.k or x end
  end, function(cache, k) cache.a = { k = k } return cache.a end },
  { "what is below a value", "v", function(cache)
    return function() local c = cache.a return c and x * c.deep.k or x end
  end, function(cache, k) cache.a = { deep = { k = k } } return cache.a, cache.a.deep end },
  { "a key", "k", function(cache)
    return function() local y = x for _, v in pairs(cache) do y = y * v end return y end
  end, function(cache, k) local key = {} cache[key] = k return key end },
  { "a function", "v", function(cache)
    return function() local c = cache.a return c and c() or x end
  end, function(cache, k) cache.a = function() return x * k end return cache.a end },
  { "a value of a field of an object", "kv", function(cache)
    local o = { cache = cache }
    return function() local c = o.cache[1] return c and x * #c or x end
  end, function(cache, k)
    local list = {}
    for i = 1, k do list[i] = i end
    cache[1] = list
    return list
  end },
}

describe("what a step reaches through a weak table", function()
  for _, row in ipairs(ROWS) do
    it(("is not kept by its guards: %s"):format(row[1]), function()
      local cache = setmetatable({}, { __mode = row[2] })
      local alive = setmetatable({}, { __mode = "k" })
      local step = sgl.compile(row[3](cache))
      local function round(k)
        local held, below = row[4](cache, k)
        alive[held], alive[below or held] = true, true
        assert.are.same({ k * 1.0, k * 1.0 }, step():tolist())
        assert.are.same({ k * 1.0, k * 1.0 }, step():tolist())
        assert.is_not_nil(held)
      end
      for _, k in ipairs { 2, 3, 2, 3, 4 } do
        round(k)
        collectgarbage()
        collectgarbage()
        assert.is_nil(next(alive))
        assert.are.same({ 1.0, 1.0 }, step():tolist())
        assert(#tostring(step:programs()[#step:programs()].reason) > 0)
      end
    end)
  end

  it("is still a guard while it lives", function()
    local cache = setmetatable({}, { __mode = "v" })
    local kept = { k = 2 }
    cache.a = kept
    local step = sgl.compile(function() return x * cache.a.k end)
    for _ = 1, 3 do assert.are.same({ 2.0, 2.0 }, step():tolist()) end
    assert.are.equal(1, #step:programs())
    kept.k = 5
    assert.are.same({ 5.0, 5.0 }, step():tolist())
    local other = { k = 7 }
    cache.a = other
    assert.are.same({ 7.0, 7.0 }, step():tolist())
    assert.are.equal(3, #step:programs())
    assert.are.equal(5, kept.k + other.k - 7)
  end)
end)
