-- optim: optimizers and schedules (sgl.optim).
--
-- An optimizer holds parameters in groups, and for each parameter its state tensors. A step is
-- tensor arithmetic that ends in assigns, so inside sgl.compile it is part of the graph. The
-- learning rate is a tensor that the step reads: setting it never recompiles.

local core = require "sgl.core"
local api = require "sgl.api"
local create = require "sgl.tensor.create"
local rules = require "sgl.optim.rules"
local clip = require "sgl.optim.clip"
local schedule = require "sgl.optim.schedule"
local names = require "sgl.names"
local versioned = require "sgl.versioned"

local M = clip.M
M.schedule = schedule.M

local Optimizer = api.class(M, "Optimizer", { doc = "Base of the optimizers. Fields: params, the "
  .. "parameters in order; steps, the number of steps made (i32, 0-d)." })

local RATE = { 0, math.huge }

local function number_tensor(v) return core.tensor(v + 0.0, "f32") end

-- Splits `params` (a list of tensors, or of groups {params = {…}, option = …}) into groups of
-- {params, options}.
local function groups_of(full, opts, params, defaults)
  local groups = {}
  if #params == 0 then
    core.raise("SGL_EARG", full .. ": the list of parameters is empty",
      "pass model:parameters(); a module registers what is assigned to its fields")
  end
  for i, entry in ipairs(params) do
    if core.is_tensor(entry) then
      if i == 1 then groups[1] = { params = {}, options = defaults } end
      if not groups[1] or groups[1].options ~= defaults then
        core.raise("SGL_EARG", full .. ": parameters and groups are mixed in one list")
      end
      table.insert(groups[1].params, entry)
    elseif type(entry) == "table" and type(entry.params) == "table" then
      if #entry.params == 0 then
        core.raise("SGL_EARG", ("%s: group %d has no parameters"):format(full, i),
          "a group is { params = { w, b }, lr = 0.1 }, its parameters a list")
      end
      local own = {}
      for k, v in pairs(defaults) do own[k] = v end
      for k, v in pairs(entry) do if k ~= "params" then own[k] = v end end
      groups[i] = { params = entry.params, options = api.options(full, opts, own) }
    else
      core.raise("SGL_EARG", ("%s: item %d of the parameters is %s, neither a tensor nor a group "
        .. "with a list `params`"):format(full, i, api.describe(entry)))
    end
  end
  return groups
end

local function check_rate(full, lr)
  if type(lr) == "table" and not schedule.is_schedule(lr) then
    core.raise("SGL_EARG",
      full .. ": option 'lr' must be a number or an optim.schedule, got a table",
      "groups with their own rates are given as { { params = {…}, lr = … }, … }")
  end
end

-- A parameter that can be trained and comes for the first time.
local function check_parameter(full, p, i, seen)
  if not core.is_tensor(p) then
    core.raise("SGL_EARG", ("%s: parameter %d of a group must be a tensor, got %s"):format(full, i,
      api.describe(p)))
  elseif not p:is_floating_point() then
    core.raise("SGL_EDTYPE", ("%s: parameter %d must be a float, got %s"):format(full, i,
      api.describe(p)), "only floats can be trained: convert it with :float()")
  elseif seen[p] then
    core.raise("SGL_EARG", ("%s: parameter %d, %s, is parameter %d again: a parameter comes twice")
      :format(full, i, api.describe(p), seen[p]), "model:parameters() lists each once")
  end
  seen[p] = i
end

-- Halves are updated in f32, and so is their state.
local HALF = { f16 = true, bf16 = true }

local function update(rule, p, g, state, h)
  local dtype = p.dtype
  if not HALF[dtype] then return rule(p, g, state, h) end
  local updated, new_state = rule(p:to("f32"), g:to("f32"), state, h)
  return updated:to(dtype), new_state
end

local function make_state(rule, p, h)
  local state, dtype = {}, HALF[p.dtype] and "f32" or p.dtype
  for _, name in ipairs(rule.state(h)) do
    state[name] = create.zeros_like(p, { dtype = dtype }):realize()
  end
  return versioned.new(state)
end

-- What the parameters are called: as a module listed them, or by number where a name comes twice.
local function parameter_names(params)
  local list, first = {}, {}
  for i, p in ipairs(params) do
    local name = names.listed(p)
    list[i] = name and not first[name] and name or tostring(i)
    first[list[i]] = i
  end
  return list
end

local entries

local function build(rule, full, opts, params, defaults)
  local self = setmetatable({ rule = rule, params = {}, state = {}, groups = {},
                              steps = core.tensor(0, "i32") }, M[rule.name])
  local seen = {}
  for i, group in ipairs(groups_of(full, opts, params, defaults)) do
    local lr = group.options.lr
    check_rate(full, lr)
    if rule.check then rule.check(full, group.options) end
    local scheduled = schedule.is_schedule(lr)
    self.groups[i] = { options = group.options, first = #self.params + 1, last = nil,
                       schedule = scheduled and lr or nil,
                       lr = number_tensor(scheduled and 1 or lr) }
    for _, p in ipairs(group.params) do
      check_parameter(full, p, #self.params + 1, seen)
      table.insert(self.params, p)
      table.insert(self.state, make_state(rule, p, group.options))
    end
    self.groups[i].last = #self.params
  end
  self.names = parameter_names(self.params)
  self.params, self.state = versioned.new(self.params), versioned.new(self.state)
  return names.holder(self, "optim", entries)
end

-- The learning rate of a group in this step: what the call says, else the schedule's value times
-- the group's tensor, else the tensor.
local function rate(group, given, t)
  if given ~= nil then return core.is_tensor(given) and given or number_tensor(given) end
  return group.schedule and group.schedule:graph(t - 1) * group.lr or group.lr
end

local function method(name, row, fn) api.method(Optimizer, name, row, fn) end

local LR = { "lr", "number|tensor?", nil, "instead of the groups' own learning rate",
             within = RATE }

-- Gradients that are those of the parameters, one for each.
local function check_gradients(self, grads)
  local name = "optim." .. self.rule.name .. ":step"
  if #grads ~= #self.params then
    core.raise("SGL_EARG", ("%s: %d gradients for %d parameters"):format(name, #grads,
      #self.params), "pass sgl.grad(loss, opt.params)")
  end
  for i, p in ipairs(self.params) do
    local g = grads[i]
    if not core.is_tensor(g) or api.shape_text(g.shape) ~= api.shape_text(p.shape) then
      core.raise("SGL_ESHAPE", ("%s: gradient %d is %s, its parameter %s"):format(name, i,
        api.describe(g), api.describe(p)), "pass sgl.grad(loss, opt.params)")
    end
  end
end

-- A group by its number; raises when there is none.
local function group_at(self, caller, i)
  return self.groups[i] or core.raise("SGL_EARG", ("optim.%s:%s: there is no group %d"):format(
    self.rule.name, caller, i), ("the optimizer has %d"):format(#self.groups))
end

method("step", {
  doc = "Updates the parameters from gradients.",
  args = { { "grads", "table", "list of tensors, in the order of params",
             usage = "use opt:minimize(loss), which makes the gradients and does the step" } },
  opts = { LR },
  returns = "nothing",
  errors = "a list of another length, a gradient of another shape",
}, function(self, grads, o)
  check_gradients(self, grads)
  self.steps:assign(self.steps + 1)
  local t = self.steps:to("f32")
  for _, group in ipairs(self.groups) do
    local h = setmetatable({ lr = rate(group, o.lr, t), t = t }, { __index = group.options })
    for i = group.first, group.last do
      local p, state = self.params[i], self.state[i]
      local updated, new_state = update(self.rule.update, p, grads[i], state, h)
      p:assign(updated)
      for _, name in ipairs(self.rule.state(group.options)) do
        state[name]:assign(new_state[name])
      end
    end
  end
end)

-- Raises where a step would train nothing: the loss reaches none of the parameters, or misses one
-- whose place in its module went to another. `missed` has the numbers of those it does not reach.
local function check_reached(self, missed)
  local name = "optim." .. self.rule.name .. ":minimize"
  for _, i in ipairs(missed) do
    local at = names.replaced(self.params[i])
    if at then
      core.raise("SGL_EARG", ("%s: parameter %d is no longer in the model: another took its place, "
        .. "%s"):format(name, i, at), "make the optimizer after that, from model:parameters()")
    end
  end
  if #missed == #self.params then
    core.raise("SGL_EARG", ("%s: the loss reaches none of the %d parameters, nothing would be "
      .. "trained"):format(name, #missed), "it must be computed from them; item, detach, argmax, "
      .. "comparisons and integers end the way back")
  end
end

method("minimize", {
  doc = "Gradient of the loss, clipping, and a step.",
  args = { { "loss", "tensor", "f32[]" } },
  opts = { { "clip_norm", "number?", nil, "largest global norm of the gradients", within = RATE },
           { "clip_value", "number?", nil, "largest absolute value of an element", within = RATE },
           LR },
  returns = "tensor f32[], the norm before clipping, or nil without clip_norm",
  errors = "a loss that is not a 0-d float; one that reaches no parameter",
}, function(self, loss, o)
  local grads, missed = core.grad(loss, self.params)
  check_reached(self, missed)
  local norm = o.clip_norm and M.clip_norm(grads, o.clip_norm)
  if o.clip_value then M.clip_value(grads, o.clip_value) end
  self:step(grads, { lr = o.lr })
  return norm
end)

method("set_lr", {
  doc = "Sets the learning rate (with a schedule: a factor on it) of one group or of all.",
  args = { { "lr", "number", "the new rate, or factor", within = RATE, input = true },
           { "group", "integer?", "from 1; default: all" } },
  returns = "nothing",
  errors = "a group that is not there",
}, function(self, lr, group)
  local chosen = group and { group_at(self, "set_lr", group) } or self.groups
  for _, g in ipairs(chosen) do g.lr:assign(number_tensor(lr)) end
end)

method("lr", {
  doc = "The learning rate that the next step of a group uses.",
  args = { { "group", "integer?", "from 1, the default" } },
  returns = "number",
}, function(self, group)
  local g = group_at(self, "lr", group or 1)
  local lr = g.lr:item()
  return g.schedule and lr * g.schedule:at(self.steps:item()) or lr
end)

-- What an optimizer holds beside the parameters: { name, tensor }, and for the state of a parameter
-- the name that it had before parameters had names.
function entries(self)
  local list = { { "steps", self.steps } }
  for i, g in ipairs(self.groups) do list[#list + 1] = { "lr." .. i, g.lr } end
  for _, g in ipairs(self.groups) do
    for i = g.first, g.last do
      for _, name in ipairs(self.rule.state(g.options)) do
        list[#list + 1] = { ("%s.%s"):format(name, self.names[i]), self.state[i][name],
                            ("%d.%s"):format(i, name) }
      end
    end
  end
  return list
end

method("state_dict", { doc = "Step count, learning rates and state tensors by name; names are "
  .. "listed in order in the list part. The state of a parameter is called after the name under "
  .. "which the module listed it, 'm.1.weight', or its number. The tensors themselves, not copies.",
  returns = "table" },
  function(self)
    local dict = {}
    for _, entry in ipairs(entries(self)) do
      dict[#dict + 1], dict[entry[1]] = entry[1], entry[2]
    end
    return dict
  end)

method("load_state_dict", {
  doc = "Copies values by name, as state_dict gives them.",
  args = { { "dict", "table", "name -> tensor" } },
  returns = "nothing",
  errors = "a missing name, a shape that differs",
}, function(self, dict)
  local full, pending = "optim." .. self.rule.name .. ":load_state_dict", {}
  for _, entry in ipairs(entries(self)) do
    local name, to, older = entry[1], entry[2], entry[3]
    local from = dict[name] or older and dict[older]
    if from == nil then
      core.raise("SGL_EARG", ("%s: '%s' is missing"):format(full, name),
        "the dict must come from state_dict() of the same rule with the same options")
    elseif api.describe(from) ~= api.describe(to) then
      core.raise("SGL_ESHAPE", ("%s: '%s' is %s here and %s in the dict"):format(full, name,
        api.describe(to), api.describe(from)),
        "the dict must come from an optimizer of the same parameters")
    end
    pending[#pending + 1] = { to, from }
  end
  if #dict > #pending then
    local known = {}
    for _, entry in ipairs(entries(self)) do known[entry[1]], known[entry[3] or false] = 1, 1 end
    for _, name in ipairs(dict) do
      if not known[name] then
        core.raise("SGL_EARG", ("%s: %s is not of this optimizer"):format(full, core.quote(name)),
          ("the dict holds %d tensors, the optimizer %d"):format(#dict, #pending))
      end
    end
  end
  for _, p in ipairs(pending) do p[1]:assign(p[2]) end
end)

api.strict(Optimizer, "an optimizer", { "params", "steps" })

for _, rule in ipairs(rules) do
  local opts = { { "lr", "number|table", rule.lr, "learning rate: a number, or an optim.schedule",
                   within = RATE } }
  for _, opt in ipairs(rule.opts) do opts[#opts + 1] = opt end
  local row = {
    doc = rule.doc,
    args = { { "params", "table",
               "list of parameters, or of groups { params = {…}, lr = … }" } },
    opts = opts,
    returns = "optimizer",
    errors = "an empty list, a parameter that comes twice, an unknown option",
  }
  local class, check = api.class(M, rule.name, row)
  setmetatable(class, {
    __index = Optimizer,
    __call = function(_, ...)
      local params, o = check(...)
      return build(rule, "optim." .. rule.name, opts, params, o)
    end,
  })
end

return M
