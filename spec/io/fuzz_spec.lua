-- fuzz_spec.lua: every parser against thousands of damaged inputs: an error of ours or a value that
-- holds what its format promises, in bounded memory; never a crash.
--
-- SGL_SEED  the seed of the run; it is printed, so a failure can be had again
-- SGL_FUZZ  inputs for each parser (default 3,000)
-- A failing input is kept in a file that the message names.

local core = require "sgl.core"
local cases = require "spec.op_cases"
local engine = require "spec.engine"
local entries = require "spec.entries"
local onnx = require "spec.onnx.model"
local random_graph = require "spec.random_graph"
local read_onnx = require "sgl.onnx.read"

local COUNT = math.tointeger(tonumber(os.getenv("SGL_FUZZ"))) or engine.times(3000)
local MOST_BYTES = 256 * 2 ^ 20     -- no damaged input of a few KB may need more

-- ---- mutations

local NUMBERS = { "0", "-1", "1", "255", "65536", "2147483648", "4294967295", "9223372036854775807",
                  "-9223372036854775808", "99999999999999999999", "1e309", "nan", "0x10", "" }
local BYTES = { "\0", "\255", "\127", "\128", "\n", " ", '"', "%", "{", "[", ",", "\r", "1", "\8" }

local MUTATIONS = {
  function(s, r)                                  -- one bit
    local at = r:int(1, #s)
    return s:sub(1, at - 1) .. string.char(s:byte(at) ~ 1 << r:int(0, 7)) .. s:sub(at + 1)
  end,
  function(s, r)                                  -- one byte
    local at = r:int(1, #s)
    return s:sub(1, at - 1) .. r:pick(BYTES) .. s:sub(at + 1)
  end,
  function(s, r)                                  -- something cut out
    local at = r:int(1, #s)
    return s:sub(1, at - 1) .. s:sub(at + r:int(1, 8))
  end,
  function(s, r) return s:sub(1, r:int(0, #s)) end,   -- the end cut off
  function(s, r)                                  -- a part twice
    local at = r:int(1, #s)
    local stop = at + r:int(0, 40)
    return s:sub(1, stop) .. s:sub(at)
  end,
  function(s, r)                                  -- two parts changed round
    local at = r:int(1, #s)
    return s:sub(at) .. s:sub(1, at - 1)
  end,
  function(s, r)                                  -- another number
    local found = {}
    for from, to in s:gmatch("()%-?%d+()") do found[#found + 1] = { from, to } end
    if #found == 0 then return s .. r:pick(NUMBERS) end
    local place = r:pick(found)
    return s:sub(1, place[1] - 1) .. r:pick(NUMBERS) .. s:sub(place[2])
  end,
  function(s, r)                                  -- bytes put in
    local at = r:int(1, #s)
    return s:sub(1, at) .. r:pick(BYTES):rep(r:int(1, 20)) .. s:sub(at + 1)
  end,
}

local function mutated(r, s)
  for _ = 1, r:pick { 1, 1, 1, 2, 4 } do
    if #s > 0 then s = r:pick(MUTATIONS)(s, r) end
  end
  return s
end

-- ---- running

-- A file for who looks into a failure, so not one of those that go with the run.
local function keep(input)
  local name = os.tmpname() .. ".input"
  local file = assert(io.open(name, "wb"))
  file:write(input)
  file:close()
  return name
end

local function is_ours(e)
  return type(e) == "table" and type(e.code) == "string" and e.code:find("^SGL_E")
    and e.code ~= "SGL_EINTERN" and #e.message > 0
end

-- Feeds COUNT damaged copies of the seeds, or of what that function gives, to parse; `holds` checks
-- what it returned.
local function fuzz(name, seeds, parse, holds)
  it(("%s takes %d damaged inputs"):format(name, COUNT), function()
    io.write(("fuzz %s: SGL_SEED=%d\n"):format(name, engine.seed))
    io.flush()
    if type(seeds) == "function" then seeds = seeds() end
    local r, accepted = engine.random(engine.seed), 0
    local before = core.memory(true)
    for i = 1, COUNT do
      local input = mutated(r, r:pick(seeds))
      local ok, e = pcall(parse, input)
      if ok and e ~= nil then
        accepted = accepted + 1
        ok, e = pcall(holds, e, input)
        if not ok then error(("input %d, %s: %s"):format(i, keep(input), tostring(e)), 0) end
      elseif not ok and not is_ours(e) then
        error(("input %d, %s: %s"):format(i, keep(input), tostring(e)), 0)
      end
      if i % 500 == 0 then collectgarbage() end
    end
    assert(accepted < COUNT, "no input was refused")
    assert(core.memory().peak - before.live < MOST_BYTES, "a small input took much memory")
  end)
end

-- ---- graphs: what is accepted must verify, print, parse again, and run as the reference runs

-- How often a node runs its blocks, at most.
local function steps(n)
  if n.op == "scan" then return n.attrs.length[1] end
  return n.op == "loop" and n.attrs.max or 1
end

-- The largest number of elements that a node makes, blocks times their steps included, and the
-- smallest of a node.
local function elements(graph)
  local most, least, times = 0, math.huge, 1
  for _, n in ipairs(graph:nodes()) do
    local count = 1.0
    for _, d in ipairs(n.shape) do
      if type(d) ~= "number" then return math.huge end
      count = count * d
    end
    most, least, times = math.max(most, count), math.min(least, count), math.max(times, steps(n))
  end
  for _, block in ipairs(graph:blocks()) do
    local inner, small = elements(block)
    most, least = math.max(most, (inner + 1) * times), math.min(least, small)
  end
  return most, least
end

local function graph_holds(graph)
  assert(graph:verify())
  local text = graph:text()
  assert(core.parse(text):text() == text, "the text changed on the way")
  local most, least = elements(graph)
  if most > 5000 then return end
  local args = {}
  for i, input in ipairs(graph:inputs()) do
    args[i] = core.sample("smallint", i, input.shape, input.dtype)
  end
  -- Simplified first: a side that is never taken may hold a bad index.
  local reference, why = pcall(graph.eval, graph:pass("simplify"), args)
  local cpu, also = pcall(graph.run, graph, args)
  assert(reference or is_ours(why), tostring(why))
  assert(cpu or is_ours(also), tostring(also))
  -- Indices of a gather without results may go unread.
  if reference ~= cpu and least > 0 then
    error(("the reference says %s, the CPU %s"):format(reference and "ok" or tostring(why),
      cpu and "ok" or tostring(also)), 0)
  end
end

local function graph_seeds()
  local list = {}
  for seed = 1, 60 do list[seed] = random_graph.generate(seed).text end
  for _, op in ipairs { "cond", "scan", "loop", "assert" } do
    for _, text in ipairs(cases.texts[op]) do
      for _ = 1, 10 do list[#list + 1] = text end
    end
  end
  list[#list + 1] = [[
graph
dim fuzz_batch 8 64 8
composite @1 "loss" in @0 # train.lua:4
input %0 arg "x\x41" f32[fuzz_batch, 3] @1
%1 = reshape(%0) {dims=[fuzz_batch/8, 8, 3]} : f32[fuzz_batch/8, 8, 3] @1 # "a b":7
call @1(%0) = %1
output %1 "y"
]]
  return list
end

-- ---- data files

local CSV = {
  "a,b,c\n1,2,3\n4,5,6\n", "1;2.5;-3e4\n4;5;6", '"x","y ""z"""\r\n1,2\r\n', "1\n2\n3\n", "",
  "0.1,nan\ninf,-0\n", "# none\n1,2\n", " 1 , 2 \n3,4\n\n",
  'x,"a\nb"\n1,NA\n,"2"\n', "1e400,1e-400\n12345678901234567890,0.1e-1\n",
}

local scratch = os.tmpname()

-- What open(path, …) gives for a file of these bytes; raises where it gives nil.
local function as_file(input, open, ...)
  local file = assert(io.open(scratch, "wb"))
  file:write(input)
  file:close()
  local value, message, code = open(scratch, ...)
  if value == nil then error({ code = code, message = message }) end
  return value
end

-- All columns as numbers, where they are, and as texts.
local function read_csv(text, options)
  local opened = as_file(text, core.csv_open, options)
  local rows, count, names = core.csv_head(opened)
  local read = { rows = rows, count = count, names = names, texts = {} }
  local all = {}
  for i = 1, count do
    all[i] = i
    read.texts[i] = core.csv_texts(opened, i)
  end
  read.numbers = core.csv_numbers(opened, all, "f32", 0)
  return read
end

local function csv_holds(read)
  assert(read.numbers.shape[1] == read.rows and read.numbers.shape[2] == read.count)
  assert(#read.numbers:bytes() == 4 * read.rows * read.count)
  for _, list in ipairs(read.texts) do assert(#list == read.rows) end
  assert(not read.names or #read.names == read.count)
end

local IDX = {
  "\0\0\8\1\0\0\0\5abcde",
  "\0\0\8\3\0\0\0\2\0\0\0\2\0\0\0\3" .. ("x"):rep(12),
  "\0\0\12\1\0\0\0\2" .. ("\0\0\0\7"):rep(2),
  "\0\0\13\2\0\0\0\1\0\0\0\2" .. ("\63\128\0\0"):rep(2),
  "\0\0\14\1\0\0\0\1" .. ("\63\240\0\0\0\0\0\0"),
  "\0\0\8\0z",
}

local function tensor_holds(t)
  local bytes = { bool = 1, u8 = 1, f16 = 2, bf16 = 2, i32 = 4, f32 = 4, i64 = 8, f64 = 8 }
  assert(#t:bytes() == bytes[t.dtype] * engine.count(t.shape))
end

local function safetensors_seeds()
  local list = {}
  for i, dtype in ipairs(core.dtypes()) do
    assert(core.save({
      { "weight", core.sample("real", i, { 3, 2 }, dtype.name) },
      { "läbel \"q\"\\", core.sample("real", i, {}, dtype.name) },
      { "none", core.sample("real", i, { 0, 4 }, "f32") },
    }, { epoch = "3", ["a\nb"] = "\1" }, scratch))
    local file <close> = assert(io.open(scratch, "rb"))
    list[i] = file:read "a"
  end
  return list
end

local function safetensors_hold(list)
  for _, entry in ipairs(list) do
    assert(type(entry[1] or entry.name) == "string")
    local t = entry[2] or entry.tensor
    if not t then assert(type(entry[3] or entry.foreign) == "string") else tensor_holds(t) end
  end
end

local YAML = {
  "threads: 2\nenable: [cpu, cache]\nverify: false\n", "# none\n---\na: 'b c'\n...\n",
  'text: "a\\n\\x41"\nlist:\n- 1\n- two\n', "a: |\n  many\n  lines\nb: >\n  folded\n",
  "a: &x 1\nb: *x\n", "{a: 1, b: [2, 3]}", "",
}

local function read_yaml(input)
  local list, message, code = core.yaml(input)
  if not list then error({ code = code, message = message }) end
  return list
end

local function yaml_holds(list)
  for _, pair in ipairs(list) do
    assert(type(pair.key) == "string" and type(pair.value) == "string" and pair.line >= 1)
  end
end

local function gzip_seeds()
  local list = {}
  for i, text in ipairs { "hello\n", ("1,2,3\n"):rep(200), "" } do
    local plain = keep(text)
    local pipe = assert(io.popen("gzip -c " .. (i == 2 and "-1 " or "-9n ") .. plain, "r"))
    list[i] = pipe:read("a")
    pipe:close()
    os.remove(plain)
  end
  return list
end

-- ---- ONNX: what is accepted has names for what goes in and out, and is recorded or refused

local ONNX = {
  { nodes = { { "Gemm", { "x", "w", "b" }, { "h" }, { transB = 1, alpha = 0.5 } },
      { "Clip", { "h", "low" }, { "c" } }, { "Softmax", { "c" }, { "y" }, { axis = 1 } } },
    constants = { { "w", core.full({ 3, 4 }, 0.5, "f32") }, { "b", core.full({ 3 }, 1, "f32") },
      { "low", core.full({}, 0, "f32") } } },
  { nodes = { { "Shape", { "x" }, { "s" } }, { "Gather", { "s", "i" }, { "n" }, { axis = 0 } },
      { "Concat", { "n", "m" }, { "to" }, { axis = 0 } }, { "Reshape", { "x", "to" }, { "r" } },
      { "Slice", { "r", "i", "m", "i" }, { "t" } }, { "Pad", { "t", "p" }, { "y" },
      { mode = "reflect" } } },
    constants = { { "i", core.tensor({ 0 }, "i64") }, { "m", core.tensor({ -1 }, "i64") },
      { "p", core.tensor({ 1, 0, 1, 1 }, "i64") } } },
  { opset = 13, nodes = { { "Unsqueeze", { "x", "a" }, { "u" } }, { "Conv", { "u", "w" }, { "c" },
      { kernel_shape = { 3 }, pads = { 1, 1 }, strides = { 2 } } }, { "MaxPool", { "c" }, { "p" },
      { kernel_shape = { 2 }, ceil_mode = 1 } }, { "Resize", { "p", "", "z" }, { "y" },
      { mode = "linear" } } },
    constants = { { "a", core.tensor({ 1 }, "i64") }, { "w", core.full({ 2, 1, 3 }, 0.5, "f32") },
      { "z", core.tensor({ 1, 1, 2.5 }, "f32") } } },
  { nodes = { { "ReduceSum", { "x" }, { "s" }, { keepdims = 0 } }, { "Greater", { "s", "z" },
      { "g" } }, { "If", { "g" }, { "y" }, { then_branch = { inputs = {}, outputs = { "t" },
        nodes = { { "Add", { "x", "x" }, { "t" } } } }, else_branch = { inputs = {},
        outputs = { "e" }, nodes = { { "Constant", {}, { "e" }, { value_floats = { 1.5, 2.5 } } } }
      } } } },
    constants = { { "z", core.full({}, 0, "f32") } } },
}

local function onnx_seeds()
  local list = {}
  for i, o in ipairs(ONNX) do
    o.inputs, o.outputs = { { "x", "f32", { "n", 4 } } }, { "y" }
    list[i] = onnx.bytes(o)
  end
  return list
end

local function onnx_holds(model)
  for _, v in ipairs(model.inputs) do assert(type(v.name) == "string" and v.dtype) end
  for _, v in ipairs(model.outputs) do assert(type(v.name) == "string") end
  if #model.inputs ~= 1 then return end
  local ok, e = pcall(model.run, model, { core.full({ 2, 4 }, 1, "f32") })
  assert(ok or is_ours(e), tostring(e))
end

-- ---- entries of the folder of programs, whose tag is right: what they do is of the right dims, or
-- they are refused and the program is made anew

local ENTRY_BASE = [[
graph
composite @1 "halve" in @0
input %0 arg "x" f32[2, 3]
input %1 state "s" f32[2, 3]
%2 = const() {value=0.5, dims=[2, 3], dtype=f32} : f32[2, 3] @1
%3 = mul(%0, %2) : f32[2, 3] @1
%4 = add(%3, %1) : f32[2, 3]
%5 = sum(%4) {dims=[1]} : f32[3]
call @1(%0) = %3
output %5 "a"
assign %1 = %4
]]

local cache = os.tmpname()
os.remove(cache)

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

-- The graph's arguments, its entry's path, key and body, and the folder's key.
local function entry_of(text)
  local graph = core.parse(text)
  local args = {}
  for i, input in ipairs(graph:inputs()) do
    args[i] = core.sample("smallint", i, input.shape, input.dtype)
  end
  os.execute("rm -rf " .. cache)
  core.knob("cache_dir", cache)
  core.knob("cache_min_nodes", #graph:nodes())
  graph:run(args)
  local pipe = assert(io.popen(("ls %s/*.sgl"):format(cache)))
  local path = pipe:read "l"
  pipe:close()
  local file <close> = assert(io.open(path, "rb"))
  local key, body = entries.parts(file:read "a")
  return graph, args, path, key, body, entries.key_of(cache)
end

-- Is what the body's graph computes small? What is no graph is refused before it is run.
local function is_small(body)
  local ok, graph = pcall(core.parse, (body:match "\n(graph\n.*)" or body):gsub("%z.*", ""))
  return not ok or elements(graph) <= 5000
end

local function fuzz_entries(name, text)
  describe(name, function()
    local graph, args, path, key, good, mac
    setup(function() graph, args, path, key, good, mac = entry_of(text) end)
    teardown(function()
      core.knob("cache_dir", "")
      core.knob("cache_min_nodes", 256)
      os.execute("rm -rf " .. cache)
    end)
    fuzz(name, function() return { good } end, function(body)
      if not is_small(body) then return nil end
      write(path, entries.make(mac, key, body))
      local damaged = core.cache_stats().disk.damaged
      local out = graph:run(args)
      return core.cache_stats().disk.damaged == damaged and out or nil
    end, function(out)
      for k, want in ipairs(graph:outputs()) do
        assert(table.concat(out[k].shape, ",") == table.concat(want.shape, ","))
        tensor_holds(out[k])
      end
    end)
  end)
end

describe("a parser, fed with damage, #slow", function()
  teardown(function() os.remove(scratch) end)

  fuzz("graph text", graph_seeds(), core.parse, graph_holds)
  fuzz("CSV", CSV, function(s) return read_csv(s, {}) end, csv_holds)
  fuzz("CSV with a header", CSV, function(s)
    return read_csv(s, { header = true, separator = ";" })
  end, csv_holds)
  fuzz("IDX", IDX, function(s) return core.load(s, "fuzz.idx")[1][2] end, tensor_holds)
  fuzz("safetensors", safetensors_seeds(), function(s)
    return core.load(s, "fuzz.safetensors")
  end, safetensors_hold)
  fuzz("safetensors in a file", safetensors_seeds(), function(s)
    return as_file(s, core.open, "safetensors")
  end, safetensors_hold)
  fuzz("ONNX", onnx_seeds, function(s) return as_file(s, read_onnx) end, onnx_holds)
  fuzz("YAML", YAML, read_yaml, yaml_holds)
  fuzz("gzip", gzip_seeds(), function(s) return as_file(s, core.read) end,
    function(text) assert(#text < 2 ^ 20) end)
  fuzz_entries("an entry on disk", ENTRY_BASE)
  fuzz_entries("an entry on disk with a cond", cases.texts.cond[1])
  fuzz_entries("an entry on disk with a loop", cases.texts.loop[1])
  fuzz_entries("an entry on disk with an assertion", cases.texts.assert[1])
end)
