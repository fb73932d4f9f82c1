-- progress.lua: how far a loop over batches is: rate, loss, time left.
--
-- In:    a label, the number of steps (nil: unknown) and of rows; a tick after each step.
-- Out:   on stderr: a line redrawn in place on a terminal, else a plain line now and then and one
--        at the end.
-- Holds: nothing is written after `finish`; stdout gets only what the script prints. The loss is
--        the first result of the compiled function that ran last, if that is a single float.
local core = require "sgl.core"
local compile = require "sgl.compile"

local progress = {}
progress.__index = progress

local STDERR = 2
local REDRAW, PLAIN = 0.1, 10      -- seconds between lines on a terminal and elsewhere
local BAR = 20
local CLEAR = "\r\27[K"

local function duration(seconds)
  if seconds < 60 then return ("%.1f s"):format(seconds) end
  local whole = seconds // 1 | 0
  if whole < 3600 then return ("%d:%02d"):format(whole // 60, whole % 60) end
  return ("%d:%02d:%02d"):format(whole // 3600, whole // 60 % 60, whole % 60)
end

-- While the line stands on a terminal, what the script prints takes its place.
local function guard_print(self)
  local plain = print
  self.plain = plain
  self.print = function(...)
    io.stderr:write(CLEAR)
    plain(...)
  end
  rawset(_G, "print", self.print)
end

--- A new display; `steps` may be nil.
function progress.new(label, steps)
  compile.last, compile.displays = nil, compile.displays + 1
  local now = core.clock()
  local self = setmetatable({
    label = label, steps = steps, done = 0, rows = 0, start = now,
    shown = now, terminal = core.isatty(STDERR),
  }, progress)
  if self.terminal then guard_print(self) end
  return self
end

local function loss_text()
  local t = compile.last
  if not t or t.ndim ~= 0 or not t:is_floating_point() then return "" end
  return ("  loss %.4f"):format(t:item())
end

-- "epoch 3  [#####     ] 7/20  12345 rows/s  loss 0.1234  1.2 s left"
function progress:line(last)
  local spent = core.clock() - self.start
  local parts = { self.label }
  if self.steps and self.terminal then
    local full = self.steps > 0 and BAR * self.done // self.steps or BAR
    parts[#parts + 1] = ("[%s%s]"):format(("#"):rep(full), (" "):rep(BAR - full))
  end
  parts[#parts + 1] = self.steps and ("%d/%d"):format(self.done, self.steps) or tostring(self.done)
  if self.done > 0 then parts[#parts + 1] = ("%.0f rows/s"):format(self.rows / spent) end
  local text = table.concat(parts, "  ") .. loss_text()
  if last then return text .. "  " .. duration(spent) end
  if self.steps and self.done > 0 then
    text = text .. "  " .. duration(spent / self.done * (self.steps - self.done)) .. " left"
  end
  return text
end

function progress:draw(last)
  if self.terminal then
    io.stderr:write(CLEAR, self:line(last), last and "\n" or "")
  else
    io.stderr:write(self:line(last), "\n")
  end
end

--- A step of so many rows is done.
function progress:tick(rows)
  self.done, self.rows = self.done + 1, self.rows + rows
  local now = core.clock()
  if now - self.shown >= (self.terminal and REDRAW or PLAIN) then
    self.shown = now
    self:draw(false)
  end
end

--- The loop is over, or was left. Later calls do nothing.
function progress:finish()
  if self.finished then return end
  self.finished = true
  if self.print and rawequal(print, self.print) then rawset(_G, "print", self.plain) end
  self:draw(true)
  compile.displays = compile.displays - 1
  if compile.displays == 0 then compile.last = nil end
end

progress.__close = progress.finish

return progress
