-- refusals_spec.lua: plans and placements that cannot be: what is said of each.

local graphs = require "spec.shard.graphs"

local function refused(plan, message)
  local ok, e = pcall(graphs.part, graphs.MLP, 0, plan)
  assert.is_false(ok, plan.plan)
  assert.truthy(tostring(e):find(message, 1, true), tostring(e))
end

describe("a plan", function()
  it("is axes with sizes", function()
    for plan, message in pairs {
      ["data"] = "unknown axis", ["=2"] = "unknown axis", ["data=2,"] = "unknown axis",
      ["data="] = "a size is missing", ["data=two"] = "a size is missing",
      ["data=2x"] = "a size is missing", ["data=0"] = "an axis has 1 to 64 ranks",
      ["data=-1"] = "an axis has 1 to 64 ranks", ["data=65"] = "an axis has 1 to 64 ranks",
      ["data=2,data=2"] = "an axis comes twice",
      ["a=1,b=1,c=1,d=1"] = "a mesh has at most 3 axes",
    } do
      refused({ plan = plan }, ("plan '%s': %s"):format(plan, message))
      refused({ plan = plan }, "ddp, fsdp, or axes with sizes such as data=2,model=2")
    end
  end)

  it("has the ranks of the job", function()
    refused({ plan = "data=2", ranks = 4 }, "plan: the mesh has 2 ranks, the job 4")
    refused({ plan = "data=2,model=4", ranks = 4 }, "plan: the mesh has 8 ranks, the job 4")
  end)

  it("has no more ranks than blocks in exact mode", function()
    refused({ plan = "data=8", exact = 4 }, "exact: 4 blocks cannot be shared by 8 ranks")
  end)
end)

describe("a placement", function()
  it("that contradicts what is there is named with both", function()
    refused({ plan = "data=2,model=2", place = { "1=model" } },
      "x: dim 1 cannot be shard(model): it is shard(data)")
    refused({ plan = "data=2,model=2", place = { "1=model" } },
      "name the axes of a dim together, the outermost first")
  end)

  it("by an axis that another dim of the value has is refused", function()
    refused({ plan = "data=2", place = { "2=data" } },
      "x: dim 2 cannot be shard(data): another dim is")
  end)

  it("may differ from that of what the value meets: then it is moved", function()
    local text = graphs.part(graphs.MLP, 0, { plan = "a=2,b=2", place = { nil, "2=a", "1=b" } })
    assert.truthy(text:find "all_%w+")
  end)
end)
