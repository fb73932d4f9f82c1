-- run_spec.lua: `sgl run -n 4 script`: scripts on several ranks mean what they mean on one, and in
-- exact mode have its bits.

local support = require "spec.support"

local function run(ranks, words)
  return support.run(("%s run -n %d %s"):format(support.binary, ranks, words))
end

-- What the script prints on rank 0, without what is written to stderr.
local function output(command)
  local out, status = support.run(("%s %s 2>/dev/null"):format(support.binary, command))
  assert(status == 0, out)
  return out
end

local MODELS = support.root .. "spec/shard_models.lua"

local function train(ranks, settings, model, rows)
  return output(("run -n %d %s %s %s %d 3"):format(ranks, settings, MODELS, model, rows))
end

describe("exact mode", function()
  -- On one rank with other settings where these name a mesh.
  local function same_bits(model, rows, settings, ranks, single)
    local alone = output(("%s %s %s %d 3"):format(single or settings, MODELS, model, rows))
    for _, n in ipairs(ranks) do
      assert.are.equal(alone, train(n, settings, model, rows), ("%d ranks"):format(n))
    end
  end

  for _, model in ipairs { "mlp", "full", "cnn", "gpt", "rnn" } do
    it(("gives the bits of one rank: %s, uneven rows"):format(model), function()
      same_bits(model, 10, "--exact 8", { 1, 2, 4 })
    end)
    it(("gives the bits of one rank with any batch: %s #slow"):format(model), function()
      for _, rows in ipairs { 16, 3 } do same_bits(model, rows, "--exact 8", { 2, 4, 8 }) end
    end)
  end

  it("gives them where ranks have no rows at all", function()
    same_bits("full", 3, "--exact 8", { 8 })
    same_bits("gpt", 1, "--exact 4", { 4 })
  end)

  it("gives them with all sums in blocks, and with two threads a rank", function()
    same_bits("gpt", 10, "--exact 4 --exact-over all", { 4 })
    assert.are.equal(train(2, "--exact 8 --threads 1", "full", 10),
      train(2, "--exact 8 --threads 2", "full", 10))
  end)

  it("gives the example the last two lines of one rank", function()
    local digits = support.root .. "examples/digits/train.lua"
    local function last(text) return text:match("[^\n]*\n[^\n]*\n?$") end
    local alone = last(output("--exact 8 " .. digits))
    assert.truthy(alone:find("test accuracy", 1, true))
    assert.are.equal(alone, last(output("run -n 4 --exact 8 " .. digits)))
    assert.are.equal(alone, last(output("run -n 4 --exact 8 --plan fsdp " .. digits)))
  end)

  it("gives them with state that the ranks share", function()
    same_bits("full", 10, "--exact 8 --plan fsdp", { 4 })
    same_bits("gpt", 10, "--exact 8 --plan data=2,fsdp=2", { 4 }, "--exact 8")
    same_bits("gpt", 10, "--exact 8 --plan fsdp --reshard 1", { 4 }, "--exact 8")
  end)

  it("gives them with weights that the ranks share", function()
    same_bits("gpt", 10, "--exact 8 --plan data=2,model=2", { 4 }, "--exact 8")
    same_bits("gpt", 5, "--exact 8 --exact-over all --plan model=4", { 4 },
      "--exact 8 --exact-over all")                          -- two heads: two ranks have none
  end)

  it("gives them with weights that the ranks share, in any mesh #slow", function()
    for plan, ranks in pairs { ["model=2"] = 2, ["model=2,fsdp=2"] = 4, ["model=2,data=4"] = 8 } do
      same_bits("gpt", 10, "--exact 8 --plan " .. plan, { ranks }, "--exact 8")
    end
  end)

  it("gives them with state that the ranks share, in any mesh #slow", function()
    for _, model in ipairs { "mlp", "full", "cnn", "gpt", "rnn" } do
      for plan, ranks in pairs { fsdp = 2, ["fsdp=4,data=2"] = 8, ["data=4,fsdp=2"] = 8 } do
        same_bits(model, 10, "--exact 8 --plan " .. plan, { ranks }, "--exact 8")
      end
    end
  end)

  it("can be asked for by the script, and is off by default", function()
    local text = [[
      local sgl = require "sgl"
      if arg[1] then sgl.dist.exact { shards = 4 } end
      local f = sgl.compile(function(x) return (x * x):sum() end)
      f(sgl.ones(8, 3))
      print(f:graph "part":text():find("blocks=4", 1, true) ~= nil)
    ]]
    assert.are.equal("true\n", (support.script(text, "yes")))
    assert.are.equal("false\n", (support.script(text)))
  end)

  it("is followed by steps that were captured before", function()
    local sgl = require "sgl"
    local f = sgl.compile(function(x) return (x * x):sum() end)
    local x = sgl.ones(8, 3)
    local function blocks()
      assert.are.equal(24, f(x):item())
      return f:graph "part":text():match "blocks=(%d+)"
    end
    assert.is_nil(blocks())
    for _, shards in ipairs { 4, 8 } do
      sgl.dist.exact { shards = shards }
      finally(function() sgl.dist.exact { shards = 0 } end)
      assert.are.equal(tostring(shards), blocks())
      assert.is_nil(f:graph():text():find "blocks")
    end
    sgl.dist.exact { shards = 0 }
    assert.is_nil(blocks())
    assert.are.equal(1, #f:programs())
  end)

  it("gives them on ranks that are no whole subtrees, and with any number of blocks", function()
    same_bits("full", 10, "--exact 8", { 3, 5 })
    same_bits("cnn", 10, "--exact 8 --plan fsdp", { 3 })      -- rank 0 has no part of some weights
    same_bits("gpt", 10, "--exact 12 --plan data=3,model=2", { 6 }, "--exact 12")
  end)

  it("gives them to sums of f16 and bf16, which meet in f32 and are rounded once", function()
    local text = [[
      local sgl = require "sgl"
      sgl.seed(3)
      for _, dtype in ipairs { "f16", "bf16" } do
        local x, w = sgl.randn(21, 33):to(dtype), sgl.randn(33, 7):to(dtype)
        local f = sgl.compile(function(x, ids)
          local y = x:matmul(w)
          return y:sum(), x:transpose(1, 2):matmul(y), x:mean(), (x * 0.9 + 1):prod(1),
            sgl.zeros(5, 33, { dtype = dtype }):index_add(1, ids, x)
        end)
        for _, t in ipairs { f(x, (sgl.rand(21) * 5):to "i32") } do
          print((t:bytes():gsub(".", function(c) return ("%02x"):format(c:byte()) end)))
        end
        if sgl.dist.size > 1 then assert(f:graph "part":text():find "all_reduce" or
          f:graph "part":text():find "all_gather") end
      end
    ]]
    local folder = support.folder()
    support.write(folder .. "s.lua", text)
    local alone = output("--exact 8 " .. folder .. "s.lua")
    for _, n in ipairs { 2, 3, 4 } do
      assert.are.equal(alone, output(("run -n %d --exact 8 %ss.lua"):format(n, folder)))
    end
    support.remove(folder)
  end)

  it("needs a block for each rank that shares samples", function()
    local out = run(3, "--exact 2 " .. MODELS .. " mlp 16 1")
    assert.truthy(out:find("exact: 2 blocks cannot be shared by 3 ranks", 1, true), out)
    assert.truthy(out:find("shards = 3", 1, true), out)
  end)
end)

describe("several ranks", function()
  it("compute the step together, each a part of the rows", function()
    local text = [[
      local sgl = require "sgl"
      local w = sgl.ones(4, 2)
      local f = sgl.compile(function(x) return x:matmul(w):sum() end)
      f(sgl.ones(6, 4))
      local part = f:graph "part":text()
      print(part:match("dot%b() : (f32%b[])"), part:find("all_reduce", 1, true) ~= nil)
      print(f:graph():text():match("dot%b() : (f32%b[])"))
    ]]
    local folder = support.folder()
    support.write(folder .. "s.lua", text)
    local out = run(2, folder .. "s.lua")
    support.remove(folder)
    assert.are.equal("f32[3, 2]\ttrue\nf32[6, 2]\n", out)
  end)

  it("have the losses of one rank without exact mode too, but for rounding", function()
    local function losses(text)
      local list = {}
      for line in text:gmatch("[^\n]+") do list[#list + 1] = tonumber(line) end
      return list
    end
    local alone = losses(output(MODELS .. " full 10 3"))
    assert.are.equal(3, #alone)
    for _, n in ipairs { 2, 3 } do
      support.close(losses(train(n, "", "full", 10)), alone, 1e-5, 1e-6, n .. " ranks")
    end
  end)

  it("print once", function()
    local text = [[
      local sgl = require "sgl"
      print("ranks", sgl.dist.size, "here", sgl.dist.rank)
      local f = sgl.compile(function(x) sgl.print("sum", x:sum()) return x end)
      f(sgl.ones(4))
    ]]
    local folder = support.folder()
    support.write(folder .. "s.lua", text)
    local out = run(3, ("--log %s %s"):format(folder, folder .. "s.lua"))
    assert.are.equal("ranks\t3\there\t0\nsum\tf32[]   4.0\n", out)
    local log = assert(io.open(folder .. "rank2.txt")):read("a")
    assert.truthy(log:find("here\t2", 1, true), log)
    support.remove(folder)
  end)
end)

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

it("says what is wrong with a plan", function()
  for plan, message in pairs {
    ["fdsp"] = "unknown axis (data, fsdp, model)", ["data=2"] = "the mesh has 2 ranks, the job 4",
    ["data=2,data=2"] = "an axis comes twice", ["data=,fsdp=4"] = "a size is missing",
    ["data=0,fsdp=4"] = "an axis has 1 to 64 ranks",
  } do
    local out = run(4, ("--plan %s %s mlp 4 1"):format(plan, MODELS))
    assert.truthy(out:find(message, 1, true), out)
  end
end)

it("says what is wrong with its own words", function()
  for words, message in pairs {
    [""] = "which script?",
    ["-n 0 x.lua"] = "-n takes a number of ranks from 1 to 64, not 0",
    ["-n two x.lua"] = "not two",
    ["--timeout no x.lua"] = "--timeout takes seconds",
    ["-n 2 --exakt 8 x.lua"] = "did you mean --exact?",
    ["-n 2 --log /no/such/folder x.lua"] = "/no/such/folder/rank1.txt",
  } do
    local out, status = support.run(support.binary .. " run " .. words)
    assert.are.equal(1, status)
    assert.truthy(out:find(message, 1, true), out)
  end
end)
