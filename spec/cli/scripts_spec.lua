-- scripts_spec.lua: the scripts that were written before the code run as they were written: the
-- texts below are those of the design, but for line breaks and comments.

local sgl = require "sgl"
local support = require "spec.support"

local folder
before_each(function() folder = support.folder() end)
after_each(function() support.remove(folder) end)

-- Runs files of a folder of their own: the first is the script. Returns stdout and stderr
-- together and the status; with `input`, the program reads it in place of a script.
local function run(files, input)
  for name, text in pairs(files) do support.write(folder .. name, text) end
  local what = input and "-i < " .. input or "train.lua"
  return support.run(("cd %s && %s %s"):format(folder, support.binary, what))
end

local HEAD = [[
local sgl = require "sgl"
local nn, optim, data = sgl.nn, sgl.optim, sgl.data

sgl.seed(7)
local train, test = data.csv("digits.csv.gz", { label = 65, scale = 1 / 16 }):split(0.7)

local model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
local opt = optim.AdamW(model:parameters(), { lr = 3e-3, weight_decay = 0.01 })

]]

local TRAIN = HEAD .. [[
local step = sgl.compile(function(x, y)
  local loss = nn.cross_entropy(model(x), y)
  opt:minimize(loss)
  return loss
end)

for epoch = 1, 30 do
  for x, y in train:batches(64, { progress = "epoch " .. epoch }) do step(x, y) end
end

model:eval()
local predict = sgl.compile(function(x) return model(x):argmax(-1) end)
local right = 0
for x, y in test:batches(256, { shuffle = false }) do
  right = right + (predict(x):eq(y)):sum():item()
end
print(("test accuracy %.2f %%"):format(100 * right / #test))
]]

local PIECES = HEAD .. [[
local step = sgl.compile(function(x, y, lr)
  local loss = nn.cross_entropy(model(x), y)
  local grads = sgl.grad(loss, opt.params)            -- a list in the order of opt.params
  local norm = optim.clip_norm(grads, 1.0)            -- scales them, returns the norm before
  opt:step(grads, { lr = lr })                        -- lr is a run-time input: no recompile
  return loss, norm
end)
]]

local GATE = [[
local sgl = require "sgl"
local nn = sgl.nn
local Gate = nn.module("Gate", function(self, width)
  self.proj = nn.Linear(width, 2 * width)
  self.scale = nn.parameter(sgl.ones(width))
end)
function Gate:forward(x)
  local a, b = self.proj(x):split(2, -1)
  return a * b:sigmoid() * self.scale + x
end
local m = nn.Sequential(Gate(64), nn.LayerNorm(64))
for name, p in m:named_parameters() do print(name, p) end
]]

local function with_digits(files)
  files["digits.csv.gz"] = support.read(support.root .. "examples/digits/digits.csv.gz")
  return files
end

describe("the script that trains digits", function()
  it("reaches 97 % and shows its epochs", function()
    local out, status = run(with_digits { ["train.lua"] = TRAIN })
    assert.are.equal(0, status, out)
    local _, epochs = out:gsub("epoch %d+  20/20  ", "")
    assert.are.equal(30, epochs)
    local accuracy = tonumber(out:match "test accuracy (%d+%.%d%d) %%\n$")
    assert.is_true(accuracy >= 97, out)
  end)

  it("minimizes in pieces as in one, whatever the rate, in one program", function()
    local both = PIECES .. [[
for i = 1, 3 do
  for x, y in train:batches(64) do
    local loss, norm = step(x, y, 3e-3 / i)
    print(("%a %a"):format(loss:item(), norm:item()))
  end
end
print("programs", #step:programs())
]]
    local pieces, status = run(with_digits { ["train.lua"] = both })
    assert.are.equal(0, status, pieces)
    -- 1,257 rows make 19 batches of 64 and one of 41: two shapes.
    assert.matches("programs\t2\n$", pieces)
    local whole = run(with_digits { ["train.lua"] = both:gsub("local grads.-local norm.-\n.-\n",
      "local norm = opt:minimize(loss, { clip_norm = 1, lr = lr })\n") })
    assert.are.equal(pieces, whole)
  end)
end)

describe("the layer of one's own", function()
  it("has the names of its parameters in the order of assignment", function()
    local out, status = run { ["train.lua"] = GATE .. "print(m(sgl.ones(2, 64)).shape[2])" }
    assert.are.equal(0, status, out)
    local names = {}
    for line in out:gmatch "[^\n]+" do names[#names + 1] = line:match "^([%w.]+)\tf32%[" end
    assert.are.same({ "1.proj.weight", "1.proj.bias", "1.scale", "2.weight", "2.bias" }, names)
    assert.matches("64\n?$", out)
  end)
end)

describe("what goes wrong", function()
  it("names both operands and where the second was made", function()
    local out, status = run {
      ["model.lua"] = ("-- a model\n"):rep(5) .. [[
local nn = require "sgl".nn
return nn.module("Model", function(self)
  self.head = nn.Linear(64, 10)
end)
]],
      ["train.lua"] = [[
local sgl = require "sgl"
local model = require "model"()
]] .. ("\n"):rep(19) .. "local logits = model.head(sgl.ones(64, 128))\n",
    }
    assert.are.equal(1, status)
    local want = [[
train.lua:22: matmul: the inner dimensions differ: f32[64, 128] and f32[64, 10] (128 against 64).
  the second operand was made at model.lua:8 (nn.Linear "head"): did you mean nn.Linear(128, 10)?
]]
    assert(out:find(want, 1, true), out)
  end)

  it("offers the nearest option", function()
    local out, status = run {
      ["train.lua"] = 'local nn = require "sgl".nn\n' .. ("\n"):rep(7)
        .. "local layer = nn.Linear(64, 10, { baes = false })\n",
    }
    assert.are.equal(1, status)
    assert(out:find("train.lua:9: nn.Linear: unknown option 'baes' "
      .. "(did you mean 'bias'? options: bias, init, dtype)\n", 1, true), out)
  end)
end)

describe("the session", function()
  local LINES = [[
x = sgl.randn(2, 3)
x
f = sgl.compile(function(x) return sgl.nn.gelu(x * 2):sum(-1) end)
f(x)
g = f:graph()
g
]]
  local GRAPH = [[
graph (x: f32[2, 3]) -> f32[2]        4 nodes, 1 kernel, 0 breaks
  %1 = mul x, 2          : f32[2, 3]      stdin:1
  %2 = gelu %1 {         : f32[2, 3]      stdin:1    composite, 8 primitives
  %3 = sum %2 {dims=[2]} : f32[2]         stdin:1
]]
  local NUMBER = " +%-?%d+%.%d%d%d%d"
  local SHOWN = "f32%[2, 3%]\n" .. ("%s%s%s\n"):rep(2):format(NUMBER, NUMBER, NUMBER, NUMBER,
    NUMBER, NUMBER) .. "f32%[2%]  " .. NUMBER .. " " .. NUMBER .. "\n"

  it("prints results and the graph, line by line", function()
    local out, status = run({ lines = LINES }, "lines")
    assert.are.equal(0, status, out)
    local shown, graph = out:match("^(" .. SHOWN .. ")(graph.*)$")
    assert(shown, out)
    assert.are.equal(GRAPH, graph)
  end)

  it("writes plain tables one level deep", function()
    local out = run({ lines = "sgl.ones(2, 3).shape\n{ 'a', sgl.ones(2), n = 1, { 2 } }\n{}\n" },
      "lines")
    assert.are.equal('{ 2, 3 }\n{ "a", f32[2], {…}, n = 1 }\n{}\n', out)
  end)

  it("greets a terminal, and goes on after an error", function()
    if not os.execute "command -v script > /dev/null" then
      pending "needs script(1), which gives a program a terminal"
      return
    end
    support.write(folder .. "lines", "x = sgl.ones(2)\nx:foo()\nx + 1\n")
    local out = support.run(("cd %s && HOME=%s script -qec %s /dev/null < lines"):format(folder,
      folder, support.binary)):gsub("\r", "")
    assert.matches(("sgl %s  Lua 5%%.4%%.%%d+  cpu: %%w+, %%d+ threads?      "):format(
      sgl.version:match "^%d+%.%d+") .. "%?name for help, :help for commands\n", out)
    assert.matches("stdin:1: tensor has no method 'foo'", out)
    assert.matches("f32%[2%]   2%.0  2%.0\n", out)
  end)
end)
