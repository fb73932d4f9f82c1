-- leftovers_spec.lua: what specs write goes with them, also when they fail.

local support = require "spec.support"

local SPEC = [[
describe("specs", function()
  it("that pass, and have a file", function() print("made " .. os.tmpname()) end)
  it("that fail, and have a folder with something in it", function()
    local name = os.tmpname()
    print("made " .. name)
    os.remove(name)
    os.execute(("mkdir %s && touch %s/file"):format(name, name))
    error "no"
  end)
  it("that end their file themselves", function()
    local name = os.tmpname()
    print("made " .. name)
    os.remove(name)
  end)
end)
]]

describe("a run of specs", function()
  it("leaves nothing of what os.tmpname named", function()
    local busted = support.run("command -v busted"):match "[^\n]+"
    if not busted then return pending "needs busted in the path" end
    local folder = support.folder()
    support.write(folder .. "one_spec.lua", SPEC)
    local out, status = support.run(("cd '%s' && '%s' '%s' '%sone_spec.lua'"):format(support.root,
      support.binary, busted, folder))
    support.remove(folder)
    assert.are.equal(1, status)
    local count = 0
    for name in out:gmatch "made ([^\n]+)" do
      count = count + 1
      assert.is_nil((os.rename(name, name)), name)
    end
    assert.are.equal(3, count, out)
  end)
end)
