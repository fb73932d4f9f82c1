-- support.lua: what the specs share: comparing tensors, running the program as a user would.

local lfs = require "lfs"
local sgl = require "sgl"

local M = {}

-- Paths hold after a change of the folder.
local function absolute(path)
  return path:sub(1, 1) == "/" and path or lfs.currentdir() .. "/" .. path
end

M.root = absolute(debug.getinfo(1, "S").source:match("^@(.*)spec/support.lua$") or "")
M.binary = absolute(os.getenv "SGL_EXE" or arg and arg[-1] or "build/sgl")

-- Largest |a - b| / (abs + rel·|b|) over all elements of two equally shaped tensors or lists;
-- at most 1 when they agree. NaN agrees with NaN only.
function M.worst(a, b, rel, abs)
  local x = type(a) == "userdata" and a:flatten():tolist() or a
  local y = type(b) == "userdata" and b:flatten():tolist() or b
  assert(#x == #y, ("%d elements against %d"):format(#x, #y))
  local worst = 0
  for i = 1, #x do
    local p, q = x[i], y[i]
    if type(p) == "boolean" then p, q = p and 1 or 0, q and 1 or 0 end
    local same = p == q or (p ~= p and q ~= q)
    local d = same and 0 or math.abs(p - q) / (abs + rel * math.abs(q))
    if d ~= d then d = math.huge end
    worst = math.max(worst, d)
  end
  return worst
end

function M.close(a, b, rel, abs, what)
  local worst = M.worst(a, b, rel or 1e-5, abs or 1e-6)
  if worst > 1 then
    error(("%s: off by %.3g times the tolerance\n%s\n%s"):format(what or "values", worst,
      tostring(a), tostring(b)), 2)
  end
end

-- Runs a shell command; returns its output (stdout and stderr together) and exit status.
function M.run(command)
  local pipe = assert(io.popen("(" .. command .. ") 2>&1; printf '\\n%d' $?"))
  local text = pipe:read("a")
  pipe:close()
  local out, status = text:match("^(.*)\n(%d+)$")
  return out, tonumber(status)
end

-- Runs a script text as a user would; returns output and exit status.
function M.script(text, args, env)
  local empty = os.tmpname()
  local name = empty .. ".lua"
  os.remove(empty)
  local file = assert(io.open(name, "w"))
  file:write(text)
  file:close()
  local out, status = M.run(("%s %s %s %s"):format(env or "", M.binary, name, args or ""))
  os.remove(name)
  return (out:gsub(name:gsub("%p", "%%%0"), "script.lua")), status
end

-- A new folder for files of a spec, with a slash at its end.
function M.folder()
  local name = os.tmpname()
  os.remove(name)
  assert(os.execute("mkdir -p " .. name))
  return name .. "/"
end

function M.remove(folder)
  assert(os.execute("rm -r " .. folder))
end

function M.write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
  return path
end

function M.read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- The error object that fn raises; fails when it raises none.
function M.error_of(fn, ...)
  local ok, e = pcall(fn, ...)
  assert(not ok, "no error was raised")
  return e
end

-- The ways in which a function of tensors runs: { name, wrap }, where wrap(fn) is fn so.
M.MODES = {
  { "uncompiled", function(fn) return fn end },
  { "compiled", function(fn) return sgl.compile(fn) end },
  { "in segments", function(fn) return sgl.compile(fn, { fullgraph = false }) end },
  { "with sizes that vary", function(fn) return sgl.compile(fn, { dynamic = true }) end },
}

-- Calls check(wrap) for each of them.
function M.each_mode(check)
  for _, mode in ipairs(M.MODES) do
    local fine, e = pcall(check, mode[2])
    if not fine then
      error(("%s: %s"):format(mode[1], type(e) == "table" and e.message or tostring(e)), 0)
    end
  end
end

-- A shell command that must succeed; returns what it printed.
function M.shell(command)
  local out, status = M.run(command)
  assert(status == 0, command .. "\n" .. out)
  return out
end

return M
