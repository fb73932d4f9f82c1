-- cli_spec.lua: the command line does what that of the stock interpreter does: each row is run by
-- lua5.4 and by sgl, and output and exit status must be the same but for the program's name.

local support = require "spec.support"

local LUA = os.getenv "LUA" or "lua5.4"

local FILES = {
  ["args.lua"] = "for i = -3, 3 do print(i, arg[i] and i >= 0 and arg[i]) end print(#arg, ...)",
  ["shebang.lua"] = "#!/usr/bin/env sgl\nprint('line', debug.getinfo(1).currentline)",
  ["init.lua"] = "INIT = 'from a file'",
  ["fails.lua"] = "local function f() error('no good') end\nlocal function g() f() end\ng()",
  ["object.lua"] = "error(setmetatable({}, { __tostring = function() return 'an object' end }))",
  ["plain.lua"] = "error({ code = 7 })",
  ["syntax.lua"] = "x = = 1",
  ["exit.lua"] = [[
    local t <close> = setmetatable({}, { __close = function() print 'closed' end })
    os.exit(3, true)]],
}

-- { what it is, environment, arguments, input }
local ROWS = {
  { "runs code with -e", "", [[-e "print(1 + 1, 2^53 // 1)"]] },
  { "runs several -e in order, in one state", "", [[-e "x = 1" -e "print(x)"]] },
  { "takes -e and its code in one word", "", [[-e"print(5)"]] },
  { "loads a module with -l", "", [[-l string -e "print(string == _G.string)"]] },
  { "loads a module into a global with -l g=mod", "", [[-l s=string -e "print(s == string)"]] },
  { "runs a script with arg and ...", "", "args.lua one 'two words' ''" },
  { "leaves arguments behind the script alone", "", "args.lua -e x -- -i" },
  { "stops options at --", "", "-- args.lua -v" },
  { "skips the first line if it begins with #", "", "shebang.lua" },
  { "runs the standard input", "", "", "print('from stdin', ...)" },
  { "runs the standard input for -", "", "- a b", "print(arg[0], ...)" },
  { "runs LUA_INIT", [[LUA_INIT="print('init')"]], [[-e "print('then')"]] },
  { "runs the file that LUA_INIT names", "LUA_INIT=@init.lua", [[-e "print(INIT)"]] },
  { "prefers LUA_INIT_5_4", [[LUA_INIT="print(1)" LUA_INIT_5_4="print(2)"]], [[-e ""]] },
  { "ignores the environment for -E", [[LUA_INIT="print('init')"]], [[-E -e "print('only')"]] },
  { "is quiet about warnings", "", [[-e "warn('careful')"]] },
  { "warns for -W", "", [[-W -e "warn('care', 'ful')"]] },
  { "gives a traceback for an error", "", "fails.lua" },
  { "gives a traceback for an error in -e", "", [[-e "error('no good')"]] },
  { "says that an error object is no string", "", "plain.lua" },
  { "says where the syntax is wrong", "", "syntax.lua" },
  { "says that there is no such script", "", "nowhere.lua" },
  { "says that there is no such module", "", "-l no_such_module 2>&1 | head -1" },
  { "exits with the status that a script asks for", "", "exit.lua" },
  { "exits with 0 for os.exit(true) and 1 for os.exit(false)", "",
    [[-e "os.exit(true)"; "$program" -e "os.exit(false)"]] },
}

local folder
setup(function()
  folder = support.folder()
  for name, text in pairs(FILES) do support.write(folder .. name, text) end
end)
teardown(function() support.remove(folder) end)

local function run(program, row)
  support.write(folder .. "input", row[4] or "")
  local out, status = support.run(("cd %s && program=%s && %s %s %s < input"):format(folder,
    program, row[2], program, row[3]))
  local name = program:gsub("%p", "%%%0") .. ":"
  return ("%s\n[status %d]"):format((out:gsub("%f[^\0\n]" .. name, "PROGRAM:")), status)
end

describe("the command line", function()
  for _, row in ipairs(ROWS) do
    it(row[1], function()
      assert.are.equal(run(LUA, row), run(support.binary, row))
    end)
  end

  it("prints an error object by its __tostring, with a traceback", function()
    local out, status = support.run(("cd %s && %s object.lua"):format(folder, support.binary))
    assert.are.equal(1, status)
    assert.matches(": an object\nstack traceback:\n.*object%.lua:1: in main chunk", out)
  end)

  it("refuses an option that does not exist", function()
    local out, status = support.run(support.binary .. " -q")
    assert.are.equal(1, status)
    assert.matches("'%-q'", out)
  end)

  it("prints its version and Lua's for -v", function()
    local out, status = support.run(support.binary .. " -v")
    assert.are.equal(0, status)
    assert.matches("^sgl %d+%.%d+%.%d+  Lua 5%.4", out)
  end)

  it("takes a setting as a flag", function()
    local out = support.run(support.binary
      .. [[ --threads=3 -e "print(require('sgl').config.threads)"]])
    assert.matches("^3\n", out)
  end)
end)
