-- examples.lua: runs the Lua code of a page and puts what it printed beside it.
--
-- In:    a page with ```lua blocks; a ```text block right behind one holds its output.
-- Out:   the page with those outputs as they are now.
-- Holds: the blocks of a page are one script, so locals go on from block to block; a line has the
--        number that it has in the page, so positions in messages are right. A block that prints
--        must be followed by a ```text block. Paths are relative to the root of the repository.
local sgl = require "sgl"

local MARK = "__block"

-- The page as lines, and its blocks: { first, last (of the code), out_first, out_last }.
local function parse(page)
  local lines, blocks, open = {}, {}, nil
  for line in page:gmatch "(.-)\n" do
    lines[#lines + 1] = line
    local fence = line:match "^```(%S*)$"
    if fence and open then
      open.last = #lines - 1
      open = nil
    elseif fence == "lua" then
      open = { first = #lines + 1 }
      blocks[#blocks + 1] = open
    elseif fence then
      local before = blocks[#blocks]
      local follows = fence == "text" and before and not before.output
        and lines[before.last + 2] == "" and before.last + 3 == #lines
      open = { first = #lines + 1 }
      if follows then before.output = open end
    end
  end
  assert(not open, "a block is not closed")
  return lines, blocks
end

-- The code of all blocks at their own line numbers; the fence of block n becomes a call.
local function script(lines, blocks)
  local source = {}
  for i = 1, #lines do source[i] = "" end
  for n, block in ipairs(blocks) do
    source[block.first - 1] = ("%s(%d)"):format(MARK, n)
    for i = block.first, block.last do source[i] = lines[i] end
  end
  return table.concat(source, "\n")
end

local function run(name, source)
  local outputs, now, real = {}, nil, print
  local env = setmetatable({
    [MARK] = function(n)
      now = n
      outputs[n] = {}
    end,
  }, { __index = _G })
  sgl.seed(0)
  local chunk = assert(load(source, "@" .. name, "t", env))
  function _G.print(...)                          -- programs print through it too
    local words = table.pack(...)
    for i = 1, words.n do words[i] = tostring(words[i]) end
    table.insert(outputs[now], table.concat(words, "\t"))
  end
  local ok, e = xpcall(chunk, debug.traceback)
  _G.print = real
  if not ok then error(e, 0) end
  return outputs
end

--- The page with its outputs; `name` is the file that messages name.
return function(name, page)
  local lines, blocks = parse(page)
  local outputs = run(name, script(lines, blocks))
  local result, at = {}, 1
  for n, block in ipairs(blocks) do
    local printed = table.concat(outputs[n], "\n")
    if block.output then
      table.move(lines, at, block.output.first - 1, #result + 1, result)
      result[#result + 1] = printed
      at = block.output.last + 1
    elseif printed ~= "" then
      error(("%s:%d: the block prints, but no text block follows it"):format(name, block.first))
    end
  end
  table.move(lines, at, #lines, #result + 1, result)
  return table.concat(result, "\n") .. "\n"
end
