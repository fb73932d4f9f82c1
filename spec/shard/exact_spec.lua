-- exact_spec.lua: exact mode: scripts on several ranks have the bits of one.

local jobs = require "spec.ranks"
local support = require "spec.support"

local run, output, train = jobs.run, jobs.output, jobs.train
local MODELS = jobs.models

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
