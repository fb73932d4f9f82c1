-- picture.lua: drawings by Graphviz, which is a program of its own and may be missing.
--
-- In:    text in Graphviz's language, the path of an SVG file.
-- Out:   the path, or nil, message, code.
local core = require "sgl.core"
local shell = require "sgl.shell"

local picture = {}

--- A string of Graphviz's language; a newline in it begins a new line of a label.
function picture.string(text) return (("%q"):format(text):gsub("\\\n", "\\n")) end

-- Whether a file was written whole it does not tell: what it draws is read here, and written as any
-- file is.
local DRAW = "dot -Tsvg -o /dev/stdout <%s 2>/dev/null"

-- The picture of the text in a file; nil when there is no such program, or it failed.
local function drawing(input)
  local pipe <close> = io.popen(DRAW:format(shell.quote(input)), "r")
  local svg = pipe and pipe:read "a"
  return pipe and pipe:close() and svg ~= "" and svg or nil
end

--- Draws; where that fails and `keep` is set the text is kept beside it, as PATH.dot.
function picture.draw(text, path, keep)
  if path:find "%z" then
    core.raise("SGL_EARG", ("picture: the path %s has a zero byte"):format(core.quote(path)))
  end
  local input = os.tmpname()
  local fine, message, code = core.write(input, text)
  local svg = fine and drawing(input)
  os.remove(input)
  if svg then fine, message, code = core.write(path, svg) end
  if not fine then return nil, message, code end
  if svg then return path end
  if not keep then
    return core.fail("SGL_EFILE", ("no picture in %s: is the package graphviz installed?"):format(
      path))
  end
  local kept = path:gsub("%.svg$", "") .. ".dot"
  fine, message, code = core.write(kept, text)
  if not fine then return nil, message, code end
  return core.fail("SGL_EFILE", ("no picture, only %s: is the package graphviz installed?"):format(
    kept))
end

--- Can files be made in a folder? Returns true, or nil, message, code.
function picture.folder(folder)
  local probe = folder .. "/.sgl-picture"
  local fine, message, code = core.write(probe, "")
  if not fine then return nil, message, code end
  os.remove(probe)
  return true
end

return picture
