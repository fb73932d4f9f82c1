-- csv.lua: how fast CSV files are read: MB/s of a file of numbers, and peak memory beside its size.
--
--   sgl bench/csv.lua [MB]      default: 60

local sgl = require "sgl"
local core = require "sgl.core"

local size = tonumber(arg[1]) or 60
local path = os.tmpname()

local function write(line)
  local file = assert(io.open(path, "wb"))
  local block = {}
  for i = 1, 1000 do block[i] = line(i) end
  block = table.concat(block)
  file:write("a,b,c,d,e,f,g,h\n")
  for _ = 1, size * 2 ^ 20 // #block do file:write(block) end
  local bytes = file:seek()
  file:close()
  return bytes
end

local function report(what, line, options)
  local bytes = write(line)
  collectgarbage()
  local before = core.memory(true).live
  local start = core.clock()
  local ds = assert(sgl.data.csv(path, options))
  local seconds = core.clock() - start
  print(("%-16s %6.1f MB  %7.1f MB/s  peak %5.2f of the file  %d rows"):format(what,
    bytes / 2 ^ 20, bytes / 2 ^ 20 / seconds, (core.memory().peak - before) / bytes, #ds))
end

local function numbers(format, scale)
  return function()
    local row = {}
    for i = 1, 8 do row[i] = format:format(math.random() * scale) end
    return table.concat(row, ",") .. "\n"
  end
end

report("4 decimals, f32", numbers("%.4f", 100), {})
report("17 digits, f64", numbers("%.17g", 1), { dtype = "f64" })
report("integers, f32", numbers("%.0f", 255), {})
report("a label of text", function(i)
  return ("%d,%d,%d,%d,%d,%d,%d,kind %d\n"):format(i, i, i, i, i, i, i, i % 7)
end, { label = "h" })
os.remove(path)
