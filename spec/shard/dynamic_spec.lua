-- dynamic_spec.lua: steps with symbolic sizes on ranks: each combination of sizes is cut like a
-- step that was captured with it, without being captured again.

local support = require "spec.support"

local SCRIPT = [[
  local sgl = require "sgl"
  local nn = sgl.nn
  sgl.seed(2)
  local model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 3))
  local opt = sgl.optim.SGD(model:parameters(), { lr = 0.1, momentum = 0.9 })
  local captures = 0
  sgl.on_graph_capture(function() captures = captures + 1 end)
  local step = sgl.compile(function(x, y)
    local loss = nn.cross_entropy(model(x), y)
    opt:minimize(loss)
    return loss
  end, { dynamic = true })
  local function run(n)
    return step(sgl.randn(n, 6), (sgl.rand(n) * 3):to "i32"):item()
  end
  for _, n in ipairs { 12, 7, 12, 3, 7, 16 } do print(("%a"):format(run(n))) end
  for _, p in ipairs(model:parameters()) do
    print((p:bytes():gsub(".", function(c) return ("%02x"):format(c:byte()) end)))
  end
  print(captures, step:graph():text():match "input %%0[^#\n]*f32%b[]")
  if sgl.dist.size > 1 then
    assert(step:graph "part":text():find "all_reduce" or step:graph "part":text():find "all_gather")
    assert(not step:graph "part":text():find "x_1")
  end
]]

local function output(words)
  local folder = support.folder()
  support.write(folder .. "s.lua", SCRIPT)
  local out, status = support.run(("%s %s %ss.lua"):format(support.binary, words, folder))
  support.remove(folder)
  assert.are.equal(0, status, out)
  return out
end

describe("a step with symbolic sizes", function()
  it("is shared by ranks, with the bits of one in exact mode, and captured as often", function()
    local alone = output "--exact 8"
    assert.truthy(alone:find("f32%[x_1, 6%]\n$"), alone)
    for _, words in ipairs { "run -n 2", "run -n 3 --plan fsdp" } do
      assert.are.equal(alone, output(words .. " --exact 8"))
    end
  end)

  it("goes from settings to settings", function()
    local sgl = require "sgl"
    local f = sgl.compile(function(x) return (x * x):sum() end, { dynamic = true })
    local function blocks(n)
      assert.are.equal(n, f(sgl.ones(n)):item())
      return f:graph "part":text():match "blocks=(%d+)"
    end
    finally(function() sgl.dist.exact { shards = 0 } end)
    assert.is_nil(blocks(8))
    for _, shards in ipairs { 4, 8, 0, 4 } do
      sgl.dist.exact { shards = shards }
      local want = shards > 0 and tostring(shards) or nil
      assert.are.equal(want, blocks(9))
      assert.are.equal(want, blocks(16))
    end
  end)
end)
