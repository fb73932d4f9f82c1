-- optim/schedule.lua: learning rate schedules.
--
-- A schedule is a function of the number of steps made (from 0). Given to an optimizer as `lr` it
-- is evaluated inside the step's graph from the optimizer's own counter, so it costs no host work
-- and no recompile; schedule:at(n) evaluates it alone. Plateau looks at a measured value and so
-- works from the host.

local core = require "sgl.core"
local api = require "sgl.api"

local M = api.module("optim.schedule", "Learning rates as functions of the step")
local Schedule = api.class(M, "Schedule", { doc = "A learning rate as a function of the step." })

local RATE, STEPS, ABOVE = { 0, math.huge }, { 1, math.huge }, { 0, math.huge, true }

local function new(formula) return setmetatable({ formula = formula }, Schedule) end

local function is_schedule(v) return type(v) == "table" and getmetatable(v) == Schedule end

-- The rate as a tensor f32[], from the step as a tensor f32[].
function Schedule:graph(step) return self.formula(step) end

api.method(Schedule, "at", {
  doc = "The learning rate after a number of steps.",
  args = { { "step", "integer", "from 0; in a step also a number among its arguments",
             within = RATE, input = true } },
  returns = "number",
}, function(self, step)
  local rate = self.formula(core.tensor(step + 0.0, "f32"))
  return core.capturing() and core.number(rate) or rate:item()
end)

api.strict(Schedule, "a schedule")

local function constant_like(step, value) return step * 0 + value end

api.fn(M, "step", {
  doc = "Multiplied by `factor` after every `every` steps.",
  args = { { "lr", "number", "at the start", within = RATE } },
  opts = { { "every", "integer", 1000, "steps between changes", within = STEPS },
           { "factor", "number", 0.1, "of the rate, each time", within = RATE } },
  returns = "schedule",
}, function(lr, o)
  return new(function(t) return o.factor ^ (t / o.every):floor() * lr end)
end)

api.fn(M, "cosine", {
  doc = "Half a cosine from `lr` to `last` over `steps` steps, after a linear warm-up from 0 "
    .. "(Loshchilov and Hutter, 2017); then `last`.",
  args = { { "lr", "number", "the highest", within = RATE },
           { "steps", "integer", "all, warm-up included", within = STEPS } },
  opts = { { "warmup", "integer", 0, "steps of the warm-up", within = { 0, math.huge } },
           { "last", "number", 0, "at the end", within = RATE } },
  returns = "schedule",
  errors = "a warm-up that is not shorter than the whole",
}, function(lr, steps, o)
  if o.warmup >= steps then
    core.raise("SGL_EARG", ("optim.schedule.cosine: a warm-up of %d steps leaves nothing of %d")
      :format(o.warmup, steps), "the warm-up is part of the steps and must be shorter")
  end
  return new(function(t)
    local way = ((t - o.warmup) / (steps - o.warmup)):clamp(0, 1)
    local down = ((way * math.pi):cos() + 1) * ((lr - o.last) / 2) + o.last
    if o.warmup == 0 then return down end
    return t:lt(o.warmup):where((t + 1) * (lr / o.warmup), down)
  end)
end)

api.fn(M, "warmup", {
  doc = "Linear from 0 to `lr` over `steps` steps, then constant.",
  args = { { "lr", "number", "the highest", within = RATE },
           { "steps", "integer", "of the warm-up", within = STEPS } },
  returns = "schedule",
}, function(lr, steps)
  return new(function(t) return ((t + 1) / steps):minimum(1) * lr end)
end)

api.fn(M, "one_cycle", {
  doc = "Cosine up from lr / `start` to lr over the share `up` of the steps, then cosine down to "
    .. "lr / `start` / `finish` (Smith and Topin, 2018).",
  args = { { "lr", "number", "the highest", within = RATE },
           { "steps", "integer", "of the whole cycle", within = STEPS } },
  opts = { { "up", "number", 0.3, "share of the steps that rise", within = { 0, 1 } },
           { "start", "number", 25, "lr over the first rate", within = ABOVE },
           { "finish", "number", 1e4, "first rate over the last", within = ABOVE } },
  returns = "schedule",
}, function(lr, steps, o)
  local first = lr / o.start
  local last, top = first / o.finish, math.max(o.up * steps - 1, 1)
  local function between(a, b, way)
    return ((way:clamp(0, 1) * math.pi):cos() + 1) * ((a - b) / 2) + b
  end
  return new(function(t)
    local rise = between(first, lr, t / top)
    local fall = between(lr, last, (t - top) / math.max(steps - 1 - top, 1))
    return t:le(top):where(rise, fall)
  end)
end)

api.fn(M, "constant", {
  doc = "Always the same.",
  args = { { "lr", "number", "of each step", within = RATE } },
  returns = "schedule",
}, function(lr) return new(function(t) return constant_like(t, lr) end) end)

local Plateau = api.class(M, "Plateau", { doc = "Lowers an optimizer's rate when a value stops "
  .. "improving." })
api.fn(M, "plateau", {
  doc = "Multiplies the optimizer's learning rate by `factor` when :update(value) saw no "
    .. "improvement for more than `patience` calls.",
  args = { { "optimizer", "table", "the one whose groups' rates are lowered" } },
  opts = { { "factor", "number", 0.1, "of the rate, each time it is lowered", within = { 0, 1 } },
           { "patience", "integer", 10, "calls without improvement", within = RATE },
           { "threshold", "number", 1e-4, "relative improvement that counts", within = RATE },
           { "mode", "string", "min", "min: lower is better; max: higher is",
             among = { "min", "max" } },
           { "lowest", "number", 0, "never below", within = RATE } },
  returns = "plateau",
  errors = "another mode; what is no optimizer",
}, function(optimizer, o)
  if type(optimizer.set_lr) ~= "function" then
    core.raise("SGL_EARG", ("optim.schedule.plateau: the first argument must be an optimizer, "
      .. "got %s"):format(api.describe(optimizer)))
  end
  return setmetatable({ optimizer = optimizer, options = o, best = false, bad = 0 }, Plateau)
end)
api.strict(Plateau, "a plateau schedule")
api.method(Plateau, "update", {
  doc = "Takes the value of an epoch.",
  args = { { "value", "number", "for instance the validation loss" } },
  returns = "boolean: was the rate lowered?",
}, function(self, value)
  local o, best = self.options, self.best
  local better = value == value and (not best
    or (o.mode == "min" and value < best - math.abs(best) * o.threshold)
    or (o.mode == "max" and value > best + math.abs(best) * o.threshold))
  if better then
    self.best, self.bad = value, 0
    return false
  end
  self.bad = self.bad + 1
  if self.bad <= o.patience then return false end
  self.bad = 0
  local lowered = false
  for i, group in ipairs(self.optimizer.groups) do
    local before = group.lr:item()
    local after = math.max(before * o.factor, o.lowest)
    if after < before then
      self.optimizer:set_lr(after, i)
      lowered = true
    end
  end
  return lowered
end)

return { M = M, is_schedule = is_schedule }
