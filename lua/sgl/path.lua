-- path.lua: the way to a break: the calls from the step to it, and the operations from the step's
-- inputs to the tensor that it is about.
--
-- In:    the record of a break: { …, path = { calls, values, more } }: calls outermost first;
--        values inputs first, each { id, op, type, place, inputs = { ids } }; more: some left out.
-- Out:   lines of text for a report; a drawing in Graphviz's language.
local picture = require "sgl.picture"

local path = {}

-- Rows of a long way that are shown from its start and from its end.
local HEAD, TAIL = 3, 9

--- The path of a break from what capture found: the frames innermost first, the nodes.
function path.make(stack, nodes)
  local made = { calls = {}, values = {}, more = nodes ~= nil and nodes.more }
  for i = #stack, 1, -1 do made.calls[#made.calls + 1] = stack[i] end
  for i, n in ipairs(nodes or {}) do
    local name = n.op ~= "" and n.op or "a tensor from outside"
    made.values[i] = { id = n.id, type = n.type, inputs = n.inputs,
                       op = n.region and ("%s in %s"):format(name, n.region) or name,
                       place = n.file and ("%s:%d"):format(n.file, n.line) or "" }
  end
  return made
end

local function elided(rows)
  if #rows <= HEAD + TAIL + 1 then return rows end
  local out = table.move(rows, 1, HEAD, 1, {})
  out[#out + 1] = ("… %d more"):format(#rows - HEAD - TAIL)
  return table.move(rows, #rows - TAIL + 1, #rows, #out + 1, out)
end

local function padded(text, width) return text .. (" "):rep(width - utf8.len(text)) end

local function value_rows(values)
  local cells, width = {}, { 0, 0, 0, 0 }
  for i, v in ipairs(values) do
    local of = {}
    for k, id in ipairs(v.inputs) do of[k] = "%" .. id end
    cells[i] = { "%" .. v.id, v.op, v.type, v.place, #of > 0 and "of " .. table.concat(of, ", ")
      or "" }
    for c = 1, 4 do width[c] = math.max(width[c], utf8.len(cells[i][c])) end
  end
  local rows = {}
  for i, row in ipairs(cells) do
    for c = 1, 4 do row[c] = padded(row[c], width[c]) end
    rows[i] = table.concat(row, "  "):gsub("%s+$", "")
  end
  if #rows > 0 then rows[#rows] = rows[#rows] .. "  <- here" end
  return rows
end

--- Lines of a report, each with `indent` before it.
function path.lines(way, indent)
  local out = {}
  local function put(title, rows)
    for i, row in ipairs(elided(rows)) do
      out[#out + 1] = indent .. padded(i == 1 and title or "", 8) .. row
    end
  end
  put("calls", way.calls)
  put("values", value_rows(way.values))
  return out
end

local function box(out, name, label, style)
  out[#out + 1] = ("  %s [label=%s%s]"):format(name, picture.string(label), style or "")
end

--- The drawing: the calls down to the break, and the values that flow into it.
function path.dot(record)
  local way, out = record.path, { "digraph {", "  rankdir=TB",
    "  node [shape=box, fontname=monospace, fontsize=10]" }
  for i, call in ipairs(way.calls) do
    box(out, "call" .. i, call, ", style=rounded")
    out[#out + 1] = ("  call%d -> %s [style=dashed]"):format(i,
      way.calls[i + 1] and "call" .. i + 1 or "here")
  end
  for i, v in ipairs(way.values) do
    box(out, "value" .. v.id, ("%s\n%s\n%s"):format(v.op, v.type, v.place),
      #v.inputs == 0 and ", style=filled, fillcolor=lightgrey")
    for _, id in ipairs(v.inputs) do
      out[#out + 1] = ("  value%d -> value%d"):format(id, v.id)
    end
    if i == #way.values then out[#out + 1] = ("  value%d -> here"):format(v.id) end
  end
  box(out, "here", ("%s\n%s"):format(record.code, record.reason:gsub(": .*", "")),
    ", style=filled, fillcolor=mistyrose, color=red")
  out[#out + 1] = "}\n"
  return table.concat(out, "\n")
end

return path
