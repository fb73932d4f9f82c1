-- pytorch.lua: docs/from-pytorch.md: what is written here for what is written there.
--
-- In:    the rows of lua/sgl/pytorch.lua, which messages are made of too.
-- Out:   the page: what differs, a training script, then the tables.
local pytorch = require "sgl.pytorch"
local words = require "api.words"

local HEAD = [[
# From PyTorch

Written by `make docs` from `lua/sgl/pytorch.lua`, whose rows are also what an error says when one
of these names is asked for; each line of code in the tables is run by the specs.

## What differs

- **Gradients are values.** There is no tape, no `.grad`, no `zero_grad`, no `no_grad`:
  `sgl.grad(loss, params)` gives a list of tensors, `opt:minimize(loss)` makes it, clips and
  updates.
- **A step is compiled as a whole**, loss, gradients and update, by `sgl.compile`. Without it the
  same code runs, slower.
- **Tensors are values.** `x + 1` is a new tensor; nothing aliases, so there are no views, strides
  and no `contiguous`. `x:assign(v)` gives a tensor a new value, `x[i] = v` writes a part of it.
- **Dims and positions count from 1**, from -1 at the end, in ranges with both ends: `x[1:3]` is
  `x[{ { 2, 3 } }]`, `x[:, 0]` is `x[{ {}, 1 }]`, `x.sum(0)` is `x:sum(1)`. Indices *inside* tensors
  (classes, token ids, what `argmax` gives) count from 0.
- **Methods take a colon**, fields a dot: `x:sum()`, `x.shape`. Options stand in one table at the
  end: `x.sum(1, keepdim=True)` is `x:sum(2, { keepdim = true })`.
- **Losses and activations are functions**: `nn.cross_entropy(logits, classes)`. Activations are
  layers too, for `nn.Sequential`.
- **There is no device to choose.** Names of dtypes are strings: `"f32"`, `"f64"`, `"f16"`,
  `"bf16"`, `"i32"`, `"i64"`, `"u8"`, `"bool"`. Whole numbers make an `i32` tensor.
- **Comparisons are methods**: `x:gt(0)`, `x:eq(y)`. By `==` Lua compares two tensors with an error
  that says so, but a tensor with a number, a string or nil is just `false`: Lua does not ask.
- `repeat`, `and`, `or`, `not` are words of Lua: `x:tile(2)`, `a & b`, `a | b`, `~a`.

The same training loop, in PyTorch:

```python
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3)).cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
loader = DataLoader(TensorDataset(xs, ys), batch_size=32, shuffle=True)
for epoch in range(20):
    for x, y in loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
print(loss.item())
```

and here:

```lua
local sgl = require "sgl"
local nn, optim, data = sgl.nn, sgl.optim, sgl.data

local xs = sgl.randn(128, 4)
local ys = xs[{ {}, { 1, 3 } }]:argmax(-1)

local model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
local opt = optim.AdamW(model:parameters(), { lr = 1e-2 })
local step = sgl.compile(function(x, y)
  local loss = nn.cross_entropy(model(x), y)
  opt:minimize(loss, { clip_norm = 1 })
  return loss
end)
local loss
for epoch = 1, 20 do
  for x, y in data.dataset(xs, ys):batches(32) do loss = step(x, y) end
end
print(("%.3f"):format(loss:item()))
```

```text
```

## Weights

A file that `safetensors.torch.save_file(model.state_dict(), path)` wrote loads into a module of the
same layers: `model:load_state_dict(sgl.load(path), { from = "pytorch" })`. `sgl.save(model, path)`
writes a file that `safetensors.torch.load_file` reads.
]]

local function names(row, prefix)
  local list = {}
  for name in row[1]:gmatch "%S+" do list[#list + 1] = ("`%s%s`"):format(prefix, name) end
  return table.concat(list, ", ")
end

local PREFIX = {
  torch = "torch.", tensor = "x.", module = "model.", optimizer = "opt.", nn = "nn.",
  ["nn.init"] = "init.", optim = "optim.", ["optim.lr_scheduler"] = "lr_scheduler.",
  ["utils.data"] = "data.",
}

--- docs/from-pytorch.md
return function()
  local parts = { HEAD }
  for _, group in ipairs(pytorch.groups) do
    local rows = {}
    for i, row in ipairs(group[4]) do
      local prefix = assert(PREFIX[group[1]], group[1])
      rows[i] = { names(row, prefix), row[2] ~= "" and "`" .. row[2] .. "`" or "",
                  words.plain(row[3] or "") }
    end
    local lines = words.table({ "there", "here", "" }, rows)
    parts[#parts + 1] = ("## %s\n\n%s\n"):format(group[3], lines)
  end
  parts[#parts + 1] = "Names that change a tensor in place and end in an underscore, such as "
    .. "`x.add_(1)`, are\n`x:assign(x:add(1))`.\n"
  return table.concat(parts, "\n")
end
