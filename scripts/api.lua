-- api.lua: writes the generated documentation; run inside the program: build/sgl scripts/api.lua.
--
-- In:    the registry of public functions, the op table, the settings, the table of errors.
-- Out:   docs/api.md, docs/ops.md, docs/breaks.md, docs/config.md, the tables in docs/errors.md,
--        docs/events.md and docs/onnx.md, lua/sgl.d.lua, and the outputs beside the code blocks of
--        the pages written by hand, whose code is run.
--        With --check nothing is written: files that differ are named with their first difference,
--        and the exit is 1.
-- Holds: the text depends on the tables alone, not on the machine or on settings.
-- The printers are in scripts/api/, one page each.
local folder = arg[0]:match "^(.*/)" or "./"
package.path = folder .. "?.lua;" .. package.path

local sgl = require "sgl"
local api = require "sgl.api"
-- With what is loaded when it is first needed.
for _, name in ipairs { "sgl.nn", "sgl.optim", "sgl.data", "sgl.dist", "sgl.onnx",
                        "sgl.check.report" } do require(name) end

local root = folder .. "../"

local function read(path)
  local file <close> = assert(io.open(root .. path, "rb"))
  return file:read "a"
end

-- A page with its Lua blocks run, as a chunk of its own name.
local function with_outputs(path, page)
  return require "api.examples"(path:match "([^/]+)%.md$":lower() .. ".lua", page)
end

local function example_page(path)
  return { path, function() return with_outputs(path, read(path)) end }
end

-- The README also shows how the demo ends.
local function readme()
  local pipe <close> = assert(io.popen(("'%s' '%sexamples/digits/train.lua' 2>/dev/null"):format(
    arg[-1], root)))
  local last = assert(pipe:read "a":match "final loss.*$", "the demo does not run"):gsub("%s+$", "")
  local page = read "README.md":gsub("final loss [^\n]*\n[^\n]*", function() return last end)
  return with_outputs("README.md", page)
end

-- Each page: where it goes, and a function that makes its text.
local PAGES = {
  { "docs/api.md", function() return require "api.reference"(api.all()) end },
  { "docs/ops.md", function() return require "api.ops"() end },
  { "docs/breaks.md", function() return require "api.breaks"() end },
  { "docs/config.md", function() return require "api.config"() end },
  { "docs/errors.md", function()
    local page = require "api.errors"(read "src/base/err.def", read "docs/errors.md")
    return with_outputs("docs/errors.md", page)
  end },
  { "docs/events.md", function()
    return with_outputs("docs/events.md", require "api.events"(read "docs/events.md"))
  end },
  { "docs/onnx.md", function() return require "api.onnx"(read "docs/onnx.md") end },
  { "docs/from-pytorch.md", function()
    return with_outputs("docs/from-pytorch.md", require "api.pytorch"())
  end },
  { "lua/sgl.d.lua", function() return require "api.annotations"(api.all(), sgl) end },
  { "README.md", readme },
  example_page "docs/capture.md",
  example_page "docs/dynamic-shapes.md", example_page "docs/lua.md",
  example_page "docs/recipes.md",
  example_page "docs/tutorial.md",
  example_page "docs/cache.md", example_page "docs/files.md",
  example_page "docs/internals.md",
  example_page "docs/numerics.md",
  example_page "docs/control-flow.md",
}

local function lines_of(text)
  local lines = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
  return lines
end

-- "docs/api.md:12: is '…', should be '…'" for the first line that differs.
local function first_difference(path, is, should)
  local old, new = lines_of(is), lines_of(should)
  for i = 1, math.max(#old, #new) do
    if old[i] ~= new[i] then
      return ("%s:%d:\n  is      %s\n  should  %s"):format(path, i, old[i] or "(end of file)",
        new[i] or "(end of file)")
    end
  end
end

local function check()
  local stale = 0
  for _, page in ipairs(PAGES) do
    local fine, old = pcall(read, page[1])
    local difference = first_difference(page[1], fine and old or "", page[2]())
    if difference then
      stale = stale + 1
      io.stderr:write(difference, "\n")
    end
  end
  if stale > 0 then
    io.stderr:write("documentation does not fit the tables: run `make docs`\n")
    os.exit(1)
  end
end

local function write()
  for _, page in ipairs(PAGES) do
    local text = page[2]()
    local file <close> = assert(io.open(root .. page[1], "wb"))
    assert(file:write(text))
  end
end

if arg[1] == "--check" then
  check()
elseif arg[1] == nil then
  write()
else
  io.stderr:write("usage: sgl scripts/api.lua [--check]\n")
  os.exit(1)
end
