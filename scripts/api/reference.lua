-- reference.lua: docs/api.md: every public function, by subject.
--
-- In:    api.all(); each row knows the file it stands in, which decides its section.
-- Out:   the page as a string, with an example at each entry, which is run (calls.lua).
-- Holds: a row in a file that no section names gets a section of its own at the end, so nothing
--        is left out.
local calls = require "api.calls"
local example_of = require "api.examples_of"
local words = require "api.words"

local HEAD = [[
# Lua API

Written by `make docs` from the tables that make and check the functions; do not edit.

`local sgl = require "sgl"`; below, `nn`, `optim` and `data` stand for `sgl.nn`, `sgl.optim` and
`sgl.data`. What holds everywhere:

- A function on tensors is a method, `t:sum(2)`, and a function, `sgl.sum(t, 2)`.
- Positional arguments come first, then one table of options. `x?` may be left out, `x...` takes
  any number. A value after `=` is the default. An unknown option is an error that names the
  nearest known one.
- Dims and positions count from 1, or from -1 at the end. Indices *inside* tensors (classes, token
  ids, what argmax gives) count from 0.
- Shapes broadcast as in NumPy. Two dtypes promote to the wider; a Lua number takes the dtype of the
  tensor beside it, unless it is a fraction and the tensor holds integers: then the result is f32.
- `f32[n, c]` is a dtype and a shape; `f32[]` has no dims; `…` are dims of any number.
- Misuse raises an error object (docs/errors.md). A file that is missing gives `nil, message, code`.
- Tensors are lazy: work is done when a value is read. Functions marked *not inside sgl.compile*
  need values that are not known while a step is captured.

Before each example stands this; `-->` is what it gives:

```lua
%s```
]]

local KEYS = [[
`t[key]` reads and `t[key] = v` writes a part; v is a number, a list or a tensor that broadcasts to
it. Reading gives a new tensor; writing gives `t` a new value, and tensors made from it before keep
theirs.

| key | part |
|---|---|
| `t[2]`, `t[-1]` | one slice of the first dim; `t[#t + 1]` is nil, so `ipairs(t)` ends |
| `t[{ 2, -1 }]` | one entry for each dim: here row 2, last column; dims left out are whole |
| `t[{ { 1, 3 }, {} }]` | a range, both ends included, and a whole dim |
| `t[{ { 1, -1, 2 } }]` | a range with a step; a negative step goes backwards |
| `t[{ "...", 1 }]` | `"..."` stands for the dims between |
| `t[{ {}, index }]`, `t[index]` | positions from a tensor of integers, from 0; others are errors |
| `t[mask]` | the elements where a bool tensor is true; reading is not possible inside sgl.compile |
]]

-- Title, then the files whose rows belong there; `file:Class` is a class of native.lua.
local SECTIONS = {
  { "The tensor", "native.lua:sgl.Tensor" },
  { "Making tensors", "tensor/create.lua" },
  { "Element by element", "tensor/elementwise.lua" },
  { "Shape and order of elements", "tensor/movement.lua", "tensor/join.lua", "tensor/pad.lua" },
  { "Reading and choosing elements", "tensor/gather.lua", intro = KEYS },
  { "Reductions", "tensor/reduce.lua" },
  { "Matrices", "tensor/linalg.lua", "tensor/einsum.lua" },
  { "Sorting and running totals", "tensor/order.lua" },
  { "Gradients, random numbers, memory", "init.lua" },
  { "Compiled steps", "compile.lua", "breaks/coverage.lua" },
  { "Sizes that change", "compile/dynamic.lua" },
  { "Control flow, prints and checks in a step", "control.lua", "effect.lua" },
  { "Graphs", "graph.lua", "native.lua:sgl.Graph" },
  { "Saving and loading", "save.lua" },
  { "Export", "export.lua" },
  { "From one device to many", "check/init.lua", "check/report.lua" },
  { "Ops of your own", "custom.lua" },
  { "Modules", "nn/module.lua" },
  { "Layers", "nn/layers.lua", "nn/images.lua", "nn/attention.lua", "nn/recurrent.lua" },
  { "Losses", "nn/loss.lua" },
  { "Functions of layers", "nn/functional.lua", "nn/convolution.lua" },
  { "Initialisers", "nn/initialise.lua" },
  { "Optimizers", "optim/init.lua", "optim/clip.lua" },
  { "Learning rates", "optim/schedule.lua" },
  { "Data", "data/dataset.lua", "data/csv.lua", "data/idx.lua", "data/text.lua",
    "data/safetensors.lua", "data/iterator.lua" },
  { "Settings and caches", "config.lua", "cache.lua" },
  { "Events", "events.lua" },
  { "Ranks", "mesh.lua", "dist/init.lua", "dist/place.lua",
    "dist/collective.lua" },
}

local function key_of(row)
  return row.file == "native.lua" and ("native.lua:%s"):format(
    row.kind == "class" and row.full or row.module) or row.file or "unknown"
end

local function sections(rows)
  local list, of_key = {}, {}
  for _, names in ipairs(SECTIONS) do
    local section = { title = names[1], rows = {}, files = {}, intro = names.intro }
    list[#list + 1] = section
    for i = 2, #names do
      of_key[names[i]] = section
      section.files[i - 1] = names[i]
    end
  end
  local by_key = {}
  for _, row in ipairs(rows) do
    local key = key_of(row)
    if not of_key[key] then
      of_key[key] = { title = "From " .. key, rows = {}, files = { key } }
      list[#list + 1] = of_key[key]
    end
    by_key[key] = by_key[key] or {}
    table.insert(by_key[key], row)
  end
  for _, section in ipairs(list) do
    for _, key in ipairs(section.files) do
      table.move(by_key[key] or {}, 1, #(by_key[key] or {}), #section.rows + 1, section.rows)
    end
  end
  return list
end

local function aliases(rows)
  local of = {}
  for _, row in ipairs(rows) do
    if row.kind == "alias" then
      of[row.of] = of[row.of] or {}
      table.insert(of[row.of], "`" .. row.name .. "`")
    end
  end
  return of
end

-- "- `dim` integer, optional: text" for an argument whose type or text says something.
local function argument_line(arg)
  local text = arg[3] and arg[3] ~= "" and ": " .. words.plain(arg[3]) or ""
  return ("- `%s` %s%s"):format(arg[1], words.type_text(arg), text)
end

local function option_line(opt)
  local default = opt[3] ~= nil and " = " .. words.value(opt[3]) or ""
  local text = opt[4] and opt[4] ~= "" and ": " .. words.plain(opt[4]) or ""
  return ("- `%s%s` %s%s"):format(opt[1], default, words.type_text(opt), text)
end

local function is_plain_tensor(arg)
  return arg[2] == "tensor" and not arg[3]
end

local function entry(row, also)
  local lines = { ("### `%s`\n"):format(words.call(row)) }
  local doc = words.plain(row.doc)
  if also then doc = doc .. " Also " .. table.concat(also, ", ") .. "." end
  lines[#lines + 1] = doc .. "\n"
  local list = {}
  for i, arg in ipairs(row.args or {}) do
    local own = row.kind == "tensor" and i == 1 and is_plain_tensor(arg)
    if not own then list[#list + 1] = argument_line(arg) end
  end
  for _, opt in ipairs(row.opts or {}) do list[#list + 1] = option_line(opt) end
  if #list > 0 then lines[#lines + 1] = table.concat(list, "\n") .. "\n" end
  local ends = {}
  if row.returns and row.returns ~= "nothing" then
    ends[#ends + 1] = "Returns: " .. row.returns .. "."
  end
  if row.errors then ends[#ends + 1] = "Errors: " .. row.errors .. "." end
  if #ends > 0 then lines[#lines + 1] = table.concat(ends, " ") .. "\n" end
  lines[#lines + 1] = example_of(row.full)
  return table.concat(lines, "\n")
end

-- The rows that come from the op table differ in little, so they share a table.
local function op_table(rows)
  local cells = {}
  for _, row in ipairs(rows) do
    if row.op then cells[#cells + 1] = { "`" .. words.call(row) .. "`", words.plain(row.doc) } end
  end
  if #cells == 0 then return nil end
  return "One row each of the op table; types and gradients are in docs/ops.md.\n\n"
    .. words.table({ "call", "meaning" }, cells) .. "\n"
end

local function section_text(section, also)
  local parts = { "## " .. section.title .. "\n", section.intro }
  for _, row in ipairs(section.rows) do
    if row.kind == "module" then parts[#parts + 1] = row.doc .. ".\n" end
  end
  parts[#parts + 1] = op_table(section.rows)
  for _, row in ipairs(section.rows) do
    if not row.op and row.kind ~= "module" and row.kind ~= "alias" then
      parts[#parts + 1] = entry(row, also[row.name])
    end
  end
  return table.concat(parts, "\n")
end

local function anchor(title)
  return (title:lower():gsub("[^%w ]", ""):gsub(" ", "-"))
end

--- docs/api.md
return function(rows)
  local also, list = aliases(rows), sections(rows)
  local parts, contents = { (HEAD:gsub("%%s", function() return calls.preamble end)) }, {}
  for _, section in ipairs(list) do
    contents[#contents + 1] = ("- [%s](#%s)"):format(section.title, anchor(section.title))
  end
  parts[2] = table.concat(contents, "\n") .. "\n"
  for _, section in ipairs(list) do parts[#parts + 1] = section_text(section, also) end
  return table.concat(parts, "\n")
end
