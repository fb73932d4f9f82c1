-- lost_spec.lua: what ranks that are threads of one process are told when one of them is lost. What
-- a rank says of where it is, others read while it may change; so this is not for the thread
-- sanitizer.

local units = require "spec.comm.units"

local SUM = "all_reduce sum f32 4 0"

-- Each rank's error, by rank; every other line is a result.
local function errors(lines)
  local list, results = {}, 0
  for _, line in ipairs(lines) do
    local r, text = line:match "^(%d+) error (.*)"
    if r then list[tonumber(r)] = text else results = results + 1 end
  end
  return list, results
end

describe("a rank that is lost", function()
  if not units.there() then return end

  -- After one exchange that all come to; `fate` becomes of rank 1.
  local function lose(fate, order, timeout)
    return errors(units.job({ 3 }, order or "run", timeout or 60, { SUM, fate, SUM, SUM }))
  end

  it("because it has ended: the others say where it left and where they are", function()
    for _, order in ipairs { "run", "start" } do
      local e = lose("leave 1", order)
      assert.is_nil(e[1])
      for _, r in ipairs { 0, 2 } do
        assert.matches("^rank 1 has ended its script, rank [02] is at work 1 %(units.c:1%): "
          .. "rank 1 left", e[r])
      end
      assert.are.equal(e[0], e[2])                             -- one verdict for all
    end
  end)

  it("because it does not come: the others wait so long and no longer", function()
    local e = lose("late 1", "run", 0.2)
    assert.matches("^rank [02] waited 0.2 s for rank 1 in exchange 2, work 1 %(units.c:1%); rank 1 "
      .. "was last in exchange 1 %(units.c:1%)", e[0])
    assert.are.equal(e[0], e[2])
  end)

  it("because it stops the job: all have its words", function()
    for _, order in ipairs { "run", "start" } do
      local e = lose("stop 1 enough", order)
      assert.are.same({ [0] = "rank 1: enough", [2] = "rank 1: enough" }, e)
    end
  end)

  it("because it does something else: all say both", function()
    for _, order in ipairs { "run", "start" } do
      local e = lose("differ 1", order)
      for r = 0, 2 do
        assert.matches("^the ranks take different steps: in exchange 2 rank %d is at work 1", e[r])
        assert.truthy(e[r]:find("work 1, another", 1, true), e[r])
        assert.are.equal(e[0], e[r])
      end
    end
  end)

  it("because it says that it is alone: it must not take part", function()
    local e = errors(units.job({ 2 }, "run", 0.2, { SUM, "alone 1", SUM }))
    assert.matches("^work 1 in sgl.dist.alone: rank 0 is alone there", e[1])
    assert.matches("^rank 0 waited 0.2 s for rank 1", e[0])
  end)

  it("in one group: those of others learn it at their next wait", function()
    local row = "all_reduce sum f32 4 1"
    local e = errors(units.job({ 2, 2 }, "run", 60, { row, "stop 3 enough", row, SUM }))
    for r = 0, 2 do assert.are.equal("rank 3: enough", e[r]) end
  end)

  it("leaves what was done before as it is", function()
    local _, results = lose "leave 1"
    assert.are.equal(1, results)                               -- rank 1, its one work
  end)
end)
