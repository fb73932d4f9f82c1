-- cli.lua: the words that the command line knows beside scripts: `sgl ? NAME`, `sgl breaks SCRIPT`.
--
-- In:    the words after the command.
-- Out:   text on stdout; an error where a word is missing or a script fails.
local cli = {}

cli["?"] = function(name)
  if not name then error("usage: sgl ? NAME        (a function, a setting, a break)", 0) end
  require "sgl"
  print(require "sgl.repl.help".text(name))
end

-- Runs a script with its arguments as the program does, whatever breaks running in segments.
local function run_in_segments(path, ...)
  local chunk, message = loadfile(path)
  if not chunk then error(message, 0) end
  require "sgl"
  require "sgl.compile".in_segments = true
  _G.arg = { [0] = path, ... }
  return xpcall(chunk, function(e) return debug.traceback(tostring(e), 2) end, ...)
end

--- Prints what keeps the steps of a script from being captured as a whole.
function cli.breaks(path, ...)
  if not path then error("usage: sgl breaks SCRIPT [ARGUMENTS]", 0) end
  local fine, message = run_in_segments(path, ...)
  local coverage = require "sgl.coverage"
  local count = 0
  for _, compiled in ipairs(coverage.all()) do
    local report = coverage.report(compiled)
    count = count + #report.breaks
    print(report)
  end
  print(("%s: %d break%s"):format(path, count, count == 1 and "" or "s"))
  io.stdout:flush()
  if not fine then error(message, 0) end
end

return cli
