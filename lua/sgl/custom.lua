-- custom.lua: sgl.custom and sgl.load_ops: ops that a library in C brings.
--
-- In:    the name of a registered op (sgl.h, sgl_op_register), tensors, its attributes.
-- Out:   its results, one value each.
-- Holds: the op is a node of the graph: recorded, compiled and differentiated as others are.
local api = require "sgl.api"
local core = require "sgl.core"

local root, raise = api.root, core.raise

-- The tensors, and the attributes if the last value is a table of them.
local function split(name, values)
  local attrs = {}
  if #values > 0 and not core.is_tensor(values[#values]) then attrs = table.remove(values) end
  for i, value in ipairs(values) do
    if not core.is_tensor(value) then
      raise("SGL_EARG", ("%s: input %d must be a tensor, got %s"):format(name, i,
        api.describe(value)), "attributes are one table, behind the tensors")
    end
  end
  return values, attrs
end

api.fn(root, "custom", {
  doc = "Calls an op that a library in C has registered, by its name: on tensors, and with a table "
    .. "of its attributes behind them. docs/custom-ops.md shows how one is written.",
  args = { { "name", "string", "such as \"mylib.scale_rows\"" },
           { "values", "tensor|table...", "the inputs, then the attributes" } },
  returns = "the results, one after the other",
  errors = "a name that nothing registered; what the op says of inputs and attributes; SGL_EGRAD "
    .. "where a gradient is asked through an op that has none",
}, function(name, values)
  local inputs, attrs = split(name, values)
  local out, random = core.custom(name, inputs, attrs)
  if random and not core.capturing() then core.realize(out) end
  return table.unpack(out)
end)

api.fn(root, "load_ops", {
  doc = "Registers the ops of a shared object that exports them by SGL_OPS of sgl.h.",
  args = { { "path", "string", "of the file, such as \"./mylib.so\"" } },
  returns = "how many ops it brings",
  errors = "SGL_EFILE, SGL_EFORMAT; an op that is not well formed",
}, function(path)
  if core.capturing() then
    raise("SGL_ESTATE", "load_ops: not inside sgl.compile", "load the ops before the step")
  end
  return core.load_ops(path)
end)
