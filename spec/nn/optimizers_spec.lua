-- optimizers_spec.lua: twelve steps of every optimizer with all its options, and the rates of every
-- schedule, are PyTorch's, from fixtures/make_optimizers.py.

local sgl = require "sgl"
local support = require "spec.support"
local optim = sgl.optim

local dict, metadata = sgl.load(support.root .. "spec/fixtures/optimizers.safetensors")
local STEPS = dict.gp.shape[1]

local function evaluate(text, names, ...)
  local env = setmetatable({ optim = optim }, { __index = _G })
  return assert(load(("local %s = ... return %s"):format(names, text), "=" .. text, "t", env))(...)
end

-- The parameters after each step, side by side, compiled or not.
local function path(text, compile)
  local p, q = sgl.nn.parameter(dict.p:clone()), sgl.nn.parameter(dict.q:clone())
  local opt, list = evaluate(text, "p, q", p, q), {}
  local step = compile(function(gp, gq) opt:step { gp, gq } end)
  for i = 1, STEPS do
    step(dict.gp[i], dict.gq[i])
    list[i] = sgl.cat { p, q:flatten() }:realize()
  end
  return sgl.stack(list)
end

local CHECKS = {
  optimizer = function(text, want)
    local got = path(text, function(fn) return fn end)
    support.close(got, want, 1e-5, 1e-7, text)
    assert.are.equal(got:bytes(), path(text, sgl.compile):bytes())
  end,
  schedule = function(text, want)
    local schedule, rates = evaluate(text, "_"), {}
    for i = 1, want:numel() do rates[i] = schedule:at(i - 1) end
    support.close(rates, want:tolist(), 3e-6, 1e-7 * want:max():item(), text)
  end,
  plateau = function(text, want)
    local opt = optim.SGD({ sgl.zeros(1) }, { lr = 0.1 })
    local plateau, rates, before = evaluate(text, "o", opt), {}, 0.1
    for i, v in ipairs(dict.values:tolist()) do
      local lowered = plateau:update(v)
      rates[i] = opt:lr()
      assert.are.equal(rates[i] < before - 1e-9, lowered)
      before = rates[i]
    end
    support.close(rates, want:tolist(), 1e-6, 1e-9, text)
  end,
}

describe("as PyTorch computes it:", function()
  for line in metadata.rows:gmatch "[^\n]+" do
    local number, kind, text = line:match "^(%d+)|(%w+)|(.*)$"
    it(text, function() CHECKS[kind](text, dict[number]) end)
  end
end)
