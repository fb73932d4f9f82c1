-- transport_spec.lua: collectives of ranks that are threads of one process: any works in any
-- groups, in their order, run or started.

local engine = require "spec.engine"
local units = require "spec.comm.units"

-- What rank r gives to work k, element i (from 0): units.c has the same.
local function value(r, k, i) return (r * 7 + k * 5 + i * 3) % 11 end

local KINDS = {
  sum = function(a, b) return a + b end, max = math.max, min = math.min,
  prod = function(a, b) return a * b end,
}

-- The ranks of a group over some axes, by their part, and the place of rank r among them.
local function group(sizes, axes, r)
  local stride, at = {}, r
  for a = #sizes, 1, -1 do stride[a], at = at % sizes[a], at // sizes[a] end
  local list, me = { {} }, 0
  for _, a in ipairs(axes) do
    local longer = {}
    for _, place in ipairs(list) do
      for k = 0, sizes[a + 1] - 1 do
        local next_place = table.move(place, 1, #place, 1, {})
        next_place[#next_place + 1] = k
        longer[#longer + 1] = next_place
      end
    end
    list, me = longer, me * sizes[a + 1] + stride[a + 1]
  end
  local ranks = {}
  for i, place in ipairs(list) do
    local there = table.move(stride, 1, #stride, 1, {})
    for j, a in ipairs(axes) do there[a + 1] = place[j] end
    local number = 0
    for a = 1, #sizes do number = number * sizes[a] + there[a] end
    ranks[i] = number
  end
  return ranks, me
end

-- Element by element, of all of a group.
local function combined(w, k, ranks)
  return function(i)
    local x = value(ranks[1], k, i)
    for m = 2, #ranks do x = KINDS[w.kind](x, value(ranks[m], k, i)) end
    return x
  end
end

-- How many elements a work gives to a rank, and which.
local RESULT = {
  all_reduce = function(w, k, ranks)
    return w.sizes[1], combined(w, k, ranks)
  end,
  all_gather = function(w, k, ranks)
    local list = {}
    for m, r in ipairs(ranks) do
      for i = 0, w.sizes[m] - 1 do list[#list + 1] = value(r, k, i) end
    end
    return #list, function(i) return list[i + 1] end
  end,
  reduce_scatter = function(w, k, ranks, me)
    local before = 0
    for m = 1, me do before = before + w.sizes[m] end
    local whole = combined(w, k, ranks)
    return w.sizes[me + 1], function(i) return whole(before + i) end
  end,
  all_to_all = function(w, k, ranks, me)
    local before, list = 0, {}
    for m = 1, me do before = before + w.sizes[m] end
    for _, r in ipairs(ranks) do
      for i = 0, w.sizes[me + 1] - 1 do list[#list + 1] = value(r, k, before + i) end
    end
    return #list, function(i) return list[i + 1] end
  end,
  broadcast = function(w, k, ranks)
    return w.sizes[1], function(i) return value(ranks[w.kind + 1], k, i) end
  end,
}

-- The lines that a job of these works answers.
local function expected(sizes, works)
  local lines, n = {}, 1
  for _, size in ipairs(sizes) do n = n * size end
  for r = 0, n - 1 do
    for k, w in ipairs(works) do
      local ranks, me = group(sizes, w.axes, r)
      local count, of = RESULT[w.op](w, k - 1, ranks, me)
      local hash = 0
      for i = 0, count - 1 do hash = hash * 31 + of(i) end
      lines[#lines + 1] = ("%d %d %d %x"):format(r, k - 1, count, hash)
    end
  end
  return lines
end

local function work_line(w)
  return ("%s %s %s %s %s"):format(w.op, w.kind or "-", w.dtype, table.concat(w.sizes, ","),
    table.concat(w.axes, ","))
end

local function check(sizes, works)
  local items = {}
  for i, w in ipairs(works) do items[i] = work_line(w) end
  local want = expected(sizes, works)
  for _, order in ipairs { "run", "start" } do
    assert.are.same(want, units.job(sizes, order, 60, items), table.concat(items, "\n"))
  end
end

local MESHES = { { 2 }, { 3 }, { 5 }, { 2, 2 }, { 3, 2 }, { 2, 1, 3 } }

-- Sizes up to `most`; sums of products stay exact, as all values are small.
local function random_work(r, sizes, most)
  local axes, members = {}, 1
  for a = 0, #sizes - 1 do
    if r:chance(0.6) then
      table.insert(axes, r:int(1, #axes + 1), a)
      members = members * sizes[a + 1]
    end
  end
  if #axes == 0 then axes, members = { 0 }, sizes[1] end
  local w = { axes = axes, sizes = {}, dtype = r:pick { "f32", "f64", "i32", "i64" } }
  w.op = r:pick { "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast" }
  if w.op:find "reduce" then w.kind = r:pick { "sum", "max", "min" } end
  if w.op == "broadcast" then w.kind = r:int(0, members - 1) end
  for m = 1, members do w.sizes[m] = r:chance(0.2) and 0 or r:int(1, most) end
  return w
end

describe("ranks over one page", function()
  if not units.there() then return end

  it("get what each collective says", function()
    check({ 3 }, {
      { op = "all_reduce", kind = "sum", dtype = "f32", sizes = { 5 }, axes = { 0 } },
      { op = "all_reduce", kind = "prod", dtype = "i64", sizes = { 4 }, axes = { 0 } },
      { op = "all_gather", dtype = "i32", sizes = { 2, 0, 3 }, axes = { 0 } },
      { op = "reduce_scatter", kind = "max", dtype = "f64", sizes = { 1, 2, 0 }, axes = { 0 } },
      { op = "all_to_all", dtype = "u8", sizes = { 2, 1, 3 }, axes = { 0 } },
      { op = "broadcast", kind = 2, dtype = "f16", sizes = { 3 }, axes = { 0 } },
    })
  end)

  it("get it in any order of any works, in groups of any axes, alone in a group too", function()
    local r = engine.random(engine.seed)
    for _ = 1, engine.times(100) do
      local sizes, works = r:pick(MESHES), {}
      for k = 1, r:int(1, 20) do works[k] = random_work(r, sizes, 40) end
      check(sizes, works)
    end
  end)

  it("get values of many rooms, and of none", function()
    local room = 1 << 17                                       -- f64 in a room
    for _, n in ipairs(engine.scale < 0.5 and { room + 1 } or { room, room + 1, 3 * room - 1 }) do
      check({ 3 }, {
        { op = "all_reduce", kind = "sum", dtype = "f64", sizes = { n }, axes = { 0 } },
        { op = "all_gather", dtype = "f64", sizes = { 3, n, 0 }, axes = { 0 } },
        { op = "reduce_scatter", kind = "sum", dtype = "f64", sizes = { 0, n, 1 }, axes = { 0 } },
        { op = "all_to_all", dtype = "f64", sizes = { n, 0, 1 }, axes = { 0 } },
        { op = "broadcast", kind = 1, dtype = "f64", sizes = { n }, axes = { 0 } },
      })
    end
    check({ 2 }, {
      { op = "all_reduce", kind = "sum", dtype = "f32", sizes = { 0 }, axes = { 0 } },
      { op = "all_gather", dtype = "f32", sizes = { 0, 0 }, axes = { 0 } },
      { op = "reduce_scatter", kind = "sum", dtype = "f32", sizes = { 0, 0 }, axes = { 0 } },
      { op = "all_to_all", dtype = "f32", sizes = { 0, 0 }, axes = { 0 } },
      { op = "broadcast", kind = 1, dtype = "f32", sizes = { 0 }, axes = { 0 } },
    })
  end)

  it("are no more than 64", function()
    check({ 64 }, {
      { op = "all_reduce", kind = "sum", dtype = "i32", sizes = { 2 }, axes = { 0 } },
    })
  end)
end)

describe("ranks that are asked to stop", function()
  if not units.there() then return end

  it("stop before the same step, fast ones and slow ones", function()
    for _, n in ipairs { 1, 2, 7, 16 } do
      local lines = units.ask("steps " .. n)
      assert.are.equal(n, #lines)
      for _, line in ipairs(lines) do assert.are.equal(lines[1], line) end
    end
  end)
end)
