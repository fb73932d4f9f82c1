-- picture.lua: drawings by Graphviz, which is a program of its own and may be missing.
--
-- In:    text in Graphviz's language, the path of an SVG file.
-- Out:   the path, or nil, message, code.
local core = require "sgl.core"

local picture = {}

local function quoted(path) return "'" .. path:gsub("'", "'\\''") .. "'" end

--- A string of Graphviz's language; a newline in it begins a new line of a label.
function picture.string(text) return (("%q"):format(text):gsub("\\\n", "\\n")) end

-- What the program does not read is read by `cat`: to write to a pipe that nobody reads would end
-- this process.
local DRAW = "{ dot -Tsvg -o %s; status=$?; cat >/dev/null; exit $status; } 2>/dev/null"

--- Draws; where that fails and `keep` is set the text is kept beside it, as PATH.dot.
function picture.draw(text, path, keep)
  if path:find "%z" then   -- the shell's text would end there
    core.raise("SGL_EARG", ("picture: the path %q has a zero byte"):format(path))
  end
  local pipe = io.popen(DRAW:format(quoted(path)), "w")
  if pipe then
    pipe:write(text)
    if pipe:close() then return path end
  end
  if not keep then
    return core.fail("SGL_EFILE", ("no picture in %s: is the package graphviz installed?"):format(
      path))
  end
  local kept = path:gsub("%.svg$", "") .. ".dot"
  local fine, message, code = core.write(kept, text)
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
