-- check/pack.lua: tables of plain values as a file, and back.
--
-- Holds: a number is the same number again, to the last bit; NaN and infinities too.
local pack = {}

local function number(v)
  if v ~= v then return "0/0" end
  if v == math.huge then return "math.huge" end
  if v == -math.huge then return "-math.huge" end
  return math.type(v) == "integer" and tostring(v) or ("%a"):format(v)
end

local function put(v, out)
  if type(v) == "table" then
    out[#out + 1] = "{"
    for key, item in pairs(v) do
      out[#out + 1] = type(key) == "string" and ("[%q]="):format(key) or "[" .. key .. "]="
      put(item, out)
      out[#out + 1] = ","
    end
    out[#out + 1] = "}"
  else
    out[#out + 1] = type(v) == "number" and number(v) or ("%q"):format(v)
  end
end

--- Writes strings, numbers, booleans and tables of them.
function pack.write(path, value)
  local out = { "return " }
  put(value, out)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(table.concat(out)))
end

--- What `write` wrote; nil, message where there is no such file.
function pack.read(path)
  local chunk, message = loadfile(path, "t", { math = { huge = math.huge } })
  if not chunk then return nil, message end
  return chunk()
end

return pack
