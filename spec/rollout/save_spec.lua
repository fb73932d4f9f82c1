-- save_spec.lua: files of what ranks share: the bytes of one, little memory, all ranks or none.
-- Tensors of several names are in a file once.

local lfs = require "lfs"
local sgl = require "sgl"
local core = require "sgl.core"
local support = require "spec.support"

local nn = sgl.nn
local folder

local function path(name) return folder .. name end

-- What the script prints on n ranks, and the status.
local function run(n, text, settings)
  support.write(path "s.lua", text)
  return support.run(("%s run -n %d --timeout 10 %s %s %s"):format(support.binary, n,
    settings or "", path "s.lua", folder))
end

-- A head of 7 rows, embedding tied to it, and what a step leaves in them.
local HEAD = [[
  local sgl = require "sgl"
  local nn, optim = sgl.nn, sgl.optim
  sgl.seed(3)
  local Net = nn.module("Net", function(self)
    self.embed = nn.Embedding(7, 4)
    self.middle = nn.Linear(4, 4)
    self.head = nn.Linear(4, 7)
    self.head.weight = self.embed.weight
  end)
  function Net:forward(x) return self.head(self.middle(self.embed(x)):tanh()) end
  local model = Net()
  local opt = optim.AdamW(model:parameters(), { lr = 0.05 })
  local step = sgl.compile(function(x, y)
    local loss = nn.cross_entropy(model(x), y)
    opt:minimize(loss)
    return loss
  end)
  local ids = (sgl.arange(8) % 7):to "i32"
  for _ = 1, 3 do step(ids, ids) end
]]

describe("a file of what ranks share", function()
  setup(function() folder = support.folder() end)
  teardown(function() support.remove(folder) end)

  it("has the bytes of one rank, with all rows, also where parts are of unequal length", function()
    local files = {}
    for i, n in ipairs { 1, 2, 4 } do
      local out, status = run(n, HEAD .. [[
        assert(sgl.save(model, arg[1] .. "model.safetensors"))
        assert(sgl.save(step, arg[1] .. "step.safetensors"))
        assert(sgl.export(model, { sgl.spec({ 8 }, "i32") }, { file = arg[1] .. "model.sgl" }))
        step(ids, ids)
      ]], "--plan fsdp --exact 8")
      assert.are.equal(0, status, out)
      files[i] = support.read(path "model.safetensors") .. support.read(path "step.safetensors")
        .. support.read(path "model.sgl")
      assert.are.equal(files[1], files[i])
    end
    assert.are.same({ 7, 4 }, sgl.load(path "model.safetensors")["embed.weight"].shape)
  end)

  it("is read by three ranks", function()
    local out, status = run(3, HEAD .. [[
      model:load_state_dict(sgl.load(arg[1] .. "model.safetensors"))
      local there = sgl.load(arg[1] .. "model.safetensors")["embed.weight"]
      print(model.embed.weight:bytes() == there:bytes())
    ]], "--plan fsdp --exact 12")
    assert.are.equal(0, status, out)
    assert.are.equal("true\n", out)
  end)

  it("leaves what lies over the ranks there, and needs the largest tensor's memory", function()
    local out, status = run(2, [[
      local sgl = require "sgl"
      local memory = require "sgl.core".memory
      local w = {}
      for i = 1, 8 do w[i] = sgl.full({ 256, 256 }, i / 10) end
      local step = sgl.compile(function(x)
        for i = 1, 8 do x = x:matmul(w[i]):tanh() end
        local loss = x:sum()
        local g = sgl.grad(loss, w)
        for i = 1, 8 do w[i]:assign(w[i] - g[i] * 0.01) end
        return loss
      end)
      local x = sgl.ones(4, 256)
      step(x):item()
      collectgarbage()
      local before = memory(true)
      assert(sgl.save(step, arg[1] .. "w.safetensors"))
      collectgarbage()
      local after = memory()
      print(after.tensors - before.tensors, (after.peak - before.live) // 2 ^ 16)
      assert(step(x):item())
    ]], "--plan fsdp")
    assert.are.equal(0, status, out)
    assert.are.equal("0\t4.0\n", out)         -- one tensor has 2^18 bytes
  end)

  it("that one rank does not write is an error on all of them, at once", function()
    for _, skip in ipairs { "sgl.dist.rank == 0", "sgl.dist.rank == 1" } do
      local out, status = run(2, HEAD .. ("if %s then sgl.save(step, arg[1] .. 'x.safetensors') end"
        .. "\nstep(ids, ids)"):format(skip), "--plan fsdp")
      assert.are_not.equal(0, status, out)
      assert.matches("all_gather of a value that ranks share", out)
      assert.is_nil(lfs.attributes(path "x.safetensors"))
    end
  end)

  it("that cannot be written says so on all ranks, and training goes on", function()
    local out, status = run(2, HEAD .. [[
      local ok, message, code = sgl.save(step, arg[1] .. "none/x.safetensors")
      print(ok, code, message)
      print(step(ids, ids):item() > 0)
    ]], "--plan fsdp")
    assert.are.equal(0, status, out)
    assert.matches("nil\tSGL_EFILE\t.*none/x.safetensors: .*No such file.*\ntrue", out)
  end)
end)

describe("a tensor of several names", function()
  local Tied = nn.module("Tied", function(self)
    self.embed = nn.Embedding(7, 4)
    self.head = nn.Linear(4, 7, { bias = false })
    self.head.weight = self.embed.weight
  end)
  local file

  setup(function()
    folder = support.folder()
    file = path "tied.safetensors"
  end)
  teardown(function() support.remove(folder) end)

  it("is in the file once, and is one tensor again", function()
    local model = Tied()
    assert(sgl.save(model, file, { metadata = { note = "tied" } }))
    local list, metadata = core.open(file)
    assert.are.equal(1, #list)
    assert.are.equal("embed.weight", metadata["alias:head.weight"])
    local dict, about = sgl.load(file)
    assert.are.same({ "embed.weight", "head.weight" }, { table.unpack(dict) })
    assert.is_true(rawequal(dict["embed.weight"], dict["head.weight"]))
    assert.are.same({ note = "tied" }, about)
    local again = Tied()
    again:load_state_dict(dict)
    assert.are.equal(model.embed.weight:bytes(), again.head.weight:bytes())
  end)

  it("is found by any of its names", function()
    assert(sgl.save(Tied(), file))
    local dict = sgl.load(file, { prefix = "head." })
    assert.are.same({ "weight" }, { table.unpack(dict) })
    assert.are.same({ 7, 4 }, dict.weight.shape)
  end)

  it("takes no two values", function()
    local dict = { ["embed.weight"] = sgl.ones(7, 4), ["head.weight"] = sgl.ones(7, 4) }
    Tied():load_state_dict(dict)
    dict["head.weight"] = sgl.zeros(7, 4)
    assert.error_matches(function() Tied():load_state_dict(dict) end,
      "'embed.weight' and 'head.weight' are one tensor here, and two that differ in the dict")
  end)

  it("needs one that is there", function()
    core.save({ { "a", sgl.ones(2) } }, { ["alias:b"] = "c" }, file)
    assert.error_matches(function() sgl.load(file) end,
      "'b' is another name of 'c', which is not there")
    core.save({ { "a", sgl.ones(2) } }, { ["alias:a"] = "a" }, file)
    assert.error_matches(function() sgl.load(file) end,
      "'a' is another name of 'a', which it has too")
    assert.error_matches(function()
      sgl.save({ a = sgl.ones(2) }, file, { metadata = { ["alias:b"] = "a" } })
    end, "such keys are for further names")
  end)

  it("that is missing or of another size is named", function()
    local model = Tied()
    assert.error_matches(function() model:load_state_dict { ["embed.weight"] = sgl.ones(7, 4) } end,
      "missing: head.weight")
    assert.error_matches(function()
      model:load_state_dict { ["embed.weight"] = sgl.ones(7, 4), ["head.weight"] = sgl.ones(0, 4) }
    end, "'head.weight' is f32%[7, 4%] here and f32%[0, 4%] in the dict")
  end)
end)
