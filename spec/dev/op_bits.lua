-- op_bits.lua: prints the bits of every op of the table in each case and dtype, of its gradients,
-- and of control flow and effects: a line each. device_spec.lua compares the lines of two backends.
-- Ranks exchange values of the host's memory alone.

local core = require "sgl.core"
local cases = require "spec.op_cases"
local engine = require "spec.engine"

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
        local args = cases.sample(op, case, dtype.name)
        local ok, graph = pcall(engine.capture, case.fn, args)
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
