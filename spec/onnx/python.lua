-- python.lua: a Python that has onnx and onnxruntime, for specs that compare with them.
--
-- Out:   python(script, arguments…) -> its output; python.there: the path, or nil where none is.
-- Note:  SGL_PYTHON names one; else a virtual environment in build/onnx-venv, else python3.
local engine = require "spec.engine"

local M = {}

local function works(path)
  local ok = os.execute(("%s -c 'import onnx, onnxruntime' >/dev/null 2>&1"):format(path))
  return ok and path or nil
end

M.there = works(os.getenv("SGL_PYTHON") or engine.root .. "build/onnx-venv/bin/python")
  or works "python3"

M.why = "no Python with onnx and onnxruntime"

--- Runs a script of spec/onnx; returns what it printed.
function M.run(script, ...)
  local command = ("%s %sspec/onnx/%s %s 2>&1"):format(M.there, engine.root, script,
    table.concat({ ... }, " "))
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  pipe:close()
  return text
end

return M
