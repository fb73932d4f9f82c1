-- fixture.lua: rows of PyTorch's answers, as spec/fixtures/fixture.py writes them, and what sgl
-- says of the same expressions.
--
-- In:    a file of fixtures; rows that differ on purpose.
-- Out:   for each row a list of sentences, one for each place that differs; all expressions.
-- Holds: a row is run in f64 and f32, there compiled too and compared with itself; what differs on
--        purpose must differ, so that no row of that list outlives its reason.

local sgl = require "sgl"
local support = require "spec.support"

local M = {}

-- t[key] = value as an expression.
local function put(t, key, value)
  t = t:clone()
  t[key] = value
  return t
end

local ENV = setmetatable({ sgl = sgl, nn = sgl.nn, optim = sgl.optim, put = put },
  { __index = _G })

-- The rows of a file: { number, inputs, order, text }, with `dict`, the tensors.
function M.load(name)
  local dict, metadata = sgl.load(support.root .. "spec/fixtures/" .. name .. ".safetensors")
  assert(dict, metadata)
  local rows = { dict = dict }
  for line in metadata.rows:gmatch "[^\n]+" do
    local number, inputs, order, text = line:match "^(%d+)|(.-)|(%d)|(.*)$"
    rows[#rows + 1] = { number = number, inputs = inputs, order = tonumber(order), text = text }
  end
  return rows
end

-- The tensors prefix1, prefix2, ... of a dict.
local function numbered(dict, prefix)
  local list = {}
  while dict[prefix .. #list + 1] do list[#list + 1] = dict[prefix .. #list + 1] end
  return list
end

-- The inputs of a row, floats in the dtype.
function M.inputs_of(row, dict, dtype)
  local list = numbered(dict, "in." .. row.inputs .. ".")
  for i, t in ipairs(list) do
    if t:is_floating_point() then list[i] = t:to(dtype):realize() end
  end
  return list
end

-- The part of a dict whose names begin with the prefix, without it, as a state dict.
local function part(dict, prefix)
  local list = {}
  for _, name in ipairs(dict) do
    if name:sub(1, #prefix) == prefix then
      list[#list + 1] = name:sub(#prefix + 1)
      list[list[#list]] = dict[name]
    end
  end
  return list
end

local function compiled(names, text)
  return assert(load(("local %s = ... return %s"):format(names, text), "=" .. text, "t", ENV))
end

-- The expression as a function of its inputs, what it holds by name, and the names of its weights.
local function evaluator(row, dict, dtype, half)
  local made, use = row.text:match "^(.-) %-> (.*)$"
  if not made then return compiled("x, y, z, w", row.text), {}, {} end
  local module, call = compiled("_", made)():to(dtype), compiled("m, x, y, z, w", use)
  local own, weights = module:state_dict(), part(dict, row.number .. ".w.")
  for _, name in ipairs(weights) do
    own[name]:assign(weights[name]:to(half or "f64"):to(dtype))
  end
  return function(...) return call(module, ...) end, own, weights
end

-- c of the losses: 1, 1.875, 1.5, ... by position.
local function factors(t)
  local at = sgl.arange(t:numel()):reshape(t.shape)
  return (at * 7 % 10):to(t.dtype) / 8 + 1
end

-- The sum over all floats of the list that depend on what is differentiated by; nil without one.
local function weighted(list)
  local total
  for _, t in ipairs(list) do
    if t:is_floating_point() then
      local sum = t:numel() > 0 and (t * factors(t)):sum() or t:sum()
      total = total and total + sum or sum
    end
  end
  return total
end

local function floats(list)
  local found = {}
  for _, t in ipairs(list) do
    if t:is_floating_point() then found[#found + 1] = t end
  end
  return found
end

-- The tensors of nested lists.
local function flat(value, list)
  if sgl.is_tensor(value) then
    list[#list + 1] = value
  else
    for _, item in ipairs(value) do flat(item, list) end
  end
  return list
end

-- What the row's expression gives: { y1 = , d1 = , dd1 = , dw.<name> = , b.<name> = }.
local function results(row, dict, inputs, fn, own, weights)
  local got, ys = {}, flat({ fn(table.unpack(inputs)) }, {})
  for i, y in ipairs(ys) do got["y" .. i] = y end
  local wrt = floats(inputs)
  local count = #wrt
  for _, name in ipairs(weights) do wrt[#wrt + 1] = own[name] end
  local total = row.order > 0 and #wrt > 0 and weighted(ys)
  if total then
    local grads = sgl.grad(total, wrt)
    for i = 1, count do got["d" .. i] = grads[i] end
    for i, name in ipairs(weights) do got["dw." .. name] = grads[count + i] end
    if row.order == 2 then
      local again = sgl.grad(weighted(grads), table.move(wrt, 1, count, 1, {}))
      for i, g in ipairs(again) do got["dd" .. i] = g end
    end
  end
  for _, name in ipairs(part(dict, row.number .. ".b.")) do got["b." .. name] = own[name] end
  return got
end

-- "[1, 3] (0, nan)": the place of an element, and the inputs there if they have as many.
local function place(i, shape, inputs)
  local index, rest, values = {}, i - 1, {}
  for d = #shape, 1, -1 do
    table.insert(index, 1, tostring(rest % shape[d] + 1))
    rest = rest // shape[d]
  end
  for k, t in ipairs(inputs) do
    if t:numel() == 1 or i > t:numel() then break end
    values[k] = ("%g"):format(t:flatten()[i]:item()):gsub("-nan", "nan")
  end
  return ("[%s] (%s)"):format(table.concat(index, ", "), table.concat(values, ", "))
end

local function values(t)
  local list = t:numel() > 0 and t:flatten():tolist() or {}
  for i, v in ipairs(list) do
    if type(v) == "boolean" then list[i] = v and 1 or 0 end
  end
  return list
end

local function near(a, b, tolerance)
  return a == b or a ~= a and b ~= b or math.abs(a - b) <= tolerance * math.max(1, math.abs(b))
end

-- How far a value may be from PyTorch's in f64, of the value or of 1.
local TOLERANCE = { f64 = 1e-9, f32 = 1e-4 }

local function in_range(v, dtype)
  return dtype == "f32" and string.unpack("f", string.pack("f", v)) or v
end

-- One sentence for each element in which a result is not PyTorch's.
local function compare(what, got, want, inputs, dtype, wrong)
  if table.concat(got.shape, ",") ~= table.concat(want.shape, ",") then
    wrong[#wrong + 1] = ("%s: shape [%s], PyTorch has [%s]"):format(what,
      table.concat(got.shape, ", "), table.concat(want.shape, ", "))
    return
  end
  local b = values(want)
  for i, a in ipairs(values(got)) do
    if not near(a, in_range(b[i], dtype), TOLERANCE[dtype]) then
      wrong[#wrong + 1] = ("%s at %s: %.12g, PyTorch has %.12g"):format(what,
        place(i, want.shape, inputs), a, b[i])
    end
  end
end

-- Two sets of results are the same to the bit; second derivatives, whose terms are added up in
-- another order where they go through a scan, but for rounding.
local function same(one, two, dtype)
  for name, t in pairs(one) do
    local tolerance = name:find "^dd" and TOLERANCE[dtype] or 0
    local a, b = values(t), values(two[name])
    for i = 1, math.max(#a, #b) do
      if not near(a[i], b[i], tolerance) then return ("%s differs when compiled"):format(name) end
    end
  end
end

-- The expression is one that Lua computes from values, which a capture refuses.
function M.only_uncompiled(row)
  for _, word in ipairs { "allclose", ":equal", "tolist", "item", "masked_select", "nonzero",
                          "x[x:gt(0)]", "realize" } do
    if row.text:find(word, 1, true) then return true end
  end
  return not row.text:find "%f[%w][xyz]%f[%W]"
end

-- What of a row differs from PyTorch: sentences that begin with what it is, y1, d1, ...
local function differences(row, dict, dtype)
  local inputs, wrong = M.inputs_of(row, dict, dtype), {}
  local fn, own, weights = evaluator(row, dict, dtype)
  local got = results(row, dict, inputs, fn, own, weights)
  local prefix = row.number .. "."
  for _, name in ipairs(dict) do
    local what = name:sub(1, #prefix) == prefix and name:sub(#prefix + 1)
    if what and not what:find "^w%." then
      if not got[what] then
        wrong[#wrong + 1] = what .. ": not there"
      else
        compare(what, got[what], dict[name], inputs, dtype, wrong)
      end
    end
  end
  if dtype == "f32" and not M.only_uncompiled(row) then
    local again, its, other = evaluator(row, dict, dtype)
    local step = sgl.compile(function() return results(row, dict, inputs, again, its, other) end)
    wrong[#wrong + 1] = same(got, step(), dtype)
    step:close()
  end
  return wrong
end

-- What the row's expression gives for other inputs, and the gradients of the floats among these;
-- modules have the dtype, their parameters values that the half has.
function M.run(row, dict, inputs, dtype, half)
  local ys = flat({ (evaluator(row, dict, dtype, half))(table.unpack(inputs)) }, {})
  local total, wrt = weighted(ys), floats(inputs)
  return ys, row.order > 0 and total and #wrt > 0 and sgl.grad(total, wrt) or {}
end

-- An elementwise row on one element gives that element's bits, and on none nothing.
function M.parts(row, dict)
  local inputs, wrong = numbered(dict, "in." .. row.inputs .. "."), {}
  local fn = evaluator(row, dict, "f64")
  local function on(first, n)
    local some = {}
    for i, t in ipairs(inputs) do some[i] = t:narrow(1, first, n) end
    return fn(table.unpack(some))
  end
  local whole, n = fn(table.unpack(inputs)), inputs[1]:numel()
  if table.concat(on(1, 0).shape, ",") ~= "0" then wrong[1] = "not empty for empty inputs" end
  for i = 1, n, n // 20 do
    if on(i, 1):bytes() ~= whole:narrow(1, i, 1):bytes() then
      wrong[#wrong + 1] = ("element %d alone differs"):format(i)
    end
  end
  return wrong
end

-- Takes out of the differences what is meant: `kept` has rows { pattern of the text of the row,
-- pattern of the sentence, why }. What was found there is marked.
local function without(kept, row, wrong)
  local rest = {}
  for _, sentence in ipairs(wrong) do
    local meant = false
    for _, k in ipairs(kept) do
      if row.text:find(k[1]) and sentence:find(k[2]) then meant, k.found = true, true end
    end
    if not meant then rest[#rest + 1] = sentence end
  end
  return rest
end

-- Fails with the places in which a row is not PyTorch's in the dtype, but for what is kept.
function M.check(row, dict, dtype, kept)
  local wrong = without(kept, row, differences(row, dict, dtype))
  if #wrong > 0 then
    error(("in %s %s"):format(dtype, table.concat(wrong, "\n", 1, math.min(#wrong, 12))), 0)
  end
end

return M
