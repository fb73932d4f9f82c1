-- breaks/path.lua: the way to a break: the calls from the step to it, and the operations from the
-- step's inputs to the tensor that it is about.
--
-- In:    the frames and nodes that init.lua got, names of tensors from outside.
-- Out:   the field `path` of a record: { calls, values, more }: calls outermost first; values
--        inputs first, each { id, op, composite, type, file, line, inputs = { ids }, cut }: cut
--        says that it reads what is left out; more: how many values are left out between the first
--        and the last.
--        Lines of text for a report; a drawing in Graphviz's language.
-- Holds: a break that reads a value ends a segment: what led to it is in the one, the rest of the
--        step in the next. Others leave segments as they are.
local picture = require "sgl.picture"

local path = {}

-- Rows of a long way that are shown from its start and from its end.
local HEAD, TAIL = 3, 9

local function operation(n, name_of)
  if not n.input then return n.op end
  if n.input ~= "" then return n.input end
  return n.tensor and name_of(n.tensor) or "a tensor from outside"
end

--- The path of a break: the frames innermost first, the nodes, and name_of(tensor) or nil.
function path.make(frames, nodes, name_of)
  local made = { calls = {}, values = {}, more = nodes and nodes.more or 0 }
  for i = #frames, 1, -1 do made.calls[#made.calls + 1] = frames[i] end
  for i, n in ipairs(nodes or {}) do
    made.values[i] = { id = i, op = operation(n, name_of), composite = n.composite, type = n.type,
                       file = n.file, line = n.line, inputs = n.inputs, cut = n.cut }
  end
  return made
end

-- The numbers of the segments before and after a break, if it parts them.
local function parts(record)
  return record.action == "segments" and record.component == "reading"
end

-- `more`: how many rows the list has left out already, between its first and last.
local function elided(rows, more)
  if #rows + more <= HEAD + TAIL + 1 then return rows end
  local out = table.move(rows, 1, HEAD, 1, {})
  out[#out + 1] = ("… %d more"):format(#rows + more - HEAD - TAIL)
  return table.move(rows, #rows - TAIL + 1, #rows, #out + 1, out)
end

-- File names need not be UTF-8.
local function columns(text) return utf8.len(text) or #text end

local function padded(text, width) return text .. (" "):rep(width - columns(text)) end

local function place(v) return v.file and ("%s:%d"):format(v.file, v.line) or "" end

local function name(v) return v.composite and ("%s in %s"):format(v.op, v.composite) or v.op end

local function value_rows(values)
  local cells, width = {}, { 0, 0, 0, 0 }
  for i, v in ipairs(values) do
    local of = {}
    for k, id in ipairs(v.inputs) do of[k] = "%" .. id end
    if v.cut then of[#of + 1] = "…" end
    cells[i] = { "%" .. v.id, name(v), v.type, place(v), #of > 0
      and "of " .. table.concat(of, ", ") or "" }
    for c = 1, 4 do width[c] = math.max(width[c], columns(cells[i][c])) end
  end
  local rows = {}
  for i, row in ipairs(cells) do
    for c = 1, 4 do row[c] = padded(row[c], width[c]) end
    rows[i] = table.concat(row, "  "):gsub("%s+$", "")
  end
  if #rows > 0 then rows[#rows] = rows[#rows] .. "  <- here" end
  return rows
end

--- Lines of a report on a record, each with `indent` before it.
function path.lines(record, indent)
  local way, out = record.path, {}
  local function put(title, rows, more)
    for i, row in ipairs(elided(rows, more)) do
      out[#out + 1] = indent .. padded(i == 1 and title or "", 8) .. row
    end
  end
  put("calls", way.calls, 0)
  put("values", value_rows(way.values), way.more)
  if parts(record) then
    local n = record.segment or 1
    put("parts", { ("segment %d ends here: it computes the value that is read"):format(n),
                   ("segment %d begins with the operation that follows"):format(n + 1) }, 0)
  end
  return out
end

local function box(out, id, label, style)
  out[#out + 1] = ("  %s [label=%s%s]"):format(id, picture.string(label), style or "")
end

local function edge(out, from, to, style)
  out[#out + 1] = ("  %s -> %s%s"):format(from, to, style or "")
end

local function draw_calls(out, calls)
  for i, call in ipairs(calls) do
    box(out, "call" .. i, call, ", style=rounded")
    edge(out, "call" .. i, calls[i + 1] and "call" .. i + 1 or "here", " [style=dashed]")
  end
end

-- What is left out is one box between the values that nobody reads and those that read it.
local function draw_values(out, way)
  local values, read = way.values, {}
  for i, v in ipairs(values) do
    box(out, "value" .. v.id, ("%s\n%s\n%s"):format(name(v), v.type, place(v)),
      #v.inputs == 0 and not v.cut and ", style=filled, fillcolor=lightgrey")
    for _, id in ipairs(v.inputs) do
      edge(out, "value" .. id, "value" .. v.id)
      read[id] = true
    end
    if v.cut then edge(out, "more", "value" .. v.id) end
    read[v.id] = i == #values
  end
  if way.more > 0 then box(out, "more", ("… %d more"):format(way.more), ", style=dotted") end
  for _, v in ipairs(values) do
    if not read[v.id] then edge(out, "value" .. v.id, "more") end
  end
  if #values > 0 then edge(out, "value" .. values[#values].id, "here") end
end

--- The drawing: the calls down to the break, and the values that flow into it.
function path.dot(record)
  local out = { "digraph {", "  node [shape=box, fontname=monospace, fontsize=10]" }
  draw_calls(out, record.path.calls)
  if parts(record) then
    local n = record.segment or 1
    out[#out + 1] = ("  subgraph cluster_before { label=\"segment %d\"; style=dashed"):format(n)
    draw_values(out, record.path)
    out[#out + 1] = "  }"
    box(out, "after", "segment " .. n + 1, ", style=dashed")
    edge(out, "here", "after")
  else
    draw_values(out, record.path)
  end
  box(out, "here", ("%s\n%s"):format(record.code, record.reason:gsub(": .*", "")),
    ", style=filled, fillcolor=mistyrose, color=red")
  out[#out + 1] = "}\n"
  return table.concat(out, "\n")
end

return path
