-- data/iterator.lua: batches from a Lua function that gives samples.
--
-- In:    a function that returns, each time it is called with the epoch, an iterator over
--        samples: x, y, … as numbers, lists or tensors.
-- Out:   an object whose batches(n) stacks n samples at a time.
-- Holds: samples come in the iterator's order; shuffling is its own business. Nothing is kept but
--        the samples of one batch.
local api = require "sgl.api"
local core = require "sgl.core"
local dataset = require "sgl.data.dataset"
local progress = require "sgl.progress"

local Stream = {}
Stream.__index = Stream
api.class(dataset.root, "Stream", {
  doc = "Samples from a Lua iterator; see data.iterator.",
}, Stream)

api.fn(dataset.root, "iterator", {
  doc = "Batches from a Lua function: fn(epoch) returns an iterator over samples.",
  args = { { "fn", "function", "fn(epoch) returns an iterator of examples" } }, returns = "Stream",
}, function(fn) return setmetatable({ fn = fn, epoch = 0 }, Stream) end)

local function as_tensor(value)
  return core.is_tensor(value) and value or core.tensor(value)
end

-- Up to n samples, column by column; no columns when there are none left.
local function take(next_sample, n)
  local columns = {}
  for i = 1, n do
    local sample = table.pack(next_sample())
    if sample[1] == nil then return columns, i - 1 end
    for k = 1, sample.n do
      columns[k] = columns[k] or {}
      columns[k][i] = as_tensor(sample[k])
    end
  end
  return columns, n
end

api.method(Stream, "batches", {
  doc = "Iterates over batches of n samples.",
  args = { { "n", "integer", "rows of a batch", within = { 1, math.huge } } },
  opts = { { "drop_last", "boolean", false, "leave out a last batch that is smaller" },
           { "epoch", "integer", nil, "given to the function; default: counted" },
           { "progress", "string|boolean", nil, "label of a progress display on stderr" } },
  returns = "iterator", errors = "samples of different shapes",
}, function(self, n, o)
  self.epoch = o.epoch or self.epoch + 1
  local iterate, state, control = self.fn(self.epoch)
  if type(iterate) ~= "function" then
    core.raise("SGL_EARG", ("data.iterator: the function must return an iterator, got %s"):format(
      api.describe(iterate)), "fn(epoch) returns a function that gives a sample each time")
  end
  local function next_sample()
    local sample = table.pack(iterate(state, control))
    control = sample[1]
    return table.unpack(sample, 1, sample.n)
  end
  local display = o.progress and progress.new(o.progress == true and "batches" or o.progress)
  local rows = 0
  return function()
    if display and rows > 0 then display:tick(rows) end
    local columns
    columns, rows = take(next_sample, n)
    if rows == 0 or (o.drop_last and rows < n) then
      if display then display:finish() end
      return nil
    end
    local batch = {}
    for k, column in ipairs(columns) do batch[k] = api.root.stack(column) end
    core.realize(batch)
    return table.unpack(batch)
  end, nil, nil, display or nil
end)
