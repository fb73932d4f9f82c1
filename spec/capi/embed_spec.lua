-- embed_spec.lua: the C program of examples/embed/ trains to the bits of the Lua script beside it.

local lfs = require "lfs"
local support = require "spec.support"

local program = support.binary:gsub("[^/]*$", "") .. "embed"

describe("the example in C", function()
  it("trains to the bits of the script", function()
    if not lfs.attributes(program) then
      pending("make builds " .. program)
      return
    end
    local folder = os.tmpname()
    os.remove(folder)
    assert(lfs.mkdir(folder))
    local script = support.root .. "examples/embed/export.lua"
    local lua, failed = support.run(("%s %s %s"):format(support.binary, script, folder))
    assert.are.equal(0, failed, lua)
    local c, status = support.run(("%s %s"):format(program, folder))
    assert.are.equal(0, status, c)
    assert.matches("final loss .* 0x.*\ntest accuracy 9%d", c)
    assert.are.equal(lua, c)
    c, status = support.run(program .. " " .. folder .. "/none")
    os.execute("rm -r " .. folder)
    assert.are.equal(1, status)
    assert.matches("none/step.sgl: No such file", c)
  end)
end)
