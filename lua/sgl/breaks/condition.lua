-- breaks/condition.lua: which expression of a source line was taken for a boolean.
--
-- In:    the line, what the instruction was ("a condition", "'and' or 'or'", "'not'"), and the op
--        that made the tensor, if that was recorded on the same line.
-- Out:   the word that asked ("'if'", "'and'" …), the expression and its first column.
-- Holds: the expression is the right one or none. A line may have several tests, and which of them
--        it was is known only where no other can be, or where it is the first and surely ran.
local condition = {}

local ASKS = { ["if"] = true, ["elseif"] = true, ["while"] = true, ["until"] = true }
local ANSWERS = { ["then"] = true, ["do"] = true }
local JOINS = { ["and"] = true, ["or"] = true }
local COMPARES = { ["=="] = true, ["~="] = true, ["<"] = true, [">"] = true, ["<="] = true,
                   [">="] = true }
local CLOSES = { ["("] = ")", ["["] = "]", ["{"] = "}" }
local ENDS = { [")"] = true, ["]"] = true, ["}"] = true }
local CONSTANTS = { ["true"] = true, ["false"] = true, ["nil"] = true }
local STATEMENTS = {}
for word in ("break do else end for function goto in local repeat return"):gmatch "%a+" do
  STATEMENTS[word] = true
end

local TOKENS = { "^[%a_][%w_]*", "^%.?%d[%w.]*", "^%[(=*)%[.-%]%1%]", "^[=~<>]=", "^%.%.%.?", "^::",
                 "^//", "^<<", "^>>", "^." }

-- Where the string that begins at `at` ends.
local function string_end(text, at)
  local quote, i = text:sub(at, at), at + 1
  while i < #text and text:sub(i, i) ~= quote do
    i = i + (text:sub(i, i) == "\\" and 2 or 1)
  end
  return i
end

-- The tokens of a line as { text, first, last, kind }; kind is "name", "constant" or "sign".
local function tokens(text)
  local list, at = {}, text:find "%S"
  while at and text:sub(at, at + 1) ~= "--" do
    local last
    if text:find("^[\"']", at) then last = string_end(text, at) end
    for i = 1, last and 0 or #TOKENS do
      local _, found = text:find(TOKENS[i], at)
      if found then
        last = found
        break
      end
    end
    local word = text:sub(at, last)
    local named = word:find "^[%a_]" and not CONSTANTS[word]
    local constant = CONSTANTS[word] or word:find "^[%d\"']" or word:find "^%.%d"
      or word:find "^%[=*%["
    list[#list + 1] = { word, at, last, named and "name" or constant and "constant" or "sign" }
    at = text:find("%S", last + 1)
  end
  return list
end

-- A walk over the tokens. `tests` collects { word, expression, column, compared, value } in order;
-- an expression that goes over the line's end, or came over its beginning, has no text.
local Walk = {}
Walk.__index = Walk

function Walk:begin(asks)
  self.first, self.asks, self.compared, self.negated = self.i + 1, asks, false, false
  self.cut = self.i == 0
end

-- The operand that ends before the token at i was tested.
function Walk:test(word, whole)
  local from, to = self.list[self.first], self.list[self.i - 1]
  local known = whole and self.first < self.i and not self.cut
  if known and self.first == self.i - 1 and from[4] == "constant" then return end
  self.tests[#self.tests + 1] = {
    word = word and ("'%s'"):format(word), column = known and from[2],
    expression = known and self.text:sub(from[2], to[3]) or nil,
    compared = self.compared, value = word == "not",
  }
end

-- The expression is over, and with it what asked for it.
function Walk:finish(whole)
  if self.asks or self.negated then self:test(self.asks or "not", whole) end
  self:begin(nil)
end

-- A bracket is closed; one that is not open was opened on another line.
function Walk:leave()
  local outer = table.remove(self.outer)
  if not outer then
    self.cut = true
    return
  end
  self.first, self.asks, self.compared, self.negated, self.cut = table.unpack(outer, 1, 5)
end

function Walk:sign(word)
  if COMPARES[word] then
    self.compared = true
  elseif CLOSES[word] then
    self.outer[#self.outer + 1] = { self.first, self.asks, self.compared, self.negated, self.cut }
    self:begin(nil)
  elseif ENDS[word] then
    if self.negated then self:finish(true) end
    self:leave()
  elseif word == "," or word == "=" or word == ";" then
    self:finish(true)
  end
end

function Walk:word(word)
  if ASKS[word] then
    self:finish(true)
    self:begin(word)
  elseif JOINS[word] then
    local asks = self.asks
    self:test(word, true)
    self:begin(asks)
  elseif word == "not" then
    local asks = self.asks
    self:begin(asks)
    self.negated = not asks
  elseif ANSWERS[word] then
    if self.asks or word == "then" then self:test(self.asks, true) end
    self:begin(nil)
  elseif STATEMENTS[word] then
    self:finish(true)
  end
end

local KEYWORDS = { ["not"] = true }
for _, words in ipairs { ASKS, ANSWERS, JOINS, STATEMENTS } do
  for word in pairs(words) do KEYWORDS[word] = true end
end

-- Does the token end an operand, so that a name behind it begins a statement?
local function ends_operand(token)
  return token and (token[4] == "constant" or ENDS[token[1]]
    or token[4] == "name" and not KEYWORDS[token[1]])
end

-- Every test of the line, in order.
local function tests_of(text)
  local walk = { text = text, list = tokens(text), tests = {}, outer = {}, i = 0 }
  setmetatable(walk, Walk)
  walk:begin(nil)
  for i, token in ipairs(walk.list) do
    walk.i = i
    if token[4] == "sign" then
      walk:sign(token[1])
    elseif KEYWORDS[token[1]] then
      walk:word(token[1])
    elseif ends_operand(walk.list[i - 1]) and token[4] == "name" then
      walk:finish(true)
      walk.first, walk.cut = i, false
    end
  end
  walk.i = #walk.list + 1
  walk:finish(#walk.outer == 0 and (walk.asks == "until" or walk.negated))
  while #walk.outer > 0 do
    walk:leave()
    walk:finish(false)
  end
  return walk.tests
end

-- A value made on this line is in no variable that the line does not assign.
local function made_elsewhere(text, expression)
  if not expression or not expression:find "^[%a_][%w_.]*$" then return false end
  local name = "%f[%w_.]" .. expression:gsub("%p", "%%%0")
  return not text:find(name .. "%s*,") and not text:find(name .. "%s*=[^=]")
    and not text:find(name .. "%s+in%f[^%w_]")
end

local FITS = {
  ["'not'"] = function(test) return test.value end,
  ["'and' or 'or'"] = function(test) return test.word == "'and'" or test.word == "'or'" end,
  ["a condition"] = function(test) return not test.value end,
}

-- The word that all of them have, or nil.
local function common_word(tests)
  local word = tests[1] and tests[1].word
  for _, test in ipairs(tests) do
    if test.word ~= word then return nil end
  end
  return word
end

--- The word, the expression and its column, as the file's head says; what is not known is nil.
--- `op` is the tensor's, nil where it was recorded on another line.
function condition.find(text, what, op)
  if not FITS[what] then return nil end
  local all, left = tests_of(text), {}
  local here = op and not text:find "%f[%w_]function%f[^%w_]"
  for _, test in ipairs(all) do
    local possible = not test.compared and FITS[what](test)
      and not (here and made_elsewhere(text, test.expression))
    if possible then left[#left + 1] = test end
  end
  local first = left[1]
  local surely = here and first and first == all[1]
    and first.expression and first.expression:find("%f[%w_]" .. op .. "%b()$")
  if #left == 1 or surely then return first.word, first.expression, first.column end
  return common_word(left)
end

return condition
