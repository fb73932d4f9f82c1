-- nn/recurrent.lua: RNN, LSTM and GRU over [batch, time, inputs].
--
-- Parameters are PyTorch's: weight_ih_l0 [gates·hidden, inputs], weight_hh_l0, bias_ih_l0,
-- bias_hh_l0, then _l1 and so on, all uniform in ±1/√hidden. The input's product is one matrix
-- product over all steps; the recurrence is a scan, so that its graph does not grow with time and
-- the length may be symbolic. Halves are computed in f32 and rounded where they leave the layers.

local core = require "sgl.core"
local api = require "sgl.api"
local base = require "sgl.nn.module"
local F = require "sgl.nn.functional"
local I = require "sgl.nn.initialise"
local create = require "sgl.tensor.create"
local widened = require "sgl.tensor.wide".one

-- Each cell: x is the input's product of this step, h the hidden state's, both [b, gates·hidden].
-- state is {h} or {h, c}; the first entry of the result is the output.
local CELLS = {
  RNN = { gates = 1, states = 1, doc = "h' = tanh(x·Wi + h·Wh + b).",
    step = function(x, h) return { (x + h):tanh() } end },
  LSTM = { gates = 4, states = 2,
    doc = "Long short-term memory (Hochreiter and Schmidhuber, 1997); "
    .. "gates in the order input, forget, cell, output.",
    step = function(x, h, state)
      local i, f, g, o = (x + h):chunk(4, -1)
      local c = f:sigmoid() * state[2] + i:sigmoid() * g:tanh()
      return { o:sigmoid() * c:tanh(), c }
    end },
  GRU = { gates = 3, states = 1,
    doc = "Gated recurrent unit (Cho et al., 2014); gates in the order "
    .. "reset, update, new.",
    step = function(x, h, state)
      local xr, xz, xn = x:chunk(3, -1)
      local hr, hz, hn = h:chunk(3, -1)
      local z = (xz + hz):sigmoid()
      local n = (xn + (xr + hr):sigmoid() * hn):tanh()
      return { n + z * (state[1] - n) }
    end },
}

local function add_parameters(self, cell, layer, inputs, o)
  local rows, bound = cell.gates * self.hidden, 1 / math.sqrt(self.hidden)
  local function add(name, ...)
    self[name .. "_l" .. layer] = base.M.parameter(I.uniform(create.zeros(...), -bound, bound))
  end
  add("weight_ih", rows, inputs)
  add("weight_hh", rows, self.hidden)
  if o.bias then
    add("bias_ih", rows)
    add("bias_hh", rows)
  end
end

local function run_layer(self, cell, layer, x, state)
  local function get(name) return widened(self[name .. "_l" .. layer]) end
  local projected = F.linear(x, get("weight_ih"), get("bias_ih")):transpose(1, 2)
  local weight, bias = get("weight_hh"), get("bias_hh")
  local last, outputs = api.root.scan(function(carry, now)
    local after = cell.step(now, F.linear(carry[1], weight, bias), carry)
    return after, after[1]
  end, state, projected)
  return outputs:transpose(1, 2), last
end

-- The initial state of a layer: zeros, or its rows of the given [layers, b, hidden] tensors.
local function initial(self, cell, given, layer, batch, dtype)
  local state = {}
  for i = 1, cell.states do
    local from = given and given[i]
    state[i] = from and widened(from):select(1, layer + 1)
      or core.full({ batch, self.hidden }, 0, dtype)
  end
  return state
end

local function check_state(self, state, shape)
  local wanted = api.shape_text(shape)
  if not core.is_tensor(state) or api.shape_text(state.shape) ~= wanted then
    core.raise("SGL_ESHAPE", ("nn.%s: the state must be %s, got %s"):format(self.kind, wanted,
      api.describe(state)), "a state is [layers, batch, hidden]; an LSTM takes a list of h and c")
  end
end

local function forward(cell)
  return function(self, x, given)
    base.need_sequence(self, x, "inputs", self.inputs)
    if x.shape[2] == 0 then
      core.raise("SGL_ESHAPE", ("nn.%s: no time step in %s"):format(self.kind, api.describe(x)),
        "x is [batch, time, inputs]")
    end
    if given ~= nil and type(given) ~= "table" then given = { given } end
    if given and #given > cell.states then
      core.raise("SGL_EARG", ("nn.%s: the state is %d tensor%s, got %d"):format(self.kind,
        cell.states, cell.states == 1 and "" or "s", #given), "an LSTM takes a list of h and c")
    end
    for i = 1, given and cell.states or 0 do
      check_state(self, given[i], { self.layers, x.shape[1], self.hidden })
    end
    local last, dtype = {}, x.dtype
    x = widened(x)
    for layer = 0, self.layers - 1 do
      local state = initial(self, cell, given, layer, x.shape[1], x.dtype)
      x, state = run_layer(self, cell, layer, x, state)
      for i = 1, cell.states do
        last[i] = last[i] or {}
        last[i][layer + 1] = state[i]
      end
      if layer < self.layers - 1 then
        x = F.dropout(x, self.dropout, { training = self.training })
      end
    end
    for i = 1, cell.states do last[i] = create.stack(last[i], 1):to(dtype) end
    return x:to(dtype), cell.states == 1 and last[1] or last
  end
end

for _, kind in ipairs { "RNN", "LSTM", "GRU" } do
  local cell = CELLS[kind]
  local Class = base.class(kind, {
    doc = cell.doc,
    args = { { "inputs", "integer", "last dim of x", within = { 0, math.huge } },
             { "hidden", "integer", "last dim of y", within = { 1, math.huge } } },
    opts = { { "layers", "integer", 1, "stacked layers", within = { 1, math.huge } },
             { "bias", "boolean", true, "with biases" },
             { "dropout", "number", 0, "between layers, in training", within = { 0, 1 } } },
    returns = "module: (x f32[b, t, inputs], state?) -> y f32[b, t, hidden], state: f32[layers, b, "
      .. "hidden]" .. (cell.states == 2 and ", as a list of h and c" or ""),
    errors = "a rank other than 3, a last dim that is not `inputs`, a state of another shape",
  }, function(self, inputs, hidden, o)
    self.kind, self.inputs, self.hidden = kind, inputs, hidden
    self.layers, self.dropout = o.layers, o.dropout
    for layer = 0, o.layers - 1 do
      add_parameters(self, cell, layer, layer == 0 and inputs or hidden, o)
    end
  end)
  Class.forward = forward(cell)
end
