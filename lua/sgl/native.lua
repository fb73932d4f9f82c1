-- native.lua: rows for what C gives to tensors and graphs, so that help and docs know it.
--
-- In:    nothing: the methods are there already and check their own arguments.
-- Out:   registry rows (api.native), no code.
-- Holds: every method that C puts into these has a row; spec/house/docs_spec.lua counts them.
local api = require "sgl.api"

api.native("Tensor", {
  doc = "A tensor. Fields: shape (a list of sizes), dtype (a string), ndim. #t is the size of the "
    .. "first dim; + - * / // % ^ and unary - work element by element, & | ~ on bool; t[key] reads "
    .. "and t[key] = v writes a part. < <= == .. raise: Lua could not return a tensor from them.",
}, {
  { "item", { doc = "The value of a tensor of one element.", returns = "number or boolean",
    errors = "several elements; inside sgl.compile, a computed tensor" } },
  { "tolist", { doc = "The values as nested lists; of a tensor without dims, the value.",
    returns = "table, number or boolean", errors = "inside sgl.compile, a computed tensor" } },
  { "bytes", { doc = "The values as a string of little-endian bytes, row by row.",
    returns = "string", errors = "inside sgl.compile, a computed tensor" } },
  { "show", { doc = "The text that tostring and print give: dtype, shape and values.",
    returns = "string", errors = "inside sgl.compile, a computed tensor" } },
  { "realize", { doc = "Computes the tensor now, in one program with all it needs.",
    returns = "tensor, the same", errors = "inside sgl.compile, a computed tensor" } },
  { "assign", {
    doc = "Gives the tensor a new value, without what it came out of: no gradient goes back "
      .. "through it. Tensors made from it before keep theirs. Inside sgl.compile this makes an "
      .. "update of the state, done at each run.",
    args = { { "value", "tensor|number|boolean", "broadcast to the tensor's shape" } },
    returns = "tensor, the same",
    errors = "a shape that does not broadcast; a dtype that the tensor's cannot hold" } },
  { "close", { doc = "Frees the tensor's memory now; also done at the end of a <close> variable.",
    errors = "a tensor that is closed already" } },
})

local NODE = "{ id, op, dtype, shape, inputs, attrs, file, line, composite }"

-- The class itself has its row in graph.lua.
api.native("Graph", {}, {
  { "text", { doc = "The text form, from which the same graph can be read back.",
    returns = "string" } },
  { "show", { doc = "The short form for people, composites folded into one line; tostring too. Or, "
    .. "of the program it compiles to, a stage: 'fused', 'plan', 'kernels', or 'c': a C file.",
    args = { { "stage", "string?", "default: the short form" } }, returns = "string",
    errors = "an unknown stage" } },
  { "nodes", { doc = "Every node, in an order in which inputs come first: " .. NODE .. ".",
    returns = "list" } },
  { "composites", { doc = "The functions whose nodes are kept together under a name, such as "
    .. "softmax: { name, inputs, output, file, line }, the outer before the inner.",
    returns = "list" } },
  { "inputs", { doc = "The input nodes, with their name.", returns = "list" } },
  { "outputs", { doc = "The output nodes, with their name.", returns = "list" } },
  { "count", { doc = "How many nodes have an op.", args = { { "op", "string", "such as \"dot\"" } },
    returns = "integer", errors = "an unknown op" } },
  { "blocks", { doc = "The graphs that control nodes run; the attributes then, else and body of a "
    .. "node are positions in this list.", returns = "list of Graph" } },
  { "hash", { doc = "A hash of all that changes what the graph computes: not of names and lines.",
    returns = "string" } },
  { "verify", { doc = "Checks every rule of the verifier.", returns = "true",
    errors = "a rule that does not hold, with its number" } },
  { "pass", {
    doc = "The graph after the pipeline up to a pass: live, simplify, fuse, order or plan.",
    args = { { "name", "string", "the last that is run" } }, returns = "Graph",
    errors = "an unknown pass" } },
  { "grad", { doc = "The gradients of an output with respect to inputs, as a graph.",
    args = { { "output", "integer", "from 1" }, { "inputs", "table", "positions from 1" } },
    returns = "Graph", errors = "a position that is not there" } },
  { "bind", { doc = "The graph with sizes in place of its symbolic ones.",
    args = { { "sizes", "table", "name -> size" } }, returns = "Graph",
    errors = "a size that is missing or outside its range" } },
  { "eval", { doc = "Values by the reference interpreter, in double precision.",
    args = { { "inputs", "table", "list of tensors" },
             { "nodes", "table?", "ids as g:nodes() gives; default: the outputs" } },
    returns = "list of tensors f64", errors = "inputs that do not fit" } },
  { "run", { doc = "Compiles the graph and runs it once on the backend.",
    args = { { "inputs", "table", "list of tensors" } }, returns = "list of tensors",
    errors = "inputs that do not fit" } },
  { "apply", { doc = "Records the graph's operations on tensors, as if they were written here: "
    .. "also inside a step, with gradients.",
    args = { { "inputs", "table", "list of tensors" } },
    returns = "list of the outputs; list of { number of an input, the value assigned to it }",
    errors = "inputs that do not fit; a graph that prints or asserts" } },
  { "close", { doc = "Frees the graph. The object cannot be used again." } },
})
