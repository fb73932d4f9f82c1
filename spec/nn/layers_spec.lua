-- layers_spec.lua: layers, losses and functions of layers give PyTorch's values, gradients of
-- inputs and parameters, second derivatives and buffers, with all their options, from
-- fixtures/make_layers.py. KEPT lists what differs on purpose; each row stands in docs/numerics.md
-- with its reason.

local fixture = require "spec.fixture"

local rows = fixture.load "layers"

-- { the expression, what and where, why }, both patterns.
local KEPT = {
  { "[pP]ool2d%(.*2", "^d1 at .*nan", "a NaN in a window: NaN for all of it" },
  { "^nn%.max_pool%dd%(x, 2", "^d1 at ", "equal elements of a window: equal shares" },
  { '^nn%.kl_div%(x, y, { reduction = "none" }', "^[yd][12] at .*, 0%): 0, ",
    "0 for a target of 0" },
}

describe("PyTorch's values and derivatives of", function()
  for _, row in ipairs(rows) do
    it(("%s on %s"):format(row.text, row.inputs), function()
      fixture.check(row, rows.dict, "f64", KEPT)
      fixture.check(row, rows.dict, "f32", KEPT)
    end)
  end

  it("what is kept", function()
    for _, k in ipairs(KEPT) do assert.is_true(k.found == true, k[1] .. "  " .. k[2]) end
  end)
end)
