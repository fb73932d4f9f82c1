-- condition_spec.lua: at a break on a condition the message quotes the expression that was tested,
-- or none; it never quotes another one, whatever else stands on the line.

local condition = require "sgl.breaks.condition"
local sgl = require "sgl"
local support = require "spec.support"

-- The line, what the instruction was, the op if it was recorded there; the word and the expression
-- that must come out, nil where the line does not say.
local TEST, JOIN, NOT = "a condition", "'and' or 'or'", "'not'"
local LINES = {
  { "if x:gt(0) then return 1 end", TEST, nil, "'if'", "x:gt(0)" },
  { "if not x:gt(0) then return 1 end", TEST, nil, "'if'", "x:gt(0)" },
  { "if x then", TEST, nil, "'if'", "x" },
  { "if a == 3 then z = 1 elseif x:gt(0) then", TEST, nil, "'elseif'", "x:gt(0)" },
  { "if a then z = 1 elseif x:gt(0) then", TEST },
  { "if a then z = 1 elseif x:gt(0) then", TEST, "gt", "'elseif'", "x:gt(0)" },
  { "if self.on then z = 1 end while x:gt(0) do", TEST, "gt", "'while'", "x:gt(0)" },
  { "while x:gt(0) do if a then", TEST, "gt", "'while'", "x:gt(0)" },
  { "while true do if x:gt(0) then break end end", TEST, nil, "'if'", "x:gt(0)" },
  { "if x:gt(0) then z = 1 end while y:gt(0) do", TEST, "gt", "'if'", "x:gt(0)" },
  { "if x:gt(0) then z = 1 end while y:gt(0) do", TEST },
  { "if y:any() then z = 1 end while x:gt(0) do", TEST, "gt" },
  { "local a = x:gt(0) if a and y:gt(1) then", TEST, "gt" },
  { "for _, a in ipairs { x:gt(0) } do if a or y:gt(1) then", TEST, "gt" },
  { "if a and x:gt(0) then", TEST, "gt", "'if'", "x:gt(0)" },
  { "if a and x:gt(0) then", TEST },
  { "if n > 3 and x:gt(0) then", TEST, nil, "'if'", "x:gt(0)" },
  { "if n > 3 and x:gt(0) or y:gt(1) then", TEST, "gt" },
  { "if (a and b):gt(0) then", TEST },
  { "if x:gt(0) and", TEST },
  { "if x:gt(0) and", TEST, "gt", "'and'", "x:gt(0)" },
  { "  and x:gt(0) then", TEST },
  { "  x:gt(0) then", TEST }, { "  y, x):gt(0) then", TEST, "gt" },
  { "  x:gt(0) and 1", JOIN, nil, "'and'" },
  { "if a then y = 1 end if x:gt(", TEST, nil, "'if'" },
  { "f(a, function() if x:gt(0) then", TEST, nil, "'if'", "x:gt(0)" },
  { "if x:gt(", TEST, nil, "'if'" },
  { "if x:gt(0)", TEST, nil, "'if'" },
  { "repeat x = x + 1 until x:gt(0) return x", TEST, nil, "'until'", "x:gt(0)" },
  { "until x:gt(0) y = 2", TEST, nil, "'until'", "x:gt(0)" },
  { "until x:gt(0) -- if all is done then", TEST, nil, "'until'", "x:gt(0)" },
  { "local s = 'if a then' if x:gt(0) then", TEST, nil, "'if'", "x:gt(0)" },
  { 'local s = "\\" if a then" if x:gt(0) then', TEST, nil, "'if'", "x:gt(0)" },
  { "local s = [[if a then]] if x:gt(0) then", TEST, nil, "'if'", "x:gt(0)" },
  { "if t['while'] then", TEST, nil, "'if'", "t['while']" },
  { "if t.x:gt(0) then goto done end ::done::", TEST, nil, "'if'", "t.x:gt(0)" },
  { "if f(function() return 1 end) then", TEST, nil, "'if'", "f(function() return 1 end)" },
  { "if x:gt(0) == true then", TEST },
  { "if #t > 0 then y = 1 end if x:gt(0) then", TEST, nil, "'if'", "x:gt(0)" },
  { "for i = 1, 3 do if x:gt(0) then", TEST, nil, "'if'", "x:gt(0)" },
  { "local z = x:gt(0) and 1", JOIN, nil, "'and'", "x:gt(0)" },
  { "local z = x:gt(0) and 1", TEST, nil, "'and'", "x:gt(0)" },
  { "local z = x:gt(0) or y and 1", JOIN },
  { "local z = x:gt(0) or y and 1", JOIN, "gt", "'or'", "x:gt(0)" },
  { "local z = a ~= b and x:gt(0) or 3", JOIN, nil, "'or'", "x:gt(0)" },
  { "return not x:gt(0)", NOT, nil, "'not'", "x:gt(0)" },
  { "return f(not x:gt(0), 2)", NOT, nil, "'not'", "x:gt(0)" },
  { "return f(not x:gt(0), not y)", NOT, nil, "'not'" },
  { "if a then return not x:gt(0) end", NOT, nil, "'not'", "x:gt(0)" },
  { "assert(x:gt(0), 'if a then')", "assert" },
  { "", TEST }, { "-- if x then", TEST }, { "if", TEST, nil, "'if'" }, { "(((", TEST },
  { ")))", TEST }, { "'", TEST }, { "x = 1e+5 0x.8p-3 [==[", TEST },
}

describe("the expression of a condition", function()
  for _, row in ipairs(LINES) do
    it(("in `%s`, %s%s"):format(row[1], row[2], row[3] and ", of " .. row[3] or ""), function()
      local word, expression, column = condition.find(row[1], row[2], row[3])
      assert.are.same({ row[4], row[5] }, { word, expression })
      if expression then
        assert.are.equal(expression, row[1]:sub(column, column + #expression - 1))
      end
    end)
  end
end)

-- Functions of one line each, which break there, and what must be marked in the message.
local STEPS = {
  { "if flag then x = x + 1 end while x:sum():gt(3) do x = x - 1 end return x", "x:sum():gt(3)" },
  { "if not flag then x = -x end if x:lt(0):any() then return x end", "x:lt(0):any()" },
  { "while flag do x = x + 1 break end repeat x = x - 1 until x:max():lt(0) return x",
    "x:max():lt(0)" },
  { "if flag and x:sum():gt(3) then return x end", "x:sum():gt(3)" },
  { "local z = flag and x or 1 local y = z:gt(0) if y then return z end", "y" },
  { "local y = x:gt(0) if flag and y or y:any() then return x end", nil },
  { "local y = x:gt(0) local z = y:gt(1) if y or z then return x end", nil },
}

describe("the message of a break", function()
  for _, row in ipairs(STEPS) do
    it("marks what was tested in `" .. row[1] .. "`", function()
      local path = support.folder() .. "step.lua"
      support.write(path, "local flag = ...\nreturn function(x)\n  " .. row[1] .. "\nend\n")
      local step = assert(loadfile(path))(true)
      local e = support.error_of(sgl.compile(step), sgl.ones(3))
      local text = tostring(e)
      support.remove(path:match "^(.*/)")
      assert.are.equal("B-COND", e.reason)
      local line, marks = text:match "\n    ([^\n]*)\n(    *%^+)\n"
      if not row[2] then return assert.is_nil(marks, text) end
      assert.are.equal(row[1], line, text)
      local first = #marks:match "^ +" - 4 + 1
      assert.are.equal(row[2], line:sub(first, first + #marks:match "%^+" - 1))
      assert.matches(row[2]:gsub("%p", "%%%0") .. ":any%(%):item%(%)", text)
    end)
  end

  it("is the same at each run of the program", function()
    local seen = {}
    for _ = 1, 8 do
      seen[#seen + 1] = support.script([[
        local sgl = require "sgl"
        local flag = true
        print(pcall(sgl.compile(function(x)
          if not flag then x = -x elseif x:any() then return x end while flag do return x end
        end), sgl.ones(3)))]])
      assert.are.equal(seen[1], seen[#seen])
    end
  end)
end)
