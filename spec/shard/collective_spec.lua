-- collective_spec.lua: collectives that a script writes: their values and gradients on ranks that
-- hold other values, worked out by hand, outside steps and in them.

local support = require "spec.support"

-- What rank 0 prints; x differs by rank: { r + 1, 10 * (r + 1) } on rank r.
local HEAD = [[
  local sgl = require "sgl"
  local dist, core = sgl.dist, require "sgl.core"
  local rank, size = dist.rank, dist.size
  local x = sgl.tensor { rank + 1, 10 * (rank + 1) }:float()
  local function show(t) print(table.concat(t:flatten():tolist(), " ")) end
  -- Of every rank, on rank 0.
  local function all(t) show(dist.all_gather(t)) end
  local function both(f, t)
    all(f(t or x))
    all(sgl.compile(f)(t or x))
  end
]]

local function run(n, text)
  local folder = support.folder()
  support.write(folder .. "s.lua", HEAD .. text)
  local start = n > 1 and ("run -n %d "):format(n) or ""
  local out = support.run(("%s %s%ss.lua"):format(support.binary, start, folder))
  support.remove(folder)
  return out
end

local function twice(line) return line .. "\n" .. line .. "\n" end

describe("a collective in a script", function()
  it("combines, gathers, scatters and exchanges, in a step too", function()
    local function check(call, line)
      assert.are.equal(twice(line), (run(2, ("both(function(t) return %s end)"):format(call))))
    end
    check("dist.all_reduce(t)", "3.0 30.0 3.0 30.0")
    check("dist.all_reduce(t, { op = 'mean' })", "1.5 15.0 1.5 15.0")
    check("dist.all_reduce(t, { op = 'max' })", "2.0 20.0 2.0 20.0")
    check("dist.all_gather(t)", "1.0 10.0 2.0 20.0 1.0 10.0 2.0 20.0")
    check("dist.reduce_scatter(t)", "3.0 30.0")
    check("dist.all_to_all(t)", "1.0 2.0 10.0 20.0")
    check("dist.broadcast(t, { from = 1 })", "2.0 20.0 2.0 20.0")
    check("dist.send(t, { from = 0, to = 1 })", "1.0 10.0 1.0 10.0")
    check("dist.send(t, { from = 1, to = 0 })", "2.0 20.0 2.0 20.0")
  end)

  it("takes the ranks of an axis, along any dim", function()
    local text = [[
      sgl.mesh { a = 2, b = 2 }
      both(function(t) return dist.all_reduce(t, { axis = "b" }) end)
      both(function(t) return dist.all_reduce(t, { axis = "a" }) end)
      both(function(t) return dist.broadcast(t, { axis = "a", from = 1 }) end)
      local both_axes = { axis = { "b", "a" }, dim = 2 }
      both(function(t) return dist.all_gather(t:reshape(2, 1), both_axes) end)
      both(function(t) return dist.all_to_all(t:reshape(1, 2), { axis = "b", dim = 2 }) end)
    ]]
    local gathered = "1.0 3.0 2.0 4.0 10.0 30.0 20.0 40.0"
    assert.are.equal(twice "3.0 30.0 3.0 30.0 7.0 70.0 7.0 70.0"
      .. twice "4.0 40.0 6.0 60.0 4.0 40.0 6.0 60.0"
      .. twice "3.0 30.0 4.0 40.0 3.0 30.0 4.0 40.0"
      .. twice((gathered .. " "):rep(4):sub(1, -2))
      .. twice "1.0 2.0 10.0 20.0 3.0 4.0 30.0 40.0", (run(4, text)))
  end)

  -- The loss of rank r is (r + 1) · Σ c · f(x), c = 1, 2, …; gradients are of the sum of both.
  it("has the gradient of the sum of all ranks' losses", function()
    local function check(call, line)
      local text = ([[
        local function f(t)
          local y = %s
          local c = sgl.arange(1, y:numel() + 1):float():reshape(y.shape)
          return sgl.grad((y * c):sum() * (rank + 1), t)
        end
        both(f)
      ]]):format(call)
      assert.are.equal(twice(line), (run(2, text)))
    end
    check("dist.all_reduce(t)", "3.0 6.0 3.0 6.0")
    check("dist.all_gather(t)", "3.0 6.0 9.0 12.0")
    check("dist.reduce_scatter(t)", "1.0 2.0 1.0 2.0")
    check("dist.all_to_all(t)", "1.0 2.0 2.0 4.0")
    check("dist.broadcast(t, { from = 1 })", "0.0 0.0 3.0 6.0")
    check("dist.send(t, { from = 0, to = 1 })", "3.0 6.0 0.0 0.0")
    local out = run(2, "sgl.grad(dist.all_reduce(x, { op = 'max' }):sum(), x):tolist()")
    assert.truthy(out:find("no gradient flows through 'max', only sums", 1, true), out)
  end)

  it("keeps its order among others, and their state is each rank's own", function()
    local text = [[
      local w = sgl.ones(2)
      local step = sgl.compile(function(t)
        local a, b = dist.all_reduce(t), dist.all_reduce(t * w, { op = "max" })
        w:assign(w + dist.all_reduce(b - a))
        return dist.all_gather(a + b)
      end)
      for i = 1, 3 do step(x * i) end
      all(w)
      print(step:graph "part":text():find "slice" == nil)
    ]]
    -- w: 1; then + 2·(2w - 3) = -1; then i = 2: 2·(max(-2, -4) - 6) = -16: -17;
    -- i = 3: 2·(max(-51, -102) - 9) = -120: -137; the second tenfold in t alone:
    -- 1 + 2·(20 - 30) = -19; 2·(max(-380, -760) - 60) = -880: -899;
    -- 2·(max(-26970, -53940) - 90) = -54120: -55019.
    assert.are.equal("-137.0 -55019.0 -137.0 -55019.0\ntrue\n", (run(2, text)))
  end)

  it("sums bf16 in f32, and rounds once", function()
    local text = [[
      local t = sgl.tensor({ ({ 256, 1, 1, 2 })[rank + 1] }, "bf16")
      both(function(v) return dist.all_reduce(v):float() end, t)
      both(function(v) return dist.all_reduce(v, { op = "mean" }):float() end, t)
    ]]
    assert.are.equal(twice "260.0 260.0 260.0 260.0" .. twice "65.0 65.0 65.0 65.0",
      (run(4, text)))
  end)

  it("changes nothing on one rank, on axes that are not there too", function()
    local text = [[
      both(function(t) return dist.all_reduce(t) end)
      both(function(t) return dist.all_to_all(t, { axis = "seq" }) end)
      both(function(t) return dist.send(dist.broadcast(t)) end)
    ]]
    assert.are.equal(("1.0 10.0\n"):rep(6), (run(1, text)))
  end)

  it("says what does not fit", function()
    for call, message in pairs {
      ["dist.all_reduce(x, { axis = 'seq' })"] = "dist.all_reduce: the mesh has no axis 'seq'",
      ["dist.all_to_all(sgl.ones(3))"] = "dist.all_to_all: dim 1 of f32[3] has no 2 equal parts",
      ["dist.all_gather(x, { dim = 2 })"] = "dist.all_gather: dim 2 of f32[2] has no 1 equal parts",
      ["dist.broadcast(x, { from = 2 })"] = "dist.broadcast: no rank 2 among 2",
      ["dist.send(x, { from = 0, to = 5 })"] = "dist.send: no rank 5 among 2",
      ["dist.all_reduce(sgl.ones(rank + 1))"] = "the ranks take different steps",
    } do
      local out = run(2, call)
      assert.truthy(out:find(message, 1, true), out)
    end
  end)
end)
