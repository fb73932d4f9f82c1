-- onnx/wire.lua: messages in Protocol Buffers' wire format, by the rows of onnx/schema.lua.
--
-- In:    a message as a table of its fields; or bytes that claim to be one.
-- Out:   the other of the two. A field that is absent is nil, a list always there.
-- Holds: whatever the bytes are, reading them gives a message or an error that names the byte. Work
--        and memory are in proportion to the bytes. Numbers beyond 64 bits, groups and messages
--        that nest more than DEPTH deep are refused; fields that are not known are passed over.
-- A reader and a writer of this size need no generated code and no library in the process, and
-- cannot read beyond a string.
local core = require "sgl.core"
local schema = require "sgl.onnx.schema"

local byte, char, pack, sub, unpack = string.byte, string.char, string.pack, string.sub,
  string.unpack
local raise = core.raise

local wire = {}

local DEPTH = 64
local BATCH = 4096           -- numbers that are packed at once

-- ---- writing

local function varint(v)
  if v >= 0 and v < 0x80 then return char(v) end
  local out = {}
  repeat
    local low = v & 0x7f
    v = v >> 7
    out[#out + 1] = char(v == 0 and low or low | 0x80)
  until v == 0
  return table.concat(out)
end

local NUMBERS = {
  int = varint,
  float = function(v) return pack("<f", v) end,
  double = function(v) return pack("<d", v) end,
}

-- The wire types of values that stand alone; lists of numbers are packed, which is type 2.
local ALONE = { int = 0, double = 1, text = 2, message = 2, float = 5 }

local function put_bytes(out, number, bytes)
  out[#out + 1] = varint(number << 3 | 2)
  out[#out + 1] = varint(#bytes)
  out[#out + 1] = bytes
end

local function put_field(out, field, value)
  local number, kind = field[1], field[2]
  if kind == "text" then
    put_bytes(out, number, value)
  elseif kind == "message" then
    put_bytes(out, number, wire.encode(field.of, value))
  else
    out[#out + 1] = varint(number << 3 | ALONE[kind])
    out[#out + 1] = NUMBERS[kind](value)
  end
end

-- A list of numbers, in pieces so that no long list of short strings is there at once.
local function put_packed(out, field, list)
  local pieces, write = {}, NUMBERS[field[2]]
  for first = 1, #list, BATCH do
    local piece = {}
    for i = first, math.min(first + BATCH - 1, #list) do piece[#piece + 1] = write(list[i]) end
    pieces[#pieces + 1] = table.concat(piece)
  end
  put_bytes(out, field[1], table.concat(pieces))
end

--- The bytes of a message of a kind.
function wire.encode(kind, message)
  local out = {}
  for _, field in ipairs(schema[kind][0]) do
    local value = message[field.name]
    if value == nil then                                  -- an absent field takes no bytes
    elseif not field.list then
      put_field(out, field, value)
    elseif NUMBERS[field[2]] then
      if #value > 0 then put_packed(out, field, value) end
    else
      for _, item in ipairs(value) do put_field(out, field, item) end
    end
  end
  return table.concat(out)
end

-- ---- reading

local function broken(at, what)
  raise("SGL_EFORMAT", ("byte %d: %s"):format(at - 1, what))
end

-- The number at `at`, and where the next thing stands.
local function read_varint(s, at, stop)
  local value, shift = 0, 0
  for i = at, math.min(stop, at + 9) do
    local b = byte(s, i)
    value = value | (b & 0x7f) << shift
    if b < 0x80 then return value, i + 1 end
    shift = shift + 7
  end
  return broken(at, "a number that does not end")
end

local function read_fixed(format, size)
  return function(s, at, stop)
    if at + size - 1 > stop then broken(at, "the message ends within a number") end
    return (unpack(format, s, at)), at + size
  end
end

local READ = { int = read_varint, float = read_fixed("<f", 4), double = read_fixed("<d", 8) }

-- Where a value of a wire type that is passed over ends.
local function skip(s, at, stop, wire_type)
  local next_at
  if wire_type == 0 then _, next_at = read_varint(s, at, stop)
  elseif wire_type == 1 then next_at = at + 8
  elseif wire_type == 5 then next_at = at + 4
  elseif wire_type == 2 then
    local length, first = read_varint(s, at, stop)
    if length < 0 or length > stop - first + 1 then broken(at, "a length beyond the end") end
    next_at = first + length
  else broken(at, ("wire type %d"):format(wire_type)) end
  if next_at > stop + 1 then broken(at, "the message ends within a value") end
  return next_at
end

local function read_packed(s, list, field, at, stop)
  local read, value = READ[field[2]], nil
  while at <= stop do
    value, at = read(s, at, stop)
    list[#list + 1] = value
  end
end

local decode

-- What stands between two places, for a field whose bytes have a length.
local function read_bytes(s, message, field, at, stop, depth)
  local value
  if field[2] == "text" then value = sub(s, at, stop)
  elseif field[2] == "message" then value = decode(field.of, s, at, stop, depth + 1)
  elseif field.list then return read_packed(s, message[field.name], field, at, stop)
  else broken(at, ("field '%s' is no number"):format(field.name)) end
  if field.list then table.insert(message[field.name], value)
  else message[field.name] = value end
end

-- One field at `at`; returns where the next one stands.
local function read_field(s, message, by_number, at, stop, depth)
  local tag, first = read_varint(s, at, stop)
  local field, wire_type = by_number[tag >> 3], tag & 7
  if not field then return skip(s, first, stop, wire_type) end
  if wire_type == 2 then
    local length, from = read_varint(s, first, stop)
    if length < 0 or length > stop - from + 1 then broken(first, "a length beyond the end") end
    read_bytes(s, message, field, from, from + length - 1, depth)
    return from + length
  end
  if wire_type ~= ALONE[field[2]] then
    broken(at, ("field '%s' has wire type %d"):format(field.name, wire_type))
  end
  local value, next_at = READ[field[2]](s, first, stop)
  if field.list then table.insert(message[field.name], value)
  else message[field.name] = value end
  return next_at
end

function decode(kind, s, at, stop, depth)
  if depth > DEPTH then broken(at, ("messages nest more than %d deep"):format(DEPTH)) end
  local fields, message = schema[kind], {}
  for _, field in ipairs(fields[0]) do
    if field.list then message[field.name] = {} end
  end
  while at <= stop do at = read_field(s, message, fields[-1], at, stop, depth) end
  return message
end

--- The message of a kind that the bytes are; raises SGL_EFORMAT.
function wire.decode(kind, bytes) return decode(kind, bytes, 1, #bytes, 1) end

return wire
