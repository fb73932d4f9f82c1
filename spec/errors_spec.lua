-- errors_spec.lua: each mistake of bad_uses.lua gets a message with the user's file and line, what
-- is involved and what to do, and leaves the process usable.

local sgl = require "sgl"
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
