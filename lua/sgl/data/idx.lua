-- data/idx.lua: the IDX files of MNIST and its kin as a dataset.
--
-- In:    a file of images and one of labels, gzipped or not.
-- Out:   Dataset of f32[n, …] and i32[n].
-- Holds: a missing file gives nil, message, code; different numbers of images and labels raise.
local api = require "sgl.api"
local core = require "sgl.core"
local dataset = require "sgl.data.dataset"

local function read(path)
  local list, message, code = core.open(path, "idx")
  if not list then return nil, message, code end
  return list[1][2]
end

api.fn(dataset.root, "idx", {
  doc = "Reads IDX files, gzipped or not: images and, if given, labels.",
  args = { { "images", "string", "path of the file, .gz too" },
           { "labels", "string?", "path of the file, .gz too" } },
  opts = { { "scale", "number", 1, "factor of the images' values" },
           { "flatten", "boolean", false, "one row of f32[d] for each image" } },
  returns = "Dataset of f32[n, …] and i32[n]; or nil, message, code",
  errors = "a damaged file; different numbers of images and labels",
}, function(images, labels, o)
  local x, message, code = read(images)
  if not x then return nil, message, code end
  x = x:float()
  if o.scale ~= 1 then x = x * o.scale end
  if o.flatten then x = x:flatten(2) end
  local y
  if labels then
    y, message, code = read(labels)
    if not y then return nil, message, code end
    y = y:int()
    if y.shape[1] ~= x.shape[1] then
      core.raise("SGL_ESHAPE", ("data.idx: %s holds %d images, %s holds %d labels"):format(
        images, x.shape[1], labels, y.shape[1]), "the two files must be of one set")
    end
  end
  core.realize({ x, y })
  return dataset.from({ x, y })
end)
