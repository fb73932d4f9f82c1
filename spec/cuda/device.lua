-- device.lua: the simulated CUDA device (spec/sim/), for specs: how to run a script on it, and why
-- one cannot, where that is so.

local support = require "spec.support"

local M = {}

local folder = support.binary:gsub("[^/]*$", "spec/sim/")
M.driver = folder .. "libcuda.so.1"
-- NVRTC keeps what it has until the process ends, which a sanitizer would call a leak.
local ENV = "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 SGL_CUDA_IMAGE=ptx SGL_CUDA_DRIVER="

-- Output and status of a script, a text or a file, on the device.
function M.run(script, env, flags)
  local path = script
  if script:find "\n" then path = support.write(os.tmpname(), script) end
  return support.run(("cd %s && %s%s %s %s --device cuda %s %s"):format(support.root, ENV, M.driver,
    env or "", support.binary, flags or "", path))
end

function M.on_cpu(script, env)
  local path = script
  if script:find "\n" then path = support.write(os.tmpname(), script) end
  local out, status = support.run(("cd %s && %s %s %s"):format(support.root, env or "",
    support.binary, path))
  assert(status == 0, out)
  return out
end

-- Why there is no NVRTC; nil: there is.
local reason
function M.missing()
  if reason == nil then
    local out, status = M.run "local sgl = require 'sgl'\nprint(sgl.ones(2):sum():item())\n"
    reason = status ~= 0 and out:match "NVRTC, which compiles kernels, cannot be loaded[^\n]*"
    assert(status == 0 or reason, out)
  end
  return reason or nil
end

-- As `it`, but skipped where there is no NVRTC.
function M.it(it, pending, name, body)
  it(name, function()
    if M.missing() then return pending(M.missing()) end
    body()
  end)
end

-- The lines of a log of the simulator, counted by their first word.
function M.counts(path)
  local n = setmetatable({}, { __index = function() return 0 end })
  for line in io.lines(path) do
    local word = line:match "%w+"
    n[word] = n[word] + 1
  end
  return n
end

return M
