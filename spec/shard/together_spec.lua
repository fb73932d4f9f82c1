-- together_spec.lua: a step on all ranks of a mesh, run side by side by the reference interpreter:
-- random graphs on random meshes have the bits of one rank in exact mode, without any processes.

local sgl = require "sgl"
local build = require "spec.shard.models"
local core = require "sgl.core"
local engine = require "spec.engine"
local random_graph = require "spec.random_graph"

local AXES = { "data", "fsdp", "model" }

-- One to three axes with 1 to 4 ranks, up to 8 together.
local function random_mesh(r)
  local words, left = {}, 8
  for _, name in ipairs(AXES) do
    local size = r:pick { 1, 2, 2, 3, 4 }
    if size <= left and r:chance(0.7) then
      words[#words + 1], left = name .. "=" .. size, left // size
    end
  end
  if #words == 0 then words[1] = "data=2" end
  return table.concat(words, ",")
end

-- For some inputs a dim over one or two axes.
local function random_places(r, args)
  local place = {}
  for i, t in ipairs(args) do
    if t.ndim > 0 and r:chance(0.5) then
      local axes = r:pick { "data", "model", "model,data", "fsdp,model", "data,fsdp" }
      place[i] = r:int(1, t.ndim) .. "=" .. axes
    elseif r:chance(0.1) then
      place[i] = "whole"
    end
  end
  return place
end

-- All bits but those of a NaN, of two f64 tensors as bytes.
local function same_bits(x, y)
  if #x ~= #y then return false end
  for at = 1, x == y and 0 or #x, 8 do
    local a, b = ("<d"):unpack(x, at), ("<d"):unpack(y, at)
    if x:sub(at, at + 7) ~= y:sub(at, at + 7) and (a == a or b == b) then return false end
  end
  return true
end

local function check(alone, list, what)
  assert.are.equal(#alone, #list, what)
  for i, t in ipairs(alone) do
    assert.are.same(t.shape, list[i].shape, what)
    assert.is_true(same_bits(t:bytes(), list[i]:bytes()), ("output %d of %s:\n%s\n%s"):format(i,
      what, t, list[i]))
  end
end

local REFUSALS = { "cannot be shard" }

local function refused(e)
  for _, words in ipairs(REFUSALS) do
    if tostring(e):find(words, 1, true) then return true end
  end
  return false
end

describe("random graphs on random meshes", function()
  it("have the bits of one rank in exact mode", function()
    local seed, done = engine.seed, 0
    for k = 1, engine.times(2000) do
      local made = random_graph.generate(seed + k)
      local r = engine.random(seed + k)
      local plan, place, all = random_mesh(r), random_places(r, made.args), r:chance(0.3)
      local g = core.parse(made.text)
      local what = ("seed %d on %s"):format(seed + k, plan)
      local exact = r:pick { 8, 8, 9, 12, 16 }
      local alone = core.ranks_eval(g, made.args, { ranks = 1, exact = exact, all = all })
      local ok, list = pcall(core.ranks_eval, g, made.args,
        { plan = plan, exact = exact, all = all, place = place })
      if ok then
        done = done + 1
        check(alone, list, what)
      else
        assert.is_true(refused(list), what .. ": " .. tostring(list))
      end
      g:close()
    end
    assert.is_true(done > 0)
  end)
end)

-- What the graph of a step may be given: state above 0, as second moments must be.
local function random_input(text, r)
  local name, dtype, dims = text:match '"([^"]*)" (%w+)%[([%d, ]*)%]'
  local shape, values, count = {}, {}, 1
  for n in dims:gmatch "%d+" do
    shape[#shape + 1] = math.tointeger(tonumber(n))
    count = count * shape[#shape]
  end
  for i = 1, count do
    values[i] = name == "" and i or dtype:find "^i" and r:int(0, 2) or 0.25 + r:unit()
  end
  return sgl.tensor(#shape == 0 and values[1] or values, dtype):reshape(shape)
end

describe("a training step on every mesh", function()
  local MESHES = { "data=2", "data=4", "fsdp=2", "fsdp=8", "model=2", "model=4", "data=2,fsdp=2",
    "fsdp=2,data=2", "data=2,model=2", "model=2,data=4", "data=2,fsdp=2,model=2", "data=3",
    "fsdp=3", "fsdp=5", "data=2,fsdp=3", "model=3,data=2" }

  for _, model in ipairs { "mlp", "full", "cnn", "gpt", "rnn" } do
    it(("has the bits of one rank in exact mode: %s"):format(model), function()
      local r = engine.random(engine.seed)
      for _, rows in ipairs(engine.scale < 0.5 and { 10 } or { 16, 10, 5, 3, 1 }) do
        local step, batch = build(model, rows)
        step(batch())
        local g, inputs = step:graph(), {}
        for line in g:text():gmatch "\ninput [^\n]*" do            -- not those of its blocks
          inputs[#inputs + 1] = random_input(line, r)
        end
        for _, all in ipairs { false, true } do
          local alone = core.ranks_eval(g, inputs, { ranks = 1, exact = 8, all = all })
          for _, plan in ipairs(MESHES) do
            local list = core.ranks_eval(g, inputs, { plan = plan, exact = 8, all = all })
            check(alone, list, ("%s with %d rows on %s"):format(model, rows, plan))
          end
        end
      end
    end)
  end
end)
