-- mesh.lua: sgl.mesh: how the ranks of a job are arranged.
--
-- In:    axes with sizes, from the script; else the setting `plan`.
-- Out:   the setting `plan`, and what a script may want to know of its own place.
-- Holds: what the command line, the environment or a file says of the plan goes first, so a script
--        can be tried on another mesh. On one rank every axis has one.
local api = require "sgl.api"
local core = require "sgl.core"

local raise = core.raise

-- The axes by name, which is their order too: data, fsdp, model.
local function sorted(axes)
  local list = {}
  for name, count in pairs(axes) do
    if type(name) ~= "string" or not name:find "^%a[%w_]*$" or #name > 15 then
      raise("SGL_EARG", ("mesh: the name of an axis is at most 15 letters, digits and _, got %s")
        :format(api.describe(name)), "{ data = 2, model = 2 }")
    end
    if math.type(count) ~= "integer" or count < 1 and count ~= -1 then
      raise("SGL_EARG", ("mesh: axis '%s' has a number of ranks, got %s"):format(name,
        api.describe(count)), "at least 1, or -1 for as many as are left")
    end
    list[#list + 1] = { name, count }
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

-- One axis may have as many ranks as the others leave.
local function fill(list, size)
  local product, open = 1, nil
  for _, axis in ipairs(list) do
    if axis[2] > 0 then
      product = product * axis[2]
    elseif open then
      raise("SGL_EARG", "mesh: two axes have -1 ranks", "one of them can have what is left")
    else
      open = axis
    end
  end
  if open then open[2] = math.max(size // product, 1) end
end

-- The last axis counts fastest.
local function describe(list, rank)
  local mesh, below = { axes = {}, size = {}, at = {} }, rank
  for i = #list, 1, -1 do
    local name, count = list[i][1], list[i][2]
    mesh.axes[i], mesh.size[name], mesh.at[name] = name, count, below % count
    below = below // count
  end
  return mesh
end

api.fn(api.root, "mesh", {
  doc = "Arranges the ranks of the job on named axes, sgl.mesh { data = 2, model = 2 }; -1 is as "
    .. "many as are left. Axes are in the order of their names, the last counting fastest. Samples "
    .. "lie over `data` and `fsdp`, state over `fsdp`; other names are for dist.place and, "
    .. "`model`, for dist.tensor_parallel. --plan on the command line goes first; one rank needs "
    .. "no mesh. Without axes, says what the mesh is.",
  args = { { "axes", "table?", "ranks by name" } },
  returns = "a table: `axes`, their names in order, `size` and `at`, by name how many ranks there "
    .. "are and which of them this one is",
  errors = "an axis without a name or a size; another number of ranks than the job has",
}, function(axes)
  local config = api.root.config
  local rank, size = core.job()
  if axes and (config.plan == "" or config.from "plan" == "program") then
    local list, words, ranks = sorted(axes), {}, 1
    fill(list, size)
    for i, axis in ipairs(list) do
      words[i], ranks = axis[1] .. "=" .. axis[2], ranks * axis[2]
    end
    if size > 1 and ranks ~= size then
      raise("SGL_EARG", ("mesh: it has %d ranks, the job %d"):format(ranks, size),
        ("sgl run -n %d, or -1 for one of the axes"):format(ranks))
    end
    if size == 1 then
      for _, axis in ipairs(list) do axis[2] = 1 end
      return describe(list, rank)
    end
    config.plan = table.concat(words, ",")
  end
  return describe(core.mesh(), rank)
end)

return api.root.mesh
