-- export.lua: a function or a whole training step as a file that runs without its script, and back.
--
-- In:    a module, a function or a compiled function; a spec or an example for each argument.
-- Out:   a bundle (src/io/bundle.h): the captured graph, the values of its state. sgl.import gives
--        an object that is called as the function was; C programs load it with sgl_load.
-- Holds: exporting runs and changes nothing of the script: state, modes and random numbers are as
--        before. A file is kept only when what was read back from it computes the same bits as what
--        was to be written.
local api = require "sgl.api"
local compile = require "sgl.compile"
local core = require "sgl.core"
local blocks = require "sgl.breaks.exports"
local dist_write = require "sgl.dist.write"
local fields = require "sgl.nn.fields"
local loading = require "sgl.loading"

local raise = core.raise

local export = {}

-- ---- what is exported

local is_module = fields.is_module

-- The modules' modes as they are now; calling the result restores them.
local function keep_modes(model)
  local modes = {}
  for _, m in model:named_modules() do modes[m] = m.training end
  return function() for m, training in pairs(modes) do m.training = training end end
end

-- The names of the parameters of a method, without self.
local function names_of(fn)
  local names, info = {}, debug.getinfo(fn, "u")
  for i = 2, info.nparams do names[i - 1] = debug.getlocal(fn, i) end
  return names
end

-- A function that calls the model, with its parameters' names.
local function caller(model, count)
  local names = names_of(getmetatable(model).forward or model.forward)
  for i = #names + 1, count do names[i] = "x" .. i end
  local list = table.concat(names, ", ", 1, count)
  return load(("local model = ... return function(%s) return model(%s) end"):format(list, list),
    "=export")(model)
end

-- A size that the dim may have, not 1 if that can be: a size of 1 is like no other.
local function size_of(dim)
  if math.type(dim) then return dim end
  local least = math.max(dim.min, 2)
  local size = (least + dim.multiple - 1) // dim.multiple * dim.multiple
  return size <= dim.max and size or dim.max // dim.multiple * dim.multiple
end

-- A tensor that the spec describes: numbers that say something, and indices that are always there.
local function example_of(spec)
  if core.is_tensor(spec) then return spec end
  local shape, numbers = {}, 1
  for i, size in ipairs(spec.shape) do
    shape[i] = size_of(size)
    numbers = numbers * shape[i]
  end
  if core.tensor(0, spec.dtype):is_floating_point() then
    return ((core.iota({ numbers }, 1, "i32") * 37 % 101):to(spec.dtype) / 101):reshape(shape)
  end
  return core.full(shape, 0, spec.dtype)
end

local function check_specs(specs)
  for i, spec in ipairs(specs) do
    if getmetatable(spec) ~= api.root.Spec and not core.is_tensor(spec) then
      raise("SGL_EARG", ("export: argument %d is described by %s"):format(i, api.describe(spec)),
        "write sgl.spec({ batch, 64 }), or give a tensor as an example")
    end
  end
end

-- The function, whose results must be tensors; `apart`: results that are arguments or state become
-- values of their own.
local function checked(fn, apart, count)
  return function(...)
    local results = table.pack(fn(...))
    count.results = results.n
    for i = 1, results.n do
      if not core.is_tensor(results[i]) then
        count.wrong = true
        raise("SGL_EARG", ("export: result %d is %s"):format(i, api.describe(results[i])),
          "an exported function returns tensors")
      end
      if apart then results[i] = core.apply("barrier", results[i], { number = 0 }) end
    end
    return table.unpack(results, 1, results.n)
  end
end

-- A function with the parameters' names of `what`.
local function function_of(what, count)
  if is_module(what) then return caller(what, count) end
  return getmetatable(what) == api.root.Compiled and what.fn or what
end

-- The capture of the function for the specs.
local function capture_once(fn, inputs, examples, apart)
  local count = {}
  local step = api.root.compile(checked(fn, apart, count), { inputs = inputs, strict = true })
  for i = 1, #examples do step.parameters[i] = debug.getlocal(fn, i) or "x" .. i end
  local ok, entry = pcall(compile.captured, step, table.pack(table.unpack(examples)))
  if count.wrong and type(entry) == "table" then entry.reason = "X-RESULT" end
  return ok, entry, ok and #entry.program:graph():outputs() == count.results
end

-- The capture of `what` for the specs, and the examples it was captured with.
local function capture(what, specs, o)
  check_specs(specs)
  local fn, inputs, examples, restore = function_of(what, #specs), {}, {}, nil
  for i, spec in ipairs(specs) do
    inputs[i] = getmetatable(spec) == api.root.Spec and spec or false
    examples[i] = example_of(spec)
  end
  if is_module(what) then
    restore = keep_modes(what)
    if o.train then what:train() else what:eval() end
  end
  local ok, entry, whole = capture_once(fn, inputs, examples, false)
  if ok and not whole then ok, entry = capture_once(fn, inputs, examples, true) end
  if restore then restore() end
  return ok, entry, examples
end

-- ---- the file

-- The inputs of the graph that are state, as { name, tensor, is it a parameter? }.
local function state_of(graph, entry)
  local by_name, list = {}, {}
  for i, tensor in ipairs(entry.program:state()) do by_name[entry.state[i]] = tensor end
  for _, input in ipairs(graph:inputs()) do
    if input.state and input.name == "rng" then
      list[#list + 1] = { "rng", core.tensor({ core.rng() }, "i64") }
    elseif input.state then
      local tensor = by_name[input.name]
      list[#list + 1] = { input.name, tensor, fields.is_parameter(tensor) }
    end
  end
  return list
end

-- The tensors that a state dict of the module has, as a set.
local function registered(module)
  local set = {}
  for _, t in module:named_parameters() do set[t] = true end
  for _, t in module:named_buffers() do set[t] = true end
  return set
end

-- What each input of the graph is: the name of state, or the number of an argument.
local function slots_of(graph)
  local slots, arguments = {}, 0
  for i, input in ipairs(graph:inputs()) do
    if not input.state then arguments = arguments + 1 end
    slots[i] = input.state and input.name or arguments
  end
  return slots
end

-- The tensors of a graph's inputs.
local function gather(slots, state, arguments)
  local list = {}
  for i, slot in ipairs(slots) do
    list[i] = math.type(slot) and arguments[slot] or state[slot]
  end
  return list
end

local function by_name(list)
  local state = {}
  for _, item in ipairs(list) do state[item[1]] = item[2] end
  return state
end

-- All that a run gives and leaves, as bytes.
local function outcome(graph, state, examples)
  local all, assigned = graph:apply(gather(slots_of(graph), state, examples))
  for _, item in ipairs(assigned) do all[#all + 1] = item[2] end
  core.realize(all)        -- one program, not one for each
  local bytes = {}
  for i, t in ipairs(all) do bytes[i] = t:bytes() end
  return bytes
end

-- Does the file compute what the captured graph does? Else what differs, or what it raised.
local function check(path, graph, state, examples)
  local file = core.bundle_read(path)
  local again = file and core.parse(file.graph)
  if not again or again:hash() ~= graph:hash() then return "its graph is another" end
  local wanted = outcome(graph, by_name(state), examples)
  local got = outcome(again, by_name(file.state), examples)
  for i = 1, math.max(#wanted, #got) do
    if wanted[i] ~= got[i] then return ("its result %d has other bits"):format(i) end
  end
  return nil
end

local function about_of(what, o)
  local name = o.name or (type(what) == "function" and "function" or tostring(what))
  local about = { { "name", name } }
  for key, value in pairs(o.about or {}) do about[#about + 1] = { key, tostring(value) } end
  table.sort(about, function(a, b) return a[1] < b[1] end)
  return about
end

-- A step has state that a run changes.
local function kind_of(graph)
  for _, input in ipairs(graph:inputs()) do
    if input.assigned then return "step" end
  end
  return "function"
end

-- Writes beside the file, and puts it in its place when it was found right.
local function write(path, graph, state, examples, about)
  local part = path:sub(-1) == "/" and path or path .. ".new"
  local ok, message, code = core.bundle_write(part, kind_of(graph), graph:text(), state, about)
  if not ok then return nil, "export: " .. message:gsub("%.new:", ":", 1), code end
  local fine, wrong = pcall(check, part, graph, state, examples)
  if not fine or wrong then
    os.remove(part)
    return nil, ("export: %s was not kept: %s"):format(path, tostring(wrong)), "SGL_EINTERN"
  end
  if part ~= path then
    ok, message, code = core.keep(part, path)
    if not ok then
      os.remove(part)
      return nil, "export: " .. message, code
    end
  end
  return true
end

-- What is said where the capture was fine.
local BEHIND = { SGL_EINTERN = "X-BITS", SGL_EFILE = "X-FILE" }
local function ended(otherwise, ok, message, code)
  if ok then return true end
  return nil, message, code, blocks.of_message(BEHIND[code] or otherwise, message)
end

-- What rank 0 writes, to whom the others show their parts of the state.
local function write_alone(state, path, fn)
  return dist_write(path, function()
    if core.job() == 0 then return fn() end
    for _, item in ipairs(state) do item[2]:bytes() end
    return true
  end)
end

-- What reads and writes ONNX files is loaded when there is one.
local function onnx() return require "sgl.onnx" end

-- The same as an ONNX file.
local function write_onnx(graph, state, examples, o)
  local tensors = by_name(state)
  local function run() return graph:apply(gather(slots_of(graph), tensors, examples)) end
  return ended("X-OP", write_alone(state, o.file, function()
    return onnx().export(o.file, { graph = graph, state = tensors, examples = examples, run = run },
      o)
  end))
end

api.fn(api.root, "export", {
  doc = "Writes a module, a function or a whole training step as a bundle: the captured graph and "
    .. "the values of its state, which sgl.import and the C function sgl_load run without the "
    .. "script; or a module or a function as an ONNX file. What was written is read back, run and "
    .. "compared before it is kept.",
  args = { { "what", "any", "a module (in evaluation mode), a function, a compiled function" },
           { "specs", "table", "for each argument a sgl.spec, or a tensor as an example" } },
  opts = { { "file", "string", nil, "the bundle, a zip; a name that ends in / is a folder, one "
             .. "that ends in .onnx an ONNX file" },
           { "outputs", "table", nil, "ONNX: the names of the results" },
           { "external", "boolean", nil, "ONNX: values of state in a file beside it; by itself "
             .. "above 1 GB" },
           { "train", "boolean", false, "a module: as it is in training" },
           { "name", "string", nil, "kept in the file" },
           { "about", "table", nil, "texts by name, kept in the file" } },
  returns = "true; or nil, message, code, block: what cannot be captured or written, where and why "
    .. "(breaks.md)",
  errors = "wrong arguments",
}, function(what, specs, o)
  if not is_module(what) and getmetatable(what) ~= api.root.Compiled
    and type(what) ~= "function" then
    raise("SGL_EARG", ("export: the first argument must be a module or a function, got %s"):format(
      api.describe(what)))
  end
  if not o.file then
    raise("SGL_EARG", "export: option 'file' is missing", "file = \"model.sgl\"")
  end
  local ok, entry, examples = capture(what, specs, o)
  if not ok then
    return nil, "export: blocked in the capture: " .. tostring(entry),
      type(entry) == "table" and entry.code or "SGL_EARG", blocks.of_error(entry)
  end
  local graph = entry.program:graph()
  local state = state_of(graph, entry)
  local block = is_module(what) and blocks.of_state(graph, state, registered(what))
  if o.file:find "%.onnx$" and not block then return write_onnx(graph, state, examples, o) end
  block = block or blocks.of_nodes(graph)
  if block then return nil, "export: " .. blocks.text(block), "SGL_EUNSUP", block end
  return ended("X-FILE", write_alone(state, o.file, function()
    return write(o.file, graph, state, examples, about_of(what, o))
  end))
end)

-- ---- and back

local Imported = {}
Imported.__index = Imported
Imported.__name = "sgl.imported"

api.class(api.root, "Imported", {
  doc = "What sgl.import returns: called as the function was that was exported. Fields: kind "
    .. "(\"function\" or \"step\"), version, about.",
}, Imported)

api.fn(api.root, "import", {
  doc = "Reads a bundle that sgl.export wrote: a function of tensors with its state, to be called, "
    .. "compiled, and trained further; or, by the ending .onnx, a public model.",
  args = { { "path", "string", "of the file or folder" } },
  returns = "Imported or ImportedOnnx; or nil, message, code",
  errors = "a damaged file; ONNX: what is not imported",
}, function(path)
  if path:find "%.onnx$" then return onnx().import(path) end
  local file, message, code = core.bundle_read(path)
  if not file then return nil, message, code end
  local graph, state = core.parse(file.graph), by_name(file.state)
  local names, arguments = {}, {}
  for _, item in ipairs(file.state) do fields.mark(item[2], item[3]) end
  for _, input in ipairs(graph:inputs()) do
    if not input.state then
      arguments[#arguments + 1] = input.name or ("input " .. #arguments + 1)
    elseif not state[input.name] then
      raise("SGL_EFORMAT", ("import: %s: there is no value for the state '%s'"):format(path,
        input.name), "export it again")
    else
      names[#names + 1] = input.name
    end
  end
  return setmetatable({ kind = file.kind, version = file.version, about = file.about, path = path,
    program = graph, slots = slots_of(graph), names = names, arguments = arguments,
    state = state }, Imported)
end)

function Imported:__call(...)
  local given = table.pack(...)
  if given.n ~= #self.arguments then
    raise("SGL_EARG", ("%s takes %d tensor%s (%s), got %d"):format(self.path, #self.arguments,
      #self.arguments == 1 and "" or "s", table.concat(self.arguments, ", "), given.n))
  end
  for i = 1, given.n do
    if not core.is_tensor(given[i]) then
      raise("SGL_EARG", ("%s: argument '%s' must be a tensor, got %s"):format(self.path,
        self.arguments[i], api.describe(given[i])))
    end
  end
  local results, assigned = self.program:apply(gather(self.slots, self.state, given))
  for _, item in ipairs(assigned) do self.state[self.slots[item[1]]]:assign(item[2]) end
  return table.unpack(results)
end

function Imported:__tostring()
  return ("imported %s (%s)"):format(self.kind, self.path)
end

api.method(Imported, "graph", {
  doc = "The graph.", returns = "Graph",
}, function(self) return self.program end)

api.method(Imported, "state_dict", {
  doc = "The state by name, and the names from 1; the tensors themselves, not copies.",
  returns = "table",
}, function(self)
  local dict = {}
  for i, name in ipairs(self.names) do dict[i], dict[name] = name, self.state[name] end
  return dict
end)

api.method(Imported, "load_state_dict", {
  doc = "Copies values by name into the state.",
  args = { { "dict", "table", "name -> tensor, as state_dict or sgl.load gives" } },
  opts = { { "strict", "boolean", true, "names must be the same on both sides" } },
  returns = "the imported function", errors = "a missing or unexpected name (strict), a shape or "
    .. "dtype that differs",
}, function(self, dict, o)
  local rows = {}
  for i, name in ipairs(self.names) do rows[i] = { name, { self.state[name] } } end
  loading.into(rows, dict, o.strict)
  return self
end)

api.method(Imported, "parameters", {
  doc = "The state that was a parameter, for an optimizer that trains it further.",
  returns = "list",
}, function(self)
  local list = {}
  for _, name in ipairs(self.names) do
    if fields.is_parameter(self.state[name]) then list[#list + 1] = self.state[name] end
  end
  return list
end)

return export
