-- sizes.lua: what a change of the batch size costs under sgl.dim: the numbers of one program filled
-- in anew, nothing compiled.
--
--   sgl bench/sizes.lua
--
-- Out:   a line each: how many programs serve all sizes, and the least of several rounds of the
--        microseconds for a change; that of the numbers alone, and of a whole call beside one whose
--        size stays.

local sgl = require "sgl"
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local models = require "models"

local SIZES, ROUNDS = { 1, 2, 3, 4 }, 40

-- Seconds of calls one after the other: with sizes that change each time, and each size alone.
local function calls(step, inputs)
  local start = os.clock()
  for _, input in ipairs(inputs) do step(table.unpack(input)) end
  local changing = os.clock() - start
  local staying = 0
  for _, input in ipairs(inputs) do
    step(table.unpack(input))
    start = os.clock()
    step(table.unpack(input))
    staying = staying + os.clock() - start
  end
  return changing, staying
end

local function report(name, step, make)
  local inputs = {}
  for i, n in ipairs(SIZES) do inputs[i] = table.pack(make(n)) end
  calls(step, inputs)
  local numbers, changing, staying = math.huge, math.huge, math.huge
  for _ = 1, ROUNDS do
    local before = step:info()
    local a, b = calls(step, inputs)
    local after = step:info()
    local changes = after.bindings - before.bindings
    numbers = math.min(numbers, (after.bind_ms - before.bind_ms) / changes)
    changing, staying = math.min(changing, a / #inputs), math.min(staying, b / #inputs)
  end
  print(("%-10s %d program  numbers %7.1f us  a call %8.1f us, with a change %8.1f us"):format(name,
    step:info().specialisations, numbers * 1e3, staying * 1e6, changing * 1e6))
end

for _, name in ipairs { "mlp", "gpt-small" } do report(name, models.sized(name)) end
