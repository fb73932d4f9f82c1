-- onnx/values.lua: tensors of an ONNX file as sgl's, and back.
--
-- In:    a Tensor message and the folder that its model stands in; or a tensor.
-- Out:   the other of the two.
-- Holds: a size, a count or a place that does not fit is found before memory is asked for. Values
--        outside the file are read from regular files inside the model's folder alone: no absolute
--        path, no "..", no link.
local core = require "sgl.core"

local raise = core.raise

local values = {}

-- ---- dtypes

local NUMBER, NAME, SIZE = {}, {}, {}
for _, dtype in ipairs(core.dtypes()) do
  NUMBER[dtype.name], NAME[dtype.onnx], SIZE[dtype.name] = dtype.onnx, dtype.name, dtype.bytes
end

-- Those that sgl has under another width: what they are stored as, and what they become. The wider
-- type holds all of their values; of u64 those below 2^63.
local WIDENED = {
  [3] = { "int8", "b", "i32" }, [4] = { "uint16", "I2", "i32" }, [5] = { "int16", "i2", "i32" },
  [12] = { "uint32", "I4", "i64" }, [13] = { "uint64", "I8", "i64" },
}
local FOREIGN = { [8] = "string", [14] = "complex64", [15] = "complex128", [17] = "float8e4m3fn",
                  [18] = "float8e4m3fnuz", [19] = "float8e5m2", [20] = "float8e5m2fnuz",
                  [21] = "uint4", [22] = "int4", [23] = "float4e2m1" }

--- The number that ONNX has for a dtype.
function values.number(dtype) return NUMBER[dtype] end

--- The dtype for a number of ONNX's, or nil and what it is called there.
function values.dtype(number)
  local wide = WIDENED[number]
  if NAME[number] or wide then return NAME[number] or wide[3] end
  return nil, FOREIGN[number] or "type " .. tostring(number)
end

-- ---- sizes

local MOST = 1 << 48

-- How many elements; sizes that no memory holds are refused.
local function count_of(name, dims)
  local n = 1
  for _, size in ipairs(dims) do
    if size < 0 or (size > 0 and n > MOST // size) then
      raise("SGL_EFORMAT", ("tensor %s: the sizes [%s] are no sizes"):format(core.quote(name),
        table.concat(dims, ", ")))
    end
    n = n * size
  end
  if #dims > 8 then
    raise("SGL_EFORMAT", ("tensor %s has %d dims, at most 8 are possible"):format(
      core.quote(name), #dims))
  end
  return n
end

-- ---- values outside the file

local function entries(list)
  local by_key = {}
  for _, entry in ipairs(list) do by_key[entry.key or ""] = entry.value or "" end
  return by_key
end

-- A path inside the folder, none of whose parts is a link.
local function inside(name, folder, location)
  local function refuse(why)
    raise("SGL_EFORMAT", ("tensor %s: its values are said to be in %s: %s"):format(
      core.quote(name), core.quote(location), why), "external data lies beside the model")
  end
  if location == "" then refuse "no place" end
  if location:find "^[/\\]" or location:find "^%a:" then refuse "an absolute path" end
  if location:find "%z" then refuse "no file name" end
  local path = folder
  for part in location:gmatch "[^/\\]+" do
    if part == ".." then refuse "a path out of the model's folder" end
    path = path .. part
    local kind = core.file_kind(path)
    if kind == "link" then refuse "a link" end
    path = path .. "/"
  end
  return path:sub(1, -2)
end

-- `bytes` bytes of the file that the entries name.
local function external(t, name, folder, bytes, places)
  local said = entries(t.external_data)
  local path = places and places[said.location or ""]
    or inside(name, folder, said.location or "")
  local offset = math.tointeger(tonumber(said.offset or "0"))
  local length = math.tointeger(tonumber(said.length or tostring(bytes)))
  if not offset or offset < 0 or length ~= bytes then
    raise("SGL_EFORMAT", ("tensor %s: offset %s and length %s in %s for %d bytes"):format(
      core.quote(name), core.quote(said.offset or "0"), core.quote(said.length or "?"),
      core.quote(path), bytes))
  end
  local file = core.file_kind(path) == "file" and io.open(path, "rb")
  if not file then
    raise("SGL_EFORMAT", ("tensor %s: %s cannot be read"):format(core.quote(name),
      core.quote(path)), "the data file goes wherever its model goes")
  end
  local size = file:seek "end"
  if bytes > size or offset > size - bytes then
    file:close()
    raise("SGL_EFORMAT", ("tensor %s: %d bytes from %d, but %s has %d"):format(
      core.quote(name), bytes, offset, core.quote(path), size))
  end
  file:seek("set", offset)
  local data = bytes == 0 and "" or file:read(bytes)
  file:close()
  return data
end

-- ---- reading

local FORMAT = { f32 = "<f", f64 = "<d", i32 = "<i4", i64 = "<i8", u8 = "<B", bool = "<B",
                 f16 = "<I2", bf16 = "<I2" }
-- Which field holds the numbers of a type when no bytes are given.
local FIELD = { [1] = "float_data", [7] = "int64_data", [11] = "double_data",
                [12] = "uint64_data", [13] = "uint64_data" }
-- What is kept of a number of int32_data, where a type is narrower than that.
local MASK = { [2] = 0xff, [4] = 0xffff, [9] = 1, [10] = 0xffff, [16] = 0xffff }

local BATCH = 200

-- A list of numbers as bytes.
local function packed(list, format, convert)
  local pieces, bare = {}, format:sub(2)
  for first = 1, #list, BATCH do
    local last = math.min(first + BATCH - 1, #list)
    local batch = table.move(list, first, last, 1, {})
    for i, v in ipairs(batch) do batch[i] = convert and convert(v) or v end
    pieces[#pieces + 1] = string.pack("<" .. bare:rep(#batch), table.unpack(batch))
  end
  return table.concat(pieces)
end

-- The numbers of one of the lists of a Tensor message as bytes of the type's width.
local function from_list(t, name, number, count, format)
  local list = t[FIELD[number] or "int32_data"]
  if #list ~= count then
    raise("SGL_EFORMAT", ("tensor %s: %d values for %d elements"):format(core.quote(name), #list,
      count))
  end
  local mask = MASK[number]
  local signed = number == 6 or number == 3 or number == 5
  return packed(list, format, function(v)
    if mask then return v & mask end
    return signed and (v << 32 >> 32 ~ 0x80000000) - 0x80000000 or v
  end)
end

-- Bytes of a type that sgl widens, as those of the wider one.
local function widen(bytes, code, size, target)
  local list = {}
  for at = 1, #bytes, size do list[#list + 1] = string.unpack("<" .. code, bytes, at) end
  return packed(list, FORMAT[target])
end

--- The bytes, dtype and sizes of a Tensor message; `places`: other paths for data files by name.
function values.read(t, folder, places)
  local name, number, dims = t.name or "", t.data_type or 0, t.dims
  local dtype, other = values.dtype(number)
  if not dtype then
    raise("SGL_EUNSUP", ("tensor %s is of the dtype %s, which there is not here"):format(
      core.quote(name), other))
  end
  local wide, count = WIDENED[number], count_of(name, dims)
  local size = wide and string.packsize("<" .. wide[2]) or SIZE[dtype]
  local bytes
  if t.data_location == 1 then bytes = external(t, name, folder, count * size, places)
  elseif t.raw_data then bytes = t.raw_data
  else bytes = from_list(t, name, number, count, wide and "<" .. wide[2] or FORMAT[dtype]) end
  if #bytes ~= count * size then
    raise("SGL_EFORMAT", ("tensor %s: %d bytes for %d elements of %d"):format(core.quote(name),
      #bytes, count, size))
  end
  return wide and widen(bytes, wide[2], size, dtype) or bytes, dtype, dims
end

--- The numbers (or booleans) that the bytes of a tensor of a dtype are.
function values.numbers(bytes, dtype)
  if dtype == "f16" or dtype == "bf16" then
    bytes = core.from_bytes(bytes, dtype, { #bytes // 2 }):to("f32"):bytes()
    dtype = "f32"
  end
  local list, format, at = {}, FORMAT[dtype], 1
  local size = string.packsize(format)
  for i = 1, #bytes // size do
    list[i], at = string.unpack(format, bytes, at)
    if dtype == "bool" then list[i] = list[i] ~= 0 end
  end
  return list
end

-- ---- writing

--- A Tensor message of whole numbers.
function values.integers(name, list, dims)
  return { name = name, data_type = NUMBER.i64, dims = dims or { #list },
           raw_data = packed(list, "<i8") }
end

--- A Tensor message with the values of a tensor, or of a number of a dtype.
function values.write(name, tensor)
  return { name = name, data_type = NUMBER[tensor.dtype], dims = tensor.shape,
           raw_data = tensor:bytes() }
end

return values
