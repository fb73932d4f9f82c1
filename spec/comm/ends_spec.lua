-- ends_spec.lua: how jobs of several ranks end before their time: who failed, where, and what the
-- others were at; what a script can do before; and that nothing is left.

local support = require "spec.support"

-- Forty steps of training on each rank; `at(20, …)` runs before step 20.
local HEAD = [[
local sgl = require "sgl"
local rank, size, folder = sgl.dist.rank, sgl.dist.size, arg and arg[1]
local w = sgl.ones(4, 2)
local step = sgl.compile(function(x)
  local loss = x:matmul(w):sum()
  w:assign(w * 0.5)
  return loss
end)
local function note(name, ...)
  local f <close> = io.open(folder .. name .. rank, "a")
  f:write(table.concat({ ... }, " "), "\n")
end
local function train(at)
  for i = 1, 40 do
    if i == 20 then at() end
    step(sgl.ones(8, 4)):item()
  end
end
]]

-- Runs it behind these lines, in a folder of its own; returns output, status and seconds.
local folder
before_each(function() folder = support.folder() end)
after_each(function() support.remove(folder) end)

local function run(ranks, text, words, behind)
  support.write(folder .. "s.lua", HEAD .. text)
  local start = os.time()
  local out, status = support.run(("cd %s && %s run -n %d %s s.lua %s %s"):format(folder,
    support.binary, ranks, words or "", folder, behind or ""))
  return out, status, os.time() - start
end

local says = require "spec.ranks".says

local function lines(name, ranks)
  local list = {}
  for r = 0, ranks - 1 do
    local f = io.open(folder .. name .. r)
    list[#list + 1] = f and f:read "a" or false
    if f then f:close() end
  end
  return list
end

describe("a rank that is gone", function()
  for what, case in pairs {
    ["by kill -9"] = { "os.execute 'kill -9 $PPID'", 137, "rank 1 was killed by signal 9" },
    ["by a fault"] = { "os.execute 'kill -ABRT $PPID'", 134, "rank 1 was killed by signal 6" },
    ["by an error"] = { "error 'no luck'", 1, "rank 1 failed with status 1", "s.lua:20: no luck" },
    ["by its status"] = { "os.exit(3)", 3, "rank 1 failed with status 3" },
    ["by leaving early"] = { "os.exit(0)", 1, "rank 1 has ended its script", "left at step 19" },
    ["for want of memory"] = { "for n = 1, 99 do require 'sgl.core'.fail_alloc(n) "
      .. "sgl.ones(3, n):sum():item() end", 1,
      "rank 1 failed with status 1", "no memory for" },
  } do
    it(("%s is named at once, with what all are at"):format(what), function()
      local out, status, seconds = run(3,
        ("train(function() if rank == 1 then\n%s end end)"):format(case[1]))
      assert.are.equal(case[2], status, out)
      says(out, "sgl run: " .. case[3], case[4] or "",
        "in exchange 2")
      assert.truthy(out:find "\n  ranks? [02, ]+: step %d+, in exchange 2%d, all_reduce", out)
      assert.truthy(out:find "\n  rank 1: step 19, ", out)
      assert.truthy(seconds < 25, seconds)      -- not by the limit of 30 s
    end)
  end

  it("by os.exit(0) on all is no failure", function()
    local out, status = run(3, "train(function() os.exit(0) end)")
    assert.are.equal(0, status, out)
  end)
end)

describe("a rank that is late", function()
  for what, case in pairs {
    ["in an endless loop"] = { "while true do end", "it is alive, busy at s.lua:20" },
    ["in a read"] = { "io.popen 'sleep 100':read()", "it is alive, blocked at s.lua:20" },
    ["as it was stopped"] = { "os.execute 'kill -STOP $PPID'", "it is stopped by a signal" },
  } do
    it(("%s ends the job in time, and is named with its line"):format(what), function()
      local out, status = run(3,
        ("train(function() if rank == 1 then\n%s end end)"):format(case[1]), "--timeout 1")
      assert.are.equal(1, status, out)
      says(out, "waited 1 s for rank 1 in exchange 22, all_reduce f32[]", case[2],
        "belongs into sgl.dist.alone")
    end)
  end

  it("at another place of the script is named with both", function()
    local out, status = run(2, [[train(function() if rank == 0 then
      sgl.save({ w = w }, folder .. 'w')
    end end)]])
    assert.are.equal(1, status)
    says(out, "the ranks take different steps", "the end of a write (s.lua:20)", "all_reduce f32[]")
  end)
end)

describe("work of one rank", function()
  it("may take longer than ranks wait, where the script says so; all get its results", function()
    local out, status = run(3, [[
      local got = table.pack(sgl.dist.alone(function()
        os.execute "sleep 1"
        note("alone", rank)
        return 1, nil, "a\0b", 2.5, true, nil
      end))
      assert(got.n == 6 and got[1] == 1 and math.type(got[1]) == "integer" and got[2] == nil
        and got[3] == "a\0b" and got[4] == 2.5 and got[5] == true)
      train(function() end)
    ]], "--timeout 0.5")
    assert.are.equal(0, status, out)
    assert.are.same({ "0\n", false, false }, lines("alone", 3))
  end)

  it("raises its error on all", function()
    local out, status = run(3, [[
      local fine, e = pcall(sgl.dist.alone, function() error "disk full" end)
      note("error", tostring(e))
      train(function() end)
    ]])
    assert.are.equal(0, status, out)
    for _, e in ipairs(lines("error", 3)) do assert.matches("s.lua:%d+: disk full", e) end
  end)

  it("cannot be what all ranks do together, or give what cannot be handed on", function()
    for text, message in pairs {
      ["return step(sgl.ones(8, 4))"] = "a compiled step in sgl.dist.alone",
      ["return sgl.save({ w = w }, folder .. 'w')"] = "rank 0 is alone there",
      ["return {}"] = "dist.alone: result 1 is a table",
    } do
      local out, status = run(2, ("sgl.dist.alone(function() %s end)"):format(text))
      assert.are.equal(1, status)
      says(out, message)
    end
  end)
end)

describe("a job that is asked to stop", function()
  local SAVE = [[
    sgl.dist.on_stop(function(e) note("stop", e.signal, e.step, tostring(e.writer)) end)
  ]]

  it("by SIGTERM to one rank stops all before the same step, with one handler each", function()
    local out, status = run(4, SAVE .. "train(function() if rank == 2 then os.execute "
      .. "'kill -TERM $PPID' end end)")
    assert.are.equal(143, status, out)
    local got = lines("stop", 4)
    assert.matches("^15 %d+ true\n$", got[1])
    local last = got[1]:gsub("true", "false")
    assert.are.same({ got[1], last, last, last }, got)
  end)

  it("by signals to all and the launcher too", function()
    local out, status = run(2, SAVE .. [[
      train(function()
        os.execute "kill -TERM $PPID"
        if rank == 0 then os.execute "kill -INT $(ps -o ppid= -p $PPID)" end
      end)
    ]])
    assert.truthy(status == 143 or status == 130, out)
    local got = lines("stop", 2)
    assert.are.equal(got[1]:gsub("true", "false"), (got[2]))
  end)

  it("in an evaluation or before the first step stops at the next step", function()
    local out, status = run(2, SAVE .. [[
      if rank == 1 then os.execute "kill -TERM $PPID" end
      for i = 1, 5 do w:sum():item() end
      train(function() end)
      note "through"
    ]])
    assert.are.equal(143, status, out)
    assert.are.same({ false, false }, lines("through", 2))
    for _, text in ipairs(lines("stop", 2)) do assert.matches("^15 %d+ %l+\n$", text) end
  end)

  it("saves one state that all ranks have", function()
    local out, status = run(2, [[
      sgl.dist.on_stop(function(e)
        assert(sgl.save({ w = w }, folder .. "w.safetensors"))
        note("sum", e.step, w:sum():item() * 2 ^ e.step)
      end)
      train(function() if rank == 1 then os.execute "kill -TERM $PPID" end end)
    ]], "--plan fsdp")
    assert.are.equal(143, status, out)
    local got = lines("sum", 2)
    assert.matches("^%d+ 8.0\n$", got[1])
    assert.are.equal(got[1], got[2])
  end)

  it("by SIGINT to the launcher leaves no process, whatever its ranks wait for", function()
    local mark = ("%d.25"):format(300 + os.time() % 1000)
    local out, status, seconds = run(2, ([[
      if rank == 0 then os.execute "(sleep 0.3; kill -INT $(ps -o ppid= -p $PPID)) &" end
      io.popen("sleep %s"):read()
    ]]):format(mark))
    assert.are.equal(130, status, out)
    assert.truthy(seconds < 60)
    assert.are.equal("0\n", (support.run(("ps -eo args | grep -c '^sleep %s'"):format(mark))))
  end)
end)

describe("a job that fails", function()
  it("runs a handler on each rank that is left, and one of them is the writer", function()
    local out, status = run(3, [[
      sgl.dist.on_failure(function(e)
        note("failure", e.rank, tostring(e.writer), e.text:match "^[^\n]*",
          w:sum():item() > 0 and 1)
      end)
      train(function() if rank == 0 then os.execute "kill -9 $PPID" end end)
    ]])
    assert.are.equal(137, status, out)
    local got = lines("failure", 3)
    assert.is_false(got[1])
    assert.matches("^0 true rank 0 was killed by signal 9 .* 1\n$", got[2])
    assert.are.equal(got[2]:gsub("true", "false"), (got[3]))
  end)

  it("starts again as often as it is told to", function()
    local out, status = run(2, [[
      note "start"
      local starts = #io.open(folder .. "start" .. rank):read "a"
      train(function() if rank == 1 and starts < 3 then error "again" end end)
    ]], "--restarts 3")
    assert.are.equal(0, status, out)
    says(out, "sgl run: start 2 of 4 follows", "sgl run: start 3 of 4 follows")
    assert.are.same({ "\n\n\n", "\n\n\n" }, lines("start", 2))
  end)

  it("leaves nothing in memory that others see, nor ranks without a launcher", function()
    local shared = "ls --ignore='vader_segment*' /dev/shm"     -- not Open MPI's, of other specs
    local before = support.run(shared)
    local out = run(2, [[
        train(function()
        if rank == 0 then os.execute "kill -9 $(ps -o ppid= -p $PPID)" end
        os.execute "sleep 2"
        note "alive"
      end)
    ]])
    support.run "sleep 0.2"
    assert.are.same({ false, false }, lines("alive", 2), out)
    assert.are.equal(before, support.run(shared))
  end)
end)

it("a child of a rank is no rank", function()
  local out, status = run(2, ([[
    local child = io.popen([=[%s -e 'print(require"sgl".dist.size)']=])
    assert(child:read "n" == 1)
  ]]):format(support.binary))
  assert.are.equal(0, status, out)
end)
