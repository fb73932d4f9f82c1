-- nodes_spec.lua: the own tests of operators, of the onnx package, for each that is imported.
--
-- In: files of node_tests.py. A test of an operator without a row, or of a dtype that there is not
-- here, has to be refused when the file is read.

local sgl = require "sgl"
local core = require "sgl.core"
local ops = require "sgl.onnx.import"
local python = require "spec.onnx.python"
local support = require "spec.support"

local TOLERANCE = { f16 = 2e-3, bf16 = 1e-2, f32 = 1e-5, f64 = 1e-7 }

-- Tests that are not met, with the reason.
local OTHER = {
  test_averagepool_2d_ceil_last_window_starts_on_pad = "onnxruntime has our value",
  test_resize_downsample_scales_linear_align_corners = "onnxruntime has our value",
  test_resize_downsample_scales_cubic_align_corners = "onnxruntime has our value",
  test_training_dropout_default = "random", test_training_dropout = "random",
  test_training_dropout_default_mask = "random", test_training_dropout_mask = "random",
}

-- What an error has to say when a file of an imported operator is refused.
local REFUSALS = { "which there is not here", "is no tensor", "opset %d: %d+ to", "opset 1;",
  "is not imported", "a cast to", "of opset 8: it is imported" }

local function value_of(folder, text)
  local dtype, sizes, name = text:match "^(%S+) (%S*) (%S+)$"
  if not dtype then return nil end
  local shape = {}
  for size in sizes:gmatch "%d+" do shape[#shape + 1] = math.tointeger(tonumber(size)) end
  return core.from_bytes(support.read(folder .. name), dtype, shape)
end

-- How a result differs from what it should be, or nil.
local function difference(want, got)
  local function type_of(t) return t.dtype .. table.concat(t.shape, ",") end
  if type_of(want) ~= type_of(got) then return type_of(got) .. " for " .. type_of(want) end
  local most = TOLERANCE[want.dtype]
  if not most then return want:bytes() ~= got:bytes() and "other values" or nil end
  local near = got:to "f64":isclose(want:to "f64", { rtol = 10 * most, atol = most,
    equal_nan = true })
  return want:numel() > 0 and not near:all():item() and "other values" or nil
end

-- nil where the test holds; else what is wrong.
local function try(folder, name, columns, count)
  local model = sgl.import(folder .. name .. ".onnx")
  local given, wanted = {}, {}
  for i, input in ipairs(model.inputs) do given[input.name] = value_of(folder, columns[i]) end
  for i = count + 1, #columns do
    if columns[i] == "?" then return nil end
    wanted[#wanted + 1] = value_of(folder, columns[i]) or false
  end
  for i = 1, count do
    if columns[i] == "?" then return nil end
  end
  local got = table.pack(model(given))
  for i, want in ipairs(wanted) do
    local wrong = want and difference(want, got[i])
    if wrong then return ("output %d: %s"):format(i, wrong) end
  end
  return nil
end

local function is_refusal(message)
  for _, pattern in ipairs(REFUSALS) do
    if message:find(pattern) then return true end
  end
  return false
end

describe("the node tests of the onnx package", function()
  it("hold for every operator that is imported, and others are refused", function()
    if not python.there then pending(python.why) return end
    local folder, wrong, held, refused = support.folder(), {}, 0, 0
    python.run("node_tests.py", folder)
    for line in io.lines(folder .. "tests.tsv") do
      local columns = {}
      for column in (line .. "\t"):gmatch "([^\t]*)\t" do columns[#columns + 1] = column end
      local name, op, count = table.unpack(columns, 1, 3)
      local rest = table.move(columns, 4, #columns, 1, {})
      local fine, why = pcall(try, folder, name, rest, math.tointeger(tonumber(count)))
      local message = not fine and (type(why) == "table" and why.message or tostring(why))
      if fine and why == nil then held = held + 1
      elseif message and (not ops.rows[op] or is_refusal(message)) then refused = refused + 1
      elseif not OTHER[name] then
        wrong[#wrong + 1] = ("%s: %s"):format(name, message or why)
      end
    end
    support.remove(folder)
    assert.are.same({}, wrong)
    assert.is_true(held > 700 and refused > 500, ("%d held, %d refused"):format(held, refused))
  end)
end)
