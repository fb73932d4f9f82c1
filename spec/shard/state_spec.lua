-- state_spec.lua: state and weights that ranks share mean what whole ones do.

local jobs = require "spec.ranks"
local support = require "spec.support"

local run = jobs.run

describe("state that ranks share", function()
  local TRAIN = [[
    local sgl = require "sgl"
    local nn, optim = sgl.nn, sgl.optim
    sgl.seed(1)
    local model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))
    local opt = optim.AdamW(model:parameters(), { lr = 1e-3 })
    local step = sgl.compile(function(x, y)
      local loss = ((model(x) - y) ^ 2):mean()
      opt:minimize(loss)
      return loss
    end)
    step(sgl.randn(6, 8), sgl.randn(6, 4))
  ]]

  local function run_text(text, words)
    local folder = support.folder()
    support.write(folder .. "s.lua", TRAIN .. text)
    local out, status = support.run(("%s %s %ss.lua %s"):format(support.binary, words, folder,
      folder))
    support.remove(folder)
    assert.are.equal(0, status, out)
    return out
  end

  it("is a part on each, of parameters and of the optimizer's", function()
    local out = run_text([[
      for name, dims in step:graph "part":text():gmatch 'state "([^"]+)" f32(%b[])' do
        print(name, dims)
      end
    ]], "run -n 4 --plan fsdp")
    for name, dims in pairs {
      ["1.weight"] = "[16, 8]", ["1.bias"] = "[16]", ["3.weight"] = "[4, 16]",
      ["opt.m.1.weight"] = "[16, 8]", ["opt.v.3.bias"] = "[1]",
    } do
      assert.truthy(out:find(name .. "\t" .. dims, 1, true), name .. "\n" .. out)
    end
  end)

  it("is not in memory as a whole", function()
    local text = [[
      local w = sgl.zeros(1000, 1000):realize()
      local add = sgl.compile(function(x) w:assign(w + 1) return x end)
      add(sgl.ones(3))
      collectgarbage() collectgarbage()
      print(sgl.memory().live // 1000000)
    ]]
    local whole = tonumber(run_text(text, "run -n 4"))
    local part = tonumber(run_text(text, "run -n 4 --plan fsdp"))
    assert.is_true(whole - part >= 2, whole .. " MB, " .. part .. " MB")  -- 3 MB of 4, and rounding
  end)

  it("is whole to all who read or write it", function()
    local text = [[
      local before = model[1].weight:tolist()
      model[1].weight:assign(model[1].weight * 2)
      local after = model[1].weight:tolist()
      print(#before, #before[1], after[64][8] == 2 * before[64][8])
      print(("%a"):format(step(sgl.randn(6, 8), sgl.randn(6, 4)):item()))
      print(("%a"):format(model[3].weight:sum():item()))
    ]]
    local alone = run_text(text, "--exact 4")
    assert.truthy(alone:find("^64\t8\ttrue\n"), alone)
    assert.are.equal(alone, run_text(text, "run -n 4 --exact 4 --plan fsdp"))
  end)

  it("is saved by rank 0, with the bytes of one rank", function()
    local text = [[
      assert(sgl.save(step, arg[1] .. "state.safetensors"))
      local state = sgl.load(arg[1] .. "state.safetensors")
      step:load_state_dict(state)
      print(select(2, sgl.save(step, "/no/such/folder")))
      local hash = 0
      for c in io.open(arg[1] .. "state.safetensors", "rb"):read "a":gmatch "." do
        hash = hash * 31 + c:byte()
      end
      print(hash)
    ]]
    local alone = run_text(text, "--exact 4")
    assert.truthy(alone:find("/no/such/folder", 1, true), alone)
    assert.are.equal(alone, run_text(text, "run -n 4 --exact 4 --plan fsdp"))
  end)

  it("is exported as on one rank", function()
    local text = [[
      local specs = { sgl.spec { 6, 8 }, sgl.spec { 6, 4 } }
      assert(sgl.export(step, specs, { file = arg[1] .. "step.sgl" }))
      print(select(2, sgl.export(step, specs, { file = "/no/such/folder/step.sgl" })))
      local core = require "sgl.core"
      local bytes = {}
      for i, item in ipairs(core.bundle_read(arg[1] .. "step.sgl").state) do
        bytes[i] = item[1] .. item[2]:bytes()
      end
      print(core.checksum(table.concat(bytes)))
      print(sgl.import(arg[1] .. "step.sgl")(sgl.ones(6, 8), sgl.ones(6, 4)):item())
    ]]
    local alone = run_text(text, "--exact 4")
    assert.matches("/no/such/folder.*%x%x%x%x%x%x%x%x\n%d", alone)
    local together = run_text(text, "run -n 4 --exact 4 --plan fsdp")
    assert.are.equal(alone:match "%x+\n[%d.e+-]+\n$", together:match "%x+\n[%d.e+-]+\n$")
  end)
end)

describe("weights that ranks share", function()
  local LAYERS = [[
    local sgl = require "sgl"
    local nn, optim = sgl.nn, sgl.optim
    sgl.seed(1)
    local model = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 8))
    sgl.dist.tensor_parallel(model, { ["1"] = "column", ["3"] = "row" })
    local opt = optim.AdamW(model:parameters(), { lr = 1e-3 })
    local step = sgl.compile(function(x, y)
      local loss = ((model(x) - y) ^ 2):mean()
      opt:minimize(loss)
      return loss
    end)
    for _ = 1, 3 do
      print(step(sgl.randn(6, 8), sgl.randn(6, 8)):item())
    end
  ]]

  it("are parts, with one sum a layer and no change of what the step means", function()
    local folder = support.folder()
    support.write(folder .. "s.lua", LAYERS .. [[
      local text = step:graph "part":text()
      for name, dims in text:gmatch 'state "([^"]+)" f32(%b[])' do print(name, dims) end
      print(select(2, text:gsub("all_reduce%(", "")), text:find "all_gather")
    ]])
    local alone = support.run(support.binary .. " " .. folder .. "s.lua")
    local out = run(2, "--plan model=2 " .. folder .. "s.lua")
    support.remove(folder)
    local function losses(text)
      local list = {}
      for line in text:gmatch "[^\n]+" do list[#list + 1] = tonumber(line) end
      return list
    end
    assert.are.equal(3, #losses(alone))
    support.close(losses(out), losses(alone), 1e-6, 0, "losses")
    for name, dims in pairs {
      ["1.weight"] = "[32, 8]", ["1.bias"] = "[32]", ["3.weight"] = "[8, 32]", ["3.bias"] = "[8]",
      ["opt.m.1.weight"] = "[32, 8]", ["opt.v.3.weight"] = "[8, 32]",
    } do
      assert.truthy(out:find(name .. "\t" .. dims, 1, true), name .. "\n" .. out)
    end
    assert.truthy(out:find("\n1\tnil\n$"), out)              -- behind the row layer
  end)

  it("are named by layers that there are", function()
    local sgl = require "sgl"
    local model = sgl.nn.Sequential(sgl.nn.Linear(2, 3), sgl.nn.ReLU())
    for kind, message in pairs {
      row = "'3' names no layer with weights",
      col = "'3' must be column, row or vocabulary, got col",
    } do
      local _, e = pcall(sgl.dist.tensor_parallel, model, { ["3"] = kind })
      assert.truthy(tostring(e):find("dist.tensor_parallel: " .. message, 1, true), tostring(e))
    end
  end)
end)
