-- limit_spec.lua: how many threads a process can use: the least of processors, affinity and the
-- quotas of its control groups and those above them.

local support = require "spec.support"
local core = require "sgl.core"

describe("the number of threads", function()
  local root
  before_each(function() root = support.folder() end)
  after_each(function() support.remove(root) end)

  local most = core.limits "/no/such/folder"

  local function put(path, text)
    support.shell(("mkdir -p '%s'"):format(root .. path:match "^(.*)/"))
    support.write(root .. path, text)
  end

  local function threads()
    local n, source, memory = core.limits(root:sub(1, -2))
    return n, source, memory
  end

  it("is that of the machine where nothing limits it", function()
    put("proc/self/cgroup", "0::/a/b\n")
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
    assert.are.equal(most, (threads()))
  end)

  it("is that of a quota, rounded down, never 0", function()
    put("proc/self/cgroup", "0::/a/b\n")
    put("sys/fs/cgroup/a/b/cpu.max", "765000 100000\n")
    assert.are.equal(math.min(7, most), (threads()))
    put("sys/fs/cgroup/a/b/cpu.max", "20000 100000\n")
    local n, source = threads()
    assert.are.equal(1, n)
    assert.matches("^cpu.max of .*/sys/fs/cgroup/a/b: 0.20$", source)
  end)

  it("is that of the tightest group above", function()
    put("proc/self/cgroup", "0::/a/b\n")
    put("sys/fs/cgroup/a/b/cpu.max", "800000 100000\n")
    put("sys/fs/cgroup/a/cpu.max", "100000 100000\n")
    put("sys/fs/cgroup/cpu.max", "200000 100000\n")
    local n, source = threads()
    assert.are.equal(1, n)
    if most > 1 then assert.matches("cpu.max of .*/sys/fs/cgroup/a: 1.00$", source) end
  end)

  it("knows version 1, where -1 is none, and a container whose group is the root", function()
    put("proc/self/cgroup", "9:name=systemd:/\n3:cpu,cpuacct:/docker/abc\n2:memory:/m\n")
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    assert.are.equal(most, (threads()))
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n")
    assert.are.equal(1, (threads()))
  end)

  it("and the memory that is left are the least too", function()
    put("proc/self/cgroup", "0::/a\n")
    put("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 64 kB\n")
    assert.are.equal(64 << 10, (select(3, threads())))
    put("sys/fs/cgroup/a/memory.max", "9000\n")
    put("sys/fs/cgroup/a/memory.current", "8000\n")
    assert.are.equal(1000, (select(3, threads())))
    put("sys/fs/cgroup/a/memory.max", "max\n")
    assert.are.equal(64 << 10, (select(3, threads())))
  end)
end)

it("one processor is one thread", function()
  local text = "print((require 'sgl.core'.limits()))"
  local out = support.run(("taskset -c 0 %s -e \"%s\""):format(support.binary, text))
  assert.are.equal("1\n", out)
end)
