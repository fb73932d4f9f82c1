-- breaks.lua: docs/breaks.md, the catalogue of reasons for which the capture of a step stops.
--
-- In:    the rows of src/tensor/breaks.def, as the program knows them.
-- Out:   the page: what a break is, then an entry for each code.
local breaks = require "sgl.breaks"
local exports = require "sgl.breaks.exports"

local HEAD = [[
# Breaks

`sgl.compile` runs a function once and records it as a graph. Where a recorded graph could not mean
what the function means, capture stops with a break: the line, the reason, what to write instead.
`sgl ? B-COND` prints the entry of a code, `sgl breaks train.lua` all breaks of a script.

With `sgl.compile(fn, { fullgraph = false })` a step that breaks runs as Lua runs it: between the
values that it reads, its operations are compiled segments, and the results are the same. Each break
is then a record `{ code, reason, file, line, stack, component, action, fix }`; `sgl.coverage(fn)`
lists them. With `strict = true` each is an error again.
]]

local EXPORTS = [[

# Blocked exports

`sgl.export` gives `nil, message, code, block` where something cannot be exported. The block is a
table `{ code, phase, class, node, op, file, line, reason, fix }`. A break of the capture has its
code from above, and its component is the class; the other reasons follow, by phase.
]]

local function entry(row)
  local head = row.phase and ("Phase: %s. Class"):format(row.phase) or "Component"
  local out = { ("\n## %s\n\n%s: %s. %s\n"):format(row.code, head, row.component,
    row.sentence:gsub("^%l", string.upper)) }
  for _, rewrite in ipairs(row.rewrites) do
    local code = rewrite[1]:gsub("%$", "x:gt(0)")
    local text = code:find "[%(%{=]" and ("`%s`"):format(code) or code
    out[#out + 1] = ("- %s %s"):format(text, rewrite[2]):gsub("%s+$", "")
  end
  return table.concat(out, "\n") .. "\n"
end

--- docs/breaks.md
return function()
  local out = { HEAD }
  for _, row in ipairs(breaks.rows()) do out[#out + 1] = entry(row) end
  out[#out + 1] = EXPORTS
  for _, row in ipairs(exports.rows()) do out[#out + 1] = entry(row) end
  return table.concat(out)
end
