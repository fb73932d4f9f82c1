-- data/safetensors.lua: tensors of a safetensors file as a dataset.
--
-- In:    a file and the names of the tensors that hold a row for each sample.
-- Out:   Dataset of them in that order.
-- Holds: a missing file gives nil, message, code; a name that is not there raises. (sgl.load reads
--        such a file as a state dict.)
local api = require "sgl.api"
local core = require "sgl.core"
local dataset = require "sgl.data.dataset"

api.fn(dataset.root, "safetensors", {
  doc = "Reads tensors of a safetensors file as a dataset: those named, or all in their order.",
  args = { { "path", "string", "of the file" },
           { "names", "string...", "which tensors; default: all" } },
  returns = "Dataset; or nil, message, code",
  errors = "a damaged file, an unknown name, different numbers of rows",
}, function(path, names)
  local dict, message, code = api.root.load(path)
  if not dict then return nil, message, code end
  local list = {}
  for i, name in ipairs(#names > 0 and names or dict) do
    list[i] = dict[name]
    if not list[i] then
      local near = core.nearest(name, dict)
      core.raise("SGL_EARG", ("data.safetensors: %s holds no %s%s"):format(path, core.quote(name),
        near and (" (did you mean '%s'?)"):format(near) or ""),
        "it holds " .. table.concat(dict, ", "))
    end
  end
  return dataset.from(list)
end)
