-- custom_spec.lua: ops that a library in C brings (ir/custom.h): recorded, compiled,
-- differentiated, printed and refused as the ops of the table are. The library is custom_ops.c,
-- which `make test` builds. What its ops give is worked out by hand.

local core = require "sgl.core"
local engine = require "spec.engine"
local sgl = require "sgl"
local support = require "spec.support"

local library = require "spec.op_cases".library

describe("an op that a library brings", function()
  local folder

  setup(function() folder = support.folder() end)
  teardown(function() support.remove(folder) end)

  local function list(t) return t:tolist() end
  -- fn outside steps, in a step, in one that may break, and with a symbolic size.
  local function everywhere(fn, args, check)
    check({ fn(table.unpack(args)) }, "outside")
    for _, opts in ipairs { {}, { fullgraph = false }, { dynamic = true } } do
      local step = sgl.compile(fn, opts)
      for _ = 1, 2 do check({ step(table.unpack(args)) }, "in a step") end
    end
    local specs = {}
    for i, t in ipairs(args) do
      local shape = { table.unpack(t.shape) }
      local even = shape[1] % 2 == 0
      local n = sgl.dim(even and "n_even" or "n",
        { min = 2, max = 5000, multiple = even and 2 or 1 })
      if i == 1 then shape[1] = n end
      specs[i] = sgl.spec(shape, t.dtype)
    end
    local step = sgl.compile(fn, { inputs = specs })
    check({ step(table.unpack(args)) }, "of a symbolic size")
  end

  it("computes what its function says, outside steps and in them", function()
    everywhere(function(x) return sgl.custom("t.affine", x, { by = 2, plus = 1 }) end,
      { sgl.tensor { 1.0, 2.0, -3.5 } },
      function(out, where) assert.are.same({ 3.0, 5.0, -6.0 }, list(out[1]), where) end)
    everywhere(function(x, w) return sgl.custom("t.rms", x, w) end,
      { sgl.tensor { { 3.0, 4.0 }, { 0.0, 2.0 } }, sgl.tensor { 1.0, 10.0 } },
      function(out, where)
        -- root mean square of (3, 4) is sqrt(12.5), of (0, 2) sqrt(2)
        support.close(out[1], { 0.8485281374, 11.3137084990, 0.0, 14.1421356237 }, 1e-6, 0, where)
      end)
  end)

  it("gives several results, and each is there alone", function()
    local x = sgl.tensor { 1.0, 2.0, 3.0, 4.0, 5.0 }
    everywhere(function(t) return sgl.custom("t.halves", t) end, { x }, function(out)
      assert.are.same({ { 1.0, 2.0 }, { 3.0, 4.0, 5.0 } }, { list(out[1]), list(out[2]) })
    end)
    everywhere(function(t) return (select(2, sgl.custom("t.halves", t))) * 2 end, { x },
      function(out) assert.are.same({ 6.0, 8.0, 10.0 }, list(out[1])) end)
    -- a result that is read and one that leaves the step
    everywhere(function(t)
      local a, b = sgl.custom("t.halves", t)
      return a, b:sum()
    end, { x }, function(out)
      assert.are.same({ { 1.0, 2.0 }, 12.0 }, { list(out[1]), out[2]:item() })
    end)
  end)

  it("takes every dtype that its rule takes, and refuses others by name", function()
    local y = sgl.custom("t.affine", sgl.tensor({ 0.5 }, "f64"), { by = 3 })
    assert.are.same({ "f64", { 1.5 } }, { y.dtype, list(y) })
    local e = engine.failure(sgl.custom, "t.affine", sgl.tensor { 1, 2 }, { by = 3 })
    assert.are.same({ "SGL_EDTYPE", "t.affine: it takes f32 and f64: i32[2]" },
      { e.code, e.message })
    for _, dtype in ipairs { "bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64" } do
      local a, b = sgl.custom("t.halves", sgl.zeros(4, 3):to(dtype))
      assert.are.same({ dtype, { 2, 3 }, { 2, 3 } }, { b.dtype, a.shape, b.shape })
    end
  end)

  it("has the gradient that its row builds", function()
    everywhere(function(x)
      return sgl.grad((sgl.custom("t.affine", x, { by = 4 }) * x):sum(), x)
    end, { sgl.tensor { 1.0, -2.0 } },
      function(out) assert.are.same({ 8.0, -16.0 }, list(out[1])) end)   -- d 4x^2 = 8x
    everywhere(function(x)
      local a, b = sgl.custom("t.halves", x)
      return sgl.grad((a * a):sum(), x), sgl.grad((b * b * b):sum(), x), sgl.grad((a * b):sum(), x)
    end, { sgl.tensor { 1.0, 2.0, 3.0, 4.0 } }, function(out)
      assert.are.same({ { 2.0, 4.0, 0.0, 0.0 }, { 0.0, 0.0, 27.0, 48.0 }, { 3.0, 4.0, 1.0, 2.0 } },
        { list(out[1]), list(out[2]), list(out[3]) })
    end)
  end)

  it("has gradients of gradients", function()
    everywhere(function(x)
      local y = sgl.custom("t.affine", x, { by = 3 })
      local g = sgl.grad((y * y * y):sum(), x)   -- 81 x^2, then 162 x
      return sgl.grad(g:sum(), x)
    end, { sgl.tensor { 1.0, 2.0 } },
      function(out) assert.are.same({ 162.0, 324.0 }, list(out[1])) end)
  end)

  it("is NaN-safe where `where` takes the other side", function()
    local x = sgl.tensor { 0.0, 4.0 }
    local function fn(t)
      local inner = sgl.custom("t.affine", t:sqrt(), { by = 1 })
      return sgl.grad(sgl.where(t:gt(1), inner, 0):sum(), t)
    end
    assert.are.same({ 0.0, 0.25 }, list(fn(x)))
    assert.are.same({ 0.0, 0.25 }, list(sgl.compile(fn)(x)))
  end)

  it("says at the line that it has no gradient, when one is asked", function()
    local x, w = sgl.tensor { { 3.0, 4.0 } }, sgl.ones(2)
    local function fn(t) return sgl.grad(sgl.custom("t.rms", t, w):sum(), t) end
    for _, call in ipairs { fn, sgl.compile(fn), sgl.compile(fn, { fullgraph = false }) } do
      local e = engine.failure(function() return (call(x)) end)
      assert.are.equal("SGL_EGRAD", e.code)
      assert.matches("the op t%.rms has no gradient %(.*custom_spec%.lua:%d+%)", e.message)
      assert.matches("detach", e.hint)
      assert.matches("custom_spec", e.file)
    end
    local y = sgl.custom("t.rms", x:detach(), w)
    assert.are.same({ { 2.0, 2.0 } }, list(sgl.grad((x * 2 + y:detach()):sum(), x)))
  end)

  it("says what is wrong with a gradient", function()
    local x = sgl.tensor { { 1.0, 2.0 } }
    for name, says in pairs {
      ["t.wrong_gradient"] = "t.wrong_gradient: input 1 has a gradient of another type: "
        .. "f32[1, 2] and f32[2]",
      ["t.no_such_op"] = "t.no_such_op: its gradient asks for 'mull' of 1 inputs, which is no op",
      ["t.bad_text"] = "line 1, column 9: dims count from 1",
    } do
      local e = engine.failure(function() return sgl.grad(sgl.custom(name, x):sum(), x) end)
      assert.are.equal(says, e.message)
      assert.are.equal(3.0, sgl.custom("t.same", x):sum():item())   -- all goes on
    end
  end)

  it("runs in cond, scan and loop, with gradients", function()
    local function fn(x)
      local y = sgl.cond(x:sum():gt(0), function() return sgl.custom("t.affine", x, { by = 2 }) end,
        function() return x end)
      local z = sgl.scan(function(c, row) return c + sgl.custom("t.affine", row, { by = 3 }), c end,
        sgl.zeros(), y)
      local a, b = sgl.custom("t.halves", y)
      local w = sgl.loop(function(v) return v:sum():lt(100) end,
        function(v) return (sgl.custom("t.affine", v, { by = 2 })) end, a * b, { max = 10 })
      return z, w, sgl.grad(z, x)
    end
    everywhere(fn, { sgl.tensor { 1.0, 2.0, 3.0, 4.0 } }, function(out)
      -- y = 2x; z = 3·sum y; a·b = (12, 32), doubled twice: 48 + 128 = 176
      assert.are.same({ 60.0, { 48.0, 128.0 }, { 6.0, 6.0, 6.0, 6.0 } },
        { out[1]:item(), list(out[2]), list(out[3]) })
    end)
  end)

  it("follows symbolic sizes, and computes with them", function()
    local n = sgl.dim("n_rows", { min = 2, max = 4000 })
    local step = sgl.compile(function(x)
      local a, b = sgl.custom("t.halves", x)
      return a, b:sum(), sgl.custom("t.affine", x, { by = 2 }), sgl.grad(b:sum(), x)
    end, { inputs = { sgl.spec { n, 3 } } })
    for _, rows in ipairs { 5, 2, 8, 3001, 5 } do
      local x = sgl.arange(rows * 3):to("f32"):reshape(rows, 3)
      local a, sum, twice, grad = step(x)
      local half = rows // 2
      assert.are.same({ half, 3 }, a.shape)
      support.close(a, x[{ { 1, half } }], 0, 0)
      support.close(sum, x[{ { half + 1, rows } }]:sum(), 1e-6, 0)
      support.close(twice, x * 2, 0, 0)
      assert.are.equal((rows - half) * 3.0, grad:sum():item())
    end
    assert.are.equal(1, step:info().captures)
  end)

  it("sees its attributes, with defaults, axes of the first input and texts", function()
    local x = sgl.zeros(2, 3, 4)
    local y = sgl.custom("t.sees", x, { i = -3, f = 0.25, s = "four", t = "f64", a = -1,
      p = { 2, -1 }, l = { 5, 6, 70 } })
    assert.are.same({ -3.0, 0.25, 4.0, 7.0, 2.0, 12.0, 703.0, 7.0, -0.5 }, list(y))
    y = sgl.custom("t.sees", x, x, { i = 1, f = 2, s = "", t = "bool", a = 1, p = {}, l = {},
      n = 8, g = 3 })
    assert.are.same({ 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0, 3.0 }, list(y))
  end)

  it("refuses attributes and inputs at the user's line", function()
    local x = sgl.ones(2, 2)
    local cases = {
      { "SGL_EARG", "t.affine: attribute 'by' is missing", "t.affine", x },
      { "SGL_EARG", "t.affine: attribute 'by' must be a number, got a string", "t.affine", x,
        { by = "a" } },
      { "SGL_EARG", "t.affine: unknown attribute 'bi' (schema: by:F plus:F=0)", "t.affine", x,
        { by = 1, bi = 2 } },
      { "SGL_EARG", "t.affine: 2 inputs given, it takes 1", "t.affine", x, x, { by = 1 } },
      { "SGL_EARG", "t.affine: 0 inputs given", "t.affine", { by = 1 } },
      { "SGL_EARG", "sgl.custom: argument 'values' must be a tensor or a table, got 3", "t.affine",
        3 },
      { "SGL_EARG", "t.affine: input 1 must be a tensor, got a table", "t.affine", { by = 1 }, x },
      { "SGL_EARG", "no op 't.affin' is registered", "t.affin", x },
      { "SGL_ESHAPE", "t.halves: a scalar has no halves: f32[]", "t.halves", sgl.ones() },
      { "SGL_ESHAPE", "t.rms: the weights have the size of a row: f32[2, 2] and f32[3]", "t.rms", x,
        sgl.ones(3) },
      { "SGL_ESHAPE", "t.no_type: its shape rule gives no type for output 1", "t.no_type", x },
      { "SGL_ESHAPE", "t.other_dims: inputs and outputs must have the same dims: f32[2, 2]",
        "t.other_dims", x },
      { "SGL_EARG", "t.odd_code: it failed: f32[2, 2]", "t.odd_code", x },
    }
    for _, case in ipairs(cases) do
      local function fn() return (sgl.custom(table.unpack(case, 3))) end
      for _, call in ipairs { fn, sgl.compile(fn) } do
        local e = engine.failure(function() return (call()) end)
        assert.are.same({ case[1], case[2] }, { e.code, e.message })
        assert.matches("custom_spec", e.file)
      end
    end
    assert.matches("load_ops", engine.failure(sgl.custom, "no.such", x).hint)
  end)

  it("leaves state as it was when it fails", function()
    local w = sgl.ones(1)
    local step = sgl.compile(function(x)
      w:assign(w + 1)
      return sgl.custom("t.fails", x), (select(2, sgl.custom("t.halves", sgl.custom("t.fails", x))))
    end)
    for _ = 1, 2 do
      local e = engine.failure(function() return (step(sgl.ones(1))) end)
      assert.are.equal("SGL_ENUMERIC", e.code)
      assert.are.equal(1.0, w:item())
    end
  end)

  it("passes on what its function says of values", function()
    local function fn(x) return sgl.custom("t.fails", x * 2) end
    for _, call in ipairs { fn, sgl.compile(fn) } do
      local e = engine.failure(function() return call(sgl.full({ 1 }, 4)):item() end)
      assert.are.equal("SGL_ENUMERIC", e.code)
      assert.matches("t%.fails: the value 8 is not allowed", e.message)
    end
    local e = engine.failure(function()
      return sgl.custom("t.elsewhere", sgl.ones(2)):sum():item()
    end)
    assert.are.same({ "SGL_EUNSUP", "t.elsewhere: the op has no function for the backend cpu" },
      { e.code, (e.message:gsub(" %(.*", "")) })
  end)

  -- ---- what passes do with it

  it("is called once for equal calls, and not at all when nobody reads it", function()
    local function calls() return sgl.custom("t.calls", sgl.zeros()):item() end
    local step = sgl.compile(function(x)
      local _ = sgl.custom("t.same", x * 5)
      return sgl.custom("t.same", x) + sgl.custom("t.same", x)
    end)
    step(sgl.ones(3)):sum():item()
    local before = calls()
    assert.are.equal(6.0, step(sgl.ones(3)):sum():item())
    assert.are.equal(before + 1, calls())
  end)

  it("is called each time where its row says that results differ", function()
    local step = sgl.compile(function(x)
      return sgl.custom("t.tick", x), sgl.custom("t.tick", x)
    end)
    local x = sgl.zeros()
    for _ = 1, 2 do
      local a, b = step(x)
      assert.are.equal(1.0, math.abs(a:item() - b:item()))
    end
    local a, b = sgl.custom("t.tick", x), sgl.custom("t.tick", x)
    local twice = a + a
    assert.are.equal(1.0, b:item() - a:item())
    assert.are.equal(2 * a:item(), twice:item())
  end)

  it("has no gradient in a block where its results differ, as the block is run again", function()
    local step = sgl.compile(function(x)
      local y = sgl.cond(x:gt(0), function() return sgl.custom("t.tick", x) * x end,
        function() return x end)
      return sgl.grad(y, x)
    end)
    local e = engine.failure(step, sgl.ones())
    assert.are.equal("SGL_EGRAD", e.code)
    assert.matches("other results each time", e.message)
  end)

  it("is a step of its own, never fused, never in place", function()
    local step = sgl.compile(function(x)
      return (sgl.custom("t.same", (x + 1):exp()) * 2):exp()
    end)
    support.close(step(sgl.zeros(1)), { math.exp(2 * math.exp(1)) }, 1e-5, 0)
    local kinds = {}
    for kind in step:graph "kernels":gmatch "step %d+ (%w+)" do kinds[#kinds + 1] = kind end
    assert.are.same({ "kernel", "custom", "kernel" }, kinds)
    assert.matches("step 1 custom t%.same b%d+ to b%d+", step:graph "kernels")
    local read, written = step:graph "kernels":match "custom t%.same (b%d+) to (b%d+)"
    assert.are_not.equal(read, written)
  end)

  it("has the same bits on any number of threads", function()
    local x, w = sgl.rand(3000, 64), sgl.rand(64)
    local threads, results = sgl.config.threads, {}
    for _, n in ipairs { 1, 2, 3 } do
      sgl.config.threads = n
      local y = sgl.compile(function(a, b) return sgl.custom("t.rms", a, b),
        sgl.custom("t.affine", a, { by = 0.3 }) end)
      local a, b = y(x, w)
      results[#results + 1] = a:bytes() .. b:bytes()
    end
    sgl.config.threads = threads
    assert.is_true(results[1] == results[2] and results[1] == results[3])
    support.close(sgl.custom("t.affine", x, { by = 0.3 }), x * 0.3, 1e-6, 0)
  end)

  -- ---- texts

  local TEXT = [[
graph
input %0 arg "x" f32[4, 3]
%1 = custom(%0) {op="t.halves"} : f32[0]
%2 = result(%1) {out=1} : f32[2, 3]
%3 = custom(%2) {op="t.affine", by=0.5} : f32[2, 3]
%4 = custom(%2, %3) {op="t.sees", i=1, f=2.5, s="a \"\"", t=f16, a=2, p=[1, 2], l=[7], g=1} : f64[9]
output %3 ""
output %4 "seen"
]]

  it("prints and reads", function()
    local graph = core.parse(TEXT)
    assert.are.equal(TEXT, graph:text())
    local out = graph:run { sgl.arange(12):to("f32"):reshape(4, 3) }
    assert.are.same({ { 3.0, 3.5, 4.0 }, { 4.5, 5.0, 5.5 } }, list(out[1]))
    assert.are.same({ 1.0, 2.5, 4.0, 4.0, 1.0, 2.0, 71.0, 7.0, 1.0 }, list(out[2]))
    assert.are.equal(TEXT, core.parse(graph:text()):text())
  end)

  it("is evaluated in double, by its own reference or its function", function()
    local args = { sgl.arange(12):to("f32"):reshape(4, 3) }
    local graph = core.parse(TEXT)
    local want, got = graph:run(args), graph:eval(args)
    for i = 1, 2 do assert.are.same(list(want[i]), list(got[i])) end
  end)

  it("says what is wrong with a text", function()
    local function said(pattern, by)
      local text, n = TEXT:gsub(pattern, by)
      assert.are.equal(1, n)
      local e = engine.failure(core.parse, text)
      return e and e.message, e and e.hint
    end
    local message, hint = said("t%.halves", "gone.op")
    assert.matches("line 3, column %d+: no op 'gone%.op' is registered", message)
    assert.matches("sgl%.load_ops", hint)
    assert.matches("line 5.*attribute 'by' expected", (said("by=0%.5", "bi=0.5")))
    assert.matches("line 5.*t%.affine gives f32%[2, 3%], not the type", (said(
      "(by=0%.5} : )f32%[2, 3%]", "%1f32[3, 2]")))
    assert.matches("line 4.*no such result", (said("out=1", "out=2")))
    assert.matches("line 4.*no such result", (said("out=1", "out=-1")))
    assert.matches("V18", (said("output %%3", "output %%1")))
    assert.matches("V18", (said('output %%3 ""', '%%5 = relu(%%1) : f32[0]\noutput %%5 ""')))
    assert.matches("the node has one result", (said("result%(%%1%)", "result(%%0)")))
    assert.matches("an attribute", (said('{op="t.halves"}', "{}")))
  end)

  it("goes to disk with no program, and comes back in a process that has it", function()
    local script = ([[
      local sgl = require "sgl"
      sgl.config.cache_dir, sgl.config.cache_min_nodes = %q, 0
      sgl.load_ops(%q)
      local step = sgl.compile(function(x)
        return (sgl.custom("t.affine", x + 1, { by = 2 }) * 3):sum()
      end)
      print(step(sgl.ones(4)):item(), sgl.cache.stats().disk_hits or 0)
    ]]):format(folder .. "cache", library)
    for _ = 1, 2 do
      local out, status = support.script(script)
      assert.are.same({ "48.0\t0\n", 0 }, { out, status })
    end
  end)

  -- ---- loading

  it("is written as docs/custom-ops.md says", function()
    if select(2, support.run "cc --version") ~= 0 then return pending "no cc" end
    local file <close> = assert(io.open(support.root .. "docs/custom-ops.md"))
    local code = file:read "a":match "```c\n(.-)```"
    support.write(folder .. "mylib.c", code)
    local out, status = support.run(("cd %s && cc -std=c11 -Wall -Wextra -Wpedantic -Werror -O2 "
      .. "-shared -fPIC -I %ssrc -o mylib.so mylib.c -lm"):format(folder, support.root))
    assert.are.equal(0, status, out)
    assert.are.equal(1, sgl.load_ops(folder .. "mylib.so"))
    local step = sgl.compile(function(x) return sgl.custom("mylib.rms", x, { eps = 0.5 }) end)
    support.close(step(sgl.tensor { { 3.0, 4.0 } }), { 3 / 13 ^ 0.5, 4 / 13 ^ 0.5 }, 1e-6, 0)
  end)

  it("is loaded once, however often, and nothing else is", function()
    assert.are.equal(15, sgl.load_ops(library))
    assert.are.equal("SGL_EFILE", engine.failure(sgl.load_ops, folder .. "none.so").code)
    local text = support.write(folder .. "text.so", "no object")
    assert.are.equal("SGL_EFILE", engine.failure(sgl.load_ops, text).code)
    local e = engine.failure(sgl.load_ops, (support.binary:gsub("[^/]*$", "libsgl.so")))
    assert.are.equal("SGL_EFORMAT", e.code)
    assert.matches("SGL_OPS", e.hint)
    assert.are.equal("SGL_ESTATE", engine.failure(sgl.compile(function(x)
      sgl.load_ops(library)
      return x
    end), sgl.ones(1)).code)
  end)
end)
