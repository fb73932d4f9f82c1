-- config_spec.lua: settings come from a file, the environment, flags and the script, the later the
-- stronger; what is wrong is refused with the nearest name, the file and the line.

local sgl = require "sgl"
local core = require "sgl.core"
local support = require "spec.support"

local binary = support.run("realpath " .. support.binary):match "[^\n]+"

-- Runs Lua code in a folder of its own with the given files; returns output and status.
local function inside(files, code, options)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
  files["script.lua"] = code
  for name, text in pairs(files) do
    local file <close> = assert(io.open(folder .. "/" .. name, "wb"))
    file:write(text)
  end
  options = options or {}
  local out, status = support.run(("cd %s && %s %s %s script.lua"):format(folder,
    options.env or "", binary, options.flags or ""))
  os.execute("rm -r " .. folder)
  return out, status
end

local function value_of(name, files, options)
  local out = inside(files, ([[
    local sgl = require "sgl"
    print(sgl.config.%s, sgl.config.from "%s")]]):format(name, name), options)
  return out
end

describe("a setting", function()
  it("comes from the file, the environment, a flag, the script, the later the stronger", function()
    local function threads(env, flags, code)
      return (inside({ ["sgl.yaml"] = "threads: 3\n" }, ([[
        local sgl = require "sgl"
        %s
        print(sgl.config.threads, sgl.config.from "threads")]]):format(code or ""),
        { env = env, flags = flags }))
    end
    assert.are.equal("3\tfile\n", threads())
    assert.are.equal("4\tenvironment\n", threads("SGL_THREADS=4"))
    assert.are.equal("5\tflag\n", threads(nil, "--threads 5"))
    assert.are.equal("5\tflag\n", threads("SGL_THREADS=4", "--threads=5"))
    assert.are.equal("6\tprogram\n", threads("SGL_THREADS=4", "--threads=5",
      "sgl.config.threads = 6"))
    assert.are.equal("3\tfile\n", threads("SGL_THREADS="))
  end)

  it("is its default where nobody says otherwise", function()
    assert.are.equal("1\tdefault\n", value_of("fuse", {}))
  end)

  it("takes effect wherever it comes from", function()
    local out = inside({ ["sgl.yaml"] = "threads: 1\nisa: portable\nevent_history: 2\n" }, [[
      local sgl, core = require "sgl", require "sgl.core"
      sgl.ones(3):sum():item()
      print(core.threads(), core.isa(), #sgl.events())]])
    assert.are.equal("1\tportable\t2\n", out)
  end)

  it("can be read in the list of all, and by print", function()
    local seen = {}
    for name, value in pairs(sgl.config) do seen[name] = value end
    assert.are.equal(sgl.config.threads, seen.threads)
    assert.are.equal(#core.knobs(), select(2, tostring(sgl.config):gsub("\n", "\n")) + 1)
    assert.matches("cache_size_limit +%d+", tostring(sgl.config))
  end)

  it("that is a switch may be true or false", function()
    sgl.config.verify = false
    assert.are.equal(0, sgl.config.verify)
    sgl.config.verify = true
    assert.are.equal(1, sgl.config.verify)
    sgl.config.threads = 2.0
    assert.are.equal(2, sgl.config.threads)
    sgl.config.threads = 0
  end)

  local WRONG = {
    { "an unknown name", "thread", 1, "unknown setting 'thread' %(did you mean 'threads'%?" },
    { "a name near nothing", "volume", 1, "unknown setting 'volume' %(settings: isa, threads" },
    { "a value out of range", "threads", 999, "threads: 999 is outside the range 0 to 256" },
    { "a fraction", "threads", 1.5, "threads: '1.5' is not an integer" },
    { "a text for a number", "threads", "many", "threads: 'many' is not an integer from 0 to 256" },
    { "an unknown choice", "isa", "avx51", "isa: 'avx51' is none of the choices auto portable avx2 "
      .. "avx512 %(did you mean 'avx2'%?%)" },
    { "an unknown member", "enable", { "cpu", "cash" }, "'cash' is none of the choices .* "
      .. "%(did you mean 'cache'%?%)" },
    { "an unknown preset", "preset", "prood", "none of the choices none dev prod %(did you mean "
      .. "'prod'" },
    { "true for a number", "threads", true, "'true' is not an integer" },
    { "a table for a number", "threads", {}, "threads: a table does not fit" },
    { "a table for a text", "cache_dir", {}, "cache_dir: a table does not fit" },
    { "true for a text", "cache_dir", true, "cache_dir: true does not fit" },
    { "a function", "cache_dir", print, "cache_dir: a function does not fit" },
    { "a zero byte", "cache_dir", "a\0b", "cache_dir: .* does not fit" },
    { "a number in a set", "enable", { 1 }, "enable: a table does not fit" },
    { "a member that is neither on nor off", "enable", { disk = "no" }, "enable: a table does not "
      .. "fit" },
    { "a hole in a set", "enable", { [2] = "cpu" }, "enable: a table does not fit" },
    { "a name that is a number", 1, true, "^1 is no name of a setting" },
    { "a name that is a boolean", true, 1, "^true is no name of a setting" },
    { "a name that is a table", {}, 1, "^a table is no name of a setting" },
    { "another user's folder", "cache_dir", "~root/x", "cache_dir: only '~/' stands for a home" },
  }
  for _, case in ipairs(WRONG) do
    it(case[1] .. " is refused and changes nothing", function()
      local before = tostring(sgl.config)
      local line = debug.getinfo(1, "l").currentline + 1
      local e = support.error_of(function() sgl.config[case[2]] = case[3] end)
      assert.are.equal("SGL_EKNOB", e.code)
      assert.matches(case[4], e.message)
      assert.are.equal(line, e.line)
      assert.are.equal(before, tostring(sgl.config))
    end)
  end

  it("that is nearly said in the environment is an error; other variables are let be", function()
    local out, status = support.script("require 'sgl'", "", "SGL_THREAD=2")
    assert.are.equal(1, status)
    assert.matches("SGL_THREAD in the environment is no setting %(did you mean SGL_THREADS%?%)",
      out)
    for _, other in ipairs { "SGL_THREAD=", "SGL_SEED=2", "SGL_=1", "SGL_SPEC_SCALE=1" } do
      assert.are.same({ "", 0 }, { support.script("require 'sgl'", "", other) })
    end
  end)

  it("is no misspelt variable of the specs and benchmarks", function()
    local names, settings = {}, {}
    for _, knob in ipairs(core.knobs()) do settings["SGL_" .. knob.name:upper()] = true end
    for _, folder in ipairs { "spec", "bench" } do
      local text = support.run(("find %s%s -name '*.lua' -exec cat {} +"):format(support.root,
        folder))
      for name in text:gmatch 'os%.getenv%(? ?"(SGL_[%u_]+)"' do names[name] = true end
    end
    assert.is_true(names.SGL_FUZZ and names.SGL_BENCH_SECONDS)
    for name in pairs(names) do
      if not settings[name] then
        assert.are.same({ "", 0 }, { support.script("require 'sgl'", "", name .. "=1") }, name)
      end
    end
  end)

  it("begins with ~/ for the home folder, wherever it is said", function()
    local home = "HOME=/tmp/somebody"
    local function folder(files, options)
      options = options or {}
      options.env = home .. " " .. (options.env or "")
      return (value_of("cache_dir", files, options):match "^[^\t]*")
    end
    assert.are.equal("/tmp/somebody/x", folder({ ["a.yaml"] = "cache_dir: ~/x\n" },
      { flags = "--config=a.yaml" }))
    assert.are.equal("/tmp/somebody/x", folder({ ["a.lua"] = "cache_dir = '~/x'\n" },
      { flags = "--config=a.lua" }))
    assert.are.equal("/tmp/somebody/x", folder({}, { env = "SGL_CACHE_DIR='~/x'" }))
    assert.are.equal("/tmp/somebody/x", folder({}, { flags = "--cache_dir='~/x'" }))
    assert.are.equal("/tmp/somebody", folder({}, { flags = "--cache_dir='~'" }))
    assert.are.equal("a~/x", folder({}, { flags = "--cache_dir='a~/x'" }))
    local set = [[local sgl = require "sgl"
      sgl.config.cache_dir = "~/x"
      print(sgl.config.cache_dir)]]
    assert.are.equal("/tmp/somebody/x\n", (support.script(set, "", home)))
    local out, status = support.script(set, "", "env -u HOME")
    assert.are.equal(1, status)
    assert.matches("cache_dir: '~/x' needs the variable HOME, which is not set", out)
  end)

  it("that names the file is refused: it was read", function()
    local e = support.error_of(function() sgl.config.config = "other.yaml" end)
    assert.matches("read when sgl is loaded", e.message)
  end)

  it("nil is refused, and reading an unknown one too", function()
    assert.matches("no value", support.error_of(function() sgl.config.threads = nil end).message)
    local e = support.error_of(function() return sgl.config.fus end)
    assert.matches("did you mean 'fuse'", e.message)
    for _, name in ipairs { 1.5, true, {} } do
      e = support.error_of(function() return sgl.config[name] end)
      assert.are.equal("SGL_EKNOB", e.code)
      assert.matches("is no name of a setting", e.message)
    end
  end)

  it("for the backend is refused to a hook inside a capture, which goes on", function()
    for i, kind in ipairs { "capture_start", "graph" } do
      for name, value in pairs { enable = "-cpu", backend = "null" } do
        local before = sgl.config[name]
        local function hook() sgl.config[name] = value end
        local step = sgl.compile(function(x) return x * (i + 0.125) end)
        local listener <close> = kind == "graph" and sgl.on_graph_capture(hook)
          or sgl.on(kind, hook)
        assert.are.equal(i + 0.125, step(sgl.ones(1)):item())
        assert.are.equal("SGL_ESTATE", listener.last_error.code)
        assert.matches(name .. ": not while a step is captured", listener.last_error.message)
        assert.are.equal(before, sgl.config[name])
        assert.are.equal("compiled", sgl.lifecycle().cpu)
      end
    end
  end)

  it("may be set by a callback that is told when the capture is over", function()
    local hook <close> = sgl.on("capture_end", function() sgl.config.enable = "-cpu" end)
    local step = sgl.compile(function(x) return x * 7.125 end)
    local e = support.error_of(step, sgl.ones(1))
    assert.matches("the backend 'cpu' is not enabled", e.message)
    assert.are.equal("uninitialized", sgl.lifecycle().cpu)
    sgl.config.enable = "all"
    assert.are.equal("registered", sgl.lifecycle().cpu)
    assert.are.equal(7.125, step(sgl.ones(1)):item())
    assert.is_nil(hook.last_error)
  end)

  it("may otherwise be set by a hook, also by one that captures in turn", function()
    local inner = sgl.compile(function(x) return x + 3 end)
    local hook <close> = sgl.on_graph_capture(function()
      sgl.config.event_rate = 9999
      inner(sgl.ones(2))
      error "and fails"
    end)
    assert.are.equal(5.0, sgl.compile(function(x) return x * 5 end)(sgl.ones(1)):item())
    assert.are.equal(9999, sgl.config.event_rate)
    sgl.config.event_rate = 10000
    sgl.config.enable = "-cpu"
    assert.are.equal("uninitialized", sgl.lifecycle().cpu)
    sgl.config.enable = "all"
    assert.matches("and fails", tostring(hook.last_error))
  end)
end)

describe("a configuration file", function()
  it("in YAML sets numbers, choices and lists", function()
    local out = inside({ ["sgl.yaml"] = "# of the cluster\nthreads: 2\nbackend: 'null'\n"
      .. "enable: [cpu, 'null', cache]\nverify: false\n" }, [[
      local sgl = require "sgl"
      print(sgl.config.threads, sgl.config.backend, sgl.config.enable, sgl.config.verify)]])
    assert.are.equal("2\tnull\tcpu,null,cache\t0\n", out)
  end)

  it("in Lua is a list of assignments that may compute", function()
    local out = inside({ ["sgl.config.lua"] = 'local n = tonumber(env "N")\nthreads = n + 1\n'
      .. 'if n > 1 then enable = { disk = false } end\nverify = false\n' }, [[
      local sgl = require "sgl"
      print(sgl.config.threads, sgl.config.enable, sgl.config.verify, threads)]], { env = "N=2" })
    assert.are.equal("3\tcpu,null,cuda,capture,compile,run,cache\t0\tnil\n", out)
  end)

  it("is the one named by --config, then SGL_CONFIG, then sgl.yaml, then sgl.config.lua", function()
    local files = { ["sgl.yaml"] = "threads: 1", ["sgl.config.lua"] = "threads = 2",
                    ["a.yaml"] = "threads: 3", ["b.lua"] = "threads = 4" }
    local function threads(options) return value_of("threads", files, options):match "^%d" end
    assert.are.equal("4", threads { flags = "--config b.lua", env = "SGL_CONFIG=a.yaml" })
    assert.are.equal("3", threads { env = "SGL_CONFIG=a.yaml" })
    assert.are.equal("1", threads())
    files["sgl.yaml"] = nil
    assert.are.equal("2", threads())
    files["sgl.config.lua"] = nil
    assert.are.equal("0", threads())
  end)

  it("may be empty", function()
    assert.are.equal("0\tdefault\n", value_of("threads", { ["sgl.yaml"] = "" }))
    assert.are.equal("0\tdefault\n", value_of("threads", { ["sgl.yaml"] = "# nothing\n---\n" }))
  end)

  -- The file, its content, and what stderr must say.
  local WRONG = {
    { "sgl.yaml", "threads: 1\nthread: 2\n", "sgl.yaml:2: unknown setting 'thread' %(did you mean "
      .. "'threads'%?" },
    { "sgl.yaml", "\n\nthreads: lots\n", "sgl.yaml:3: threads: 'lots' is not an integer" },
    { "sgl.yaml", "enable: [cpu, dsk]\n", "sgl.yaml:1: enable: 'dsk' is none of the choices .*"
      .. "did you mean 'disk'" },
    { "sgl.yaml", "threads: {a: 1}\n", "sgl.yaml:1: a value, or a list of values, expected" },
    { "sgl.yaml", "enable:\n- cpu\n- [a]\n", "sgl.yaml:3: a list of plain values expected" },
    { "sgl.yaml", "- threads\n", "sgl.yaml:1: lines of the form `name: value` expected" },
    { "sgl.yaml", "threads: 1\n---\nfuse: 0\n", "sgl.yaml:2: a second document" },
    { "sgl.yaml", "threads: 'a\n", "sgl.yaml:%d: .*end of stream" },
    { "sgl.yaml", "threads: *x\n", "sgl.yaml:1: a value, or a list of values, expected" },
    { "sgl.yaml", "\xff\xfe\xfd", "sgl.yaml:%d: " },
    { "sgl.yaml", "threads: 1\nfuse: 1\nthreads: 2\n", "sgl.yaml:3: 'threads' is said twice\n"
      .. "  the first is in line 1" },
    { "sgl.yaml", "config: other.yaml\n", "sgl.yaml:1: a configuration file cannot name another" },
    { "sgl.config.lua", "threads = 1\nfusee = 0\n", "sgl.config.lua:2: unknown setting 'fusee' "
      .. "%(did you mean 'fuse'%?" },
    { "sgl.config.lua", "threads = {}\nfuse = 1\n", "sgl.config.lua:1: threads: a table does not" },
    { "sgl.config.lua", "threads = -1\n", "sgl.config.lua:1: threads: %-1 is outside the range" },
    { "sgl.config.lua", "threads =\n", "sgl.config.lua:2?1?: unexpected symbol near <eof>" },
    { "sgl.config.lua", "\nos.exit(0)\n", "sgl.config.lua:2: 'os' is not known" },
    { "sgl.config.lua", "local t = nil\nthreads = t.x\n", "sgl.config.lua:2: attempt to index" },
    { "sgl.config.lua", "\27Lua", "sgl.config.lua:%d: attempt to load a binary chunk" },
    { "sgl.config.lua", "\n_ENV[1] = true\n", "sgl.config.lua:2: 1 is no name of a setting" },
    { "sgl.config.lua", "\ntable.insert(_ENV, 2)\n", "sgl.config.lua:2: 1 is no name of a sett" },
    { "sgl.config.lua", "string = nil\n", "sgl.config.lua:1: unknown setting 'string'" },
    { "sgl.config.lua", "x = debug\n", "sgl.config.lua:1: 'debug' is not known" },
    { "sgl.config.lua", "x = load('')\n", "sgl.config.lua:1: 'load' is not known" },
    { "sgl.config.lua", "x = getmetatable('')\n", "sgl.config.lua:1: 'getmetatable' is not known" },
    { "sgl.config.lua", "x = rawset\n", "sgl.config.lua:1: 'rawset' is not known" },
    { "sgl.config.lua", "('').format = 1\n", "sgl.config.lua:1: attempt to index a string" },
  }
  for _, case in ipairs(WRONG) do
    it(("%s with %q is refused"):format(case[1], case[2]:sub(1, 24)), function()
      local out, status = inside({ [case[1]] = case[2] }, "require 'sgl'")
      assert.are.equal(1, status)
      assert.matches(case[3], out)
    end)
  end

  it("in Lua can change nothing but the settings", function()
    local breaks = { "verify = true" }
    for _, library in ipairs { "math", "string", "table" } do
      breaks[#breaks + 1] = ("for k in pairs(%s) do %s[k] = nil end"):format(library, library)
      breaks[#breaks + 1] = ("%s.added = 1"):format(library)
    end
    local out, status = inside({ ["sgl.config.lua"] = table.concat(breaks, "\n") }, [[
      local sgl = require "sgl"
      print(string.added, table.added, math.added, ("%d"):format(math.max(1, 2)),
        table.concat({ 1, 2 }, "+"), sgl.ones(2), sgl.config.verify)]])
    assert.are.equal("nil\tnil\tnil\t2\t1+2\tf32[2]   1.0  1.0\t1\n", out)
    assert.are.equal(0, status)
  end)

  -- What stands where the file would be; a named pipe has no writer.
  local NO_FILES = {
    { "a folder", "mkdir %s", "not a file but a folder" },
    { "a named pipe", "mkfifo %s", "not a file but a pipe or device" },
    { "a link to itself", "ln -s %s %s", "[Tt]oo many levels" },
    { "a link to nothing", "ln -s nowhere %s", "No such file" },
  }
  for _, name in ipairs { "sgl.yaml", "sgl.config.lua" } do
    for _, case in ipairs(NO_FILES) do
      it(("%s that is %s is refused, not passed over"):format(name, case[1]), function()
        local make = case[2]:gsub("%%s", name)
        local out, status = inside({}, "require 'sgl'", { env = make .. " && timeout 20" })
        assert.are.equal(1, status)
        assert.matches(name:gsub("%p", "%%%0") .. ": cannot read: .*" .. case[3], out)
      end)
    end

    it(name .. " that may not be read is refused", function()
      local drop = "setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all"
      local is_root = support.run "id -u" == "0\n"
      if is_root and select(2, support.run(drop .. " true")) ~= 0 then
        return pending "needs setpriv"
      end
      local out, status = inside({ [name] = "" }, "require 'sgl'", {
        env = ("chmod 0 %s && chmod 755 . && %s"):format(name, is_root and drop or "") })
      assert.are.equal(1, status, out)
      assert.matches(name:gsub("%p", "%%%0") .. ": cannot read: Permission denied", out)
    end)
  end

  it("that is named may be a pipe", function()
    assert.are.equal("3\tfile\n", value_of("threads", {}, { env = "echo 'threads: 3' |",
      flags = "--config=/dev/stdin" }))
  end)

  it("that is named and not there is refused", function()
    local out, status = inside({}, "require 'sgl'", { flags = "--config=missing.yaml" })
    assert.are.equal(1, status)
    assert.matches("missing.yaml: cannot read", out)
  end)

  -- A folder that came from somebody else brings its sgl.yaml along.
  for name, text in pairs { ["sgl.yaml"] = "threads: 2\ncache_dir: %s\n",
                            ["sgl.config.lua"] = "threads = 2\ncache_dir = '%s'\n" } do
    it(name .. " sets no path where it is only found, and does where it is named", function()
      local text = text:format "/nowhere/sgl"
      local out, status = inside({ [name] = text }, "require 'sgl'")
      assert.are.equal(1, status)
      assert.matches(name:gsub("%p", "%%%0") .. ":2: cache_dir: not in a file that is only found "
        .. "in the current folder\n  .*%-%-config or SGL_CONFIG", out)
      for _, options in ipairs { { flags = "--config=" .. name },
                                 { env = "SGL_CONFIG=" .. name } } do
        assert.are.equal("/nowhere/sgl\tfile\n", value_of("cache_dir", { [name] = text }, options))
      end
    end)
  end

  it("in Lua that does not end is an error at its line", function()
    for _, loop in ipairs { "while true do end", "for i = 1, math.huge do local x = {} end",
                            "local function f() return f() end f()" } do
      local out, status = inside({ ["sgl.config.lua"] = "threads = 1\n" .. loop .. "\n" },
        "require 'sgl'", { env = "timeout 900" })
      assert.are.equal(1, status)
      assert.matches("sgl.config.lua:2: a configuration file that does not end", out)
    end
  end)

  it("in Lua may compute for a while, and leaves no hook", function()
    local out = inside({ ["sgl.config.lua"] = "local n = 0\nfor i = 1, 3000000 do n = n + i % 2 "
      .. "end\n" .. "threads = n // 1500000\n" }, [[
      local sgl = require "sgl"
      print(sgl.config.threads, debug.gethook())]])
    assert.are.equal("1\tnil\n", out:gsub("\tnil\t.*", "\tnil\n") .. "")
  end)

  it("in YAML needs libyaml, and says so where it is missing", function()
    local ok, message, code, hint = core.yaml "a: 1"
    if ok then return assert.are.same({ { key = "a", value = "1", line = 1 } }, ok) end
    assert.are.equal("SGL_EUNSUP", code)
    assert.matches("libyaml", message)
    assert.matches("libyaml%-0%-2", hint)
  end)
end)

describe("a preset", function()
  teardown(function()
    sgl.config.preset "none"
    sgl.config.verify, sgl.config.event_history = 1, 128
  end)

  it("sets its settings, and the last word counts in the script", function()
    sgl.config.preset "prod"
    assert.are.equal("prod", sgl.config.preset())
    assert.are.equal("prod", tostring(sgl.config.preset))
    assert.are.equal(0, sgl.config.verify)
    sgl.config.verify = 1
    assert.are.equal(1, sgl.config.verify)
    sgl.config.preset "dev"
    assert.are.equal(1024, sgl.config.event_history)
    assert.matches("did you mean 'dev'", support.error_of(sgl.config.preset, "dv").message)
  end)

  it("is weaker than what is said expressly in the same place, stronger than weaker places",
    function()
      local function verify(file, options)
        return (value_of("verify", { ["sgl.yaml"] = file }, options))
      end
      assert.are.equal("1\tfile\n", verify "verify: 1\npreset: prod\n")
      assert.are.equal("1\tfile\n", verify "preset: prod\nverify: 1\n")
      assert.are.equal("0\tpreset in the file\n", verify "preset: prod\n")
      assert.are.equal("0\tpreset in the environment\n", verify("verify: 1\n",
        { env = "SGL_PRESET=prod" }))
      assert.are.equal("1\tenvironment\n", verify("preset: prod\n", { env = "SGL_VERIFY=1" }))
      assert.are.equal("0\tpreset among the flags\n", verify("", { env = "SGL_VERIFY=1",
        flags = "--preset=prod" }))
    end)

  it("has rows for settings that exist and values that they take", function()
    for _, row in ipairs(core.presets()) do
      local before = core.knob(row.setting)
      core.knob(row.setting, row.value)
      core.knob(row.setting, before)
    end
  end)
end)

describe("the set of enabled components", function()
  after_each(function() sgl.config.enable = "all" end)

  local CASES = {
    { "all", "all" }, { "none", "none" }, { "cpu,cache", "cpu,cache" },
    { "cache cpu", "cpu,cache" },
    { "-disk", "cpu,null,cuda,capture,compile,run,cache" }, { "all,-cpu,-null,-cuda",
      "capture,compile,run,cache,disk" }, { { "cpu" }, "cpu" }, { {}, "none" },
    { { disk = false, cpu = false }, "null,cuda,capture,compile,run,cache" },
    { { cpu = true }, "cpu" },
    { "cpu,-cpu", "none" },
  }
  for _, case in ipairs(CASES) do
    it("reads " .. (type(case[1]) == "table" and "a table" or case[1]) .. " as " .. case[2],
      function()
        sgl.config.enable = case[1]
        assert.are.equal(case[2], sgl.config.enable)
      end)
  end

  it("covers the component of every kind of event and every backend", function()
    local members = {}
    for _, knob in ipairs(core.knobs()) do
      if knob.name == "enable" then
        for word in knob.values:gmatch "%S+" do members[word] = true end
      end
    end
    for _, kind in ipairs(core.event_kinds()) do
      assert(kind.component == "" or members[kind.component], kind.name)
    end
    for _, backend in ipairs(core.lifecycle()) do assert(members[backend.name], backend.name) end
  end)
end)

