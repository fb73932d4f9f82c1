-- control.lua: sgl.cond, sgl.scan and sgl.loop.
--
-- In:    functions of tensors.
-- Out:   outside a capture the functions are simply called; inside, each becomes a block of one
--        node of the graph, so the program decides at each run.
-- Holds: both ways give the same results. A result is a handle of its own even where a branch
--        returns its argument, so writing to it never changes another tensor.
local api = require "sgl.api"
local core = require "sgl.core"
local create = require "sgl.tensor.create"
local tree = require "sgl.tree"

local root, raise = api.root, core.raise
local unpack = table.unpack

local MOST_STEPS = 0x7fffffff           -- steps are counted in i32

-- Handles of their own, so that writing to one leaves the tensor it came from.
local function copies(list)
  local result = {}
  for i, t in ipairs(list) do result[i] = t:clone() end
  return result
end

-- A single bool as bool[], or raises.
local function truth(what, v)
  if type(v) == "boolean" then return core.tensor(v) end
  if core.is_tensor(v) and v.dtype == "bool" and v:numel() == 1 then
    return v.ndim == 0 and v or v:reshape({})
  end
  raise(core.is_tensor(v) and v.dtype == "bool" and "SGL_ESHAPE" or "SGL_EDTYPE",
    ("%s must be a single bool, got %s"):format(what, api.describe(v)),
    "compare and reduce first, for example x:gt(0):any() or loss:lt(1)")
end

local function line_of(fn)
  local info = type(fn) == "function" and debug.getinfo(fn, "S")
  return info and info.linedefined > 0 and (" (line %d)"):format(info.linedefined) or ""
end

-- ---- cond

local function results_of(fn, args)
  local results = table.pack(fn(unpack(args)))
  local leaves, plans = {}, { n = results.n }
  for i = 1, results.n do plans[i] = tree.flatten("cond", results[i], leaves) end
  return leaves, plans
end

local function values_of(plans, leaves)
  local results = {}
  for i = 1, plans.n do results[i] = tree.rebuild(plans[i], leaves) end
  return unpack(results, 1, plans.n)
end

local function check_branches(a, b, fn_a, fn_b)
  for i = 1, math.max(a.n, b.n) do
    local at, x, y = tree.difference(a[i] or {}, b[i] or {})
    if at then
      raise("SGL_ESHAPE", ("cond: the branches differ in result %d%s: %s%s and %s%s"):format(i,
        at, x, line_of(fn_a), y, line_of(fn_b)),
        "both must return the same shapes and dtypes: reshape, broadcast or cast one of them")
    end
  end
end

api.fn(root, "cond", {
  doc = "Results of one of two functions, by a single bool. Inside sgl.compile both are recorded "
    .. "and the program runs the one that the value at that run asks for; gradients flow through "
    .. "it alone. Tensors from outside may be read and assigned in both.",
  args = { { "pred", "tensor|boolean", "bool[]" }, { "fn_a", "function", "called when true" },
           { "fn_b", "function", "called when false" }, { "args", "any...", "given to either" } },
  returns = "what the function returns: tensors, or tables of them",
  errors = "a predicate of several elements or another dtype; results of different types",
}, function(pred, fn_a, fn_b, args)
  if type(pred) == "boolean" then return (pred and fn_a or fn_b)(unpack(args)) end
  pred = truth("cond: the predicate", pred)
  if not core.capturing() then
    local taken = pred:item() and fn_a or fn_b
    local _ <close> = core.rng_scope()
    local leaves, plans = results_of(taken, args)
    return values_of(plans, copies(leaves))
  end
  local plans, others -- nil of one that raised an error
  local out = core.cond(pred, function()
    local leaves
    leaves, plans = results_of(fn_a, args)
    return leaves
  end, function()
    local leaves
    leaves, others = results_of(fn_b, args)
    return leaves
  end, function() check_branches(plans, others, fn_a, fn_b) end)
  return values_of(plans or others, out)
end)

-- ---- scan

local function check_carry(what, before, after, fn)
  local at, x, y = tree.difference(before, after)
  if at then
    raise("SGL_ESHAPE", ("%s: the carry%s is %s before a step and %s after it%s"):format(what,
      at, x, y, line_of(fn)),
      "a step must return the types that it got; a carry that starts at 0 is i32, at 0.0 f32")
  end
end

-- The number of steps: xs itself, or the first dim that all xs share.
local function length_of(xs, leaves)
  if math.type(xs) == "integer" then
    if xs < 0 then raise("SGL_EARG", ("scan: %d steps are not possible"):format(xs)) end
    return xs
  end
  for _, x in ipairs(leaves) do
    if x.ndim == 0 then
      raise("SGL_ESHAPE", ("scan: xs must have a dim to go through, got %s"):format(
        api.describe(x)), "what each step needs whole is read from outside, as an upvalue")
    end
    if x.shape[1] ~= leaves[1].shape[1] then
      raise("SGL_ESHAPE", ("scan: xs must share their first dim, got %s and %s"):format(
        api.describe(leaves[1]), api.describe(x)))
    end
  end
  if #leaves == 0 then
    raise("SGL_EARG", "scan: xs holds no tensor", "a number of steps can stand there")
  end
  return leaves[1].shape[1]
end

-- A scan over its parts: `step(carry leaves, x leaves)` returns the new ones and those of y. What
-- a step assigns changes neither the xs of later steps nor the ys of earlier ones.
local function scan_called(step, carry, xs, n, reverse)
  local ys = {}
  xs = copies(xs)
  local scope <close> = core.rng_scope()
  for k = 1, n do
    local t, slices, y = reverse and n - k + 1 or k, {}
    core.rng_step(scope, t - 1)
    for i, x in ipairs(xs) do slices[i] = x:select(1, t) end
    carry, y = step(copies(carry), slices)
    for i, v in ipairs(y) do
      ys[i] = ys[i] or {}
      ys[i][t] = v:clone()
    end
  end
  for i, list in ipairs(ys) do ys[i] = create.stack(list, 1) end
  return copies(carry), ys
end

-- No step tells what y would be: one over zeros does, recorded and never run, so that what it
-- prints and assigns does not happen.
local function empty_ys(step, carry, xs, fn)
  local leaves, ys = { unpack(carry) }, {}
  for _, x in ipairs(xs) do
    leaves[#leaves + 1] = core.full({ unpack(x.shape, 2) }, 0, x.dtype)
  end
  core.capture(function(...)
    local all = { ... }
    local _, y = step({ unpack(all, 1, #carry) }, { unpack(all, #carry + 1) })
    for i, v in ipairs(y) do ys[i] = { shape = { 0, unpack(v.shape) }, dtype = v.dtype } end
    return {}
  end, leaves, nil, fn)
  for i, y in ipairs(ys) do ys[i] = core.full(y.shape, 0, y.dtype) end
  return ys
end

local function scan_captured(step, carry, xs, n, reverse, fn)
  return core.scan(function(...)
    local all = { ... }
    local after, y = step({ unpack(all, 1, #carry) }, { unpack(all, #carry + 1) })
    return table.move(y, 1, #y, #after + 1, after)
  end, carry, xs, n, reverse, fn)
end

api.fn(root, "scan", {
  doc = "Runs `carry, y = fn(carry, x)` for each slice x of xs along dim 1, from the carry `init`. "
    .. "Inside sgl.compile this is one node that runs one compiled body, however long xs is.",
  args = { { "fn", "function", "(carry, x) -> carry, y" },
           { "init", "any?", "the first carry: a tensor, a table of tensors, or nil" },
           { "xs", "tensor|table|integer", "what is gone through; or how many steps, x is nil" } },
  opts = { { "reverse", "boolean", false, "from the last slice to the first" } },
  returns = "the last carry; the ys, stacked along dim 1, those of slice i at i",
  errors = "a carry that changes its type; xs of different lengths",
}, function(fn, init, xs, o)
  local carry, slices = {}, {}
  local carry_plan = tree.flatten("scan", init, carry)
  local x_plan = type(xs) == "number" and {} or tree.flatten("scan", xs, slices)
  local n, y_plan = length_of(xs, slices), nil
  local function step(before, x)
    local after, y = {}, {}
    local value, given = fn(tree.rebuild(carry_plan, before), tree.rebuild(x_plan, x))
    check_carry("scan", carry_plan, tree.flatten("scan", value, after), fn)
    y_plan = tree.flatten("scan", given, y)
    return after, y
  end
  local run = core.capturing() and scan_captured or scan_called
  local last, ys = run(step, carry, slices, n, o.reverse, fn)
  if not y_plan then ys = empty_ys(step, carry, slices, fn) end
  return tree.rebuild(carry_plan, last), tree.rebuild(y_plan, ys)
end)

-- ---- loop

api.fn(root, "loop", {
  doc = "Runs `state = body_fn(state)` while `cond_fn(state)` is true, at most max times. Inside "
    .. "sgl.compile this is one node; its gradient keeps the state of each of max steps.",
  args = { { "cond_fn", "function", "(state) -> a single bool" },
           { "body_fn", "function", "(state) -> state" },
           { "init", "any", "the first state: a tensor or a table of tensors" } },
  opts = { { "max", "integer", nil, "most steps, needed" } },
  returns = "the last state; the number of steps, i32[]",
  errors = "a state that changes its type; no max",
}, function(cond_fn, body_fn, init, o)
  if not o.max or o.max < 0 then
    raise("SGL_EARG", "loop: 'max' must say how many steps are possible at most",
      "sgl.loop(cond_fn, body_fn, init, { max = 100 })")
  end
  if o.max > MOST_STEPS then
    raise("SGL_EARG", ("loop: 'max' must be at most %d, got %d"):format(MOST_STEPS, o.max))
  end
  local state = {}
  local plan = tree.flatten("loop", init, state)
  local function go(leaves)
    return truth("loop: the condition", cond_fn(tree.rebuild(plan, leaves)))
  end
  local function step(before)
    local after = {}
    local value = body_fn(tree.rebuild(plan, before))
    check_carry("loop", plan, tree.flatten("loop", value, after), body_fn)
    return after
  end
  if core.capturing() then
    local last, count = core.loop(function(_, ...)
      local after = step { ... }
      return { go(after), unpack(after) }
    end, { go(state), unpack(state) }, o.max, body_fn)
    return tree.rebuild(plan, { unpack(last, 2) }), count
  end
  local more, n = go(state):item(), 0
  local scope <close> = core.rng_scope()
  while more and n < o.max do
    core.rng_step(scope, n)
    state, n = step(copies(state)), n + 1
    more = go(state):item()
  end
  return tree.rebuild(plan, copies(state)), core.tensor(n)
end)
