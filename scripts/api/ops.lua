-- ops.lua: docs/ops.md: the op table, family by family.
--
-- In:    core.ops().
-- Out:   the page as a string.
local core = require "sgl.core"
local words = require "api.words"

local HEAD = [[
# The op table

Written by `make docs` from `src/ir/op.def`; do not edit.

A graph consists of these ops. Everything else (`nn.gelu`, `t:softmax`, …) is recorded as a
composite: a named group of them. *Types* are those of the inputs; an integer given to a float op
is converted to f32 first. *Gradient* says whether one flows. *Domain* is how the generated specs
sample the inputs. *ONNX* is the op of the same meaning, where there is one.
]]

local FAMILIES = {
  { "unary", "Elementwise, one input" },
  { "test", "Elementwise, one input to bool" },
  { "binary", "Elementwise, two inputs" },
  { "compare", "Elementwise, two inputs to bool" },
  { "select", "Elementwise, three inputs" },
  { "leaf", "Leaves" },
  { "cast", "Conversion" },
  { "movement", "Movement" },
  { "reduce", "Reductions" },
  { "dot", "Products" },
  { "index", "Indexing, sorting, running sums" },
  { "control", "Control flow" },
  { "custom", "Registered ops" },
  { "result", "Results of nodes that have several" },
  { "effect", "Effects" },
  { "comm", "Between ranks" },
}

local KINDS = {
  I = "integer", F = "number", T = "dtype", A = "dim", P = "list of dims", L = "list of integers",
  D = "list of sizes", S = "text", G = "block",
}

-- "start:D blocks:I=1" as "start (list of sizes), blocks (integer, default 1)".
local function attributes(text)
  local list = {}
  for name, kind, default in text:gmatch "(%w+):(%u)=?(%S*)" do
    if default ~= "" then default = ", default " .. default end
    list[#list + 1] = ("%s (%s%s)"):format(name, KINDS[kind] or kind, default)
  end
  return table.concat(list, ", ")
end

local function rows_of(family)
  local rows, structured = {}, false
  for _, op in ipairs(core.ops()) do
    if op.family == family then
      structured = structured or op.attrs ~= ""
      rows[#rows + 1] = {
        "`" .. op.name .. "`", words.plain(op.doc), table.concat(op.types, ", "),
        op.differentiable and "yes" or "no", op.domain, op.onnx or "", attributes(op.attrs),
      }
    end
  end
  return rows, structured
end

--- docs/ops.md
return function()
  local parts, known = { HEAD }, {}
  for _, family in ipairs(FAMILIES) do
    known[family[1]] = true
    local rows, structured = rows_of(family[1])
    local head = { "op", "meaning", "types", "gradient", "domain", "ONNX" }
    if structured then head[#head + 1] = "attributes" end
    parts[#parts + 1] = ("## %s\n\n%s\n"):format(family[2], words.table(head, rows))
  end
  for _, op in ipairs(core.ops()) do
    assert(known[op.family], ("ops.lua: no section for the family '%s'"):format(op.family))
  end
  return table.concat(parts, "\n")
end
