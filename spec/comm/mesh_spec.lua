-- mesh_spec.lua: meshes, parts of dims, the tree of sums and the places of parts, against what is
-- counted out here or by hand.

local engine = require "spec.engine"
local units = require "spec.comm.units"

local function numbers(line)
  local list = {}
  for n in line:gmatch "%-?%d+" do list[#list + 1] = math.tointeger(tonumber(n)) end
  return list
end

-- The places of all ranks on the axes (from 0), the last counting fastest.
local function places(sizes)
  local list = { {} }
  for _, size in ipairs(sizes) do
    local longer = {}
    for _, at in ipairs(list) do
      for k = 0, size - 1 do
        local place = table.move(at, 1, #at, 1, {})
        place[#place + 1] = k
        longer[#longer + 1] = place
      end
    end
    list = longer
  end
  return list
end

-- What `mesh` says: of each rank the number of its part, and who differs from it in `axes` alone.
local function mesh_lines(sizes, axes)
  local lines, all = {}, places(sizes)
  local within = {}
  for _, a in ipairs(axes) do within[a] = true end
  local function part(at)
    local n = 0
    for _, a in ipairs(axes) do n = n * sizes[a + 1] + at[a + 1] end
    return n
  end
  for r, at in ipairs(all) do
    local group = {}
    for other, there in ipairs(all) do
      local same = true
      for a = 0, #sizes - 1 do same = same and (within[a] or at[a + 1] == there[a + 1]) end
      if same then group[part(there) + 1] = other - 1 end
    end
    lines[r] = ("%d: %s"):format(part(at), table.concat(group, " "))
  end
  return lines
end

describe("a mesh", function()
  if not units.there() then return end

  it("of 2 x 3 has these groups", function()
    assert.are.same({ "0: 0 1 2", "1: 0 1 2", "2: 0 1 2", "0: 3 4 5", "1: 3 4 5", "2: 3 4 5" },
      units.ask "mesh 2,3 1")
    assert.are.same({ "0: 0 3", "0: 1 4", "0: 2 5", "1: 0 3", "1: 1 4", "1: 2 5" },
      units.ask "mesh 2,3 0")
    assert.are.same({ "0: 0 3 1 4 2 5", "2: 0 3 1 4 2 5", "4: 0 3 1 4 2 5", "1: 0 3 1 4 2 5",
      "3: 0 3 1 4 2 5", "5: 0 3 1 4 2 5" }, units.ask "mesh 2,3 1,0")
  end)

  it("of any sizes has the groups that one counts out, over any axes in any order", function()
    for _, sizes in ipairs { { 4 }, { 1, 5 }, { 3, 2 }, { 2, 3, 4 }, { 4, 4, 4 } } do
      for _, axes in ipairs { {}, { 0 }, { 1 }, { 2 }, { 0, 1 }, { 1, 0 }, { 2, 0 },
                              { 2, 1, 0 } } do
        if math.max(-1, table.unpack(axes)) < #sizes then
          local list = #axes > 0 and table.concat(axes, ",") or "-"
          local what = ("mesh %s %s"):format(table.concat(sizes, ","), list)
          assert.are.same(mesh_lines(sizes, axes), units.ask(what), what)
        end
      end
    end
  end)
end)

describe("a dim that is cut", function()
  if not units.there() then return end

  local function starts(...)
    return numbers(units.ask(("cut %d %d %d %d"):format(...))[1])
  end

  it("has parts of whole units, as equal as can be", function()
    assert.are.same({ 0, 2, 5, 7, 10 }, starts(10, 10, 0, 4))
    assert.are.same({ 0, 2, 4, 6, 10 }, starts(10, 5, 0, 4))       -- units of 2
    assert.are.same({ 0, 0, 6, 6, 12 }, starts(12, 2, 0, 4))       -- two of the ranks have none
    assert.are.same({ 0, 0 }, starts(0, 0, 0, 1))
  end)

  it("has parts of whole blocks where sums are cut into blocks", function()
    -- Ten rows in eight blocks begin at 0 1 2 3 5 6 7 8; four ranks have two blocks each.
    assert.are.same({ 0, 2, 5, 7, 10 }, starts(10, 10, 8, 4))
    assert.are.same({ 0, 0, 1, 2, 3 }, starts(3, 3, 8, 4))
    assert.are.same({ 0, 5, 10 }, starts(10, 10, 4, 2))
  end)

  it("nests: parts over two axes make up those over the first", function()
    for size = 0, 40, 5 do
      for _, unit in ipairs { 1, 5 } do
        for _, blocks in ipairs { 0, 8, 64 } do
          local at = { "cut", size, size // unit, blocks }
          local function cut(n)
            return numbers(units.ask(table.concat(at, " ") .. " " .. n)[1])
          end
          local two, eight = cut(2), cut(8)
          assert.are.same({ 0, size }, { eight[1], eight[9] })
          assert.are.same(two, { eight[1], eight[5], eight[9] })
          for i = 1, 8 do
            assert.is_true(eight[i] <= eight[i + 1])
            assert.are.equal(0, eight[i] % unit)
          end
        end
      end
    end
  end)
end)

-- x as a number of this many bits of mantissa: halves are rounded to the nearest, ties to even.
local function rounded(x, bits)
  if x == 0 then return x end
  local e = math.floor(math.log(math.abs(x), 2)) - bits + 1
  local scaled = x / 2.0 ^ e
  local low = math.floor(scaled)
  local rest = scaled - low
  if rest > 0.5 or rest == 0.5 and low % 2 == 1 then low = low + 1 end
  return low * 2.0 ^ e
end

describe("values that meet", function()
  if not units.there() then return end

  local function tree(kind, dtype, values)
    local text = {}
    for i, v in ipairs(values) do text[i] = ("%.17g"):format(v) end
    local said = units.ask(("tree %s %s %d %s"):format(kind, dtype, #values,
      table.concat(text, " ")))[1]
    return said:find "nan" and 0 / 0 or tonumber(said .. "e0")
  end

  it("are added by halves, not one after the other", function()
    -- In f32 2^24 + 1 is 2^24, and 1 - 2^24 is exact; one after the other both are 0.
    local big = 2.0 ^ 24
    assert.are.equal(1, tree("sum", "f32", { big, 1, 1, -big }))
    assert.are.equal(1, tree("sum", "f32", { big, 1, -big }))
  end)

  it("have the bits of that tree for any number of members", function()
    local r = engine.random(engine.seed)
    local function sum(v, lo, hi)
      if hi - lo == 1 then return v[lo + 1] end
      local middle = (lo + hi) // 2
      return ("<f"):unpack(("<f"):pack(sum(v, lo, middle) + sum(v, middle, hi)))
    end
    for n = 1, 64, engine.scale < 0.5 and 9 or 1 do
      local v = {}
      for i = 1, n do v[i] = ("<f"):unpack(("<f"):pack((r:unit() - 0.5) * 10 ^ r:int(0, 6))) end
      assert.are.equal(sum(v, 0, n), tree("sum", "f32", v), n)
    end
  end)

  it("are of every dtype", function()
    for _, dtype in ipairs { "f32", "f64", "i32", "i64", "u8", "f16", "bf16" } do
      for kind, want in pairs { sum = 10, prod = 24, max = 4, min = 1 } do
        assert.are.equal(want, tree(kind, dtype, { 3, 1, 4, 2 }), dtype .. " " .. kind)
      end
    end
    assert.are.equal(1, tree("max", "bool", { 0, 1, 0 }))
    assert.are.equal(0, tree("min", "bool", { 1, 0 }))
    assert.are.equal(-2.0 ^ 31, tree("sum", "i32", { 2.0 ^ 31 - 1, 1 }))
    assert.are.equal(44, tree("sum", "u8", { 200, 100 }))
  end)

  it("are rounded once if they are halves", function()
    -- 256 + 1 in bf16 (8 bits) is 256, thrice; together it is 259, which rounds to 260.
    assert.are.equal(rounded(259, 8), tree("sum", "bf16", { 256, 1, 1, 1 }))
    assert.are.equal(260, tree("sum", "bf16", { 256, 1, 1, 1 }))
    assert.are.equal(rounded(2051, 11), tree("sum", "f16", { 2048, 1, 1, 1 }))
  end)

  it("are NaN if one is, and the first of equal zeros", function()
    local nan = 0 / 0
    for _, kind in ipairs { "sum", "prod", "max", "min" } do
      for at = 1, 3 do
        local v = { 1, 2, 3 }
        v[at] = nan
        local got = tree(kind, "f32", v)
        assert.is_true(got ~= got, kind)
      end
    end
    assert.are.equal("-0.0", tostring(tree("max", "f64", { -0.0, 0.0 })))
    assert.are.equal("0.0", tostring(tree("min", "f64", { 0.0, -0.0 })))
  end)
end)

describe("parts in a whole", function()
  if not units.there() then return end

  it("are where they belong, however many bytes go at once", function()
    -- Two rows of lengths 2, 1, 0 and 3, of 1 byte each: 0 1 | 2 | | 3 4 5 and 6 7 | 8 | | 9 10 11.
    for step = 1, 7 do
      assert.are.same({ "0 1 6 7", "2 8", "", "3 4 5 9 10 11", "same" },
        units.ask(("place 2 1 2,1,0,3 %d"):format(step)))
    end
    assert.are.same({ "0 1 2 9 10 11", "3 4 5 6 7 8 12 13 14 15 16 17", "same" },
      units.ask "place 2 3 1,2 4")
  end)
end)
