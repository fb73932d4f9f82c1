-- complete_spec.lua: every function on tensors, layer, loss, optimizer and schedule, and every
-- option of theirs, stands in a row of PyTorch's answers; what does not is listed here, with what
-- proves it instead.

local sgl = require "sgl"
local api = require "sgl.api"
local support = require "spec.support"

local FILES = { "functions", "layers", "optimizers" }
local MODULES = { sgl = true, nn = true, ["nn.functional"] = true, ["nn.init"] = true,
                  optim = true, ["optim.schedule"] = true }

local ELSEWHERE = {
  ["random numbers: spec/tensor/rng_spec.lua, spec/nn/nn_spec.lua"] = {
    "rand", "rand_like", "randn", "randn_like", "randint", "randperm", "bernoulli", "seed",
    "nn.init.uniform", "nn.init.normal", "nn.init.xavier_uniform", "nn.init.xavier_normal",
    "nn.init.kaiming_uniform", "nn.init.kaiming_normal", "nn.init.orthogonal",
  },
  ["what holds layers and parameters: spec/nn/nn_spec.lua, spec/nn/optim_spec.lua"] = {
    "nn.Module", "nn.module", "nn.parameter", "optim.Optimizer", "optim.schedule.Schedule",
    "optim.schedule.Plateau",
  },
  ["what is no function on tensors"] = {
    "Tensor", "backward", "is_tensor", "memory", "grad", "save", "load", "compile", "coverage",
    "dim", "spec", "cond", "scan", "loop", "print", "assert", "on", "on_graph_capture", "events",
    "counters", "lifecycle", "Compiled", "Coverage", "Spec", "Graph", "Listener", "Imported",
    "custom", "export", "import", "load_ops", "rollout", "Rollout",
    "ImportedOnnx", "mesh",
  },
}

-- Options that say what is made, not what is computed, or that stand in a case of their own.
local PLAIN = { dtype = true, init = true, dropout = true }

local function texts()
  local list = {}
  for _, file in ipairs(FILES) do
    local _, metadata = sgl.load(support.root .. "spec/fixtures/" .. file .. ".safetensors")
    for line in metadata.rows:gmatch "[^\n]+" do list[#list + 1] = line:match "([^|]*)$" end
  end
  return list
end

-- "sgl.sum" is said as :sum or sgl.sum, "nn.relu" as itself.
local function patterns(row)
  local name = row.full:gsub("^sgl%.", ""):gsub("^nn%.functional%.", "nn.")
  local plain = name:gsub("%.", "%%.")
  if name:find "%." then return name, { plain .. "%f[^%w_]" } end
  return name, { "[:.]" .. plain .. "%f[^%w_]" }
end

local function using(list, found)
  local some = {}
  for _, text in ipairs(list) do
    for _, pattern in ipairs(found) do
      if text:find(pattern) then
        some[#some + 1] = text
        break
      end
    end
  end
  return some
end

local function elsewhere()
  local names = {}
  for _, list in pairs(ELSEWHERE) do
    for _, name in ipairs(list) do names[name] = true end
  end
  return names
end

describe("PyTorch's answers", function()
  it("are there for every public function and option", function()
    local all, missing, skip = texts(), {}, elsewhere()
    for _, row in ipairs(api.all()) do
      local maker = row.kind ~= "method" and row.kind ~= "module"
      local name, found = patterns(row)
      if maker and MODULES[row.module] and not skip[name] then
        local some = using(all, found)
        if #some == 0 then missing[#missing + 1] = name end
        for _, opt in ipairs(#some > 0 and row.opts or {}) do
          if not PLAIN[opt[1]] and #using(some, { "%f[%w_]" .. opt[1] .. " =" }) == 0 then
            missing[#missing + 1] = ("%s { %s = … }"):format(name, opt[1])
          end
        end
      end
    end
    table.sort(missing)
    assert.are.equal("", table.concat(missing, "\n"), "add rows to spec/fixtures/make_*.py, or say "
      .. "in ELSEWHERE what proves it")
  end)

  it("leave out nothing that is not there", function()
    local known = {}
    for _, row in ipairs(api.all()) do known[(patterns(row))] = true end
    for name in pairs(elsewhere()) do assert.is_true(known[name], name) end
  end)
end)
