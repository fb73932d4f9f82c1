-- export_spec.lua: a bundle computes what was exported, bit for bit; exporting changes nothing;
-- what cannot be exported, and files that are no bundles, are refused with a reason.

local lfs = require "lfs"
local sgl = require "sgl"
local core = require "sgl.core"
local engine = require "spec.engine"
local support = require "spec.support"

local nn, optim = sgl.nn, sgl.optim
local read, write = support.read, support.write
local n = sgl.dim("n", { max = 64 })
local folder

local function path(name) return folder .. "/" .. name end

local function model()
  return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5),
    nn.Linear(8, 3))
end

-- A step with everything that is state: parameters, buffers, optimizer, random numbers.
local function training()
  sgl.seed(11)
  local m = model()
  local opt = optim.AdamW(m:parameters(), { lr = optim.schedule.cosine(1e-2, 50) })
  return sgl.compile(function(x, y)
    local loss = nn.cross_entropy(m(x), y)
    opt:minimize(loss)
    return loss
  end), m
end

local SPECS = { sgl.spec { n, 4 }, sgl.spec({ n }, "i32") }

local function batch(i, count)
  local x = (sgl.arange(count * 4):float() * (i + 1) * 0.37):sin():reshape(count, 4)
  return x:realize(), (sgl.arange(count) * (i + 2) % 3):to "i32":realize()
end

local function bytes_of(dict)
  local list = {}
  for i, name in ipairs(dict) do list[i] = name .. dict[name]:bytes() end
  return list
end

describe("sgl.export", function()
  setup(function()
    folder = support.folder():sub(1, -2)
  end)

  teardown(function() support.remove(folder) end)

  describe("an exported step", function()
    it("goes on with the bits of the live one, at any size", function()
      local step = training()
      for i = 1, 3 do step(batch(i, 5)) end
      assert(sgl.export(step, SPECS, { file = path "step.sgl", name = "digits" }))
      local again = assert(sgl.import(path "step.sgl"))
      assert.are.equal("step", again.kind)
      assert.are.equal("digits", again.about.name)
      for i, count in ipairs { 5, 2, 64, 7, 3 } do
        local x, y = batch(i, count)
        assert.are.equal(step(x, y):item(), again(x, y):item())
      end
    end)

    it("is the same file each time", function()
      local files = {}
      for i = 1, 2 do
        local step = training()
        assert(sgl.export(step, SPECS, { file = path("same" .. i) }))
        files[i] = read(path("same" .. i))
      end
      assert.are.equal(files[1], files[2])
    end)

    it("leaves state, modes and random numbers as they were", function()
      local step, m = training()
      step(batch(1, 5))
      m[4]:eval()
      local before, seed, drawn = bytes_of(step:state_dict()), core.rng()
      assert(sgl.export(step, SPECS, { file = path "left.sgl" }))
      assert(sgl.export(m, { SPECS[1] }, { file = path "left.sgl" }))
      assert.are.same(before, bytes_of(step:state_dict()))
      local seed_now, drawn_now = core.rng()
      assert.are.same({ seed, drawn }, { seed_now, drawn_now })
      assert.is_true(m.training)
      assert.is_false(m[4].training)
    end)

    it("takes and gives state by name", function()
      local step = training()
      step(batch(1, 5))
      assert(sgl.export(step, SPECS, { file = path "a.sgl" }))
      local again = sgl.import(path "a.sgl")
      for i = 2, 4 do again(batch(i, 6)) end
      assert(sgl.save(again, path "a.safetensors"))
      local third = sgl.import(path "a.sgl"):load_state_dict(assert(sgl.load(path "a.safetensors")))
      local x, y = batch(5, 6)
      assert.are.equal(again(x, y):item(), third(x, y):item())
    end)
  end)

  describe("an exported model", function()
    it("evaluates by default and trains when asked", function()
      local m = model()
      local x = batch(1, 6)
      m:train()
      assert(sgl.export(m, { SPECS[1] }, { file = path "eval.sgl" }))
      local drop = nn.Dropout(0.5)
      assert(sgl.export(drop, { sgl.spec { 100 } }, { file = path "drop.sgl", train = true }))
      local again = sgl.import(path "eval.sgl")
      assert.are.equal("function", again.kind)
      assert.are.equal(m:eval()(x):bytes(), again(x):bytes())
      local dropped = sgl.import(path "drop.sgl")(sgl.ones(100))
      assert.is_true(dropped:eq(0):any():item() and dropped:eq(2):any():item())
    end)

    it("trains further, alone and in a compiled step", function()
      local m = nn.Linear(4, 3)
      assert(sgl.export(m, { SPECS[1] }, { file = path "more.sgl" }))
      local x, y = batch(1, 6)
      local live = optim.SGD(m:parameters(), { lr = 0.1 })
      for _ = 1, 3 do live:minimize(nn.cross_entropy(m(x), y)) end
      for _, compiled in ipairs { false, true } do
        local again = sgl.import(path "more.sgl")
        local opt = optim.SGD(again:parameters(), { lr = 0.1 })
        local function step(a, b) opt:minimize(nn.cross_entropy(again(a), b)) end
        if compiled then step = sgl.compile(step) end
        for _ = 1, 3 do step(x, y) end
        assert.are.equal(m.weight:bytes(), again.state.weight:bytes())
        assert.are.equal(m.bias:bytes(), again.state.bias:bytes())
      end
    end)

    it("has the parameters that it had, whatever else is state", function()
      local m = model()
      assert(sgl.export(m, { SPECS[1] }, { file = path "norm.sgl" }))
      local again = sgl.import(path "norm.sgl")
      assert.are.equal(#m:parameters(), #again:parameters())
      assert.is_true(#again.names > #again:parameters())
      assert.are.equal(m[1].weight:bytes(), again:parameters()[1]:bytes())
      local step = training()
      step(batch(1, 4))
      assert(sgl.export(step, SPECS, { file = path "norm.sgl" }))
      assert.are.equal(#m:parameters(), #sgl.import(path "norm.sgl"):parameters())
    end)

    it("may be a folder, which needs no libzip", function()
      local m = nn.Linear(4, 3)
      assert(sgl.export(m, { SPECS[1] }, { file = path "model.dir/" }))
      local x = batch(1, 6)
      assert.are.equal(m(x):bytes(), sgl.import(path "model.dir")(x):bytes())
    end)

    it("may return what it is given, or what it holds", function()
      local w = sgl.tensor { 1.0, 2, 3 }
      assert(sgl.export(function(x) return w, x, x + w end, { sgl.spec { 3 } },
        { file = path "same.sgl" }))
      local a, b, c = sgl.import(path "same.sgl")(sgl.tensor { 4.0, 5, 6 })
      assert.are.same({ { 1, 2, 3 }, { 4, 5, 6 }, { 5, 7, 9 } },
        { a:tolist(), b:tolist(), c:tolist() })
    end)

    it("keeps control flow", function()
      local w = sgl.tensor { 2.0 }
      assert(sgl.export(function(x)
        local h = sgl.scan(function(carry, v) return carry * w + v, carry end, sgl.zeros(1), x)
        return sgl.cond(h:sum():gt(0), function() return h * 2 end, function() return h - 1 end)
      end, { sgl.spec { 5, 1 } }, { file = path "flow.sgl" }))
      local again = sgl.import(path "flow.sgl")
      assert.are.same({ 2 * (1 + 2 + 4 + 8 + 16) }, again(sgl.ones(5, 1)):tolist())
      assert.are.same({ -31 - 1 }, again(-sgl.ones(5, 1)):tolist())
    end)
  end)

  describe("what cannot be exported", function()
    local function blocked(pattern, what, specs)
      local ok, message, code = sgl.export(what, specs or { sgl.spec { 3 } },
        { file = path "blocked.sgl" })
      assert.is_nil(ok)
      assert.matches(pattern, message)
      assert.is_string(code)
      assert.is_nil(lfs.attributes(path "blocked.sgl"))
      assert.is_nil(lfs.attributes(path "blocked.sgl.new"))
    end

    it("says in which phase and at which line", function()
      blocked("blocked in the capture: .*export_spec.lua:%d+: item",
        function(x) return x:item() end)
      blocked("blocked in serialising: .*: %%%d+ = print",
        function(x) sgl.print("x", x) return x end)
      blocked("result 2 is", function(x) return x, "text" end)
    end)

    it("leaves the file that was there", function()
      write(path "kept.sgl", "kept")
      assert.is_nil(sgl.export(function(x) return x:item() end, { sgl.spec { 3 } },
        { file = path "kept.sgl" }))
      assert.are.equal("kept", read(path "kept.sgl"))
      assert.is_nil((sgl.export(nn.Linear(2, 2), { sgl.spec { 1, 2 } },
        { file = folder .. "/none/x.sgl" })))
    end)

    it("is a mistake where the arguments are", function()
      assert.has_error(function() sgl.export(3, {}, { file = "x" }) end)
      assert.has_error(function() sgl.export(nn.Linear(2, 2), { 5 }, { file = "x" }) end)
      assert.has_error(function() sgl.export(nn.Linear(2, 2), { sgl.spec { 1, 2 } }) end)
    end)
  end)

  describe("a bundle that is read", function()
    local m

    setup(function()
      m = nn.Linear(4, 3)
      assert(sgl.export(m, { SPECS[1] }, { file = path "read.sgl" }))
      assert(sgl.export(m, { SPECS[1] }, { file = path "read.dir/" }))
    end)

    it("refuses arguments that do not fit", function()
      local again = sgl.import(path "read.sgl")
      for _, args in ipairs { {}, { 1 }, { sgl.ones(2, 3) }, { sgl.ones(2, 4, 1) },
                              { sgl.ones(2, 4):to "f64" }, { sgl.ones(65, 4) } } do
        assert.has_error(function() again(table.unpack(args)) end)
      end
      assert.are.same({ 2, 3 }, again(sgl.ones(2, 4)).shape)
    end)

    it("may be missing", function()
      local got, message, code = sgl.import(path "none.sgl")
      assert.is_nil(got)
      assert.matches("none.sgl", message)
      assert.are.equal("SGL_EFILE", code)
    end)

    it("of a later format says so", function()
      local manifest = path "read.dir/bundle.json"
      local text = read(manifest)
      write(manifest, (text:gsub('"sgl_bundle":1', '"sgl_bundle":2')))
      local got, message, code = sgl.import(path "read.dir")
      assert.is_nil(got)
      assert.matches("format 2.*up to format 1", message)
      assert.are.equal("SGL_EUNSUP", code)
      write(manifest, (text:gsub('"kind"', '"later":{"a":[1,"b"]},"kind"')))
      assert.are.same({ 2, 3 }, sgl.import(path "read.dir")(sgl.ones(2, 4)).shape)
      write(manifest, text)
    end)

    it("that is damaged says where", function()
      for part, what in pairs { ["graph.txt"] = "graph.txt", ["state.safetensors"] = "safetensors",
                                ["bundle.json"] = "read.dir" } do
        local text = read(path("read.dir/" .. part))
        local at = #text // 2
        local byte = string.char(text:byte(at) ~ 1)
        write(path("read.dir/" .. part), text:sub(1, at - 1) .. byte .. text:sub(at + 1))
        local ok, e = pcall(sgl.import, path "read.dir")
        write(path("read.dir/" .. part), text)
        assert.is_false(ok, part)
        assert.matches(what, tostring(e))
      end
    end)

    it("that was mutated is refused, or is what it was", function()
      local text, x = read(path "read.sgl"), sgl.ones(2, 4)
      local want = m(x):bytes()
      math.randomseed(5)
      for _ = 1, engine.times(3000) do
        local at = math.random(#text)
        local cut = math.random(10) == 1
        local changed = cut and text:sub(1, at)
          or text:sub(1, at - 1) .. string.char(math.random(0, 255)) .. text:sub(at + 1)
        write(path "mutated.sgl", changed)
        local ok, got = pcall(sgl.import, path "mutated.sgl")
        if ok and got then assert.are.equal(want, got(x):bytes()) end
      end
    end)
  end)

  describe("sgl inspect", function()
    local function inspect(...)
      local words = table.concat({ ... }, " ")
      return support.run(("%s inspect %s"):format(support.binary, words))
    end

    setup(function()
      local step = training()
      step(batch(0, 4))
      assert(sgl.export(step, SPECS, { file = path "look.sgl", name = "digits" }))
      assert(sgl.save(step, path "look.safetensors"))
      step(batch(1, 4))
      assert(sgl.save(step, path "later.safetensors"))
    end)

    it("shows what is in a bundle and in a file of tensors", function()
      local out, status = inspect(path "look.sgl")
      assert.are.equal(0, status, out)
      assert.matches("bundle of a step, by sgl " .. core.version:gsub("%.", "%%."), out)
      assert.matches("name +digits\n", out)
      assert.matches("inputs\n  x +f32%[n, 4%]\n  y +i32%[n%]\noutputs\n  1 +f32%[%]\n", out)
      assert.matches("\n  1.weight +f32%[8, 4%] +128  %x%x%x%x%x%x%x%x\n", out)
      assert.matches("\ngraph\ndim n 1 64 1\n", (inspect("--graph", path "look.sgl")))
      assert.matches("tensors\nstate: %d+ tensors", (inspect(path "look.safetensors")))
    end)

    it("tells where two files differ", function()
      local out, status = inspect(path "look.safetensors", path "look.safetensors")
      assert.are.equal(0, status)
      assert.matches("the same", out)
      out, status = inspect(path "look.sgl", path "later.safetensors")
      assert.are.equal(1, status)
      assert.matches("opt.steps +1 of 1 elements differ, by 1 at most", out)
      assert.is_nil(out:find "opt%.lr")
    end)

    it("says what is no such file", function()
      for _, name in ipairs { path "nothing", support.root .. "Makefile", folder } do
        local out, status = inspect(name)
        assert.are.equal(1, status)
        assert.matches(name:gsub("%p", "%%%0"), out)
        assert.is_nil(out:find "traceback")
      end
      assert.matches("usage", (inspect()))
    end)
  end)
end)
