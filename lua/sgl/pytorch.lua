-- pytorch.lua: what is written here for names that people bring from PyTorch, Keras and NumPy.
--
-- In:    the tables GROUPS, one for each thing whose fields are asked for.
-- Out:   the way out of a message about a name that is not there (`pytorch.hint`), and
--        docs/from-pytorch.md (scripts/api/pytorch.lua).
-- Rows:  { names, code, words }: the names, with blanks between; what to write, "" for nothing; and
--        what else there is to know. Code runs with the names that its group may use, see
--        spec/house/pytorch_spec.lua.
-- Holds: no name of a row exists here, so that a message has at most one way out.
local core = require "sgl.core"

local pytorch = {}

local PLACE = "nothing to write: tensors and modules are where the program runs"
local VALUES = "gradients are values that sgl.grad gives, not fields of tensors"
local KEPT = "gradients are values: none is kept, and none zeroed"
local SIZES = "a shape is a list: x.shape[1], x.shape[-1]"

--- { the table in PyTorch, the table here, title, rows }; messages ask by the second.
pytorch.groups = {
  { "torch", "sgl", "Functions and types", {
    { "no_grad inference_mode enable_grad set_grad_enabled", "",
      "nothing to write: no gradient is made until sgl.grad or minimize asks; x:detach() lets none "
        .. "go back" },
    { "manual_seed", "sgl.seed(1)" },
    { "jit fx", "sgl.compile(function(v) return v * 2 end)" },
    { "from_numpy as_tensor asarray array frombuffer", "sgl.tensor({ { 1, 2 }, { 3, 4 } })",
      "of nested lists; sgl.load reads files" },
    { "FloatTensor", "sgl.tensor({ 1, 2 }, \"f32\")" },
    { "LongTensor", "sgl.tensor({ 1, 2 }, \"i64\")" },
    { "cuda cpu device mps set_default_device", "", PLACE },
    { "float32", "\"f32\"", "dtypes are strings: sgl.zeros(2, { dtype = \"f32\" })" },
    { "float64", "\"f64\"" },
    { "float16", "\"f16\"" },
    { "int64", "\"i64\"" },
    { "int32", "\"i32\"" },
    { "uint8", "\"u8\"" },
    { "get_default_dtype set_default_dtype", "x:to(\"f64\")",
      "floats are f32 unless said otherwise" },
    { "autograd", "sgl.grad(x:sum(), x)" },
    { "autocast amp", "model:to(\"bf16\")", "losses, norms and optimizers compute halves in f32" },
    { "from_dlpack to_dlpack", "x:bytes()", "and sgl.save, sgl.load for files" },
    { "column_stack", "sgl.hstack({ x, x })" },
    { "isin", "x:unsqueeze(-1):eq(y:flatten()):any(-1)" },
    { "tensordot", "sgl.einsum(\"ij,kj->ik\", x, y)" },
    { "multinomial", "(logits - (-sgl.rand_like(logits):log()):log()):argmax(-1)",
      "one draw for each row of logits (Gumbel)" },
    { "pi", "math.pi" },
    { "inf", "math.huge" },
    { "nan", "0 / 0" },
    { "utils", "sgl.data.dataset(x, y)" },
    { "set_num_threads get_num_threads", "sgl.config.threads" },
    { "use_deterministic_algorithms", "",
      "nothing to write: results have the same bits everywhere" },
    { "profiler", "sgl.coverage(step)", "and step:info(), sgl.counters()" },
    { "range", "sgl.arange(0, 5)" },
    { "vmap", "sgl.einsum(\"ij,ij->i\", x, y)",
      "functions take batches: write the batch as a dim" },
    { "Size", "x.shape", SIZES },
  } },

  { "tensor", "tensor", "Methods and fields of tensors", {
    { "cuda cpu device xpu mps pin_memory is_cuda get_device", "", PLACE },
    { "grad", "sgl.grad(x:sum(), x)", VALUES },
    { "requires_grad requires_grad_ retain_grad retains_grad is_leaf grad_fn",
      "sgl.grad(x:sum(), x)",
      "any tensor may be asked for; nn.parameter marks what an optimizer trains" },
    { "zero_grad", "", "nothing to write: " .. VALUES },
    { "numpy values", "x:tolist()" },
    { "data", "x:detach()" },
    { "T mT H", "x:transpose()" },
    { "type astype", "x:to(\"f64\")", "x.dtype is its name" },
    { "contiguous is_contiguous", "", "nothing to write: tensors are values, without strides" },
    { "stride", "x.shape", "tensors are values, without strides" },
    { "rank ndimension", "x.ndim" },
    { "length len", "#x", "the size of the first dim; x:numel() counts all" },
    { "nelement", "x:numel()" },
    { "reshape_as view_as", "x:reshape(y.shape)" },
    { "copy_", "x:assign(y)" },
    { "fill_ zero_", "x:assign(0)" },
    { "normal_", "sgl.nn.init.normal(x)" },
    { "uniform_", "sgl.nn.init.uniform(x)" },
    { "masked_fill_", "x:assign(x:masked_fill(x:gt(1), 0))" },
    { "clamp_min", "x:maximum(0)" },
    { "clamp_max", "x:minimum(0)" },
    { "argwhere", "x:nonzero()" },
    { "absolute", "x:abs()" },
    { "multiply", "x:mul(y)" },
    { "subtract", "x:sub(y)" },
    { "divide true_divide", "x:div(y)" },
    { "floor_divide", "x:floordiv(2)" },
    { "remainder", "x:mod(2)" },
    { "negative", "x:neg()" },
    { "less", "x:lt(y)" },
    { "greater", "x:gt(y)" },
    { "less_equal", "x:le(y)" },
    { "greater_equal", "x:ge(y)" },
    { "not_equal", "x:ne(y)" },
    { "inner", "(x * y):sum(-1)" },
    { "addmm", "x:matmul(y:t()) + 1" },
    { "addcmul", "x + x * y" },
    { "new_zeros", "sgl.zeros(2, { dtype = x.dtype })" },
    { "new_ones", "sgl.ones(2, { dtype = x.dtype })" },
    { "new_full new_tensor", "sgl.full({ 2 }, 7, { dtype = x.dtype })" },
    { "rot90 fliplr flipud", "x:flip(1)" },
    { "scatter scatter_", "x[index] = 0", "or scatter_add for sums" },
    { "scatter_add_", "x:assign(x:scatter_add(2, columns, y))" },
    { "index_put_ index_fill_ index_copy_", "x[index] = 0" },
    { "register_hook", "sgl.print(x)", "of what sgl.grad gave" },
    { "split_with_sizes tensor_split", "x:split({ 1, 2 }, 2)" },
    { "mode unique", "x:flatten():int():bincount(9)",
      "counts of small integers; x:sort() for others" },
    { "logcumsumexp", "x:exp():cumsum(1):log()" },
    { "nansum", "x:nan_to_num(0):sum()" },
    { "aminmax", "x:amin(), x:amax()" },
    { "is_same_size", "x.shape == y.shape" },
    { "nbytes element_size", "#x:bytes()" },
  } },

  { "module", "module", "Methods of modules", {
    { "zero_grad", "opt:minimize(loss)", KEPT },
    { "cuda cpu xpu", "", PLACE },
    { "half", "model:to(\"f16\")" },
    { "bfloat16", "model:to(\"bf16\")" },
    { "float", "model:to(\"f32\")" },
    { "double", "model:to(\"f64\")" },
    { "summary", "print(model)", "model:count() is the number of parameters" },
    { "named_children", "model:children()", "model:named_modules() has names" },
    { "modules", "model:named_modules()" },
    { "requires_grad_ freeze", "optim.Adam(model[3]:parameters())",
      "give the optimizer only what it shall train" },
    { "register_buffer", "model.mean = sgl.zeros(3)", "a tensor that is no parameter is a buffer" },
    { "register_parameter", "model.scale = nn.parameter(sgl.ones(3))" },
    { "add_module register_module", "model.head = nn.Linear(3, 3)", "by plain assignment" },
    { "get_parameter get_buffer get_submodule", "model:state_dict()[\"1.weight\"]" },
    { "register_forward_hook register_forward_pre_hook register_full_backward_hook", "sgl.print(x)",
      "in the forward of a class of your own; step:graph() shows each value" },
    { "fit", "opt:minimize(loss)", "in a loop over dataset:batches(n)" },
    { "backward", "opt:minimize(loss)" },
  } },

  { "optimizer", "an optimizer", "Methods of optimizers", {
    { "zero_grad", "opt:minimize(loss)", KEPT },
    { "param_groups", "opt:set_lr(0.1)", "opt:lr() reads the rate; opt.params are the parameters" },
    { "add_param_group", "optim.SGD({ { params = model:parameters(), lr = 0.1 } })",
      "all groups at once" },
    { "backward", "opt:minimize(loss)" },
  } },

  { "nn", "nn", "Layers, losses and helpers", {
    { "CrossEntropyLoss SparseCategoricalCrossentropy", "nn.cross_entropy(logits, classes)",
      "losses are functions; classes count from 0" },
    { "MSELoss MeanSquaredError", "nn.mse_loss(x, y)", "losses are functions" },
    { "L1Loss", "nn.l1_loss(x, y)" },
    { "SmoothL1Loss HuberLoss smooth_l1_loss", "nn.huber_loss(x, y)" },
    { "NLLLoss", "nn.nll_loss(logits:log_softmax(-1), classes)" },
    { "BCEWithLogitsLoss BinaryCrossentropy binary_cross_entropy_with_logits",
      "nn.bce_with_logits(x, y)" },
    { "BCELoss binary_cross_entropy", "nn.bce_with_logits(x, y)",
      "of the values before the sigmoid" },
    { "KLDivLoss", "nn.kl_div(x:log_softmax(-1), y:softmax(-1))" },
    { "Dense LazyLinear", "nn.Linear(3, 8)", "inputs, then outputs" },
    { "Conv2D", "nn.Conv2d(3, 8, 3)" },
    { "MaxPooling2D MaxPool2D", "nn.MaxPool2d(2)" },
    { "AveragePooling2D AvgPool2D", "nn.AvgPool2d(2)" },
    { "BatchNormalization", "nn.BatchNorm1d(3)" },
    { "LayerNormalization", "nn.LayerNorm(3)" },
    { "MultiHeadAttention", "nn.MultiheadAttention(8, 2)" },
    { "AdaptiveAvgPool2d GlobalAveragePooling2D", "images:mean({ 3, 4 }, { keepdim = true })",
      "to size 1; AvgPool2d for others" },
    { "LeakyReLU", "x:leaky_relu({ slope = 0.01 })", "in a forward of your own" },
    { "ELU", "x:elu()", "in a forward of your own" },
    { "ReLU6", "x:relu6()", "in a forward of your own" },
    { "Mish", "x:mish()", "in a forward of your own" },
    { "LogSigmoid", "x:logsigmoid()", "in a forward of your own" },
    { "Hardtanh", "x:hardtanh()", "in a forward of your own" },
    { "ZeroPad2d ConstantPad2d", "images:pad({ 1, 1, 1, 1 })" },
    { "ReflectionPad2d", "images:pad({ 1, 1, 1, 1 }, { mode = \"reflect\" })" },
    { "Upsample UpsamplingNearest2d interpolate",
      "images:repeat_interleave(2, 3):repeat_interleave(2, 4)", "the nearest" },
    { "Unflatten", "x:unflatten(2, { 3, 1 })" },
    { "LSTMCell", "nn.LSTM(3, 8)", "with a sequence of one step, or sgl.scan" },
    { "GRUCell", "nn.GRU(3, 8)", "with a sequence of one step, or sgl.scan" },
    { "Parameter", "nn.parameter(sgl.ones(3))" },
    { "ModuleDict ParameterDict", "nn.ModuleList(nn.Linear(3, 3))",
      "or fields of the module, one for each name" },
    { "ParameterList", "model.list = { nn.parameter(sgl.ones(3)) }",
      "a plain list in a field is registered" },
    { "Transformer TransformerEncoder TransformerEncoderLayer", "nn.MultiheadAttention(8, 2)",
      "docs/tutorial.md builds the block" },
    { "DataParallel SyncBatchNorm", "", "there is one device and one process" },
    { "utils", "opt:minimize(loss, { clip_norm = 1 })",
      "clip_grad_norm_ is optim.clip_norm, or this option" },
    { "F", "nn.relu(x)", "functions stand in nn itself" },
    { "cosine_similarity CosineSimilarity", "(x * y):sum(-1) / (x:norm(2, -1) * y:norm(2, -1))" },
    { "normalize", "x / x:norm(2, -1, { keepdim = true })" },
    { "mse", "nn.mse_loss(x, y)" },
    { "Model", "nn.module(\"Model\", function(self) self.a = nn.Linear(3, 3) end)" },
    { "Input", "", "nothing to write: layers take tensors" },
    { "Activation", "nn.ReLU()" },
  } },

  { "nn.init", "nn.init", "Initialisers", {
    { "kaiming_uniform_ kaiming_normal_", "nn.init.kaiming_normal(w)",
      "without the last underscore, all of them" },
    { "xavier_uniform_ xavier_normal_ glorot_uniform", "nn.init.xavier_uniform(w)" },
    { "normal_", "nn.init.normal(w)" },
    { "uniform_", "nn.init.uniform(w)" },
    { "zeros_", "nn.init.zeros(w)" },
    { "ones_", "nn.init.ones(w)" },
    { "constant_", "nn.init.constant(w, 0.5)" },
    { "orthogonal_", "nn.init.orthogonal(w)" },
    { "trunc_normal_", "w:assign((sgl.randn(w.shape) * 0.02):clamp(-0.04, 0.04))",
      "clipped, not drawn again" },
    { "eye_", "w:assign(sgl.eye(3))" },
  } },

  { "optim", "optim", "Optimizers and schedules", {
    { "lr_scheduler", "optim.Adam(model:parameters(), { lr = optim.schedule.cosine(1e-3, 100) })",
      "a schedule stands in place of the rate and counts the steps itself" },
    { "NAdam RAdam Adamax Adadelta", "optim.AdamW(model:parameters())" },
    { "LBFGS", "optim.AdamW(model:parameters())" },
    { "swa_utils", "average:assign(average * 0.99 + w * 0.01)", "see docs/recipes.md" },
    { "clip_grad_norm_ clip_grad_norm", "opt:minimize(loss, { clip_norm = 1 })" },
    { "clip_grad_value_", "opt:minimize(loss, { clip_value = 1 })" },
  } },

  { "optim.lr_scheduler", "optim.schedule", "Schedules", {
    { "CosineAnnealingLR cosine_annealing", "optim.schedule.cosine(1e-3, 100)" },
    { "StepLR MultiStepLR ExponentialLR", "optim.schedule.step(1e-3, { every = 30 })" },
    { "OneCycleLR", "optim.schedule.one_cycle(1e-3, 100)" },
    { "LinearLR", "optim.schedule.warmup(1e-3, 10)" },
    { "ConstantLR", "optim.schedule.constant(1e-3)" },
    { "ReduceLROnPlateau", "optim.schedule.plateau(opt)" },
    { "LambdaLR SequentialLR", "opt:set_lr(0.5)", "before each step, or at each epoch" },
  } },

  { "utils.data", "data", "Data", {
    { "DataLoader", "sgl.data.dataset(x, y):batches(2)" },
    { "TensorDataset", "sgl.data.dataset(x, y)" },
    { "IterableDataset", "sgl.data.iterator(function() return function() end end)" },
    { "random_split", "sgl.data.dataset(x, y):split(0.5)" },
    { "read_csv loadtxt", "sgl.data.csv(\"table.csv\")" },
    { "Sampler RandomSampler WeightedRandomSampler", "sgl.data.dataset(x, y):batches(2)",
      "{ shuffle = false } keeps the order" },
  } },
}

local CLASSES = { "sgl", "nn", "optim", "data", "nn.init", "optim.schedule" }

-- Groups that are asked as well, in their order.
local ALSO = { sgl = { "tensor", "nn" }, ["nn.functional"] = { "nn", "tensor" }, nn = { "tensor" } }

-- By the table here: name -> row.
local rows_of = {}
for _, group in ipairs(pytorch.groups) do
  local rows = {}
  rows_of[group[2]] = rows
  for _, row in ipairs(group[4]) do
    for name in row[1]:gmatch "%S+" do rows[name] = row end
  end
end

-- What a row says: "use sgl.seed(1)", with words behind a colon.
local function said(row)
  if row[2] == "" then return row[3] end
  return "use " .. row[2] .. (row[3] and ": " .. row[3] or "")
end

-- "add_" and its kin, which change a tensor in place.
local function in_place(name)
  local stem = name:match "^(%l.*)_$"
  return stem and rawget(core.Tensor, stem) and ("use x:assign(x:%s(…)): operations give new "
    .. "tensors, assign puts a value into one"):format(stem) or nil
end

-- The table "nn.init" of root; rooms that nobody named yet are loaded, but not into a capture.
local function reach(root, class)
  local at = root
  for key in class:gmatch "%a+" do
    if key ~= "sgl" then
      at = at and (rawget(at, key) or at == root and not core.capturing() and root[key] or nil)
    end
  end
  return at
end

-- "nn.Linear" for sgl.Linear: the name as it stands in another of the library's tables.
local function elsewhere(root, where, name)
  for _, class in ipairs(CLASSES) do
    local at = class ~= where and reach(root, class)
    if at and rawget(at, name) ~= nil then return ("use %s.%s"):format(class, name) end
  end
end

--- The way out for a name that the table `where` has not, or nil; `root` is the table sgl. Fields
--- of modules are the user's: of those only the rows are known.
function pytorch.hint(root, where, name)
  if type(name) ~= "string" then return nil end
  local row = rows_of[where] and rows_of[where][name]
  for _, other in ipairs(not row and ALSO[where] or {}) do row = row or rows_of[other][name] end
  if row then return said(row) end
  if where == "module" then return nil end
  return where == "tensor" and in_place(name) or elsewhere(root, where, name)
end

return pytorch
