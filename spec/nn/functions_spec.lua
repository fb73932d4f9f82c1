-- functions_spec.lua: values, first and second derivatives of every function on tensors are
-- PyTorch's, from fixtures/make_functions.py: at ordinary points, where functions have corners, at
-- ties, zeros, infinities and NaN, and at sizes 1 and 0. KEPT lists what differs on purpose; each
-- row stands in docs/numerics.md with its reason.

local fixture = require "spec.fixture"

local rows = fixture.load "functions"
-- { the expression, what and where }, both patterns; a third string is the reason.
local KEPT = {
  { "^x:mish%(%)", "^dd1 at .*%(800%)", "0 where the formula overflows" },
  { "^x %^ 0%.5", "^[yd]1 at .*%(%-inf%)", "pow is C's: (-inf)^0.5 = inf" },
  { "^x %^ 2%.5", "^dd1 at .*%(%-inf%)", "the same" },
  { "^x:mod%(y%)", "^d2 at .*inf", "the quotient is Lua's //, an infinity has no other" },
  { "^x %% y", "^d2 at .*inf", "the same" },
  { "^x:var%(2", "^d1 at %[[81]", "an infinity in a row: NaN for all" },
  { "^x:logsumexp%(2%)", "^d1 at %[9, ", "all -inf: 0" },
  { "^x:logsumexp%(2%)", "^d1 at %[1, .*1e%+200", "large equals: shares, not 1 each" },
  { "^x:norm%(0%.5, 2%)", "^d1 at .*%(0%)", "0 stays without gradient beside NaN and infinity" },
  { "^x:norm%(%-?math%.huge, 2%)", "^d1 at %[[67], ", "where a NaN is the norm, all get NaN" },
  { "^x:m[axin]+%(%)", "^d1 at ", "the same" },
  { "^x:cumprod%(2%)", "^d1 at ", "products with NaN or infinity" },
  { "^x:prod%(%)", "^d1 at ", "the same" },
  { "^x:median%(%)", "^d1 at .*%(nan%)", "to the first of equals, as along a dim" },
  { "^x:quantile%([01], 2%)", "^y1 at ", "an infinity at the end is the value there" },
}

describe("PyTorch's values and derivatives of", function()
  for _, row in ipairs(rows) do
    it(("%s on %s"):format(row.text, row.inputs), function()
      fixture.check(row, rows.dict, "f64", KEPT)
      if row.inputs ~= "huge" and not row.text:find "f64" then
        fixture.check(row, rows.dict, "f32", KEPT)
      end
    end)
  end

  for _, row in ipairs(rows) do
    if (row.inputs == "points" or row.inputs == "pairs") and not row.text:find "^sgl%.tensor" then
      it(row.text .. " on one element and on none", function()
        assert.are.same({}, fixture.parts(row, rows.dict))
      end)
    end
  end

  it("what is kept", function()
    for _, k in ipairs(KEPT) do assert.is_true(k.found == true, k[1] .. "  " .. k[2]) end
  end)
end)
