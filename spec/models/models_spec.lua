-- models_spec.lua: models as people write them are captured whole and train as without sgl.compile,
-- bit for bit: results and state after each turn.
--
-- In: the files beside this one. A model is a function of `compile` that returns a turn of its
-- training loop, which is told its number and the size of the batch, and the list of what holds
-- its state.

local sgl = require "sgl"

local SIZES = { 3, 3, 4, 3 }                     -- of the batches of the turns
local FILES = { "sequences", "images", "generative", "learning", "idioms" }

local WAYS = {
  { "captured whole", { fullgraph = true } },
  { "captured in segments where it breaks", { fullgraph = false } },
  { "captured with symbolic sizes", { fullgraph = true, dynamic = true } },
}

-- What a value is made of, for comparison: { name, kind, text, tensor }.
local function flat(value, name, list)
  if sgl.is_tensor(value) then
    list[#list + 1] = { name, ("%s[%s]"):format(value.dtype, table.concat(value.shape, ",")),
                        value:bytes(), value }
  elseif type(value) == "table" then
    local keys = {}
    for k in pairs(value) do keys[#keys + 1] = k end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for _, k in ipairs(keys) do flat(value[k], name .. "." .. tostring(k), list) end
  else
    list[#list + 1] = { name, type(value), tostring(value) }
  end
  return list
end

local function state_of(holders)
  local list = {}
  for i, holder in ipairs(holders) do
    flat(holder.state_dict and holder:state_dict() or holder, "state " .. i, list)
  end
  return list
end

-- What each turn returned and left.
local function train(model, options)
  sgl.seed(7)
  local turn, holders = model(function(fn) return options and sgl.compile(fn, options) or fn end)
  local seen = {}
  for i, n in ipairs(SIZES) do
    local results = table.pack(turn(i, n))
    seen[i] = flat(results, "result", state_of(holders))
  end
  return seen
end

local function compare(want, got)
  for i in ipairs(SIZES) do
    assert.are.equal(#want[i], #got[i])
    for k, entry in ipairs(want[i]) do
      local other = got[i][k]
      if entry[1] ~= other[1] or entry[2] ~= other[2] or entry[3] ~= other[3] then
        error(("turn %d, %s: %s\nwithout sgl.compile: %s"):format(i, entry[1], tostring(other[4]
          or other[3]), tostring(entry[4] or entry[3])), 0)
      end
    end
  end
end

-- Parameters move, and nothing becomes NaN.
local function check_trained(seen)
  local moved = false
  for k, entry in ipairs(seen[#seen]) do
    if entry[4] and entry[4]:is_floating_point() then
      assert.is_false(entry[4]:isnan():any():item(), entry[1])
    end
    moved = moved or seen[1][k][3] ~= entry[3]
  end
  assert.is_true(moved)
end

for _, file in ipairs(FILES) do
  local models, names = require("spec.models." .. file), {}
  for name in pairs(models) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    describe("the model " .. name, function()
      local want
      it("trains uncompiled", function()
        want = train(models[name])
        check_trained(want)
      end)
      for _, way in ipairs(WAYS) do
        it("trains alike " .. way[1], function() compare(want, train(models[name], way[2])) end)
      end
    end)
  end
end
