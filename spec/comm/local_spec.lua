-- local_spec.lua: ranks on one machine: what they exchange, and what each says when one fails.

local jobs = require "spec.ranks"
local support = require "spec.support"

local run = jobs.run

-- Scripts call the collective `sum` on what they like.
local HEAD = [[
local sgl = require "sgl"
local core = require "sgl.core"
local rank, size = sgl.dist.rank, sgl.dist.size
local function reduce(t, kind)
  return core.apply("all_reduce", { t }, { kind = kind, mesh = { size }, axes = { 1 } })
end
local function sum(t) return reduce(t, "sum"):tolist() end
]]

local function script(ranks, text, words)
  local folder = support.folder()
  support.write(folder .. "s.lua", HEAD .. text)
  local out, status = run(ranks, (words or "") .. " " .. folder .. "s.lua")
  support.remove(folder)
  return out:gsub(folder:gsub("%p", "%%%0"), ""), status
end

describe("the local transport", function()
  it("combines all dtypes in all ways", function()
    local out = script(4, [[
      for _, t in ipairs { "f32", "f64", "i32", "i64", "f16", "bf16", "u8" } do
        local x = (sgl.arange(5) + rank):to(t)
        print(t, sum(x)[5] | 0, reduce(x, "prod"):tolist()[2] | 0, reduce(x, "max"):tolist()[1] | 0,
          reduce(x, "min"):tolist()[3] | 0)
      end
    ]])
    local rows = 0
    for line in out:gmatch("[^\n]+") do
      assert.truthy(line:find("^%w+\t22\t24\t3\t2$"), line)
      rows = rows + 1
    end
    assert.are.equal(7, rows)
  end)

  it("carries values larger than its rooms, by any number of ranks", function()
    local text = [[
      local n = 700001
      local t = reduce(sgl.arange(n):to "f64" + rank, "sum")
      local want = sgl.arange(n):to "f64" * size + size * (size - 1) // 2
      print(t:eq(want):all():item())
    ]]
    for _, n in ipairs { 2, 3, 5 } do assert.are.equal("true\n", (script(n, text))) end
  end)

  it("gathers parts of different lengths along any dim", function()
    local text = [[
      local whole = sgl.arange(3 * 7 * 2):reshape(3, 7, 2)
      local from, to = 7 * rank // size, 7 * (rank + 1) // size
      local part = whole[{ {}, { from + 1, to } }]
      local attrs = { dim = 2, to = 7, size = 7, units = 7, blocks = 0, keep = 0,
                      mesh = { size }, axes = { 1 } }
      print(core.apply("all_gather", { part }, attrs):eq(whole):all():item())
      attrs.kind, attrs.to = "sum", to - from
      local own = core.apply("reduce_scatter", { whole + rank }, attrs)
      print(own:eq(part * size + size * (size - 1) // 2):all():item())
    ]]
    for _, n in ipairs { 2, 3, 5 } do assert.are.equal("true\ntrue\n", (script(n, text))) end
  end)
end)

describe("when a rank fails", function()
  it("by an error, all end with its status and its message", function()
    local out, status = script(3, [[
      if rank == 2 then error "no such thing" end
      sum(sgl.ones(3))
    ]])
    assert.are.equal(1, status)
    assert.truthy(out:find("rank 2 failed with status 1", 1, true), out)
    assert.truthy(out:find("s.lua:8: no such thing", 1, true), out)
  end)

  it("by a signal, all end with it", function()
    local out, status = script(3, [[
      for i = 1, 100 do
        if rank == 1 and i == 30 then os.execute "kill -9 $PPID" end
        sum(sgl.ones(3) * i)
      end
    ]])
    assert.are.equal(128 + 9, status)
    assert.truthy(out:find("rank 1 was killed by signal 9 (Killed) after 29 ", 1, true), out)
  end)

  it("by ending early, the others say so", function()
    local out, status = script(2, [[
      if rank == 1 then os.exit(0) end
      sum(sgl.ones(3))
    ]])
    assert.are.equal(1, status)
    assert.truthy(out:find("rank 1 has ended its script, rank 0 is at all_reduce f32[3]", 1, true),
      out)
  end)

  it("by taking another step, both are shown", function()
    local out, status = script(2, "sum(sgl.ones(rank + 3))")
    assert.are.equal(1, status)
    assert.truthy(out:find("the ranks take different steps: in exchange 1 rank ", 1, true), out)
    assert.truthy(out:find("all_reduce f32[3]", 1, true), out)
    assert.truthy(out:find("all_reduce f32[4]", 1, true), out)
  end)

  it("by values that depend on the rank, the step does not run, and says which", function()
    local out, status = script(2, [[
      local f = sgl.compile(function(x) return (x * x):sum() end)
      f(sgl.ones(4) * math.random())                        -- the same on all ranks
      f(sgl.ones(5) * rank)
    ]])
    assert.are.equal(1, status)
    assert.truthy(out:find("s.lua:10: ", 1, true), out)
    assert.truthy(out:find("argument 'x' of the step is not the same on all ranks", 1, true), out)
  end)

  it("by taking a step of another graph, though the exchanges are equal", function()
    local out, status = script(2, [[
      local f = sgl.compile(function(x) return (x * (rank + 1)):sum() end)
      f(sgl.ones(4))
    ]])
    assert.are.equal(1, status)
    assert.truthy(out:find("the ranks take different steps", 1, true), out)
    assert.truthy(out:find("rank 0: %1 = const() {value=1, dims=[4], dtype=f32}", 1, true), out)
    assert.truthy(out:find("rank 1: %1 = const() {value=2, dims=[4], dtype=f32}", 1, true), out)
  end)

  it("by a batch of another size, though the exchanges are equal, before it counts", function()
    local out, status = script(3, [[
      local f = sgl.compile(function(x) return (x * x):mean() end)
      pcall(f, sgl.ones(rank == 2 and 3 or 10, 2))
      print "went on"
    ]])
    assert.are.equal(1, status)
    assert.truthy(out:find('rank 0: input %0 arg "x" f32[10, 2]', 1, true), out)
    assert.truthy(out:find('rank 2: input %0 arg "x" f32[3, 2]', 1, true), out)
  end)

  it("in a part that it alone has, no rank goes on, whoever catches the error", function()
    local out, status = script(2, [[
      local table = sgl.arange(10)
      local f = sgl.compile(function(i) return core.apply("gather", { table, i }, { dim = 1 }) end)
      pcall(f, sgl.tensor({ 1, 2, 3, 12 }, { dtype = "i32" }))
      f(sgl.tensor({ 1, 2, 3, 4 }, { dtype = "i32" }))
    ]])
    assert.are.equal(1, status)
    assert.truthy(out:find("rank 1: gather: index 12 is outside [0, 10)", 1, true), out)
  end)

  it("by not coming, the others wait so long and no longer", function()
    local out, status = script(2, [[
      if rank == 1 then os.execute "sleep 3" end
      sum(sgl.ones(3))
    ]], "--timeout 0.3")
    assert.are.equal(1, status)
    assert.truthy(out:find("rank 0 waited 0.3 s for rank 1 in exchange 1", 1, true), out)
  end)
end)
