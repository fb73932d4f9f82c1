-- settings_spec.lua: a setting acts in the same way wherever it is changed: as a field in Lua, by
-- sgl_set, in a configuration file, in the environment. The program settings.c, which `make test`
-- links with the engine, changes each row of the table of settings in all four ways and looks at
-- what became of threads, programs, events, folder, hooks and allocations.

local core = require "sgl.core"

local program = (os.getenv "SGL_EXE" or "build/sgl"):gsub("[^/]*$", "") .. "spec/capi/settings"

describe("a setting", function()
  it("acts in Lua, C, a file and the environment alike", function()
    local file = io.open(program)
    if not file then
      pending("make builds " .. program)
      return
    end
    file:close()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    -- Without this process's own settings.
    local clean = [[env -i XDG_CACHE_HOME=%s ASAN_OPTIONS="$ASAN_OPTIONS" %s %s 2>&1]]
    local pipe = assert(io.popen(clean:format(folder, program, folder)))
    local said, ok = pipe:read "a", pipe:close()
    os.execute("rm -r " .. folder)
    assert(ok, said)
    for _, setting in ipairs(core.knobs()) do
      local tried = said:find(("\n%s = "):format(setting.name), 1, true)
        or said:find(setting.name .. " = ", 1, true) == 1
      assert(tried, setting.name)
    end
  end)
end)
