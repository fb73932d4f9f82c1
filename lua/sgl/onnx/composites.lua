-- onnx/composites.lua: what composites are in ONNX: one row per name.
--
-- In:    the scope, a composite { name, inputs, output }, and the nodes between its inputs and its
--        output. A row is a function (s, c, inner) that returns a plan: `inputs`, the ids that the
--        ONNX op reads, and `write`, a function of their names that gives the name of the result.
--        nil: the composite is written op by op.
-- Holds: what a row reads off the nodes (eps, dims, strides) is what they compute with; a composite
--        that does not look as its row expects is written op by op. Composites of halves are
--        computed in f32 between casts, as the nodes do it, so eps and statistics stay in f32.
local composites = {}

-- ---- looking at the nodes of a composite

-- The node of an id, behind what only moves it to another shape or to f32.
local MOVES = { broadcast = true, reshape = true, cast = true, detach = true }
local function source(s, id)
  local n = s.by_id[id]
  while MOVES[n.op] do n = s.by_id[n.inputs[1]] end
  return n
end

-- The only node of an op among those of the composite, or nil.
local function only(inner, op)
  local found
  for _, n in ipairs(inner) do
    if n.op == op then
      if found then return nil end
      found = n
    end
  end
  return found
end

-- The number that a node adds to its other operand: number, id of the operand.
local function added(s, n)
  if not n or n.op ~= "add" then return nil end
  local a, b = source(s, n.inputs[1]), source(s, n.inputs[2])
  if b.op == "const" then return b.attrs.value or 0, n.inputs[1] end
  if a.op == "const" then return a.attrs.value or 0, n.inputs[2] end
  return nil
end

-- Under the root of a norm: eps, and the id of what it is added to.
local function root_of(s, inner)
  local root = only(inner, "rsqrt")
  if not root then return nil end
  return added(s, s.by_id[root.inputs[1]])
end

-- Whether the last node, casts aside, is an op that reads the id; the other operand's id too.
local function ends_with(s, id, op, input)
  local n = source(s, id)
  if n.op ~= op then return nil end
  local wanted = source(s, input)
  if source(s, n.inputs[2]) == wanted then return n.inputs[1] end
  if source(s, n.inputs[1]) == wanted then return n.inputs[2] end
  return nil
end

-- Which of the inputs behind the first are scale and shift, in that order: ids or nil.
local function scale_and_shift(s, c)
  local scale, shift = c.inputs[2], c.inputs[3]
  if not scale then return nil, nil, true end
  if shift then return scale, shift, true end
  if ends_with(s, c.output, "mul", scale) then return scale, nil, true end
  if ends_with(s, c.output, "add", scale) then return nil, scale, true end
  return nil, nil, false
end

local function dtype_of(s, id) return s.by_id[id].dtype end

-- The dtype that a composite computes in, where some of its floats are halves.
local function wide(s, ids)
  for _, id in ipairs(ids) do
    local dtype = dtype_of(s, id)
    if dtype == "f16" or dtype == "bf16" then return "f32" end
  end
  return nil
end

-- A plan that casts halves to f32 before the op and back behind it.
local function plan(s, c, ids, write)
  return { inputs = ids, write = function(names)
    local to = wide(s, ids)
    for i, id in ipairs(ids) do
      if to and dtype_of(s, id) ~= to then names[i] = s:cast(names[i], to) end
    end
    local y = write(table.unpack(names, 1, #ids))
    local result = s.by_id[c.output]
    return to and result.dtype ~= to and s:cast(y, result.dtype) or y
  end }
end

-- A plan for an op of one input whose attributes are known.
local function unary(s, c, kind, attrs)
  return plan(s, c, { c.inputs[1] }, function(x) return (s:op(kind, { x }, attrs)) end)
end

-- ---- activations

local function same(kind, attrs)
  return function(s, c) return unary(s, c, kind, attrs) end
end

composites.relu, composites.tanh, composites.sigmoid = same "Relu", same "Tanh", same "Sigmoid"
composites.gelu_tanh = same("Gelu", { approximate = "tanh" })
composites.softsign = same "Softsign"

-- By erf or by tanh.
function composites.gelu(s, c, inner)
  if only(inner, "erf") then return unary(s, c, "Gelu") end
  return only(inner, "tanh") and unary(s, c, "Gelu", { approximate = "tanh" })
end

local function along_one(kind)
  return function(s, c, inner)
    local largest = only(inner, "reduce_max")
    local dims = largest and largest.attrs.dims
    return dims and #dims == 1 and unary(s, c, kind, { axis = dims[1] - 1 })
  end
end

composites.softmax, composites.log_softmax = along_one "Softmax", along_one "LogSoftmax"

-- Over the last dim; a batch of vectors is Gemm, which has no more dims.
function composites.linear(s, c)
  local x, weight = s.by_id[c.inputs[1]], s.by_id[c.inputs[2]]
  if #x.shape ~= 2 or #weight.shape ~= 2 then return nil end
  return plan(s, c, { table.unpack(c.inputs) }, function(...)
    return (s:op("Gemm", { ... }, { transB = 1 }))
  end)
end

-- ---- norms

-- A constant of ones or zeros in the place of a scale or shift that there is none of.
local function filled(s, value, shape, dtype)
  return s:expand(s:scalar(value, dtype), {}, shape)
end

-- The dims that are averaged over are the last ones, the same in both sums.
local function trailing(s, c, inner)
  local rank, dims = #s.by_id[c.inputs[1]].shape, nil
  for _, n in ipairs(inner) do
    if n.op == "sum" then dims = n.attrs.dims end
  end
  if not dims then return nil end
  for i, dim in ipairs(dims) do
    if dim ~= rank - #dims + i then return nil end
  end
  return rank - #dims, rank
end

local function computed_in(s, id)
  local dtype = dtype_of(s, id)
  return dtype == "f64" and dtype or "f32"
end

function composites.layer_norm(s, c, inner)
  local eps, axis = root_of(s, inner), trailing(s, c, inner)
  local scale, shift, known = scale_and_shift(s, c)
  if not eps or not axis or not known then return nil end
  local shape = table.move(s.by_id[c.inputs[1]].shape, axis + 1, #s.by_id[c.inputs[1]].shape, 1, {})
  local ids, dtype = { c.inputs[1], scale or shift, scale and shift }, computed_in(s, c.inputs[1])
  return plan(s, c, ids, function(x, a, b)
    local list = { x, scale and a or filled(s, 1, shape, dtype), scale and b or not scale and a }
    return (s:op("LayerNormalization", list[3] and list or { list[1], list[2] },
      { axis = axis, epsilon = eps + 0.0 }))
  end)
end

function composites.batch_norm(s, c, inner)
  local eps, variance = root_of(s, inner)
  local off = only(inner, "sub")
  local scale, shift, known = scale_and_shift(s, c)
  if not eps or not off or not known then return nil end
  local mean, spread = source(s, off.inputs[2]), source(s, variance)
  local channels = s.by_id[c.inputs[1]].shape[2]
  local function by_channel(n) return #n.shape == 1 and n.shape[1] == channels end
  if not by_channel(mean) or not by_channel(spread) then return nil end
  local ids, dtype = { c.inputs[1], mean.id, spread.id, scale or shift, scale and shift },
    computed_in(s, c.inputs[1])
  return plan(s, c, ids, function(x, m, v, a, b)
    return (s:op("BatchNormalization", { x, scale and a or filled(s, 1, { channels }, dtype),
      scale and b or not scale and a or filled(s, 0, { channels }, dtype), m, v },
      { epsilon = eps + 0.0 }))
  end)
end

-- ---- convolution and pooling

-- What the windows of a composite are like: kernel, strides, pads, dilations, for `rank` dims (one
-- dim is windowed as two, the first of size 1).
local function windows(s, inner, rank)
  local window, pad = only(inner, "window"), only(inner, "pad")
  if not window then return nil end
  local a, skip = window.attrs, 2 - rank
  local kernel, strides, dilations, pads = {}, {}, {}, {}
  for i = 1, rank do
    kernel[i] = a.size[i + skip]
    strides[i] = a.stride and a.stride[i + skip] or 1
    dilations[i] = a.dilation and a.dilation[i + skip] or 1
    pads[i] = pad and pad.attrs.lo[i + skip + 2] or 0
    pads[i + rank] = pad and pad.attrs.hi[i + skip + 2] or 0
  end
  return { kernel_shape = kernel, strides = strides, dilations = dilations, pads = pads }
end

local function convolution(rank)
  return function(s, c, inner)
    local attrs = windows(s, inner, rank)
    local x, weight = s.by_id[c.inputs[1]], s.by_id[c.inputs[2]]
    if not attrs or math.type(x.shape[2]) ~= "integer" then return nil end
    attrs.group = x.shape[2] // weight.shape[2]
    return plan(s, c, { table.unpack(c.inputs) }, function(...)
      return (s:op("Conv", { ... }, attrs))
    end)
  end
end

local function pooling(kind, rank)
  return function(s, c, inner)
    local attrs = windows(s, inner, rank)
    if not attrs then return nil end
    attrs.dilations = nil
    if kind == "AveragePool" then attrs.count_include_pad = 1 end
    return unary(s, c, kind, attrs)
  end
end

for rank = 1, 2 do
  composites["conv" .. rank .. "d"] = convolution(rank)
  composites["max_pool" .. rank .. "d"] = pooling("MaxPool", rank)
  composites["avg_pool" .. rank .. "d"] = pooling("AveragePool", rank)
end

return composites
