-- import_spec.lua: operators mean what they mean in the file's opset, and files that are damaged,
-- hostile or not imported are refused. Values: onnxruntime's, or worked out by hand.

local lfs = require "lfs"
local sgl = require "sgl"
local values = require "sgl.onnx.values"
local model = require "spec.onnx.model"
local support = require "spec.support"

local folder

local function path(name) return folder .. "/" .. (name or "model.onnx") end

local function run(opset, op, inputs, attrs, count)
  return model.run(path(), opset, op, inputs, attrs, count)
end

local function f32(list) return sgl.tensor(list, "f32") end
local function i64(list) return sgl.tensor(list, "i64"):reshape(#list) end

local function gives(expected, t)
  local shape = {}
  for i, n in ipairs(t.shape) do shape[i] = n end
  local list = t:flatten():to("f64"):tolist()
  assert.are.equal(#expected, #list)
  for i, v in ipairs(expected) do
    assert.is_true(math.abs(v - list[i]) <= 1e-6 * math.max(1, math.abs(v)),
      ("element %d is %s, not %s"):format(i, list[i], v))
  end
  return shape
end

local function refused(pattern, fn, ...)
  local e = support.error_of(fn, ...)
  assert.is_truthy(tostring(e):find(pattern), tostring(e))
end

describe("sgl.import of ONNX", function()
  setup(function() folder = support.folder():sub(1, -2) end)
  teardown(function() support.remove(folder) end)

  describe("operators", function()
    it("Resize places elements by its mode", function()
      local x, none = f32 { 10, 20, 30, 40 }:reshape(1, 1, 1, 4), f32 {}
      local function to(width, mode)
        return run(13, "Resize", { x, none, none, i64 { 1, 1, 1, width } },
          { mode = "linear", coordinate_transformation_mode = mode })
      end
      gives({ 25 }, to(1, "half_pixel"))
      gives({ 15, 35 }, to(2, "half_pixel"))
      gives({ 10 }, to(1, "pytorch_half_pixel"))
      gives({ 15, 35 }, to(2, "pytorch_half_pixel"))
      gives({ 10 }, to(1, "align_corners"))
      gives({ 10, 40 }, to(2, "align_corners"))
      gives({ 10 }, to(1, "asymmetric"))
      gives({ 10, 30 }, to(2, "asymmetric"))
    end)

    it("GRU multiplies by the reset gate behind the product, or before it", function()
      local x, w = sgl.zeros(1, 1, 1), sgl.zeros(1, 3, 1)
      local r = f32 { 0, 0, 2 }:reshape(1, 3, 1)
      local b, h = f32 { 0, 0, 0, 0, 0, 1 }:reshape(1, 6), sgl.ones(1, 1, 1)
      local inputs = { x, w, r, b, false, h }
      gives({ 0.952574 }, run(14, "GRU", inputs, { hidden_size = 1, linear_before_reset = 1 }))
      gives({ 0.982014 }, run(14, "GRU", inputs, { hidden_size = 1 }))
      gives({ 0.982014 }, run(14, "GRU", inputs, { hidden_size = 1, linear_before_reset = 0 }))
    end)

    it("LSTM begins with zeros, and refuses a state of another batch", function()
      local x, w, r = sgl.ones(2, 3, 1), sgl.ones(1, 4, 1), sgl.zeros(1, 4, 1)
      local zeros = sgl.zeros(1, 3, 1)
      local a = run(14, "LSTM", { x, w, r }, { hidden_size = 1 })
      local b = run(14, "LSTM", { x, w, r, false, false, zeros, zeros }, { hidden_size = 1 })
      assert.are.equal(a:bytes(), b:bytes())
      refused("%[1, 1, 1%].*%[2, 3, 1%]", run, 14, "LSTM",
        { x, w, r, false, false, sgl.zeros(1, 1, 1) }, { hidden_size = 1 })
    end)

    it("Clip has bounds as attributes below opset 11, and either may be left out", function()
      local x = f32 { -1e30, 3, 9 }
      local two, six = sgl.tensor(2, "f32"), sgl.tensor(6, "f32")
      for _, row in ipairs { { {}, { x }, { -1e30, 3, 9 } }, { { max = 6.0 }, { x, false, six },
        { -1e30, 3, 6 } }, { { min = 2.0 }, { x, two }, { 2, 3, 9 } },
        { { min = 6.0, max = 2.0 }, { x, six, two }, { 2, 2, 2 } } } do
        gives(row[3], run(10, "Clip", { x }, row[1]))
        gives(row[3], run(13, "Clip", row[2]))
      end
      local whole = { sgl.tensor { -5, 3, 9 }, sgl.tensor(2), sgl.tensor(6) }
      gives({ 2, 3, 6 }, run(13, "Clip", whole))
    end)

    it("Softmax is over all dims from the axis on below opset 13", function()
      local x = sgl.zeros(2, 3, 4)
      local function each(share, opset, attrs)
        local list = {}
        for i = 1, 24 do list[i] = share end
        gives(list, run(opset, "Softmax", { x }, attrs))
      end
      each(1 / 12, 11) each(1 / 12, 12, { axis = 1 }) each(1 / 4, 12, { axis = 2 })
      each(1 / 4, 13) each(1 / 3, 13, { axis = 1 })
      refused("opset 6; 7 to", run, 6, "Softmax", { x })
    end)

    it("pools with a last window that reaches over the end", function()
      local x = f32 { 1, 2, 3, 4, 5 }:reshape(1, 1, 5)
      local attrs = { kernel_shape = { 2 }, strides = { 2 }, ceil_mode = 1 }
      gives({ 1.5, 3.5, 5 }, run(19, "AveragePool", { x }, attrs))
      gives({ 2, 4, 5 }, run(19, "MaxPool", { x }, attrs))
      attrs.count_include_pad = 1
      gives({ 1.5, 3.5, 5 }, run(19, "AveragePool", { x }, attrs))
    end)

    it("ConvTranspose cuts by auto_pad", function()
      local x, w = f32 { 1, 2 }:reshape(1, 1, 2), sgl.ones(1, 1, 3)
      for auto, wanted in pairs { VALID = { 1, 1, 3, 2, 2 }, SAME_UPPER = { 1, 1, 3, 2 },
                                  SAME_LOWER = { 1, 3, 2, 2 } } do
        gives(wanted, run(11, "ConvTranspose", { x, w }, { strides = { 2 }, auto_pad = auto }))
      end
    end)

    it("ReduceSum has axes as an attribute, then as an input, and may have none", function()
      local x = f32 { 1, 2, 3 }
      gives({ 6 }, run(13, "ReduceSum", { x }))
      gives({ 6 }, run(11, "ReduceSum", { x }, { axes = { 0 } }))
      gives({ 6 }, run(13, "ReduceSum", { x, i64 { -1 } }))
      gives({ 1, 2, 3 }, run(13, "ReduceSum", { x }, { noop_with_empty_axes = 1 }))
      gives({ 1, 2, 3 }, run(13, "ReduceSum", { x, sgl.zeros({ 0 }, { dtype = "i64" }) },
        { noop_with_empty_axes = 1 }))
      gives({ 2 }, run(17, "ReduceMean", { x }, { axes = { 0 } }))
      gives({ 2 }, run(18, "ReduceMean", { x, i64 { 0 } }))
    end)

    it("Pad repeats, reflects, and cuts first", function()
      local x = f32 { 1, 2, 3 }
      local function pad(before, behind, mode)
        return run(19, "Pad", { x, i64 { before, behind } }, { mode = mode })
      end
      gives({ 3, 2, 1, 2, 3, 2, 1 }, pad(2, 2, "reflect"))
      gives({ 2, 3, 2 }, pad(-1, 1, "reflect"))
      gives({ 2, 3, 0, 0 }, pad(-1, 2, "constant"))
      gives({ 1, 1, 2, 3, 3, 3 }, pad(1, 2, "edge"))
      gives({ 3, 1, 2, 3, 1 }, pad(1, 1, "wrap"))
      refused("too many", pad, 3, 0, "reflect")
      gives({ 0, 1, 2, 3 }, run(10, "Pad", { x }, { pads = { 1, 0 } }))
    end)

    it("Reshape copies sizes, and refuses what any size would fit", function()
      local function shape(x, to, attrs)
        return gives(x:flatten():to("f64"):tolist(), run(14, "Reshape", { x, i64(to) }, attrs))
      end
      assert.are.same({ 2, 3 }, shape(sgl.ones(2, 3), { 0, -1 }))
      assert.are.same({ 2, 0 }, shape(sgl.ones(2, 0, 3), { 0, -1 }))
      assert.are.same({ 0, 5 }, shape(sgl.ones(0, 10), { 0, 5 }, { allowzero = 1 }))
      refused("any size", run, 14, "Reshape", { sgl.ones(0, 10), i64 { 0, 1, -1 } },
        { allowzero = 1 })
    end)

    it("Slice takes ends beyond the ends", function()
      local x = sgl.arange(10):float()
      gives({ 7, 8, 9 }, run(13, "Slice", { x, i64 { -3 }, i64 { math.maxinteger } }))
      gives({ 8, 5, 2 }, run(13, "Slice", { x, i64 { 8 }, i64 { math.mininteger }, i64 { 0 },
        i64 { -3 } }))
      gives({}, run(13, "Slice", { sgl.zeros(0), i64 { -1 }, i64 { math.mininteger }, i64 { 0 },
        i64 { -1 } }))
      gives({ 7, 8, 9 }, run(9, "Slice", { x }, { starts = { -3 }, ends = { math.maxinteger } }))
    end)

    it("an output named \"\" is not kept", function()
      local m = model.load(path(), { inputs = { { "x", "f32" }, { "k", "i64" } },
        outputs = { "at" }, nodes = { { "TopK", { "x", "k" }, { "", "at" } } } })
      gives({ 2, 0 }, m(f32 { 3, 1, 4 }, i64 { 2 }))
    end)
  end)

  describe("control flow", function()
    local body = { inputs = { { "i", "i64", {} }, { "go", "bool", {} }, { "b", "i64", {} } },
      outputs = { "go2", "sum", "kept" }, nodes = { { "Identity", { "go" }, { "go2" } },
        { "Add", { "b", "i" }, { "sum" } }, { "Identity", { "sum" }, { "kept" } } } }

    it("Loop carries, and stacks what turns give", function()
      local m = model.load(path(), { inputs = { { "b0", "i64" } }, outputs = { "last", "all" },
        constants = { { "n", sgl.tensor(3, "i64") }, { "go0", sgl.tensor(true) } },
        nodes = { { "Loop", { "n", "go0", "b0" }, { "last", "all" }, { body = body } } } })
      for _, f in ipairs { m, sgl.compile(function(b) return m(b) end) } do
        local last, all = f(sgl.tensor(1, "i64"))
        gives({ 4 }, last)
        gives({ 1, 2, 4 }, all)
      end
    end)

    it("names of a body are its own", function()
      local m = model.load(path(), { inputs = { { "b", "i64" } }, outputs = { "last", "b" },
        constants = { { "n", sgl.tensor(3, "i64") }, { "go", sgl.tensor(true) },
          { "start", sgl.tensor(10, "i64") } },
        nodes = { { "Loop", { "n", "go", "start" }, { "last", "all" }, { body = body } } } })
      local last, b = m(sgl.tensor(7, "i64"))
      gives({ 13 }, last)
      gives({ 7 }, b)
    end)

    it("If runs one branch, by a value or by a number", function()
      local function branch(by)
        return { inputs = {}, outputs = { "y" }, nodes = { { "Mul", { "x", by }, { "y" } } } }
      end
      local m = model.load(path(), { inputs = { { "x", "f32" }, { "go", "bool", {} } },
        outputs = { "r" }, constants = { { "two", sgl.tensor(2, "f32") },
          { "three", sgl.tensor(3, "f32") } },
        nodes = { { "If", { "go" }, { "r" }, { then_branch = branch "two",
          else_branch = branch "three" } } } })
      for _, f in ipairs { m, sgl.compile(function(x, go) return m(x, go) end) } do
        gives({ 4 }, f(f32 { 2 }, sgl.tensor(true)))
        gives({ 6 }, f(f32 { 2 }, sgl.tensor(false)))
        gives({ 6 }, f(f32 { 2 }, false))
      end
    end)
  end)

  describe("arguments", function()
    it("weights among the inputs have a default, which the caller may replace", function()
      local m = model.load(path(), { ir = 3, opset = 8, inputs = { { "x", "f32" }, { "w", "f32" } },
        outputs = { "y" }, constants = { { "w", f32 { 1, 10 } } },
        nodes = { { "Mul", { "x", "w" }, { "y" } } } })
      assert.are.equal(1, #m.inputs)
      gives({ 2, 30 }, m(f32 { 2, 3 }))
      gives({ 4, 6 }, m { x = f32 { 2, 3 }, w = f32 { 2, 2 } })
    end)

    it("are checked by name, dtype and shape", function()
      local m = model.load(path(), { inputs = { { "x", "f32", { "n", 2 } } }, outputs = { "y" },
        nodes = { { "Relu", { "x" }, { "y" } } } })
      gives({ 0, 2 }, m(f32 { -1, 2 }:reshape(1, 2)))
      refused("'x' is f32%[n, 2%], got f32%[1, 3%]", m, sgl.zeros(1, 3))
      refused("got i32", m, sgl.zeros({ 1, 2 }, { dtype = "i32" }))
      refused("'x' is missing", m)
      refused("no input 'z'", m, { z = sgl.zeros(1, 2) })
    end)
  end)

  describe("files", function()
    local function write(o) support.write(path(), model.bytes(o)) end
    local relu = { inputs = { { "x", "f32" } }, outputs = { "y" },
                   nodes = { { "Relu", { "x" }, { "y" } } } }
    local function with(nodes)
      return { inputs = relu.inputs, outputs = { "y" }, nodes = nodes }
    end

    it("with what is not imported are refused with node, operator and opset", function()
      for _, row in ipairs {
        { with { { "Bernoulli", { "x" }, { "y" } } }, "'Bernoulli1': Bernoulli of opset 20" },
        { with { { "Relu", { "x" }, { "y" }, { slope = 1.0 } } }, "attribute 'slope'" },
        { with { { "Relu", { "x" }, { "y" }, {}, "com.microsoft" } }, "com.microsoft" },
        { with { { "Relu", { "q" }, { "y" } } }, "nothing is called 'q'" },
        { with { { "Gelu", { "x" }, { "y" } } }, nil },
      } do
        write(row[1])
        if row[2] then
          refused(row[2], function() return sgl.import(path())(f32 { 1 }) end)
        else
          assert(sgl.import(path()))
        end
      end
      write { opset = 19, inputs = relu.inputs, outputs = { "y" },
              nodes = { { "Gelu", { "x" }, { "y" } } } }
      refused("Gelu of opset 19: it is imported from opset 20", sgl.import, path())
    end)

    it("that are none, or no longer whole, are refused", function()
      support.write(path(), "not a model")
      refused("model.onnx: ", sgl.import, path())
      local bytes = model.bytes(relu)
      support.write(path(), bytes:sub(1, #bytes - 3))
      refused("model.onnx: byte %d+", sgl.import, path())
      assert.is_nil((sgl.import(path "nowhere.onnx")))
    end)

    it("whose sizes and values do not fit are refused before memory is taken", function()
      for _, row in ipairs {
        { { name = "w", data_type = 1, dims = { 1 << 40, 1 << 40 }, raw_data = "" }, "no sizes" },
        { { name = "w", data_type = 1, dims = { -1 }, raw_data = "" }, "no sizes" },
        { { name = "w", data_type = 1, dims = { 1 << 40 }, raw_data = "1234" }, "4 bytes for" },
        { { name = "w", data_type = 7, dims = { 2 }, int64_data = { 1 } }, "1 values for 2" },
        { { name = "w", data_type = 8, dims = { 1 }, string_data = { "a" } }, "string" },
      } do
        write { inputs = relu.inputs, outputs = { "y" }, constants = { { "w", row[1] } },
                nodes = relu.nodes }
        refused(row[2], sgl.import, path())
      end
    end)
  end)

  describe("values outside the file", function()
    local function outside(location, offset, length)
      return { inputs = { { "x", "f32" } }, outputs = { "y" },
        nodes = { { "Add", { "x", "w" }, { "y" } } }, constants = { { "w", { name = "w",
          data_type = 1, dims = { 2 }, data_location = 1, external_data = {
            { key = "location", value = location }, { key = "offset", value = offset or "0" },
            { key = "length", value = length or "8" } } } } } }
    end

    it("are read beside the model, from any folder, and moved together", function()
      lfs.mkdir(path "a")
      support.write(path "a/w.bin", "\0\0\0\0" .. f32({ 3, 4 }):bytes())
      support.write(path "a/m.onnx", model.bytes(outside("w.bin", "4")))
      gives({ 4, 5 }, assert(sgl.import(path "a/m.onnx"))(f32 { 1, 1 }))
      os.rename(path "a", path "b")
      gives({ 4, 5 }, assert(sgl.import(path "b/m.onnx"))(f32 { 1, 1 }))
    end)

    it("are not read from outside the folder, through links, or beyond the end", function()
      lfs.mkdir(path "c")
      support.write(path "w.bin", f32({ 3, 4 }):bytes())
      support.write(path "c/short.bin", "1234")
      lfs.link("../w.bin", path "c/link.bin", true)
      lfs.mkdir(path "c/d")
      lfs.link("..", path "c/d/up", true)
      for location, why in pairs { ["../w.bin"] = "out of the model's folder",
        ["/etc/passwd"] = "absolute", ["link.bin"] = "a link", ["d/up/short.bin"] = "a link",
        ["short.bin"] = "has 4", ["nowhere.bin"] = "cannot be read", [""] = "no place",
        ["d"] = "cannot be read", ["a/../../w.bin"] = "folder" } do
        support.write(path "c/m.onnx", model.bytes(outside(location)))
        refused(why, sgl.import, path "c/m.onnx")
      end
      for _, row in ipairs { { "-1" }, { "9223372036854775807" }, { "x" }, { "0", "4" } } do
        support.write(path "c/m.onnx", model.bytes(outside("../w.bin", row[1], row[2])))
        refused("w", sgl.import, path "c/m.onnx")
        support.write(path "c/m.onnx", model.bytes(outside("short.bin", row[1], row[2])))
        refused("w", sgl.import, path "c/m.onnx")
      end
    end)
  end)

  it("reads types that it widens", function()
    for number, row in pairs { [3] = { "\xff\x7f", "i32", { -1, 127 } },
      [5] = { "\xff\xff\1\0", "i32", { -1, 1 } }, [12] = { "\xff\xff\xff\xff\0\0\0\0", "i64",
      { 4294967295, 0 } } } do
      local bytes, dtype = values.read({ name = "w", data_type = number, dims = { 2 },
        raw_data = row[1], external_data = {} }, "./")
      assert.are.equal(row[2], dtype)
      assert.are.same(row[3], values.numbers(bytes, dtype))
    end
  end)
end)
