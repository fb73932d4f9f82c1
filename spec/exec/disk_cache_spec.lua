-- disk_cache_spec.lua: a warm start has the bits of a cold one; everything that changes meaning is
-- another entry; what is damaged, half written, crowded or full costs an entry, never a result.

local core = require "sgl.core"
local engine = require "spec.engine"
local entries = require "spec.entries"
local random_graph = require "spec.random_graph"
local sgl = require "sgl"
local support = require "spec.support"
local shell, read, write = support.shell, support.read, support.write

local binary = support.run("realpath " .. support.binary):match "[^\n]+"
local folder

local function files(pattern)
  local list = {}
  for name in shell("ls -A " .. folder .. " 2>/dev/null || true"):gmatch "[^\n]+" do
    if name:find(pattern or "%.sgl$") then list[#list + 1] = folder .. "/" .. name end
  end
  return list
end

local LIMIT = core.knob "cache_size_limit"

before_each(function()
  folder = os.tmpname()
  os.remove(folder)
  sgl.config.cache_dir, sgl.config.cache_min_nodes = folder, 0
  sgl.cache.clear()
end)

after_each(function()
  sgl.config.enable, sgl.config.cache_size_limit = "all", LIMIT
  sgl.config.fuse, sgl.config.backend = 1, "cpu"
  os.execute("rm -rf " .. folder)
end)

teardown(function()
  sgl.config.cache_dir, sgl.config.cache_min_nodes = "", 256
end)

-- ---- the key

-- Runs a graph's text without what is in memory; returns where the program came from.
local function origin_of(text)
  sgl.cache.clear()
  local from
  local listener <close> = sgl.on("compile_end", function(e) from = e.cache end)
  local graph = core.parse(text)
  local inputs = {}
  for i, input in ipairs(graph:inputs()) do
    inputs[i] = core.full(input.shape, 1, input.dtype):realize()
  end
  local calls = listener.calls
  local out = graph:run(inputs)
  assert.are.equal(calls + 1, listener.calls)
  return from, out
end

local BASE = [[
graph
composite @1 "halve" in @0
input %0 arg "x" f32[2, 3]
input %1 arg "y" f32[2, 3]
input %2 state "s" f32[2, 3]
%3 = const() {value=0.5, dims=[2, 3], dtype=f32} : f32[2, 3] @1
%4 = mul(%0, %3) : f32[2, 3] @1
%5 = sub(%4, %1) : f32[2, 3]
%6 = add(%5, %2) : f32[2, 3]
%7 = sum(%6) {dims=[1]} : f32[3]
%8 = exp(%6) : f32[2, 3]
call @1(%0) = %4
output %7 "a"
output %8 "b"
assign %2 = %6
]]

-- What is changed, and how: pairs of a pattern and its replacement.
local CHANGES = {
  { "a dtype", "f32", "f64" },
  { "a dim", "2, 3%]", "2, 4]", "f32%[3%]", "f32[4]" },
  { "an op", "exp%(", "sin(" },
  { "an op of the same shape rule", "sub%(", "mul(" },
  { "an attribute", "dims=%[1%]", "dims=[2]", "f32%[3%]", "f32[2]" },
  { "a constant", "value=0.5", "value=0.25" },
  { "a constant's last bit", "value=0.5", "value=0.5000000596046448" },
  { "a constant's sign", "value=0.5", "value=-0.5" },
  { "the order of an op's inputs", "sub%(%%4, %%1%)", "sub(%%1, %%4)" },
  { "an op's inputs being the same", "sub%(%%4, %%1%)", "sub(%%4, %%4)" },
  { "the order of the inputs", 'input %%0 arg "x"', 'input %%1 arg "x"', 'input %%1 arg "y"',
    'input %%0 arg "y"' },
  { "the order of the outputs", 'output %%7 "a"\noutput %%8 "b"',
    'output %%8 "b"\noutput %%7 "a"' },
  { "one output less", 'output %%8 "b"\n', "" },
  { "the same output twice", 'output %%8 "b"', 'output %%7 "b"' },
  { "an assign less", "assign %%2 = %%6\n", "" },
  { "the value of an assign", "assign %%2 = %%6", "assign %%2 = %%5" },
  { "an argument that is state", "input %%1 arg", "input %%1 state" },
  { "an input's name", '"y"', '"z"' },
  { "an output's name", '"b"', '"c"' },
  { "a composite's name", '"halve"', '"half"' },
  { "what is in a composite", "f32%[2, 3%] @1\n%%5", "f32[2, 3]\n%%5" },
}

local function changed(change)
  local text = BASE
  for i = 2, #change, 2 do text = text:gsub(change[i], change[i + 1]) end
  assert(text ~= BASE, change[1])
  return text
end

describe("an entry on disk", function()
  for _, change in ipairs(CHANGES) do
    it("is another for " .. change[1], function()
      assert.are.equal("none", origin_of(BASE))
      assert.are.equal("disk", origin_of(BASE))
      local text = changed(change)
      assert.are.equal("none", (origin_of(text)))
      assert.are.equal("disk", (origin_of(text)))
      assert.are.equal("disk", (origin_of(BASE)))
      assert.are.equal(2, #files())
    end)
  end

  it("is another for -0.0 and 0.0, for NaN and a number; all NaN constants are one", function()
    local bits = {}
    for _, value in ipairs { "0", "-0", "nan", "inf" } do
      local text = BASE:gsub("value=0.5", "value=" .. value)
      assert.are.equal("none", (origin_of(text)))
      local from, out = origin_of(text)
      assert.are.equal("disk", from)
      bits[value] = out[2]:bytes()
    end
    assert.are_not.equal(bits["0"], bits.nan)
    local function step_of(pattern)
      local value = string.unpack("<d", string.pack("<I8", pattern))
      return core.capture(function() return { core.full({ 2 }, value, "f64") } end, {}):graph()
    end
    assert.are.equal(step_of(0x7ff8000000000000):text(), step_of(0xfff8000000012345):text())
  end)

  it("is another for every setting that changes programs, and no other setting", function()
    origin_of(BASE)
    for _, knob in ipairs(core.knobs()) do
      local other = { fuse = 0, backend = "null", isa = "portable", threads = 1, verify = 0,
                      event_rate = 5, exact = 4, exact_over = "all" }
      if other[knob.name] then
        sgl.config[knob.name] = other[knob.name]
        assert.are.equal(knob.key and "none" or "disk", (origin_of(BASE)), knob.name)
        sgl.config[knob.name] = knob.value
      else
        assert.is_false(knob.key, knob.name .. " joins the key and is not tried here")
      end
    end
  end)

  it("is another for another version or other sources of the product", function()
    origin_of(BASE)
    local head = read(files()[1]):match "^[^\n]*\n([^\n]*)\n"
    assert.matches("^sgl " .. core.version:gsub("%.", "%%.") .. " %d+%-%d+$", head)
  end)

  it("does not depend on lines, but errors name those of the script at hand", function()
    local SCRIPT = [[
%slocal sgl = require "sgl"
sgl.on("compile_end", function(e) print(e.cache) end)
local ids = sgl.tensor({ 0, 9 }, { dtype = "i32" }):realize()
local table_of = sgl.ones(3, 2):realize()
local pick = sgl.compile(function(i)
  return table_of:index_select(1, i) * 2
end)
print(pcall(pick, ids))
]]
    local env = ("SGL_CACHE_DIR=%s SGL_CACHE_MIN_NODES=0"):format(folder)
    local cold = support.script(SCRIPT:format "", nil, env)
    local warm = support.script(SCRIPT:format "\n\n\n", nil, env)
    assert.matches("^none\n.*%(script.lua:6%)", cold:match "[^\n]*\nfalse.*" or cold)
    assert.matches("^disk\n.*%(script.lua:9%)", warm:match "[^\n]*\nfalse.*" or warm)
  end)
end)

-- ---- warm starts

-- A training run with products, convolution, normalisation, dropout, indexing, state; it prints the
-- bits of everything, and how many programs came from the disk.
local TRAIN = [[
local sgl, core = require "sgl", require "sgl.core"
local found = { none = 0, disk = 0, memory = 0 }
sgl.on("compile_end", function(e) found[e.cache] = found[e.cache] + 1 end)
sgl.seed(11)
local model = sgl.nn.Sequential(sgl.nn.Conv2d(1, 3, 3), sgl.nn.BatchNorm2d(3), sgl.nn.GELU(),
  sgl.nn.Flatten(), sgl.nn.Dropout(0.2), sgl.nn.Linear(48, 16), sgl.nn.LayerNorm(16),
  sgl.nn.Linear(16, 5))
local opt = sgl.optim.AdamW(model:parameters(), { lr = 0.01 })
local step = sgl.compile(function(x, y)
  local loss = sgl.nn.cross_entropy(model(x), y)
  opt:minimize(loss, { clip_norm = 1 })
  return loss
end)
local x, y = sgl.randn(8, 1, 6, 6), sgl.randint(0, 5, { 8 })
local parts = {}
for i = 1, 4 do parts[i] = step(x, y):bytes() end
for _, p in ipairs(model:parameters()) do parts[#parts + 1] = p:bytes() end
local bits = 0
for byte in table.concat(parts):gmatch "." do bits = (bits ~ byte:byte()) * 0x100000001b3 end
print(("bits %016x"):format(bits))
local disk = sgl.cache.stats().disk
print(found.disk, found.none, disk.damaged, disk.failures, disk.stores)
]]

local ENV = "SGL_CACHE_MIN_NODES=0 SGL_CACHE_DIR="

-- Bits and figures of one run in a process of its own.
local function train(env, prefix)
  local out = support.script(TRAIN, nil, ("%s %s%s %s"):format(prefix or "", ENV, folder,
    env or ""))
  local bits, disk, none, damaged, failures, stores =
    out:match "^bits (%x+)\n(%d+)\t(%d+)\t(%d+)\t(%d+)\t(%d+)\n$"
  assert(bits, out)
  return bits, { disk = tonumber(disk), none = tonumber(none), damaged = tonumber(damaged),
                 failures = tonumber(failures), stores = tonumber(stores) }
end

describe("a warm start", function()
  it("has the bits of a cold one, and compiles nothing", function()
    local want, cold = train()
    assert.are.equal(0, cold.disk)
    assert.is_true(cold.none > 1 and cold.stores == cold.none)
    local bits, warm = train()
    assert.are.equal(want, bits)
    assert.are.equal(0, warm.none)
    assert.are.equal(cold.none, warm.disk)
    assert.are.equal(want, (train "SGL_ENABLE=-disk"))
  end)

  it("has them with other threads and instruction sets, from the same entries", function()
    local want = train()
    for _, env in ipairs { "SGL_ISA=portable", "SGL_THREADS=1", "SGL_VERIFY=0" } do
      local bits, warm = train(env)
      assert.are.equal(want, bits, env)
      assert.are.equal(0, warm.none, env)
    end
  end)

  it("has them on random graphs", function()
    local found = { none = 0, disk = 0 }
    local listener <close> = sgl.on("compile_end", function(e)
      found[e.cache] = found[e.cache] + 1
    end)
    local count = engine.times(200)
    for seed = engine.seed, engine.seed + count - 1 do
      local made = random_graph.generate(seed)
      local cold = core.parse(made.text):run(made.args)
      local warm = core.parse(made.text):run(made.args)
      for k = 1, #cold do assert.are.equal(cold[k]:bytes(), warm[k]:bytes(), "seed " .. seed) end
    end
    assert.is_true(found.disk >= count and listener.errors == 0, found.disk .. " loaded")
    assert.are.equal(0, sgl.cache.stats().disk.damaged)
  end)
end)

-- ---- damage

describe("a damaged entry", function()
  -- Runs the base graph once more and checks its values.
  local want
  local function check(what, damaged)
    local told = 0
    local listener <close> = sgl.on("cache_damaged", function() told = told + 1 end)
    local before = sgl.cache.stats().disk.damaged
    local from, out = origin_of(BASE)
    assert.are.equal(want, out[1]:bytes() .. out[2]:bytes(), what)
    assert.are.equal(damaged and "none" or "disk", from, what)
    assert.are.equal(damaged and 1 or 0, sgl.cache.stats().disk.damaged - before, what)
    assert.are.equal(damaged and 1 or 0, told, what)
    assert.are.equal(told, listener.calls)
  end

  before_each(function()
    local _, out = origin_of(BASE)
    want = out[1]:bytes() .. out[2]:bytes()
  end)

  it("with one flipped bit, anywhere, is removed and made anew", function()
    local path = files()[1]
    local good = read(path)
    local step = math.max(1, #good // engine.times(150))
    for at = 1, #good, step do
      local byte = good:byte(at) ~ (1 << at % 8)
      write(path, good:sub(1, at - 1) .. string.char(byte) .. good:sub(at + 1))
      check("byte " .. at, true)
      assert.are.equal(good, read(path))
    end
    check("whole", false)
  end)

  it("with its end missing, or more behind it, is removed and made anew", function()
    local path = files()[1]
    local good = read(path)
    for _, bytes in ipairs { 0, 1, 20, 60, #good // 2, #good - 1 } do
      write(path, good:sub(1, bytes))
      check(bytes .. " bytes", true)
    end
    write(path, good .. "x")
    check("a byte more", true)
    write(path, ("\0"):rep(#good))
    check("zeros", true)
  end)

  it("whose first line says the same in another way is removed and made anew", function()
    local path = files()[1]
    local good = read(path)
    local sum, key, body, rest = good:match "^sgl program 2 (%x+) (%d+) (%d+)\n(.*)$"
    assert.are_not.equal(sum, sum:upper())
    for _, head in ipairs {
      ("%s %s %s"):format(sum:upper(), key, body), ("0x%s %s %s"):format(sum, key, body),
      ("%s +%s %s"):format(sum, key, body), ("%s 0%s %s"):format(sum, key, body),
      ("%s  %s %s"):format(sum, key, body), ("%s %s %s "):format(sum, key, body),
      ("%s %s\t%s"):format(sum, key, body), ("%s %s %s\r"):format(sum, key, body),
    } do
      write(path, "sgl program 2 " .. head .. "\n" .. rest)
      check(head, true)
      assert.are.equal(good, read(path))
    end
    check("whole", false)
  end)

  it("that is a pipe, a device or larger than the limit is not read", function()
    local path = files()[1]
    for _, command in ipairs { "mkfifo %s", "ln -s /dev/zero %s" } do
      os.remove(path)
      shell(command:format(path))
      check(command, true)
    end
    shell("truncate -s 2G " .. path)
    local before = sgl.cache.stats().disk.damaged
    assert.are.equal("none", (origin_of(BASE)))
    assert.are.equal(before, sgl.cache.stats().disk.damaged)
    check("the new one", false)
  end)

  it("that is another key's is not used, and not damaged", function()
    local path = files()[1]
    origin_of((BASE:gsub("exp%(", "sin(")))
    for _, other in ipairs(files()) do
      if other ~= path then write(path, read(other)) end
    end
    local before = sgl.cache.stats().disk.damaged
    local from, out = origin_of(BASE)
    assert.are.equal("none", from)
    assert.are.equal(want, out[1]:bytes() .. out[2]:bytes())
    assert.are.equal(before, sgl.cache.stats().disk.damaged)
  end)

  it("whose content does not fit its key is removed and made anew", function()
    local path = files()[1]
    local key, body = entries.parts(read(path))
    local mac = entries.key_of(folder)
    assert.are.equal(read(path), entries.make(mac, key, body))
    local CASES = {
      { "another digest", "schedule %x", "schedule 0" }, { "no head", "schedule", "shedule" },
      { "no origins", "origins", "origns" }, { "fewer origins", "(origins %d+) %-?%d+", "%1" },
      { "an origin that is not there", "(origins %d+) %-?%d+", "%1 999" },
      { "a negative origin", "(origins %d+) %-?%d+", "%1 -7" },
      { "an op that is none", "exp%(", "exq(" }, { "another op", "exp%(", "sum(" },
      { "no graph", "\ngraph.*$", "\n" },
      { "another order", "sub%(%%%d+, %%%d+%)", "sub(%%0, %%0)" },
    }
    for _, case in ipairs(CASES) do
      local other = body:gsub(case[2], case[3], 1)
      assert(other ~= body, case[1])
      write(path, entries.make(mac, key, other))
      check(case[1], true)
    end
  end)

  it("with a right tag and anything inside does no harm but to its own values", function()
    local random = engine.random(engine.seed)
    local path = files()[1]
    local key, body = entries.parts(read(path))
    local mac = entries.key_of(folder)
    for _ = 1, engine.times(400) do
      local at = random:int(1, #body)
      local other = body:sub(1, at - 1) .. string.char(random:int(0, 255))
        .. body:sub(at + random:int(0, 3))
      write(path, entries.make(mac, key, other))
      local ok, e = pcall(origin_of, BASE)
      assert(ok, ("SGL_SEED=%d: %s"):format(engine.seed, tostring(e)))
    end
  end)
end)

-- ---- processes and disks

describe("the folder of programs", function()
  it("is $XDG_CACHE_HOME/sgl, or ~/.cache/sgl, and is made for its owner alone", function()
    local script = [[
      local sgl = require "sgl"
      local f = sgl.compile(function(x) return x * 2 + 1 end)
      f(sgl.ones(3))
      print(sgl.cache.stats().disk.folder, sgl.cache.stats().disk.stores > 0)]]
    local env = "SGL_CACHE_MIN_NODES=0 SGL_CACHE_DIR= HOME=" .. folder .. "/home"
    local out = support.script(script, nil, env .. " XDG_CACHE_HOME=" .. folder .. "/xdg")
    assert.are.equal(folder .. "/xdg/sgl\ttrue\n", out)
    out = support.script(script, nil, env .. " XDG_CACHE_HOME=")
    assert.are.equal(folder .. "/home/.cache/sgl\ttrue\n", out)
    assert.matches("^drwx%-%-%-%-%-%-", shell("ls -ld " .. folder .. "/home/.cache/sgl"))
    out = support.script(script, nil, "SGL_CACHE_DIR= XDG_CACHE_HOME= HOME=")
    assert.are.equal("nil\tfalse\n", out)
  end)

  it("is left alone when the disk is not enabled, and by small graphs", function()
    sgl.config.enable = "-disk"
    assert.are.equal("none", (origin_of(BASE)))
    sgl.config.enable = "all"
    sgl.config.cache_min_nodes = 100
    assert.are.equal("none", (origin_of(BASE)))
    assert.are.equal(0, #files())
    sgl.config.cache_min_nodes = 9
    assert.are.equal("none", (origin_of(BASE)))
    assert.are.equal(1, #files())
  end)

  it("holds no programs of symbolic sizes, of which there may be one a combination", function()
    local function step(options)
      local f <close> = sgl.compile(function(x) return (x * 2):tanh():sum() end, options)
      for n = 1, 3 do f(sgl.ones(n):realize()) end
    end
    sgl.config.cache_dir = ""
    for n = 1, 3 do sgl.ones(n):realize() end
    sgl.config.cache_dir = folder
    step { inputs = { sgl.spec { sgl.dim "kept" } } }
    assert.are.equal(0, #files())
    step {}
    assert.are.equal(3, #files())
  end)

  it("that cannot be made or written costs no result", function()
    write(folder, "a file where the folder should be")
    local want, first = train()
    assert.is_true(first.failures > 0 and first.stores == 0)
    os.remove(folder)
    assert.are.equal(want, (train "SGL_CACHE_DIR=/proc/none/sgl"))
  end)

  it("stays within cache_size_limit, the least recently used go first", function()
    local texts = {}
    for i = 1, 6 do
      texts[i] = BASE:gsub("0.5", tostring(i))
      origin_of(texts[i])
      shell(("touch -d '%d minutes ago' %s/*.sgl"):format(10 - i, folder))
    end
    local names = files()
    local age = {}
    for i = 1, 6 do                              -- the older, the smaller i
      for _, path in ipairs(names) do
        if read(path):find("value=" .. i .. ",", 1, true) then
          age[i] = path
          shell(("touch -d '%d minutes ago' %s"):format(60 - i, path))
        end
      end
    end
    local bytes = sgl.cache.stats().disk.bytes
    assert.are.equal("disk", (origin_of(texts[1])))      -- used now
    sgl.config.cache_size_limit = math.floor(bytes * 0.6)
    origin_of((BASE:gsub("0.5", "99")))
    local s = sgl.cache.stats().disk
    assert.is_true(s.bytes <= bytes * 0.6)
    assert.is_true(s.evictions > 0)
    assert.are.equal("disk", (origin_of(texts[1])))
    assert.are.equal("none", (origin_of(texts[2])))
    assert.is_nil(io.open(age[3], "rb"))
  end)

  it("is emptied by clear, of nothing but entries", function()
    origin_of(BASE)
    local hash = ("0123456789abcdef"):rep(2)
    local own = { "mine.txt", "model.sgl", "video.part", hash .. "0.sgl", hash .. ".sgl2" }
    for _, name in ipairs(own) do write(folder .. "/" .. name, "x") end
    sgl.config.cache_size_limit = 1                     -- makes room, too
    origin_of(BASE)
    sgl.config.cache_size_limit = 1 << 30
    sgl.cache.clear { disk = true }
    own[#own + 1] = ".key"
    for i, name in ipairs(own) do own[i] = folder .. "/" .. name end
    table.sort(own)
    local left = files ""
    table.sort(left)
    assert.are.same(own, left)
    assert.are.equal(0, sgl.cache.stats().disk.entries)
  end)

  it("loses the part that a killed process left with the next entry that is written", function()
    origin_of(BASE)
    write(folder .. "/.sgl-0.part", "left behind")
    origin_of((BASE:gsub("0.5", "3")))
    assert.are.equal(2, #files())
    assert.are.equal(0, #files "%.part$")
  end)

  it("is shared by processes that start at once", function()
    local script = os.tmpname()
    write(script, TRAIN)
    local one = ("%s%s %s %s"):format(ENV, folder, binary, script)
    local out = shell(("for i in 1 2 3 4; do (for j in 1 2; do %s; done) & done; wait"):format(one))
    os.remove(script)
    local want, runs = train(), 0
    for bits in out:gmatch "bits (%x+)" do
      runs = runs + 1
      assert.are.equal(want, bits)
    end
    for damaged, failures in out:gmatch "\t(%d+)\t(%d+)\t%d+\n" do
      assert.are.equal("0 0", damaged .. " " .. failures)
    end
    assert.are.equal(8, runs)
    assert.are.equal(0, #files "%.part$")
  end)

  it("survives processes that are killed while they write", function()
    local want = train()
    local before = #files()
    local script = os.tmpname()
    -- Entries of some size, one after the other, for ever.
    write(script, [[
      local sgl = require "sgl"
      local x = sgl.ones(4):realize()
      for i = 1, 1e9 do
        sgl.compile(function(v)
          for k = 1, 60 do v = v * (i + k / 64) + v:sum() end
          return v
        end)(x)
      end
    ]])
    -- Each is killed at its own moment after its third entry, however long it took to start.
    local kill = [[
      count() { find %s -name '*.sgl' | wc -l; }
      before=$(count)
      %s%s %s %s >%s.log 2>&1 & pid=$!
      while [ $(count) -lt $((before + 3)) ] && kill -0 $pid; do sleep 0.01; done
      sleep 0.%02d; kill -9 $pid; wait $pid]]
    for i = 1, engine.times(20) do
      shell(("{ %s; } 2>/dev/null; rm -f %s.log"):format(
        kill:format(folder, ENV, folder, binary, script, script, 3 * i), script))
    end
    os.remove(script)
    local bits, warm = train()
    assert.are.equal(want, bits)
    assert.are.equal("0 0", warm.damaged .. " " .. warm.none)
    assert.is_true(#files() >= before + 3, before .. " and then " .. #files() .. " entries")
    for _, path in ipairs(files()) do assert.matches("^sgl program 2 %x+ %d+ %d+\n", read(path)) end
  end)

  it("that is full costs no result and keeps no part (a limit on the size of files)", function()
    local want = train "SGL_ENABLE=-disk"
    for _, before in ipairs { "trap '' XFSZ; ulimit -f 4;", "ulimit -f 4;" } do
      local bits, full = train(nil, before)
      assert.are.equal(want, bits)
      assert.is_true(full.failures > 0)
      assert.are.equal(0, #files "%.part$")
    end
    local after, warm = train()
    assert.are.equal(want, after)
    assert.are.equal(0, warm.damaged)
  end)

  it("that is full costs no result and keeps no part (a small file system)", function()
    if not os.execute "unshare -rm true 2>/dev/null" then return pending "needs unshare" end
    shell("mkdir " .. folder)
    local script = os.tmpname()
    write(script, TRAIN)
    local out, status = support.run(([[unshare -rm sh -c '
      mount -t tmpfs -o size=16k none %s || exit 9
      %s%s %s %s; %s%s %s %s; ls -A %s']]):format(folder, ENV, folder, binary, script, ENV, folder,
      binary, script, folder))
    os.remove(script)
    if status == 9 then return pending "cannot mount" end
    local want = train "SGL_ENABLE=-disk"
    local count = 0
    for bits in out:gmatch "bits (%x+)" do
      count = count + 1
      assert.are.equal(want, bits)
    end
    assert.are.equal(2, count, out)
    assert.is_nil(out:find "%.part")
    assert.is_true(tonumber(out:match "\n%d+\t%d+\t0\t(%d+)\t%d+\n") > 0, out:sub(-400))
  end)
end)
