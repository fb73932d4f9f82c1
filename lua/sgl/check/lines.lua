-- check/lines.lua: the checklist: what is looked at in each stage, one row a line.
--
-- In:    the stage as it ran, the first stage, the stage before, the options.
-- Out:   ok and a text for each line that applies.
-- Holds: a line says what was found also where it is fine; in exact mode "equal" means each bit.
local core = require "sgl.core"
local differ = require "sgl.check.differ"

local TOLERANCE = 1e-5       -- of losses, relative, where there is no exact mode

local function count(n, what) return ("%d %s%s"):format(n, what, n == 1 and "" or "s") end

local function last_lines(text, n)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return table.concat(list, "\n", math.max(1, #list - n + 1))
end

-- What ranks that are not alike say, and the class of it.
local CLASSES = {
  { "argument '.-' of the step is not the same on all ranks", "data" },
  { "state '.-' of the step is not the same on all ranks", "randomness" },
  { "the ranks take different steps", "partition" },
}

-- The message of what failed, without the traceback.
local function message_of(c)
  local text = c.record and c.record.error or c.stage.output
  text = text:gsub("\nstack traceback:.*", "")
  for _, row in ipairs(CLASSES) do
    if text:find(row[1]) then text = text:gsub("^([^\n]*)", "%1 [" .. row[2] .. "]", 1) end
  end
  if text == "" then text = ("it ended with status %d"):format(c.stage.status) end
  return last_lines(text, 12)
end

local function captured(c)
  local r = c.record
  if c.stage.status ~= 0 or not r or r.error then return false, message_of(c) end
  if #r.functions == 0 and #r.breaks == 0 then
    return false, "no function of sgl.compile that the script calls changes state"
  end
  if #r.breaks > 0 then return false, r.breaks[1] end
  local nodes = 0
  for _, f in ipairs(r.functions) do nodes = nodes + f.nodes end
  return true, ("%s, %d nodes, 0 breaks, %s"):format(count(#r.functions, "graph"), nodes,
    count(#r.steps, "step"))
end

local function names_of(r)
  local list = {}
  for _, f in ipairs(r.functions) do
    for _, item in ipairs(f.initial) do list[#list + 1] = item[1] end
  end
  return list
end

local function parameters(c)
  for _, f in ipairs(c.record.functions) do
    if f.unregistered[1] then
      return false, ("'%s' is state of the step, and no module or optimizer registers it, so no "
        .. "checkpoint has it"):format(f.unregistered[1])
    end
  end
  local names, first = names_of(c.record), names_of(c.first.record)
  for i = 1, math.max(#names, #first) do
    if names[i] ~= first[i] then
      return false, ("'%s' here, '%s' in the first stage"):format(tostring(names[i]),
        tostring(first[i]))
    end
  end
  return true, count(#names, "name") .. (c.stage == c.first and "" or ", same as "
    .. c.first.title)
end

-- Is what the ranks noted the same?
local function ranks(c)
  for rank = 2, c.stage.ranks do
    local other = c.stage.records[rank]
    if not other then return false, ("rank %d noted nothing"):format(rank - 1) end
    local found = differ.records(c.record, other)
    if found then return false, ("rank %d: %s"):format(rank - 1, differ.text(found)) end
  end
  return true, ("graphs, data and state of %d ranks"):format(c.stage.ranks)
end

local function graph(c)
  for k, f in ipairs(c.record.functions) do
    local other = c.first.record.functions[k]
    local found = other and differ.graphs(other.graph, f.graph)
    if found then return false, differ.text(found) end
  end
  return true, "the same graph"
end

local function data(c)
  for n, step in ipairs(c.record.steps) do
    local other = c.first.record.steps[n]
    for i, item in ipairs(step.arguments) do
      if not other or not other.arguments[i] or other.arguments[i][2] ~= item[2] then
        return false, ("step %d is given another %s [data]"):format(n, item[1])
      end
    end
  end
  return true, ("arguments of %s"):format(count(#c.record.steps, "step"))
end

local function initial(c)
  local sum = {}
  for k, f in ipairs(c.record.functions) do
    local other = c.first.record.functions[k]
    for i, item in ipairs(f.initial) do
      sum[#sum + 1] = item[2]
      if not other or not other.initial[i] or other.initial[i][2] ~= item[2] then
        return false, ("'%s' begins with other values [randomness]"):format(item[1])
      end
    end
  end
  return true, core.checksum(table.concat(sum))
end

-- The worst of the relative differences of the losses from step `from` on, and its step; in exact
-- mode the first.
local function curve(c, record, from, to)
  local worst, at = 0, 0
  for n = from, to do
    local a, b = c.first.record.steps[n], record.steps[n]
    if not a or not b then return math.huge, n end
    local x, y = a.loss, b.loss
    local same = x == y or (x ~= x and y ~= y)
    if not same then
      local difference = x and y and math.abs(x - y) / math.max(math.abs(x), math.abs(y))
        or math.huge
      if c.exact or difference ~= difference then return difference, n end
      if difference > worst then worst, at = difference, n end
    end
  end
  return worst, at
end

local function losses(c, steps)
  local worst, at = curve(c, c.record, 1, steps)
  if worst == 0 then return true, count(steps, "step") .. " bit-equal" end
  if not c.exact and worst <= TOLERANCE then
    return true, ("%s, at most %.1e apart"):format(count(steps, "step"), worst)
  end
  local found = c.exact and differ.records(c.first.record, c.record)
  return false, ("step %d: %.9g, and not %.9g%s"):format(at, c.record.steps[at].loss or 0 / 0,
    c.first.record.steps[at].loss or 0 / 0, found and "; " .. differ.text(found) or "")
end

local function forward(c) return losses(c, 1) end
local function loss_curve(c) return losses(c, #c.record.steps) end

-- In exact mode alone: an optimizer such as AdamW makes noise of gradients that are 0 but for
-- rounding as large as any other step.
local function state(c)
  local found = differ.records(c.first.record, c.record)
  if found then return false, differ.text(found) end
  return true, ("after %s bit-equal"):format(count(#c.record.steps, "step"))
end

local function schedule(c)
  local bytes, list = 0, c.record.schedule
  for _, item in ipairs(list) do bytes = bytes + item[3] end
  for rank = 2, c.stage.ranks do
    local other = c.stage.records[rank].schedule
    for i = 1, math.max(#list, #other) do
      if not list[i] or not other[i] or list[i][1] ~= other[i][1] then
        return false, ("collective %d is %s on rank 0 and %s on rank %d"):format(i,
          list[i] and list[i][1] or "none", other[i] and other[i][1] or "none", rank - 1)
      end
    end
  end
  return true, ("%s, %.3g MB a step, same on every rank"):format(count(#list, "collective"),
    bytes / 1e6)
end

local function exported(c)
  if not c.record.exported then return false, c.record.export_error or "nothing was exported" end
  return true, "read back and run, bit-equal"
end

local function bytes_of(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a"
end

local function artefact(c)
  local a, b = bytes_of(c.first.folder .. "/step.sgl"), bytes_of(c.stage.folder .. "/step.sgl")
  if not a or not b then return false, "there is no artefact to compare" end
  if a == b then return true, ("%d bytes, same as %s"):format(#b, c.first.title) end
  return false, ("its bytes are not those of %s"):format(c.first.title)
end

local function checkpoint(c)
  local r = c.resumed and c.resumed.record
  if not r or r.error or c.resumed.status ~= 0 then
    return false, "resuming failed: " .. (r and r.error or c.resumed and c.resumed.output or "?")
      :gsub("\nstack traceback:.*", "")
  end
  if r.missing[1] then return false, ("'%s' is not in the checkpoint"):format(r.missing[1]) end
  local found = c.exact and differ.steps(c.first.record, r, c.at + 1)
  local worst, step = curve(c, r, c.at + 1, #r.steps)
  if not c.exact and worst > TOLERANCE then
    return false, ("the loss differs after resume: step %d"):format(step)
  end
  if found then
    local where = found.tensor and ("'%s' differs after resume: step %d"):format(found.tensor,
      found.step) or "after resume, " .. found.text
    return false, where .. (found.line and ", first at " .. found.line or "")
  end
  return true, ("of %s, resumed behind step %d"):format(c.from.title, c.at)
end

local function memory(c)
  local most = 0
  for _, r in ipairs(c.stage.records) do most = math.max(most, r.peak) end
  return true, ("%.1f MB at most on a rank"):format(most / 2 ^ 20)
end

local function time(c)
  local list = {}
  for i, step in ipairs(c.record.steps) do list[i] = step.seconds end
  table.sort(list)
  return true, ("%.2f ms a step, %.1f s in all"):format(1e3 * list[#list // 2 + 1], c.stage.seconds)
end

local function many(c) return c.stage.ranks > 1 end
local function later(c) return c.stage ~= c.first end
local function later_exact(c) return later(c) and c.exact end

-- name, what it finds, for which stages (nil: all)
return {
  { "captured whole", captured },
  { "parameters", parameters },
  { "ranks alike", ranks, many },
  { "graph", graph, later },
  { "data", data, later },
  { "initial state", initial },
  { "forward", forward, later },
  { "loss curve", loss_curve, later },
  { "state", state, later_exact },
  { "schedule", schedule, many },
  { "exported, reloaded", exported },
  { "artefact", artefact, later_exact },
  { "checkpoint", checkpoint },
  { "memory", memory },
  { "time", time },
}
