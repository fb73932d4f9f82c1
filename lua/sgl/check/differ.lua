-- check/differ.lua: where two runs of a script differ first, and of which class that is.
--
-- In:    the records of two ranks or stages (record.lua).
-- Out:   nil, or { class, text, step, tensor, line }:
--          dtype       the graphs have a value in another dtype
--          partition   the graphs differ otherwise, or values by more than the order of a sum does
--          data        a step was given other values
--          randomness  other initial values, or other random numbers
--          order       values differ by rounding
-- Holds: what comes first in the run is found first, so causes are named before effects.
local differ = {}

local ROUNDING = 1e-5

local function lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

local function place_of(line)
  local file, number = (line or ""):match '# "?(.-)"?:(%d+)$'
  return file and ("%s:%s"):format(file, number) or nil
end

local function without_place(line) return (line:gsub("%s*# .*$", "")) end

-- The line of a graph's text, as people say it.
local function named(line)
  return line and without_place(line):gsub("^%%%d+ = ", "") or "nothing"
end

local function as_input(line) return (named(line):gsub("^input %S+ ", "")) end

--- Where two graphs differ.
function differ.graphs(a, b)
  if a == b then return nil end
  local x, y = lines_of(a), lines_of(b)
  for i = 1, math.max(#x, #y) do
    local one, other = x[i], y[i]
    if not one or not other or without_place(one) ~= without_place(other) then
      local name = (other or one):match '^input %%%d+ arg "(.-)"'
      if name then
        return { class = "data", line = place_of(other) or place_of(one),
                 text = ("the step is given %s, and not %s"):format(as_input(other),
                   as_input(one)) }
      end
      local bare = { (one or ""):match ": (%w+)%[", (other or ""):match ": (%w+)%[" }
      local class = bare[1] and bare[2] and bare[1] ~= bare[2] and "dtype" or "partition"
      local line = place_of(other) or place_of(one)
      return { class = class, line = line,
               text = ("the graph has %s, and not %s"):format(named(other), named(one)) }
    end
  end
  return nil
end

-- The line where what state `name` becomes is computed.
local function line_of_state(graph, name)
  local state = graph:match(('input (%%%%%%d+) state "%s"'):format(name:gsub("%p", "%%%0")))
  local value = state and graph:match("assign " .. state:gsub("%%", "%%%%") .. " = (%%%d+)")
  local line = value and graph:match("\n%s*(" .. value:gsub("%%", "%%%%") .. " = [^\n]*)")
  return place_of(line)
end

local function first_unequal(a, b)
  for i = 1, math.max(#a, #b) do
    if not a[i] or not b[i] or a[i][1] ~= b[i][1] or a[i][2] ~= b[i][2] then return i end
  end
  return nil
end

local function close(a, b)
  if a == b then return true end
  if not a or not b then return false end
  return math.abs(a - b) <= ROUNDING * math.max(math.abs(a), math.abs(b))
end

local function graph_of(record, name)
  for _, f in ipairs(record.functions) do
    if f.graph:find(('state "%s"'):format(name), 1, true) then return f.graph end
  end
  return record.functions[1].graph
end

-- Where the state behind a step, or before the first, differs.
local function states(a, b, base)
  local rng = #a
  if a[rng] and b[rng] and a[rng][2] ~= b[rng][2] then
    return { class = "randomness", tensor = "rng", text = "other random numbers were drawn" }
  end
  local i = first_unequal(a, b)
  if not i then return nil end
  local one, other = a[i] or {}, b[i] or {}
  local name = other[1] or one[1]
  if one[1] ~= other[1] then
    return { class = "partition", tensor = name, text = ("there is '%s', and not '%s'"):format(
      tostring(other[1]), tostring(one[1])) }
  end
  local rounding = close(one[3], other[3])
  return { class = rounding and "order" or "partition", tensor = name,
           line = line_of_state(graph_of(base, name), name),
           text = ("'%s' differs%s"):format(name, one[3] and other[3]
             and ("; its norm is %.9g, and not %.9g"):format(other[3], one[3]) or "") }
end

--- Where the runs of two records differ first.
function differ.records(a, b)
  for k = 1, math.max(#a.functions, #b.functions) do
    local f, g = a.functions[k], b.functions[k]
    if not f or not g then
      return { class = "partition", text = "another number of compiled functions train" }
    end
    local found = differ.graphs(f.graph, g.graph)
    if found then return found end
    found = states(f.initial, g.initial, a)
    if found then
      found.class, found.text = "randomness", "at the start: " .. found.text
      return found
    end
  end
  return differ.steps(a, b, 1)
end

--- The same of their steps alone, from step `from` on.
function differ.steps(a, b, from)
  for n = from, math.max(#a.steps, #b.steps) do
    local s, t = a.steps[n], b.steps[n]
    if not s or not t then
      return { class = "partition", step = n, text = ("only one takes step %d"):format(n) }
    end
    local i = first_unequal(s.arguments, t.arguments)
    if i then
      return { class = "data", step = n, text = ("step %d is given another %s"):format(n,
        (t.arguments[i] or s.arguments[i])[1]) }
    end
    local found = s.state and t.state and states(s.state, t.state, a)
    if found then
      found.step, found.text = n, ("step %d: %s"):format(n, found.text)
      return found
    end
  end
  return nil
end

--- A difference in one line.
function differ.text(d)
  return ("%s [%s]%s"):format(d.text, d.class, d.line and " at " .. d.line or "")
end

return differ
