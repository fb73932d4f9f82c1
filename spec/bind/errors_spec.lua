-- errors_spec.lua: each mistake of bad_uses.lua gets a message with the user's file and line, what
-- is involved and what to do, and leaves the process usable.

local sgl = require "sgl"
local api = require "sgl.api"
local core = require "sgl.core"
local support = require "spec.support"
local bad = require "spec.bad_uses"

local folder
setup(function()
  folder = support.folder()
  for name, text in pairs(bad.files) do support.write(folder .. name, text) end
end)
teardown(function() support.remove(folder) end)

-- Above the texts, so that a line number means something.
local OFFSET = 2

local ENV = setmetatable({
  sgl = sgl, nn = sgl.nn, optim = sgl.optim, data = sgl.data,
  file = function(name) return folder .. name end,
}, { __index = _G })

local function chunk(text)
  return assert(load(("\n"):rep(OFFSET) .. text, "@train.lua", "t", ENV)
    or load(("\n"):rep(OFFSET) .. "return " .. text, "@train.lua", "t", ENV))
end

local function check_usable()
  assert.is_false(core.capturing())
  assert.are.equal(6.0, (sgl.ones(3) + 1):sum():item())
end

local function check_pieces(row, first, text)
  for i = first, #row do
    assert(text:find(row[i], 1, true), ("no %q in\n%s"):format(row[i], text))
  end
end

-- The line of the call is the last one.
local function line_of(text)
  local _, lines = text:gsub("\n", "")
  return OFFSET + math.max(1, lines)
end

for _, family in ipairs(bad.raises) do
  describe("a mistake in " .. family[1] .. ":", function()
    for i = 2, #family do
      local row = family[i]
      it(row[2], function()
        local e = support.error_of(chunk(row[2]))
        assert.are.equal("table", type(e), tostring(e))
        local text = tostring(e)
        assert.are.equal(row[1], e.code, text)
        assert.are.equal(("train.lua:%d:"):format(line_of(row[2])), text:match "^[^:]*:%d+:")
        check_pieces(row, 3, text)
        check_usable()
      end)
    end
  end)
end

-- The table in which a row's method is found: "sgl.Compiled", "nn.Module", "data.Text".
local function class_of(row)
  if row.kind == "tensor" or row.module == "sgl.Tensor" then return core.Tensor end
  if row.module == "sgl.Graph" then return core.Graph end
  local class = sgl
  for word in row.module:gsub("^sgl%.", ""):gmatch "%w+" do class = class[word] end
  return class
end

describe("a dot for the colon", function()
  -- It has a message of its own: there is nothing to call.
  local OTHERS = { backward = true }

  it("is told of every method, by its name", function()
    local count = 0
    for _, row in ipairs(api.all()) do
      local is_method = (row.kind == "method" or row.kind == "tensor") and not OTHERS[row.name]
      for _, argument in ipairs(is_method and { "", "{ 1, 2 }", "'text'" } or {}) do
        local call = load(("local o = ... o.%s(%s)"):format(row.name, argument), "@train.lua")
        local e = support.error_of(call, class_of(row))
        local text = ("%s(%s): %s"):format(row.full, argument, tostring(e))
        assert.are.equal("SGL_EARG", type(e) == "table" and e.code, text)
        assert(e.hint and e.hint:find((":%s("):format(row.name), 1, true), text)
        assert(e.hint:find("with a colon", 1, true), text)
        count = count + 1
      end
    end
    assert.is_true(count > 400)
    check_usable()
  end)

  it("is told of the programs and of the forward of a layer, inside a step too", function()
    local step = sgl.compile(function(x) return x * 2 end)
    step(sgl.ones(2))
    local program = step:programs()[1].program
    local e = support.error_of(function() program.info() end)
    assert.matches("program:info%(…%), with a colon", e.hint)
    local layer, x = sgl.nn.Linear(2, 2), sgl.ones(1, 2)
    for _, call in ipairs { function(v) return layer.forward(v) end,
                            function(v) return layer.parameters(v) end } do
      assert.matches("object:%a+%(…%), with a colon", support.error_of(call, x).hint)
      assert.matches("object:%a+%(…%), with a colon",
        support.error_of(sgl.compile(call), x).hint)
    end
  end)

  it("of an object of another class is told as well", function()
    local dataset, text = sgl.data.dataset(sgl.ones(2, 2)), sgl.data.Text
    assert.matches("called on a table", support.error_of(text.encode, dataset, "a").message)
  end)
end)

describe("an expected failure gives nil, message, code:", function()
  for _, row in ipairs(bad.returns) do
    it(row[2], function()
      local value, message, code = chunk(row[2])()
      assert.is_nil(value)
      assert.are.equal(row[1], code)
      check_pieces(row, 3, message)
      check_usable()
    end)
  end
end)

describe("the program says what is wrong with", function()
  for _, row in ipairs(bad.commands) do
    it(row[1] .. " " .. row[2], function()
      local out, status = support.run(("%s %s %s"):format(row[1], support.binary, row[2]))
      assert.are.equal(1, status, out)
      check_pieces(row, 3, out)
    end)
  end
end)

describe("a value in a message", function()
  local LONG, STEERS = ("x"):rep(5000), "a\27[2Jb\n\0\x9b\xc2\x9bö"

  -- Ways for a text of the user into a message.
  local WAYS = {
    function(text) return sgl[text] end,
    function(text) return sgl.nn[text] end,
    function(text) return sgl.ones(2)[text] end,
    function(text) return sgl.zeros(text) end,
    function(text) return sgl.ones(2):to(text) end,
    function(text) return sgl.ones(2):mean(1, { [text] = true }) end,
    function(text) return sgl.nn.Linear(2, 2, { dtype = text }) end,
    function(text) return sgl.einsum(text, sgl.ones(2)) end,
    function(text) return sgl.ones(2):pad({ 1, 1 }, { mode = text }) end,
    function(text) return sgl.nn.mse_loss(sgl.ones(2), sgl.ones(2), { reduction = text }) end,
    function(text) return sgl.nn.init.kaiming_normal(sgl.ones(2, 2), { mode = text }) end,
    function(text) return sgl.on(text, function() end) end,
    function(text) return sgl.save({ [text] = print }, "/dev/null") end,
    function(text) sgl.config[text] = 1 end,
    function(text) sgl.config.isa = text end,
    function(text) return sgl.dim(text) end,
    function(text) return core.graph {}:eval({}, { text }) end,
    function(text) return sgl.compile(print, { batch = { [text] = 1 } })(sgl.ones(2)) end,
    function(text) error(select(2, sgl.load(text)), 0) end,
    function(text) error(select(2, sgl.data.csv(text)), 0) end,
  }

  it("is cut at 200 bytes", function()
    for i, way in ipairs(WAYS) do
      local text = tostring(support.error_of(function()
        way(LONG)
        error("xx" .. i, 0)                     -- such a name is none too long
      end))
      assert(#text < 1000, ("way %d: %d bytes: %s"):format(i, #text, text:sub(1, 300)))
      local shown = text:match "xx+"
      assert(shown and #shown <= 200, ("way %d: %s"):format(i, text:sub(1, 300)))
    end
  end)

  it("has no bytes that steer a terminal", function()
    for i, way in ipairs(WAYS) do
      local text = tostring(support.error_of(way, STEERS))
      assert(not text:find "[\0-\9\11-\31\127]" and not text:find("b\n", 1, true),
        ("way %d: %q"):format(i, text))
      assert(text:find("a\\x1b[2Jb\\n", 1, true), ("way %d: %q"):format(i, text))
    end
  end)

  it("keeps whole characters, and escapes what is none", function()
    assert.are.equal("'ö€\u{1F600}'", core.quote "ö€\u{1F600}")
    assert.are.equal([['\xff\xc3(\xed\xa0\x80\xc2\x85']],
      core.quote "\xff\xc3(\xed\xa0\x80\xc2\x85")
    assert.are.equal("'" .. ("€"):rep(66) .. "...'", core.quote(("€"):rep(67)))
    assert.are.equal("'" .. ("a"):rep(200) .. "'", core.quote(("a"):rep(200)))
  end)
end)

describe("a tensor where Lua needs a number", function()
  it("is told how to read it", function()
    for _, call in ipairs { "('%.3f'):format(t)", "math.floor(t)", "('a'):rep(t)",
                            "(function() for _ = 1, t do end end)()" } do
      local fn = assert(load("local t = ... return " .. call, "@train.lua"))
      local text = tostring(support.error_of(fn, sgl.ones(1)))
      assert(text:find("got tensor (t:item() is its value)", 1, true), text)
    end
  end)
end)

describe("a tail call", function()
  local function tail(x) return x:matmul(sgl.ones(3, 3)) end
  local function plain(x)
    local y = x:matmul(sgl.ones(3, 3))
    return y
  end
  local function lost(fn, ...)
    local e = support.error_of(function(...)
      local r = fn(...)
      return r
    end, ...)
    return (e.hint or ""):find("tail call", 1, true) ~= nil
  end

  it("is told of, as Lua keeps no line of it", function()
    local layer = sgl.nn.Linear(3, 3)
    assert.is_true(lost(tail, sgl.ones(2, 2)))
    assert.is_true(lost(function(x) return layer(x) end, sgl.ones(2, 2)))
    assert.is_true(lost(function(x) return x:sum(9) end, sgl.ones(2, 2)))
    assert.is_true(lost(function(x) return sgl.compile(x) end, 1))
  end)

  it("is not told of where there is none", function()
    local layer, opt = sgl.nn.Linear(3, 3), sgl.optim.SGD({ sgl.nn.parameter(sgl.ones(2)) })
    assert.is_false(lost(plain, sgl.ones(2, 2)))
    for _, call in ipairs {
      function(x) local y = layer(x) return y end,
      function(x) local y = sgl.nn.Linear(x, x) return y end,
      function(x) local y = x:sum(9) return y end,
      function() opt:step(1) end,
      function(x) opt:minimize(x) end,
      function(x) sgl.data.dataset(x):split(2) end,
      function(x) local y = sgl.optim.Adam(x) return y end,
      function(x) local y = sgl.compile(x) return y end,
      function(x) local y = sgl.nn.Sequential(x) return y end,
      function(x) local y = sgl.optim.schedule.cosine(x) return y end,
      function(x) sgl.on("x", x) end,
    } do
      assert.is_false(lost(call, sgl.ones(2, 2)), debug.getinfo(call, "S").linedefined)
    end
  end)
end)

describe("the table of bad uses", function()
  it("holds at least sixty", function()
    local count = #bad.returns + #bad.commands
    for _, family in ipairs(bad.raises) do count = count + #family - 1 end
    assert.is_true(count >= 60)
  end)
end)

describe("what is no mistake", function()
  it("is the gradient of something unrelated: it is zero", function()
    local x, y = sgl.ones(3), sgl.ones(2, 2)
    assert.are.same({ 0.0, 0.0, 0.0 }, sgl.grad((y * 2):sum(), x):tolist())
  end)

  it("is an empty batch: sums are 0, shapes go on", function()
    local x = sgl.zeros(0, 4)
    assert.are.same({ 0, 3 }, sgl.nn.Linear(4, 3)(x).shape)
    assert.are.equal(0.0, x:sum():item())
    assert.are.same({}, sgl.nn.Embedding(5, 2)(sgl.zeros(0):int()):tolist())
  end)

  it("is an error of the user inside a step: it comes out as it was", function()
    local mine = {}
    local step = sgl.compile(function() error(mine) end)
    assert.are.equal(mine, support.error_of(step))
    check_usable()
  end)
end)
