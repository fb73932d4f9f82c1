-- symbolic_spec.lua: every row of the fixtures with the first dims of its inputs as symbols, one
-- for each size, gives the bits of uncompiled execution, gradients too, or says what it cannot do.

local sgl = require "sgl"
local fixture = require "spec.fixture"

local LEAST = 600                                -- rows that must give bits

-- The inputs of a row in f32 and their specs; nil where one has no elements.
local function arguments(row, dict)
  local list, specs, symbols = {}, {}, {}
  for i, t in ipairs(fixture.inputs_of(row, dict, "f32")) do
    local shape = t.shape
    for _, n in ipairs(shape) do
      if n == 0 then return nil end
    end
    if #shape > 0 then
      local n = shape[1]
      symbols[n] = symbols[n] or sgl.dim("n" .. n, { max = 4096 })
      shape[1] = symbols[n]
    end
    list[i], specs[i] = t, sgl.spec(shape, t.dtype)
  end
  if #list > 0 then return list, specs end
end

-- The sign of a NaN is the processor's and the compiler's.
local function bits(list)
  local parts = {}
  for i, t in ipairs(list) do
    if t:is_floating_point() then
      t = sgl.where(t:ne(t), sgl.full(t.shape, 0 / 0, { dtype = t.dtype }), t)
    end
    parts[i] = ("%s[%s] %s"):format(t.dtype, table.concat(t.shape, ","), t:bytes())
  end
  return parts
end

-- Whether the row gave bits; false where it was refused with an error of its own.
local function check(row, dict)
  local list, specs = arguments(row, dict)
  if not list then return false end
  local function work(...)
    local ys, slopes = fixture.run(row, dict, { ... }, "f32")
    return table.move(slopes, 1, #slopes, #ys + 1, ys)
  end
  local step = sgl.compile(work, { inputs = specs })
  local ok, got = pcall(step, table.unpack(list))
  if not ok then
    assert(type(got) == "table" and got.code and not got.message:find "bad argument", tostring(got))
    return false
  end
  assert.are.same(bits(work(table.unpack(list))), bits(got))
  step:close()
  return true
end

describe("with symbolic sizes", function()
  local count = 0
  for _, file in ipairs { "functions", "layers" } do
    local rows = fixture.load(file)
    for _, row in ipairs(rows) do
      if not fixture.only_uncompiled(row) and not row.text:find "f64" then
        it(("%s on %s has the same bits"):format(row.text, row.inputs), function()
          if check(row, rows.dict) then count = count + 1 end
        end)
      end
    end
  end

  it("most can be computed", function() assert.is_true(count >= LEAST, count) end)
end)
