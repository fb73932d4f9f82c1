-- breaks/exports.lua: why an export is blocked: one row a reason that is no break of the capture.
--
-- In:    the phase, what stands there; or the error that ended the capture.
-- Out:   a block { code, phase, class, node, op, file, line, reason, fix }, and as text: where,
--        what, why, what to write instead.
-- Holds: docs/breaks.md, `sgl ? X-PRINT` and the texts come from these rows and from breaks.def.
local exports = {}

local function row(code, phase, class, sentence, ...)
  return { code = code, phase = phase, component = class, sentence = sentence, rewrites = { ... } }
end

local ROWS = {
  row("X-ERROR", "capture", "the function",
    "it raised this while it was captured, as it would when it is called.",
    { "sgl.spec { n, 64 }", "the sizes and dtypes that the function takes" }),
  row("X-RESULT", "capture", "results",
    "an exported function returns tensors, and nothing else.",
    { "return y", "the tensors; numbers and tables of them stay in the script" }),
  row("X-STATE", "lifting state", "tensor that no module registers",
    "the module computes with it, and it is neither a parameter nor a buffer: no state dict and no "
    .. "checkpoint has it.",
    { "self.scale = nn.parameter(t)", "in the constructor, for what is trained" },
    { "self.scale = t", "in the constructor, for what is not" },
    { "sgl.export(function(x) return model(x) end, …)", "if it shall be state all the same" }),
  row("X-PRINT", "serialising", "effects",
    "a file has nobody to show it to.",
    { "if debug then sgl.print(x) end", "a value of Lua that is false when it is exported" }),
  row("X-ASSERT", "serialising", "effects",
    "a file has nobody to raise it for.",
    { "return ok", "as a result, for the caller to look at" }),
  row("X-RANKS", "serialising", "ranks",
    "it is for the ranks of the mesh that it was captured on, and a file is for any.",
    { "y:mean(1)", "of the whole batch, as on one rank: the plan puts collectives in" }),
  row("X-OP", "serialising", "operator",
    "the format has nothing that means it.",
    { "file = \"model.sgl\"", "a bundle holds every op" }),
  row("X-FILE", "writing", "file",
    "the file cannot be written.",
    { "file = \"folder/\"", "a folder, if libzip is missing" }),
  row("X-BITS", "comparing", "file",
    "what was read back is not what was to be written: this is a fault of sgl.",
    { "file = \"folder/\"", "a folder, which goes another way" }),
}

local by_code = {}
for _, r in ipairs(ROWS) do by_code[r.code] = r end

--- The rows, in the order of the phases.
function exports.rows() return ROWS end

-- The op of nodes that no bundle holds, and the code of it.
local OPS = { print = "X-PRINT", assert = "X-ASSERT", all_reduce = "X-RANKS",
              all_gather = "X-RANKS", reduce_scatter = "X-RANKS", all_to_all = "X-RANKS",
              copy_from = "X-RANKS" }

-- A line of a graph's text: the node, its op, and where it was recorded.
local function node_of(line)
  local node, op = line:match "^%s*(%%%d+) = ([%w_]+)%("
  local file, number = line:match '# "?(.-)"?:(%d+)$'
  return node, op, file, math.tointeger(tonumber(number))
end

-- The block of a code; `facts`: node, op, file, line, and what stands there.
local function block_of(code, facts)
  local r = by_code[code]
  return { code = code, phase = r.phase, class = r.component, node = facts.node, op = facts.op,
           file = facts.file, line = facts.line, reason = ("%s: %s"):format(facts.what, r.sentence),
           fix = r.rewrites[1][1] }
end

--- The block of the first node of a graph, its blocks included, that a bundle cannot hold, or nil.
function exports.of_nodes(graph)
  for line in graph:text():gmatch "[^\n]+" do
    local node, op, file, number = node_of(line)
    if OPS[op] then
      return block_of(OPS[op], { node = node, op = op, file = file, line = number,
        what = "sgl." .. op })
    end
  end
end

--- The block of state that is not `registered`, a set of tensors, or nil.
function exports.of_state(graph, state, registered)
  for _, item in ipairs(state) do
    local name, tensor = item[1], item[2]
    if name ~= "rng" and not registered[tensor] then
      for line in graph:text():gmatch "[^\n]+" do
        local node, found = line:match '^input (%%%d+) state "(.-)"'
        if found == name then
          local _, _, file, number = node_of(line)
          return block_of("X-STATE", { node = node, op = "input", file = file, line = number,
            what = ("'%s'"):format(name) })
        end
      end
    end
  end
end

--- The block of an error that ended the capture: a break's own row, or what the function raised.
function exports.of_error(e)
  local record = type(e) == "table" and e.record
  if record then
    return { code = record.code, phase = "capture", class = record.component, file = record.file,
             line = record.line, reason = e.message, fix = record.fix }
  end
  local object = type(e) == "table"
  local text = object and e.message or tostring(e)
  local file, line = text:match "^(.-):(%d+): "
  local block = block_of(object and e.reason or "X-ERROR", { what = text,
    file = object and e.file or file, line = object and e.line or tonumber(line) })
  block.fix = object and e.hint ~= "" and e.hint or block.fix
  return block
end

--- The block of a message of what came behind the capture.
function exports.of_message(code, message)
  local file, line, rest = message:match "^(.-):(%d+): (.*)$"
  return block_of(code, { what = rest or message, file = file, line = tonumber(line) })
end

--- What is said of a block that a row has: where, what stands there, why, the ways out.
function exports.text(block)
  local where = block.file and ("%s:%d: "):format(block.file, block.line) or ""
  local node = block.node and ("%s = %s, "):format(block.node, block.op) or ""
  local out = { ("blocked in %s: %s%s%s"):format(block.phase, where, node, block.reason) }
  for i, rewrite in ipairs(by_code[block.code].rewrites) do
    out[#out + 1] = ("  %s %-32s %s"):format(i == 1 and "use  " or "or   ", rewrite[1],
      rewrite[2]):gsub("%s+$", "")
  end
  out[#out + 1] = ("[export %s, sgl ? %s]"):format(block.code, block.code)
  return table.concat(out, "\n")
end

return exports
