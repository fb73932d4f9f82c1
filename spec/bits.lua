-- bits.lua: the bits of random graphs and random steps, a line each, for scripts/compare-bits.
--
--   sgl spec/bits.lua SEED COUNT
--
-- Out:   "graph SEED dtype hex …" with the outputs of a random graph; "step SEED hex …" with what a
--        compiled random step gives in four calls between which what it reads changes. An error is
--        its first line, without the place. A seed gives the same work with every version of sgl.

local sgl = require "sgl"
local core = require "sgl.core"
local random_graph = require "spec.random_graph"
local random_step = require "spec.random_step"

local CALLS = 4

local function hex(t)
  return t.dtype .. " " .. (t:bytes():gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function failed(e)
  return "error " .. tostring(e):match("^[^\n]*"):gsub("^.-:%d+: ", "")
end

local function graph_bits(seed)
  local made = random_graph.generate(seed)
  local ok, out = pcall(function() return core.parse(made.text):run(made.args) end)
  if not ok then return failed(out) end
  for i, t in ipairs(out) do out[i] = hex(t) end
  return table.concat(out, " ")
end

local function step_bits(seed)
  math.randomseed(seed)
  local text, out = random_step.program(), {}
  local x = sgl.tensor { 0.5, -1, 2 }
  local fn, change = assert(load(text, "=step"))(sgl, x)
  local step = sgl.compile(fn, { max_recaptures = 100 })
  for call = 1, CALLS do
    local ok, y = pcall(step, x)
    out[call] = ok and hex(y) or failed(y)
    change[math.random(#random_step.CHANGES)]()
  end
  return table.concat(out, " ")
end

local first, count = math.tointeger(tonumber(arg[1])), math.tointeger(tonumber(arg[2]))
assert(first and count, "usage: sgl spec/bits.lua SEED COUNT")
for seed = first, first + count - 1 do
  print("graph", seed, graph_bits(seed))
  print("step", seed, step_bits(seed))
  if seed % 50 == 0 then collectgarbage() end
end
