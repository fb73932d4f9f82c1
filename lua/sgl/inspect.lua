-- inspect.lua: what is in a file: a bundle, an ONNX model, or a file of tensors; and where two of
-- them differ.
--
-- In:    the path of a bundle (sgl.export), of an ONNX file, or of a file that sgl.load reads.
-- Out:   text: what it is, its inputs and outputs, each tensor with its type, bytes and CRC-32.
-- Holds: nothing of the file is run. State is compared where only one file has a graph.
local api = require "sgl.api"
local core = require "sgl.core"
local read_onnx = require "sgl.onnx.show"

local raise = core.raise

local inspect = {}

-- "1,234,567"
local function grouped(n)
  local text = tostring(n)
  local head = (#text - 1) % 3 + 1
  return text:sub(1, head) .. text:sub(head + 1):gsub("...", ",%0")
end

local function bytes_of(t) return #t:bytes() end

local function type_of(t) return t.dtype .. api.shape_text(t.shape) end

-- A tensor or an end of a graph as a line of a table.
local function tensor_line(name, t)
  return ("  %-28s %-20s %14s  %s"):format(name, type_of(t), grouped(bytes_of(t)),
    core.checksum(t:bytes()))
end

-- { kind, names, tensors by name, lines about it, text of its graph or nil }
local function read_bundle(path)
  local file = core.bundle_read(path)
  local graph = core.parse(file.graph)
  local lines = { ("%s: bundle of a %s, by sgl %s"):format(path, file.kind, file.version) }
  local keys = {}
  for key in pairs(file.about) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do lines[#lines + 1] = ("  %-28s %s"):format(key, file.about[key]) end
  lines[#lines + 1] = "inputs"
  for i, input in ipairs(graph:inputs()) do
    if not input.state then
      lines[#lines + 1] = ("  %-28s %s"):format(input.name or i, type_of(input))
    end
  end
  lines[#lines + 1] = "outputs"
  for i, output in ipairs(graph:outputs()) do
    lines[#lines + 1] = ("  %-28s %s"):format(output.name or i, type_of(output))
  end
  lines[#lines + 1] = ("graph\n  %-28s %d nodes, CRC-32 %s"):format("graph.txt", #graph:nodes(),
    core.checksum(file.graph))
  return { state = file.state, lines = lines, graph = file.graph }
end

local function read_tensors(path)
  local dict, message = api.root.load(path)
  if not dict then return nil, message end
  local state = {}
  for i, name in ipairs(dict) do state[i] = { name, rawget(dict, name) or false } end
  return { state = state, lines = { path .. ": tensors" } }
end

local function is_bundle(path)
  if path:sub(-1) == "/" or core.there(path .. "/bundle.json") then return true end
  local file = io.open(path, "rb")
  local start = file and file:read(2)
  if file then file:close() end
  return start == "PK"
end

local function read(path)
  local how = path:find "%.onnx$" and read_onnx or is_bundle(path) and read_bundle or read_tensors
  local ok, file, message = pcall(how, path)
  if not ok then error(tostring(file), 0) end
  if not file then error(message, 0) end
  file.by_name = {}
  for _, item in ipairs(file.state) do file.by_name[item[1]] = item[2] end
  return file
end

local function show(file, print_graph)
  local total = 0
  for _, line in ipairs(file.lines) do print(line) end
  for _, item in ipairs(file.state) do total = total + (item[2] and bytes_of(item[2]) or 0) end
  print(("state: %d tensor%s, %s bytes"):format(#file.state, #file.state == 1 and "" or "s",
    grouped(total)))
  for _, item in ipairs(file.state) do
    print(item[2] and tensor_line(item[1], item[2])
      or ("  %-28s of a dtype that there is not here"):format(item[1]))
  end
  if print_graph and file.graph then print(file.graph) end
end

-- How the values of two tensors of one type differ.
local function value_difference(a, b)
  if a:bytes() == b:bytes() then return nil end
  local x, y = a:to "f64":flatten(), b:to "f64":flatten()
  local other = x:ne(y):sum():item()
  if other == 0 then return "other bits, equal values" end
  return ("%d of %d elements differ, by %.3g at most"):format(other, a:numel(),
    (x - y):abs():max():item())
end

local function difference(a, b)
  if not a or not b then return not a == not b and "not compared" or "only one can be read" end
  if type_of(a) ~= type_of(b) then return ("%s and %s"):format(type_of(a), type_of(b)) end
  return value_difference(a, b)
end

-- The first line in which two texts differ.
local function first_line(a, b)
  local next_a, next_b, number = a:gmatch "[^\n]*", b:gmatch "[^\n]*", 0
  repeat
    number = number + 1
    local x, y = next_a(), next_b()
    if x ~= y then
      return ("line %d\n    %s\n    %s"):format(number, x or "(end)", y or "(end)")
    end
  until not x
end

-- Prints where they differ; returns in how many places.
local function compare(a, b, path_a, path_b)
  local count = 0
  local function say(...)
    count = count + 1
    print(("  %-28s %s"):format(...))
  end
  print(("%s and %s"):format(path_a, path_b))
  if a.graph and b.graph and a.graph ~= b.graph then say("graph", first_line(a.graph, b.graph)) end
  for _, item in ipairs(a.state) do
    local name, other = item[1], b.by_name[item[1]]
    local what = other == nil and "only in " .. path_a or difference(item[2], other)
    if what then say(name, what) end
  end
  for _, item in ipairs(b.state) do
    if a.by_name[item[1]] == nil then say(item[1], "only in " .. path_b) end
  end
  print(count == 0 and "  the same" or ("%d difference%s"):format(count, count == 1 and "" or "s"))
  return count
end

--- Prints what is in one file, or where two differ: then returns how many differences there are.
function inspect.run(print_graph, path, other)
  if not path then raise("SGL_EARG", "inspect: a file is needed") end
  local file = read(path)
  if not other then
    show(file, print_graph)
    return 0
  end
  return compare(file, read(other), path, other)
end

return inspect
