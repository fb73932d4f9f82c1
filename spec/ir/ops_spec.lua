-- ops_spec.lua: every op of the table: the CPU against the double-precision reference, its gradient
-- against finite differences, its text against itself.
--
-- Generated from core.ops(): a new row is tested without a change here. Arguments come from the
-- op's sampling domain; an op without one fails. What is allowed to differ:
--   f64   1e-12, f32 1e-5 of the value (kernels promise 2 ulp an op; sums of many elements more)
--   f16, bf16   two roundoffs: one rounding of a result computed in f32
--   integers, bool   nothing
-- and of sums and products of sums the same parts of the sum of absolute values, which is what
-- any order of additions can promise.

local core = require "sgl.core"
local cases = require "spec.op_cases"
local engine = require "spec.engine"

local REL = { f64 = 1e-12, f32 = 1e-5, f16 = 2.0 ^ -10, bf16 = 2.0 ^ -7 }
local SUMS = { reduce = true, dot = true, index = true, movement = true }

local function is_refusal(e, code)
  return type(e) == "table" and e.code == code
end

-- The dtypes that the op takes, found by asking; those it refuses must be refused by name.
local function allowed_dtypes(op, case)
  local list = {}
  for _, dtype in ipairs(core.dtypes()) do
    local ok, e = pcall(engine.capture, case.fn, cases.sample(op, case, dtype.name))
    if ok then list[#list + 1] = dtype.name
    elseif not is_refusal(e, "SGL_EDTYPE") then error(e, 0) end
  end
  assert(#list > 0, op.name .. " takes no dtype at all")
  return list
end

-- Values of each output by the reference, as doubles.
local function reference(graph, args)
  local out = graph:eval(args)
  for i, t in ipairs(out) do out[i] = engine.values(t) end
  return out
end

local function check_values(op, case, dtype)
  local args = cases.sample(op, case, dtype)
  local graph, program = engine.capture(case.fn, args)
  local got = program:run(args)[1]
  local want = reference(graph, args)[1]
  local magnitude
  if SUMS[op.family] and engine.is_float(got.dtype) then
    local sizes = {}
    for i, t in ipairs(args) do sizes[i] = engine.absolute(t) end
    magnitude = reference(graph, sizes)[1]
  end
  local allowed = engine.within(REL[got.dtype] or 0, got.dtype, magnitude)
  local wrong = engine.difference(engine.values(got), want, got.dtype, allowed)
  if wrong then
    error(("%s of %s %s: %s\n%s"):format(op.name, dtype, case.title, wrong, graph:text()), 0)
  end
end

-- ---- gradients

-- The graph of sum(op(args) * weights), whose last argument is the weights.
local function loss_graph(case, args, dtype)
  local shape
  engine.capture(function(...)
    local out = case.fn(...)
    shape = engine.is_float(out.dtype) and out.shape
    return out
  end, args)
  if not shape then return nil end
  local inputs = { table.unpack(args) }
  inputs[#inputs + 1] = core.sample("real", 77, shape, dtype)
  local graph = engine.capture(function(...)
    local all = { ... }
    local weights = table.remove(all)
    return core.apply("sum", core.apply("mul", { case.fn(table.unpack(all)), weights }), {})
  end, inputs)
  return graph, inputs
end

local STEP = 1e-5
local SMALL = 12       -- arrays up to this size are checked element by element, others along
local DIRECTIONS = 3   -- random directions

local function directions(n, random)
  local list = {}
  for k = 1, n <= SMALL and n or DIRECTIONS do
    local v = {}
    for i = 1, n do
      if n <= SMALL then v[i] = i == k and 1 or 0 else v[i] = random:chance(0.5) and 1 or -1 end
    end
    list[k] = v
  end
  return list
end

local function moved(inputs, which, x, direction, by)
  local list, at = { table.unpack(inputs) }, {}
  for i = 1, #x do at[i] = x[i] + by * direction[i] end
  list[which] = engine.pack(at, "f64", inputs[which].shape)
  return list
end

local function check_gradient(op, case, which, graph, inputs, gradient)
  local x, g = engine.values(inputs[which]), engine.values(gradient)
  assert(#g == #x, "the gradient has another size than the argument")
  for _, v in ipairs(directions(#x, engine.random(which))) do
    local above = reference(graph, moved(inputs, which, x, v, STEP))[1][1]
    local below = reference(graph, moved(inputs, which, x, v, -STEP))[1][1]
    local want, slope, size = (above - below) / (2 * STEP), 0, 1
    for i = 1, #x do
      slope = slope + g[i] * v[i]
      size = size + math.abs(g[i] * v[i])
    end
    local off = math.abs(slope - want)
    if off ~= off or off > 1e-6 * size then
      error(("%s %s: gradient of argument %d: %.9g, by differences %.9g\n%s"):format(op.name,
        case.title, which, slope, want, graph:text()), 0)
    end
  end
end

-- Arguments of the case, and the numbers of those that have that dtype.
local function sample_floats(op, case, dtype)
  local args, wrt = cases.sample(op, case, dtype), {}
  for i, t in ipairs(args) do
    if t.dtype == dtype then wrt[#wrt + 1] = i end
  end
  return args, wrt
end

local function check_gradients(op, case)
  local args, wrt = sample_floats(op, case, "f64")
  local graph, inputs = loss_graph(case, args, "f64")
  if not graph or #wrt == 0 then return end
  local gradients = graph:grad(1, wrt):eval(inputs)
  for k, which in ipairs(wrt) do
    check_gradient(op, case, which, graph, inputs, gradients[k])
  end
end

-- The tolerance of the coarsest float in a graph.
local function coarsest(graph)
  local rel = 0
  for _, n in ipairs(graph:nodes()) do rel = math.max(rel, REL[n.dtype] or 0) end
  return rel
end

-- The gradient's own graph on the CPU, in f32, against its reference: 1e-5 of the largest element,
-- because terms of a gradient cancel (1 - tanh² and the like).
local function check_gradient_on_cpu(op, case)
  local args, wrt = sample_floats(op, case, "f32")
  local graph, inputs = loss_graph(case, args, "f32")
  if not graph or #wrt == 0 then return end
  local gradient = graph:grad(1, wrt)
  local got, want = gradient:run(inputs), reference(gradient, inputs)
  for k in ipairs(wrt) do
    local largest = 0
    for _, v in ipairs(want[k]) do largest = math.max(largest, math.abs(v)) end
    local wrong = engine.difference(engine.values(got[k]), want[k], got[k].dtype,
      engine.within(coarsest(gradient), "f32", largest))
    if wrong then
      error(("%s %s: gradient of argument %d on the CPU: %s\n%s"):format(op.name, case.title,
        wrt[k], wrong, gradient:text()), 0)
    end
  end
end

-- ---- the specs

for _, op in ipairs(core.ops()) do
  if not cases.texts[op.name] then
    describe("op " .. op.name, function()
      it("has a domain to sample from", function() assert.are_not.equal("none", op.domain) end)

      it("gives on the CPU what the reference gives", function()
        local list = cases.cases(op)
        local dtypes = allowed_dtypes(op, list[1])
        for _, dtype in ipairs(dtypes) do
          for _, case in ipairs(list) do check_values(op, case, dtype) end
        end
      end)

      it("has the text that it was read from", function()
        for _, case in ipairs(cases.cases(op)) do
          local args = cases.sample(op, case, allowed_dtypes(op, case)[1])
          local graph = engine.capture(case.fn, args)
          local again = core.parse(graph:text())
          assert.are.equal(graph:text(), again:text())
          assert.are.equal(graph:hash(), again:hash())
        end
      end)

      local takes_floats = not (#op.types == 1 and op.types[1] == "bool")
      if op.differentiable and takes_floats then
        it("has the gradient that finite differences give", function()
          for _, case in ipairs(cases.cases(op)) do
            check_gradients(op, case)
            check_gradient_on_cpu(op, case)
          end
        end)
      end
    end)
  end
end

for _, op in ipairs(core.ops()) do
  local texts = cases.texts[op.name]
  if texts then
    describe("op " .. op.name, function()

      it("gives on the CPU what the reference gives, exactly", function()
        local said = stub(_G, "print")  -- luacheck: ignore
        finally(function() said:revert() end)
        for _, text in ipairs(texts) do
          local graph, args = core.parse(text), {}
          for i, input in ipairs(graph:inputs()) do
            args[i] = core.sample(op.name == "rand" and "rngstate" or "real", i, input.shape,
              input.dtype)
          end
          local got, want = graph:run(args), reference(graph, args)
          for i, t in ipairs(got) do
            local exact = function() return 0 end
            assert.is_nil(engine.difference(engine.values(t), want[i], t.dtype, exact))
          end
        end
      end)

      it("has the text that it was read from", function()
        for _, text in ipairs(texts) do assert.are.equal(text, core.parse(text):text()) end
      end)
    end)
  end
end

describe("two dtypes", function()
  local RANK = { bool = 1, u8 = 2, i32 = 3, i64 = 4, f16 = 5, bf16 = 5, f32 = 6, f64 = 7 }

  it("promote to the wider class, then the wider type; f16 with bf16 gives f32", function()
    for _, a in ipairs(core.dtypes()) do
      for _, b in ipairs(core.dtypes()) do
        local wider = RANK[a.name] >= RANK[b.name] and a.name or b.name
        if a.name ~= b.name and RANK[a.name] == RANK[b.name] then wider = "f32" end
        local out = core.apply("eq", { core.full({ 2 }, 1, a.name), core.full({ 2 }, 1, b.name) })
        assert.are.same({ true, true }, out:tolist())
        out = core.apply("where", { core.full({}, 1, "bool"), core.full({ 2 }, 1, a.name),
          core.full({ 2 }, 1, b.name) })
        assert.are.equal(wider, out.dtype, a.name .. " and " .. b.name)
      end
    end
  end)
end)

describe("the op table", function()
  it("has no row without a sampling domain", function()
    for _, op in ipairs(core.ops()) do assert.are_not.equal("none", op.domain, op.name) end
  end)

  it("documents every row", function()
    for _, op in ipairs(core.ops()) do assert.is_true(#op.doc > 0, op.name) end
  end)
end)
