-- check_spec.lua: `sgl check` and sgl.rollout: what holds is found to hold, and each planted fault
-- of base.lua is found, at the right line of the checklist, with its class.

local engine = require "spec.engine"
local support = require "spec.support"
local sgl = require "sgl"

local BASE = support.root .. "spec/rollout/base.lua"

local function rollout(fault, options)
  local o = { script = BASE, arguments = { fault }, steps = 6, timeout = 120 }
  for key, value in pairs(options or {}) do o[key] = value end
  return sgl.rollout(o)
end

-- fault, stage that finds it, line that finds it, a part of what it says. A fault that only some
-- rank commits stops the step that the ranks take together.
local FAULTS = {
  { "average", 2, "graph", "value=2.*%[partition%] at .*base%.lua:%d+" },
  { "mask", 2, "captured whole", "state 'rng' .* not the same on all ranks %[randomness%]" },
  { "batch_norm", 2, "captured whole", "the ranks take different steps.*%[partition%].*slice" },
  { "tied", 2, "parameters", "'2%.weight' here, '2%.bias' in the first stage" },
  { "shuffled", 2, "captured whole", "argument 'x' of the step .* all ranks %[data%]" },
  { "dtype", 2, "graph", "cast.*f16.*%[dtype%] at .*base%.lua:%d+" },
  { "unregistered", 1, "parameters", "'running' is state of the step, and no module" },
  { "gather", 2, "captured whole", "the ranks take different steps.*%[partition%].*slice" },
  { "norm_rank", 2, "captured whole", "the ranks take different steps.*%[partition%].*base" },
  { "fan_in", 2, "initial state", "'1%.weight' begins with other values" },
  { "seed", 2, "captured whole", "not the same on all ranks %[data%]" },
  { "counter", 1, "checkpoint", "'1%.weight' differs after resume: step 4, first at .*base%.lua" },
  { "accumulation", 2, "data", "step 12 is given another argument 1", 12 },
  { "rows", 2, "graph", "f32%[12, 6%], and not .* f32%[24, 6%] %[data%]" },
  { "print", 1, "exported, reloaded", "blocked in serialising: .*base%.lua:%d+: .*sgl%.print" },
  { "break", 1, "captured whole", "B%-READ .*base%.lua:%d+: item" },
  { "error", 1, "captured whole", "base%.lua:%d+: this rank has no data" },
  { "dies", 2, "captured whole", "rank 1 was killed by signal 9" },
}

describe("a rollout", function()
  it("is ready where all that the stages do is equal", function()
    local r = rollout("")
    assert.is_true(r.ok, tostring(r))
    assert.is_nil(r:first_failure())
    assert.are.same({ "single", "ddp:2", "fsdp:2" },
      { r.stages[1].spec, r.stages[2].spec, r.stages[3].spec })
    assert.matches("verdict: ready %(%d+ lines hold%)$", tostring(r))
  end)

  it("is ready within rounding where exact mode is off, and over meshes", function()
    local r = rollout("", { exact = 0, stages = { "single", "ddp:3" } })
    assert.is_true(r.ok, tostring(r))
    assert.matches("apart\n", tostring(r))
    r = rollout("", { stages = { "single", "data=2,fsdp=2" } })
    assert.is_true(r.ok, tostring(r))
  end)

  -- All of them take a minute; with less to do, every so many of them.
  local every = math.max(1, math.floor(0.2 / engine.scale))
  for i = 1, #FAULTS, every do
    local fault, stage, name, text, steps = table.unpack(FAULTS[i])
    it("finds a fault: " .. fault, function()
      local r = rollout(fault, { steps = steps or 6 })
      assert.is_false(r.ok)
      assert.are.equal(stage, #r.stages, tostring(r))
      local found
      for _, line in ipairs(r.stages[stage].lines) do
        if not line.ok then
          found = found or line
          if line.name == name then found = line end
        end
      end
      assert.are.equal(name, found.name, tostring(r))
      assert.matches(text, found.text)
      for k = 1, stage - 1 do assert.is_true(r.stages[k].ok) end
      assert.matches("verdict: not ready", r:verdict())
    end)
  end

  it("goes on behind a stage that fails when it is asked to", function()
    local r = rollout("fan_in", { keep_going = true })
    assert.are.same({ 3, true, false, false },
      { #r.stages, r.stages[1].ok, r.stages[2].ok, r.stages[3].ok })
  end)

  it("is told as JSON, as JUnit XML and as a page, which hold what the table does", function()
    local r = rollout("print")
    local json, xml, html = r:json(), r:junit(), r:html()
    assert.matches('"ready": false', json)
    assert.matches('"name": "exported, reloaded", "ok": false', json)
    assert.matches('<testsuites tests="7" failures="1">', xml)
    assert.matches('name="exported, reloaded"><failure message="export', xml)
    assert.matches("<polyline", html)
    if support.run "command -v python3" ~= "" then
      local path = os.tmpname()
      for _, case in ipairs { { json, "json; json.load(open('%s'))" },
                              { xml, "xml.etree.ElementTree as e; e.parse('%s')" } } do
        support.write(path, case[1])
        assert.are.equal("", support.run(('python3 -c "import %s" 2>&1'):format(
          case[2]:format(path))))
      end
    end
  end)

  it("says what is wrong with what it is asked", function()
    local function refused(text, o)
      local ok, e = pcall(sgl.rollout, o)
      assert.is_false(ok)
      assert.matches(text, tostring(e))
    end
    refused("option 'script' is missing", {})
    refused("missing.lua: No such file", { script = "missing.lua" })
    refused("'foo' is no stage", { script = BASE, stages = { "foo" } })
    refused("steps", { script = BASE, steps = 1 })
  end)
end)

describe("sgl check", function()
  it("prints the table, writes the reports, and its status is the verdict", function()
    local folder = support.folder()
    local out, status = support.run(("cd '%s' && '%s' check '%s' --steps 4 --stages 'single' 2>&1")
      :format(folder, support.binary, BASE))
    assert.are.equal(0, status, out)
    assert.matches("^stage 1  single     captured whole      ok    1 graph, %d+ nodes, 0 br", out)
    assert.matches("report: rollout.html, rollout.json, rollout.xml\n$", out)
    for _, name in ipairs { "rollout.html", "rollout.json", "rollout.xml" } do
      assert.is_true(#support.read(folder .. "/" .. name) > 200)
    end
    support.remove(folder)
    local bad
    local words = "--steps 4 --stages single --report none -- print"
    bad, status = support.run(("'%s' check '%s' %s 2>&1"):format(support.binary, BASE, words))
    assert.are.equal(1, status)
    assert.matches("exported, reloaded  FAIL", bad)
    assert.matches("verdict: not ready %(1 of 7 lines fails%)\n$", bad)
    bad, status = support.run(("'%s' check 2>&1"):format(support.binary))
    assert.are.equal(1, status)
    assert.matches("no script\nusage: sgl check", bad)
    bad, status = support.run(("'%s' check --steps x a.lua 2>&1"):format(support.binary))
    assert.matches("%-%-steps: a whole number is needed, got 'x'", bad)
  end)
end)
