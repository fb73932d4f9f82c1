-- simplify_spec.lua: the pass `simplify` drops work and never a bit: values are compared before and
-- after it on zeros of both signs, infinities, NaN and subnormal numbers.

local core = require "sgl.core"
local engine = require "spec.engine"

local apply, full = core.apply, core.full

local function like(x, value) return full(x.shape, value, x.dtype) end
local function swap(x) return apply("permute", x, { dims = { 2, 1 } }) end
local function cast(x, dtype) return apply("cast", x, { dtype = dtype }) end

-- Bits as text: any NaN is like another, zeros differ by their sign.
local function bits(values)
  local out = {}
  for i, v in ipairs(values) do
    out[i] = v ~= v and "nan" or v == 0 and 1 / v < 0 and "-0" or ("%a"):format(v)
  end
  return table.concat(out, " ")
end

local function eval(graph, args)
  local out = graph:eval(args)
  for i, t in ipairs(out) do out[i] = bits(engine.values(t)) end
  return out
end

-- Records fn on hostile arguments and checks that the pass keeps every bit of the reference. Where
-- fn rounds once at most, the CPU, which simplifies too, must give the reference's bits. Returns
-- the graph after the pass.
local function simplified(fn, dtype, rounds_once)
  local args = { core.sample("anything", 1, { 8, 33 }, dtype),
                 core.sample("anything", 2, { 8, 33 }, dtype),
                 core.sample("smallint", 3, { 8, 33 }, "bool") }
  local graph = engine.capture(fn, args)
  local after = graph:pass("simplify")
  assert.is_true(after:verify())
  assert.are.same(eval(graph, args), eval(after, args))
  if rounds_once ~= false then
    local got, want = graph:run(args), graph:eval(args)
    for i in ipairs(got) do
      assert.are.equal(bits(engine.values(cast(want[i], got[i].dtype))),
        bits(engine.values(got[i])))
    end
  end
  return after
end

local function only_inputs(graph)
  for _, n in ipairs(graph:nodes()) do
    if n.op ~= "input" then return false, graph:text() end
  end
  return true
end

-- What leaves nothing but the inputs.
local VANISH = {
  ["x * 1"] = function(x) return x * 1 end,
  ["1 * x"] = function(x) return 1 * x end,
  ["x / 1"] = function(x) return x / 1 end,
  ["x - 0"] = function(x) return x - 0 end,
  ["x + -0"] = function(x) return x + like(x, -0.0) end,
  ["-(-x)"] = function(x) return -(-x) end,
  ["min(x, x)"] = function(x) return apply("min", { x, x }) end,
  ["max(x, x)"] = function(x) return apply("max", { x, x }) end,
  ["x ^ 1"] = function(x) return x ^ 1 end,
  ["where(c, x, x)"] = function(x, _, c) return c:where(x, x) end,
  ["where(true, x, y)"] = function(x, y) return full({}, true, "bool"):where(x, y) end,
  ["where(false, x, y)"] = function(x, y) return full({}, false, "bool"):where(x, y) end,
  ["permutation and its inverse"] = function(x) return swap(swap(x)) end,
  ["reshape there and back"] = function(x)
    return apply("reshape", apply("reshape", x, { dims = { 264 } }), { dims = { 8, 33 } })
  end,
  ["flip twice"] = function(x)
    return apply("flip", apply("flip", x, { dims = { 1 } }), { dims = { 1 } })
  end,
  ["slice of everything"] = function(x)
    return apply("slice", x, { start = { 0, 0 }, stop = { 8, 33 }, step = { 1, 1 } })
  end,
}

-- What looks as if it would vanish and must not, for floats: the ops that have to stay; true:
-- several roundings.
local STAY = {
  ["x + 0, because -0 + 0 is 0"] = { "add", function(x) return x + like(x, 0) end },
  ["x * 0, because inf * 0 is NaN"] = { "mul", function(x) return x * 0 end },
  ["x - x, because inf - inf is NaN"] = { "sub", function(x) return x - x end },
  ["x / x, because 0 / 0 is NaN"] = { "div", function(x) return x / x end },
  ["0 - x, because 0 - 0 is 0"] = { "sub", function(x) return like(x, 0) - x end },
  ["x // 1, which rounds"] = { "floordiv", function(x) return x // 1 end },
  ["(x + 1) - 1, which rounds"] = { "add", function(x) return (x + 1) - 1 end, true },
  ["x * 3 / 3, which rounds"] = { "mul", function(x) return x * 3 / 3 end, true },
  ["x == x, because NaN is not"] = { "eq", function(x) return x:eq(x) end },
  ["(x * y) * 2, which may overflow"] = { "mul", function(x, y) return (x * y) * 2 end, true },
}

-- What becomes another op with the same bits.
local CHANGE = {
  ["x / 4 is x * 0.25"] = function(x) return x / 4 end,
  ["x + -y is x - y"] = function(x, y) return x + -y end,
  ["x - -y is x + y"] = function(x, y) return x - -y end,
  ["-x * -y is x * y"] = function(x, y) return -x * -y end,
  ["-x / -y is x / y"] = function(x, y) return -x / -y end,
  ["-x * 3 is x * -3"] = function(x) return -x * 3 end,
  ["abs(-x) is abs(x)"] = function(x) return (-x):abs():abs() end,
  ["not (x == y) is x ~= y"] = function(x, y) return x:eq(y):logical_not() end,
  ["where(not c, x, y) is where(c, y, x)"] = function(x, y, c)
    return c:logical_not():where(x, y)
  end,
  ["where(c, 1, 0) is c"] = function(x, _, c) return c:where(like(x, 1), like(x, 0)) end,
  ["constants are folded"] = function(x) return x * ((like(x, 2) + 1) * 0.5) end,
  ["constants are moved"] = function(x)
    return x + swap(apply("broadcast", full({ 33, 1 }, 2, x.dtype), { dims = { 33, 8 } }))
  end,
  ["permutations are joined"] = function(x) return swap(-swap(x)) end,
  ["slices are joined"] = function(x)
    local part = apply("slice", x, { start = { 1, 2 }, stop = { 8, 30 }, step = { 1, 2 } })
    return apply("slice", part, { start = { 0, 3 }, stop = { 5, 12 }, step = { 2, 3 } })
  end,
  ["padding is cut off again"] = function(x)
    return apply("slice", apply("pad", x, { lo = { 1, 2 }, hi = { 0, 3 }, value = 1 }),
      { start = { 1, 2 }, stop = { 9, 35 }, step = { 1, 1 } })
  end,
}

local FLOATS = { "f32", "f64", "f16", "bf16" }

local function each(rows, fn)
  local names = {}
  for name in pairs(rows) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do fn(name, rows[name]) end
end

describe("simplify, on values that are not finite,", function()
  each(VANISH, function(name, fn)
    it("leaves nothing of " .. name, function()
      for _, dtype in ipairs(FLOATS) do assert.is_true(only_inputs(simplified(fn, dtype))) end
    end)
  end)

  each(STAY, function(name, row)
    it("keeps " .. name, function()
      for _, dtype in ipairs(FLOATS) do
        assert.is_true(simplified(row[2], dtype, not row[3]):count(row[1]) > 0)
      end
    end)
  end)

  each(CHANGE, function(name, fn)
    it("keeps every bit where " .. name, function()
      for _, dtype in ipairs(FLOATS) do simplified(fn, dtype) end
    end)
  end)

  it("keeps powers that become products and roots", function()
    for _, exponent in ipairs { 0, 2, -1, 0.5 } do
      for _, dtype in ipairs(FLOATS) do
        simplified(function(x) return x ^ exponent end, dtype, false)
      end
    end
  end)
end)

describe("simplify, on integers that wrap,", function()
  local WHOLE = {
    ["x + 0"] = function(x) return x + 0 end, ["x * 1"] = function(x) return x * 1 end,
    ["x * 0"] = function(x) return x * 0 end, ["x - x"] = function(x) return x - x end,
    ["x // 1"] = function(x) return x // 1 end, ["x % 1"] = function(x) return x % 1 end,
    ["(x + 100) + 100"] = function(x) return (x + 100) + 100 end,
    ["-(-x)"] = function(x) return -(-x) end, ["x + -y"] = function(x, y) return x + -y end,
    ["abs(-x)"] = function(x) return (-x):abs() end,
    ["x * y"] = function(x, y) return x * y * 1 end,
  }
  each(WHOLE, function(name, fn)
    it("keeps the values of " .. name, function()
      for _, dtype in ipairs { "i32", "u8" } do simplified(fn, dtype) end
    end)
  end)
end)

describe("simplify", function()
  it("keeps a cast that rounds between two that do not", function()
    local function fn(x) return cast(cast(x, "f32"), "f64") end
    local x = core.sample("real", 1, { 40 }, "f64")
    local graph, program = engine.capture(fn, { x })
    local want = engine.values(cast(cast(x, "f32"), "f64"))
    assert.are.equal(2, graph:pass("simplify"):count("cast"))
    assert.are.equal(bits(want), bits(engine.values(program:run({ x })[1])))
    assert.are_not.equal(bits(want), bits(engine.values(x)))
  end)

  local DEAD = [[
graph
input %0 arg "x" f32[4]
input %1 arg "unused" f32[2, 2]
input %2 state "s" f32[4]
%3 = exp(%0) : f32[4]
%4 = mul(%3, %3) : f32[4]
%5 = const() {value=1, dims=[4], dtype=f32} : f32[4]
%6 = mul(%2, %5) : f32[4]
%7 = neg(%0) : f32[4]
%8 = add(%7, %2) : f32[4]
output %6 "same"
assign %2 = %8
]]

  it("drops what no output and no assign needs, and keeps unused inputs in their places", function()
    local after = core.parse(DEAD):pass("simplify")
    assert.are.equal(0, after:count("exp"))
    assert.are.equal(0, after:count("const"))
    assert.are.equal(3, #after:inputs())
    assert.are.same({ 2, 2 }, after:inputs()[2].shape)
    assert.are.equal("state", after:text():match('input %%2 (%a+)'))
    assert.is_truthy(after:text():find("assign %2 = ", 1, true))
  end)

  it("is done after one run", function()
    local r = require "spec.random_graph"
    for seed = 1, engine.times(200) do
      local once = core.parse(r.generate(seed).text):pass("simplify")
      assert.are.equal(once:text(), once:pass("simplify"):text(), "seed " .. seed)
    end
  end)

  -- A gradient by a weight sums over samples and steps as over one dim: they lie one behind the
  -- other in %2, which is there anyway, and not in x, of which a copy would have to be made.
  it("keeps two permutations of which the outer leaves dims side by side", function()
    local text = [[
graph
input %0 arg "x" f32[3, 2, 4]
input %1 arg "dy" f32[2, 3, 5]
%2 = permute(%0) {dims=[2, 1, 3]} : f32[2, 3, 4]
%3 = permute(%2) {dims=[3, 1, 2]} : f32[4, 2, 3]
%4 = dot(%3, %1) {inner=2} : f32[4, 5]
%5 = neg(%2) : f32[2, 3, 4]
output %4 ""
output %5 ""
]]
    assert.are.equal(2, core.parse(text):pass("simplify"):count("permute"))
  end)

  it("joins two permutations of which the outer leaves none", function()
    local text = core.parse([[
graph
input %0 arg "x" f32[3, 2, 4]
%1 = permute(%0) {dims=[2, 1, 3]} : f32[2, 3, 4]
%2 = permute(%1) {dims=[1, 3, 2]} : f32[2, 4, 3]
output %2 ""
]]):pass("simplify"):text()
    assert.is_truthy(text:find("%1 = permute(%0) {dims=[2, 3, 1]}", 1, true), text)
  end)

  it("keeps composites, names and source lines", function()
    local text = core.parse [[
graph
composite @1 "gelu" in @0 # a.lua:3
input %0 arg "x" f32[4]
%1 = const() {value=1, dims=[4], dtype=f32} : f32[4] @1
%2 = mul(%0, %1) : f32[4] @1 # a.lua:4
%3 = erf(%2) : f32[4] @1 # a.lua:5
call @1(%0) = %3
output %3 "y"
]]:pass("simplify"):text()
    assert.is_truthy(text:find('composite @1 "gelu" in @0 # a.lua:3', 1, true), text)
    assert.is_truthy(text:find("erf(%0) : f32[4] @1 # a.lua:5", 1, true), text)
    assert.is_truthy(text:find("call @1(%0) = %1", 1, true), text)
    assert.is_truthy(text:find('output %1 "y"', 1, true), text)
  end)
end)
