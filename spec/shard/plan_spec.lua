-- plan_spec.lua: `sgl plan`: what a step costs a rank of any mesh, without ranks; sizes by hand.

local support = require "spec.support"

local SCRIPT = [[
local sgl = require "sgl"
local nn, optim = sgl.nn, sgl.optim
local model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8))
sgl.dist.tensor_parallel(model, { ["1"] = "column", ["3"] = "row" })
local opt = optim.AdamW(model:parameters(), { lr = 1e-3 })
local step = sgl.compile(function(x, y)
  local loss = nn.cross_entropy(model(x), y)
  opt:minimize(loss)
  return loss
end)
step(sgl.zeros(32, 64), sgl.zeros(32, { dtype = "i32" }))
print "the script went on"
]]
local ELEMENTS = 64 * 256 + 256 + 256 * 8 + 8

local function plan(words, text)
  local folder = support.folder()
  support.write(folder .. "s.lua", text or SCRIPT)
  local out, status = support.run(("%s plan %s %ss.lua"):format(support.binary, words, folder))
  support.remove(folder)
  return out, status
end

local UNITS = { B = 1, KiB = 1 << 10, MiB = 1 << 20, GiB = 1 << 30 }

-- The first two columns of the row of this class, in bytes.
local function row(out, class)
  local n, unit, rest = out:match(("\n  %s%%s+([%%d.]+) (%%a+)([^\n]*)"):format(class))
  assert.truthy(n, class .. "\n" .. out)
  local m, other = rest:match "([%d.]+) (%a+)"
  return tonumber(n) * UNITS[unit], m and tonumber(m) * UNITS[other]
end

-- What is printed has one digit behind the point.
local function close(want, got) assert.truthy(math.abs(want - got) <= 0.006 * want, got) end

describe("sgl plan", function()
  it("has the memory of one rank by class, and stops at the first training step", function()
    local out, status = plan "-n 1"
    assert.are.equal(0, status, out)
    assert.falsy(out:find("the script went on", 1, true))
    close(4 * ELEMENTS, row(out, "parameters"))
    close(4 * ELEMENTS, row(out, "gradients"))
    close(8 * ELEMENTS, row(out, "optimizer"))
    close(4 * 32 * 65, row(out, "arguments"))
    assert.truthy(out:find("collectives of a step\n  none", 1, true), out)
  end)

  it("shares state by the plan, and counts what a rank sends", function()
    local out = plan "-n 8 --plan fsdp --device h200"
    local part, whole = row(out, "parameters")
    close(4 * ELEMENTS / 8, part)
    close(4 * ELEMENTS, whole)
    close(8 * ELEMENTS / 8, (row(out, "optimizer")))
    -- Four parameters are gathered and four gradients scattered, 7/8 of their bytes each.
    local sends = out:match "all_gather%s+4 over 8[^\n]*a rank sends ([%d.]+) KiB"
    close(4 * ELEMENTS * 7 / 8, tonumber(sends) * 1024)
    assert.truthy(out:find "reduce_scatter%s+4 over 8", out)
  end)

  it("follows tensor parallel layers and meshes", function()
    local out = plan "--plan data=2,model=4"
    -- The bias of the row layer, 8 elements, is whole.
    close(4 * ((ELEMENTS - 8) / 4 + 8), (row(out, "parameters")))
    assert.truthy(out:find("a step on 8 ranks (data=2,model=4)", 1, true), out)
  end)

  it("takes meshes that no job has", function()
    local out, status = plan "-n 100000 --plan data=25000,fsdp=4 --device h200"
    assert.are.equal(0, status, out)
    close(4 * ELEMENTS / 4, (row(out, "parameters")))
    assert.truthy(out:find("over 100000", 1, true), out)
  end)

  it("shows what gathering again for the backward pass costs and saves", function()
    local text = [[
      local sgl = require "sgl"
      local layers = {}
      for i = 1, 8 do layers[2 * i - 1], layers[2 * i] = sgl.nn.Linear(256, 256), sgl.nn.ReLU() end
      local model = sgl.dist.fsdp(sgl.nn.Sequential(table.unpack(layers)),
        { reshard_after_forward = false })
      local opt = sgl.optim.SGD(model:parameters(), { lr = 0.1 })
      sgl.compile(function(x)
        local loss = model(x):mean()
        opt:minimize(loss)
        return loss
      end)(sgl.ones(8, 256))
    ]]
    local kept, again = plan("-n 4 --plan fsdp", text), plan("-n 4 --plan fsdp --exact 0",
      (text:gsub("forward = false", "forward = true")))
    local function gathers(out) return tonumber(out:match "all_gather%s+(%d+)") end
    assert.are.equal(16, gathers(kept))                        -- eight weights, eight biases
    assert.are.equal(16 + 7, gathers(again))                   -- the first has no gradient of x
    -- Eight weights of 256 KiB are there at once, or two.
    assert.truthy((row(kept, "activations")) > 4 * row(again, "activations"), kept .. again)
  end)

  it("says what would make it fit", function()
    local out = plan "-n 2 --memory 0.0003"                    -- 315 KiB
    assert.truthy(out:find("does not fit", 1, true), out)
    local ranks = out:match "it fits with: %-n (%d+) %-%-plan fsdp"
    assert.truthy(ranks, out)
    assert.truthy(plan(("-n %s --plan fsdp --memory 0.0003"):format(ranks)):find(": fits", 1, true))
    out = plan "-n 2 --memory 0.000001"
    assert.truthy(out:find("it fits with no number of ranks", 1, true), out)
  end)

  it("names the line of the largest buffers", function()
    local out = plan "-n 2"
    local largest = "largest buffers\n%s+64.0 KiB%s+f32%[%d+, %d+%]%s+%a+%s+%S+s.lua:%d"
    assert.truthy(out:find(largest), out)
  end)

  it("says what is wrong", function()
    for words, message in pairs {
      ["-n 0"] = "sgl plan: 1 to 100000 ranks", ["-n"] = "usage: sgl plan",
      ["--device b300"] = "no device 'b300'; here, a100, h100, h200",
      ["-n 4 --plan data=2"] = "the mesh has 2 ranks, the job 4",
      ["--what 3"] = "usage: sgl plan",
    } do
      local out, status = plan(words)
      assert.are.equal(1, status)
      assert.truthy(out:find(message, 1, true), out)
    end
    assert.truthy(plan("", "print(1)"):find("captured no step", 1, true))
    assert.truthy(plan("", "error 'oh'"):find("oh", 1, true))
  end)
end)
