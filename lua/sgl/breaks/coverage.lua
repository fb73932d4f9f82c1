-- breaks/coverage.lua: how much of a compiled function runs as whole programs, and what keeps it
-- from it.
--
-- In:    what compile.lua notes at breaks, and the runs of its entries.
-- Out:   sgl.coverage(fn): a table that prints as a report; records as JSON lines.
local api = require "sgl.api"
local core = require "sgl.core"
local events = require "sgl.emit"
local json = require "sgl.json"
local path = require "sgl.breaks.path"
local picture = require "sgl.picture"

local coverage = {}

local all = setmetatable({}, { __mode = "k" })   -- compiled function -> its place in order
local made = 0

--- Notes a compiled function, for reports over a whole script.
function coverage.note(compiled)
  made = made + 1
  all[compiled] = made
  return compiled
end

--- Every compiled function that is alive, in order of making.
function coverage.all()
  local list = {}
  for compiled in pairs(all) do list[#list + 1] = compiled end
  table.sort(list, function(a, b) return all[a] < all[b] end)
  return list
end

--- Notes the record of a break, once for each place; returns it.
function coverage.broke(self, record)
  local place = ("%s %s:%s"):format(record.code, record.file, record.line)
  for _, known in ipairs(self.broken) do
    if known.place == place then
      known.count = known.count + 1
      return known.record
    end
  end
  record.action = "segments"
  if record.component == "reading" then
    self.reads = self.reads + 1
    record.segment = self.reads
  end
  self.broken[#self.broken + 1] = { place = place, record = record, count = 1 }
  events.emit("fallback", record)
  return record
end

-- Has a break at the place of the record been noted, whatever its code?
local function has_place(self, record)
  for _, known in ipairs(self.broken) do
    local there = known.record
    if there.file == record.file and there.line == record.line then return true end
  end
  return false
end

-- Ends a survey however the function ends.
local Survey = { __close = function(survey) core.survey(survey.before) end }

-- Calls fn; the reads in it that end segments are noted as breaks.
local function surveyed(self, fn, ...)
  local list = {}
  local results
  do
    local survey <close> = setmetatable({ before = core.survey(list) }, Survey)
    results = table.pack(fn(...))
  end
  for _, e in ipairs(list) do
    if not has_place(self, e.record) then coverage.broke(self, e.record) end
  end
  return results
end

--- Calls fn as Lua runs it and counts the segments that were run for it, the last one, which runs
--- when its results are read, included. In its first run the reads that end segments become
--- records. Returns the packed results.
function coverage.segmented(self, first, fn, ...)
  local before, started = core.segments(), core.clock()
  local results = first and surveyed(self, fn, ...) or table.pack(fn(...))
  local run = core.segments() - before
  self.segments = math.max(self.segments, run + 1)
  self.broken_seconds = self.broken_seconds + (core.clock() - started)
  return results
end

local function with_fields(fields, v)
  return setmetatable({ fields = fields }, { __index = v })
end

local VALUE = { "id", "op", "composite", "type", "file", "line", "inputs", "cut" }
local PATH = { "calls", "values", "more" }

local function path_fields(way)
  local values = {}
  for i, v in ipairs(way.values) do values[i] = with_fields(VALUE, v) end
  return { fields = PATH, calls = way.calls, values = values, more = way.more }
end

local FIELDS = { "code", "reason", "file", "line", "stack", "component", "action", "fix", "path" }

--- The record of a break as one line of JSON.
function coverage.line(record)
  local line = with_fields(FIELDS, record)
  line.path = path_fields(record.path)
  return json(line)
end

local Report = { __name = "sgl.coverage" }

api.class(api.root, "Coverage", {
  doc = "What sgl.coverage returns: { name, steps, captures, breaks, segments, recaptures, "
    .. "captured_steps, captured_time, seconds }. It prints as a report.",
}, Report)

local function percent(share) return ("%.1f %%"):format(100 * share) end

function Report:__tostring()
  local out = { ("%s: %d capture%s, %d re-capture%s, %d break%s"):format(self.name,
    self.captures, self.captures == 1 and "" or "s", #self.recaptures,
    #self.recaptures == 1 and "" or "s", #self.breaks, #self.breaks == 1 and "" or "s") }
  out[#out + 1] = ("  captured  %s of %d steps, %s of %.3f s"):format(percent(self.captured_steps),
    self.steps, percent(self.captured_time), self.seconds)
  if self.segments > 0 then out[#out + 1] = ("  segments  %d a step"):format(self.segments) end
  for _, b in ipairs(self.breaks) do
    out[#out + 1] = ("  %s  %s:%s: %s"):format(b.code, b.file, b.line, b.reason)
    for _, line in ipairs(path.lines(b, "      ")) do out[#out + 1] = line end
    if b.fix then out[#out + 1] = "      use " .. b.fix end
  end
  for _, reason in ipairs(self.recaptures) do out[#out + 1] = "  re-captured: " .. reason end
  return table.concat(out, "\n")
end

api.method(Report, "json", {
  doc = "The records of the breaks as JSON lines.", returns = "string",
}, function(self)
  local lines = {}
  for i, b in ipairs(self.breaks) do lines[i] = coverage.line(b) end
  return table.concat(lines, "\n")
end)

--- Draws the way to each break of a report into a folder; `taken` holds the names that others have
--- taken there. Returns the paths; nil, message, code where one could not be drawn.
function coverage.draw(report, folder, taken)
  local drawn, message, code = {}, nil, nil
  for i, b in ipairs(report.breaks) do
    local file = (b.file or ""):gsub("[^%w.-]+", "-"):gsub("^%-", "")
    local name = ("%s/%s-%s-%s"):format(folder, b.code, file, b.line or 0)
    taken[name] = (taken[name] or 0) + 1
    if taken[name] > 1 then name = ("%s-%d"):format(name, taken[name]) end
    local path_drawn, problem, problem_code = picture.draw(path.dot(b), name .. ".svg", true)
    drawn[i], message, code = path_drawn, message or problem, code or problem_code
  end
  if message then return nil, message, code end
  return drawn
end

api.method(Report, "picture", {
  doc = "Draws the way to each break with Graphviz into a file CODE-FILE-LINE.svg.",
  args = { { "folder", "string?", "default the working folder" } },
  returns = "the paths; or nil, message, code: without Graphviz the texts are kept, as .dot",
}, function(self, folder) return coverage.draw(self, folder or ".", {}) end)

--- The report of a compiled function.
function coverage.report(self)
  local report = setmetatable({ name = self.name, breaks = {}, recaptures = {},
                                steps = self.uncaptured,
                                captures = #(self.order or {}), segments = self.segments }, Report)
  local captured = 0
  for _, entry in ipairs(self.order or {}) do
    report.steps = report.steps + entry.runs + entry.aliased
    if entry.program then captured = captured + entry.runs end
    if entry.reason then report.recaptures[#report.recaptures + 1] = entry.reason end
  end
  for i, b in ipairs(self.broken) do report.breaks[i] = b.record end
  local seconds = self.seconds + (self.calls and core.call_seconds(self.calls) or 0)
  report.seconds = seconds + self.broken_seconds
  report.captured_steps = report.steps > 0 and captured / report.steps or 1
  report.captured_time = report.seconds > 0 and seconds / report.seconds or 1
  return report
end

api.strict(Report, "a coverage report", { "name", "steps", "captures", "breaks", "segments",
  "recaptures", "captured_steps", "captured_time", "seconds" })

api.fn(api.root, "coverage", {
  doc = "What a compiled function could be captured of, what keeps it from the rest, and the way "
    .. "to each break.",
  args = { { "fn", "any", "what sgl.compile returned" } },
  returns = "Coverage",
  errors = "something that is not a compiled function",
}, function(fn)
  if not all[fn] then
    core.raise("SGL_EARG", ("coverage: needs a compiled function, got %s"):format(api.describe(fn)),
      "pass what sgl.compile returned")
  end
  return coverage.report(fn)
end)

return coverage
