-- add_backend_spec.lua: a backend is one file and one row: scripts/prove-backend adds one to a copy
-- of the sources, builds it, and runs the specs of the ops on it.

local engine = require "spec.engine"

describe("adding a backend #slow", function()
  it("touches one row of src/base/backend.def and adds one file", function()
    if engine.scale < 1 then return pending("builds the sources once more: only at full scale") end
    local pipe = assert(io.popen(("%sscripts/prove-backend 2>&1; echo status $?"):format(
      engine.root)))
    local text = pipe:read("a")
    pipe:close()
    assert(text:find("status 0\n$"), text)
    for _, line in ipairs { "src/cpu/toy.c and one line of src/base/backend.def",
      "in Lua: 5.0 compiled", "the setting enable knows it", " 0 failed" } do
      assert.is_truthy(text:find(line, 1, true), text)
    end
  end)
end)
