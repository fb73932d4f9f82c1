-- demo_spec.lua: the examples run and end as they say, and print the same numbers every time: with
-- 1 and 2 threads, and with each instruction set that the machine has.

local lfs = require "lfs"
local core = require "sgl.core"
local support = require "spec.support"

-- Standard output of a script of the repository; the progress display is left out.
local function run(script, args, env)
  local out, status = support.run(("%s %s %s %s 2> /dev/null"):format(env or "", support.binary,
    support.root .. script, args or ""))
  assert.are.equal(0, status, out)
  return out
end

-- The instruction sets that kernels can be told to use here.
local function instruction_sets()
  local list = {}
  for _, knob in ipairs(core.knobs()) do
    for name in (knob.name == "isa" and knob.values or ""):gmatch "%S+" do
      local out, status = support.run(("SGL_ISA=%s %s -e 'io.write(require(\"sgl.core\").isa())'")
        :format(name, support.binary))
      if status == 0 and out == name then list[#list + 1] = name end
    end
  end
  return list
end

local LAST_LINES = "final loss (%d+%.%d%d%d%d) (0x%x%.?%x*p[-+]%d+)\n"
  .. "test accuracy (%d+%.%d%d) %%\n$"

describe("the digits example", function()
  local first
  setup(function() first = run "examples/digits/train.lua" end)

  it("ends in the loss and an accuracy of at least 97 %", function()
    local loss, exact, accuracy = first:match(LAST_LINES)
    assert(loss, first)
    assert.is_true(math.abs(tonumber(exact) - tonumber(loss)) <= 5e-5)
    assert.is_true(tonumber(accuracy) >= 97)
  end)

  it("prints the same again, with 1 and 2 threads", function()
    assert.are.equal(first, run "examples/digits/train.lua")
    for threads = 1, 2 do
      assert.are.equal(first, run("examples/digits/train.lua", "", "SGL_THREADS=" .. threads))
    end
  end)

  for _, isa in ipairs(instruction_sets()) do
    it("prints the same with the instruction set " .. isa, function()
      assert.are.equal(first, run("examples/digits/train.lua", "", "SGL_ISA=" .. isa))
    end)
  end

  it("trains a convnet too, the same with 1 and 2 threads", function()
    local out = run("examples/digits/train.lua", "convnet", "SGL_THREADS=1")
    local _, _, accuracy = out:match(LAST_LINES)
    assert.is_true(tonumber(accuracy) >= 95, out)
    assert.are.equal(out, run("examples/digits/train.lua", "convnet", "SGL_THREADS=2"))
  end)
end)

describe("the regression example", function()
  it("finds the line of least squares", function()
    local out = run "examples/regression.lua"
    local slope, exact, shift, exact_shift = out:match("slope (%S+), least squares (%S+)\n"
      .. "shift (%S+), least squares (%S+)\n$")
    assert(slope, out)
    assert.is_true(math.abs(slope - exact) < 1e-3 and math.abs(shift - exact_shift) < 1e-3, out)
  end)
end)

describe("the example of a layer of one's own", function()
  it("names the parameters and sorts out the rings", function()
    local out = run "examples/custom_layer.lua"
    assert.matches("2%.proj%.weight  %[32, 16%]\n", out)
    local accuracy = out:match "step 200   loss %d+%.%d+   accuracy (%d+%.%d) %%\n$"
    assert.is_true(tonumber(accuracy) >= 99, out)
  end)
end)

describe("the GPT example", function()
  local TEXT = support.root .. "examples/gpt/kjv-genesis-exodus.txt.gz"

  it("lowers the loss and ends in a text, the same with 1 and 2 threads #slow", function()
    local out = run("examples/gpt/train.lua", TEXT .. " 50", "SGL_THREADS=2")
    local first, last, held_out, text = out:match("step    1   loss (%S+)\nstep   50   loss (%S+)\n"
      .. "held%-out loss (%S+)\n%-%-%-\n(.*)\n$")
    assert(first, out)
    assert.is_true(tonumber(last) < tonumber(first) - 1 and tonumber(held_out) < 3.2, out)
    assert.are.equal(200, utf8.len(text))
    assert.are.equal(out, run("examples/gpt/train.lua", TEXT .. " 50", "SGL_THREADS=1"))
  end)
end)

describe("the MNIST benchmark", function()
  it("reaches 95 % in 10 epochs #slow", function()
    local folder = support.root .. "../shared/data"
    if not lfs.attributes(folder .. "/t10k-images-idx3-ubyte.gz") then
      pending("the images of MNIST are not in " .. folder)
      return
    end
    local out = run("bench/mnist.lua", folder)
    local _, epochs = out:gsub("epoch +%d+   loss ", "")
    assert.are.equal(10, epochs)
    assert.matches("90000 images trained in .* images a second", out)
    assert.is_true(tonumber(out:match "accuracy on 1000 held%-out images (%S+) %%\n$") >= 95, out)
  end)
end)
