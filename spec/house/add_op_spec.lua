-- add_op_spec.lua: a new elementwise op touches one row of one file: scripts/prove-one-row adds one
-- to a copy of the sources, builds it, and finds it in Lua, on the CPU, in the reference, in the
-- gradients and in the documentation.

local engine = require "spec.engine"

describe("adding an elementwise op #slow", function()
  it("touches one row of src/ir/op.def and nothing else", function()
    if engine.scale < 1 then return pending("builds the sources once more: only at full scale") end
    local pipe = assert(io.popen(("%sscripts/prove-one-row 2>&1; echo status $?"):format(
      engine.root)))
    local text = pipe:read("a")
    pipe:close()
    assert(text:find("status 0\n$"), text)
    for _, line in ipairs { "1 files, 1 lines in tables", "says -0.75",
      "4 passed, 0 failed", "in the documentation" } do
      assert.is_truthy(text:find(line, 1, true), text)
    end
  end)
end)
