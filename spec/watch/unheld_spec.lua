-- unheld_spec.lua: a write to a tensor that only the statement itself has is refused, as it would
-- change nothing; what a variable, a table or a function holds is written to.

local sgl = require "sgl"
local support = require "spec.support"

local x, y, model, calls

local function row() return calls end

-- Each statement stands in a function of its own. The first would write to a copy, the second not.
local LOST = {
  ["a row's element"] = function() x[1][2] = 5 end,
  ["positions in variables"] = function(i, j) x[i][j] = x[1][2] + 1 end,
  ["of a global"] = function() GLOBAL[1][2] = 5 end,
  ["of an upvalue's field"] = function() model.w[1][2] = 5 end,
  ["with a choice as the value"] = function(i, j) model.w[i][j] = i and j or 3 end,
  ["of a part"] = function() x[{ 1, {} }][2] = 5 end,
  ["of rows chosen by a tensor"] = function() x[sgl.tensor { 0 }][1] = 5 end,
  ["of three levels"] = function() y[1][2][1] = 5 end,
  ["of a method's result"] = function() x:view(6)[2] = 5 end,
  ["by assign, of a row"] = function() x[1]:assign(3) end,
  ["by assign, of a field's row"] = function() model.w[1]:assign(3) end,
  ["by assign, of a method's result"] = function() x:t():assign(3) end,
  ["by an initialiser"] = function() sgl.nn.init.zeros(x[1]) end,
  ["of two at once"] = function() x[1][2], x[2][1] = 5, 6 end,
  ["of a row beside one that is held"] = function() local r = x[1] r[1], x[1][2] = 5, 6 end,
}

local HELD = {
  ["a part of a variable"] = function() x[{ 1, 2 }] = 5 end,
  ["a row of a variable"] = function() x[1] = 5 end,
  ["a variable as a whole"] = function() x:assign(5) end,
  ["a field as a whole"] = function() model.w:assign(5) end,
  ["a row with a name"] = function() local r = x[1] r[2] = 5 return r end,
  ["a row with a name, by assign"] = function() local r = x[1] r:assign(5) return r end,
  ["a row with a name given later"] = function() local r = x[1]:assign(5) return r end,
  ["an initialised row"] = function() local r = sgl.nn.init.zeros(x[1]) return r end,
  ["a parameter of a function"] = function()
    local function set(r) r[1] = 5 end
    set(x[1])
  end,
}

-- Outside steps only: they write to tables and globals.
local KEPT = {
  ["a global row"] = function() GLOBAL = x[1] GLOBAL[2] = 5 return GLOBAL[2] end,
  ["a global row, by assign"] = function() GLOBAL = x[1]; GLOBAL:assign(5) return GLOBAL[2] end,
  ["a field's row"] = function() model.r = x[1]; model.r[2] = 5 return model.r[2] end,
  ["an item of a table"] = function()
    local rows = { x[1] }; rows[1][2] = 5
    return rows[1][2]
  end,
  ["an item of a table in a loop"] = function()
    local rows = { x[1], x[2] }
    for i = 1, 2 do rows[i][2] = 5 end
    return rows[2][2]
  end,
  ["what a function returns"] = function()
    row()[2] = 5
    return row()[2]
  end,
}

describe("a write", function()
  before_each(function()
    x, y = sgl.zeros(2, 3):realize(), sgl.zeros(2, 2, 2):realize()
    model, calls, GLOBAL = { w = sgl.zeros(2, 3):realize() }, sgl.zeros(3):realize(), x
  end)
  teardown(function() GLOBAL = nil end)

  for name, write in pairs(LOST) do
    it("to a copy is refused: " .. name, function()
      local step = sgl.compile(function() write(1, 2) end)
      for _, fn in ipairs { write, step, sgl.compile(function() write(1, 2) end,
                                                     { fullgraph = false }) } do
        local e = support.error_of(fn, 1, 2)
        assert.are.equal("SGL_EARG", e.code)
        assert.matches("unheld_spec.lua", e.file)
        assert.matches("x%[{1, 2}%] = v", e.hint)
      end
    end)
  end

  for name, write in pairs(HELD) do
    it("to what is held goes through: " .. name, function()
      write()
      sgl.compile(function() write() end)()
    end)
  end

  for name, write in pairs(KEPT) do
    it("to what is held changes it: " .. name, function()
      assert.are.equal(5.0, write():item())
    end)
  end
end)
