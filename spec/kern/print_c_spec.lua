-- print_c_spec.lua: printed C against the tile interpreter: a program's C file is compiled with the
-- system's compiler and run on the same inputs, and the outputs must have the same bits.
--
-- The values in that file are micro-ops read from the text of op.def and math.def; the loops of the
-- interpreter are that text compiled. So this compares the two forms of each op, conversion and
-- reduction, and two readings of a kernel's loops. Of a NaN only that it is one counts (expr.h).

local core = require "sgl.core"
local engine = require "spec.engine"
local random_graph = require "spec.random_graph"

local apply, sample = core.apply, core.sample
local DTYPES = { "bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64" }
local BYTES = { bool = 1, u8 = 1, i32 = 4, i64 = 8, f16 = 2, bf16 = 2, f32 = 4, f64 = 8 }
local MAIN = engine.root .. "spec/kern/print_c_main.c"
local RUN = "cc -O1 -ffp-contract=off -w -o %sprogram %sprogram.c %s -lm && %sprogram %sin %sout"

local function sh(command)
  local pipe = assert(io.popen(command .. " 2>&1; echo status $?"))
  local text = pipe:read("a")
  pipe:close()
  return text:match("^(.*)status (%d+)\n$")
end

local folder
local have_cc = select(2, sh("cc --version")) == "0"

local function write(name, text)
  local f = assert(io.open(folder .. name, "wb"))
  assert(f:write(text))
  f:close()
end

-- Runs the C text on tensors; the bytes of the outputs of these dtypes and counts.
local function run_c(text, args, outputs)
  local sizes, data, total = {}, {}, 0
  for i, t in ipairs(args) do
    data[i] = t:bytes()
    sizes[i] = string.pack("<i8", #data[i])
  end
  for i, o in ipairs(outputs) do
    sizes[#args + i] = string.pack("<i8", o.bytes)
    total = total + o.bytes
  end
  write("program.c", text)
  write("in", string.pack("<i8i8", #args, #outputs) .. table.concat(sizes) .. table.concat(data))
  local said, status = sh(RUN:format(folder, folder, MAIN, folder, folder, folder))
  if status ~= "0" then return nil, ("status %s: %s"):format(status, said) end
  local f = assert(io.open(folder .. "out", "rb"))
  local bytes, list, at = f:read("a"), {}, 1
  f:close()
  for i, o in ipairs(outputs) do
    list[i] = bytes:sub(at, at + o.bytes - 1)
    at = at + o.bytes
  end
  return list
end

-- nil where the bytes are equal, NaNs aside; else a sentence.
local function difference(got, want, dtype)
  if got == want then return nil end
  local size = BYTES[dtype]
  local a, b = engine.unpack(got, dtype), engine.unpack(want, dtype)
  for i = 1, #b do
    local x, y = got:sub((i - 1) * size + 1, i * size), want:sub((i - 1) * size + 1, i * size)
    if x ~= y and not (a[i] ~= a[i] and b[i] ~= b[i]) then
      return ("element %d is %s instead of %s"):format(i, a[i], b[i])
    end
  end
  return #got ~= #want and "another size" or nil
end

-- Compares a graph's printed C with what it gives on the CPU. Returns an error's text. A fault is
-- planted by { pattern, replacement }.
local function compare(graph, args, fault)
  local want = graph:run(args)
  local outputs = {}
  for i, t in ipairs(want) do
    outputs[i] = { bytes = #t:bytes() }
  end
  local text, found = graph:show "c", 1
  if fault then text, found = text:gsub(fault[1], fault[2]) end
  assert(found > 0, "the text to be changed is not there")
  local got, message = run_c(text, args, outputs)
  if not got then return message end
  for i, t in ipairs(want) do
    local wrong = difference(got[i], t:bytes(), t.dtype)
    if wrong then return ("output %d: %s"):format(i, wrong) end
  end
end

-- Values of all kinds where the dtype has them.
local function argument(op, i, dtype, n)
  if op.family == "select" and i == 1 then return sample("smallint", i, { n }, "bool") end
  return sample(engine.is_float(dtype) and "anything" or "real", op.inputs + i, { n }, dtype)
end

local function takes(op, dtype)
  local class = engine.is_float(dtype) and "float" or dtype == "bool" and "bool" or "int"
  for _, t in ipairs(op.types) do
    if t == class or t == dtype then return true end
  end
  return false
end

describe("printed C #slow", function()
  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    folder = folder .. "/"
  end)
  teardown(function() os.execute("rm -r " .. folder) end)

  local function it_with_cc(title, fn)
    it(title, function()
      if not have_cc then return pending("there is no C compiler called cc") end
      fn()
    end)
  end

  for _, dtype in ipairs(DTYPES) do
    it_with_cc("has the bits of every elementwise op of " .. dtype, function()
      local args, count, ops = {}, 0, {}
      for _, op in ipairs(core.ops()) do
        local elementwise = ("unary binary test compare select"):find(op.family, 1, true)
        if elementwise and takes(op, dtype) then
          local first = #args
          for i = 1, op.inputs do args[first + i] = argument(op, i, dtype, 2003) end
          count, ops[#ops + 1] = count + 1, { op = op, first = first }
        end
      end
      local graph = engine.capture(function(...)
        local out, list = {}, { ... }
        for i, o in ipairs(ops) do
          out[i] = apply(o.op.name, { table.unpack(list, o.first + 1, o.first + o.op.inputs) })
        end
        return out
      end, args)
      assert.is_true(count > 5)
      local wrong = compare(graph, args)
      assert(not wrong, wrong and wrong:gsub("output (%d+)", function(i)
        return ops[tonumber(i)].op.name
      end))
    end)
  end

  for _, dtype in ipairs(DTYPES) do
    it_with_cc("has the bits of every conversion from " .. dtype, function()
      local args = { sample(engine.is_float(dtype) and "anything" or "real", 3, { 2003 }, dtype) }
      local graph = engine.capture(function(x)
        local out = {}
        for i, to in ipairs(DTYPES) do out[i] = apply("cast", x, { dtype = to }) end
        return out
      end, args)
      local wrong = compare(graph, args)
      assert(not wrong, wrong)
    end)
  end

  -- Rows shorter and longer than 32 lanes, a tile, a chunk; columns around a block.
  local SHAPES = { { 1 }, { 31 }, { 32 }, { 33 }, { 5000 }, { 16385 }, { 40, 70 }, { 129, 40 },
                   { 300, 7 }, { 3, 5, 7 }, { 20000, 3 } }
  local REDUCTIONS = { "sum", "prod", "reduce_max", "reduce_min", "argmax", "argmin" }

  for _, dtype in ipairs { "bool", "u8", "i32", "i64", "bf16", "f32", "f64" } do
    it_with_cc("has the bits of every reduction of " .. dtype, function()
      local args = {}
      for i, shape in ipairs(SHAPES) do args[i] = sample("real", i, shape, dtype) end
      local graph = engine.capture(function(...)
        local out = {}
        for _, x in ipairs { ... } do
          for dim = 1, #x.shape do
            for _, name in ipairs(REDUCTIONS) do
              out[#out + 1] = apply(name, x, { dims = { dim } })
            end
          end
        end
        return out
      end, args)
      local wrong = compare(graph, args)
      assert(not wrong, wrong)
    end)
  end

  it_with_cc("has the bits of reductions in blocks", function()
    local args = {}
    for i, shape in ipairs(SHAPES) do args[i] = sample("real", i, shape, "f32") end
    local graph = engine.capture(function(...)
      local out = {}
      for _, x in ipairs { ... } do
        for dim, n in ipairs(x.shape) do
          for _, blocks in ipairs { 2, 3, 7 } do
            local attrs = { dims = { dim }, blocks = blocks, units = n }
            if blocks <= n then out[#out + 1] = apply("sum", x, attrs) end
          end
        end
      end
      return out
    end, args)
    local wrong = compare(graph, args)
    assert(not wrong, wrong)
  end)

  -- Graphs whose steps are all kernels: those with others are passed over.
  it_with_cc(("has the bits of random graphs, from seed %d"):format(engine.seed), function()
    local left, seed = engine.times(400), engine.seed
    while left > 0 do
      local made = random_graph.generate(seed)
      local graph = core.parse(made.text)
      if not graph:show "c":find("rc = other", 1, true) then
        local wrong = compare(graph, made.args)
        if wrong then error(("seed %d: %s\n%s"):format(seed, wrong, made.text), 0) end
        left = left - 1
      end
      seed = seed + 1
    end
  end)

  local FAULTS = {
    { "a constant of a polynomial", "0x1.555554p%-3f", "0x1.555556p-3f" },
    { "the length of a chunk", "16384", "8192" },
    { "the length of a block", "128", "64" },
    { "where lanes start", "%-0%.0", "0.0" },
    { "a rounding to 16 bits", "= cast_f32_to_bf16%((v%d+ %* v%d+)%)", "= %1" },
    { "a saturating conversion", "INT32_MIN", "0" },
  }
  for _, fault in ipairs(FAULTS) do
    it_with_cc("differs where it should: " .. fault[1], function()
      local x = sample("anything", 1, { 2, 17000 }, "f32")
      local y = sample("real", 2, { 300, 40 }, "f32")
      local zero = apply("abs", y) * -0.0
      local args = { x, y, zero, sample("real", 3, { 2, 17000 }, "f32") }
      local graph = engine.capture(function(a, b, c, d)
        local h = apply("cast", b, { dtype = "bf16" })
        return { apply("exp", a), apply("sum", d, { dims = { 2 } }),
                 apply("sum", b, { dims = { 1 } }), apply("sum", c, { dims = { 2 } }),
                 apply("cast", a, { dtype = "i32" }),
                 apply("cast", apply("mul", { h, h }) + h, { dtype = "f32" }) }
      end, args)
      assert.is_nil(compare(graph, args))
      assert.is_truthy(compare(graph, args, { fault[2], fault[3] }))
    end)
  end

  it_with_cc("of a step with products and blocks is C without a warning", function()
    local sgl = require "sgl"
    local w = sgl.randn(5, 5)
    local step = sgl.compile(function(x)
      local last = sgl.scan(function(h, row) h = (h + row:matmul(w)):tanh(); return h, h end,
        sgl.zeros(5), x)
      return last, sgl.rand(3), x:softmax(2):to "bf16"
    end)
    step(sgl.randn(4, 5))
    write("program.c", step:graph "c")
    local said, status = sh(("cc -std=c11 -O1 -ffp-contract=off -Wall -Wextra -Werror -c -o "
      .. "%sprogram %sprogram.c"):format(folder, folder))
    assert.are.equal("0", status, said)
  end)

  it("names what it leaves to the caller", function()
    local x = sample("real", 1, { 4, 5 }, "f32")
    local graph = engine.capture(function(a)
      return apply("dot", { a, apply("permute", a, { dims = { 2, 1 } }) })
    end, { x })
    local text = graph:show "c"
    assert.is_truthy(text:find("rc = other(0, b)) != 0) return rc; /* step 0 dot", 1, true), text)
  end)
end)
