-- changes_spec.lua: who knows C and Lua but not sgl finds the file for a change from the folder
-- list and docs/internals.md alone: what follows are 25 changes and where each begins. The paths
-- must be there, and the tour, or a room's line in src/rooms, must lead to each.

local support = require "spec.support"

local CHANGES = {
  { "an elementwise op", "src/ir/op.def" },
  { "a function that the value of an op calls", "src/ir/math.def" },
  { "shape, gradient and reference of an op with structure", "src/ir/op_index.c" },
  { "how such an op runs on the CPU", "src/cpu/index.c" },
  { "an algebraic rule", "src/pass/rule.c" },
  { "a pass over graphs", "src/pass/pass.def" },
  { "something that every graph carries from pass to pass", "src/ir/rebuild.c" },
  { "a kind of attribute", "src/ir/attr.def" },
  { "a line of the text form", "src/ir/parse.c" },
  { "a rule that every graph obeys", "src/ir/verify.c" },
  { "what may share a kernel", "src/pass/fuse.c" },
  { "where a buffer lies", "src/pass/plan.c" },
  { "a kind of step", "src/kern/step.def" },
  { "a backend", "src/base/backend.def" },
  { "an instruction set", "src/cpu/isa.c" },
  { "a setting", "src/base/knob.def" },
  { "what a changed setting causes", "src/exec/settings.c" },
  { "an event", "src/obs/event.def" },
  { "an error code", "src/base/err.def" },
  { "a file format", "src/io/format.def" },
  { "a function of the C interface", "src/sgl.h" },
  { "why a step breaks, and what is said of it", "src/tensor/breaks.def" },
  { "what a C function of Lua is known to do", "src/watch/purity.c" },
  { "a function on tensors in Lua", "lua/sgl/tensor/reduce.lua" },
  { "a layer", "lua/sgl/nn/layers.lua" },
}

local function read(path)
  local file = assert(io.open(support.root .. path), path .. " is not there")
  local text = file:read "a"
  file:close()
  return text
end

describe("the house", function()
  local tour = read "docs/internals.md"

  -- By its path, by its name where a folder is spoken of, or as one of a folder's *.lua.
  local function leads_to(path)
    local folder, name = path:match "^(.*/)([^/]+)$"
    for _, way in ipairs { path, "`" .. name .. "`", folder .. "*.lua", "`" .. folder .. "`",
                        "`" .. folder:gsub("^lua/sgl/", "") .. "*.lua`" } do
      if tour:find(way, 1, true) then return true end
    end
    return false
  end

  it("has 25 changes in the list", function() assert.are.equal(25, #CHANGES) end)

  for _, change in ipairs(CHANGES) do
    it("has a place for " .. change[1], function()
      read(change[2])
      assert(leads_to(change[2]), change[2] .. " is not in docs/internals.md")
    end)
  end

  it("has each room in the tour", function()
    for room in read("src/rooms"):gmatch "\n(%l+) " do
      assert(tour:find("| `" .. room .. "/` |", 1, true), room .. " is not in the tour")
    end
  end)

  it("names no file in the tour that is not there", function()
    local names = {}
    local found = support.shell("cd " .. support.root .. " && find src lua spec scripts")
    for path in found:gmatch "[^\n]+" do
      names[path:match "[^/]+$"] = true
    end
    for name in tour:gmatch "`([%w_]+%.[chld][ue]?[af]?)`" do
      assert(names[name], name .. " is not there")
    end
  end)

  it("has no path in the tour that leads nowhere", function()
    for path in tour:gmatch "`(%l+/[%w_/.]+%.%l+)`" do
      local there = io.open(support.root .. path) or io.open(support.root .. "src/" .. path)
        or io.open(support.root .. "spec/" .. path) or io.open(support.root .. "lua/sgl/" .. path)
      assert(there, path .. " is not there")
      there:close()
    end
  end)
end)
