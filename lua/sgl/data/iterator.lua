-- data/iterator.lua: batches from a Lua function that gives samples.
--
-- In:    a function that returns, each time it is called with the epoch, an iterator over
--        samples, such as a coroutine: x, y, … as numbers, lists or tensors.
-- Out:   an object whose batches(n) stacks n samples at a time.
-- Holds: samples come in the iterator's order; shuffling is its own business. Nothing is kept but
--        the samples of one batch.
local api = require "sgl.api"
local core = require "sgl.core"
local dataset = require "sgl.data.dataset"
local progress = require "sgl.progress"

local raise = core.raise

local Stream = {}
Stream.__index = Stream
api.class(dataset.root, "Stream", {
  doc = "Samples from a Lua iterator; see data.iterator.",
}, Stream)

api.fn(dataset.root, "iterator", {
  doc = "Batches from a Lua function: fn(epoch) returns an iterator over samples.",
  args = { { "fn", "function", "fn(epoch) returns an iterator of examples" } }, returns = "Stream",
}, function(fn) return setmetatable({ fn = fn, epoch = 0 }, Stream) end)

-- The values of sample number `count` as tensors, each of the shape of `like`, the first sample's.
local function check_sample(sample, count, like)
  if like and sample.n ~= like.n then
    raise("SGL_EARG", ("data.iterator: sample %d has %d values, those before have %d"):format(count,
      sample.n, like.n), "each sample gives as many values: x, y, …")
  end
  for k = 1, sample.n do
    local value = sample[k]
    local ok, t = core.is_tensor(value), value
    if not ok then ok, t = pcall(core.tensor, value) end
    if not ok then
      raise("SGL_EARG", ("data.iterator: value %d of sample %d is %s, which makes no tensor")
        :format(k, count, api.describe(value)), "samples are numbers, lists of numbers, or tensors")
    elseif like and api.shape_text(t.shape) ~= api.shape_text(like[k].shape) then
      raise("SGL_ESHAPE", ("data.iterator: value %d of sample %d is %s, that of the first is %s")
        :format(k, count, api.describe(t), api.describe(like[k])),
        "the samples of a stream have one shape: pad or cut them")
    end
    sample[k] = t
  end
  return sample
end

-- Calls the function of a coroutine, which would put the line here in front of the user's message.
local function resume(fn, ...)
  local results = table.pack(pcall(fn, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local e = results[2]
  error(type(e) == "string" and e:gsub("^sgl/data/iterator%.lua:%d+: ", "") or e, 0)
end

local function call(fn, ...) return fn(...) end

-- Reads samples of what the user's function returned, until it gives nil: it is not called again,
-- as a coroutine that has ended cannot be.
local Reader = {}
Reader.__index = Reader

function Reader:next()
  if self.over then return nil end
  local sample = table.pack(self.call(self.iterate, self.state, self.control))
  self.control = sample[1]
  if sample[1] == nil then
    self.over = true
    return nil
  end
  self.count = self.count + 1
  sample = check_sample(sample, self.count, self.first)
  self.first = self.first or sample
  return sample
end

-- Up to n samples, column by column, and how many they are.
function Reader:take(n)
  local columns = {}
  for i = 1, n do
    local sample = self:next()
    if not sample then return columns, i - 1 end
    for k = 1, sample.n do
      columns[k] = columns[k] or {}
      columns[k][i] = sample[k]
    end
  end
  return columns, n
end

local function reader(iterate, state, control)
  local meta = getmetatable(iterate)
  if type(iterate) ~= "function" and not (type(meta) == "table" and meta.__call) then
    raise("SGL_EARG", ("data.iterator: the function must return an iterator, got %s"):format(
      api.describe(iterate)), "it returns a function that gives a sample each time: data.iterator("
      .. "function(epoch) return coroutine.wrap(function() … coroutine.yield(x, y) … end) end)")
  end
  local is_c = type(iterate) == "function" and debug.getinfo(iterate, "S").what == "C"
  return setmetatable({ call = is_c and resume or call, iterate = iterate, state = state,
                        control = control, count = 0 }, Reader)
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
  local samples = reader(self.fn(self.epoch))
  local display = o.progress and progress.new(o.progress == true and "batches" or o.progress)
  local rows = 0
  return function()
    if display and rows > 0 then display:tick(rows) end
    local columns
    columns, rows = samples:take(n)
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
