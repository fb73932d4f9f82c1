-- part_spec.lua: a part of a random tensor or of positions has the numbers of the whole at its
-- place, so that each of many ranks can make its own.

local sgl = require "sgl"
local core = require "sgl.core"
local engine = require "spec.engine"

local STATE = sgl.tensor({ 42, 7 }, { dtype = "i64" })

local function rand(dims, rest, word)
  return core.parse(([[graph
input %%0 arg "state" i64[2]
%%1 = rand(%%0) {draw=3, word=%d, dims=[%s]%s} : f32[%s]
output %%1 ""
]]):format(word or 1, dims, rest or "", dims))
end

local function slice(x, start, stop)
  local step = {}
  for d = 1, #start do step[d] = 1 end
  return core.apply("slice", x, { start = start, stop = stop, step = step })
end

local function bytes(graph)
  return graph:run({ STATE })[1]:bytes()
end

describe("rand with global dims and a start", function()
  local whole = rand "40, 9, 13":run({ STATE })[1]

  it("has the numbers of its rows of the whole", function()
    for _, r in ipairs { { 0, 40 }, { 0, 10 }, { 10, 20 }, { 39, 40 }, { 7, 30 } } do
      local part = rand(("%d, 9, 13"):format(r[2] - r[1]),
        (", global=[40, 9, 13], start=[%d, 0, 0]"):format(r[1]))
      assert.equal(slice(whole, { r[1], 0, 0 }, { r[2], 9, 13 }):bytes(), bytes(part))
    end
  end)

  it("has them for a part of every dim, and the reference too", function()
    local part = rand("4, 5, 6", ", global=[40, 9, 13], start=[3, 2, 7]")
    assert.equal(slice(whole, { 3, 2, 7 }, { 7, 7, 13 }):bytes(), bytes(part))
    assert.same(engine.values(part:run({ STATE })[1]), engine.values(part:eval({ STATE })[1]))
  end)

  it("keeps its text, and none for the whole", function()
    local part = rand("4, 5", ", global=[8, 5], start=[4, 0]")
    assert.truthy(part:text():find("dims=[4, 5], global=[8, 5], start=[4, 0]}", 1, true))
    assert.equal(part:text(), core.parse(part:text()):text())
    assert.falsy(rand "4, 5":text():find("global", 1, true))
    assert.not_equal(part:hash(), rand "4, 5":hash())
  end)

  it("takes a start that a run decides", function()
    local form = [[graph
dim first 10 30 10
input %%0 arg "state" i64[2]
input %%1 arg "x" f32[first]
%%2 = rand(%%0) {draw=3, word=1, dims=[%s], global=[40, 9, 13], start=[first, 0, 0]} : f32[%s]
output %%2 ""
]]
    local part = core.parse(form:format("10, 9, 13", "10, 9, 13"))
    for _, first in ipairs { 10, 20, 30 } do
      local got = part:bind({ first = first }):run({ STATE, sgl.zeros(first) })[1]
      assert.equal(slice(whole, { first, 0, 0 }, { first + 10, 9, 13 }):bytes(), got:bytes())
    end
  end)

  it("is fused with what reads it, turned and reversed", function()
    local form = [[graph
input %%0 arg "state" i64[2]
%%1 = rand(%%0) {draw=3, word=1, dims=[%s]%s} : f32[%s]
%%2 = permute(%%1) {dims=[2, 1]} : f32[%s]
%%3 = flip(%%2) {dims=[1]} : f32[%s]
%%4 = neg(%%3) : f32[%s]
output %%4 ""
]]
    local all = core.parse(form:format("6, 8", "", "6, 8", "8, 6", "8, 6", "8, 6"))
    local part = core.parse(form:format("3, 8", ", global=[6, 8], start=[2, 0]", "3, 8", "8, 3",
      "8, 3", "8, 3"))
    assert.equal(slice(all:run({ STATE })[1], { 0, 2 }, { 8, 5 }):bytes(), bytes(part))
  end)

  it("refuses a part that does not lie in the whole", function()
    local function message(...)
      local ok, e = pcall(rand, ...)
      assert.is_false(ok)
      return tostring(e)
    end
    assert.matches("the part does not lie in the whole.*8 against 9",
      message("4, 5", ", global=[8, 5], start=[5, 0]"))
    assert.matches("global has 1 items, not 2", message("4, 5", ", global=[8], start=[0, 0]"))
    assert.matches("start has 0 items, not 2", message("4, 5", ", global=[8, 5]"))
    assert.matches("a dim would be %-1", message("4, 5", ", global=[8, 5], start=[-1, 0]"))
  end)
end)

describe("iota with a start", function()
  local function iota(dims, axis, rest, dtype)
    return core.parse(([[graph
%%0 = iota() {dim=%d, dims=[%s], dtype=%s%s} : %s[%s]
output %%0 ""
]]):format(axis, dims, dtype or "i64", rest or "", dtype or "i64", dims))
  end

  it("goes on from there", function()
    for _, dtype in ipairs { "i64", "f32", "u8" } do
      local part = iota("3, 4", 2, ", start=[5]", dtype)
      local want = { 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8 }
      assert.same(want, engine.values(part:run({})[1]))
      assert.same(want, engine.values(part:eval({})[1]))
      assert.equal(part:text(), core.parse(part:text()):text())
    end
    assert.falsy(iota("3, 4", 1):text():find("start", 1, true))
  end)

  it("refuses a start that is none", function()
    local ok, e = pcall(iota, "3", 1, ", start=[-2]")
    assert.is_false(ok)
    assert.matches("a dim would be %-2", tostring(e))
    ok, e = pcall(iota, "3", 1, ", start=[1, 2]")
    assert.is_false(ok)
    assert.matches("start has 2 items, not 1", tostring(e))
  end)
end)
