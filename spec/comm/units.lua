-- units.lua: runs units.c, the files of src/comm by themselves: what it answers to commands.

local program = (os.getenv "SGL_EXE" or "build/sgl"):gsub("[^/]*$", "") .. "spec/comm/units"

local M = {}

-- Lines that answer these.
function M.ask(...)
  local name = os.tmpname()
  local file <close> = assert(io.open(name, "w"))
  for _, text in ipairs { ... } do file:write(text, "\n") end
  file:close()
  local pipe = assert(io.popen(("%s < %s 2>&1"):format(program, name)))
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  local ok = pipe:close()
  os.remove(name)
  assert(ok, table.concat(lines, "\n"))
  return lines
end

-- A job of ranks on a mesh of these sizes, which do the items (units.c).
function M.job(sizes, order, timeout, items)
  local head = ("job %s %g %s"):format(table.concat(sizes, ","), timeout, order)
  return M.ask(head, table.concat(items, "\n"), "end")
end

-- Is it there? Else the spec is pending.
function M.there()
  local file = io.open(program)
  if file then file:close() else pending("make test builds " .. program) end
  return file ~= nil
end

return M
