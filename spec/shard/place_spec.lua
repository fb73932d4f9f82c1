-- place_spec.lua: meshes and placements that a script says: they cut what they name, and what the
-- script means stays, on any mesh and on one rank.

local support = require "spec.support"

-- What the script prints on n ranks, on rank 0.
local function run(n, text, settings)
  local folder = support.folder()
  support.write(folder .. "s.lua", text)
  local start = n > 1 and ("run -n %d "):format(n) or ""
  local out = support.run(("%s %s%s %ss.lua"):format(support.binary, start, settings or "", folder))
  support.remove(folder)
  return out
end

-- y = tanh(x · w) · v for whole numbers: the sums are exact, whoever adds what.
local STEP = [[
  local sgl = require "sgl"
  local dist = sgl.dist
  MESH
  local w, v = sgl.arange(1, 49):reshape(6, 8):to "f32", sgl.arange(1, 17):reshape(8, 2):to "f32"
  PLACE
  local step = sgl.compile(function(x)
    local h = x:matmul(w)
    INSIDE
    return (h:relu():matmul(v)):sum()
  end)
  print(step(sgl.arange(1, 25):reshape(4, 6):to "f32"):item())
  print(step:graph "part":text():match "dot(%b() : f32%b[])")
  print(step:graph "part":text())
]]

local function step(mesh, place, inside)
  return (STEP:gsub("MESH", mesh):gsub("PLACE", place or ""):gsub("INSIDE", inside or ""))
end

-- Σ over rows r of x, columns c of w, of x[r]·w[:,c] · (v[c,1] + v[c,2]), by hand.
local function expected()
  local sum = 0
  for r = 0, 3 do
    for c = 0, 7 do
      local h = 0
      for k = 0, 5 do h = h + (6 * r + k + 1) * (8 * k + c + 1) end
      sum = sum + h * (4 * c + 3)
    end
  end
  return sum
end

describe("a placement", function()
  local mesh = "sgl.mesh { data = 2, model = 2 }"

  local function check(text, ranks, shape, settings)
    local out = run(ranks, text, settings)
    local value, dims = out:match "^(%S+)\n(.-)\n"
    assert.are.equal(expected(), tonumber(value), out)
    assert.truthy(dims and dims:find("f32" .. shape, 1, true), out)
    return out
  end

  it("of a weight cuts what is computed with it", function()
    check(step(mesh, "dist.place(w, dist.shard(2, 'model'))"), 4, "[2, 4]")
    check(step(mesh), 4, "[2, 8]")
  end)

  it("of a value within a step cuts it", function()
    check(step(mesh, "", "dist.place(h, dist.shard(2, 'model'))"), 4, "[2, 4]")
  end)

  it("may have several axes on a dim, in an order of its own", function()
    check(step("sgl.mesh { a = 2, b = 2 }", "dist.place(w, dist.shard(2, 'b', 'a'))"), 4, "[4, 2]")
  end)

  it("keeps state whole under a plan that shares it", function()
    local out = check(step("sgl.mesh { fsdp = -1 }",
      "dist.place(w, dist.replicate()); dist.place(v, dist.replicate())"), 2, "[2, 8]")
    assert.falsy(out:find("all_gather", 1, true), out)
    out = check(step("sgl.mesh { fsdp = -1 }"), 2, "[2, 8]")
    assert.truthy(out:find("all_gather", 1, true), out)
  end)

  it("says nothing on one rank, or where the mesh lacks its axes", function()
    local placed = step(mesh, "dist.place(w, dist.shard(2, 'model'))",
      "dist.place(h, dist.shard(1, 'seq'))")
    local out = run(1, placed)
    assert.are.equal(expected(), tonumber(out:match "^%S+"), out)
    check(placed, 4, "[1, 8]", "--plan ddp")                   -- --plan goes first
  end)

  it("that contradicts what is there is an error with both", function()
    local out = run(4, step(mesh, "", "dist.place(h, dist.shard(1, 'model'))"))
    assert.truthy(out:find("dim 1 cannot be shard(model): it is shard(data)", 1, true), out)
    check(step(mesh, "", "dist.place(h, dist.shard(1, 'data', 'model'))"), 4, "[1, 8]")
  end)
end)

describe("a mesh", function()
  it("knows the place of each rank, the last axis counting fastest", function()
    local text = [[
      local sgl = require "sgl"
      local mesh = sgl.mesh { model = 2, data = -1 }
      local at, size = mesh.at, mesh.size
      assert(at.data * size.model + at.model == sgl.dist.rank)
      print(table.concat(mesh.axes, "x"), at.data, at.model, size.data, size.model)
    ]]
    assert.are.equal("dataxmodel\t0\t0\t2\t2\n", (run(4, text)))
    assert.are.equal("dataxmodel\t0\t0\t1\t1\n", (run(1, text)))
  end)

  it("fits the job, has names and sizes", function()
    local function fails(n, call, message)
      local out = run(n, [[local sgl = require "sgl"
        local dist, model = sgl.dist, sgl.nn.ReLU(); ]] .. call)
      assert.truthy(out:find(message, 1, true), out)
    end
    fails(2, "sgl.mesh { data = 3, model = 2 }", "mesh: it has 6 ranks, the job 2")
    fails(1, "sgl.mesh { 2 }",
      "mesh: the name of an axis is at most 15 letters, digits and _, got 1")
    fails(1, "sgl.mesh { data = 0 }", "axis 'data' has a number of ranks, got 0")
    fails(1, "sgl.mesh { data = -1, model = -1 }", "two axes have -1 ranks")
    fails(2, "sgl.mesh { model = 2 }; dist.ddp(model)",
      "dist.ddp: the plan 'model=2' has no axis 'data'")
    fails(2, "sgl.mesh { data = 2 }; dist.fsdp(model)",
      "dist.fsdp: the plan 'data=2' has no axis 'fsdp'")
    fails(1, "dist.place(sgl.ones(2), dist.shard(2, 'model'))", "2=model does not fit f32[2]")
    fails(1, "dist.place(sgl.ones(2, 2), dist.shard(1, 'a'), dist.shard(2, 'a'))",
      "dist.place: axis 'a' is on two dims")
    fails(1, "dist.place(sgl.ones(2), 3)", "dist.place: placement 1 is 3")
    fails(1, "dist.shard(1)", "dist.shard: which axis of the mesh shares the dim?")
    fails(1, "dist.place(sgl.ones(2), dist.shard(1, 'a b'))", "placement '1=a b'")
  end)

  it("follows from what the script says of its model", function()
    local text = [[
      local sgl = require "sgl"
      local model = sgl.dist.NAME(sgl.nn.Linear(4, 4))
      local step = sgl.compile(function(x) return model(x):sum() end)
      step(sgl.ones(2, 4))
      print(sgl.config.plan, step:graph "part":text():find("all_gather", 1, true) ~= nil)
    ]]
    assert.are.equal("ddp\tfalse\n", (run(2, (text:gsub("NAME", "ddp")))))
    assert.are.equal("fsdp\ttrue\n", (run(2, (text:gsub("NAME", "fsdp")))))
    assert.are.equal("ddp\tfalse\n", (run(2, (text:gsub("NAME", "fsdp")), "--plan ddp")))
  end)
end)
