-- onnx/import.lua: all rows of the operators that are imported.
for _, name in ipairs { "elementwise", "shape", "index", "reduce", "layers", "windows", "resize",
                        "recurrent", "control" } do
  require("sgl.onnx.import." .. name)
end
return require "sgl.onnx.ops"
