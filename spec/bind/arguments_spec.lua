-- arguments_spec.lua: every public function, constructor and method of the Lua library gets, for
-- each argument and each option, values of every type that its row does not name: it says which
-- argument, what it got and where. Made from the rows that docs/api.md is printed from.

local sgl = require "sgl"
local api = require "sgl.api"
local core = require "sgl.core"
local support = require "spec.support"

local nn, optim, data = sgl.nn, sgl.optim, sgl.data

-- One value of each type, and the word by which messages call it.
local VALUES = {
  { "tensor", function() return sgl.ones(2, 2) end, "f32[2, 2]" },
  { "number", function() return 1.5 end, "1.5" },
  { "integer", function() return 2 end, "2" },
  { "string", function() return "some words" end, "some words" },
  { "boolean", function() return true end, "true" },
  { "table", function() return { "a list" } end, "a table" },
  { "function", function() return function() end end, "a function" },
  { "module", function() return nn.Linear(2, 2) end, "a module" },
  { "thread", function() return coroutine.create(function() end) end, "a thread" },
  { "userdata", function() return io.stdout end, "a userdata" },
}
-- What may stand where another type is named: a module is a table and can be called.
local ALSO = { number = { "integer" }, table = { "module" }, ["function"] = { "module" },
               any = { "tensor", "number", "integer", "string", "boolean", "table", "function",
                       "module", "thread", "userdata" } }

local function sample(name)
  for _, v in ipairs(VALUES) do
    if v[1] == name then return v[2]() end
  end
  return 1
end

local function types_of(text)
  local set, first = {}, nil
  for name in text:gsub("%?$", ""):gsub("%.%.%.$", ""):gmatch "[^|]+" do
    first, set[name] = first or name, true
    for _, other in ipairs(ALSO[name] or {}) do set[other] = true end
  end
  return set, first
end

-- What methods are called on, by the class of their row.
local OBJECTS = {
  ["nn.Module"] = function() return nn.Linear(2, 2) end,
  ["nn.ModuleList"] = function() return nn.ModuleList() end,
  ["optim.Optimizer"] = function() return optim.SGD { sgl.ones(2) } end,
  ["optim.schedule.Schedule"] = function() return optim.schedule.constant(1) end,
  ["optim.schedule.Plateau"] = function()
    return optim.schedule.plateau(optim.SGD { sgl.ones(2) })
  end,
  ["data.Dataset"] = function() return data.dataset(sgl.ones(2, 2)) end,
  ["data.Stream"] = function() return data.iterator(function() end) end,
  ["data.Text"] = function() return data.text(support.root .. "README.md") end,
  ["sgl.Compiled"] = function() return sgl.compile(function(x) return x end) end,
  ["sgl.Listener"] = function() return sgl.on("compile_end", function() end) end,
}

-- What a row is called by, and the object in front of its arguments; nil: it is checked elsewhere.
local function callee(row)
  if row.kind == "tensor" then return row.op and sgl[row.name] or core.Tensor[row.name] end
  if row.kind == "function" or (row.kind == "class" and row.args) then
    local at = sgl
    for word in row.module:gsub("^sgl%.?", ""):gmatch "%w+" do at = at[word] end
    return at[row.name]
  elseif row.kind == "method" and OBJECTS[row.module] then
    local object = OBJECTS[row.module]()
    return object[row.name], object
  end
end

-- Calls fn at a line of its own and returns the error.
local function error_of(fn, object, args, count)
  local text = object and "local fn, o, a, n = ...\n\nfn(o, table.unpack(a, 1, n))\n"
    or "local fn, o, a, n = ...\n\nfn(table.unpack(a, 1, n))\n"
  local ok, e = pcall(load(text, "@train.lua"), fn, object, args, count)
  return not ok and e or nil
end

local counts = { calls = 0, rows = 0 }

-- The error names the function, the argument, the value and the user's line.
local function check(row, what, name, e, word)
  local text = ("%s with %s '%s' being %s: %s"):format(row.full, what, name, word, tostring(e))
  assert(type(e) == "table", text)
  assert(e.code == "SGL_EARG", text)
  assert(e.file == "train.lua" and e.line == 3, text)
  assert(e.message:find(row.full, 1, true), text)
  assert(e.message:find(("'%s'"):format(name), 1, true), text)
  assert(e.message:find(word, 1, true), text)
  assert(not core.capturing(), text)
  counts.calls = counts.calls + 1
end

local function valid_args(row, upto)
  local args = {}
  for i = 1, upto do
    local _, first = types_of(row.args[i][2])
    if not row.args[i][2]:find "%.%.%.$" then args[i] = sample(first) end
    local range = row.args[i].within
    if range and type(args[i]) == "number" then args[i] = math.max(1, math.ceil(range[1])) end
    if range and range[2] <= 1 then args[i] = 0.5 end
  end
  return args
end

local function check_arguments(row, fn, object)
  for i, arg in ipairs(row.args or {}) do
    local set = types_of(arg[2])
    local last = i == #row.args and not row.opts
    for _, value in ipairs(VALUES) do
      -- A table where optional arguments may be left out is one of options.
      local optional = arg[2]:find "%?$" or arg[2]:find "%.%.%.$"
      local options = value[1] == "table" and optional and row.opts
      if not set[value[1]] and not options then
        local args = valid_args(row, i - 1)
        args[i] = value[2]()
        check(row, "argument", arg[1], error_of(fn, object, args, i), value[3])
      end
    end
    if not arg[2]:find "%?$" and not arg[2]:find "%.%.%.$" and not (set.any and last) then
      check(row, "argument", arg[1], error_of(fn, object, valid_args(row, i - 1), i), "nil")
    end
  end
end

local function check_options(row, fn, object)
  local n = #(row.args or {})
  if n > 0 and row.args[n][2]:find "%.%.%.$" then n = n - 1 end
  local function with(options)
    local args = valid_args(row, n)
    args[n + 1] = options
    return error_of(fn, object, args, n + 1)
  end
  for _, opt in ipairs(row.opts or {}) do
    local set = types_of(opt[2])
    for _, value in ipairs(VALUES) do
      if not set[value[1]] then
        check(row, "option", opt[1], with { [opt[1]] = value[2]() }, value[3])
      end
    end
    for _, number in ipairs(opt.within and { opt.within[1] - 1, opt.within[2], 0 / 0 } or {}) do
      check(row, "option", opt[1], with { [opt[1]] = set.number and number
        or math.tointeger(number) or number }, "")
    end
    if opt.among then check(row, "option", opt[1], with { [opt[1]] = "no such" }, "'no such'") end
  end
  if row.opts then
    check(row, "option", "no such", with { ["no such"] = 1 }, "options: ")
    for _, opt in ipairs(row.opts) do
      local e = with { [opt[1] .. "z"] = 1 }
      check(row, "option", opt[1] .. "z", e, ("did you mean '"):format())
    end
  end
end

describe("every public", function()
  for _, row in ipairs(api.all()) do
    if row.args or row.opts then
      it(row.kind .. " says what is wrong with its arguments: " .. row.full, function()
        local fn, object = callee(row)
        if not fn or row.module == "sgl.Tensor" or row.module == "sgl.Graph" then return end
        counts.rows = counts.rows + 1
        check_arguments(row, fn, object)
        check_options(row, fn, object)
      end)
    end
  end

  it("and they are many", function()
    assert(counts.rows > 300, counts.rows)
    assert(counts.calls > 5000, counts.calls)
  end)
end)

-- Values of the right type that mean nothing, and what the message must say of them.
local SENSELESS = {
  { "nn.LayerNorm(-3)", "'shape'", "-3" }, { "nn.LayerNorm({})", "'shape'", "nil" },
  { "nn.RMSNorm({ 2, 'b' })", "'shape'", "'b'" },
  { "nn.LayerNorm(4, { eps = -1 })", "'eps'", "-1" },
  { "nn.BatchNorm2d(4, { eps = -1 })", "'eps'", "-1" },
  { "nn.GELU { approximate = 'tan' }", "'approximate'", "did you mean 'tanh'" },
  { "nn.MaxPool2d(2, { stride = 0 })", "'stride'", "at least 1, got 0" },
  { "nn.MaxPool2d({ 2 })", "'size'", "{ 2 }" }, { "nn.AvgPool1d(0)", "'size'", "0" },
  { "nn.MaxPool2d(2, { padding = { 0, -1 } })", "'padding'", "{ 0, -1 }" },
  { "nn.Conv2d(2, 2, { 3, 0 })", "'kernel'", "{ 3, 0 }" },
  { "nn.Conv2d(2, 2, 3, { stride = { 1 } })", "'stride'", "{ 1 }" },
  { "nn.Conv2d(2, 2, 3, { padding = 'same' })", "'padding'", "'same'" },
  { "nn.Conv1d(2, 2, 3, { dilation = 0 })", "'dilation'", "got 0" },
  { "nn.Linear(2, 2)(sgl.ones(1, 2), { bias = false })", "takes at most 1 input", "a table" },
  { "nn.Sequential(nn.ReLU())(sgl.ones(2), 5)", "takes at most 1 input", "5" },
  { "nn.MultiheadAttention(4, 2)(seq, nil, nil, { msk = seq })", "unknown option 'msk'", "mask" },
  { "nn.MultiheadAttention(4, 2)(seq, seq, seq, 5)", "options", "5" },
  { "nn.LSTM(4, 2)(seq, { sgl.ones(1, 1, 2), sgl.ones(1, 1, 2), 5 })", "2 tensors", "got 3" },
  { "nn.init.uniform(sgl.zeros(2), 1, 0)", "from 1 to 0", "lower bound" },
  { "nn.init.normal(sgl.zeros(2), 0, -1)", "'std'", "-1" },
  { "nn.init.normal(sgl.zeros(2, { dtype = 'i32' }))", "floats", "i32[2]" },
  { "nn.init.orthogonal(sgl.zeros(2, 2, { dtype = 'i32' }))", "floats", "i32[2, 2]" },
  { "nn.init.kaiming_uniform(sgl.zeros(2, 2), { nonlinearity = 'rlu' })", "'relu'", "'rlu'" },
  { "nn.nll_loss(sgl.ones(2, 2), sgl.tensor { 0, 1 }, { reduction = 'men' })", "'mean'", "'men'" },
  { "nn.huber_loss(sgl.ones(2), sgl.ones(2), { delta = 0 })", "'delta'", "above 0, got 0" },
  { "nn.layer_norm(sgl.ones(2, 4), { 4 }, nil, nil, { eps = -1 })", "'eps'", "-1" },
  { "sgl.ones(4):pad({ 1, 1 }, { mode = 'mirror' })", "'mode'", "'mirror'" },
  { "optim.SGD({ sgl.ones(2) }, { nesterov = true })", "'nesterov'", "momentum" },
  { "optim.SGD { { params = {} } }", "group 1", "no parameters" },
  { "optim.schedule.step(1, { factor = -1 })", "'factor'", "at least 0, got -1" },
  { "optim.schedule.one_cycle(1, 10, { start = 0 })", "'start'", "above 0, got 0" },
  { "optim.schedule.one_cycle(1, 10, { finish = 0 })", "'finish'", "above 0, got 0" },
  { "optim.schedule.one_cycle(1, 10, { up = 2 })", "'up'", "got 2" },
  { "optim.schedule.constant(1):at(-1)", "'step'", "-1" },
  { "optim.schedule.plateau(optim.SGD { sgl.ones(2) }, { factor = 2 })", "'factor'", "got 2" },
  { "optim.schedule.plateau(optim.SGD { sgl.ones(2) }, { mode = 'mn' })", "'min'", "'mn'" },
  { "data.dataset(sgl.ones(2)):batches(0)", "'n'", "at least 1, got 0" },
  { "data.dataset(sgl.ones(2)):split()", "no share", "0.7" },
  { "text:batches(2, { steps = 0 })", "'steps'", "at least 1, got 0" },
  { "text:batches(2, { length = 0 })", "'length'", "at least 1, got 0" },
  { "text:decode { 'a' }", "id a", "from 0" },
  { "sgl.bernoulli(2, { 3 })", "'t'", "got 2" }, { "sgl.bernoulli(-0.5)", "'t'", "got -0.5" },
  { "sgl.compile(print, { effects = 'twice' })", "'effects'", "'twice'" },
}

describe("a senseless value", function()
  for _, row in ipairs(SENSELESS) do
    it("is refused: " .. row[1], function()
      local env = setmetatable({ sgl = sgl, nn = nn, optim = optim, data = data,
        seq = sgl.ones(1, 3, 4), text = OBJECTS["data.Text"]() }, { __index = _G })
      local e = support.error_of(load("\nlocal _ = " .. row[1], "@train.lua", "t", env))
      assert.are.equal("table", type(e), tostring(e))
      assert.matches("^SGL_E", e.code)
      assert.are.equal("train.lua:2:", tostring(e):match "^[^:]*:%d+:")
      for i = 2, #row do assert(tostring(e):find(row[i], 1, true), tostring(e)) end
    end)
  end
end)
