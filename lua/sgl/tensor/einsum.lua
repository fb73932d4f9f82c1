-- einsum.lua: sums of products by index names, as "bij,bjk->bik".
--
-- In:    an equation of one-letter names, "..." for further dims, and its operands.
-- Out:   a lazy tensor.
-- Holds: operands are joined from left to right. In each join the names that both have are batch
--        names if they are needed later, else they are summed in a `dot`; names that only one has
--        and nobody needs later are summed first. A dim of size 1 broadcasts.
local api = require "sgl.api"
local core = require "sgl.core"
local dims = require "sgl.tensor.dims"
local linalg = require "sgl.tensor.linalg"
local wide = require "sgl.tensor.wide".composite

local apply, raise = core.apply, core.raise

local function bad(equation, text)
  raise("SGL_EARG", ("einsum %s: %s"):format(core.quote(equation), text),
    "an equation looks like 'bij,bjk->bik': names for the dims of each operand, then of the result")
end

-- The names of one operand; the dims under "..." are named 1, 2, … counted from the right, so
-- that they broadcast.
local function operand_names(equation, text, t)
  local names, given = {}, text:gsub("%.%.%.", "")
  local hidden = text:find("...", 1, true) and t.ndim - #given or 0
  if #given > t.ndim or (#given < t.ndim and hidden == 0) then
    bad(equation, ("%s does not name the dims of %s"):format(core.quote(text), dims.text(t)))
  end
  local i = 1
  while i <= #text do
    if text:sub(i, i + 2) == "..." then
      for j = hidden, 1, -1 do names[#names + 1] = j end
      i = i + 3
    else
      names[#names + 1] = text:sub(i, i)
      i = i + 1
    end
  end
  return names
end

-- Repeated names within one operand: the diagonal of those dims.
local function take_diagonals(names, t)
  local seen = {}
  for axis, name in ipairs(names) do
    if seen[name] then
      local first = seen[name]
      local shape = t.shape
      if shape[first] ~= shape[axis] then
        raise("SGL_ESHAPE", ("einsum: '%s' names dims of %s and %s of %s"):format(
          name, shape[first], shape[axis], dims.text(t)))
      end
      local rest = {}
      for other, kept in ipairs(names) do
        if other ~= first and other ~= axis then rest[#rest + 1] = kept end
      end
      rest[#rest + 1] = name
      return take_diagonals(rest, linalg.diagonal("einsum", t, 0, first, axis))
    end
    seen[name] = axis
  end
  return names, t
end

local function parse(equation, list)
  local text = equation:gsub("%s", "")
  local left, right = text:match "^([^%-]*)%->(.*)$"
  left = left or text
  if left:find "[^%a%.,]" or (right or ""):find "[^%a%.]" then
    bad(equation, "names are letters")
  end
  local operands, counts, most = {}, {}, 0
  for part in (left .. ","):gmatch "([^,]*)," do
    local t = list[#operands + 1]
    if not core.is_tensor(t) then
      bad(equation, ("operand %s must be a tensor, got %s"):format(#operands + 1,
        api.describe(t)))
    end
    local names = operand_names(equation, part, t)
    for _, name in ipairs(names) do
      if type(name) == "number" then
        most = math.max(most, name)
      else
        counts[name] = (counts[name] or 0) + 1
      end
    end
    names, t = take_diagonals(names, t)
    operands[#operands + 1] = { names = names, t = t }
  end
  if #operands ~= #list then
    bad(equation, ("%s operands are named, %s given"):format(#operands, #list))
  end
  return operands, counts, most, right
end

-- Names of the result: as written, or (without "->") those under "..." and then those named once,
-- in alphabetical order.
local function result_names(equation, right, counts, most)
  local result, seen = {}, {}
  local function hidden()
    for j = most, 1, -1 do result[#result + 1] = j end
  end
  if not right then
    hidden()
    local once = {}
    for name, count in pairs(counts) do
      if count == 1 then once[#once + 1] = name end
    end
    table.sort(once)
    return table.move(once, 1, #once, #result + 1, result)
  end
  for piece in right:gsub("%.%.%.", "."):gmatch "." do
    if piece == "." then
      hidden()
    elseif not counts[piece] or seen[piece] then
      bad(equation, ("the result's '%s' %s"):format(piece,
        seen[piece] and "stands twice" or "is named by no operand"))
    else
      seen[piece] = true
      result[#result + 1] = piece
    end
  end
  return result
end

local function positions(names)
  local at = {}
  for axis, name in ipairs(names) do at[name] = axis end
  return at
end

-- Sums over the names that `needed` does not have.
local function sum_out(operand, needed)
  local axes, kept = {}, {}
  for axis, name in ipairs(operand.names) do
    if needed[name] then kept[#kept + 1] = name else axes[#axes + 1] = axis end
  end
  if #axes == 0 then return operand end
  return { names = kept, t = operand.t:sum(axes) }
end

-- The operand with dims in the order of `names`, those it lacks with size 1.
local function arrange(operand, names)
  local at, order, shape = positions(operand.names), {}, {}
  local own = operand.t.shape
  for i, name in ipairs(names) do
    if at[name] then order[#order + 1] = at[name] end
    shape[i] = at[name] and own[at[name]] or 1
  end
  local t = operand.t
  if #order > 1 then t = apply("permute", t, { dims = order }) end
  return t:reshape(shape), shape
end

local function concat(...)
  local result = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #result + 1, result) end
  return result
end

-- Sizes of a group of names over both operands; differing sizes other than 1 raise.
local function sizes_of(equation, names, a, b)
  local at_a, at_b, sa, sb, sizes = positions(a.names), positions(b.names), a.t.shape, b.t.shape, {}
  for i, name in ipairs(names) do
    local left, right = at_a[name], at_b[name]
    local m, n = left and sa[left] or 1, right and sb[right] or 1
    if m ~= n and m ~= 1 and n ~= 1 then
      raise("SGL_ESHAPE", ("einsum '%s': '%s' is %s in %s and %s in %s"):format(
        equation, name, m, dims.text(a.t), n, dims.text(b.t)))
    end
    sizes[i] = m == 1 and n or m
  end
  return sizes
end

-- Joins two operands into one that has the needed names: [batch, left, inner] times
-- [batch, inner, right].
local function join(equation, a, b, needed)
  local at_a, at_b = positions(a.names), positions(b.names)
  local wanted_a, wanted_b = {}, {}
  for _, name in ipairs(a.names) do wanted_a[name] = needed[name] or at_b[name] end
  for _, name in ipairs(b.names) do wanted_b[name] = needed[name] or at_a[name] end
  a, b = sum_out(a, wanted_a), sum_out(b, wanted_b)
  at_a, at_b = positions(a.names), positions(b.names)
  local batch, left, inner, right = {}, {}, {}, {}
  for _, name in ipairs(a.names) do
    local group = not at_b[name] and left or needed[name] and batch or inner
    group[#group + 1] = name
  end
  for _, name in ipairs(b.names) do
    if not at_a[name] then right[#right + 1] = name end
  end
  local nb, ni = sizes_of(equation, batch, a, b), sizes_of(equation, inner, a, b)
  local nl, nr = sizes_of(equation, left, a, b), sizes_of(equation, right, a, b)
  local names = concat(batch, left, right)
  local ta = arrange(a, concat(batch, left, inner)):broadcast_to(concat(nb, nl, ni))
  if #inner == 0 then
    local tb = arrange(b, concat(batch, dims.fill(#left, 0), right))
    return { names = names, t = arrange({ names = concat(batch, left), t = ta }, names) * tb }
  end
  local tb = arrange(b, concat(batch, inner, right)):broadcast_to(concat(nb, ni, nr))
  local m, k, n = dims.count(nl), dims.count(ni), dims.count(nr)
  local product = linalg.dot(ta:reshape(concat(nb, { m, k })), tb:reshape(concat(nb, { k, n })))
  return { names = names, t = product:reshape(concat(nb, nl, nr)) }
end

-- The operands joined one after the other, as a tensor with the names of the result.
local function contract(equation, operands, result)
  local joined = operands[1]
  for i = 2, #operands do
    local needed = {}
    for _, name in ipairs(result) do needed[name] = true end
    for later = i + 1, #operands do
      for _, name in ipairs(operands[later].names) do needed[name] = true end
    end
    joined = join(equation, joined, operands[i], needed)
  end
  return (arrange(sum_out(joined, positions(result)), result))
end

api.fn(api.root, "einsum", {
  doc = "Sum of products by index names: 'ij,jk->ik' is the matrix product. Names that stand "
    .. "twice in one operand take its diagonal; '...' stands for further dims.",
  args = { { "equation", "string", 'such as "ij,jk->ik"' },
           { "operands", "tensor...", "one for each part before the arrow" } }, returns = "tensor",
  errors = "an equation that does not fit the operands",
}, function(equation, list)
  local operands, counts, most, right = parse(equation, list)
  local result, tensors = result_names(equation, right, counts, most), {}
  for i, operand in ipairs(operands) do tensors[i] = operand.t end
  return wide("einsum", tensors, #tensors, function(...)
    local parts = {}
    for i, t in ipairs { ... } do parts[i] = { names = operands[i].names, t = t } end
    return contract(equation, parts, result)
  end)
end)
