-- nn/images.lua: convolution and pooling layers.

local core = require "sgl.core"
local base = require "sgl.nn.module"
local F = require "sgl.nn.functional"
local convolution = require "sgl.nn.convolution"
local layers = require "sgl.nn.layers"

local SIZES, COUNTS = { 1, math.huge }, { 0, math.huge }

for _, rank in ipairs { 1, 2 } do
  local shape = rank == 1 and "[n, c, l]" or "[n, c, h, w]"
  local size = rank == 1 and "integer" or "integer|table"
  local conv = F["conv" .. rank .. "d"]

  local Conv = base.class("Conv" .. rank .. "d", {
    doc = "Convolution. Parameters: weight f32[outputs, inputs/groups, kernel…], "
      .. "bias f32[outputs].",
    args = { { "inputs", "integer", "channels of x", within = { 0, math.huge } },
             { "outputs", "integer", "channels of y", within = { 0, math.huge } },
             { "kernel", size, "size of the kernel", within = SIZES, items = 2 } },
    opts = { { "stride", size, 1, "step of the window", within = SIZES, items = 2 },
             { "padding", size, 0, "zeros added on each side", within = COUNTS, items = 2 },
             { "dilation", size, 1, "distance between taps", within = SIZES, items = 2 },
             { "groups", "integer", 1, "channel groups that do not see each other",
               within = { 1, math.huge } },
             { "bias", "boolean", true, "with a bias" }, layers.INIT, layers.DTYPE },
    returns = "module: f32" .. shape .. " -> f32[n, outputs, …]",
    errors = "channels that do not fit, groups that do not divide them, too large a kernel",
  }, function(self, inputs, outputs, kernel, o)
    if inputs % o.groups ~= 0 or outputs % o.groups ~= 0 then
      core.raise("SGL_EARG", ("nn.Conv%dd: %s groups do not divide %s and %s channels"):format(
        rank, o.groups, inputs, outputs), "both numbers of channels are multiples of the groups")
    end
    local sizes = rank == 1 and { kernel } or convolution.pair(kernel)
    layers.weight_and_bias(self, { outputs, inputs // o.groups, table.unpack(sizes) }, o)
    self.settings = { stride = o.stride, padding = o.padding, dilation = o.dilation,
                      groups = o.groups }
  end)
  function Conv:forward(x) return conv(x, self.weight, self.bias, self.settings) end

  for _, kind in ipairs { "Max", "Avg" } do
    local pool = F[kind:lower() .. "_pool" .. rank .. "d"]
    local Pool = base.class(kind .. "Pool" .. rank .. "d", {
      doc = (kind == "Max" and "Largest element" or "Mean") .. " of each window.",
      args = { { "size", size, "of the window", within = SIZES, items = 2 } },
      opts = { { "stride", size .. "?", nil, "step of the window; default: its size",
                 within = SIZES, items = 2 },
               { "padding", size, 0, "elements added on each side", within = COUNTS, items = 2 } },
      returns = "module: f32" .. shape .. " -> f32[n, c, …]",
      errors = "a window larger than the padded input",
    }, function(self, window, o)
      self.size, self.settings = window, { stride = o.stride, padding = o.padding }
    end)
    function Pool:forward(x) return pool(x, self.size, self.settings) end
  end
end
