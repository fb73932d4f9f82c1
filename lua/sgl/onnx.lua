-- onnx.lua: ONNX files for sgl.export and sgl.import.
--
-- In:    a captured graph to be written (onnx/export.lua); the path of a file to be read
--        (onnx/read.lua).
-- Out:   true, or what blocks it, with the phase; an object that is called as a function is.
local api = require "sgl.api"
local export = require "sgl.onnx.export"
local read = require "sgl.onnx.read"

local onnx = {}

--- Writes the file. Wrong names are the caller's mistake and raise; what cannot be said in ONNX
--- is an answer: nil, message, code.
function onnx.export(path, what, o)
  local ok, done, message, code = pcall(export.write, path, what, o)
  if ok then return done, message, code end
  if type(done) == "table" and done.code == "SGL_EARG" then error(done, 0) end
  return nil, "export: blocked in the mapping to ONNX: " .. tostring(done),
    type(done) == "table" and done.code or "SGL_EINTERN"
end

-- A model of an ONNX file, called as an imported function is.
local ImportedOnnx = {}
ImportedOnnx.__index = ImportedOnnx
ImportedOnnx.__name = "sgl.imported_onnx"

api.class(api.root, "ImportedOnnx", {
  doc = "What sgl.import returns for an ONNX file: called with its inputs by position, or with "
    .. "one table of them by name. A number may stand for an input without dims; it is then known "
    .. "while a step is recorded. Fields: path, opset, producer, inputs, outputs (lists of { name, "
    .. "dtype, shape }).",
}, ImportedOnnx)

--- Reads the file; nil, message, code where that cannot be done.
function onnx.import(path)
  local model, message, code = read(path)
  if not model then return nil, message, code end
  return setmetatable({ kind = "onnx", model = model, path = path, opset = model.opset,
    producer = model.producer, inputs = model.inputs, outputs = model.outputs }, ImportedOnnx)
end

function ImportedOnnx:__call(...) return self.model:run(table.pack(...)) end

function ImportedOnnx:__tostring()
  return ("imported ONNX model, opset %d (%s)"):format(self.opset, self.path)
end

return onnx
