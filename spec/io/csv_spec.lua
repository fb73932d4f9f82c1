-- csv_spec.lua: CSV files as people and programs write them: quotes, names, text, missing cells,
-- numbers with all their digits. The right values stand in RFC 4180 and in the texts themselves.

local sgl = require "sgl"
local support = require "spec.support"

local data = sgl.data

local function read(text, options)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local ok, ds = pcall(data.csv, path, options)
  os.remove(path)
  if not ok then return nil, ds end
  return ds
end

local function features(text, options) return assert(read(text, options)).tensors[1]:tolist() end

local function message(text, options)
  local ds, e = read(text, options)
  assert.is_nil(ds)
  return e.code .. " " .. e.message:gsub("^.*/", "") .. " " .. (e.hint or "")
end

describe("a cell", function()
  it("in quotes may hold separators, line ends and doubled quotes", function()
    local ds = read('id,kind\n1,"x, y"\n2,"say ""so"""\n3,"two\nlines"\n', { label = "kind" })
    assert.are.same({ 'say "so"', "two\nlines", "x, y" }, ds.classes)
    assert.are.same({ 2, 0, 1 }, ds.tensors[2]:tolist())
  end)

  it("ends at CR LF as at LF, with or without blanks and a byte order mark", function()
    assert.are.same({ { 1.0, 2.0 }, { 3.0, 4.0 } },
      features("\xEF\xBB\xBF 1 ,\t2\r\n3,\"4\"\r\n\r\n"))
    assert.are.same({ { 1.0, 2.0 } }, features("1\t2\r", { separator = "\t" }))
  end)

  it("that is empty, NA, null or None is missing: an error, or what the reader says", function()
    local text = "a,b\n1,\nNA,4\nnull,None\n"
    assert.matches("SGL_EFORMAT.*:2:2: a number is missing.*missing = 0", message(text))
    assert.are.same({ { 1.0, -1.0 }, { -1.0, 4.0 }, { -1.0, -1.0 } },
      features(text, { missing = -1 }))
    local nan = features(text, { missing = 0 / 0 })[1][2]
    assert.is_true(nan ~= nan)
  end)

  it("that is text where a number is due says which, and what to do", function()
    assert.matches("SGL_EFORMAT.*:3:2: not a number: 'x5'.*categories", message("1,2\n3,4\n4,x5\n"))
    assert.matches("not a number: '3;4' separator = \";\"", message("1;2\n3;4\n"))
    assert.matches([[not a number: '3\t4' separator = "\t"]], message("1\t2\n3\t4\n"))
    assert.truthy(message("1\n\xff2\0\n"):find([[not a number: '\xff2\x00']], 1, true))
    assert.truthy(message('1\n"a\nb"\n'):find([[not a number: 'a\nb']], 1, true))
    assert.matches(":2:1: a quote that does not end", message('1,2\n"3,4\n'))
    assert.matches(":1:2: a quote that does not end, or text behind it", message('1,"2"3\n'))
  end)
end)

describe("numbers", function()
  -- What the C library's strtod gives for the same digits; Lua reads its constants with it.
  local TEXTS = { "0.1", "1e23", "8.5e-324", "1.7976931348623157e308", "9007199254740993",
    "123456789012345678901234567890", "0.000000000000000000000000000001", "4.35", ".5", "5.",
    "2.2250738585072011e-308", "-0", "1E5", "+3", "0e400", "1e-400", "00012.50" }

  it("have the digits of f64 where that is asked for", function()
    for _, text in ipairs(TEXTS) do
      local want = tonumber((text:gsub("^%+", "")))
      assert.are.equal(want + 0.0, features(text .. ",0\n", { dtype = "f64" })[1][1], text)
    end
  end)

  it("are rounded once to f32", function()
    -- Halfway between two floats as a double, but not as it is written: 1 + 2^-24 + 1e-20.
    local above = "1.00000005960464477539062500000000001"
    assert.are.equal(1 + 2.0 ^ -23, features(above .. "\n")[1][1])
    assert.are.equal(1.0, features("1.000000059604644775390625\n")[1][1])
    assert.are.equal(1.401298464324817e-45, features("1e-45\n")[1][1])
  end)

  it("of integer dtypes are whole and in range, or named", function()
    local ds = read("9007199254740993,-5\n", { dtype = "i64" })
    assert.are.same({ { 9007199254740993, -5 } }, ds.tensors[1]:tolist())
    assert.matches(":1:1: no value of i32: '1.5'", message("1.5\n", { dtype = "i32" }))
    assert.matches(":2:1: no value of i32: '3000000000'",
      message("1\n3000000000\n", { dtype = "i32" }))
    assert.matches("out of the range of u8", message("256\n", { dtype = "u8" }))
    assert.matches("scale needs a float", message("4\n", { dtype = "u8", scale = 0.5 }))
  end)

  it("do not depend on the locale", function()
    local before = os.setlocale(nil, "numeric")
    os.setlocale("de_DE.UTF-8", "numeric")
    local ok, list = pcall(features, "0.25,1.5e3\n")
    os.setlocale(before, "numeric")
    assert.is_true(ok)
    assert.are.same({ { 0.25, 1500.0 } }, list)
  end)
end)

describe("labels", function()
  it("keep all their digits", function()
    local ds = read("0,16777217\n0,16777219\n", { label = 2 })
    assert.are.same({ 16777217, 16777219 }, ds.tensors[2]:tolist())
    assert.matches("holds 3000000000 in row 1, no class", message("0,3000000000\n", { label = 2 }))
    assert.matches("holds 0.5 in row 2, no class", message("0,1\n0,0.5\n", { label = -1 }))
  end)

  it("of text are numbered by their bytes whatever the order of rows, and stay in parts", function()
    local ds = read("x,kind\n1,b\n2,a\n3,b\n4,c\n", { label = "kind" })
    assert.are.same({ "a", "b", "c" }, ds.classes)
    assert.are.same({ 1, 0, 1, 2 }, ds.tensors[2]:tolist())
    local first = ds:split(0.5)
    assert.are.same({ "a", "b", "c" }, first.classes)
  end)
end)

describe("columns", function()
  it("are kept by name, chosen, and ordered as asked", function()
    local text = "a,b,c\n1,2,3\n4,5,6\n"
    assert.are.same({ "a", "c" }, read(text, { label = "b" }).columns)
    local ds = read(text, { columns = { "c", 1 } })
    assert.are.same({ { 3.0, 1.0 }, { 6.0, 4.0 } }, ds.tensors[1]:tolist())
    assert.are.same({ "c", "a" }, ds.columns)
    assert.matches("no column 'd'", message(text, { columns = { "d" } }))
  end)

  it("of text become categories in place", function()
    local ds = read("size,colour,w\n1,red,5\n2,blue,6\n3,,7\n",
      { categories = { "colour" }, missing = 0 })
    assert.are.same({ { 1.0, 1.0, 5.0 }, { 2.0, 0.0, 6.0 }, { 3.0, -1.0, 7.0 } },
      ds.tensors[1]:tolist())
    assert.are.same({ "blue", "red" }, ds.categories.colour)
  end)

  it("need names that differ, and as many as there are cells", function()
    assert.matches("two columns have the same name: 'a'.*header = false", message("a,a\n1,2\n"))
    assert.matches(":2:1: only 1 of the 2 fields", message("a,b\n1\n"))
    assert.matches(":2:2: more than the 1 fields", message("a\n1,2\n"))
  end)
end)

describe("the first line", function()
  it("holds names by its look only where it has text over numbers, or text alone", function()
    assert.are.same({ { 7.0, 1.0 }, { 2.0, 3.0 } }, features("NA,1\n2,3\n", { missing = 7 }))
    assert.is_truthy(message("alice,3\nbob,4\n"):find("not a number: 'alice'", 1, true))
    assert.are.same({ { 4.0 } }, features("name,age\nbob,4\n", { columns = { "age" } }))
    assert.are.same({ { 1.0, 2.0 } }, features("inf,nan\n1,2\n", { header = true }))
  end)
end)
