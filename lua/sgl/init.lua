-- init.lua: what `require "sgl"` returns.
--
-- In:    the C module sgl.core and the files beside this one.
-- Out:   one table: every function on tensors, gradients, compile, settings; the rooms nn, optim,
--        data and dist are loaded when they are first named.
-- Holds: an unknown name raises with the nearest known one, so a typo is found where it stands.
local core = require "sgl.core"
local api = require "sgl.api"
require "sgl.config"
require "sgl.tensor"
require "sgl.compile.dynamic"
require "sgl.compile"
require "sgl.mesh"
require "sgl.events"
require "sgl.cache"
require "sgl.control"
require "sgl.effect"
require "sgl.custom"
require "sgl.graph"
require "sgl.save"
require "sgl.export"
require "sgl.check"
require "sgl.native"

local root = api.root
local raise = core.raise

root.version = core.version
root.Tensor = core.Tensor

api.fn(root, "is_tensor", {
  doc = "Whether a value is a tensor.", args = { { "value", "any?", "of any type" } },
  returns = "boolean",
}, function(value) return core.is_tensor(value) end)

api.fn(root, "seed", {
  doc = "Starts the random numbers again: the same seed gives the same numbers.",
  args = { { "seed", "integer", "of all random numbers from here on" } },
}, function(seed) core.seed(seed) end)

api.fn(root, "realize", {
  doc = "Computes tensors now, all in one program.",
  args = { { "tensors", "tensor...", "to compute together" } },
  returns = "the tensors",
}, function(list)
  core.realize(list)
  return table.unpack(list)
end)

api.fn(root, "memory", {
  doc = "Bytes in use: { live, peak, count, blocks, tensors }.", returns = "table",
}, function() return core.memory() end)

api.fn(root, "grad", {
  doc = "Gradients of a loss with respect to tensors, as tensors: they can be used, combined and "
    .. "differentiated again.",
  args = { { "loss", "tensor", "a single float" },
           { "wrt", "tensor|table", "a tensor or a list of them" } },
  returns = "a tensor for a tensor, a list in the order of a list",
  errors = "a loss of several elements or of an integer dtype; a loss that depends on a tensor "
    .. "through what is not recorded, see docs/capture.md",
}, function(loss, wrt)
  if loss:numel() ~= 1 then
    raise("SGL_EGRAD", ("grad: the loss must be a single number, got %s"):format(
      api.describe(loss)), "reduce it first, for example with :mean() or :sum()")
  end
  if not loss:is_floating_point() then
    raise("SGL_EGRAD", ("grad: the loss must be a float, got %s"):format(api.describe(loss)),
      "the gradient of an integer is not defined")
  end
  if loss.ndim > 0 then loss = loss:reshape({}) end
  if core.is_tensor(wrt) then return core.grad(loss, { wrt })[1] end
  for i = 1, math.max(1, #wrt) do
    if not core.is_tensor(wrt[i]) then
      raise("SGL_EARG", ("grad: item %d of the list must be a tensor, got %s"):format(
        i, api.describe(wrt[i])))
    end
  end
  return (core.grad(loss, wrt))
end)

local ROOMS = { nn = "sgl.nn", optim = "sgl.optim", data = "sgl.data",
                dist = "sgl.dist" }
api.rooms = ROOMS

return setmetatable(root, {
  __index = function(t, name)
    if ROOMS[name] then
      local room = require(ROOMS[name])
      rawset(t, name, room)
      return room
    end
    local known = api.fields(t)
    for room in pairs(ROOMS) do known[#known + 1] = room end
    api.no_field("sgl", known, name)
  end,
})
