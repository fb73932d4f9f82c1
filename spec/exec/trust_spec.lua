-- trust_spec.lua: whatever others put into the folder of programs, or in its place, changes no
-- result and no file outside it: forged entries, folders of others, links, dates.

local core = require "sgl.core"
local entries = require "spec.entries"
local sgl = require "sgl"
local support = require "spec.support"
local shell, read, write = support.shell, support.read, support.write

local IS_ROOT = support.run "id -u" == "0\n"
local base, folder                       -- a folder of this spec, and the one of programs in it

local function list(where)
  local names = {}
  for name in shell("ls -A " .. where):gmatch "[^\n]+" do names[#names + 1] = name end
  return names
end

local function entry_of(where)
  for _, name in ipairs(list(where)) do
    if name:find "%.sgl$" then return where .. "/" .. name end
  end
end

before_each(function()
  base = shell("mktemp -d"):match "[^\n]+"
  folder = base .. "/programs"
  sgl.config.cache_dir, sgl.config.cache_min_nodes = folder, 8
  sgl.cache.clear()
end)

after_each(function()
  sgl.config.cache_size_limit = 1 << 30
  os.execute("rm -rf " .. base)
end)

teardown(function()
  sgl.config.cache_dir, sgl.config.cache_min_nodes = "", 256
end)

local STEP = [[
graph
input %0 arg "x" f32[2, 3]
input %1 arg "y" f32[2, 3]
input %2 state "s" f32[2, 3]
%3 = const() {value=0.5, dims=[2, 3], dtype=f32} : f32[2, 3]
%4 = mul(%0, %3) : f32[2, 3]
%5 = sub(%4, %1) : f32[2, 3]
%6 = add(%5, %2) : f32[2, 3]
%7 = sum(%6) {dims=[1]} : f32[3]
%8 = exp(%6) : f32[2, 3]
output %7 "a"
output %8 "b"
assign %2 = %6
]]

-- Inputs 3, 1 and 2: 0.5 * 3 - 1 + 2 = 2.5; the sums of two are 5, e^2.5 is 12.18249.
local VALUES = "f32[3] 5.0 5.0 5.0; f32[2, 3]" .. (" 12.18249"):rep(6)

local function text_of(t)
  local flat, values = t:reshape(-1):tolist(), {}
  for i, v in ipairs(flat) do values[i] = tostring(v):sub(1, 8) end
  return ("%s[%s] %s"):format(t.dtype, table.concat(t.shape, ", "), table.concat(values, " "))
end

-- Runs the graph without what is in memory: where its program came from, and what it gave.
local function run(text)
  sgl.cache.clear()
  local from
  local graph, inputs = core.parse(text), {}
  for i, input in ipairs(graph:inputs()) do
    inputs[i] = core.full(input.shape, ({ 3, 1, 2 })[i] or 1, input.dtype):realize()
  end
  local listener = sgl.on("compile_end", function(e) from = e.cache end)
  local out, parts = graph:run(inputs), {}
  listener:close()
  for k, t in ipairs(out) do parts[k] = text_of(t) end
  assert.are.equal(0, listener.errors)
  return from, table.concat(parts, "; ")
end

-- What is told of the folder meanwhile, as reasons.
local function reasons_of(kind, fn)
  local reasons = {}
  local listener <close> = sgl.on(kind, function(e) reasons[#reasons + 1] = e.reason end)
  fn()
  assert.are.equal(#reasons, listener.calls)
  return reasons
end

-- ---- entries

-- What the forged program does otherwise; pairs of a pattern and its replacement, and the reason
-- for which it is refused.
local FORGED = {
  { "an output more", "outputs", 'output %%8 "b"\n', 'output %%8 "b"\noutput %%6 "c"\n' },
  { "an output less", "outputs", 'output %%8 "b"\n', "" },
  { "a larger output", "outputs", "sum%(%%6%) {dims=%[1%]} : f32%[3%]", "neg(%%6) : f32[2, 3]" },
  { "an output of another dtype", "outputs", "exp%(%%6%) : f32", "le(%%6, %%5) : bool" },
  { "outputs in another order", "outputs", 'output %%7 "a"\noutput %%8 "b"',
    'output %%8 "b"\noutput %%7 "a"' },
  { "an output of another name", "outputs", '"b"', '"c"' },
  { "an input more", "inputs", 'input %%2 state "s" f32%[2, 3%]\n',
    'input %%2 state "s" f32[2, 3]\ninput %%9 arg "z" f32[2, 3]\n' },
  { "larger inputs", "inputs", "2, 3%]", "20, 3]" },
  { "inputs of another dtype", "inputs", "f32", "f64" },
  { "an argument that is state", "inputs", "input %%1 arg", "input %%1 state" },
  { "an input of another name", "inputs", '"y"', '"z"' },
  { "an assign less", "assigns", "assign %%2 = %%6\n", "" },
  { "an assign of another state", "inputs", "assign %%2", "assign %%1", "input %%1 arg",
    "input %%1 state" },
  { "an effect more", "effects", "output %%7",
    '%%9 = const() {value=0, dims=[], dtype=i32} : i32[]\n%%10 = print(%%9, %%6) {text="forged"} : '
      .. 'i32[]\neffect %%10\noutput %%7' },
}

local function forged_text(case)
  local text = STEP
  for i = 3, #case, 2 do text = text:gsub(case[i], case[i + 1]) end
  assert(text ~= STEP, case[1])
  return text
end

-- The body of the entry that the text's program gets.
local function body_of(text)
  sgl.config.cache_dir = base .. "/other"
  run(text)
  local _, body = entries.parts(read(entry_of(base .. "/other")))
  sgl.config.cache_dir = folder
  return body
end

describe("a forged entry", function()
  -- The entry of the step, once it has been made.
  local path, good
  before_each(function()
    assert.are.equal(VALUES, select(2, run(STEP)))
    path = entry_of(folder)
    good = read(path)
  end)

  -- What is planted is refused, removed, told, and made anew.
  local function check_refused(planted, reason)
    write(path, planted)
    local from, values
    local reasons = reasons_of("cache_damaged", function() from, values = run(STEP) end)
    assert.are.equal("none", from)
    assert.are.equal(VALUES, values)
    assert.are.equal(1, #reasons)
    assert.matches(reason, reasons[1])
    assert.are.equal(good, read(path))
    assert.are.equal("disk", (run(STEP)))
  end

  for _, case in ipairs(FORGED) do
    it("with a right tag and " .. case[1] .. " is refused", function()
      local key = entries.parts(good)
      local body = body_of(forged_text(case))
      check_refused(entries.make(entries.key_of(folder), key, body), case[2])
    end)
  end

  local OTHER_VALUES = {
    { "another op", "exp%(", "sin(" }, { "another constant", "value=0.5", "value=0.25" },
    { "another order of an op's inputs", "sub%(%%4, %%1%)", "sub(%%1, %%4)" },
  }
  for _, case in ipairs(OTHER_VALUES) do
    it("with " .. case[1] .. " is refused without the folder's key", function()
      local key, body = entries.parts(good), body_of((STEP:gsub(case[2], case[3])))
      check_refused(entries.make(("\0"):rep(16), key, body), "not written by this user")
      check_refused(entries.make(read(folder .. "/.key"), key, body), "not written by this user")
      check_refused(entries.make(entries.key_of(base .. "/other"), key, body),
        "not written by this user")
      local tag = good:match "^sgl program 2 (%x+)"
      check_refused((entries.make(("\0"):rep(16), key, body):gsub("%x+", tag, 1)), "not an entry")
    end)
  end

  it("that comes with its folder and its key is refused: a copy has another key", function()
    local key, body = entries.parts(good), body_of((STEP:gsub("exp%(", "sin(")))
    write(path, entries.make(entries.key_of(folder), key, body))
    shell(("cp -a %s %s/copy"):format(folder, base))
    sgl.config.cache_dir = base .. "/copy"
    local from, values
    local reasons = reasons_of("cache_damaged", function() from, values = run(STEP) end)
    assert.are.equal("none " .. VALUES, from .. " " .. values)
    assert.matches("not written by this user in this folder", reasons[1])
    assert.are.equal("disk", (run(STEP)))
  end)

  it("is no use where the key may be read by others: it is made anew", function()
    for _, spoil in ipairs { "chmod 644 %s", "echo more >> %s", "rm %s && mkfifo -m 600 %s",
                             "rm %s && ln -s /dev/zero %s", "ln %s %s2" } do
      local secret = read(folder .. "/.key")
      shell((spoil:gsub("%%s", folder .. "/.key")))
      local from, values = run(STEP)
      assert.are.equal("none " .. VALUES, from .. " " .. values, spoil)
      assert.are_not.equal(secret, read(folder .. "/.key"))
      assert.matches("^%-rw%-%-%-%-%-%-%-", shell("ls -l " .. folder .. "/.key"))
      assert.are.equal("disk", (run(STEP)))
    end
  end)
end)

-- ---- folders

local NOBODY = 65534

-- How the folder is made, with %s for it and %b for the one above; and why it is refused.
local HOSTILE = {
  { "that everybody may write to", "mkdir -m 777 %s", "may be written to by others" },
  { "that everybody may write to, sticky", "mkdir -m 1777 %s", "may be written to by others" },
  { "that a group may write to", "mkdir -m 770 %s", "may be written to by others" },
  { "that is a link to one of the user's", "mkdir -m 700 %b/own && ln -s own %s", "is a link" },
  { "that is a link to nothing", "ln -s nowhere %s", "is a link" },
  { "that is a file", "touch %s", "is a link or a file" },
  { "in one that everybody may write to", "mkdir -m 700 %s && chmod 777 %b", "by everybody" },
  { "that belongs to another user", "mkdir -m 700 %s && chown 65534 %s", "belongs to another user",
    root = true },
  { "that another user left open", "mkdir -m 777 %s && chown 65534 %s", "belongs to another user",
    root = true },
  { "in one of another user", "mkdir -m 700 %s && chown 65534 %b", "belongs to another user",
    root = true },
}

describe("a folder of programs", function()
  for _, case in ipairs(HOSTILE) do
    it(case[1] .. " is refused with the reason, and left alone", function()
      if case.root and not IS_ROOT then return pending "needs root" end
      run(STEP)                                          -- an entry to plant
      local entry, key = read(entry_of(folder)), read(folder .. "/.key")
      local name = entry_of(folder):match "[^/]+$"
      shell("rm -r " .. folder)
      shell((case[2]:gsub("%%s", folder):gsub("%%b", base)))
      if os.execute(("test -d %s"):format(folder)) then
        write(folder .. "/" .. name, entry)
        write(folder .. "/.key", key)
      end
      sgl.config.cache_dir = folder                      -- looked at again
      local before = shell("ls -lAR --full-time " .. base)
      local failures = sgl.cache.stats().disk.failures
      local reasons = reasons_of("cache_refused", function()
        sgl.config.cache_dir = folder
        for _ = 1, 3 do
          local from, values = run(STEP)
          assert.are.equal("none " .. VALUES, from .. " " .. values)
        end
      end)
      assert.are.equal(1, #reasons)
      assert.matches(case[3], reasons[1])
      assert.matches("cache_dir", reasons[1])
      local disk = sgl.cache.stats().disk
      assert.are.equal(reasons[1], disk.refused)
      assert.are.equal(3, disk.failures - failures)
      sgl.cache.clear { disk = true }
      assert.are.equal(before, shell("ls -lAR --full-time " .. base))
    end)
  end

  it("of one's own is used, also in a sticky folder and behind a link above", function()
    shell(("mkdir -m 1777 %s/tmp && mkdir -m 755 %s/real && ln -s real %s/link"):format(base, base,
      base))
    for _, where in ipairs { "/tmp/sgl", "/link/sgl", "/real/a/b/c/", "/real/../real/x//y" } do
      sgl.config.cache_dir = base .. where
      assert.are.equal("none", (run(STEP)))
      assert.are.equal("disk", (run(STEP)))
      assert.is_nil(sgl.cache.stats().disk.refused)
    end
  end)

  it("is used after all when its owner has closed it", function()
    shell("mkdir -m 777 " .. folder)
    sgl.config.cache_dir = folder
    assert.are.equal("none", (run(STEP)))
    shell("chmod 755 " .. folder)
    assert.are.equal("none", (run(STEP)))
    assert.are.equal("disk", (run(STEP)))
    assert.is_nil(sgl.cache.stats().disk.refused)
  end)

  it("of another user is refused to one who is not root", function()
    local drop = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    if not IS_ROOT or select(2, support.run(drop .. " true")) ~= 0 then
      return pending "needs root and setpriv"
    end
    shell(("mkdir -m 777 %s && chmod 755 %s"):format(folder, base))
    local out = support.script([[
      local sgl = require "sgl"
      sgl.compile(function(x) return x * 2 + 1 end)(sgl.ones(3))
      print(sgl.cache.stats().disk.stores, sgl.cache.stats().disk.refused)]], "",
      ("chmod 755 /work 2>/dev/null; %s env SGL_CACHE_MIN_NODES=0 SGL_CACHE_DIR=%s"):format(drop,
        folder))
    if out:find "Permission denied" then return pending "the interpreter is out of its reach" end
    assert.matches("^0\t" .. folder .. " belongs to another user", out)
    assert.are.same({}, list(folder))
  end)
end)

-- ---- links

local function state_of(path)
  return shell(("stat -c '%%s %%a %%Y' %s"):format(path)) .. read(path)
end

describe("a link in the folder of programs", function()
  local precious, before

  before_each(function()
    run(STEP)
    precious = base .. "/precious"
    write(precious, "of the user's")
    shell(("chmod 640 %s && touch -d '2 days ago' %s"):format(precious, precious))
    before = state_of(precious)
  end)

  -- Links take the place of each name that is written. A hard link counts in the file itself, but
  -- is no change of it.
  local PLANTED = {
    { "in place of an entry", "ln -sf ../precious %e" },
    { "in place of an entry, to nothing", "ln -sf ../nothing %e" },
    { "in place of an entry, a hard one", "ln -f %p %e" },
    { "in place of the key", "ln -sf ../precious %f/.key" },
    { "in place of the key, to nothing", "ln -sf ../nothing %f/.key" },
    { "in place of the key, a hard one", "ln -f %p %f/.key" },
    { "in place of a part", "rm %e && ln -s ../precious %f/.sgl-0.part" },
    { "in place of a part, to nothing", "rm %e && ln -s ../nothing %f/.sgl-0.part" },
    { "in place of all", "ln -sf ../precious %e; ln -sf ../precious %f/.key; "
      .. "for i in 0 1 2 3; do ln -s ../precious %f/.sgl-$i.part; done" },
  }
  for _, case in ipairs(PLANTED) do
    it(case[1] .. " is not followed", function()
      local entry = entry_of(folder)
      shell((case[2]:gsub("%%e", entry):gsub("%%f", folder):gsub("%%p", precious)))
      for _ = 1, 2 do
        local _, values = run(STEP)
        assert.are.equal(VALUES, values)
      end
      assert.are.equal("disk", (run(STEP)))
      assert.matches("^sgl program 2 ", read(entry))
      assert.matches("^%-", shell("ls -l " .. entry))
      sgl.cache.clear { disk = true }
      assert.are.equal(before, state_of(precious))
      assert.is_false(os.execute(("test -e %s/nothing"):format(base)) or false)
    end)
  end

  it("is removed itself when room is made, not what it leads to", function()
    local entry = entry_of(folder)
    for i = 1, 3 do shell(("ln -s ../precious %s/%032x.sgl"):format(folder, i)) end
    sgl.cache.clear { disk = true }
    assert.are.same({ ".key" }, list(folder))
    assert.is_nil(io.open(entry))
    assert.are.equal("of the user's", read(precious))
  end)
end)

-- ---- dates

describe("a date in the future", function()
  it("is no advantage when room is made", function()
    local planted = {}
    for i = 1, 4 do
      run((STEP:gsub("0.5", tostring(i))))
      for _, name in ipairs(list(folder)) do
        if name:find "%.sgl$" and not planted[name] then
          planted[name] = true
          shell(("touch -d '20%d0-01-01' %s/%s"):format(3 + i, folder, name))
        end
      end
    end
    run(STEP)                                            -- used now
    local bytes = sgl.cache.stats().disk.bytes
    sgl.config.cache_size_limit = bytes - 1
    run((STEP:gsub("0.5", "9")))
    assert.are.equal("disk", (run(STEP)))
    assert.is_true(sgl.cache.stats().disk.bytes < bytes)
    local left = 0
    for name in pairs(planted) do
      if os.execute(("test -e %s/%s"):format(folder, name)) then left = left + 1 end
    end
    assert.is_true(left < 4)
  end)

  it("becomes that of today when the entry is used", function()
    run(STEP)
    local entry = entry_of(folder)
    shell("touch -d '2040-01-01' " .. entry)
    assert.are.equal("disk", (run(STEP)))
    assert.is_true(math.abs(tonumber(shell("stat -c %Y " .. entry)) - os.time()) < 60)
  end)
end)
