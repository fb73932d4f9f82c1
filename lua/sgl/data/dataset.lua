-- data/dataset.lua: a dataset: tensors with one row for each sample, cut into batches.
--
-- In:    tensors of the same first dim, in the order in which batches give them (x, y, …).
-- Out:   an object with #, split and batches.
-- Holds: the order of the samples is a permutation of their positions in the file that depends on
--        the seed (sgl.seed), the purpose and the epoch only: not on what was drawn before, on
--        the batch size or on how many processes read. Drawing it leaves the random state alone.
local api = require "sgl.api"
local core = require "sgl.core"
local progress = require "sgl.progress"

local raise, root = core.raise, api.root

local dataset = {}
dataset.root = api.module("data", "Datasets: files to batches of tensors")

local Dataset = {}
dataset.Dataset = Dataset
api.class(dataset.root, "Dataset", {
  doc = "Rows of several tensors: #ds is their number, ds.tensors the list, ds[i] row i. What a "
    .. "file named is in ds.columns, ds.classes and ds.categories, else false.",
}, Dataset)

-- Added to the seed, so that the orders are other numbers than those a script draws.
local PURPOSE = { batches = 0x5bd1e995, split = 0x27d4eb2f, windows = 0x165667b1 }
local INDEX_BYTES = 4

--- Calls draw() with the random state of (seed, purpose, epoch), then restores the state.
function dataset.draw(purpose, epoch, draw)
  local seed, counter = core.rng()
  core.rng(seed ~ PURPOSE[purpose], epoch)
  local t = draw()
  core.realize({ t })
  core.rng(seed, counter)
  return t
end

--- The numbers 0 to n - 1 as raw i32: in order, or permuted.
function dataset.order(n, purpose, epoch)
  local t = purpose and dataset.draw(purpose, epoch, function() return root.randperm(n) end)
    or root.arange(n)
  return t:bytes()
end

--- Items first … last (from 1) of raw i32 numbers, as a tensor. A part of a string rather than a
--- slice of a tensor: then every batch is a leaf of the same program.
function dataset.part(order, first, last)
  return core.from_bytes(order:sub((first - 1) * INDEX_BYTES + 1, last * INDEX_BYTES), "i32",
    { last - first + 1 })
end

--- Rows of tensors at positions, computed.
function dataset.rows(tensors, index)
  local list = {}
  for i, t in ipairs(tensors) do list[i] = core.apply("gather", { t, index }, { dim = 1 }) end
  core.realize(list)
  return list
end

-- What a reader knows beside the tensors: { columns, classes, categories }.
local FACTS = { "columns", "classes", "categories" }

local function new(tensors, facts)
  local ds = { tensors = tensors, size = tensors[1].shape[1], epoch = 0 }
  for _, name in ipairs(FACTS) do ds[name] = facts and rawget(facts, name) or false end
  return setmetatable(ds, Dataset)
end
dataset.new = new

function Dataset:__len()
  return self.size
end

function Dataset:__tostring()
  local parts = {}
  for i, t in ipairs(self.tensors) do parts[i] = api.describe(t) end
  return ("dataset of %d rows: %s"):format(self.size, table.concat(parts, ", "))
end

function Dataset:__index(key)
  if math.type(key) ~= "integer" then
    local found = Dataset[key]
    if found == nil then api.no_field("a dataset", api.fields(Dataset), key) end
    return found
  end
  if key < 1 or key > self.size then return nil end
  local row = {}
  for i, t in ipairs(self.tensors) do row[i] = t[key] end
  return row
end

--- Sizes of the parts that shares of n make; what is left is the last part.
function dataset.part_sizes(op, n, shares)
  local sizes, total = {}, 0
  if #shares == 0 then
    raise("SGL_EARG", op .. ": there is no share to split by", "ds:split(0.7) gives 70 % and 30 %")
  end
  for i, share in ipairs(shares) do
    if share <= 0 or share >= 1 then
      raise("SGL_EARG", ("%s: a share must be between 0 and 1, got %s"):format(op,
        tostring(share)), "ds:split(0.7) gives 70 % and 30 %")
    end
    sizes[i] = math.floor(n * share + 1e-9)
    total = total + sizes[i]
  end
  if total > n then
    raise("SGL_EARG", op .. ": the shares add up to more than 1",
      "what they leave is a part of its own: ds:split(0.7) gives two")
  end
  if total < n then sizes[#sizes + 1] = n - total end
  return sizes
end

api.method(Dataset, "split", {
  doc = "Parts of the rows: for split(0.7), 70 % and the rest. The rows are drawn by the seed "
    .. "unless shuffle is false.",
  args = { { "shares", "number...", "each between 0 and 1" } },
  opts = { { "shuffle", "boolean", true, "draw the rows; false: in the order of the file" },
           { "seed", "integer", nil, "in place of that of sgl.seed" } },
  returns = "Dataset, …", errors = "shares that add up to more than 1",
}, function(self, shares, o)
  local sizes = dataset.part_sizes("split", self.size, shares)
  local seed, counter = core.rng()
  if o.seed then core.rng(o.seed, 0) end
  local order = dataset.order(self.size, o.shuffle and "split" or nil, 0)
  core.rng(seed, counter)
  local parts, first = {}, 1
  for i, size in ipairs(sizes) do
    local rows = dataset.rows(self.tensors, dataset.part(order, first, first + size - 1))
    parts[i] = new(rows, self)
    first = first + size
  end
  return table.unpack(parts)
end)

api.method(Dataset, "map", {
  doc = "A dataset of what fn makes of all rows at once: fn(x, y, …) returns the new tensors.",
  args = { { "fn", "function", "gets the tensors of all rows, returns new ones" } },
  returns = "Dataset",
}, function(self, fn)
  return dataset.from(table.pack(fn(table.unpack(self.tensors))))
end)

--- A for-loop's iterator that calls step(i) for i from 1 to count, with a progress display.
function dataset.loop(count, label, step)
  local display = label and progress.new(label, count)
  local i, rows = 0, 0
  local function finish()
    if display then display:finish() end
  end
  return function()
    if display and i > 0 then display:tick(rows) end
    if i >= count then return finish() end
    i = i + 1
    local values = step(i)
    rows = values[1].shape[1]
    return table.unpack(values)
  end, nil, nil, display
end

api.method(Dataset, "batches", {
  doc = "Iterates over batches of n rows: for x, y in ds:batches(64) do … end. Each call is the "
    .. "next epoch, with another order.",
  args = { { "n", "integer", "rows of a batch", within = { 1, math.huge } } },
  opts = { { "shuffle", "boolean", true, "another order in each epoch; false: in place" },
           { "drop_last", "boolean", false, "leave out a last batch that is smaller" },
           { "epoch", "integer", nil, "number that decides the order; default: counted" },
           { "progress", "string|boolean", nil, "label of a progress display on stderr" } },
  returns = "iterator", errors = "n below 1",
}, function(self, n, o)
  local epoch = o.epoch
  if o.shuffle and not epoch then
    self.epoch = self.epoch + 1
    epoch = self.epoch
  end
  local order = dataset.order(self.size, o.shuffle and "batches" or nil, epoch)
  local count = o.drop_last and self.size // n or (self.size + n - 1) // n
  local label = o.progress == true and "batches" or o.progress
  return dataset.loop(count, label, function(i)
    return dataset.rows(self.tensors,
      dataset.part(order, (i - 1) * n + 1, math.min(i * n, self.size)))
  end)
end)

--- A dataset from a list of tensors, checked; facts: see FACTS.
function dataset.from(list, facts)
  for i = 1, math.max(1, #list) do
    local t = list[i]
    if not core.is_tensor(t) or t.ndim == 0 or t.shape[1] ~= list[1].shape[1] then
      raise("SGL_ESHAPE", ("data.dataset: item %d must be a tensor with %s rows, got %s"):format(
        i, i > 1 and tostring(list[1].shape[1]) or "any number of", api.describe(t)))
    end
  end
  return new(table.move(list, 1, #list, 1, {}), facts)
end

api.fn(dataset.root, "dataset", {
  doc = "A dataset of tensors that have a row for each sample.",
  args = { { "tensors", "tensor...", "x, y, …" } }, returns = "Dataset",
  errors = "different numbers of rows",
}, function(list) return dataset.from(list) end)

return dataset
