-- mpi_spec.lua: ranks that mpirun starts: the bits of ranks on one machine, the same verdicts, and
-- when a process is a rank.

local support = require "spec.support"

local function present()
  return os.execute "mpirun --version > /dev/null 2>&1"
end

local MODELS = support.root .. "spec/shard/models.lua"

local function run(ranks, words)
  local start = os.time()
  local out, status = support.run(("%s run --transport mpi -n %d %s"):format(support.binary, ranks,
    words))
  return out, status, os.time() - start
end

local function script(ranks, text, words)
  local folder = support.folder()
  support.write(folder .. "s.lua", text)
  local out, status, seconds = run(ranks, ("%s %ss.lua %s"):format(words or "", folder, folder))
  support.remove(folder)
  return out, status, seconds
end

local says = require "spec.ranks".says

-- A spec that needs mpirun.
local function with_mpi(name, fn)
  it(name, function()
    if not present() then return pending "mpirun is not installed" end
    fn()
  end)
end

describe("ranks over MPI", function()
  for _, case in ipairs {
    { "full", 10, "ddp", 4 }, { "full", 10, "fsdp", 3, normal = true },
    { "gpt", 10, "data=2,model=2", 4 },
  } do
    local model, rows, plan, ranks = table.unpack(case)
    with_mpi(("have the bits of ranks on one machine: %s, %s"):format(model, plan), function()
      local words = ("%s --plan %s %s %s %d 3 2>/dev/null"):format(
        case.normal and "" or "--exact 8", plan, MODELS, model, rows)
      local over, status = run(ranks, words)
      assert.are.equal(0, status, over)
      local alike = support.shell(("%s run -n %d %s"):format(support.binary, ranks, words))
      assert.are.equal(alike, over)
    end)
  end

  with_mpi("say where they are", function()
    local out, status = run(2, "--check")
    assert.are.equal(0, status, out)
    assert.matches("rank 0: host .*\nrank 1: host .*\n2 ranks; an all_reduce of one number: ", out)
  end)

  with_mpi("have no children that are ranks", function()
    local out, status = script(2, ([[
      local sgl = require "sgl"
      assert(sgl.dist.size == 2)
      local child = io.popen([=[%s -e 'print(require"sgl".dist.size)']=])
      assert(child:read "n" == 1)
    ]]):format(support.binary))
    assert.are.equal(0, status, out)
  end)
end)

describe("when a rank over MPI fails", function()
  local STEPS = [[
    local sgl = require "sgl"
    local rank, w = sgl.dist.rank, sgl.ones(4, 2)
    local step = sgl.compile(function(x)
      local loss = x:matmul(w):sum()
      w:assign(w * 0.5)
      return loss
    end)
    local function note(name, text)
      io.open(arg[1] .. name .. rank, "w"):write(text):close()
    end
    local function train(at)
      for i = 1, 40 do
        if i == 20 then at() end
        step(sgl.ones(8, 4)):item()
      end
    end
  ]]

  for what, case in pairs {
    ["by kill -9"] = { "os.execute 'kill -9 $PPID'", 1, "rank 1 is gone" },
    ["by an error"] = { "error 'no luck'", 1, "rank 1 failed with status 1", "no luck" },
    ["by its status"] = { "os.exit(3)", 3, "rank 1 failed with status 3" },
    ["by leaving early"] = { "os.exit(0)", 1, "rank 1 has ended its script" },
    ["in a loop"] = { "while true do end", 1, "waited 1 s for rank 1", "it is alive, busy at",
                      timeout = 1 },
    ["as it is stopped"] = { "os.execute 'kill -STOP $PPID'", 1,
      "rank 1 was not heard of in time", timeout = 1 },
  } do
    with_mpi(what .. " all end in time, and say who and why", function()
      local out, status, seconds = script(3, STEPS
        .. ("train(function() if rank == 1 then\n%s end end)"):format(case[1]),
          "--timeout " .. (case.timeout or 30))
      assert.are.equal(case[2], status, out)
      says(out, "sgl run: " .. (case[3]:find "waited" and "" or case[3]), case[3], case[4] or "",
        ": step ")
      assert.truthy(seconds < 60, seconds)
    end)
  end

  with_mpi("by another step, the first line that differs is shown", function()
    local out, status = script(2, [[
      local sgl = require "sgl"
      local f = sgl.compile(function(x) return (x * (sgl.dist.rank + 1)):sum() end)
      f(sgl.ones(4))
    ]])
    assert.are.equal(1, status)
    says(out, "the ranks take different steps", "rank 0: %1 = const() {value=1",
      "rank 1: %1 = const() {value=2")
  end)

  with_mpi("or is asked to stop, all do before the same step", function()
    local folder = support.folder()
    support.write(folder .. "s.lua", STEPS .. [[
      sgl.dist.on_stop(function(e) note("stop", e.signal .. " " .. e.step) end)
      train(function() if rank == 1 then os.execute "kill -TERM $PPID" end end)
    ]])
    local out, status = run(3, ("%ss.lua %s"):format(folder, folder))
    assert.are.equal(143, status, out)
    local first = support.read(folder .. "stop0")
    assert.matches("^15 %d+$", first)
    assert.are.equal(first, support.read(folder .. "stop1"))
    assert.are.equal(first, support.read(folder .. "stop2"))
    support.remove(folder)
  end)
end)

describe("a process is a rank", function()
  local function size(environment)
    return (support.run(("env %s %s -e 'print(require\"sgl\".dist.size)'"):format(environment,
      support.binary)))
  end

  it("of a step of Slurm, not of its job", function()
    assert.are.equal("1\n", size "SLURM_NTASKS=4 SLURM_PROCID=0")
    assert.are.equal("1\n", size "SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0")
  end)

  it("or says what contradicts", function()
    says(size "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=5 OMPI_COMM_WORLD_LOCAL_SIZE=2",
      "the launcher's variables contradict each other: local rank 5 of 2")
    local slurm = "SLURM_STEP_NUM_TASKS=7 SLURM_PROCID=0 'SLURM_STEP_TASKS_PER_NODE=2(x3),1' "
    says(size(slurm .. "SLURM_LOCALID=2"), "local rank 2 of 2")
    says(size(slurm .. "SLURM_LOCALID=1 SLURM_NODEID=3"), "local rank 1 of 1")
    says(size "OMPI_COMM_WORLD_SIZE=400", "a job has up to 64 ranks, this one 400")
  end)

  with_mpi("or hears that Slurm and MPI do not know each other", function()
    says(size "SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 'SLURM_STEP_TASKS_PER_NODE=4'",
      "the launcher says 4 ranks, MPI says 1", "srun --mpi=pmix")
  end)
end)

it("hosts with too few slots are one message", function()
  local out, status = support.run(support.binary .. " run --hosts a:2,b -n 4 x.lua")
  assert.are.equal(1, status)
  assert.are.equal("sgl run: 4 ranks, and the hosts a:2,b have 3 slots: say -n 3, or more slots, "
    .. "as in a:4\n", out)
end)
