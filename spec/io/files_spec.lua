-- files_spec.lua: saving and loading: what is on the disk after anything that may happen, and how
-- much memory it takes.

local core = require "sgl.core"
local sgl = require "sgl"
local support = require "spec.support"
local shell, read = support.shell, support.read

local folder

before_each(function() folder = shell("mktemp -d"):match "[^\n]+" .. "/" end)

after_each(function()
  sgl.config.unpack_limit = 1 << 30
  os.execute("rm -rf " .. folder)
end)

local MIB = 1 << 20

-- Bytes that were held at most, beside what was before.
local function peak_of(fn)
  collectgarbage()
  collectgarbage()
  local before = core.memory(true).live
  fn()
  return core.memory().peak - before
end

describe("memory of files", function()
  local state

  before_each(function()
    state = {}
    for i = 1, 8 do state["w" .. i] = sgl.full({ 1024, 1024 }, i):realize() end
    state.flags = (sgl.arange(3 * MIB) % 2):eq(0):realize()
  end)

  it("is that of the head when a file is saved", function()
    local peak = peak_of(function() assert(sgl.save(state, folder .. "a.safetensors")) end)
    assert.is_true(peak < MIB, peak .. " bytes")
  end)

  it("is that of the tensors when it is loaded, and of those asked for", function()
    assert(sgl.save({ a = state, b = { one = sgl.full({ 5 }, 7) } }, folder .. "a.safetensors"))
    state = nil
    local loaded
    local peak = peak_of(function() loaded = sgl.load(folder .. "a.safetensors") end)
    assert.is_true(peak < 36 * MIB, peak .. " bytes")
    for i = 1, 8 do
      local w = loaded["a.w" .. i]
      assert.are.equal(i * 1.0, w:min():item())
      assert.are.equal(i * 1.0, w:max():item())
    end
    assert.are.equal(3 * MIB // 2, loaded["a.flags"]:int():sum():item())
    loaded = nil
    peak = peak_of(function()
      loaded = sgl.load(folder .. "a.safetensors", { prefix = "b." })
    end)
    assert.are.same({ "one" }, table.move(loaded, 1, #loaded, 1, {}))
    assert.are.same({ 7.0, 7.0, 7.0, 7.0, 7.0 }, loaded.one:tolist())
    assert.is_true(peak < MIB, peak .. " bytes")
  end)

  it("is about the file's, seen from outside", function()
    local out = support.script(([[
      local sgl = require "sgl"
      local function peak()
        return tonumber(io.open "/proc/self/status":read "a":match "VmHWM:%%s*(%%d+)") // 1024
      end
      local state = {}
      for i = 1, 16 do state[("w%%02d"):format(i)] = sgl.full({ 2048, 1024 }, i):realize() end
      local before = peak()
      sgl.save(state, "%sa.safetensors")
      print("saved", peak() - before)
    ]]):format(folder))
    assert.is_true(tonumber(out:match "saved\t(%d+)") <= 8, out)
    out = support.script(([[
      local sgl = require "sgl"
      local function peak()
        return tonumber(io.open "/proc/self/status":read "a":match "VmHWM:%%s*(%%d+)") // 1024
      end
      local before = peak()
      local state = sgl.load "%sa.safetensors"
      print("loaded", peak() - before, state.w16:max():item())
    ]]):format(folder))
    local grown, last = out:match "loaded\t(%d+)\t(%S+)"
    assert.are.equal("16.0", last)
    assert.is_true(tonumber(grown) <= 128 + 12, out)
  end)
end)

describe("a long head", function()
  it("is read whole, whatever the pieces", function()
    local state, long = {}, ("x"):rep(200)
    for i = 1, 3000 do state[long .. i] = sgl.full({}, i) end
    assert(sgl.save(state, folder .. "a.safetensors", { metadata = { note = ("n"):rep(100000) } }))
    local loaded, metadata = sgl.load(folder .. "a.safetensors")
    assert.are.equal(3000, #loaded)
    assert.are.equal(2999.0, loaded[long .. 2999]:item())
    assert.are.equal(100000, #metadata.note)
  end)

  it("that is cut off is refused wherever it is cut", function()
    local state = {}
    for i = 1, 900 do state[("x"):rep(100) .. i] = sgl.full({}, i) end
    assert(sgl.save(state, folder .. "a.safetensors"))
    local whole = read(folder .. "a.safetensors")
    for _, n in ipairs { 0, 1, 7, 8, 100, 65535, 65536, 65537, #whole // 2, #whole - 1 } do
      local file = assert(io.open(folder .. "b.safetensors", "wb"))
      file:write(whole:sub(1, n))
      file:close()
      local e = support.error_of(sgl.load, folder .. "b.safetensors")
      assert.are.equal("SGL_EFORMAT", e.code, n .. " bytes")
      assert.matches("b.safetensors", e.message)
    end
  end)
end)

describe("a file that is saved", function()
  local OLD, NEW

  before_each(function()
    OLD, NEW = { a = sgl.full({ 3 }, 1) }, { a = sgl.full({ 40000 }, 2) }
  end)

  it("may have a name of 255 bytes, the most that there can be", function()
    for _, n in ipairs { 250, 255 } do
      local path = folder .. ("n"):rep(n - #".safetensors") .. ".safetensors"
      assert.is_true(sgl.save(OLD, path))
      assert.is_true(sgl.save(NEW, path))
      assert.are.equal(40000, sgl.load(path).a:numel())
    end
    local ok, message, code = sgl.save(OLD, folder .. ("n"):rep(256))
    assert.are.same({ nil, "SGL_EFILE" }, { ok, code })
    assert.matches("File name too long", message)
  end)

  it("stays as it was where writing fails, and leaves no part", function()
    local path = folder .. "a.safetensors"
    local script = ([[
      local sgl = require "sgl"
      print(sgl.save({ a = sgl.full({ 40000 }, 2) }, "%s"))]]):format(path)
    assert(sgl.save(OLD, path))
    local old = read(path)
    for _, before in ipairs { "trap '' XFSZ; ulimit -f 4;", "ulimit -f 4;", "ulimit -f 0;" } do
      local out, status = support.script(script, "", before)
      assert.are.equal(0, status, out)
      assert.matches("^nil\t.*a.safetensors: cannot write: File too large\tSGL_EFILE", out)
      assert.are.equal(old, read(path))
      assert.are.equal("a.safetensors\n", shell("ls -A " .. folder))
    end
  end)

  it("stays as it was on a full disk", function()
    if not os.execute "unshare -rm true 2>/dev/null" then return pending "needs unshare" end
    local script = os.tmpname()
    local file = assert(io.open(script, "w"))
    file:write(([[
      local sgl = require "sgl"
      print(sgl.save({ a = sgl.full({ 3 }, 1) }, "%sa.safetensors"))
      print(sgl.save({ a = sgl.full({ 40000 }, 2) }, "%sa.safetensors"))
      print(sgl.load("%sa.safetensors").a:numel())]]):format(folder, folder, folder))
    file:close()
    local out, status = support.run(([[unshare -rm sh -c '
      mount -t tmpfs -o size=16k none %s || exit 9
      SGL_ENABLE=-disk %s %s; ls -A %s']]):format(folder, support.binary, script, folder))
    os.remove(script)
    if status == 9 then return pending "cannot mount" end
    assert.matches("^true\nnil\t.*No space left on device\tSGL_EFILE\n3\na.safetensors\n$", out)
  end)

  it("into a device that is full is an error", function()
    local ok, message, code = sgl.save(NEW, "/dev/full")
    assert.are.same({ nil, "SGL_EFILE" }, { ok, code })
    assert.matches("/dev/full: cannot write: No space left on device", message)
  end)

  it("is whole, old or new, when the process is killed, and the next save removes the part",
    function()
      local path = folder .. "a.safetensors"
      assert(sgl.save(OLD, path))
      local script = folder .. "script.lua"
      local file = assert(io.open(script, "w"))
      file:write(([[
        local sgl = require "sgl"
        local state = { a = sgl.full({ 4000000 }, 2):realize() }
        while true do sgl.save(state, "%s") end]]):format(path))
      file:close()
      local parts = 0
      for i = 1, 8 do
        support.run(("timeout -s KILL 0.%02d %s %s"):format(15 + 7 * i, support.binary, script))
        local a = sgl.load(path).a
        assert.are.equal(a:numel() == 3 and 1.0 or 2.0, a:max():item())
        if shell("ls -A " .. folder):find "%.part" then parts = parts + 1 end
      end
      assert(sgl.save(OLD, folder .. "another.safetensors"))
      assert.is_nil(shell("ls -A " .. folder):find "%.part", parts .. " were left")
    end)

  it("is whole when several processes save it at once", function()
    local path, script = folder .. "a.safetensors", folder .. "script.lua"
    local file = assert(io.open(script, "w"))
    file:write(([[
      local sgl = require "sgl"
      local n = tonumber(arg[1])
      local state = { a = sgl.full({ 1000 * n }, n):realize() }
      for i = 1, 40 do assert(sgl.save(state, "%s")) end]]):format(path))
    file:close()
    shell(("for i in 1 2 3 4; do %s %s $i & done; wait"):format(support.binary, script))
    local a = sgl.load(path).a
    assert.are.equal(a:numel() / 1000, a:min():item())
    assert.are.equal(a:numel() / 1000, a:max():item())
    assert.are.equal("a.safetensors\nscript.lua\n", shell("ls -A " .. folder))
  end)

  it("is refused where its path has a zero byte, and where it is read too", function()
    local path = folder .. "a.safetensors"
    assert(sgl.save(OLD, path))
    local old = read(path)
    for _, call in ipairs {
      { sgl.save, NEW, path .. "\0.bak" }, { sgl.load, path .. "\0" },
      { sgl.data.csv, path .. "\0x" }, { sgl.data.text, path .. "\0x" },
    } do
      local e = support.error_of(table.unpack(call))
      assert.are.equal("SGL_EARG", e.code)
      assert.matches("a.safetensors' goes on behind a zero byte", e.message)
    end
    assert.are.equal(old, read(path))
  end)

  it("keeps its permissions, and a link stays a link", function()
    local path = folder .. "a.safetensors"
    assert(sgl.save(OLD, path))
    shell(("chmod 640 %s && ln -s a.safetensors %slink.safetensors"):format(path, folder))
    assert(sgl.save(NEW, folder .. "link.safetensors"))
    assert.matches("^%-rw%-r%-%-%-%-%-", shell("ls -l " .. path))
    assert.matches("^l", shell(("ls -l %slink.safetensors"):format(folder)))
    assert.are.equal(40000, sgl.load(path).a:numel())
    shell(("ln -s nothing %snowhere.safetensors"):format(folder))
    assert(sgl.save(NEW, folder .. "nowhere.safetensors"))
    assert.matches("^%-", shell(("ls -l %snowhere.safetensors"):format(folder)))
    assert.is_nil((io.open(folder .. "nothing")))
  end)

  it("says which name no file can hold, without the bytes that steer a terminal", function()
    for name, shown in pairs { ["a\xff\27[31m"] = [[a\xff\x1b[31m]], ["a\0b"] = [[a\x00b]] } do
      local e = support.error_of(sgl.save, { [name] = sgl.ones(1) }, folder .. "a.safetensors")
      assert.truthy(e.message:find("the name '" .. shown .. "'", 1, true), e.message)
    end
  end)

  it("takes no part that is somebody's own: a link, a folder, a pipe", function()
    local own = folder .. "own"
    shell(("echo precious > %s; cd %s; ln -s own .sgl-0.part; mkdir .sgl-1.part; "
      .. "mkfifo .sgl-2.part; ln own .sgl-9.part"):format(own, folder))
    assert.is_true(sgl.save(NEW, folder .. "a.safetensors"))
    assert.are.equal("precious\n", read(own))
    assert.are.equal(".sgl-0.part\n.sgl-1.part\n.sgl-2.part\n.sgl-9.part\na.safetensors\nown\n",
      shell("LC_ALL=C ls -A " .. folder))
  end)
end)

describe("a gzipped file", function()
  local function zeros(n)
    shell(("head -c %d /dev/zero | gzip -1 > %sz.gz"):format(n, folder))
    return folder .. "z.gz"
  end

  it("may unpack to unpack_limit, and not to a byte more", function()
    sgl.config.unpack_limit = 1000000
    assert.are.equal(1000000, #core.read(zeros(1000000)))
    local e = support.error_of(core.read, zeros(1000001))
    assert.are.equal("SGL_EFORMAT", e.code)
    assert.matches("z.gz: unpacks to more than unpack_limit, 1000000 bytes", e.message)
    assert.matches("sgl.config.unpack_limit or SGL_UNPACK_LIMIT", e.hint)
    sgl.config.unpack_limit = 0
    assert.are.equal(1000001, #core.read(folder .. "z.gz"))
  end)

  it("that is a bomb takes no more memory than the limit", function()
    sgl.config.unpack_limit = 4 * MIB
    local path = zeros(256 * MIB)
    for _, open in ipairs { sgl.load, sgl.data.csv, sgl.data.idx, sgl.data.text } do
      local peak = peak_of(function()
        assert.matches("unpack_limit", support.error_of(open, path).message)
      end)
      assert.is_true(peak < 6 * MIB, peak .. " bytes")
    end
  end)

  it("is unpacked as it is read, in little more memory than it unpacks to", function()
    local path = zeros(32 * MIB)
    local peak = peak_of(function() assert.matches("CSV", "CSV" .. (core.read(path) and "")) end)
    assert.is_true(peak < 65 * MIB, peak .. " bytes")          -- once more as a text of Lua
  end)

  it("may have several members, and zeros at its end", function()
    shell(("cd %s; (printf abc | gzip; printf def | gzip) > two.gz; (cat two.gz; head -c 512 "
      .. "/dev/zero) > padded.gz; (cat padded.gz; printf x) > more.gz; head -c 30 two.gz > cut.gz")
      :format(folder))
    assert.are.equal("abcdef", core.read(folder .. "two.gz"))
    assert.are.equal("abcdef", core.read(folder .. "padded.gz"))
    for name, what in pairs { more = "follows the zeros", cut = "ends early" } do
      local e = support.error_of(core.read, folder .. name .. ".gz")
      assert.are.equal("SGL_EFORMAT", e.code)
      assert.matches(what, e.message)
    end
  end)

  it("may come through a pipe, byte by byte", function()
    shell(("cd %s; printf 'hello, pipe' | gzip > a.gz; mkfifo pipe"):format(folder))
    os.execute(([[cd %s; (for i in $(seq 0 40); do dd if=a.gz bs=1 skip=$i count=1 2>/dev/null
      done > pipe) &]]):format(folder))
    assert.are.equal("hello, pipe", core.read(folder .. "pipe"))
  end)
end)

describe("Ctrl-C", function()
  -- What is read never ends; SIGINT comes after half a second.
  local function interrupted(code, before)
    local out, status = support.script(("local sgl = require 'sgl'\nprint(pcall(%s))"):format(code),
      "", (before or "") .. " timeout -s INT -k 20 0.5")
    return out, status
  end

  it("is heard while a file is read", function()
    shell(("mkfifo %spipe; mkfifo %ssilent"):format(folder, folder))
    os.execute(("(sleep 30 > %ssilent) &"):format(folder))
    for _, case in ipairs {
      ("sgl.load, '%spipe'"):format(folder), ("sgl.data.csv, '%ssilent'"):format(folder),
      "sgl.load, '/dev/zero'", ("sgl.data.text, '%ssilent'"):format(folder),
    } do
      local out = interrupted(case, os.getenv "ASAN_OPTIONS" and "" or "ulimit -v 40000000;")
      assert.matches("interrupted", out, case)
    end
  end)
end)
