-- pages_spec.lua: what pages say of other programs holds: the C program of docs/c.md is compiled
-- and run on what its script exports, and a stock lua5.4 loads the module as docs/lua.md says.
-- Blocks of Lua with their outputs are run by `make docs`, see docs_spec.lua.

local support = require "spec.support"

local LUA = os.getenv "LUA" or "lua5.4"
local CC = os.getenv "CC" or "cc"

local function read(path)
  local file <close> = assert(io.open(support.root .. path))
  return file:read "a"
end

-- The blocks of a page in a language, in their order.
local function blocks(page, language)
  local list = {}
  for code in page:gmatch("\n```" .. language .. "\n(.-)```") do list[#list + 1] = code end
  return list
end

-- The library as it is built for users, not that of a sanitizer; nil: it is not there.
local function library()
  local path = support.root .. "build/libsgl.a"
  local file <close> = io.open(path)
  return file and path
end

local function run(command)
  local out, status = support.run(command)
  assert(status == 0, command .. "\n" .. out)
  return out
end

describe("docs/c.md", function()
  it("has a script and a C program that do what stands there", function()
    if not library() then return pending "build/libsgl.a is not there" end
    local page, folder = read "docs/c.md", support.folder()
    support.write(folder .. "line.lua", blocks(page, "lua")[1])
    support.write(folder .. "line.c", blocks(page, "c")[1])
    local out = run(("cd '%s' && '%s' line.lua && %s -std=c11 -Wall -Wextra -Wpedantic -Werror "
      .. "line.c '-I%ssrc' '%s' -lz -lm -lpthread -ldl -o line && ./line"):format(
      folder, support.binary, CC, support.root, library()))
    assert.are.equal(blocks(page, "text")[1], out)
    run(("cd '%s' && '%s' -e 'local s = require(\"sgl\") local step = s.import(\"line.sgl/\") "
      .. "step:load_state_dict(assert(s.load(\"line.safetensors\")))'"):format(
      folder, support.binary))
    support.remove(folder)
  end)
end)

describe("docs/lua.md", function()
  it("loads into a stock interpreter with the line that stands there", function()
    if not library() then return pending "build/sgl.so is not there" end
    local page = read "docs/lua.md"
    local line = blocks(page, "sh")[1]:gsub("lua5%.4", LUA)
    assert.are.equal(blocks(page, "text")[2], run(("cd '%s' && %s"):format(support.root, line)))
  end)

  it("says what a stock interpreter does with its ten lines", function()
    local page, folder = read "docs/lua.md", support.folder()
    support.write(folder .. "ten.lua", blocks(page, "lua")[1])
    assert.are.equal(blocks(page, "text")[1], run(("%s '%sten.lua'"):format(LUA, folder)))
    support.remove(folder)
  end)
end)
