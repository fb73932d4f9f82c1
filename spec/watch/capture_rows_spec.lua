-- capture_rows_spec.lua: every construct by which Lua could freeze a tensor's value, or a value of
-- the script, into a captured step: it breaks at its line, or means what it means outside.

local sgl = require "sgl"
local core = require "sgl.core"
local support = require "spec.support"

-- x and y are inputs of the step, w is a tensor from outside.
local w, total = sgl.ones(3), sgl.ones(3):sum()
local check = package.loaded._G.assert   -- busted has another
local number, old, key = 0, { 1, 2, k = 1 }, "z"
local class = setmetatable({}, { __index = function() return 1 end })

local sized = true   -- of rows that need the number of elements: not with symbolic sizes

local function coroutine_from_before()
  local co = coroutine.create(function(x)
    while true do
      if x:gt(0) then x = coroutine.yield(1) end
    end
  end)
  coroutine.resume(co, w)
  return co
end

local function wrap_from_before()
  local f = coroutine.wrap(function(x)
    while true do
      if x:gt(0) then x = coroutine.yield(1) end
    end
  end)
  f(w)
  return f
end

local co, wrapped = coroutine_from_before(), wrap_from_before()
local relu, wrap = sgl.nn.ReLU, coroutine.wrap
local letters = ("ab"):gmatch "."

-- Calls fn in a branch that is taken, or in each step of a scan.
local function when(x, fn) sgl.cond(x:gt(0):all(), fn, function() end) end
local function repeated(x, fn)
  return (sgl.scan(function(sum, v)
    fn()
    return sum + v
  end, 0.0, x))
end

local file = assert(io.open(support.root .. "README.md"))

-- What the row says: "ok", the code of a break, or that of an error that Lua raises outside too.
local ROWS = {
  -- metamethods
  { "ok", function(x) return x + 1 end },
  { "ok", function(x) return 2 - x end },
  { "ok", function(x) return -x end },
  { "SGL_EARG", function(x) return "10" + x end },
  { "ok", function(x) check(#x == 3) return x end, sized },
  { "SGL_EARG", function(x) return x .. "a" end },
  { "B-READ", function(x) local s = tostring(x) return s end },
  { "B-READ", function(x) local s = ("%s"):format(x) return s end },
  { "B-READ", function(x) print(x) end },
  { "SGL_EARG", function(x, y) return x < y end },
  { "SGL_EARG", function(x) return x >= 3 end },
  { "B-EQ", function(x, y) return x == y end },
  { "B-EQ", function(x) return x ~= x end },
  { "SGL_EARG", function(x) return (math.max(x, 0)) end },
  { "SGL_EARG", function(x) return (math.max(0, x)) end },
  { "SGL_EARG", function(x, y) local v = { x, y } table.sort(v) return v end },
  { "ok", function(x) return x[1] + x[3] end },
  { "ok", function(x) check(x[4] == nil) return x end, sized },
  { "SGL_EINDEX", function(x) return x[5] end },
  { "SGL_EARG", function(x) x.f = 1 end },
  { "SGL_EARG", function(x) return (x:nosuch()) end },
  { "ok", function(x)
    local n = 0
    for _ in ipairs(x) do n = n + 1 end
    check(n == 3)
    return x
  end, sized },
  { "ok", function(x)
    local _, _, _, d = table.unpack(x)
    check(rawequal(d, nil))
    return x
  end, sized },
  -- conditions
  { "ok", function(x) if x then return x end end },
  { "ok", function(x) if w then return x end end },
  { "ok", function(x) return not w and x or x end },
  { "B-COND", function(x) if x:gt(0) then return x end end },
  { "ok", function(x) if x:sum() then return x end end },
  { "ok", function(x) local sum for i = 1, 3 do sum = sum and sum + x * i or x end return sum end },
  { "ok", function(x) local h = x * 2 h = h or w return h end },
  { "ok", function(x) local aux = x:sum() if not aux then return x end return aux + x end },
  { "ok", function(x) local h while not h do h = x * 2 end repeat h = h + 1 until h return h end },
  { "ok", function(x) return check(x * 2) end },
  { "B-COND", function(x) local all = x:gt(0):all() local h = all and x or w return h end },
  { "B-COND", function(x) while x:gt(0) do return x end end },
  { "B-COND", function(x) repeat x = x + 1 until x:gt(0) return x end },
  { "B-COND", function(x) return not x:gt(0) end },
  { "B-COND", function(x) local z = x:gt(0) or 1 return z end },
  { "B-COND", function(x) local z = x:gt(0) and 1 return z end },
  { "B-EQ", function(x) return x == 3 end },
  { "B-EQ", function(x) return x == 3.5 end },
  { "B-EQ", function(x) return x == "x" end },
  { "B-EQ", function(x) return x == true end },
  { "B-EQ", function(x) local n = 3 return x == n end },
  { "ok", function(x) return x + (x == nil and 1 or 0) end },
  { "ok", function(x) local n return x + (x == n and 1 or 0) end },
  -- functions that take values
  { "ok", function(x) check(w) check(x) return x end },
  { "B-VALUE", function(x) check(x:gt(0)) end },
  { "B-VALUE", function(x) return (tonumber(x)) end },
  { "B-VALUE", function(x) return math.type(x) end },
  { "B-VALUE", function(x) local ok = pcall(check, x:gt(0)) return ok end },
  { "ok", function(x)
    local _, e = pcall(function() return x:reshape(7) end)
    return x * #tostring(e) * #(e .. "!")
  end, sized },
  { "B-KEY", function(x) local t = {} return t[x] end },
  { "B-KEY", function(x) local t = {} t[x + 1] = 1 end },
  { "B-KEY", function(x) return (rawget({}, x + 1)) end },
  { "ok", function(x) local t = { [w] = 2 } return x * t[w] end },
  -- values that are read
  { "B-READ", function(x) return x:sum():item() end },
  { "B-READ", function(x) return x:tolist() end },
  { "ok", function(x) return x * total:item() end },
  -- effects
  { "B-CALL", function() return (math.random()) end },
  { "B-CALL", function() return os.time() end },
  { "B-CALL", function() return (os.clock()) end },
  { "B-CALL", function() local f = io.open("x") return f end },
  { "B-CALL", function() io.write "" end },
  { "B-CALL", function() print "x" end },
  { "B-CALL", function() local s = file:read(1) return s end },
  { "B-CALL", function() local s = tostring({}) return s end },
  { "B-CALL", function() return (collectgarbage "count") end },
  { "B-CALL", function() return (pcall(math.random)) end },
  { "B-HOOK", function() debug.sethook() end },
  { "ok", function(x) old.k = 2 return x * old.k end },
  { "ok", function(x) number = 0 return x + number end },
  { "B-WRITE", function() old[#old + 1] = 1 end },
  { "B-WRITE", function() table.insert(old, 1) end },
  { "B-WRITE", function() table.remove(old) end },
  { "B-WRITE", function() table.sort(old) end },
  { "B-WRITE", function() table.move({ 1 }, 1, 1, 1, old) end },
  { "B-CALL", function(x) return x * sgl.config.fuse end },
  { "B-CALL", function(x) return x * sgl.memory().live end },
  { "B-WRITE", function() setmetatable(old, nil) end },
  { "ok", function(x) local t = {} table.insert(t, x) return t[1] end },
  { "ok", function(x)
    local t, u = { 1, 2, 3, a = 1 }, 0
    t[1], t.b = 2, 3
    local function f() u = u + 1 t.c = u end
    f()
    return x * t.c
  end },
  { "ok", function(x)
    for i = 1, 50 do
      local t = {}
      t.a = function() t.b = i end
      collectgarbage()
      t.a()
    end
    return x
  end },
  -- rules
  { "B-COND", function(x) return (pcall(function() if x:gt(0) then return 1 end end)) end },
  { "B-COND", function(x) return (select(2, pcall(function() return not x:gt(0) end))) end },
  { "B-COND", function(x) return coroutine.wrap(function() return not x:gt(0) end)() end },
  { "B-RESUME", function(x) local ok = coroutine.resume(co, x) return ok end },
  { "B-RESUME", function(x) return (wrapped(x)) end },
  { "B-RESUME", function(x) local _, r = pcall(wrapped, x) return r end },
  { "B-RESUME", function(x) for _ in wrapped, x do break end end },
  { "B-ORDER", function(x) local v = { 2, 1 } table.sort(v, function() return x:gt(0) end) end },
  { "B-ORDER", function(x) return setmetatable({}, { __le = function() return -x end }) <= 1 end },
  { "B-RESUME", function(x) return x * #letters() end },
  { "ok", function(x) local s = "" for c in ("ab"):gmatch "." do s = s .. c end return x * #s end },
  -- what is recorded once, but runs as often as the values say
  { "B-BLOCK", function(x) local k = 1 when(x, function() k = 2 end) return x * k end },
  { "B-BLOCK", function(x) local k = x when(x, function() k = x * 2 end) return k end },
  { "B-BLOCK", function(x) local t = {} when(x, function() t.k = 1 end) return x end },
  { "B-BLOCK", function(x) local t = {} when(x, function() t[1] = 1 end) return x end },
  { "B-BLOCK", function(x) local t = {} when(x, function() t[key] = 1 end) return x end },
  { "B-BLOCK", function(x) local t = {} when(x, function() rawset(t, 1, 1) end) return x end },
  { "B-BLOCK", function(x) local t = {} when(x, function() setmetatable(t) end) end },
  { "B-BLOCK", function(x) local t = {} repeated(x, function() table.insert(t, 1) end) end },
  { "B-BLOCK", function(x) local t = { 1 } repeated(x, function() table.sort(t) end) return x end },
  { "B-BLOCK", function(x) local n = 0 repeated(x, function() n = n + 1 end) return x * n end },
  { "B-BLOCK", function(x) local f = wrap(check) repeated(x, function() f(1) end) end },
  { "B-BLOCK", function(x) local f = ("a"):gmatch "." repeated(x, function() f() end) end },
  { "B-BLOCK", function(x) local d = relu() when(x, function() d:eval() end) end },
  { "B-BLOCK", function(x) local t = {} pcall(when, x, function() t.k = 1 end) end },
  { "B-BLOCK", function(x) when(x, function() local t = x when(x, function() t = 1 end) end) end },
  { "B-WRITE", function(x) when(x, function() number = 1 end) end },
  { "B-WRITE", function(x) when(x, function() old.k = 1 end) end },
  { "ok", function(x) return repeated(x, function() local n = 0 n = n + 1 return n end) end },
  { "ok", function(x) local n = 1 when(x, function() end) n = n + 1 return x * n end },
  { "ok", function(x)
    when(x, function()
      local t, f = { 1 }, coroutine.wrap(function() coroutine.yield(1) end)
      table.insert(t, f())
      when(x, function() local u = {} u[1] = #t end)
      t.k = 1
    end)
    return x
  end },
  { "ok", function(x, ...) local n = select("#", ...) return x * n * class.any end },
}

local function line_of(fn) return debug.getinfo(fn, "S").linedefined end

-- The file's lines, to name the rows.
local lines = {}
for s in io.lines(support.root .. "spec/watch/capture_rows_spec.lua") do lines[#lines + 1] = s end

local n = sgl.dim("n", { min = 3, max = 9 })

-- Every row with sizes that are known and with symbolic ones.
local SIZES = { [""] = {}, [" (symbolic)"] = { inputs = { sgl.spec { n }, sgl.spec { n } } } }

local function check_row(row, options, name)
  local want, fn = row[1], row[2]
  local line = line_of(fn)
  it(("%s: %s%s"):format(want, lines[line]:match "function.*$", name), function()
    local step = sgl.compile(fn, options)
    local x, y = sgl.ones(3), sgl.ones(3)
    if want == "ok" then
      local result = step(x, y)
      assert.is_true(core.is_tensor(result))
      assert.is_true(result:equal(fn(x, y)))
      return
    end
    local e = support.error_of(step, x, y)
    assert.are.equal(want, e.reason or e.code, tostring(e))
    assert.are.equal(line, e.line, tostring(e))
  end)
end

describe("inside a compiled function", function()
  for name, options in pairs(SIZES) do
    for _, row in ipairs(ROWS) do
      if not (row[3] and options.inputs) then check_row(row, options, name) end
    end
  end

  it("a gsub callback that returns a tensor is Lua's own error", function()
    assert.matches("invalid replacement", support.error_of(sgl.compile(function(x)
      return (("a"):gsub("a", function() return x:gt(0) end))
    end), w))
  end)

  it("for … in a tensor is Lua's own error", function()
    assert.matches("attempt to call", support.error_of(sgl.compile(function(x)
      for _ in x do return x end
    end), w))
  end)
end)

describe("capture and hooks", function()
  it("leaves a coroutine made inside without a hook", function()
    local after
    sgl.compile(function(x)
      after = coroutine.wrap(function()
        coroutine.yield(1)
        local t = 0
        for i = 1, 10 do t = t + i end
        return t
      end)
      after()
      return x
    end, { effects = "once" })(w)
    assert.are.equal(55, after())
  end)

  it("gives a hook that was there back", function()
    local events = 0
    debug.sethook(function() events = events + 1 end, "", 1)
    sgl.compile(function(x) return x end)(w)
    events = 0
    local before = number
    debug.sethook()
    assert.is_true(events > 0 and before == number)
    assert.is_nil((debug.gethook()))
  end)

  it("names the line of a multi-line chain, or its first, and the method", function()
    local e = support.error_of(sgl.compile(function(x)
      return (x
        :relu()
        :sum()
        :item())
    end), w)
    assert.matches("item", e.message)
    local first = debug.getinfo(1, "l").currentline - 6
    assert.is_true(e.line >= first and e.line <= first + 3)
  end)
end)
