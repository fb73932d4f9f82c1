-- blocked_spec.lua: an export that is not possible says the phase, the node, the line, the class
-- and a way out; nothing is written.

local lfs = require "lfs"
local sgl = require "sgl"
local support = require "spec.support"

local nn = sgl.nn
local folder

local function line() return debug.getinfo(2, "l").currentline end

-- The block of an export that fails, after looking at its message.
local function blocked(what, specs, file)
  file = folder .. (file or "x.sgl")
  local ok, message, code, block = sgl.export(what, specs or { sgl.spec { 2, 3 } }, { file = file })
  assert.is_nil(ok)
  assert.is_string(message)
  assert.is_string(code)
  assert.is_nil(lfs.attributes(file))
  assert.is_nil(lfs.attributes(file .. ".new"))
  return block, message
end

-- What the block says, the values worked out by whoever wrote the function.
local function says(block, code, phase, class, at)
  assert.are.same({ code, phase, class, at }, { block.code, block.phase, block.class, block.line })
  if at then assert.matches("blocked_spec.lua$", block.file) end
  assert.is_string(block.reason)
  assert.is_true(#block.fix > 0)
end

describe("a blocked export", function()
  setup(function() folder = support.folder() end)
  teardown(function() support.remove(folder) end)

  it("names the break of the capture", function()
    local at = line() + 1
    local block, message = blocked(function(x) return x * x:sum():item() end)
    says(block, "B-READ", "capture", "reading", at)
    assert.matches("B%-READ", message)
  end)

  it("names what the function raises", function()
    local at = line() + 1
    local block = blocked(function(x) return x:matmul(sgl.ones(4, 4)) end)
    says(block, "X-ERROR", "capture", "the function", at)
    assert.matches("inner dimensions differ", block.reason)
    block = blocked(function() error "no such thing" end)
    says(block, "X-ERROR", "capture", "the function", line() - 1)
  end)

  it("names a result that is no tensor", function()
    local block = blocked(function(x) return x, 3 end)
    assert.are.same({ "X-RESULT", "capture", "results" }, { block.code, block.phase, block.class })
    assert.matches("result 2 is", block.reason)
  end)

  it("names a tensor that no module registers, with its path and line", function()
    local cache = { shift = sgl.ones(3) }
    local Net = nn.module("Net", function(self)
      self.a = nn.Linear(3, 3)
      self.mask = sgl.ones(3)
    end)
    local at = line() + 1
    function Net:forward(x) return self.a(x) * self.mask + cache.shift end
    local net = Net()
    local block, message = blocked(net)
    says(block, "X-STATE", "lifting state", "tensor that no module registers", at)
    assert.matches("'cache.shift'", block.reason)
    assert.matches(":" .. at .. ": .*\n  use   self.scale = nn.parameter%(t%)", message)
    assert.are.equal("X-STATE", blocked(net, nil, "x.onnx").code)
    net.shift = sgl.ones(3)
    function Net:forward(x) return self.a(x) * self.mask + self.shift end
    assert(sgl.export(net, { sgl.spec { 2, 3 } }, { file = folder .. "fine.sgl" }))
  end)

  it("names what a file cannot do, within blocks too", function()
    local at = line() + 1
    local block = blocked(function(x) sgl.print("x", x) return x + 1 end)
    says(block, "X-PRINT", "serialising", "effects", at)
    assert.are.equal("print", block.op)
    assert.matches("^%%%d+$", block.node)
    at = line() + 1
    block = blocked(function(x) sgl.assert((x:gt(0)):all(), "negative") return x + 1 end)
    says(block, "X-ASSERT", "serialising", "effects", at)
    at = line() + 2
    block = blocked(function(x)
      return (sgl.scan(function(c, row) sgl.print(c) return c + row, c end, sgl.zeros(3), x))
    end)
    says(block, "X-PRINT", "serialising", "effects", at)
  end)

  it("names what the ranks of a script exchange", function()
    support.write(folder .. "s.lua", [[
      local sgl = require "sgl"
      local ok, message, _, block = sgl.export(function(x)
        return sgl.dist.all_reduce(x)
      end, { sgl.spec { 2, 3 } }, { file = arg[1] .. "ranks.sgl" })
      print(ok, block.code, block.class, block.line)
    ]])
    local out, status = support.run(("%s run -n 2 %ss.lua %s"):format(support.binary, folder,
      folder))
    assert.are.equal(0, status, out)
    assert.are.equal("nil\tX-RANKS\tranks\t3\n", out)
  end)

  it("names a file that cannot be written", function()
    local block, message = blocked(nn.Linear(3, 3), nil, "none/x.sgl")
    assert.are.same({ "X-FILE", "writing" }, { block.code, block.phase })
    assert.matches("No such file", message)
  end)

  it("names what ONNX cannot say", function()
    local w = sgl.ones(3)
    local block = blocked(function(x)
      w:assign(w + 1)
      return x * w
    end, nil, "x.onnx")
    assert.are.same({ "X-OP", "serialising", "operator" }, { block.code, block.phase, block.class })
  end)

  it("has an entry for each code, in the help and on the page", function()
    local page = support.read(support.root .. "docs/breaks.md")
    for _, row in ipairs(require "sgl.breaks.exports".rows()) do
      assert.truthy(page:find("\n## " .. row.code .. "\n", 1, true), row.code)
      assert.truthy(require "sgl.breaks".text(row.code):find(row.sentence, 1, true), row.code)
    end
  end)

  it("replaces a link and does not follow it", function()
    support.write(folder .. "target", "target")
    assert(lfs.link(folder .. "target", folder .. "link.sgl", true))
    assert(sgl.export(nn.Linear(3, 3), { sgl.spec { 2, 3 } }, { file = folder .. "link.sgl" }))
    assert.are.equal("target", support.read(folder .. "target"))
    assert.are.equal("file", lfs.symlinkattributes(folder .. "link.sgl", "mode"))
  end)
end)
