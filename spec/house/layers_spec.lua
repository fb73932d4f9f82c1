-- layers_spec.lua: scripts/check-layers finds what must not be: scripts/prove-layers plants it in a
-- copy of the sources.

local engine = require "spec.engine"

local function names(path, pattern)
  local list = {}
  for line in io.lines(engine.root .. path) do list[#list + 1] = line:match(pattern) end
  return table.concat(list, " ")
end

describe("check-layers", function()
  it("finds includes and uses that run up, and circles of more than four files", function()
    local objects = engine.binary:gsub("[^/]*$", "obj")
    local pipe = assert(io.popen(("cd %s. && scripts/prove-layers %s 2>&1; echo status $?"):format(
      engine.root, objects)))
    local text = pipe:read("a")
    pipe:close()
    assert.is_truthy(text:find("status 0\n$"), text)
    for _, line in ipairs { "src/base/planted.h:1: includes obs/obs.h: base/ lies above obs/",
      "src/tensor/planted.c: uses capture_open of src/capture/open.c: tensor/ lies above capture/",
      "obs/: 5 files use each other in a circle, at most 4 may",
      "a circle of four files: nothing" } do
      assert.is_truthy(text:find(line, 1, true), text)
    end
  end)
end)

describe("the rooms", function()
  it("are those of src/rooms in docs/internals.md", function()
    assert.are.equal(names("src/rooms", "^(%l+) "), names("docs/internals.md", "^| `(%l+)/` |"))
  end)
end)
