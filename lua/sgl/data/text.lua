-- data/text.lua: a text as numbered characters, and windows of it to predict the next one from.
--
-- In:    a file of UTF-8 (or of bytes, if it is not valid UTF-8), gzipped or not.
-- Out:   an object with #, vocabulary, encode, decode, split and batches of x, y: i32[b, length],
--        y one character ahead of x.
-- Holds: ids count from 0 in the order of the characters' codes; parts of a split share the
--        vocabulary. Which windows come depends on the seed and the epoch only.
local api = require "sgl.api"
local core = require "sgl.core"
local dataset = require "sgl.data.dataset"

local raise, apply = core.raise, core.apply

local PIECE = 4096                 -- characters joined at once

local Text = {}
Text.__index = Text
api.class(dataset.root, "Text", {
  doc = "A text as ids of its characters: #text characters, text.vocabulary the different ones, "
    .. "text.ids i32[n].",
}, Text)

function Text:__len()
  return self.size
end

function Text:__tostring()
  return ("text of %d characters, %d different ones"):format(self.size, #self.vocabulary)
end

-- The code of a character; for the bytes of a text that is not UTF-8, the byte.
local function code_of(char)
  return utf8.len(char) and utf8.codepoint(char) or char:byte()
end

-- The ids of a text as raw i32, piece by piece: a list of all would be large.
local function encode(self, text)
  local parts, batch = {}, {}
  for char in text:gmatch(self.pattern) do
    local id = self.id_of[char]
    if not id then
      raise("SGL_EARG", ("encode: the character %s is not in the vocabulary"):format(
        core.quote(char)))
    end
    batch[#batch + 1] = ("<i4"):pack(id)
    if #batch == PIECE then
      parts[#parts + 1], batch = table.concat(batch), {}
    end
  end
  parts[#parts + 1] = table.concat(batch)
  return table.concat(parts)
end

-- The same vocabulary over other ids.
local function part(self, ids)
  return setmetatable({
    ids = ids, size = ids.shape[1], vocabulary = self.vocabulary, id_of = self.id_of,
    pattern = self.pattern, epoch = 0,
  }, Text)
end

api.fn(dataset.root, "text", {
  doc = "Reads a text file, gzipped or not, as ids of its characters.",
  args = { { "path", "string", "of the file, .gz too" } }, returns = "Text; or nil, message, code",
  errors = "an empty file",
}, function(path)
  local text, message, code = core.read(path)
  if not text then return nil, message, code end
  if text == "" then raise("SGL_EFORMAT", ("data.text: %s is empty"):format(path)) end
  local self = {
    vocabulary = {}, id_of = {}, pattern = utf8.len(text) and utf8.charpattern or ".",
  }
  for char in text:gmatch(self.pattern) do
    if not self.id_of[char] then
      self.id_of[char] = 0
      table.insert(self.vocabulary, char)
    end
  end
  -- Not by `<`, which follows the locale.
  table.sort(self.vocabulary, function(a, b) return code_of(a) < code_of(b) end)
  for i, char in ipairs(self.vocabulary) do self.id_of[char] = i - 1 end
  local raw = encode(self, text)
  return part(self, core.from_bytes(raw, "i32", { #raw // 4 }))
end)

api.method(Text, "encode", {
  doc = "The ids of a string's characters.", args = { { "text", "string", "of known characters" } },
  returns = "list of integers", errors = "a character that is not in the vocabulary",
}, function(self, text)
  local raw, ids = encode(self, text), {}
  for at = 1, #raw, 4 do ids[#ids + 1] = ("<i4"):unpack(raw, at) end
  return ids
end)

api.method(Text, "decode", {
  doc = "The string that ids stand for.",
  args = { { "ids", "table|tensor", "numbers of characters, from 0" } },
  returns = "string", errors = "an id outside the vocabulary",
}, function(self, ids)
  local chars = {}
  for i, id in ipairs(core.is_tensor(ids) and ids:flatten():tolist() or ids) do
    chars[i] = math.tointeger(id) and self.vocabulary[id + 1]
    if not chars[i] then
      raise("SGL_EINDEX", ("decode: id %s is not from 0 to %d"):format(tostring(id),
        #self.vocabulary - 1))
    end
  end
  return table.concat(chars)
end)

api.method(Text, "split", {
  doc = "Parts of the text, in its order: split(0.9) gives 90 % and the rest.",
  args = { { "shares", "number...", "each between 0 and 1" } }, returns = "Text, …",
}, function(self, shares)
  local parts, first = {}, 1
  for i, size in ipairs(dataset.part_sizes("split", self.size, shares)) do
    parts[i] = part(self, self.ids:narrow(1, first, size):realize())
    first = first + size
  end
  return table.unpack(parts)
end)

-- The first positions of `count` windows as raw i32.
local function starts(self, count, o, epoch)
  local length = o.length
  if o.shuffle and o.steps then
    return dataset.draw("windows", epoch, function()
      return api.root.randint(self.size - length, { count })
    end):bytes()
  end
  local whole = (self.size - 1) // length
  local order = dataset.order(whole, o.shuffle and "windows" or nil, epoch)
  local windows = dataset.part(order, 1, whole)
  if o.steps then windows = windows[api.root.arange(count) % whole] end
  return (windows * length):bytes()
end

-- x and y of the windows at some starts.
local function windows_at(self, at, length)
  local shape = { at.shape[1], length }
  local index = at:unsqueeze(2) + core.iota(shape, 2, "i32")
  local x = apply("gather", { self.ids, index }, { dim = 1 })
  local y = apply("gather", { self.ids, index + 1 }, { dim = 1 })
  core.realize({ x, y })
  return { x, y }
end

api.method(Text, "batches", {
  doc = "Iterates over batches of n windows x and their next characters y. Without steps, an "
    .. "epoch of windows side by side; with steps, that many batches of windows from anywhere.",
  args = { { "n", "integer", "rows of a batch", within = { 1, math.huge } } },
  opts = { { "length", "integer", 64, "characters of a window", within = { 1, math.huge } },
           { "steps", "integer", nil, "number of batches", within = { 1, math.huge } },
           { "shuffle", "boolean", true, "false: windows in the order of the text" },
           { "epoch", "integer", nil, "number that decides the order; default: counted" },
           { "progress", "string|boolean", nil, "label of a progress display on stderr" } },
  returns = "iterator of x, y: i32[n, length]", errors = "a text shorter than a window",
}, function(self, n, o)
  if o.length >= self.size then
    raise("SGL_EARG", ("batches: %d windows of %d characters cannot be cut from %d"):format(
      n, o.length, self.size))
  end
  local epoch = o.epoch
  if o.shuffle and not epoch then
    self.epoch = self.epoch + 1
    epoch = self.epoch
  end
  local steps = o.steps or (self.size - 1) // o.length // n
  local order = starts(self, steps * n, o, epoch)
  local label = o.progress == true and "batches" or o.progress
  return dataset.loop(steps, label, function(i)
    return windows_at(self, dataset.part(order, (i - 1) * n + 1, i * n), o.length)
  end)
end)
