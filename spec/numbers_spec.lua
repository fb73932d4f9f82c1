-- numbers_spec.lua: a number among the arguments of a step means what it means in Lua: its
-- digits, its type, and what every function of the library makes of it. Where a graph cannot mean
-- that, the step breaks.
--
-- In:    tensor_cases.lua, in whose expressions each number in turn becomes an argument; the rows
--        of the API table.

local api = require "sgl.api"
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

-- A result that is a number comes back as a tensor of its type.
local function number_text(v)
  return text(sgl.is_tensor(v) and v:item() or v)
end

-- Does the error say that the value of a number is needed?
local function refused(e)
  return type(e) == "table" and (e.reason == "B-NUMBER" or tostring(e):find("number that is an input")
    or tostring(e):find("number computed of") or tostring(e):find("does not fit"))
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
            local wrong = difference(fn, step, number_text, counts, k)
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
          local wrong = difference(fn, step, number_text, counts, a, b)
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

  it("take one capture when a rate goes from 1 to a half, also in what is computed of it", function()
    local w = sgl.ones(2)
    local step = sgl.compile(function(lr, decay) return w - (lr * 0.5) * (1.0 - decay / 2) end)
    for _, lr in ipairs { 1, 0.5, 0.25, 2 } do step(lr, 1) step(lr, 0.5) end
    assert.are.equal(1, #step:programs())
  end)

  it("take one more capture where integers are other than floats", function()
    local step = sgl.compile(function(k) return k + 1 end)
    for _, k in ipairs { 1.5, 1, 2, 2.5 } do
      assert.are.equal(number_text(k + 1), number_text(step(k)))
    end
    assert.are.equal(2, #step:programs())
    assert.are.equal("k changed from a float to an integer", step:programs()[2].reason)
  end)

  it("are refused where they are integers beyond 2^53", function()
    local step = sgl.compile(function(k) return k + 1 end)
    assert.are.equal((1 << 53) + 1, step(1 << 53):item())
    assert.matches("9007199254740993 does not fit",
      support.error_of(step, (1 << 53) + 1).message)
    assert.are.equal(2.0 ^ 53 / 2, sgl.compile(function(k) return k / 2 end)((1 << 53) + 1):item())
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

-- A literal and what Lua makes of the argument, or an error of Lua.
describe("a step that looks at a number breaks", function()
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
  }
  for _, fn in ipairs(LOOKS) do
    local line = debug.getinfo(fn, "S").linedefined
    it(("or is right (line %d)"):format(line), function()
      local e = support.error_of(sgl.compile(fn), 3)
      assert.is_truthy(e.reason == "B-NUMBER" or e.reason == "B-KEY", tostring(e))
      assert.are.equal(line, e.line, tostring(e))
      local step = sgl.compile(fn, { fullgraph = false })
      assert.are.equal(text(fn(3)), text(step(3)))
    end)
  end

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
    it(("where Lua raises an error (line %d)"):format(debug.getinfo(fn, "S").linedefined), function()
      assert.is_false((pcall(fn, 3)))
      assert.is_false((pcall(sgl.compile(fn), 3)))
    end)
  end

  it("or is right where it does not", function()
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
      local value = math.tointeger(expression:sub(first, last)) or tonumber(expression:sub(first, last))
      local chunk = load(("return function(k) return %sk%s end"):format(head, tail), "=step", "t", ENV)
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
