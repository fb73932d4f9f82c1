-- breaks/init.lua: what is said at a break, a place at which the capture of a step stops.
--
-- In:    the facts that tensor/break.c found: the row of breaks.def, what stands there, the tensor.
-- Out:   the error object: the sentence, the source line with the expression marked, the rewrites;
--        and its record { code, reason, file, line, stack, component, action, fix, path }.
-- Holds: the source line is read from the file; where that cannot be, it is left out.
local api = require "sgl.api"
local condition = require "sgl.breaks.condition"
local core = require "sgl.core"
local exports = require "sgl.breaks.exports"
local guards = require "sgl.compile.guards"
local path = require "sgl.breaks.path"

local breaks = {}

local KEYWORDS = { ["'if'"] = true, ["'elseif'"] = true, ["'while'"] = true, ["'until'"] = true }

-- The text of a line of a chunk's file, or nil.
local function line_of(source, file, number)
  local name = source and source:match "^@(.*)$" or not source and file
  local handle = name and io.open(name, "rb")
  if not handle then return nil end
  local text
  for _ = 1, number do text = handle:read "l" end
  handle:close()
  return text and text:gsub("%s+$", "")
end

-- "(f32[64], from :gt at line 13)"
local function tensor_words(facts)
  if not facts.tensor then return "" end
  local from = ""
  if facts.op then
    local elsewhere = facts.op_file ~= facts.file and facts.op_file
    local place = facts.op_line and (elsewhere and (" at %s:%d"):format(elsewhere, facts.op_line)
      or " at line " .. facts.op_line) or ""
    from = (", from :%s%s"):format(facts.op, place)
  end
  return (" (%s%s)"):format(facts.tensor, from)
end

local WIDTH = 33

local function rewrite_lines(facts, expression, out)
  for item in facts.rewrites:gmatch "[^;]+" do
    local code, why = item:match "^(.-)|(.*)$"
    if not code:find("$", 1, true) or expression then
      code = code:gsub("%$", function() return expression end)
      local first = #out == 0 or not out.rewritten
      out.rewritten = true
      out[#out + 1] = ("%s%s%s"):format(first and "use   " or "or    ",
        why == "" and code or code .. (" "):rep(math.max(1, WIDTH - utf8.len(code))), why)
      facts.fix = facts.fix or code
    end
  end
end

-- The capture that is on, so that frames and tensors get the names it knows them by.
local now = setmetatable({}, { __mode = "v" })

--- Notes that fn is captured for an entry, whose guards are being made.
function breaks.watch(entry, fn) now.entry, now.step = entry, fn end

-- The user's frames, innermost first.
local function stack()
  local frames, level = {}, 3
  while true do
    local info = debug.getinfo(level, "Slnf")
    if not info then return frames end
    if info.currentline > 0 and info.source:sub(1, 5) ~= "=sgl/" then
      local name = info.func == now.step and "the step" or info.name
      frames[#frames + 1] = ("%s:%d%s"):format(info.short_src, info.currentline,
        name and " in " .. name or "")
    end
    level = level + 1
  end
end

local function name_of(tensor)
  local entry = now.entry
  return entry and entry.guards and guards.path(entry.guards, tensor, entry.names)
end

local function called(tensor)
  return type(tensor) == "string" and tensor or name_of(tensor) or "a tensor from outside"
end

-- The function of the library that the user called, where one in Lua stands between.
local function called_function()
  local level, name = 4, nil
  while true do
    local info = debug.getinfo(level, "Sf")
    if not info or info.source:sub(1, 5) ~= "=sgl/" and info.what ~= "C" then return name end
    name = api.full_name(info.func) or name
    level = level + 1
  end
end

local function make(facts)
  local text = facts.line and line_of(facts.source, facts.file, facts.line)
  local what, out, expression, column = facts.what, {}, nil, nil
  local outer = facts.component == "reading" and called_function()
  if outer and outer:match "[%w_]+$" ~= what:match "^[%w_]+" then
    what = ("%s, which needs %s"):format(outer, what)
  end
  if facts.by then
    what = ("%s by %s through %s"):format(what, called(facts.by), called(facts.through))
  end
  if facts.code == "B-COND" and text then
    local here = facts.op_line == facts.line and facts.op_file == facts.file
    local word
    word, expression, column = condition.find(text, what, here and facts.op or nil)
    what = word or what
  end
  if text then
    local shown, cut = text:gsub("^%s+", "")
    out[1] = "  " .. shown
    if expression and column then
      local indent = cut > 0 and #text:match "^%s+" or 0
      out[2] = "  " .. (" "):rep(column - indent - 1) .. ("^"):rep(#expression)
    end
  end
  local suffix = facts.code == "B-COND" and " on a computed tensor" or ""
  local message = ("%s%s%s: %s"):format(what, suffix, tensor_words(facts), facts.sentence)
  if facts.code == "B-COND" and not KEYWORDS[what] then
    facts.rewrites = "if c then … else … end|to choose by a value of Lua;" .. facts.rewrites
  end
  if what:find "%f[%a]print%f[%A]" then
    facts.rewrites = "sgl.print(...)|to print at each run, tensors too;" .. facts.rewrites
  end
  rewrite_lines(facts, expression, out)
  local frames = stack()
  return {
    code = "SGL_ESTATE", reason = facts.code, message = message, hint = table.concat(out, "\n"),
    mark = ("[break %s, sgl ? %s]"):format(facts.code, facts.code),
    file = facts.file, line = facts.line,
    record = {
      code = facts.code, reason = message:gsub("\n", " "), file = facts.file, line = facts.line,
      stack = frames, component = facts.component, action = "refused", fix = facts.fix,
      path = path.make(frames, facts.nodes, name_of),
    },
  }
end

core.on_break(make)

--- The rows of the table of breaks: { code, component, sentence, rewrites = { { code, why }, … } }.
function breaks.rows()
  local rows = core.breaks()
  for _, row in ipairs(rows) do
    local list = {}
    for item in row.rewrites:gmatch "[^;]+" do list[#list + 1] = { item:match "^(.-)|(.*)$" } end
    row.rewrites, row.sentence = list, row.sentence:gsub("\n", " ")
  end
  return rows
end

local function row_of(code)
  for _, rows in ipairs { breaks.rows(), exports.rows() } do
    for _, row in ipairs(rows) do
      if row.code == code then return row end
    end
  end
end

--- The record of an error that ended a capture, or nil if it is no break.
function breaks.record(e)
  if type(e) ~= "table" or not e.reason then return nil end
  local frames = e.file and { ("%s:%d"):format(e.file, e.line) } or {}
  return e.record or {
    code = e.reason, reason = e.message, file = e.file, line = e.line, stack = frames,
    component = "reading", action = "refused", fix = e.hint, path = path.make(frames),
  }
end

--- The record of an error that is no break, but that Lua does not raise: a program would.
function breaks.record_of_error(e)
  local text = type(e) == "table" and e.message or tostring(e)
  local file, line = text:match "^(.-):(%d+): "
  local row = row_of "B-ERROR"
  local place = type(e) == "table" and e or { file = file, line = tonumber(line) }
  local frames = place.file and { ("%s:%d"):format(place.file, place.line) } or {}
  return {
    code = row.code, reason = ("%s (%s)"):format(text, row.sentence), file = place.file,
    line = place.line, stack = frames, component = row.component, action = "segments",
    fix = row.rewrites[1][1], path = path.make(frames),
  }
end

--- The record of a function that was captured as often as it may be; `lines` say what changed.
function breaks.record_of_limit(fn, text, lines)
  local row, info = row_of "B-LIMIT", debug.getinfo(fn, "S")
  local frames = { ("%s:%d in the step"):format(info.short_src, info.linedefined) }
  return {
    code = row.code, reason = ("%s (%s): %s"):format(text, row.sentence,
      table.concat(lines, ";"):gsub("%s+", " ")), file = info.short_src,
    line = info.linedefined,
    stack = frames, component = row.component, action = "segments", fix = row.rewrites[1][1],
    path = path.make(frames),
  }
end

--- The entry of a code as the catalogue has it, or nil.
function breaks.text(code)
  local row = row_of(code:upper())
  if not row then return nil end
  local out = { ("%s  (%s)"):format(row.code, row.component), "  " .. row.sentence }
  for i, rewrite in ipairs(row.rewrites) do
    local code_text = rewrite[1]:gsub("%$", "x:gt(0)")
    out[#out + 1] = ("  %s %-32s %s"):format(i == 1 and "use  " or "or   ", code_text,
      rewrite[2]):gsub("%s+$", "")
  end
  return table.concat(out, "\n")
end

return breaks
