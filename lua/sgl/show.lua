-- show.lua: a tensor as text: dtype and shape, then the values in aligned columns.
--
-- In:    a tensor; its value is computed.
-- Out:   one line for scalars and vectors that fit, rows below a header otherwise, a labelled
--        block for each matrix of a higher rank.
-- Holds: all values of one text share one format: whole numbers as such, 4 decimals, or powers of
--        ten when 4 decimals would hide small values or grow long. Of more than 1000 values only
--        the edges are read and shown.
local api = require "sgl.api"
local core = require "sgl.core"

local show = {}

local WIDTH, MOST, EDGE = 100, 1000, 3
local CUT = 2 * EDGE + 1          -- what a long dim shows: both edges and the gap
local GAP = "…"

-- How the floats are written: a format string for the finite ones.
local function float_format(values)
  local high, low, whole = 0, math.huge, true
  for _, v in ipairs(values) do
    local size = math.abs(v)
    if size < math.huge and size > 0 then
      high, low = math.max(high, size), math.min(low, size)
      whole = whole and v == math.floor(v)
    end
  end
  if high >= 1e6 or low < 1e-4 then return "%.4e" end
  return whole and "%.1f" or "%.4f"
end

local function formatter(dtype, values)
  if dtype == "bool" then return tostring end
  if not dtype:find "f" then return function(v) return ("%d"):format(v) end end
  local format = float_format(values)
  return function(v)
    if v ~= v then return "nan" end
    if v == math.huge then return "inf" end
    if v == -math.huge then return "-inf" end
    return (format:format(v))
  end
end

local function flatten(list, into)
  if type(list) ~= "table" then
    into[#into + 1] = list
  else
    for _, item in ipairs(list) do flatten(item, into) end
  end
  return into
end

-- The edges of every long dim, in place of the whole.
local function edges(t)
  for axis, size in ipairs(t.shape) do
    if size > CUT then
      t = api.root.cat({ t:narrow(axis, 1, EDGE), t:narrow(axis, -EDGE, EDGE) }, axis)
    end
  end
  return t
end

-- The positions of a dim of n to show, at most `most`; 0 stands for the gap.
local function positions(n, most)
  local list = {}
  if n <= most then
    for i = 1, n do list[i] = i end
    return list
  end
  local edge = math.max(1, (most - 1) // 2)
  for i = 1, edge do list[i] = i end
  list[edge + 1] = 0
  for i = n - edge + 1, n do list[#list + 1] = i end
  return list
end

-- Writes cells of one width; `at` maps a position among all to one among those read.
local Writer = {}
Writer.__index = Writer

function Writer:row(list, most)
  local cells = {}
  for i, p in ipairs(positions(self.shape[#self.shape], most)) do
    local text = p == 0 and GAP or self.format(list[self:at(#self.shape, p)])
    local width = p == 0 and 1 or #text
    cells[i] = (" "):rep((p == 0 and 1 or self.width) - width) .. text
  end
  return self.indent .. table.concat(cells, "  ")
end

-- Position p of a dim in the list that was read, which holds only the edges of a long dim.
function Writer:at(axis, p)
  local n, read = self.shape[axis], self.read[axis]
  return p > EDGE and read < n and p - n + read or p
end

function Writer:block(lines, list, axis, label, margin)
  local rank, n = #self.shape, self.shape[axis]
  local rows = positions(n, self.cut and CUT or n)
  for _, p in ipairs(rows) do
    local item = p ~= 0 and list[self:at(axis, p)]
    if p == 0 then
      lines[#lines + 1] = margin .. "  " .. GAP
    elseif axis == rank - 1 then
      lines[#lines + 1] = margin .. self:row(item, self.columns)
    else
      local name = label == "" and tostring(p) or label .. ", " .. p
      if axis == rank - 2 then lines[#lines + 1] = ("  [%s]"):format(name) end
      self:block(lines, item, axis + 1, name, axis == rank - 2 and "  " or margin)
    end
  end
end

-- A vector that is too long for one line, in as many as it takes.
function Writer:wrapped(lines, list)
  for from = 1, #list, self.columns do
    local cells = {}
    for i = from, math.min(#list, from + self.columns - 1) do
      local text = self.format(list[i])
      cells[#cells + 1] = (" "):rep(self.width - #text) .. text
    end
    lines[#lines + 1] = self.indent .. table.concat(cells, "  ")
  end
end

local function writer(t, read, list)
  local values = flatten(list, {})
  local format, width, negative = formatter(t.dtype, values), 1, false
  for _, v in ipairs(values) do
    local text = format(v)
    width = math.max(width, #text)
    negative = negative or text:sub(1, 1) == "-"
  end
  -- A column for the sign, if there is one, is part of the margin.
  local cut, columns = not rawequal(read, t), (WIDTH - 2) // (width + 2)
  return setmetatable({
    shape = t.shape, read = read.shape, format = format, width = width, cut = cut,
    indent = negative and " " or "  ", columns = cut and math.min(columns, CUT) or columns,
  }, Writer)
end

--- The text of a tensor.
function show.text(t)
  local head, count = api.describe(t), t:numel()
  if count == 0 then return head .. "   (empty)" end
  t:realize()
  local read = count > MOST and edges(t) or t
  local list = read:tolist()
  local w = writer(t, read, list)
  if t.ndim == 0 then return head .. " " .. w.indent .. w.format(list) end
  local lines = { head }
  if t.ndim > 1 then
    w:block(lines, list, 1, "", "")
  elseif w.cut or count < w.columns then
    return head .. " " .. w:row(list, w.cut and CUT or count)
  else
    w:wrapped(lines, list)
  end
  return table.concat(lines, "\n")
end

function core.Tensor.show(t)
  if core.is_tensor(t) then return show.text(t) end
  core.raise("SGL_EARG", ("show: a tensor is needed, got %s"):format(api.describe(t)),
    "t:show(), with a colon")
end

return show
