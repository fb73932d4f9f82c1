-- op_bits.lua: prints the bits of every op of the table in each case and dtype, of its gradients,
-- and of control flow and effects: a line each. device_spec.lua compares the lines of two backends.
-- Ranks exchange values of the host's memory alone. OP_SHARE=n takes one case of n, and OP_ROUND=1
-- leaves out what passes through the C library, whose functions a device has of its own, and ops of
-- libraries, which are functions for the CPU.

local core = require "sgl.core"
local cases = require "spec.op_cases"
local engine = require "spec.engine"

local share, count = tonumber(os.getenv "OP_SHARE" or 1), 0
local LIBRARY = { tan = 1, asin = 1, acos = 1, atan = 1, sinh = 1, cosh = 1, atan2 = 1, fmod = 1,
  custom = 1, result = 1 }
local PLAIN = { f32 = 1, f16 = 1, bf16 = 1 }
local MATH = { exp = 1, exp2 = 1, expm1 = 1, log = 1, log2 = 1, log10 = 1, log1p = 1, sin = 1,
  cos = 1, tanh = 1, erf = 1, erfc = 1, pow = 1, sigmoid = 1, softplus = 1, logaddexp = 1,
  lgamma = 1, digamma = 1 }
local function wanted(op, dtype)
  count = count + 1
  if count % share ~= 0 then return false end
  if not os.getenv "OP_ROUND" then return true end
  return not LIBRARY[op] and (PLAIN[dtype] or not MATH[op])
end

-- FNV-1a over the words of a tensor.
local function hash(t)
  local bytes, h = t:bytes(), 0xcbf29ce484222325
  bytes = bytes .. ("\0"):rep(-#bytes % 8)
  for at = 1, #bytes, 8 do h = (h ~ string.unpack("<i8", bytes, at)) * 0x100000001b3 end
  return ("%016x"):format(h)
end

local function show(name, list)
  local texts = {}
  for i, t in ipairs(list) do texts[i] = hash(t) end
  io.write(name, "\t", table.concat(texts, " "), "\n")
end

-- The gradients of the sum of the op's result, where it has any.
local function gradients(case, args)
  local wrt = {}
  for i, t in ipairs(args) do
    if engine.is_float(t.dtype) then wrt[#wrt + 1] = i end
  end
  if #wrt == 0 then return {} end
  return engine.capture(function(...)
    return core.apply("sum", { case.fn(...) }, {})
  end, args):grad(1, wrt):run(args)
end

for _, op in ipairs(core.ops()) do
  if op.family ~= "comm" and not cases.texts[op.name] then
    for _, case in ipairs(cases.cases(op)) do
      for _, dtype in ipairs(core.dtypes()) do
        local taken = wanted(op.name, dtype.name)
        local args = taken and cases.sample(op, case, dtype.name)
        local ok, graph = pcall(taken and engine.capture or error, case.fn, args)
        local name = ("%s %s %s"):format(op.name, case.title, dtype.name)
        local out = ok and graph:run(args)
        if ok then show(name, out) end
        if ok and op.differentiable and engine.is_float(out[1].dtype) then
          show(name .. " gradients", gradients(case, args))
        end
      end
    end
  else
    for k, text in ipairs(cases.texts[op.name] or {}) do
      local graph, args = core.parse(text), {}
      for i, input in ipairs(graph:inputs()) do
        args[i] = core.sample(op.name == "rand" and "rngstate" or "real", i, input.shape,
          input.dtype)
      end
      show(op.name .. " " .. k, graph:run(args))
    end
  end
end
