-- cli.lua: the words that the command line knows beside scripts: `sgl ? NAME`, `sgl breaks SCRIPT`,
-- `sgl check SCRIPT`, `sgl inspect FILE`, `sgl doctor`.
--
-- In:    the words after the command.
-- Out:   text on stdout; an error where a word is missing or a script fails.
local core = require "sgl.core"
local cli = {}

cli["?"] = function(name)
  if not name then error("usage: sgl ? NAME        (a function, a setting, a break)", 0) end
  require "sgl"
  print(require "sgl.repl.help".text(name))
end

-- What the machine gives, and what says so.
function cli.doctor()
  local threads, source, memory = core.limits()
  print(("sgl %s, %s"):format(core.version, core.lua_version))
  print(("threads       %d (%s)"):format(threads, source))
  print(("memory        %s"):format(memory < 0 and "unknown" or ("%.1f GiB are left"):format(
    memory / 2 ^ 30)))
  print(("instructions  %s"):format(core.isa()))
  print(("backend       %s"):format(core.knob "backend"))
end

-- Runs a script with its arguments as the program does, whatever breaks running in segments.
local function run_in_segments(path, ...)
  local chunk, message = loadfile(path)
  if not chunk then error(message, 0) end
  require "sgl.compile.captures".in_segments = true
  _G.arg = { [0] = path, ... }
  return xpcall(chunk, function(e) return debug.traceback(core.explain(tostring(e)), 2) end, ...)
end

local USAGE = "usage: sgl breaks [--picture FOLDER] SCRIPT [ARGUMENTS]"

-- Prints the reports of a script's compiled functions, and draws into a folder if one is given.
-- Returns how many breaks there are, and why one could not be drawn.
local function print_reports(folder)
  local coverage = require "sgl.breaks.coverage"
  local count, taken, failure = 0, {}, nil
  for _, compiled in ipairs(coverage.all()) do
    local report = coverage.report(compiled)
    count = count + #report.breaks
    print(report)
    local drawn, message = {}, nil
    if folder then drawn, message = coverage.draw(report, folder, taken) end
    for _, path in ipairs(drawn or {}) do print("      picture " .. path) end
    failure = failure or message
  end
  return count, failure
end

-- The folder for pictures, if one is asked for, and the words from the script on.
local function take_folder(first, ...)
  if first == "--picture" then return (...), select(2, ...) end
  local folder = first and first:match "^%-%-picture=(.+)$"
  if folder then return folder, ... end
  return nil, first, ...
end

--- Prints what keeps the steps of a script from being captured as a whole. That pictures can be
--- stored is found out before the script runs, which may take long.
function cli.breaks(...)
  local words = table.pack(take_folder(...))
  local folder, path = words[1], words[2]
  if not path or path:sub(1, 1) == "-" then error(USAGE, 0) end
  require "sgl"
  local ready, problem = true, nil
  if folder then ready, problem = require "sgl.picture".folder(folder) end
  if not ready then error("--picture: " .. problem, 0) end
  local fine, message = run_in_segments(table.unpack(words, 2, words.n))
  local count, failure = print_reports(folder)
  print(("%s: %d break%s"):format(path, count, count == 1 and "" or "s"))
  io.stdout:flush()
  if not fine or failure then error(fine and failure or message, 0) end
end

--- What the steps of a script cost each rank of a mesh.
function cli.plan(...) require "sgl.dist.plan"(...) end

--- Prints what is in a bundle or a file of tensors, or where two of them differ, which is an error
--- as it is for diff.
function cli.inspect(...)
  local words, graph = { ... }, false
  if words[1] == "--graph" then graph = table.remove(words, 1) ~= nil end
  if #words < 1 or #words > 2 or words[1]:sub(1, 1) == "-" then
    error("usage: sgl inspect [--graph] FILE [OTHER FILE]", 0)
  end
  require "sgl"
  local differences = require "sgl.inspect".run(graph, words[1], words[2])
  io.stdout:flush()
  if differences > 0 then error("the files differ", 0) end
end

--- Runs a script in stages, from one rank to many; the exit status is the verdict.
function cli.check(...)
  require "sgl"
  if not require "sgl.check.main"(...) then os.exit(1, true) end
end

return cli
