-- onnx.lua: the tables inside docs/onnx.md; the rest of that page is written by hand.
--
-- In:    the tables of lua/sgl/onnx, and the page as it is.
-- Out:   the page with the lines between the marks replaced.
local core = require "sgl.core"
local composites = require "sgl.onnx.composites"
local import = require "sgl.onnx.import"
local rows = require "sgl.onnx.rows"
local words = require "api.words"

-- The keys in the order of the alphabet.
local function names_of(rows_by_name)
  local names = {}
  for name in pairs(rows_by_name) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function imported()
  local list = {}
  for _, name in ipairs(names_of(import.rows)) do
    local row = import.rows[name]
    list[#list + 1] = { name, tostring(row.since), ((row.attrs or ""):gsub("[%w_]+", "`%0`")) }
  end
  return words.table({ "operator", "from opset", "attributes" }, list)
end

-- How ops are written that have a row of their own, or none.
local function exported()
  local list = {}
  for _, op in ipairs(core.ops()) do
    local how = rows.blocked(op.name) and "refused: " .. rows.blocked(op.name)
      or rows.own(op.name) and (op.onnx ~= "" and op.onnx or "several operators")
    if how then list[#list + 1] = { "`" .. op.name .. "`", how } end
  end
  return words.table({ "op", "in the file" }, list)
end

local function composed()
  local list = {}
  for i, name in ipairs(names_of(composites)) do list[i] = "`" .. name .. "`" end
  return table.concat(list, ", ") .. "."
end

local function replace(page, name, text)
  local _, open = page:find("<!-- " .. name .. ": written by make docs -->\n", 1, true)
  local close = open and page:find("<!-- end of " .. name .. " -->", open, true)
  assert(close, "docs/onnx.md has lost the marks around " .. name)
  return page:sub(1, open) .. text .. "\n" .. page:sub(close)
end

--- docs/onnx.md
return function(page)
  page = replace(page, "imported", imported())
  return replace(replace(page, "exported", exported()), "composites", composed())
end
