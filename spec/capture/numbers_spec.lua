-- numbers_spec.lua: a number among the arguments of a step means what it means in Lua: its
-- digits, its type, and what every function of the library makes of it. Where a graph cannot mean
-- that, the step breaks.
--
-- In:    tensor_cases.lua, in whose expressions each number in turn becomes an argument; the rows
--        of the API table.

local api = require "sgl.api"
local core = require "sgl.core"
local cases = require "spec.tensor_cases"
local sgl = require "sgl"
local support = require "spec.support"

local LIMIT = { max_recaptures = 100000 }

-- The same bits as text: dtype, shape, values; of a number its type.
local function text(v)
  if type(v) == "table" then
    local parts = {}
    for i, item in ipairs(v) do parts[i] = text(item) end
    return "{" .. table.concat(parts, ", ") .. "}"
  elseif sgl.is_tensor(v) then
    return ("%s%s %s"):format(v.dtype, tostring(v.shape), text(v:tolist()))
  elseif type(v) == "number" then
    if v ~= v then return "nan" end
    return math.type(v) == "float" and ("%a"):format(v) or tostring(v)
  end
  return tostring(v)
end

-- Does the error say that the value of a number is needed?
local function refused(e)
  local words = tostring(e)
  return type(e) == "table" and (e.reason == "B-NUMBER" or words:find "number that is an input"
    or words:find "number computed of" or words:find "does not fit")
end

-- Compiled and plain agree in values and in whether there is an error; else what differs. The step
-- may refuse, which is counted in `counts`.
local function difference(fn, step, show, counts, ...)
  local fine, want = pcall(fn, ...)
  local done, got = pcall(step, ...)
  if done and not fine then return ("%s, but %s without capture"):format(show(got), want) end
  if done and show(want) ~= show(got) then return ("%s, not %s"):format(show(got), show(want)) end
  if not done and fine and not refused(got) then return tostring(got) end
  counts[done and "values" or "refusals"] = (counts[done and "values" or "refusals"] or 0) + 1
end

describe("numbers of a step", function()
  local OPERATORS = { "+", "-", "*", "/", "//", "%", "^" }
  local VALUES = { 0, 1, -1, 2, 3, 7, -7, 123456789012, 1 << 53, math.maxinteger, math.mininteger,
    0.5, -0.5, 2.0, -2.5, 0.0, -0.0, 1e300, 1e-300, 1 / 0, -1 / 0, 0 / 0 }

  for _, operator in ipairs(OPERATORS) do
    it("have Lua's digits under " .. operator, function()
      local counts = {}
      for _, c in ipairs(VALUES) do
        for _, form in ipairs { "k %s c", "c %s k", "(k %s c) - k" } do
          local body = "local c = ... return function(k) return " .. form:format(operator) .. " end"
          local fn = load(body)(c)
          local step = sgl.compile(fn, LIMIT)
          for _, k in ipairs(VALUES) do
            local wrong = difference(fn, step, text, counts, k)
            assert(not wrong, ("%s with k = %s, c = %s: %s"):format(form:format(operator), k, c,
              wrong))
          end
        end
      end
      assert.is_true(counts.values > 400)
    end)
  end

  it("have Lua's digits under each other and the minus", function()
    local fns = {
      function(a, b) return a + b end, function(a, b) return a - b end,
      function(a, b) return a * b end, function(a, b) return a / b end,
      function(a, b) return a ^ b end, function(a, b) return -a * -b end,
      function(a, b) return -(a + 1) * b - 3 end, function(a, b) return (a + 0.0) // b end,
      function(a, b) return (a + 0.0) % b end,
    }
    local counts = {}
    for i, fn in ipairs(fns) do
      local step = sgl.compile(fn, LIMIT)
      for _, a in ipairs(VALUES) do
        for _, b in ipairs(VALUES) do
          local wrong = difference(fn, step, text, counts, a, b)
          assert(not wrong, ("function %d with %s, %s: %s"):format(i, a, b, wrong))
        end
      end
    end
    assert.is_true(counts.values > 3000)
  end)

  it("keep their digits beside f64, and are rounded once beside narrower floats", function()
    local function fn(x, k) return x + k, x * (k + 1), (k - 16777216) * x, k / 3 + x end
    local step, one = sgl.compile(fn), sgl.compile(function(x, k) return x * k end)
    for _, dtype in ipairs { "f64", "f32", "f16", "bf16", "i64" } do
      local x = sgl.tensor({ 1, 2, 3 }, { dtype = dtype })
      for _, k in ipairs { 16777217, 16777219, 0.1, 1 / 3, 2049.5, 4097.9999, -7 } do
        assert.are.equal(text { fn(x, k) }, text { step(x, k) })
        assert.are.equal(text(x * k), text(one(x, k)))
      end
    end
  end)

  it("are exponents to the last digit, also where a known one makes a product or a root", function()
    local power = sgl.compile(function(x, k) return x ^ k end)
    for _, dtype in ipairs { "f32", "f64", "f16", "bf16" } do
      local x = (sgl.rand(20000) * 10 - 5):to(dtype)
      for _, k in ipairs { 2, -1, 0.5, 1, 0, 3, -2 } do
        local want, got = x ^ k, power(x, k)
        assert.is_true((want:eq(got) | want:isnan() & got:isnan()):all():item(), dtype .. k)
      end
    end
  end)

  it("take one capture when a rate goes from 1 to a half, and what is computed of it", function()
    local w = sgl.ones(2)
    local step = sgl.compile(function(lr, decay) return w - (lr * 0.5) * (1.0 - decay / 2) end)
    for _, lr in ipairs { 1, 0.5, 0.25, 2 } do step(lr, 1) step(lr, 0.5) end
    assert.are.equal(1, #step:programs())
  end)

  it("take one more capture where integers are other than floats", function()
    local step = sgl.compile(function(k) return k + 1 end)
    for _, k in ipairs { 1.5, 1, 2, 2.5 } do
      assert.are.equal(text(k + 1), text(step(k)))
    end
    assert.are.equal(2, #step:programs())
    assert.are.equal("k changed from a float to an integer", step:programs()[2].reason)
  end)

  it("are refused where they are integers beyond 2^53", function()
    local step = sgl.compile(function(k) return k + 1 end)
    assert.are.equal((1 << 53) + 1, step(1 << 53))
    assert.matches("9007199254740993 does not fit",
      support.error_of(step, (1 << 53) + 1).message)
    assert.are.equal(2.0 ^ 53 / 2, sgl.compile(function(k) return k / 2 end)((1 << 53) + 1))
  end)

  it("raise at the run when an integer does not fit the tensor beside it", function()
    local step = sgl.compile(function(x, k) return x + k * 2 end)
    local x = sgl.ones(2):to "u8"
    assert.are.same({ 201, 201 }, step(x, 100):tolist())
    assert.matches("does not fit into u8", support.error_of(step, x, 200).message)
    assert.are.same({ 7, 7 }, step(x, 3):tolist())
    local chosen = sgl.compile(function(c, k)
      return sgl.cond(c, function() return x + k end, function() return x * 2 end)
    end)
    assert.are.same({ 2, 2 }, chosen(sgl.tensor(false), 300):tolist())
    assert.matches("does not fit into u8",
      support.error_of(chosen, sgl.tensor(true), 300).message)
  end)
end)

-- What Lua makes of the argument, or an error of Lua.
describe("a step that looks at a number", function()
  local t = { 5, 6, 7 }
  local LOOKS = {
    function(k) return k < 3 and 1 or 2 end, function(k) return 3 <= k and 1 or 2 end,
    function(k) return k == 3 and 1 or 2 end, function(k) return 3 ~= k and 1 or 2 end,
    function(k) local n = 3 return n == k and 1 or 2 end,
    function(k) return k + 1 == 4 and 1 or 2 end, function(k) return k > k - 1 and 1 or 2 end,
    function(k) return k .. "a" end, function(k) return "a" .. k end,
    function(k) return tostring(k) end, function(k) return ("%d"):format(k) end,
    function(k) return ("%s"):format(k + 1) end, function(k) return type(k) end,
    function(k) return type(k * 2) end, function(k) return math.type(k) end,
    function(k) return math.tointeger(k) end, function(k) return math.floor(k) end,
    function(k) return math.max(k, 2) end, function(k) return ("a"):rep(k) end,
    function(k) return tonumber(k) end, function(k) return rawequal(k, 3) end,
    function(k) return rawequal(k + 0, 3) end, function(k) return getmetatable(k) ~= nil end,
    function(k) return k & 1 end, function(k) return 1 | k end, function(k) return k ~ 3 end,
    function(k) return ~k end, function(k) return k << 1 end, function(k) return 1 << k end,
    function(k) return k >> k end, function(k) return 7 // k end, function(k) return k % k end,
    function(k) local n = 0 for i = 1, k do n = n + i end return n end,
    function(k) local n = 0 for i = 1, 9, k do n = n + i end return n end,
    function(k) return t[k] end, function(k) return ({ 1, 2, 3 })[k] end,
    function(k) return sgl.arange(6)[k] end, function(k) return sgl.arange(6)[{ { k, 4 } }] end,
    function(k) return sgl.zeros(k, 2) end, function(k) return sgl.zeros({ k, 2 }) end,
    function(k) return sgl.arange(k) end, function(k) return sgl.arange(6):reshape(k, 2) end,
    function(k) return sgl.ones(2, 2, 2):sum(k) end, function(k) return sgl.eye(k) end,
    function(k) return math.min(1, k / 4) end, function(k) return k % 2 == 0 and k or -k end,
    function(k) return (k * 3 - 1) // 2 > k ^ 2 / 2 and 1 or 2 end,
    function(k) local s = 0 while k > 1 do s, k = s + k, k - 1 end return s end,
    function(k) local l = { k, 2, k - 2 } table.sort(l) return l[1], l[2], l[3] end,
    function(k) local l = { 1, 2, 3 } table.insert(l, k, 9) return table.concat(l, " ") end,
    function(k) return table.concat({ k, k + 0.5 }, " ") end,
    function(k) return math.ult(k, 2) and 1 or 2 end, function(k) return k ~= k and 1 or 2 end,
    function(k) return (("x"):gsub("x", function() return tostring(k) end)) end,
  }
  local function outcome(fn, ...)
    local results = table.pack(pcall(fn, ...))
    return results[1] and text(table.unpack(results, 2, results.n)) or "an error"
  end
  for _, fn in ipairs(LOOKS) do
    local line = debug.getinfo(fn, "S").linedefined
    it(("is held to what it sees (line %d)"):format(line), function()
      for _, whole in ipairs { true, false } do
        local step = sgl.compile(fn, { fullgraph = whole })
        for _, k in ipairs { 3, 2, 1, 3, 3.0, 2.5, 2, 4 } do
          assert.are.equal(outcome(fn, k), outcome(step, k), "for " .. k)
        end
        assert.is_true(#step:programs() <= 6)
        assert.are.same({}, sgl.coverage(step).breaks)
      end
    end)
  end

  it("is captured once for each way in which a comparison comes out", function()
    local step = sgl.compile(function(x, epoch)
      if epoch > 3 then return x * epoch end
      return epoch % 2 == 0 and x or -x
    end)
    for epoch = 1, 20 do
      local want = epoch > 3 and epoch or epoch % 2 == 0 and 1 or -1
      assert.are.same({ want + 0.0 }, step(sgl.ones(1), epoch):tolist())
    end
    assert.are.equal(3, #step:programs())
    assert.matches("^the comparison by '==' at .*numbers_spec.lua:%d+, of a number among the "
      .. "arguments, comes out otherwise$", step:programs()[2].reason)
  end)

  it("is held to eight values; others break, or run as Lua", function()
    local cache = {}
    for i = 1, 20 do cache[i] = sgl.ones(1) * i end
    local function fn(x, at) return x * cache[at] end
    local step = sgl.compile(fn)
    for _ = 1, 2 do
      for i = 1, 8 do assert.are.same({ i + 0.0 }, step(sgl.ones(1), i):tolist()) end
    end
    assert.matches("a number for the key of a table at .* is no longer 1$",
      step:programs()[2].reason)
    local e = support.error_of(step, sgl.ones(1), 9)
    assert.are.equal("B-NUMBER", e.reason)
    assert.are.equal(debug.getinfo(fn, "S").linedefined, e.line)
    assert.are.same({ 2.0 }, step(sgl.ones(1), 2):tolist())
    step = sgl.compile(fn, { fullgraph = false })
    for i = 1, 20 do assert.are.same({ i + 0.0 }, step(sgl.ones(1), i):tolist()) end
    assert.are.equal(9, #step:programs())
  end)

  it("breaks where its values are none of the arguments' alone", function()
    for _, fn in pairs {
      function(k) return sgl.tensor { k, 1 } end,
      function(k)
        return (sgl.scan(function(c, v)
          return c + (k > 2 and v or -v), v
        end, 0.0, sgl.ones(2)))
      end,
    } do
      local step = sgl.compile(fn, { fullgraph = false })
      for _, k in ipairs { 3, 2, 1 } do assert.are.equal(text(fn(k)), text(step(k))) end
    end
  end)

  local ERRORS = {
    function(k) return k:exp() end, function(k) return k.shape end, function(k) return k[1] end,
    function(k) k.x = 1 end, function(k) return #k end, function(k) return k() end,
    function(k) return sgl.exp(k) end, function(k) return sgl.sum(k) end,
    function(k) return sgl.stack { k, k } end, function(k) return sgl.cat { k } end,
    function(k) return sgl.matmul(k, sgl.ones(2)) end, function(k) return sgl.assert(k) end,
    function(k) return k + true end, function(k) return k + {} end,
    function(k) return sgl.cond(k, function() return 1 end, function() return 2 end) end,
    function(k) return sgl.grad(sgl.ones(2):sum() * k, k) end,
    function(k) return sgl.grad(k * 2, sgl.ones(2)) end,
    function(k) return sgl.grad(sgl.ones(2):sum() * k, { k }) end,
    function(k) return sgl.where(k, 1, 2) end, function(k) k:assign(2) end,
  }
  for _, fn in ipairs(ERRORS) do
    local line = debug.getinfo(fn, "S").linedefined
    it(("raises where Lua does (line %d)"):format(line), function()
      assert.is_false((pcall(fn, 3)))
      assert.is_false((pcall(sgl.compile(fn), 3)))
    end)
  end

  it("is right where Lua asks an object or a text beside it", function()
    local mark
    mark = setmetatable({}, { __idiv = function() return 5 end,
      __add = function(a, b) return (a == mark and b or a) * 2 end })
    local function fn(k) return k + mark, mark + k, k // mark, k + "10", "0x10" * k, "2.5" - k end
    local want, got = { fn(3) }, { sgl.compile(fn)(3) }
    for i = 1, #want do assert.are.equal(text(want[i]), text(got[i])) end
  end)

  it("is right where any number is true", function()
    local function fn(k)
      local n = k * 0
      if not n then return 1 end
      assert(n)
      return n and k + 0 or 7
    end
    assert.are.equal(text(fn(3)), text(sgl.compile(fn)(3)))
  end)

  it("is right where no number is the same", function()
    local t, other = {}, nil
    local function fn(k)
      local n, list = k * 2, {}
      for i, same in ipairs { k == "3", n == t, k == true, "x" == n, k == nil, other == k } do
        list[i] = same
      end
      return table.unpack(list)
    end
    assert.are.same({ fn(3) }, { sgl.compile(fn)(3) })
  end)

  it("is right where it does not", function()
    local function fn(k)
      local list = {}
      if k then list[#list + 1] = sgl.is_tensor(k) end
      list[#list + 1] = k ~= nil
      list[#list + 1] = select("#", k, k)
      return table.unpack(list)
    end
    assert.are.same({ fn(3) }, { sgl.compile(fn)(3) })
  end)
end)

-- ---- expressions

local ENV = setmetatable({
  x = function(value, dtype) return sgl.tensor(value, dtype) end, sgl = sgl,
  m = sgl.arange(6):reshape(2, 3), A = sgl.tensor { { 1.0, 2.0 }, { 3.0, 4.0 } },
  B = sgl.tensor { { 5.0, 6.0 }, { 7.0, 8.0 } },
}, { __index = _G })

-- The expression with its numbers, those in texts and names left out, as functions of one each.
local function with_argument(expression)
  local list, at = {}, 1
  while true do
    local first, last = expression:find("%d+%.?%d*", at)
    if not first then return list end
    at = last + 1
    local head, tail = expression:sub(1, first - 1), expression:sub(last + 1)
    local _, quotes = head:gsub('["\']', "")
    if quotes % 2 == 0 and not head:find "[%w_.]$" then
      local digits = expression:sub(first, last)
      local value = math.tointeger(digits) or tonumber(digits)
      local text_of_step = ("return function(k) return %sk%s end"):format(head, tail)
      local chunk = load(text_of_step, "=step", "t", ENV)
      if chunk then list[#list + 1] = { chunk(), value } end
    end
  end
end

describe("an expression with a number as the argument of a step", function()
  for _, group in ipairs(cases) do
    it("gives what it gives without capture, or says that it is one: " .. group[1], function()
      local counts = {}
      for i = 2, #group do
        local expression = group[i][1]
        for _, case in ipairs(with_argument(expression)) do
          local fn, value = case[1], case[2]
          local step = sgl.compile(fn, LIMIT)
          for _, k in ipairs { value, value + 0.0, value + 1, value + 0.5 } do
            sgl.seed(1)
            local seeded = function(...) sgl.seed(1) return fn(...) end
            local wrong = difference(seeded, function(...) sgl.seed(1) return step(...) end, text,
              counts, k)
            if wrong and not wrong:find "Not inside" and not wrong:find "B%-READ"
              and not wrong:find "inside sgl.compile" then
              error(("%s with %s: %s"):format(expression, k, wrong), 0)
            end
          end
        end
      end
    end)
  end
end)

-- ---- operands

-- Calls that take a number beside a tensor, or alone.
local CALLS = {
  "x + k", "k - x", "x * k", "x / k", "k // x", "x % k", "x ^ k", "-(x * k)", "x + (k + 1)",
  "x - k * 2", "(k - 1) / 4 * x", "sgl.where(x:gt(1), k, x)", "sgl.where(x:gt(1), x, k)",
  "sgl.where(x:gt(1), k, 2)", "sgl.where(x:gt(1), 0.5, k)", "sgl.where(x:gt(1), k, k + 1)",
  "sgl.clamp(x, k, 5)", "sgl.clamp(x, -1, k)", "sgl.fmod(x, k)", "sgl.lerp(x, x * 2, k)",
  "x:masked_fill(x:gt(1), k)", "sgl.full(2, k)", "sgl.full({ 2, 2 }, k, { dtype = x.dtype })",
  "x:full_like(k)", "sgl.tensor(k)", "sgl.tensor(k, x.dtype)", "sgl.tensor(k * 2)",
  "sgl.tensor(k / 2, { dtype = x.dtype })", "(x + 0):assign(k)",
  "(function() local y = x + 0 y[1] = k return y end)()",
  "(function() local y = x + 0 y[{ { 1, 2 } }] = k return y end)()",
  "(function() local y = x + 0 y[x:gt(1)] = k return y end)()",
  "sgl.isclose(x, x + 1, { rtol = 0, atol = k })", "sgl.softplus(x, { beta = k })",
  "sgl.leaky_relu(x, { slope = k })", "sgl.elu(x - 1, { alpha = k })",
  "sgl.hardtanh(x, { low = -1, high = k })", "x:nan_to_num(k)", "sgl.bernoulli(k, { 2 }).dtype",
  "sgl.stack { x, x * k }", "sgl.stack { sgl.tensor(k), sgl.tensor(k + 1) }",
  "sgl.cond(x:gt(1):any(), function(n) return n end, function(n) return n end, k)",
  "sgl.cond(x:gt(1):any(), function() return x * k end, function() return x + k end)",
  "sgl.cond(x:gt(9):any(), function() return k - 1, { k } end, function() return k * 2, { k } end)",
  "sgl.scan(function(c, y) return c * k, y + k end, x, 3)",
  "sgl.scan(function(c, y) return c + y * k, c end, x[1], x)",
  "sgl.scan(function(c) return c + c, c end, k, 3)",
  "sgl.scan(function(c) return c, (k - 16777216) * c end, x, 2)",
  "sgl.loop(function(c) return c.n:lt(k) end, function(c) return { n = c.n + 1, "
    .. "x = (c.x * k):type_as(x) } end, { n = 0, x = x }, { max = 5 }).x",
  "sgl.loop(function(c) return c:lt(9) end, function(c) return c * 2 end, k, { max = 5 })",
}

for _, op in ipairs(core.ops()) do
  local name = ({ max = "maximum", min = "minimum" })[op.name] or op.name
  if op.family == "binary" or op.family == "compare" then
    for _, form in ipairs { "x, k", "k, x", "k, 2", "2, k", "k, 2.5", "2.5, k", "k, k + 1" } do
      CALLS[#CALLS + 1] = ("sgl.%s(%s)"):format(name, form)
    end
    CALLS[#CALLS + 1] = ("x:%s(k)"):format(name)
    CALLS[#CALLS + 1] = ("x:%s(k + 1)"):format(name)
  end
end

-- Every row that takes a number or a tensor is called above.
it("the calls of this spec are all that take a number or a tensor", function()
  local text_of_calls = table.concat(CALLS, "\n") .. "tensor step minimize clip_norm"
  for _, row in ipairs(api.all()) do
    for _, arg in ipairs(row.args or {}) do
      if arg[2]:find "tensor" and arg[2]:find "number" then
        assert.is_truthy(text_of_calls:find("%f[%w_]" .. row.name .. "%f[^%w_]"), row.name)
      end
    end
  end
end)

describe("a number as an operand", function()
  local NUMBERS = { 2, 2.0, 0.5, -1, -2.5, 300, 2049.5, 16777217, 3000000000, 1e10, 0 / 0, 1 / 0 }
  for _, dtype in ipairs { "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "bool" } do
    it("gives beside " .. dtype .. " what it gives without capture", function()
      local x = sgl.tensor({ 1, 2, 0 }, { dtype = dtype })
      local counts = {}
      for _, call in ipairs(CALLS) do
        local fn = load("local sgl = ... return function(x, k) return " .. call .. " end")(sgl)
        local step = sgl.compile(fn, LIMIT)
        for _, k in ipairs(NUMBERS) do
          local wrong = difference(fn, step, text, counts, x, k)
          assert(not wrong, ("%s with k = %s: %s"):format(call, k, wrong))
        end
      end
      assert.is_true(counts.values > counts.refusals * 2,
        ("%d values, %d refusals"):format(counts.values, counts.refusals))
    end)
  end
end)

describe("a number that becomes a tensor of integers", function()
  local EDGES = { -1, 0, 255, 256, 2147483647, 2147483648, -2147483648, -2147483649, -0.5, -1.0,
    -0.999, 255.999, 256.0, 2147483647.5, 2147483648.0, -2147483648.999, -2147483649.0, 2.0 ^ 63,
    -2.0 ^ 63, 2.0 ^ 63 - 1024, 2.0 ^ 63 + 2048, -2.0 ^ 63 - 2048, 1 / 0, -1 / 0, 0 / 0 }
  for _, dtype in ipairs { "u8", "i32", "i64", "bool" } do
    it("loses no more than its fraction: " .. dtype, function()
      for _, form in ipairs { "k", "-(-k)", "sgl.cond(c, function() return t(k) end, zero)" } do
        local source = "local sgl, t, c, zero = ... return function(k) return "
          .. (form:find "sgl" and form or ("t(%s)"):format(form)) .. " end"
        local function t(v) return sgl.tensor(v, dtype) end
        local fn = load(source)(sgl, t, sgl.tensor(true), function() return t(0) end)
        local step = sgl.compile(fn, LIMIT)
        for _, k in ipairs(EDGES) do
          local fine, want = pcall(fn, k)
          local done, got = pcall(step, k)
          assert.are.equal(fine, done, ("%s of %s: %s"):format(form, k, fine and got or want))
          if fine then assert.are.equal(text(want), text(got)) end
        end
      end
    end)
  end
end)

describe("a number that goes further", function()
  it("is the learning rate, in the bits of one that the optimizer has", function()
    for _, name in ipairs { "SGD", "AdamW", "Lion", "RMSprop" } do
      local function train(compiled)
        sgl.seed(3)
        local model = sgl.nn.Linear(4, 2)
        local opt = sgl.optim[name](model:parameters())
        local x = sgl.randn(8, 4)
        local function fn(v, lr, limit)
          local loss = (model(v) ^ 2):mean()
          local grads = sgl.grad(loss, opt.params)
          sgl.optim.clip_norm(grads, limit)
          opt:step(grads, { lr = lr })
          return loss
        end
        local step = compiled and sgl.compile(fn) or fn
        for i = 1, 4 do step(x, i == 1 and 1 or 0.1 / i, 0.3) end
        if compiled then assert.are.equal(1, #step:programs()) end
        return text { model.weight, model.bias }
      end
      assert.are.equal(train(false), train(true), name)
    end
  end)

  it("is in the range that an option asks for, at each run", function()
    local w = sgl.ones(2)
    local opt = sgl.optim.SGD { w }
    local set = sgl.compile(function(lr) opt:set_lr(lr) end)
    set(0.1)
    assert.are.equal(sgl.tensor(0.1):item(), opt:lr())
    assert.matches("'lr' must be at least 0, got %-2", support.error_of(set, -2).message)
    local step = sgl.compile(function(lr) opt:step({ w * 2 }, { lr = lr }) end)
    step(0.5)
    step(0)
    assert.are.same({ 0.0, 0.0 }, w:tolist())
    w:assign(sgl.ones(2))
    for _, lr in ipairs { -1, 0 / 0, 1 / 0, -0.5 } do
      assert.matches("option 'lr' must be at least 0, got " .. tostring(lr):gsub("%-", "%%-"),
        support.error_of(step, lr).message)
    end
    assert.are.same({ 1.0, 1.0 }, w:tolist())
  end)

  it("is printed as Lua prints it", function()
    local text_of = [[
      local sgl = require "sgl"
      local function fn(k)
        sgl.print("k", k, "{}", k + 1, k / 2, sgl.tensor(k))
        return sgl.ones(1)
      end
      for _, k in ipairs { 3, 2.5, 1e300, 16777217 } do fn(k) end
      print "--"
      local step = sgl.compile(fn)
      for _, k in ipairs { 3, 2.5, 1e300, 16777217 } do step(k) end]]
    local out, status = support.script(text_of)
    assert.are.equal(0, status, out)
    local plain, compiled = out:match "^(.*)%-%-\n(.*)$"
    assert.are.equal(plain, compiled)
  end)

  it("stands in tables, twice, and beside symbolic sizes", function()
    local function fn(o, x)
      return o.a * x + o.list[2], (o.a + x.shape[1]) * x, o.a % x.shape[1] * x
    end
    local step = sgl.compile(fn, { inputs = { nil, sgl.spec { sgl.dim "n" } } })
    for n = 1, 4 do
      local x, o = sgl.ones(n), { a = 16777216 + n, list = { 1, 0.1 * n } }
      assert.are.equal(text { fn(o, x) }, text { step(o, x) })
    end
    assert.are.equal(1, #step:programs())
  end)
end)
