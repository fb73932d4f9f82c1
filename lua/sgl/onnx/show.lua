-- onnx/show.lua: what is in an ONNX file, for `sgl inspect`, imported or not.
--
-- In:    a path.
-- Out:   lines about it, its constants as { name, tensor or false }, its nodes as text.
-- Holds: nothing is run; an operator that is not imported is shown and marked.
local core = require "sgl.core"
local ops = require "sgl.onnx.import"
local values = require "sgl.onnx.values"
local wire = require "sgl.onnx.wire"

local function type_of(v)
  local t = v.type and v.type.tensor_type
  if not t then return "no tensor" end
  local dtype, other = values.dtype(t.elem_type or 0)
  local sizes = {}
  for i, dim in ipairs(t.shape and t.shape.dim or {}) do
    sizes[i] = tostring(dim.dim_value or dim.dim_param or "?")
  end
  return ("%s[%s]"):format(dtype or other, t.shape and table.concat(sizes, ", ") or "…")
end

local SHOWN = {
  [1] = function(a) return ("%.9g"):format(a.f or 0) end,
  [2] = function(a) return tostring(a.i or 0) end,
  [3] = function(a) return core.quote(a.s or "") end,
  [4] = function() return "tensor" end,
  [5] = function(a) return ("graph of %d nodes"):format(a.g and #a.g.node or 0) end,
  [6] = function(a) return ("[%s]"):format(table.concat(a.floats, ", ")) end,
  [7] = function(a) return ("[%s]"):format(table.concat(a.ints, ", ")) end,
}

-- "y = Conv(x, w) {group=1}", those of nested graphs indented.
local function node_lines(graph, indent, lines, counts)
  for _, node in ipairs(graph.node) do
    local attributes, op = {}, node.op_type or "?"
    counts[op] = (counts[op] or 0) + 1
    for i, a in ipairs(node.attribute) do
      local show = SHOWN[a.type or 0]
      attributes[i] = ("%s=%s"):format(a.name or "?", show and show(a) or "?")
    end
    lines[#lines + 1] = ("%s%s = %s(%s)%s"):format(indent, table.concat(node.output, ", "), op,
      table.concat(node.input, ", "), #attributes > 0 and (" {%s}"):format(
        table.concat(attributes, ", ")) or "")
    for _, a in ipairs(node.attribute) do
      if a.g then node_lines(a.g, indent .. "  ", lines, counts) end
    end
  end
  return lines, counts
end

-- "Conv 12, Relu 3", with a mark behind those that are not imported.
local function counted(counts)
  local names = {}
  for name in pairs(counts) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    names[i] = ("%s %d%s"):format(name, counts[name], ops.rows[name] and "" or " (not imported)")
  end
  return table.concat(names, ", ")
end

local function ends(title, list, lines)
  lines[#lines + 1] = title
  for _, v in ipairs(list) do
    lines[#lines + 1] = ("  %-28s %s"):format(v.name or "?", type_of(v))
  end
end

--- { state, lines, graph }; nil, message where the file cannot be read. Raises where it is damaged.
return function(path)
  local bytes, message = core.read(path)
  if not bytes then return nil, message end
  local read, model = pcall(wire.decode, "Model", bytes)
  if not read then
    core.raise("SGL_EFORMAT", ("%s: %s"):format(path, model.message or tostring(model)),
      "it is no ONNX file, or a damaged one")
  end
  local graph = model.graph or core.raise("SGL_EFORMAT", path .. ": there is no graph in it")
  local sets, state, constant = {}, {}, {}
  for i, set in ipairs(model.opset_import) do
    local domain = set.domain or ""
    sets[i] = (domain ~= "" and domain .. " " or "") .. tostring(set.version or "?")
  end
  for i, t in ipairs(graph.initializer) do
    local ok, data, dtype, dims = pcall(values.read, t, path:match "^.*/" or "./")
    state[i] = { t.name or "?", ok and core.from_bytes(data, dtype, dims) or false }
    constant[t.name or "?"] = true
  end
  local nodes, counts = node_lines(graph, "", {}, {})
  local lines = { ("%s: ONNX, opset %s, IR version %s, by %s %s"):format(path,
    table.concat(sets, ", "), model.ir_version or "?", model.producer_name or "?",
    model.producer_version or "") }
  local inputs = {}
  for _, v in ipairs(graph.input) do
    if not constant[v.name] then inputs[#inputs + 1] = v end
  end
  ends("inputs", inputs, lines)
  ends("outputs", graph.output, lines)
  lines[#lines + 1] = ("graph\n  %d nodes: %s"):format(#nodes, counted(counts))
  return { state = state, lines = lines, graph = table.concat(nodes, "\n") }
end
