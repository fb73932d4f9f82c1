-- calls.lua: an example for each entry of docs/api.md, by the name of its row.
--
-- In:    nothing; scripts/api/examples_of.lua runs each in an environment of its own.
-- Out:   code: an expression, whose value is shown, or statements, of which the prints are shown.
-- Holds: what is shown is the same on every machine: no times, sizes of memory or names of files.
--        The names that the code may use are those of the preamble, which the page shows.
local calls = {}

--- What stands before each example.
calls.preamble = [[
local sgl = require "sgl"
local nn, optim, data = sgl.nn, sgl.optim, sgl.data
local x = sgl.arange(1, 7):float():reshape(2, 3)         -- 1 2 3 over 4 5 6
local v = sgl.tensor { 1.0, -2.0, 3.0 }
local ids = sgl.tensor { 0, 2 }                          -- indices inside tensors count from 0
local model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
local opt = optim.SGD(model:parameters(), { lr = 0.1 })
local twice = sgl.compile(function(t) return t * 2 end)
local graph = sgl.compile(function(a) return a * 2 + 1 end)
graph(v)
local path = os.tmpname()                                -- a file of its own
]]

-- By the name of the row; a row that is new in the reference needs one.
--- Entries whose example is a page: they need a library of one's own.
calls.pages = { ["sgl.custom"] = "custom-ops.md", ["sgl.load_ops"] = "custom-ops.md" }

calls.code = {
  ["sgl.Tensor"] = "x.dtype, x.ndim, x.shape, #x",
  ["sgl.Tensor:item"] = "x[{ 2, 3 }]:item()",
  ["sgl.Tensor:tolist"] = "#x:tolist(), x:tolist()[2][3]",
  ["sgl.Tensor:bytes"] = "#x:bytes()",
  ["sgl.Tensor:show"] = "v:show()",
  ["sgl.Tensor:realize"] = "(x * 2):realize()",
  ["sgl.Tensor:assign"] = "v:assign(v * 10)",
  ["sgl.Tensor:close"] = [[
do
  local big <close> = sgl.zeros(1000, 1000)
end]],
  ["sgl.tensor"] = [[sgl.tensor({ { 1, 2 }, { 3, 4 } }), sgl.tensor({ 1, 2 }, "f64")]],
  ["sgl.zeros"] = "sgl.zeros(2, 2)",
  zeros_like = "x:zeros_like()",
  ["sgl.ones"] = [[sgl.ones({ 3 }, { dtype = "i64" })]],
  ones_like = "v:ones_like()",
  ["sgl.full"] = "sgl.full({ 2, 2 }, 7)",
  full_like = "v:full_like(0.5)",
  ["sgl.arange"] = "sgl.arange(5), sgl.arange(2, 8, 2)",
  ["sgl.linspace"] = "sgl.linspace(0, 1, 5)",
  ["sgl.logspace"] = "sgl.logspace(0, 3, 4)",
  ["sgl.eye"] = "sgl.eye(2)",
  one_hot = "ids:one_hot(3)",
  ["sgl.rand"] = "sgl.rand(3)",
  rand_like = "x:rand_like()",
  ["sgl.randn"] = "sgl.randn(2, 2)",
  randn_like = "v:randn_like()",
  ["sgl.randint"] = "sgl.randint(0, 10, 5)",
  ["sgl.randperm"] = "sgl.randperm(5)",
  bernoulli = "sgl.full({ 6 }, 0.5):bernoulli()",
  to = [[x:to("i32")]],
  float = "ids:float()",
  double = "v:double()",
  half = "v:half()",
  bfloat16 = "v:bfloat16()",
  int = "(v * 1.5):int()",
  long = "ids:long()",
  byte = "ids:byte()",
  bool = "ids:bool()",
  type_as = "ids:type_as(x)",
  clamp = "x:clamp(2, 5)",
  fmod = "v:fmod(2)",
  square = "v:square()",
  reciprocal = "v:reciprocal()",
  trunc = "(v * 0.6):trunc()",
  frac = "(v * 0.6):frac()",
  log10 = "sgl.tensor({ 1, 10, 100 }):log10()",
  nan_to_num = "sgl.tensor({ 0 / 0, 1 }):nan_to_num(0)",
  lerp = "v:lerp(v * 3, 0.5)",
  silu = "v:silu()",
  gelu = "v:gelu()",
  softplus = "v:softplus()",
  logsigmoid = "v:logsigmoid()",
  mish = "v:mish()",
  hardtanh = "v:hardtanh()",
  relu6 = "(v * 4):relu6()",
  leaky_relu = "v:leaky_relu({ slope = 0.1 })",
  elu = "v:elu()",
  softsign = "v:softsign()",
  isclose = "v:isclose(v + 1e-9)",
  allclose = "v:allclose(v + 1e-9)",
  equal = "v:equal(v:clone()), v:equal(x)",
  numel = "x:numel()",
  dim = "x:dim()",
  size = "x:size(2), x:size()",
  is_floating_point = "x:is_floating_point(), ids:is_floating_point()",
  backward = "pcall(function() x:sum():backward() end)",
  reshape = "x:reshape(3, -1)",
  clone = [[
local copy = v:clone()
copy[1] = 9
print(v, copy)]],
  flatten = "x:flatten()",
  unflatten = "sgl.arange(6):unflatten(1, { 2, -1 })",
  permute = "x:permute(2, 1).shape",
  transpose = "x:transpose()",
  t = "x:t().shape",
  movedim = "sgl.zeros(2, 3, 4):movedim(1, 3).shape",
  broadcast_to = "v:broadcast_to(2, 3)",
  expand = "v:expand(2, -1)",
  expand_as = "v:expand_as(x)",
  squeeze = "sgl.zeros(1, 3, 1):squeeze().shape",
  unsqueeze = "v:unsqueeze(1).shape",
  flip = "x:flip(2)",
  roll = "v:roll(1)",
  tile = "v:tile(2)",
  repeat_ = "v:repeat_(2)",
  repeat_interleave = "v:repeat_interleave(2)",
  select = "x:select(2, -1)",
  narrow = "x:narrow(2, 1, 2)",
  split = "x:split({ 1, 2 }, 2)",
  chunk = "v:chunk(2)",
  unbind = "x:unbind()",
  unfold = "sgl.arange(5):unfold(1, 3, 1)",
  ["sgl.cat"] = "sgl.cat({ v, v * 2 })",
  ["sgl.stack"] = "sgl.stack({ v, v * 2 }, 2)",
  ["sgl.vstack"] = "sgl.vstack { v, v }",
  ["sgl.hstack"] = "sgl.hstack { x, x }",
  ["sgl.meshgrid"] = "sgl.meshgrid(ids, v)",
  pad = [[v:pad({ 1, 2 }), v:pad({ 1, 1 }, { mode = "reflect" })]],
  index_select = "x:index_select(2, ids)",
  take = "x:take(ids)",
  gather = "x:gather(2, sgl.tensor { { 2 }, { 0 } })",
  take_along_dim = "x:take_along_dim(2, x:argsort(2, { descending = true }))",
  scatter_add = "sgl.zeros(3):scatter_add(1, sgl.tensor { 0, 2, 2 }, v)",
  index_add = "sgl.zeros(3, 3):index_add(1, ids, x)",
  bincount = "sgl.tensor({ 0, 2, 2 }):bincount(3)",
  masked_fill = "v:masked_fill(v:lt(0), 0)",
  masked_select = "v:masked_select(v:gt(0))",
  nonzero = "sgl.tensor({ 0, 5, 0, 7 }):nonzero()",
  sum = "x:sum(), x:sum(1), x:sum(2, { keepdim = true })",
  prod = "x:prod(2)",
  amax = "x:amax(1)",
  amin = "x:amin()",
  argmax = "x:argmax(-1)",
  argmin = "v:argmin()",
  max = "v:max(), x:max(2)",
  min = "x:min(1)",
  any = "v:lt(0):any()",
  all = "v:lt(0):all()",
  count_nonzero = "ids:count_nonzero()",
  mean = "x:mean(1)",
  var = "x:var(2), x:var(2, { correction = 0 })",
  std = "v:std()",
  norm = "v:norm(), v:norm(1), v:norm(math.huge)",
  logsumexp = "x:logsumexp(2)",
  softmax = "v:softmax(1)",
  log_softmax = "v:log_softmax(1)",
  median = "v:median()",
  matmul = "x:matmul(x:t()), x:matmul(v)",
  mm = "x:mm(x:t())",
  mv = "x:mv(v)",
  dot = "v:dot(v)",
  bmm = "sgl.ones(2, 1, 3):bmm(sgl.ones(2, 3, 1)).shape",
  outer = "v:outer(v)",
  cross = "v:cross(sgl.tensor { 0.0, 0.0, 1.0 })",
  kron = "ids:kron(v)",
  tril = "sgl.ones(3, 3):tril()",
  triu = "sgl.ones(3, 3):triu(1)",
  diagonal = "x:diagonal()",
  diag = "v:diag()",
  trace = "sgl.eye(3):trace()",
  ["sgl.einsum"] = [[sgl.einsum("ij,j->i", x, v)]],
  argsort = "v:argsort()",
  sort = "v:sort()",
  topk = "v:topk(2)",
  quantile = "v:quantile(0.5)",
  cumsum = "v:cumsum(1)",
  diff = "v:diff()",
  cumprod = "v:cumprod(1)",
  cummax = "v:cummax(1)",
  cummin = "v:cummin(1)",
  ["sgl.is_tensor"] = "sgl.is_tensor(x), sgl.is_tensor(1)",
  ["sgl.seed"] = [[
sgl.seed(7)
local a = sgl.rand(2)
sgl.seed(7)
print(a:equal(sgl.rand(2)))]],
  ["sgl.realize"] = "sgl.realize(x + 1, v * 2)",
  ["sgl.memory"] = "sgl.memory().live > 0",
  ["sgl.grad"] = "sgl.grad((v ^ 2):sum(), v)",
  ["sgl.compile"] = "twice(v), twice(x)",
  ["sgl.Compiled"] = "twice(v)",
  ["sgl.Compiled:graph"] = [[graph:graph():count "mul"]],
  ["sgl.Compiled:info"] = [[
twice(v)
print(twice:info().captures)]],
  ["sgl.Compiled:state"] = "#graph:state()",
  ["sgl.Compiled:state_dict"] = [[
local w = sgl.zeros(2)
local count = sgl.compile(function() w:assign(w + 1) return w end)
count()
print(count:state_dict().w)]],
  ["sgl.Compiled:load_state_dict"] = [[
local w = sgl.zeros(2)
local count = sgl.compile(function() w:assign(w + 1) return w end)
count()
count:load_state_dict { "w", w = sgl.full({ 2 }, 5) }
print(count())]],
  ["sgl.Compiled:programs"] = [[
twice(v)
twice(x)
print(#twice:programs())]],
  ["sgl.Compiled:close"] = "twice:close()",
  ["sgl.coverage"] = [[
twice(v)
print(sgl.coverage(twice).captured_steps)]],
  ["sgl.Coverage"] = [[
twice(v)
print(#sgl.coverage(twice).breaks)]],
  ["sgl.Coverage:json"] = [[
twice(v)
print(sgl.coverage(twice):json() == "")]],
  ["sgl.Coverage:picture"] = [[
twice(v)
print(#sgl.coverage(twice):picture(path .. ".sgl"))]],
  ["sgl.dim"] = [[sgl.dim("batch", { max = 64, multiple = 4 })]],
  ["sgl.spec"] = [[
local n = sgl.dim "n"
local mean = sgl.compile(function(t) return t:sum() / #t end, { inputs = { sgl.spec { n } } })
print(mean(v), mean(sgl.ones(5)), mean:info().captures)]],
  ["sgl.Spec"] = [[sgl.spec({ sgl.dim "n", 3 }, "i32")]],
  ["sgl.cond"] = [[
sgl.cond(v:sum():gt(0), function(t) return t * 2 end, function(t) return t end, v)]],
  ["sgl.scan"] = "sgl.scan(function(sum, r) return sum + r, sum end, sgl.zeros(3), x)",
  ["sgl.loop"] = [[
sgl.loop(function(t) return t:lt(100) end, function(t) return t * 2 end,
  sgl.tensor(1.0), { max = 20 })]],
  ["sgl.print"] = [[
local step = sgl.compile(function(t) sgl.print("sum", t:sum()) return t end)
step(v)]],
  ["sgl.assert"] = [[
local step = sgl.compile(function(t)
  sgl.assert(t:isfinite():all(), "not finite")
  return t
end)
print(pcall(step, v / 0))]],
  ["sgl.Graph"] = "graph:graph()",
  ["sgl.Graph:users"] = [[table.concat(graph:graph():users "%1", " ")]],
  ["sgl.Graph:path"] = [[table.concat(graph:graph():path("a", "%2"), " -> ")]],
  ["sgl.Graph:dot"] = [[graph:graph():dot():match "digraph"]],
  ["sgl.Graph:picture"] = [[graph:graph():picture(path .. ".dot") ~= false]],
  ["sgl.Graph:text"] = "#graph:graph():text() > 0",
  ["sgl.Graph:show"] = "graph:graph():show()",
  ["sgl.Graph:composites"] = "#graph:graph():composites()",
  ["sgl.Graph:nodes"] = "#graph:graph():nodes(), graph:graph():nodes()[1].op",
  ["sgl.Graph:inputs"] = "graph:graph():inputs()[1].name",
  ["sgl.Graph:outputs"] = "#graph:graph():outputs()",
  ["sgl.Graph:count"] = [[graph:graph():count "add"]],
  ["sgl.Graph:blocks"] = "#graph:graph():blocks()",
  ["sgl.Graph:hash"] = "graph:graph():hash() == graph:graph():hash()",
  ["sgl.Graph:verify"] = "graph:graph():verify()",
  ["sgl.Graph:pass"] = [[graph:graph():pass("simplify"):count "mul"]],
  ["sgl.Graph:grad"] = [[
local sum = sgl.compile(function(a) return (a * a):sum() end)
sum(v)
print(sum:graph():grad(1, { 1 }):run({ v })[1])]],
  ["sgl.Graph:bind"] = [[
local n = sgl.dim "n"
local f = sgl.compile(function(a) return a * 2 end, { inputs = { sgl.spec { n } } })
f(v)
print(f:graph():bind({ n = 3 }):inputs()[1].shape[1])]],
  ["sgl.Graph:eval"] = "graph:graph():eval({ v })[1]",
  ["sgl.Graph:run"] = "graph:graph():run({ v })[1]",
  ["sgl.Graph:apply"] = "graph:graph():apply({ v })[1]",
  ["sgl.Graph:close"] = [[graph:graph():pass("simplify"):close()]],
  ["sgl.save"] = "sgl.save({ x = x, names = { v = v } }, path)",
  ["sgl.load"] = [[
sgl.save({ x = x, names = { v = v } }, path)
local all = assert(sgl.load(path))
print(all["names.v"], sgl.load("no/such/file"))]],
  ["nn.Module"] = "model",
  ["nn.Module:forward"] = "model:forward(x).shape",
  ["nn.Module:named_parameters"] = [[
for name, p in model:named_parameters() do print(name, p.shape) end]],
  ["nn.Module:parameters"] = "#model:parameters()",
  ["nn.Module:named_buffers"] = [[
for name in nn.BatchNorm1d(3):named_buffers() do print(name) end]],
  ["nn.Module:buffers"] = "#nn.BatchNorm1d(3):buffers()",
  ["nn.Module:named_modules"] = "for name, m in model[1]:named_modules() do print(name, m) end",
  ["nn.Module:children"] = "#model:children(), model:children()[2]",
  ["nn.Module:apply"] = [[
local n = 0
model:apply(function() n = n + 1 end)
print(n)]],
  ["nn.Module:train"] = "model:train().training",
  ["nn.Module:eval"] = "model:eval().training",
  ["nn.Module:count"] = "model:count()",
  ["nn.Module:to"] = [[model:to("bf16")[1].weight.dtype]],
  ["nn.Module:state_dict"] = [[table.concat(model:state_dict(), ", ", 1, 2)]],
  ["nn.Module:load_state_dict"] = [[
local other = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
other:load_state_dict(model:state_dict())
print(other(x):equal(model(x)))]],
  ["nn.module"] = [[
local Scale = nn.module("Scale", function(self, n) self.by = nn.parameter(sgl.ones(n)) end)
function Scale:forward(t) return t * self.by end
print(Scale(3)(v), Scale(3):count())]],
  ["nn.parameter"] = "nn.parameter(sgl.zeros(2))",
  ["nn.Linear"] = "nn.Linear(3, 2)(x).shape",
  ["nn.Embedding"] = "nn.Embedding(10, 4)(ids).shape",
  ["nn.Identity"] = "nn.Identity()(v)",
  ["nn.ReLU"] = "nn.ReLU()(v)",
  ["nn.SiLU"] = "nn.SiLU()(v)",
  ["nn.Tanh"] = "nn.Tanh()(v)",
  ["nn.Sigmoid"] = "nn.Sigmoid()(v)",
  ["nn.Softplus"] = "nn.Softplus()(v)",
  ["nn.GELU"] = "nn.GELU()(v)",
  ["nn.Softmax"] = "nn.Softmax()(v)",
  ["nn.LogSoftmax"] = "nn.LogSoftmax()(v)",
  ["nn.Flatten"] = "nn.Flatten()(sgl.ones(2, 3, 4)).shape",
  ["nn.Dropout"] = "nn.Dropout(0.5)(sgl.ones(6)), nn.Dropout(0.5):eval()(sgl.ones(3))",
  ["nn.Sequential"] = "nn.Sequential(nn.Linear(3, 4), nn.Tanh())(x).shape",
  ["nn.ModuleList"] = "#nn.ModuleList(nn.ReLU(), nn.Tanh()):children()",
  ["nn.ModuleList:append"] = [[
local list = nn.ModuleList()
list:append(nn.ReLU())
print(list[1])]],
  ["nn.LayerNorm"] = "nn.LayerNorm(3)(x)",
  ["nn.RMSNorm"] = "nn.RMSNorm(3)(x)",
  ["nn.GroupNorm"] = "nn.GroupNorm(2, 4)(sgl.ones(1, 4, 5)).shape",
  ["nn.BatchNorm1d"] = "nn.BatchNorm1d(3)(x)",
  ["nn.BatchNorm2d"] = "nn.BatchNorm2d(3)(sgl.ones(1, 3, 4, 4)).shape",
  ["nn.Conv1d"] = "nn.Conv1d(2, 4, 3, { padding = 1 })(sgl.ones(1, 2, 8)).shape",
  ["nn.MaxPool1d"] = "nn.MaxPool1d(2)(sgl.arange(6):float():reshape(1, 1, 6))",
  ["nn.AvgPool1d"] = "nn.AvgPool1d(2)(sgl.arange(6):float():reshape(1, 1, 6))",
  ["nn.Conv2d"] = "nn.Conv2d(3, 8, 3, { stride = 2, padding = 1 })(sgl.ones(1, 3, 8, 8)).shape",
  ["nn.MaxPool2d"] = "nn.MaxPool2d(2)(sgl.ones(1, 3, 8, 8)).shape",
  ["nn.AvgPool2d"] = "nn.AvgPool2d(2)(sgl.ones(1, 3, 8, 8)).shape",
  ["nn.MultiheadAttention"] = [[
nn.MultiheadAttention(8, 2, { causal = true })(sgl.ones(1, 5, 8)).shape]],
  ["nn.RNN"] = "nn.RNN(3, 4)(sgl.ones(1, 5, 3)).shape",
  ["nn.LSTM"] = "nn.LSTM(3, 4)(sgl.ones(1, 5, 3)).shape",
  ["nn.GRU"] = "nn.GRU(3, 4)(sgl.ones(1, 5, 3)).shape",
  ["nn.mse_loss"] = "nn.mse_loss(v, v * 2)",
  ["nn.l1_loss"] = "nn.l1_loss(v, v * 2)",
  ["nn.huber_loss"] = "nn.huber_loss(v, v * 2)",
  ["nn.bce_with_logits"] = "nn.bce_with_logits(v, sgl.tensor { 1.0, 0.0, 1.0 })",
  ["nn.kl_div"] = "nn.kl_div(v:log_softmax(1), sgl.full({ 3 }, 1 / 3))",
  ["nn.nll_loss"] = "nn.nll_loss(x:log_softmax(2), ids)",
  ["nn.cross_entropy"] = [[
nn.cross_entropy(x, ids), nn.cross_entropy(x, ids, { reduction = "none" })]],
  ["nn.relu"] = "nn.relu(v)",
  ["nn.tanh"] = "nn.tanh(v)",
  ["nn.sigmoid"] = "nn.sigmoid(v)",
  ["nn.silu"] = "nn.silu(v)",
  ["nn.softplus"] = "nn.softplus(v)",
  ["nn.gelu"] = [[nn.gelu(v, { approximate = "tanh" })]],
  ["nn.softmax"] = "nn.softmax(x)",
  ["nn.log_softmax"] = "nn.log_softmax(v)",
  ["nn.dropout"] = "nn.dropout(sgl.ones(6), 0.5), nn.dropout(v, 0.5, { training = false })",
  ["nn.linear"] = "nn.linear(x, sgl.ones(2, 3))",
  ["nn.embedding"] = "nn.embedding(ids, sgl.arange(6):float():reshape(3, 2))",
  ["nn.layer_norm"] = "nn.layer_norm(x, { 3 })",
  ["nn.rms_norm"] = "nn.rms_norm(x, { 3 })",
  ["nn.group_norm"] = "nn.group_norm(sgl.ones(1, 4, 5), 2).shape",
  ["nn.batch_norm"] = "nn.batch_norm(x, sgl.zeros(3), sgl.ones(3))",
  ["nn.scaled_dot_product_attention"] = [[
nn.scaled_dot_product_attention(x, x, x, { causal = true })]],
  ["nn.one_hot"] = "nn.one_hot(ids, 3)",
  ["nn.conv2d"] = "nn.conv2d(sgl.ones(1, 1, 3, 3), sgl.ones(1, 1, 2, 2)).shape",
  ["nn.conv1d"] = "nn.conv1d(sgl.ones(1, 1, 4), sgl.ones(1, 1, 2))",
  ["nn.max_pool2d"] = "nn.max_pool2d(sgl.ones(1, 1, 4, 4), 2).shape",
  ["nn.max_pool1d"] = "nn.max_pool1d(sgl.arange(4):float():reshape(1, 1, 4), 2)",
  ["nn.avg_pool2d"] = "nn.avg_pool2d(sgl.ones(1, 1, 4, 4), 2).shape",
  ["nn.avg_pool1d"] = "nn.avg_pool1d(sgl.arange(4):float():reshape(1, 1, 4), 2)",
  ["nn.init.constant"] = "nn.init.constant(sgl.zeros(3), 0.5)",
  ["nn.init.zeros"] = "nn.init.zeros(sgl.ones(3))",
  ["nn.init.ones"] = "nn.init.ones(sgl.zeros(3))",
  ["nn.init.uniform"] = "nn.init.uniform(sgl.zeros(3), -1, 1)",
  ["nn.init.normal"] = "nn.init.normal(sgl.zeros(3), 0, 0.02)",
  ["nn.init.xavier_uniform"] = "nn.init.xavier_uniform(sgl.zeros(2, 2))",
  ["nn.init.xavier_normal"] = "nn.init.xavier_normal(sgl.zeros(2, 2))",
  ["nn.init.kaiming_uniform"] = [[
nn.init.kaiming_uniform(sgl.zeros(2, 2), { nonlinearity = "relu" })]],
  ["nn.init.kaiming_normal"] = [[nn.init.kaiming_normal(sgl.zeros(2, 2), { mode = "fan_out" })]],
  ["nn.init.orthogonal"] = "nn.init.orthogonal(sgl.zeros(2, 2)).shape",
  ["optim.Optimizer"] = "#opt.params, opt.steps",
  ["optim.Optimizer:step"] = [[
opt:step(sgl.grad(model(x):sum(), opt.params))
print(opt.steps)]],
  ["optim.Optimizer:minimize"] = "opt:minimize(model(x):square():mean(), { clip_norm = 1 })",
  ["optim.Optimizer:set_lr"] = [[
opt:set_lr(0.01)
print(("%.2f"):format(opt:lr()))]],
  ["optim.Optimizer:lr"] = [[("%.1f"):format(opt:lr())]],
  ["optim.Optimizer:state_dict"] = [[table.concat(opt:state_dict(), ", ")]],
  ["optim.Optimizer:load_state_dict"] = "opt:load_state_dict(opt:state_dict())",
  ["optim.SGD"] = "optim.SGD(model:parameters(), { lr = 0.1, momentum = 0.9 }):lr() < 0.11",
  ["optim.Adam"] = "#optim.Adam(model:parameters(), { lr = 1e-3 }).params",
  ["optim.AdamW"] = "#optim.AdamW({ { params = model[1]:parameters(), lr = 1e-4 } }).params",
  ["optim.Adagrad"] = "#optim.Adagrad(model:parameters()).params",
  ["optim.RMSprop"] = "#optim.RMSprop(model:parameters()).params",
  ["optim.Lion"] = "#optim.Lion(model:parameters(), { lr = 1e-4 }).params",
  ["optim.clip_norm"] = [[
local grads = { v * 10 }
print(optim.clip_norm(grads, 1))
print(grads[1])]],
  ["optim.clip_value"] = [[
local grads = { v }
optim.clip_value(grads, 1)
print(grads[1])]],
  ["optim.schedule.Schedule"] = [[
optim.SGD(model:parameters(), { lr = optim.schedule.cosine(0.1, 100) }):lr() < 0.11]],
  ["optim.schedule.Schedule:at"] = "optim.schedule.constant(0.5):at(3)",
  ["optim.schedule.step"] = "optim.schedule.step(1, { every = 10, factor = 0.5 }):at(25)",
  ["optim.schedule.cosine"] = "optim.schedule.cosine(1, 100):at(50)",
  ["optim.schedule.warmup"] = "optim.schedule.warmup(1, 10):at(4)",
  ["optim.schedule.one_cycle"] = "optim.schedule.one_cycle(1, 100):at(29)",
  ["optim.schedule.constant"] = "optim.schedule.constant(0.5):at(0)",
  ["optim.schedule.plateau"] = "optim.schedule.plateau(opt, { patience = 1 }):update(1)",
  ["optim.schedule.Plateau"] = "optim.schedule.plateau(opt):update(1)",
  ["optim.schedule.Plateau:update"] = [[
local plateau = optim.schedule.plateau(opt, { patience = 0 })
print(plateau:update(1), plateau:update(1))]],
  ["data.dataset"] = "data.dataset(x, ids)",
  ["data.Dataset"] = "#data.dataset(x, ids), data.dataset(x, ids).tensors[2]",
  ["data.Dataset:split"] = "data.dataset(sgl.arange(10)):split(0.8)",
  ["data.Dataset:map"] = "data.dataset(x, ids):map(function(a, b) return a / 10, b end).tensors[1]",
  ["data.Dataset:batches"] = [[
for a, b in data.dataset(x, ids):batches(1, { shuffle = false }) do print(a, b) end]],
  ["data.csv"] = [[data.csv("examples/digits/digits.csv.gz", { label = 65, scale = 1 / 16 })]],
  ["data.idx"] = [[data.idx("no/such/images.gz")]],
  ["data.text"] = [[data.text "examples/gpt/kjv-genesis-exodus.txt.gz"]],
  ["data.Text"] = [[#data.text("examples/gpt/kjv-genesis-exodus.txt.gz").vocabulary]],
  ["data.Text:encode"] = [[
table.concat(data.text("examples/gpt/kjv-genesis-exodus.txt.gz"):encode "God", " ")]],
  ["data.Text:decode"] = [[
local text = data.text "examples/gpt/kjv-genesis-exodus.txt.gz"
print(text:decode(text:encode "God"))]],
  ["data.Text:split"] = [[data.text("examples/gpt/kjv-genesis-exodus.txt.gz"):split(0.9)]],
  ["data.Text:batches"] = [[
local text = data.text "examples/gpt/kjv-genesis-exodus.txt.gz"
for a, b in text:batches(2, { length = 8, steps = 1 }) do print(a.shape, b.shape) end]],
  ["data.safetensors"] = [[
sgl.save({ x = x, y = ids }, path)
print(data.safetensors(path, "x", "y"))]],
  ["data.iterator"] = [[
local stream = data.iterator(function()
  local n = 0
  return function() n = n + 1 if n <= 4 then return sgl.full({ 2 }, n) end end
end)
for batch in stream:batches(2) do print(batch.shape) end]],
  ["data.Stream"] = "data.iterator(function() return function() end end) ~= nil",
  ["data.Stream:batches"] = [[
local stream = data.iterator(function()
  local n = 0
  return function() n = n + 1 if n <= 3 then return sgl.full({ 1 }, n) end end
end)
for batch in stream:batches(2, { drop_last = true }) do print(batch) end]],
  ["config.preset"] = "type(sgl.config.preset())",
  ["config.from"] = [[sgl.config.from "threads"]],
  ["cache.stats"] = "type(sgl.cache.stats())",
  ["cache.clear"] = "sgl.cache.clear()",
  ["sgl.on"] = [[
local listener = sgl.on("compile_end", function(e) print(e.event) end)
listener:off()]],
  ["sgl.Listener"] = [[sgl.on("compile_end", function() end):off()]],
  ["sgl.Listener:off"] = [[sgl.on("compile_end", function() end):off()]],
  ["sgl.Listener:close"] = [[
do
  local listener <close> = sgl.on("compile_end", function() end)
end]],
  ["sgl.on_graph_capture"] = [[
local listener = sgl.on_graph_capture(function() print "captured" end)
twice(v)
listener:off()]],
  ["sgl.events"] = "type(sgl.events())",
  ["sgl.counters"] = "type(sgl.counters())",
  ["sgl.lifecycle"] = "type(sgl.lifecycle())",
  ["sgl.import"] = [[
sgl.export(model, { x }, { file = path .. ".sgl/" })
local copy = assert(sgl.import(path .. ".sgl/"))
print(copy(x):equal(model(x)))]],
  ["sgl.Imported"] = [[
sgl.export(twice, { v }, { file = path .. ".sgl/" })
print(sgl.import(path .. ".sgl/")(v))]],
  ["sgl.ImportedOnnx"] = [[
sgl.export(model, { sgl.spec { sgl.dim "n", 3 } }, { file = path .. ".onnx" })
local copy = assert(sgl.import(path .. ".onnx"))
print(copy(x):allclose(model(x)), copy.inputs[1].name)]],
  ["sgl.Imported:graph"] = [[
sgl.export(twice, { v }, { file = path .. ".sgl/" })
print(sgl.import(path .. ".sgl/"):graph():count "mul")]],
  ["sgl.Imported:state_dict"] = [[
sgl.export(model, { x }, { file = path .. ".sgl/" })
print(table.concat(sgl.import(path .. ".sgl/"):state_dict(), " "))]],
  ["sgl.Imported:load_state_dict"] = [[
sgl.export(model, { x }, { file = path .. ".sgl/" })
local copy = sgl.import(path .. ".sgl/")
copy:load_state_dict(copy:state_dict())]],
  ["sgl.Imported:parameters"] = [[
sgl.export(model, { x }, { file = path .. ".sgl/" })
print(#sgl.import(path .. ".sgl/"):parameters())]],
  ["sgl.rollout"] = [[
local script = "examples/digits/train.lua"
local report = sgl.rollout { script = script, stages = { "single" }, steps = 2 }
print(report:verdict(), report:first_failure())]],
  ["sgl.Rollout"] = [[
local script = "examples/digits/train.lua"
local report = sgl.rollout { script = script, stages = { "single" }, steps = 2 }
print(report.stages[1].lines[2].name)]],
  ["sgl.Rollout:verdict"] = [[
local script = "examples/digits/train.lua"
print(sgl.rollout({ script = script, stages = { "single" }, steps = 2 }):verdict())]],
  ["sgl.Rollout:first_failure"] = [[
local script = "examples/digits/train.lua"
local report = sgl.rollout { script = script, stages = { "single" }, steps = 2 }
print(report:first_failure())]],
  ["sgl.Rollout:json"] = [[
local script = "examples/digits/train.lua"
local report = sgl.rollout { script = script, stages = { "single" }, steps = 2 }
print(report:json():match '"schema": "[^"]*"')]],
  ["sgl.Rollout:junit"] = [[
local script = "examples/digits/train.lua"
local report = sgl.rollout { script = script, stages = { "single" }, steps = 2 }
print(report:junit():match "<testsuites[^>]*>")]],
  ["sgl.Rollout:html"] = [[
local script = "examples/digits/train.lua"
local report = sgl.rollout { script = script, stages = { "single" }, steps = 2 }
print(report:html():match "^<!DOCTYPE html>")]],
  ["sgl.Rollout:write"] = [[
local script = "examples/digits/train.lua"
local report = sgl.rollout { script = script, stages = { "single" }, steps = 2 }
print(#report:write(path))]],
  ["dist.alone"] = "print(sgl.dist.alone(function() return 'written' end))",
  ["dist.on_stop"] = "sgl.dist.on_stop(function(e) print('after step', e.step) end)",
  ["dist.on_failure"] = "sgl.dist.on_failure(function(e) print(e.text) end)",
  ["dist.exact"] = "sgl.dist.exact { shards = 0 }",
  ["dist.all_reduce"] = "sgl.dist.all_reduce(v, { op = 'mean' })",
  ["dist.all_gather"] = "sgl.dist.all_gather(x, { dim = 2 })",
  ["dist.reduce_scatter"] = "sgl.dist.reduce_scatter(x)",
  ["dist.all_to_all"] = "sgl.dist.all_to_all(x)",
  ["dist.broadcast"] = "sgl.dist.broadcast(v, { from = 0 })",
  ["dist.send"] = "sgl.dist.send(v, { from = 0, to = 0 })",
  ["sgl.mesh"] = [[print(sgl.mesh().size.data)]],
  ["dist.ddp"] = "sgl.dist.ddp(nn.Linear(4, 8))",
  ["dist.fsdp"] = "sgl.dist.fsdp(nn.Linear(4, 8))",
  ["dist.place"] = "sgl.dist.place(sgl.ones(4, 8), sgl.dist.shard(2, 'model'))",
  ["dist.shard"] = "print(sgl.dist.shard(1, 'model', 'data'))",
  ["dist.replicate"] = "sgl.dist.place(sgl.ones(4, 8), sgl.dist.replicate())",
  ["dist.tensor_parallel"] = [[
local model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
sgl.dist.tensor_parallel(model, { ["1"] = "column", ["3"] = "row" })]],
  ["sgl.export"] = [[
sgl.export(model, { sgl.spec { sgl.dim "n", 3 } }, { file = path .. ".sgl/" }) ~= nil,
  sgl.import(path .. ".sgl/")(x).shape]],
}

return calls
