-- embed.lua: writes Lua source files as a C table of modules (src/module/embed.h).
--
-- In:    arguments: the file to write, then files below lua/.
-- Out:   a C file with one string a module, a source line a literal, and EMBEDDED_MODULES.
-- Holds: the content depends on the files alone (they are sorted), and every byte survives: what is
--        not plain ASCII is written as three octal digits, which no following digit can extend.

local out_path = arg[1]
local paths = table.move(arg, 2, #arg, 1, {})
table.sort(paths)

local function module_name(path)
  local name = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", "")
  return (name:gsub("/", "."))
end

local ESCAPES = { ["\n"] = "\\n", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\" }

local function escape(byte)
  return ESCAPES[byte] or ("\\%03o"):format(byte:byte())
end

local function literals(text)
  local lines = {}
  for line in text:gmatch("[^\n]*\n?") do
    if line ~= "" then
      -- a question mark is escaped because two of them may begin a trigraph
      lines[#lines + 1] = '    "' .. line:gsub('[^ !#->@-%[%]-~]', escape) .. '"'
    end
  end
  return #lines > 0 and table.concat(lines, "\n") or '    ""'
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a")
end

local parts = { '/* Written by scripts/embed.lua from lua/. */\n#include "module/embed.h"\n' }
local rows = {}
for i, path in ipairs(paths) do
  local text = read(path)
  assert(load(text, "=" .. path, "t"))
  parts[#parts + 1] = ("static const char code_%d[] =\n%s;\n"):format(i, literals(text))
  rows[#rows + 1] = ('    { "%s", "=%s", code_%d, sizeof code_%d - 1 },\n'):format(
    module_name(path), path:gsub("^lua/", ""), i, i)
end
parts[#parts + 1] = "const EmbeddedModule EMBEDDED_MODULES[] = {\n" .. table.concat(rows) ..
  "    { NULL, NULL, NULL, 0 }\n};\n"

local out <close> = assert(io.open(out_path, "wb"))
assert(out:write(table.concat(parts, "\n")))
