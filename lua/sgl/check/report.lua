-- check/report.lua: what `sgl check` found, as a table for a terminal, JSON, JUnit XML, and one
-- page of HTML.
--
-- In:    stages with their lines and records (init.lua).
-- Out:   a Report. The schema of the JSON is in docs/rollout.md.
-- Holds: the page needs no other file and no network.
local api = require "sgl.api"
local json = require "sgl.json"

local report = {}

local Report = { __name = "sgl.rollout" }
Report.__index = Report

api.class(api.root, "Rollout", {
  doc = "What sgl.rollout returns. Fields: ok, script, steps, exact, stages ({ spec, ok, lines = "
    .. "{ { name, ok, text } } }), skipped: stages that did not run. It prints as a table.",
}, Report)

-- The text filled up with spaces; a letter of several bytes is one place wide.
local function padded(text, width)
  return text .. (" "):rep(width - utf8.len(text))
end

--- A stage as lines of the table.
function report.stage_text(number, s)
  local out = {}
  for i, line in ipairs(s.lines) do
    local first, more = line.text:match "^([^\n]*)\n?(.*)$"
    out[#out + 1] = ("%-9s%s%-20s%-6s%s\n"):format(i == 1 and "stage " .. number or "",
      padded(i == 1 and s.title .. " " or "", 11), line.name, line.ok and "ok" or "FAIL", first)
    for next_line in more:gmatch "[^\n]+" do
      out[#out + 1] = (" "):rep(46) .. next_line .. "\n"
    end
  end
  return table.concat(out)
end

function report.new(r) return setmetatable(r, Report) end

local function counts(r)
  local all, failed = 0, 0
  for _, s in ipairs(r.stages) do
    for _, line in ipairs(s.lines) do
      all = all + 1
      failed = failed + (line.ok and 0 or 1)
    end
  end
  return all, failed
end

api.method(Report, "verdict", {
  doc = "The last line of the table.", returns = "string",
}, function(self)
  local all, failed = counts(self)
  if self.ok then return ("verdict: ready (%d lines hold)"):format(all) end
  local skipped = (self.skipped or 0) > 0 and (", %d stage%s not run"):format(self.skipped,
    self.skipped == 1 and "" or "s") or ""
  return ("verdict: not ready (%d of %d lines fail%s%s)"):format(failed, all,
    failed == 1 and "s" or "", skipped)
end)

api.method(Report, "first_failure", {
  doc = "The first line that does not hold, in words; nil if all do.", returns = "string or nil",
}, function(self)
  for _, s in ipairs(self.stages) do
    for _, line in ipairs(s.lines) do
      if not line.ok then return ("%s, %s: %s"):format(s.title, line.name, line.text) end
    end
  end
  return nil
end)

function Report:__tostring()
  local out = {}
  for i, s in ipairs(self.stages) do out[i] = report.stage_text(i, s) end
  return table.concat(out) .. self:verdict()
end

-- ---- JSON

local LINE, STAGE = { "name", "ok", "text" }, { "stage", "ranks", "ok", "seconds", "peak_bytes",
  "losses", "lines" }
local TOP = { "schema", "script", "steps", "exact", "ready", "stages" }

local function peak_of(s)
  local most = 0
  for _, r in ipairs(s.records) do most = math.max(most, r.peak or 0) end
  return most
end

local function losses_of(s)
  local list = {}
  for n, step in ipairs(s.record and s.record.steps or {}) do list[n] = step.loss or 0.0 / 0.0 end
  return list
end

api.method(Report, "json", {
  doc = "The report as JSON.", returns = "string",
}, function(self)
  local stages = {}
  for i, s in ipairs(self.stages) do
    local list = {}
    for k, line in ipairs(s.lines) do
      list[k] = { fields = LINE, name = line.name, ok = line.ok, text = line.text }
    end
    stages[i] = { fields = STAGE, stage = s.spec, ranks = s.ranks, ok = s.ok, seconds = s.seconds,
                  peak_bytes = peak_of(s), losses = losses_of(s), lines = list }
  end
  return json { fields = TOP, schema = "sgl-rollout-1", script = self.script, steps = self.steps,
                exact = self.exact, ready = self.ok, stages = stages } .. "\n"
end)

-- ---- JUnit and HTML

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

-- Text for XML, which knows few of the control bytes.
local function xml(text)
  return (text:gsub("[%z\1-\8\11\12\14-\31]", "?"):gsub('[&<>"]', ENTITIES))
end

api.method(Report, "junit", {
  doc = "The report as JUnit XML, a test case for each line.", returns = "string",
}, function(self)
  local all, failed = counts(self)
  local out = { '<?xml version="1.0" encoding="UTF-8"?>',
    ('<testsuites tests="%d" failures="%d">'):format(all, failed) }
  for _, s in ipairs(self.stages) do
    local bad = 0
    for _, line in ipairs(s.lines) do bad = bad + (line.ok and 0 or 1) end
    out[#out + 1] = ('<testsuite name="%s" tests="%d" failures="%d" time="%.3f">'):format(
      xml(s.title), #s.lines, bad, s.seconds)
    for _, line in ipairs(s.lines) do
      local head = ('<testcase classname="%s" name="%s"'):format(xml(s.title), xml(line.name))
      out[#out + 1] = line.ok and head .. "/>" or ('%s><failure message="%s"/></testcase>'):format(
        head, xml(line.text):gsub("\n", "&#10;") .. "")
    end
    out[#out + 1] = "</testsuite>"
  end
  out[#out + 1] = "</testsuites>\n"
  return table.concat(out, "\n")
end)

local COLOURS = { "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b" }
local WIDTH, HEIGHT, EDGE = 640, 240, 40

-- The curves of some stages in one picture; dashes tell those that lie on each other apart.
local function curves(stages)
  local low, high, longest = math.huge, -math.huge, 2
  for _, s in ipairs(stages) do
    for _, v in ipairs(losses_of(s)) do
      if v == v and math.abs(v) < math.huge then low, high = math.min(low, v), math.max(high, v) end
    end
    longest = math.max(longest, #losses_of(s))
  end
  if low > high then return "<p>No losses.</p>" end
  local span = high > low and high - low or 1
  local out = { ('<svg viewBox="0 0 %d %d" width="%d">'):format(WIDTH, HEIGHT, WIDTH) }
  for i, s in ipairs(stages) do
    local points = {}
    for n, v in ipairs(losses_of(s)) do
      if v == v and math.abs(v) < math.huge then
        points[#points + 1] = ("%.1f,%.1f"):format(
          EDGE + (n - 1) / (longest - 1) * (WIDTH - 2 * EDGE),
          HEIGHT - EDGE - (v - low) / span * (HEIGHT - 2 * EDGE))
      end
    end
    out[#out + 1] = ('<polyline fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%d %d" '
      .. 'points="%s"/>'):format(COLOURS[(i - 1) % #COLOURS + 1], 8, 4 * (i - 1),
      table.concat(points, " "))
    out[#out + 1] = ('<text x="%d" y="%d" fill="%s">%s</text>'):format(EDGE + 110 * (i - 1), 20,
      COLOURS[(i - 1) % #COLOURS + 1], xml(s.title))
  end
  out[#out + 1] = ('<text x="2" y="%d">%.4g</text><text x="2" y="%d">%.4g</text>'):format(EDGE,
    high, HEIGHT - EDGE, low)
  out[#out + 1] = ('<text x="%d" y="%d">step %d</text></svg>'):format(WIDTH - EDGE - 30,
    HEIGHT - 12, longest)
  return table.concat(out, "\n")
end

-- Bars: how much memory a rank took, and how long each step did.
local function bars(stages, title, value, text)
  local most = 0
  for _, s in ipairs(stages) do most = math.max(most, value(s)) end
  local out = { "<h2>" .. title .. "</h2><table>" }
  for _, s in ipairs(stages) do
    out[#out + 1] = ('<tr><td>%s</td><td><div class="bar" style="width:%dpx"></div></td><td>%s</td>'
      .. '</tr>'):format(xml(s.title), most > 0 and math.floor(400 * value(s) / most) or 0,
      text(value(s)))
  end
  out[#out + 1] = "</table>"
  return table.concat(out, "\n")
end

-- The steps of a stage one behind the other, as long as they took.
local function timeline(stages)
  local out, longest = { "<h2>Timeline of the steps</h2>" }, 0
  for _, s in ipairs(stages) do
    local all = 0
    for _, step in ipairs(s.record and s.record.steps or {}) do all = all + step.seconds end
    longest = math.max(longest, all)
  end
  for _, s in ipairs(stages) do
    local at = 0
    out[#out + 1] = ('<div>%s</div><svg width="%d" height="16">'):format(xml(s.title), WIDTH)
    for n, step in ipairs(s.record and s.record.steps or {}) do
      local width = longest > 0 and step.seconds / longest * WIDTH or 0
      out[#out + 1] = ('<rect x="%.2f" y="0" width="%.2f" height="14" fill="%s"><title>step %d: '
        .. '%.3f ms</title></rect>'):format(at, width, COLOURS[n % 2 + 1], n, 1e3 * step.seconds)
      at = at + width
    end
    out[#out + 1] = "</svg>"
  end
  return table.concat(out, "\n")
end

local STYLE = [[body{font:15px sans-serif;max-width:60em;margin:2em auto;color:#222}
table{border-collapse:collapse}td{padding:2px 10px;vertical-align:top;white-space:pre-wrap}
.ok{color:#207020}.fail{color:#b01010;font-weight:bold}.bar{background:#1f77b4;height:12px}
tr.stage td{border-top:1px solid #bbb}]]

api.method(Report, "html", {
  doc = "The report as one page with the table, loss curves, memory and the time of the steps.",
  returns = "string",
}, function(self)
  local rows = {}
  for _, s in ipairs(self.stages) do
    for k, line in ipairs(s.lines) do
      local class, title = k == 1 and ' class="stage"' or "", k == 1 and xml(s.title) or ""
      rows[#rows + 1] = ('<tr%s><td>%s</td><td>%s</td><td class="%s">%s</td><td>%s</td></tr>')
        :format(class, title, line.name, line.ok and "ok" or "fail", line.ok and "ok" or "FAIL",
          xml(line.text))
    end
  end
  local title = xml(self.script) .. ": " .. xml(self:verdict())
  return table.concat({ '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>' .. title
    .. "</title><style>" .. STYLE .. "</style>", "<h1>" .. xml(self.script) .. "</h1><p>"
    .. xml(self:verdict()) .. "</p><table>", table.concat(rows, "\n"), "</table>",
    "<h2>Loss</h2>", curves(self.stages),
    bars(self.stages, "Memory of a rank", peak_of, function(v)
      return ("%.1f MB"):format(v / 2 ^ 20)
    end), timeline(self.stages), "</html>\n" }, "\n")
end)

api.method(Report, "write", {
  doc = "Writes NAME.html, NAME.json and NAME.xml.",
  args = { { "name", "string", "path without an ending" } },
  returns = "the three paths", errors = "a file that cannot be written",
}, function(self, name)
  local paths = {}
  for i, kind in ipairs { { ".html", "html" }, { ".json", "json" }, { ".xml", "junit" } } do
    local path = name .. kind[1]
    local file <close> = assert(io.open(path, "wb"))
    assert(file:write(self[kind[2]](self)))
    paths[i] = path
  end
  return paths
end)

return report
