-- value_spec.lua: the language of op.def's value column as micro-ops: what C says of types and
-- order holds, and what is not understood is an error that says what.
--
-- core.value gives the C text of the micro-ops, a line for each; print_c_spec.lua compares bits.

local core = require "sgl.core"

-- The lines between the braces, without types and names of the C file.
local function lines(text, dtype, inputs)
  local list = {}
  for line in core.value(text, dtype, inputs or 2):gmatch("\n    ([^\n]+)") do
    list[#list + 1] = line
  end
  return list
end

local function refused(text, dtype)
  local ok, err = pcall(core.value, text, dtype or "f32", 2)
  assert.is_false(ok, text)
  return err
end

describe("a value", function()
  it("of every op and dtype that it takes is understood", function()
    local classes = { bool = { "bool" }, int = { "u8", "i32", "i64" },
                      float = { "f16", "bf16", "f32", "f64" } }
    local seen = 0
    for _, op in ipairs(core.ops()) do
      if ("unary binary test compare select"):find(op.family, 1, true) then
        for _, class in ipairs(op.types) do
          for _, dtype in ipairs(classes[class]) do
            assert.is_truthy(core.value(op.name, dtype):find("return ", 1, true))
            seen = seen + 1
          end
        end
      end
    end
    assert.is_true(seen > 200)
  end)

  it("binds as C does", function()
    assert.same({ "const float t2 = x0 * x1;", "const float t3 = x0 + t2;",
      "const float t4 = t3 - x1;", "return t4;" }, lines("x + x * y - y", "f32"))
    assert.same({ "const float t2 = x0 + x1;", "const float t3 = t2 * x1;", "return t3;" },
      lines("(x + y) * y", "f32"))
  end)

  it("promotes narrow integers to int and wraps", function()
    assert.same({ "const int32_t t2 = (int32_t)x0;", "const int32_t t3 = (int32_t)x1;",
      "const int32_t t4 = (int32_t)((uint32_t)t2 + (uint32_t)t3);",
      "const uint8_t t5 = (uint8_t)t4;", "return t5;" }, lines("x + y", "u8"))
  end)

  it("takes the wider type of two", function()
    assert.same({ "const double t2 = (double)x0;", "const double t3 = t2 * 0x1p-1;",
      "const float t4 = (float)t3;", "return t4;" }, lines("x * 0.5", "f32", 1))
  end)

  it("computes constants once and equal parts once", function()
    assert.same({ "const float t2 = x0 * 5.0f;", "const float t3 = t2 + t2;", "return t3;" },
      lines("x * (2 + 3) + x * 5", "f32", 1))
    assert.same({ "return 0.0f;" }, lines("1.0f - 1.0f", "f32", 1))
    assert.same({ "return (-0.0f);" }, lines("-0.0f", "f32", 1))
  end)

  it("of integers is never NaN", function()
    assert.same({ "const int32_t t2 = x1 < x0 ? x1 : x0;", "return t2;" },
      lines("y < x || y != y ? y : x", "i32"))
    assert.are.equal(4, #lines("y < x || y != y ? y : x", "f32"))
  end)

  it("calls functions of its type, and those of the C library by name", function()
    assert.is_truthy(core.value("m_tan(x)", "f32"):find("tan(t1)", 1, true))
    assert.is_truthy(core.value("m_exp(x)", "f64"):find("= exp(x0);", 1, true))
    assert.is_nil(core.value("m_exp(x)", "f32"):find("exp(", 1, true))
  end)

  it("with what the language lacks names it", function()
    for text, what in pairs {
      ["m_gamma(x)"] = "unknown function 'm_gamma'", ["lgamma(x)"] = "unknown function 'lgamma'",
      ["x + w"] = "unknown name 'w'", ["x +"] = "expected a value at 'end'",
      ["(x"] = "expected ) at 'end'", ["x y"] = "expected the end at 'y'",
      ["x ? y"] = "expected : at 'end'", ["m_exp(x, y)"] = "wrong number of arguments",
      ["m_pow(x)"] = "wrong number of arguments", ["T[x]"] = "unknown table 'T'",
      ["x @ y"] = "expected the end at '@'", [""] = "expected a value at 'end'",
    } do
      local message = refused(text).message
      assert.is_truthy(message:find(what, 1, true), text .. ": " .. message)
    end
    assert.is_truthy(refused("m_exp(x)", "i32").message:find("unknown function 'm_exp'", 1, true))
    assert.is_truthy(refused("z", "f32").message:find("the value of value (f32)", 1, true))
  end)

  it("with far too much in it is an error", function()
    local text = "x"
    for i = 1, 700 do text = ("%s * y + %d"):format(text, i) end
    assert.is_truthy(refused(text).message:find("micro-ops", 1, true))
  end)
end)
