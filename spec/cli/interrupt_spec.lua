-- interrupt_spec.lua: the first Ctrl-C lets a step end, the second stops it, the next ends the
-- process; a session goes on, and its history is never lost.

local support = require "spec.support"

-- Sends the signal to the program itself; os.execute would ignore it meanwhile.
local HEAD = [[
local sgl = require "sgl"
local pipe = io.popen "echo $PPID"
local pid = pipe:read "l"
pipe:close()
local function ctrl_c() io.popen("kill -INT " .. pid):close() end
local a, b = sgl.zeros(1):realize(), sgl.zeros(1):realize()
local function report(ok, e)
  print(ok, e.code, e.message, e.hint)
  print(a:item(), b:item())
end
]]

local function run(text) return support.script(HEAD .. text) end

describe("the first Ctrl-C", function()
  it("stops the user's code at its next instruction", function()
    local out, status = run "ctrl_c() while true do end"
    assert.are.equal(1, status)
    assert.matches("script.lua:%d+: interrupted\nstack traceback", out)
  end)

  it("lets a step that runs in segments end, whose state is whole", function()
    local out = run [[
      local step = sgl.compile(function(k)
        a:assign(a + 1)
        if k == 3 then ctrl_c() end
        b:assign(b + 1)
      end, { fullgraph = false })
      report(pcall(function() for k = 1, 10 do step(k) end end))
    ]]
    assert.are.equal("false\tSGL_EINTR\tinterrupted\tnil\n3.0\t3.0\n", out)
  end)

  it("lets the recording of a step end", function()
    local out = run [[
      local listener = sgl.on("capture_start", ctrl_c)
      local step = sgl.compile(function() a:assign(a + 1) b:assign(b + 1) end)
      report(pcall(function() while true do step() end end))
    ]]
    assert.are.equal("false\tSGL_EINTR\tinterrupted\tnil\n1.0\t1.0\n", out)
  end)

  it("lets an optimizer's step end outside compiled functions", function()
    for at = 1, 61, 15 do
      local out = run(([[
        local params = {}
        for i = 1, 20 do params[i] = sgl.nn.parameter(sgl.zeros(1)) end
        local opt, lines = sgl.optim.SGD(params, { lr = 1 }), 0
        debug.sethook(function()
          lines = lines + (debug.getinfo(2, "S").source == "=sgl/optim/init.lua" and 1 or 0)
          if lines == 900 + %d then debug.sethook() ctrl_c() end
        end, "l")
        local ok, e = pcall(function()
          while true do
            local loss = 0
            for _, p in ipairs(params) do loss = loss - p:sum() end
            opt:minimize(loss)
          end
        end)
        local least, most = math.huge, -math.huge
        for _, p in ipairs(params) do
          least, most = math.min(least, p:item()), math.max(most, p:item())
        end
        print(ok, e.code, lines > 900, least > 0, most - least)
      ]]):format(at))
      assert.are.equal("false\tSGL_EINTR\ttrue\ttrue\t0.0\n", out)
    end
  end)

  it("ends the parsing of a table whose text was read", function()
    for _, options in ipairs { "columns = { 1 }", "label = 2" } do
      local out = run(([[
        local core = require "sgl.core"
        local path = os.tmpname()
        local file <close> = assert(io.open(path, "w"))
        file:write(("1,a\n"):rep(5000))
        file:flush()
        local head, there = core.csv_head, false
        function core.csv_head(...) there = true return head(...) end
        debug.sethook(function()
          if not there or debug.getinfo(2, "S").source ~= "=sgl/data/csv.lua" then return end
          debug.sethook()
          ctrl_c()
        end, "l")
        local ok, e = pcall(sgl.data.csv, path, { header = false, %s })
        print(ok, e.code, (e.message:gsub("^.*: interrupted", "interrupted")))
        os.remove(path)
      ]]):format(options))
      assert.are.equal("false\tSGL_EINTR\tinterrupted while it was read\n", out)
    end
  end)

  it("is heard by a coroutine that computes", function()
    local out = run [[
      report(pcall(coroutine.wrap(function()
        ctrl_c()
        while true do a:assign(a + 1) end
      end)))
    ]]
    assert.matches("^false\tSGL_EINTR\tinterrupted\tnil\n", out)
  end)
end)

describe("the second Ctrl-C", function()
  it("stops a step at once and says that state may be torn", function()
    local out = run [[
      local step = sgl.compile(function(k)
        a:assign(a + 1)
        if k == 3 then ctrl_c() ctrl_c() end
        b:assign(b + 1)
      end, { fullgraph = false })
      report(pcall(function() for k = 1, 10 do step(k) end end))
    ]]
    assert.matches("^false\tSGL_EINTR\tinterrupted at once: .*state may be torn", out)
    assert.matches("\twhat a step updates", out)
    assert.matches("3.0\t2.0\n$", out)
  end)

  it("stops a program that runs, at its next step", function()
    local out = run [[
      local x = sgl.rand(400, 400):realize()
      local step = sgl.compile(function()
        return (sgl.loop(function() return sgl.ones(1):gt(0):all() end,
          function(h) return h:matmul(x) * 0.001 end, x, { max = 1000000 }))
      end)
      os.execute(("(sleep 0.3; kill -INT %s; sleep 0.1; kill -INT %s) &"):format(pid, pid))
      report(pcall(step))
    ]]
    assert.matches("^false\tSGL_EINTR\tinterrupted at [%w ]+: .*state may be torn", out)
  end)

  it("ends a loop that catches the first", function()
    local out, status = run [[
      for n = 1, 3 do
        print(n, pcall(function() ctrl_c() while true do end end))
      end
    ]]
    assert.matches("^1\tfalse\tscript.lua:%d+: interrupted\n$", out)
    assert.are.equal(128 + 2, status)
  end)
end)

describe("a session", function()
  it("goes on after each Ctrl-C", function()
    local name = support.write(os.tmpname(), [[
pipe = io.popen "echo $PPID"
pid = pipe:read "l"
function ctrl_c() io.popen("kill -INT " .. pid):close() end
ctrl_c() while true do end
print("first", 1 + 1)
ctrl_c() while true do end
print("second", 1 + 2)
]])
    local out, status = support.run(("%s -i < %s"):format(support.binary, name))
    os.remove(name)
    assert.are.equal(0, status)
    assert.matches("interrupted.*first\t2.*interrupted.*second\t3", out)
  end)
end)

describe("the history of a session", function()
  local folder
  before_each(function() folder = support.folder() end)
  after_each(function() support.remove(folder) end)

  local function session(lines, around)
    support.write(folder .. "lines", lines)
    return support.run(("cd %s && HOME=%s %s script -qec %s /dev/null < lines"):format(folder,
      folder, around or "", support.binary))
  end
  local has_terminal = os.execute "command -v script > /dev/null"
  local function history() return support.read(folder .. ".sgl_history") end

  it("is there after the terminal was closed", function()
    if not has_terminal then return pending "needs script(1), which gives a program a terminal" end
    session "one = 1\n"
    if not io.open(folder .. ".sgl_history") then return pending "there is no libedit" end
    assert.matches("one", history())
    support.run(("cd %s && (echo 'two = 2'; sleep 1) | HOME=%s timeout -s HUP 0.6 script -qec %s "
      .. "/dev/null"):format(folder, folder, support.binary))
    assert.matches("one.*two", history())
    session "three = 3\n"
    assert.matches("one.*two.*three", history())
  end)

  it("stays what it was where it cannot be read, and a link stays a link", function()
    if not has_terminal then return pending "needs script(1), which gives a program a terminal" end
    support.write(folder .. ".sgl_history", "not what libedit writes\n")
    session "one = 1\n"
    assert.are.equal("not what libedit writes\n", history())
    os.remove(folder .. ".sgl_history")
    os.execute(("ln -s kept %s.sgl_history; : > %skept"):format(folder, folder))
    session "one = 1\n"
    assert.is_true(os.execute(("test -L %s.sgl_history"):format(folder)))
  end)
end)
