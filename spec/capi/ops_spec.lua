-- ops_spec.lua: ops that a program in C registers. ops.c, which `make test` links with the engine,
-- registers well formed and other rows, from eight threads too, and runs graphs that name them.

local program = (os.getenv "SGL_EXE" or "build/sgl"):gsub("[^/]*$", "") .. "spec/capi/ops"

describe("an op that a program registers", function()
  it("is refused if it is not well formed, else is there for all threads and contexts", function()
    local file = io.open(program)
    if not file then
      pending("make builds " .. program)
      return
    end
    file:close()
    local pipe = assert(io.popen(program .. " 2>&1"))
    local said, ok = pipe:read "a", pipe:close()
    assert.are.equal("", said)
    assert.is_true(ok)
  end)
end)
