-- onnx/schema.lua: the messages of an ONNX file, as far as they are read or written here.
--
-- A row is a field: its number in the public format, how it is coded, and for messages whose fields
-- they are. `list`: it may come several times. Fields that no row names are passed over.
local function int(number, list) return { number, "int", list = list } end
local function text(number, list) return { number, "text", list = list } end
local function message(number, of, list) return { number, "message", of = of, list = list } end

local schema = {
  Model = {
    ir_version = int(1), producer_name = text(2), producer_version = text(3), domain = text(4),
    graph = message(7, "Graph"), opset_import = message(8, "Opset", true),
    metadata_props = message(14, "Entry", true), functions = message(25, "Function", true),
  },
  Opset = { domain = text(1), version = int(2) },
  Entry = { key = text(1), value = text(2) },
  Function = { name = text(1) },
  Graph = {
    node = message(1, "Node", true), name = text(2), initializer = message(5, "Tensor", true),
    input = message(11, "Value", true), output = message(12, "Value", true),
    sparse_initializer = message(15, "Sparse", true),
  },
  Sparse = {},
  Node = {
    input = text(1, true), output = text(2, true), name = text(3), op_type = text(4),
    attribute = message(5, "Attribute", true), domain = text(7),
  },
  Attribute = {
    name = text(1), f = { 2, "float" }, i = int(3), s = text(4), t = message(5, "Tensor"),
    g = message(6, "Graph"), floats = { 7, "float", list = true }, ints = int(8, true),
    strings = text(9, true), type = int(20), ref_attr_name = text(21),
  },
  Tensor = {
    dims = int(1, true), data_type = int(2), float_data = { 4, "float", list = true },
    int32_data = int(5, true), string_data = text(6, true), int64_data = int(7, true),
    name = text(8), raw_data = text(9), double_data = { 10, "double", list = true },
    uint64_data = int(11, true), external_data = message(13, "Entry", true),
    data_location = int(14),
  },
  Value = { name = text(1), type = message(2, "Type") },
  Type = { tensor_type = message(1, "TensorType"), sequence_type = message(4, "Other"),
           map_type = message(5, "Other"), sparse_tensor_type = message(8, "Other"),
           optional_type = message(9, "Other") },
  Other = {},
  TensorType = { elem_type = int(1), shape = message(2, "Shape") },
  Shape = { dim = message(1, "Dim", true) },
  Dim = { dim_value = int(1), dim_param = text(2) },
}

-- The fields of each message in the order of their numbers, in which they are written, and by
-- number.
for _, fields in pairs(schema) do
  local order, by_number = {}, {}
  for name, field in pairs(fields) do
    field.name = name
    order[#order + 1] = field
    by_number[field[1]] = field
  end
  table.sort(order, function(a, b) return a[1] < b[1] end)
  fields[0], fields[-1] = order, by_number
end

return schema
