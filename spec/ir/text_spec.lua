-- text_spec.lua: the text of graphs: what is printed is read back as the same graph, and no text,
-- however hostile, does more than give an error with its line and column.

local core = require "sgl.core"
local engine = require "spec.engine"

-- One of everything that a graph can hold.
local WHOLE = [[
graph
dim text_batch 8 64 8
composite @1 "loss" in @0 # train.lua:4
composite @2 "soft \"max\"" in @1 module "blocks.1.\"a\"" # "a file.lua":7
input %0 arg "x" f32[text_batch, 3] batch 1
input %1 state "w\x09\\" f32[3]
input %2 arg "" i64[2]
%3 = const() {value=-0.5, dims=[text_batch, 3], dtype=f32} : f32[text_batch, 3] @1 # train.lua:5
%4 = add(%0, %3) : f32[text_batch, 3] @1 # train.lua:5
%5 = reduce_max(%4) {dims=[2]} : f32[text_batch] @2 # lib/soft.lua:9
%6 = reshape(%5) {dims=[text_batch/8, 8]} : f32[text_batch/8, 8]
%7 = pad(%4) {lo=[1, 0], hi=[2, 0], value=-inf} : f32[text_batch+3, 3]
%8 = window(%1) {dims=[1], size=[2], stride=[1], dilation=[1]} : f32[2, 2]
%9 = rand(%2) {draw=1, word=3, dims=[3]} : f32[3]
%10 = mul(%1, %9) : f32[3]
%11 = const() {value=inf, dims=[], dtype=f16} : f16[]
%12 = const() {value=nan, dims=[0], dtype=bf16} : bf16[0]
%13 = const() {value=1.401298464324817e-45, dims=[], dtype=f32} : f32[]
%14 = const() {value=0.1, dims=[], dtype=f64} : f64[]
%15 = const() {value=-9007199254740991, dims=[], dtype=i64} : i64[]
%16 = argsort(%0) {dim=2, descending=1} : i32[text_batch, 3]
call @1(%0) = %4
call @2(%4) = %5
output %4 "loss"
output %6 ""
output %7 "y"
output %8 "z"
output %11 ""
output %12 ""
output %13 ""
output %14 ""
output %15 ""
output %16 "order"
assign %1 = %10
loss %14
loss %13
grad %10 of %1
grad %4 of %0
]]

describe("the text of a graph", function()
  it("is read back as the graph that it was printed from", function()
    local g = core.parse(WHOLE)
    local again = core.parse(g:text())
    assert.are.equal(g:text(), again:text())
    assert.are.equal(g:hash(), again:hash())
  end)

  it("keeps names, composites, source lines, symbols and values", function()
    local text = core.parse(WHOLE):text()
    for _, part in ipairs { "dim text_batch 8 64 8", '"soft \\"max\\""', '"a file.lua":7',
      '"w\\x09\\\\"', "text_batch/8", "text_batch+3", "value=-inf", "value=nan",
      "value=-9007199254740991", "# lib/soft.lua:9", "assign %1 = ",
      'in @1 module "blocks.1.\\"a\\"" # ', "3] batch 1\n", "\nloss ", "\ngrad " } do
      assert.is_truthy(text:find(part, 1, true), part .. " is missing in\n" .. text)
    end
  end)

  it("has a hash that source lines do not change and meaning does", function()
    local hash = core.parse(WHOLE):hash()
    assert.are.equal(hash, core.parse((WHOLE:gsub(" # [^\n]*", ""))):hash())
    assert.are_not.equal(hash, core.parse((WHOLE:gsub("value=%-0.5", "value=0.5"))):hash())
    assert.are_not.equal(hash, core.parse((WHOLE:gsub("descending=1", "descending=0"))):hash())
  end)

  it("has no other hash where it tells more", function()
    local plain = WHOLE:gsub(" batch 1\n", "\n"):gsub(' module ".-a\\""', "")
      :gsub("\nloss %%%d+", "")
      :gsub("\ngrad [^\n]*", "")
    local g = core.parse(plain)
    assert.are.equal(core.parse(WHOLE):hash(), g:hash())
    for _, word in ipairs { "%] batch %d", "module", "loss %%", "grad %%" } do
      assert.is_nil(g:text():find(word), word)
    end
  end)

  it("tells of losses and gradients only where they are needed", function()
    local text = core.parse [[
graph
input %0 state "w" f32[2]
%1 = exp(%0) : f32[2]
%2 = sum(%0) {dims=[1]} : f32[]
%3 = neg(%0) : f32[2]
output %3 ""
loss %2
grad %1 of %0
grad %3 of %0
]]:text()
    assert.is_nil(text:find("loss", 1, true))
    assert.are.equal("grad %1 of %0", text:match "grad [^\n]*")
    assert.is_nil(text:match "grad.*grad")
  end)

  it("leaves out nodes that nothing needs", function()
    local g = core.parse [[
graph
input %0 arg "x" f32[2]
%1 = exp(%0) : f32[2]
%2 = neg(%0) : f32[2]
output %2 "y"
]]
    assert.is_nil(g:text():find("exp", 1, true))
    assert.is_truthy(g:text():find('input %0 arg "x" f32[2]', 1, true))
  end)

  it("accepts blanks, carriage returns and empty lines between parts", function()
    local loose = 'graph\r\n\n  input  %0  arg  "x"  f32[ 2 ]\n\t%1=neg( %0 ):f32[2]\noutput %1 "y"'
    assert.is_truthy(core.parse(loose):text():find("neg(%0)", 1, true))
  end)

  it("prints each float with the digits that give it back", function()
    local r = engine.random(7)
    for _ = 1, engine.times(300) do
      local bits = r:bits() & 0xffffffff
      local value = string.unpack("<f", string.pack("<I4", bits))
      if value == value and math.abs(value) ~= math.huge then
        local text = ('graph\n%%0 = const() {value=%.17g, dims=[], dtype=f32} : f32[]\n'
          .. 'output %%0 ""\n'):format(value)
        local again = core.parse(core.parse(text):text())
        assert.are.equal(value, engine.values(again:eval({})[1])[1])
      end
    end
  end)
end)

-- ---- hostile text

local HEAD = 'graph\ninput %0 arg "x" f32[2, 3]\n'
local LONG = ("9"):rep(400)

-- Each: what is wrong, the text, and a part of the message.
local BAD = {
  { "no text", "", "'graph' expected" },
  { "another first word", "grap\n", "'graph' expected" },
  { "an unknown statement", HEAD .. "frobnicate\n", "unknown line" },
  { "an unknown op", HEAD .. "%1 = frob(%0) : f32[2, 3]\n", "'frob' is not an op" },
  { "an unknown dtype", 'graph\ninput %0 arg "x" f33[2]\n', "'f33' is not a dtype" },
  { "a missing input", HEAD .. "%1 = exp(%7) : f32[2, 3]\n", "not defined" },
  { "an input used before it is made",
    HEAD .. "%1 = exp(%2) : f32[2, 3]\n%2 = exp(%0) : f32[2, 3]\n", "not defined" },
  { "a number given twice", HEAD .. "%0 = exp(%0) : f32[2, 3]\n", "twice" },
  { "too few inputs", HEAD .. "%1 = add(%0) : f32[2, 3]\n", "line 3" },
  { "too many inputs", HEAD .. "%1 = exp(%0, %0) : f32[2, 3]\n", "line 3" },
  { "no inputs", HEAD .. "%1 = concat() {dim=1} : f32[2, 3]\n", "line 3" },
  { "a wrong type", HEAD .. "%1 = exp(%0) : f32[3, 2]\n", "not the type in the text" },
  { "a wrong dtype", HEAD .. "%1 = exp(%0) : f64[2, 3]\n", "not the type in the text" },
  { "no type", HEAD .. "%1 = exp(%0)\n", "':' expected" },
  { "a missing attribute", HEAD .. "%1 = sum(%0) : f32[2]\n", "'{' expected" },
  { "an unknown attribute", HEAD .. "%1 = sum(%0) {dim=[1]} : f32[3]\n", "'dims' expected" },
  { "attributes without an end", HEAD .. "%1 = sum(%0) {dims=[1] : f32[3]\n", "'}' expected" },
  { "an axis of 0", HEAD .. "%1 = sum(%0) {dims=[0]} : f32[3]\n", "count from 1" },
  { "an axis beyond the rank", HEAD .. "%1 = sum(%0) {dims=[3]} : f32[3]\n", "line 3" },
  { "an axis given twice", HEAD .. "%1 = sum(%0) {dims=[1, 1]} : f32[3]\n", "line 3" },
  { "a permutation that is none", HEAD .. "%1 = permute(%0) {dims=[1, 1]} : f32[2, 2]\n",
    "line 3" },
  { "a huge axis", HEAD .. "%1 = sum(%0) {dims=[9223372036854775807]} : f32[3]\n", "line 3" },
  { "a number that is none",
    HEAD .. "%1 = pad(%0) {lo=[0, 0], hi=[0, 0], value=zero} : f32[2, 3]\n", "a number expected" },
  { "an integer too large", HEAD .. "%" .. LONG .. " = exp(%0) : f32[2, 3]\n", "integer expected" },
  { "a dim too large", "graph\ninput %0 arg \"x\" f32[" .. LONG .. "]\n", "too large" },
  { "more elements than can be", 'graph\ninput %0 arg "x" f32[4294967296, 4294967296]\n',
    "line 2" },
  { "a negative dim", 'graph\ninput %0 arg "x" f32[-2]\n', "line 2" },
  { "a symbol that is not declared", 'graph\ninput %0 arg "x" f32[never]\n', "not declared" },
  { "more dims than the most", 'graph\ninput %0 arg "x" f32[1,1,1,1,1,1,1,1,1,1,1,1,1]\n',
    "more than 12 dims" },
  { "a string without an end", 'graph\ninput %0 arg "x f32[2]\n', "has no end" },
  { "an unknown escape", 'graph\ninput %0 arg "\\q" f32[2]\n', "unknown escape" },
  { "a zero byte in a string", 'graph\ninput %0 arg "\\x00" f32[2]\n', "unknown escape" },
  { "a batch that is no dim", 'graph\ninput %0 arg "x" f32[2] batch 2\n',
    "line 2, column 32: batch: 'x' has no dim 2" },
  { "a batch of 0", 'graph\ninput %0 arg "x" f32[2] batch 0\n',
    "line 2, column 32: dims count from 1" },
  { "a batch of nothing", 'graph\ninput %0 arg "x" f32[2] batch\n', "line 2" },
  { "a batch of state", 'graph\ninput %0 state "w" f32[2] batch 1\n', "'w' is state" },
  { "a batch twice", 'graph\ninput %0 arg "x" f32[2] batch 1 batch 1\n', "line 2" },
  { "a module without a path", 'graph\ncomposite @1 "a" in @0 module # a.lua:1\n',
    "line 2, column 31" },
  { "a module of a node", HEAD .. '%1 = exp(%0) : f32[2, 3] module "a"\n', "line 3" },
  { "a path without an end", 'graph\ncomposite @1 "a" in @0 module "b\n', "has no end" },
  { "a loss that is no scalar", HEAD .. "loss %0\n",
    "line 3, column 8: loss: it is not a single float" },
  { "a loss that is no float", 'graph\ninput %0 arg "x" i32[]\nloss %0\n', "not a single float" },
  { "a loss that is not there", HEAD .. "loss %7\n", "not defined" },
  { "a loss and more", 'graph\ninput %0 arg "x" f32[]\nloss %0 %0\n', "line 3" },
  { "a gradient of another type", HEAD .. "%1 = sum(%0) {dims=[2]} : f32[2]\ngrad %1 of %0\n",
    "line 4, column 14: grad: a gradient has the type" },
  { "an effect without a node", HEAD .. "effect\n", "unknown line" },
  { "an effect that is no i32", HEAD .. "effect %0\n",
    "line 3, column 10: effect: the node is no effect" },
  { "a channel without quotes", 'graph\ninput %0 arg "x" i32[]\neffect %0 comm\n',
    "line 3, column 11" },
  { "two last effects of a channel",
    'graph\ninput %0 arg "x" i32[]\neffect %0 "a"\neffect %0 "a"\n',
    "line 4, column 14: the channel 'a' has its last effect already" },
  { "two last effects of the host", 'graph\ninput %0 arg "x" i32[]\neffect %0\neffect %0 "host"\n',
    "the channel 'host' has its last effect" },
  { "an effect of two channels",
    'graph\ninput %0 arg "x" i32[]\n%1 = print(%0) {text="a"} : i32[]\n'
    .. '%2 = print(%1) {text="b"} : i32[]\neffect %2 "a"\neffect %1\n', "V16" },
  { "a gradient of nothing", HEAD .. "grad %0\n", "'of' expected" },
  { "a gradient of what is not there", HEAD .. "grad %0 of %3\n", "not defined" },
  { "a kind of input that is none", 'graph\ninput %0 weight "x" f32[2]\n', "'arg' expected" },
  { "shapes that do not fit", HEAD .. "%1 = dot(%0, %0) : f32[2, 3]\n", "line 3" },
  { "dtypes that do not fit", HEAD .. "%1 = logical_not(%0) : bool[2, 3]\n", "line 3" },
  { "a reshape that loses elements", HEAD .. "%1 = reshape(%0) {dims=[5]} : f32[5]\n", "line 3" },
  { "a slice outside", HEAD
    .. "%1 = slice(%0) {start=[0, 0], stop=[2, 4], step=[1, 1]} : f32[2, 4]\n", "line 3" },
  { "a step of 0",
    HEAD .. "%1 = slice(%0) {start=[0, 0], stop=[2, 3], step=[1, 0]} : f32[2, 3]\n", "line 3" },
  { "a window larger than the dim", HEAD
    .. "%1 = window(%0) {dims=[1], size=[3], stride=[1], dilation=[1]} : f32[0, 3, 3]\n",
    "line 3" },
  { "a window of overflowing extent", HEAD .. "%1 = window(%0) {dims=[1], "
    .. "size=[9223372036854775807], stride=[1], dilation=[9223372036854775807]} : f32[0, 3, 3]\n",
    "line 3" },
  { "a constant that its dtype cannot hold",
    "graph\n%0 = const() {value=0.1, dims=[], dtype=f32} : f32[]\noutput %0 \"\"\n", "V8" },
  { "an output of nothing", HEAD .. 'output %9 "y"\n', "not defined" },
  { "an assign to an argument", HEAD .. "assign %0 = %0\n", "line 3" },
  { "an assign of another shape",
    'graph\ninput %0 state "s" f32[2]\ninput %1 arg "x" f32[3]\nassign %0 = %1\n', "line 4" },
  { "a composite in one that is not there", 'graph\ncomposite @1 "a" in @5\n', "not defined" },
  { "a node in a composite that is not there", HEAD .. "%1 = exp(%0) : f32[2, 3] @4\n",
    "not defined" },
  { "a source line that is none", HEAD .. "%1 = exp(%0) : f32[2, 3] # a.lua:-4\n", "no such line" },
  { "text behind a statement", HEAD .. 'output %0 "y" again\n', "unexpected text" },
  { "a dim declared with another range", "graph\ndim a 1 64 8\ndim a 1 64 16\n", "declared twice" },
}

describe("hostile text", function()
  for _, row in ipairs(BAD) do
    it("is refused: " .. row[1], function()
      local e = engine.failure(core.parse, row[2])
      assert.is_not_nil(e, "it was accepted")
      assert.is_truthy(e.message:find(row[3], 1, true), e.message)
      assert.is_truthy(e.code:find("^SGL_E"), e.code)
    end)
  end

  it("names the line and the column", function()
    local e = engine.failure(core.parse, HEAD .. "%1 = exp(%0) : f32[2, 3] !\n")
    assert.is_truthy(e.message:find("line 3, column 26", 1, true), e.message)
  end)

  it("gives an error or a graph for every beginning of a text", function()
    for n = 0, #WHOLE do
      local ok, g = pcall(core.parse, WHOLE:sub(1, n))
      if ok then assert.is_true(g:verify()) end
    end
  end)

  it("is refused at any depth without exhausting the stack", function()
    local deep = { "graph\n" }
    for i = 1, 20000 do deep[i + 1] = ('composite @%d "r" in @%d\n'):format(i, i - 1) end
    local g = core.parse(table.concat(deep))
    assert.are.equal("graph\n", g:text())
    local brackets = 'graph\ninput %0 arg "x" f32' .. ("["):rep(100000) .. "\n"
    assert.is_not_nil(engine.failure(core.parse, brackets))
  end)
end)

describe("a chain that uses each node twice, 64 deep", function()
  local function chain(depth)
    local graph = engine.capture(function(x)
      for _ = 1, depth do x = x * x + x end
      return x
    end, { core.full({ 4 }, 0.25, "f32") })
    return graph
  end

  it("has a text whose size is linear in the depth", function()
    local half, whole = #chain(32):text(), #chain(64):text()
    assert.is_true(whole < 2.2 * half, ("%d against %d bytes"):format(whole, half))
    assert.is_true(whole < 64 * 200, whole .. " bytes")
  end)

  it("has a gradient whose size is linear in the depth, compiled within a second", function()
    local function gradient(depth)
      local graph = engine.capture(function(x)
        local y = x
        for _ = 1, depth do y = y * y + y end
        return core.apply("sum", y, {})
      end, { core.full({ 4 }, 0.01, "f64") })
      return graph:grad(1, { 1 })
    end
    local half, whole = gradient(32), gradient(64)
    assert.is_true(#whole:nodes() < 2.2 * #half:nodes())
    assert.is_true(#whole:text() < 2.2 * #half:text())
    local began = core.clock()
    local got = engine.values(whole:run({ core.full({ 4 }, 0.01, "f64") })[1])[1]
    assert.is_true(core.clock() - began < 1)
    local y, slope = 0.01, 1
    for _ = 1, 64 do y, slope = y * y + y, slope * (2 * y + 1) end
    assert.is_true(math.abs(got - slope) < 1e-12 * slope)
  end)
end)
