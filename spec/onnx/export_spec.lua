-- export_spec.lua: exported ONNX files pass the checker of the onnx package and give in onnxruntime
-- what the live model gives, at several batch sizes; what cannot be exported leaves no file.

local lfs = require "lfs"
local sgl = require "sgl"
local core = require "sgl.core"
local graphs = require "spec.onnx.graphs"
local python = require "spec.onnx.python"
local support = require "spec.support"

local nn = sgl.nn
local n = sgl.dim("n", { max = 10 })
local BATCHES = { 1, 2, 5, 10 }

-- An input for a spec where `n` is the batch; other dims that are symbols have the size 7.
local function input_of(spec, batch)
  if core.is_tensor(spec) then return spec end
  local shape, count = {}, 1
  for i, size in ipairs(spec.shape) do
    shape[i] = math.type(size) and size or tostring(size) == "n" and batch or 7
    count = count * shape[i]
  end
  local numbers = sgl.arange(count):float() * 0.7 + batch
  if not spec.dtype:find "f" then
    return (sgl.arange(count) * 5 % 9 - (spec.dtype == "i32" and #shape == 2 and shape[2] == 4 and 4
      or 0)):to(spec.dtype):reshape(shape)
  end
  return (numbers:sin() * 1.5):to(spec.dtype):reshape(shape)
end

local function column(kind, folder, name, t)
  support.write(folder .. "/" .. name, t:bytes())
  return ("%s %s %s %s"):format(kind, t.dtype, table.concat(t.shape, ","), name)
end

-- A case for spec/onnx/run.py: the model on the batch.
local function case(folder, row, batch)
  local name, what, specs, most = table.unpack(row, 1, 4)
  local cols, inputs = { name .. ".onnx", tostring(most or 1e-5) }, {}
  for i, spec in ipairs(specs) do
    inputs[i] = input_of(spec, batch)
    cols[#cols + 1] = column("in", folder, ("%s.%d.in%d"):format(name, batch, i), inputs[i])
  end
  for i, t in ipairs { what(table.unpack(inputs)) } do
    cols[#cols + 1] = column("out", folder, ("%s.%d.out%d"):format(name, batch, i), t)
  end
  return table.concat(cols, "\t")
end

describe("sgl.export to ONNX", function()
  local folder, said, exported

  setup(function()
    folder, said, exported = support.folder():sub(1, -2), {}, {}
    local cases = {}
    for _, row in ipairs(graphs) do
      local name, what, specs = table.unpack(row)
      if type(what) == "table" then what:eval() end
      exported[name] = { sgl.export(what, specs, { file = folder .. "/" .. name .. ".onnx" }) }
      for _, batch in ipairs(exported[name][1] and BATCHES or {}) do
        cases[#cases + 1] = case(folder, row, batch)
      end
    end
    if not python.there then return end
    support.write(folder .. "/cases.tsv", table.concat(cases, "\n") .. "\n")
    for line in python.run("run.py", folder):gmatch "[^\n]+" do
      local name, result = line:match "^(.*)%.onnx\t(.*)$"
      said[name or "?"] = said[name or "?"] or {}
      table.insert(said[name or "?"], result or line)
    end
  end)

  teardown(function() support.remove(folder) end)

  for _, row in ipairs(graphs) do
    local name = row[1]
    it("writes '" .. name .. "', which agrees with itself read back", function()
      assert(table.unpack(exported[name]))
    end)
    it("writes '" .. name .. "' so that onnxruntime gives the live values", function()
      if not python.there then pending(python.why) return end
      assert.are.same({ "ok", "ok", "ok", "ok" }, said[name])
    end)
  end
end)
