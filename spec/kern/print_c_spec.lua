-- print_c_spec.lua: printed C against the tile interpreter: a program's C file is compiled with the
-- system's compiler and run on the same inputs, and the outputs must have the same bits.
--
-- The values in that file are micro-ops read from the text of op.def and math.def; the interpreter's
-- loops are that text compiled. So this compares the two forms of each op, conversion and reduction,
-- and two readings of a kernel's loops. Of a NaN only that it is one is compared (expr.h).

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

-- Compares a graph's printed C with what it gives on the CPU. Returns an error's text.
local function compare(graph, args)
  local want = graph:run(args)
  local outputs = {}
  for i, t in ipairs(want) do
    outputs[i] = { bytes = #t:bytes() }
  end
  local got, message = run_c(graph:show "c", args, outputs)
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
end)
