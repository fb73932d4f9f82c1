-- factor_spec.lua: the columns of the op table that say how dims are cut together, against what the
-- ops do: sizes agree, kinds stand where they may, and an op over the halves of its inputs gives
-- the halves of its result, or partial results that add up to it.

local core = require "sgl.core"
local cases = require "spec.op_cases"
local engine = require "spec.engine"

local apply = core.apply
local PARTIAL = { sum = "add", prod = "mul", max = "max", min = "min" }

-- Each node of the op that its cases make: { graph, node, kinds, out, inputs, case, args }.
local function nodes_of(op)
  local list = {}
  local function add(graph, case, args)
    for _, node in ipairs(graph:nodes()) do
      if node.op == op.name then
        local kinds, out, inputs = core.factors(graph, node.id)
        list[#list + 1] = { graph = graph, node = node, kinds = kinds, out = out, inputs = inputs,
                            case = case, args = args }
      end
    end
  end
  for _, text in ipairs(cases.texts[op.name] or {}) do add(core.parse(text)) end
  for _, case in ipairs(cases.texts[op.name] and {} or cases.cases(op)) do
    local truth = op.types[1] == "bool" and #op.types == 1
    local args = cases.sample(op, case, truth and "bool" or "f32")
    add(engine.capture(case.fn, args), case, args)
  end
  return list
end

-- Calls visit(where, size) for each dim that has factor f.
local function each_dim(n, f, visit)
  local shapes = {}
  for _, node in ipairs(n.graph:nodes()) do shapes[node.id] = node.shape end
  for d, of in ipairs(n.out) do if of == f then visit("result", n.node.shape[d], d) end end
  for i, row in ipairs(n.inputs) do
    for d, of in ipairs(row) do
      if of == f then visit("input", shapes[n.node.inputs[i]][d], d, i) end
    end
  end
end

-- Where dims of a factor of each kind may be.
local PLACES = {
  keep = { input = true, result = true }, new = { result = true },
  sum = { input = true }, prod = { input = true }, max = { input = true }, min = { input = true },
  pick = { input = true }, own = { input = true, result = true },
}

describe("the factors of the op", function()
  for _, op in ipairs(core.ops()) do
    it(op.name .. " have one size and stand where their kind may", function()
      for _, n in ipairs(nodes_of(op)) do
        for f, kind in ipairs(n.kinds) do
          local found, size = {}, nil
          each_dim(n, f, function(where, s)
            found[where] = true
            if op.layout ~= "groups" then
              assert.is_true(size == nil or size == s, n.graph:text())
            end
            size = s
          end)
          assert.are.same(PLACES[kind], found, kind .. "\n" .. n.graph:text())
        end
      end
    end)
  end

  it("are data for every op", function()
    for _, op in ipairs(core.ops()) do
      local elementwise = op.family == "unary" or op.family == "binary" or op.family == "test"
        or op.family == "compare" or op.family == "select"
      assert.are.equal(elementwise and "same keep" or op.layout .. " " .. op.kind,
        op.layout .. " " .. op.kind, op.name)
    end
  end)
end)

-- ---- halves

local function half(t, d, which)
  local start, stop, step, shape = {}, {}, {}, t.shape
  for i = 1, #shape do start[i], stop[i], step[i] = 0, shape[i], 1 end
  local middle = shape[d] // 2
  if which == 1 then stop[d] = middle else start[d] = middle end
  return apply("slice", t, { start = start, stop = stop, step = step })
end

-- The op over one half of all dims that have factor f; nil: dims that are attributes are in it.
local function on_half(n, f, which)
  local args = {}
  for i, t in ipairs(n.args) do
    args[i] = t
    for d, of in ipairs(n.inputs[i]) do if of == f then args[i] = half(t, d, which) end end
  end
  return n.case.fn(table.unpack(args))
end

local function check(n, f, kind)
  local whole = n.case.fn(table.unpack(n.args))
  local a, b = on_half(n, f, 1), on_half(n, f, 2)
  local got
  if PARTIAL[kind] then
    got = apply(PARTIAL[kind], { a, b })
  else
    for d, of in ipairs(n.out) do
      if of == f then got = apply("concat", { a, b }, { dim = d }) end
    end
  end
  local want, have = engine.values(whole), engine.values(got)
  for i = 1, #want do
    local same = want[i] == have[i] or want[i] ~= want[i] and have[i] ~= have[i]
    assert.is_true(same or math.abs(want[i] - have[i]) <= 1e-4 * (1 + math.abs(want[i])),
      ("%s, %s of factor %d: %s for %s"):format(n.case.title, kind, f, have[i], want[i]))
  end
end

-- Sizes among the attributes are those of the whole.
local SIZED = { reshape = true, broadcast = true, slice = true }

-- The node takes the arguments as they are, and each dim of the factor can be cut.
local function can_halve(n, f)
  local fits = n.args and #n.args == #n.inputs
  local ops = {}
  for _, node in ipairs(n.graph:nodes()) do ops[node.id] = node.op end
  for _, id in ipairs(n.node.inputs) do fits = fits and ops[id] == "input" end
  if not fits then return false end
  each_dim(n, f, function(where, size, d, i)
    fits = fits and size >= 2 and (where == "result" or n.args[i].shape[d] == size)
  end)
  return fits
end

describe("an op over halves gives the halves of the whole, or partial results:", function()
  for _, op in ipairs(core.ops()) do
    local families = { reduce = true, dot = true, index = true, movement = true, cast = true,
                       binary = op.name == "add", select = true }
    if families[op.family] and not SIZED[op.name] then
      it(op.name, function()
        local checked = 0
        for _, n in ipairs(nodes_of(op)) do
          for f, kind in ipairs(n.kinds) do
            local known = kind == "keep" or PARTIAL[kind] and op.name ~= "scatter_add"
            if known and can_halve(n, f) then
              check(n, f, kind)
              checked = checked + 1
            end
          end
        end
        assert.is_true(checked > 0 or op.name == "pad")   -- whose cases pad every dim
      end)
    end
  end

  local function factors_of(line, inputs)
    local text = "graph\n" .. inputs .. line .. '\noutput %9 ""\n'
    local kinds, out, of = core.factors(core.parse(text), "%" .. select(2, inputs:gsub("\n", "")))
    local words = {}
    for d, f in ipairs(out) do words[d] = f == 0 and "fix" or kinds[f] .. f end
    for _, row in ipairs(of) do
      words[#words + 1] = "|"
      for _, f in ipairs(row) do words[#words + 1] = f == 0 and "fix" or kinds[f] .. f end
    end
    return table.concat(words, " ")
  end

  it("reshape, by runs of dims with equal product", function()
    assert.are.equal("keep1 keep2 fix keep3 | keep1 keep2 keep3",
      factors_of("%9 = reshape(%0) {dims=[3, 4, 8, 5]} : f32[3, 4, 8, 5]",
        'input %0 arg "" f32[3, 32, 5]\n'))
    assert.are.equal("keep1 | keep1 fix",
      factors_of("%9 = reshape(%0) {dims=[96]} : f32[96]", 'input %0 arg "" f32[12, 8]\n'))
    assert.are.equal("keep1 fix keep2 | fix keep1 fix keep2",
      factors_of("%9 = reshape(%0) {dims=[6, 1, 7]} : f32[6, 1, 7]",
        'input %0 arg "" f32[1, 2, 3, 7]\n'))
  end)

  it("slice and pad, which leave dims of one size whole", function()
    assert.are.equal("keep1 fix | keep1 fix",
      factors_of("%9 = slice(%0) {start=[0, 1], stop=[4, 4], step=[1, 1]} : f32[4, 3]",
        'input %0 arg "" f32[4, 6]\n'))
  end)

  it("broadcast, whose repeated dims are new", function()
    assert.are.equal("keep1 new2 | keep1 fix",
      factors_of("%9 = broadcast(%0) {dims=[4, 6]} : f32[4, 6]", 'input %0 arg "" f32[4, 1]\n'))
  end)

  it("scatter_add, whose first index dim is summed over", function()
    assert.are.equal("keep1 own2 | keep1 own2 | sum3 fix | keep1 sum3 fix",
      factors_of("%9 = scatter_add(%0, %1, %2) {dim=2} : f32[3, 9]", [[
input %0 arg "" f32[3, 9]
input %1 arg "" i32[4, 5]
input %2 arg "" f32[3, 4, 5]
]]))
  end)
end)
