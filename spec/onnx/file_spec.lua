-- file_spec.lua: what an exported ONNX file is called inside, what is refused before anything is
-- written, data beside the file, and what `sgl inspect` shows.

local lfs = require "lfs"
local sgl = require "sgl"
local read = require "sgl.onnx.read"
local wire = require "sgl.onnx.wire"
local support = require "spec.support"

local nn = sgl.nn
local n = sgl.dim("n", { max = 10 })
local folder

local function path(name) return folder .. "/" .. name end
local function message_of(name) return wire.decode("Model", support.read(path(name))) end

local function names_of(list)
  local names = {}
  for i, v in ipairs(list) do names[i] = v.name or v.output[1] end
  return names
end

-- All names that nodes give, nested graphs too.
local function given(graph, list)
  for _, node in ipairs(graph.node) do
    for _, name in ipairs(node.output) do list[#list + 1] = name end
    for _, a in ipairs(node.attribute) do
      if a.g then
        for _, input in ipairs(a.g.input) do list[#list + 1] = input.name end
        given(a.g, list)
      end
    end
  end
  return list
end

local function export(what, specs, name, o)
  o = o or {}
  o.file = path(name)
  return sgl.export(what, specs, o)
end

describe("an ONNX file", function()
  setup(function() folder = support.folder():sub(1, -2) end)
  teardown(function() support.remove(folder) end)

  it("gives one value three times, an argument and state, under names of their own", function()
    local w = sgl.ones(3)
    assert(export(function(x)
      local y = x * 2
      return y, y, y, x, w
    end, { sgl.spec { n, 3 } }, "same.onnx"))
    local g = message_of("same.onnx").graph
    assert.are.same({ "output", "output2", "output3", "output4", "output5" }, names_of(g.output))
    local x = sgl.arange(6):float():reshape(2, 3)
    local a, b, c, d, e = assert(sgl.import(path "same.onnx"))(x)
    for _, t in ipairs { a, b, c } do assert.is_true(t:equal(x * 2)) end
    assert.is_true(d:equal(x) and e:equal(w))
  end)

  it("has each name once, over all nested graphs", function()
    assert(export(function(x, y)
      local function branch(k) return function() return x * k + y, x end end
      local a, b = sgl.cond(x:sum():gt(0), branch(2), branch(3))
      local c = sgl.cond(y:sum():gt(0), branch(4), branch(5))
      return a + c, b
    end, { sgl.spec { 3 }, sgl.spec { 3 } }, "nested.onnx"))
    local seen = {}
    for _, name in ipairs(given(message_of("nested.onnx").graph, {})) do
      assert.is_nil(seen[name], name)
      seen[name] = true
    end
  end)

  it("names results as asked, and refuses a name that is there", function()
    local m = nn.Linear(3, 2)
    assert(export(m, { sgl.spec { n, 3 } }, "named.onnx", { outputs = { "logits" } }))
    local g = message_of("named.onnx").graph
    assert.are.same({ "logits" }, names_of(g.output))
    assert.are.same("n", g.input[1].type.tensor_type.shape.dim[1].dim_param)
    for _, name in ipairs { g.input[1].name, "weight", "" } do
      assert.has_error(function()
        export(m, { sgl.spec { n, 3 } }, "clash.onnx", { outputs = { name } })
      end)
      assert.is_nil(lfs.attributes(path "clash.onnx"))
    end
    assert.has_error(function()
      export(function(x) return x + 1, x + 2 end, { sgl.spec { 3 } }, "clash.onnx",
        { outputs = { "y", "y" } })
    end)
  end)

  it("is not written where ONNX has nothing for an op, and the line is told", function()
    local dropout = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    local count = sgl.zeros(1)
    for _, row in ipairs {
      { dropout, "random numbers", { train = true } },
      { function(x) count:assign(count + 1) return x + count end, "state 'count'" },
      { function(x)
        return sgl.grad(nn.conv1d(x:reshape(1, 1, 3), sgl.ones(1, 1, 2)):sum(), x)
      end, "added up", nil, true },
      { function(x) sgl.print("{}", x) return x end, "prints" },
    } do
      local ok, message, code = export(row[1], { sgl.spec { 3, 3 } }, "no.onnx", row[3])
      if row[4] then
        ok, message, code = export(row[1], { sgl.spec { 3 } }, "no.onnx")
        local at = debug.getinfo(row[1], "S").linedefined + 1
        assert.is_truthy(message:find("file_spec.lua:" .. at, 1, true), message)
      end
      assert.is_nil(ok)
      assert.is_truthy(message:find "blocked in the mapping to ONNX" and message:find(row[2]),
        message)
      assert.are.equal("SGL_EUNSUP", code)
      for file in lfs.dir(folder) do assert.is_nil((file:find "^no%.onnx"), file .. message) end
    end
  end)

  it("keeps eps as a float and statistics of halves in f32", function()
    local norm = nn.LayerNorm(4, { eps = 1e-12, dtype = "f16" })
    assert(export(norm, { sgl.spec({ n, 4 }, "f16") }, "halves.onnx"))
    local y = assert(sgl.import(path "halves.onnx"))(sgl.zeros({ 2, 4 }, { dtype = "f16" }))
    assert.are.equal(0, y:abs():amax():item())
    local rms = nn.RMSNorm(4, { dtype = "f16" })
    assert(export(rms, { sgl.spec({ n, 4 }, "f16") }, "rms.onnx"))
    y = assert(sgl.import(path "rms.onnx"))(sgl.full({ 1, 4 }, 300, { dtype = "f16" }))
    assert.are.same({ { 1, 1, 1, 1 } }, y:tolist())
    assert(export(function(x) return x * 0.1 + 1 end, { sgl.spec({ n }, "f16") }, "numbers.onnx"))
    y = assert(sgl.import(path "numbers.onnx"))(sgl.ones({ 1 }, { dtype = "f16" }))
    assert.are.equal(1.099609375, y:item())
  end)

  it("keeps the strides, pads and eps of layers", function()
    local m = nn.Sequential(
      nn.Conv2d(2, 4, 3, { stride = { 2, 1 }, padding = { 1, 0 }, groups = 2 }),
      nn.BatchNorm2d(4, { eps = 1e-3 }), nn.GELU())
    assert(export(m, { sgl.spec { n, 2, 6, 6 } }, "layers.onnx"))
    local nodes = message_of("layers.onnx").graph.node
    local ops, attributes = {}, {}
    for i, node in ipairs(nodes) do
      ops[i] = node.op_type
      for _, a in ipairs(node.attribute) do
        attributes[a.name] = a.f or a.ints[1] and a.ints or a.i
      end
    end
    assert.are.same({ "Conv", "BatchNormalization", "Gelu" }, ops)
    assert.are.same({ 2, 1 }, attributes.strides)
    assert.are.same({ 1, 0, 1, 0 }, attributes.pads)
    assert.are.equal(2, attributes.group)
    assert.is_true(math.abs(attributes.epsilon - 1e-3) < 1e-9)
  end)

  it("may have its values beside it, and is then written again to the same size", function()
    local m = nn.Linear(5, 3)
    local x = sgl.ones(2, 5)
    lfs.mkdir(path "a")
    for _ = 1, 2 do
      assert(export(m, { sgl.spec { n, 5 } }, "a/m.onnx", { external = true }))
      assert.are.equal(64 + 3 * 4, lfs.attributes(path "a/m.onnx.data").size)
    end
    assert(export(nn.Linear(5, 3), { sgl.spec { n, 5 } }, "a/other.onnx", { external = true }))
    os.rename(path "a", path "b")
    local here = lfs.currentdir()
    lfs.chdir "/"
    local again = assert(sgl.import(path "b/m.onnx"))
    lfs.chdir(here)
    assert.is_true(again(x):allclose(m(x)))
    local files = {}
    for file in lfs.dir(path "b") do files[#files + 1] = file end
    table.sort(files)
    assert.are.same({ ".", "..", "m.onnx", "m.onnx.data", "other.onnx", "other.onnx.data" }, files)
  end)

  it("replaces a link in the place of its data, and not what it leads to", function()
    support.write(path "precious", "as it was")
    lfs.link("precious", path "linked.onnx.data", true)
    assert(export(nn.Linear(2, 2), { sgl.spec { n, 2 } }, "linked.onnx", { external = true }))
    assert.are.equal("as it was", support.read(path "precious"))
    assert(read(path "linked.onnx"))
  end)

  it("is a failure that is told where the folder is missing", function()
    for _, external in ipairs { false, true } do
      local ok, message, code = export(nn.Linear(2, 2), { sgl.spec { 2, 2 } }, "none/m.onnx",
        { external = external })
      assert.is_nil(ok)
      assert.is_truthy(message:find "none/m.onnx", message)
      assert.are.equal("SGL_EFILE", code)
    end
  end)

  it("is shown by sgl inspect, with what is not imported", function()
    local model = require "spec.onnx.model"
    support.write(path "show.onnx", model.bytes { inputs = { { "x", "f32", { "n", 2 } } },
      outputs = { "y" }, constants = { { "w", sgl.ones(2) } }, nodes = {
        { "Mul", { "x", "w" }, { "h" } }, { "Bernoulli", { "h" }, { "y" }, { seed = 1.5 } } } })
    local text = support.shell(("'%s' inspect --graph '%s'"):format(arg[-1], path "show.onnx"))
    for _, words in ipairs { "opset 20, IR version 9", "x +f32%[n, 2%]", "Mul 1",
      "Bernoulli 1 %(not imported%)", "w +f32%[2%]", "y = Bernoulli%(h%) {seed=1.5}" } do
      assert.is_truthy(text:find(words), words .. " is not in\n" .. text)
    end
  end)
end)
