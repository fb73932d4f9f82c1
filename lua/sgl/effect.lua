-- effect.lua: sgl.print and sgl.assert: what happens while a program runs.
--
-- In:    values; inside a capture the tensors are those of the run.
-- Out:   lines through Lua's print; errors.
-- Text:  {} stands for a tensor, }{ for a number of the step, {{ and }} for braces.
-- Holds: effects happen at each run, in the order of the script; one in a branch that is not taken
--        or a step that is not done does not happen. Both look the same outside a capture.
local api = require "sgl.api"
local core = require "sgl.core"

local root, raise = api.root, core.raise

-- What a run printed before it failed is left out when Lua does the step again.
local function say(line)
  if core.print_due() then print(line) end
end

core.on_print(function(text, values)
  local i = 0
  local line = text:gsub("([{}])([{}])", function(a, b)
    if a == b then return a end
    i = i + 1
    return tostring(a == "{" and values[i] or values[i]:item())
  end)
  say(line)
end)

api.fn(root, "print", {
  doc = "Prints values, tensors as tostring shows them. Inside sgl.compile it prints at each run.",
  args = { { "values", "any...", "strings, numbers, tensors" } }, returns = "nothing",
}, function(values)
  local parts, tensors = {}, {}
  for i, v in ipairs(values) do
    if core.weak(v) then
      local dtype = core.number_type(v) == "integer" and "i64" or "f64"
      parts[i], tensors[#tensors + 1] = "}{", core.tensor(v, dtype)
    elseif core.is_tensor(v) and core.capturing() then
      parts[i], tensors[#tensors + 1] = "{}", v
    else
      parts[i] = core.size_text(v):gsub(core.capturing() and "[{}]" or "^$", "%0%0")
    end
  end
  local line = table.concat(parts, "\t")
  if core.capturing() then core.effect_print(line, tensors) else say(line) end
end)

api.fn(root, "assert", {
  doc = "Raises an error with the message when a condition is false: at each run, inside "
    .. "sgl.compile.",
  args = { { "cond", "tensor|boolean", "bool; all elements must be true" },
           { "message", "string?", "default 'assertion failed'" } },
  returns = "the condition", errors = "SGL_EASSERT",
}, function(cond, message)
  message = message or "assertion failed"
  if core.is_tensor(cond) and cond.dtype ~= "bool" then
    raise("SGL_EDTYPE", ("assert: the condition must be bool, got %s"):format(api.describe(cond)),
      "compare first, for example loss:isfinite()")
  end
  if core.is_tensor(cond) and core.capturing() then
    core.effect_assert(cond:all(), message)
  elseif cond == false or core.is_tensor(cond) and not cond:all():item() then
    raise("SGL_EASSERT", message)
  end
  return cond
end)
