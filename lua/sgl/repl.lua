-- repl.lua: the session that `sgl` opens on a terminal.
--
-- In:    lines; `?name` is help, `:name` a command, everything else Lua. A line that is not
--        complete goes on at the prompt ">> ".
-- Out:   results, as repl/value.lua writes them; errors on stderr, after which the session goes on.
-- Holds: a chunk is called "stdin", so positions in messages and graphs read stdin:1.
local core = require "sgl.core"
local line = require "sgl.line"
local commands = require "sgl.repl.commands"
local complete = require "sgl.repl.complete"
local help = require "sgl.repl.help"
local value = require "sgl.repl.value"

local repl = {}

local FIRST, MORE = "> ", ">> "

-- What the session remembers: the last graph and compiled function seen, notices given.
local session = {}

local function banner()
  return ("sgl %s  %s  cpu: %s, %d thread%s      ?name for help, :help for commands"):format(
    core.version:match "^%d+%.%d+", core.lua_version, core.isa(), core.threads(),
    core.threads() == 1 and "" or "s")
end

local function history_path()
  local home = os.getenv "HOME"
  return home and home .. "/.sgl_history"
end

-- Remembers graphs and compiled functions for the commands that work on the last one.
local function note(v)
  local meta = debug.getmetatable(v)
  local name = type(meta) == "table" and rawget(meta, "__name")
  if name == "graph" then session.graph = v end
  if name == "sgl.compiled" then session.compiled = v end
end

local function note_globals()
  for _, v in next, _G do
    if type(v) == "table" and rawget(v, "latest") then note(v) end
  end
end

local function show(...)
  local words = table.pack(...)
  if words.n == 0 then return end
  for i = 1, words.n do
    note(words[i])
    words[i] = value.text(words[i])
  end
  print(table.concat(words, "\t", 1, words.n))
end

-- The message, and, when the user's code is more than the line itself, the traceback above the
-- session's own frames.
local function with_traceback(message)
  local text = core.explain(tostring(message))
  local trace = debug.traceback("", 2):gsub("\n%s*%[C%]: in function 'xpcall'.*", "")
  local own = 0
  for frame in trace:gmatch "\n\t([^\n]+)" do
    if not frame:find "^sgl/" and not frame:find "^%[C%]" and not frame:find "^%(" then
      own = own + 1
    end
  end
  return own > 1 and text .. "\n" .. trace:gsub("^\n", "") or text
end

-- Compiles as an expression, else as a statement. nil and the message on a syntax error. The
-- expression stands as an argument: as `return f(x)` it would be a tail call, without a line.
local function compile(text)
  if load("return " .. text, "=stdin") then
    return load("return (function(...) return ... end)(" .. text .. "\n)", "=stdin")
  end
  return load(text, "=stdin")
end

local function is_incomplete(message)
  return message:sub(-5) == "<eof>"
end

-- Reads on until the text is complete. nil at the end of input, false when it was dropped.
local function read_chunk(text)
  while true do
    local chunk, message = compile(text)
    if chunk or not is_incomplete(message) then return chunk, message, text end
    local more = line.read(MORE)
    if more == nil then return chunk, message, text end
    if more == false then return false end
    text = text .. "\n" .. more
  end
end

local function notice_local(text)
  if session.told or not text:find "^%s*local%s" then return end
  session.told = true
  print "(a local ends with its line; leave `local` out to keep the name)"
end

local function report(message)
  io.stdout:flush()
  io.stderr:write(tostring(message), "\n")
end

local function run_lua(text)
  local chunk, message, whole = read_chunk(text)
  if chunk == false then return end
  line.remember(whole or text)
  if not chunk then return report(message) end
  local results = table.pack(xpcall(chunk, with_traceback))
  if not results[1] then return report(results[2]) end
  note_globals()
  local shown, problem = xpcall(show, with_traceback, table.unpack(results, 2, results.n))
  if not shown then return report(problem) end
  notice_local(text)
end

-- One line; false at the end of input.
local function step()
  local text = line.read(FIRST)
  if text == nil then return false end
  if not text or not text:find "%S" then return true end
  if text:find "^%s*[?:]" and not text:find "^%s*::" then
    line.remember(text)
    text = text:match "^%s*(.-)%s*$"
    local answer = text:sub(1, 1) == "?" and help.text(text:match "^%?%s*(.*)$")
      or commands.run(text, session)
    print(answer)
  else
    run_lua(text)
  end
  return true
end

--- Reads and runs lines until the input ends.
function repl.start()
  _G.sgl = require "sgl"
  line.open(history_path(), complete)
  if core.isatty(0) then print(banner()) end
  while true do
    local fine, more = pcall(step)
    if not fine then report(more) end
    if fine and not more then break end
  end
  if core.isatty(0) then print() end
end

return repl
