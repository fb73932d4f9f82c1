-- threads_spec.lua: one program of the C interface serves several threads at once: the bits of one,
-- each thread's own errors, and state that is that behind a step.

local lfs = require "lfs"
local engine = require "spec.engine"
local support = require "spec.support"

local program = support.binary:gsub("[^/]*$", "") .. "spec/capi/threads"

describe("a program in several threads", function()
  it("gives the bits of one thread, and whole states", function()
    if not lfs.attributes(program) then
      pending("make builds " .. program)
      return
    end
    local out, status = support.run(("%s %d"):format(program, engine.times(1000)))
    assert.are.equal("", out)
    assert.are.equal(0, status)
  end)
end)
