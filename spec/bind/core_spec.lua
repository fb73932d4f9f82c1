-- core_spec.lua: whatever a function of sgl.core, or a method of its classes, is called with, it
-- answers or raises, and the engine goes on. core_calls.lua makes the calls, in a process for each,
-- so that a crash names what it was in.

local support = require "spec.support"
local engine = require "spec.engine"

-- In a folder of its own: some calls write files.
local RUN = "cd %s && %s %sspec/bind/core_calls.lua %s %d %d < /dev/null 2> said"

describe("every function of the core #slow", function()
  it("takes arguments of any kind and number", function()
    local folder = support.folder()
    finally(function() support.remove(folder) end)
    local out, status = support.run(("%s %sspec/bind/core_calls.lua"):format(support.binary,
      support.root))
    assert.are.equal(0, status, out)
    local seen, failed = 0, {}
    for name in out:gmatch "[^\n]+" do
      seen = seen + 1
      for seed = 1, engine.times(3) do
        local got, ended = support.run(RUN:format(folder, support.binary, support.root, name, seed,
          100))
        if ended ~= 0 or not got:find "usable" then
          local file <close> = assert(io.open(folder .. "said"))
          failed[#failed + 1] = ("%s, seed %d, status %d:\n%s"):format(name, seed, ended,
            file:read "a":sub(-300))
        end
      end
    end
    assert.is_true(seen > 150, seen .. " functions")
    assert.are.equal("", table.concat(failed, "\n"))
  end)
end)

describe("core.apply", function()
  local core = require "sgl.core"

  it("counts the inputs, given as one list", function()
    local x = core.full({ 2 }, 1, "f32")
    local e = engine.failure(core.apply, "add", x, x)
    assert.are.same({ "SGL_EARG", "add: 1 inputs given" }, { e.code, e.message })
    assert.are.equal("add: 3 inputs given", engine.failure(core.apply, "add", { x, x, x }).message)
    assert.are.same({ 2.0, 2.0 }, core.apply("add", { x, x }):tolist())
  end)

  it("makes no leaves, control flow or effects", function()
    local x = core.full({ 2 }, 1, "f32")
    for _, op in ipairs { "const", "input", "cond", "scan", "custom", "result", "print" } do
      local e = engine.failure(core.apply, op, { x }, {})
      assert.are.equal(op .. " makes no tensor from tensors", e.message)
    end
  end)
end)

describe("a graph's picture", function()
  it("has no path with a zero byte, behind which the shell would read nothing", function()
    local graph = require "sgl.core".parse 'graph\ninput %0 arg "x" f32[2]\noutput %0 ""\n'
    local e = engine.failure(graph.picture, graph, "a\0b.svg")
    assert.are.equal("SGL_EARG", e.code)
    assert.matches("zero byte", e.message)
  end)
end)
