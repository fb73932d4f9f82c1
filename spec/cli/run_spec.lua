-- run_spec.lua: `sgl run -n 4 script`: scripts on several ranks mean what they mean on one.

local jobs = require "spec.ranks"
local support = require "spec.support"

local run, output, train = jobs.run, jobs.output, jobs.train
local MODELS = jobs.models

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
