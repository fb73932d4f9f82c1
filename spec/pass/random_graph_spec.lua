-- random_graph_spec.lua: random graphs: the CPU against the reference, fused against not fused, and
-- the text against itself.
--
-- SGL_SEED is the seed of the first graph, SGL_GRAPHS how many there are (default 2,000). A failure
-- prints its graph as text with its seed: SGL_SEED=n SGL_GRAPHS=1 runs that one again.
-- Bits do not depend on fusion (kernel.h, N1 to N5), so the knob `fuse` must not change any.

local core = require "sgl.core"
local engine = require "spec.engine"
local random_graph = require "spec.random_graph"

local COUNT = math.tointeger(tonumber(os.getenv("SGL_GRAPHS"))) or engine.times(2000)
local MARGIN = 2   -- the error bounds are of first order

local function fail(made, what)
  error(("seed %d: %s\n%s"):format(made.seed, what, made.text), 0)
end

local function run(graph, args)
  local out = graph:run(args)
  for i, t in ipairs(out) do out[i] = engine.values(t) end
  return out
end

-- Whether two lists hold the same bits, signs of zeros included; any NaN is like another.
local function same_bits(a, b)
  for i = 1, #a do
    local x, y = a[i], b[i]
    if x ~= y and (x == x or y == y) then return false end
    if x == 0 and y == 0 and 1 / x ~= 1 / y then return false end
  end
  return #a == #b
end

local function check_values(made, got, want)
  for i, node in ipairs(made.outputs) do
    local wrong = engine.difference(got[i], want[i], node.dtype, function()
      return MARGIN * node.err
    end)
    if wrong then fail(made, ("output %d: %s"):format(i, wrong)) end
  end
end

local function check(seed)
  local made = random_graph.generate(seed)
  local ok, graph = pcall(core.parse, made.text)
  if not ok then fail(made, "not parsed: " .. tostring(graph)) end
  local text = graph:text()
  local again = core.parse(text)
  if again:text() ~= text then fail(made, "the text changed on the way:\n" .. again:text()) end
  if again:hash() ~= graph:hash() then fail(made, "the hash changed on the way") end
  local done, got, want, plain = pcall(function()
    local fused = run(graph, made.args)
    local reference = graph:eval(made.args)
    for i, t in ipairs(reference) do reference[i] = engine.values(t) end
    core.knob("fuse", 0)
    local unfused = run(graph, made.args)
    core.knob("fuse", 1)
    return fused, reference, unfused
  end)
  core.knob("fuse", 1)
  if not done then fail(made, tostring(got)) end
  check_values(made, got, want)
  for i in ipairs(made.outputs) do
    if not same_bits(got[i], plain[i]) then
      fail(made, ("output %d has other bits when nothing is fused"):format(i))
    end
  end
end

describe("random graphs #slow", function()
  it(("agree with the reference: %d from seed %d"):format(COUNT, engine.seed), function()
    io.write(("random graphs: SGL_SEED=%d\n"):format(engine.seed))
    for i = 0, COUNT - 1 do check(engine.seed + i) end
  end)

  it("exercise every op with structure and most elementwise ones", function()
    local seen, missing, elementwise = {}, {}, 0
    for seed = 1, 400 do
      for op in random_graph.generate(seed).text:gmatch("= ([%w_]+)%(") do seen[op] = true end
    end
    -- input has its own line; iota reads no data and is in ops_spec; control_spec nests blocks at
    -- random; size is in no static graph; custom_spec has the ops of libraries, run_spec what ranks
    -- do together. A new elementwise op need not be known here.
    local outside = { input = true, iota = true, size = true, print = true, assert = true,
                      cond = true, scan = true, loop = true, custom = true, result = true,
                      all_reduce = true, all_gather = true, reduce_scatter = true,
                      all_to_all = true, copy_from = true }
    local families = { unary = true, binary = true, test = true, compare = true, select = true }
    for _, op in ipairs(core.ops()) do
      if families[op.family] then
        elementwise = elementwise + (seen[op.name] and 1 or 0)
      elseif not seen[op.name] and not outside[op.name] then
        missing[#missing + 1] = op.name
      end
    end
    assert.are.same({}, missing)
    assert.is_true(elementwise >= 50, elementwise .. " elementwise ops")
  end)
end)
