-- pytorch_spec.lua: what is written for names from PyTorch: each row's code runs, none of its names
-- is there, and the message about each says it.

local sgl = require "sgl"
local core = require "sgl.core"
local pytorch = require "sgl.pytorch"
local support = require "spec.support"

-- What the code of rows may use.
local function environment()
  local nn, optim = sgl.nn, sgl.optim
  local model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))
  local x = sgl.tensor { { 0.5, 1.5, 2.5 }, { 3.5, 4.5, 5.5 } }
  local w = nn.parameter(sgl.ones(3, 3))
  return setmetatable({
    sgl = sgl, nn = nn, optim = optim, model = model, opt = optim.SGD(model:parameters()),
    loss = (model(x) ^ 2):sum(), x = x, y = x + 1, w = w, average = w:clone(), logits = x * 1,
    classes = sgl.tensor { 0, 2 }, images = sgl.ones(1, 3, 4, 4), index = sgl.tensor { 0, 1 },
    columns = sgl.zeros(2, 3):int(), print = function() end,
    step = sgl.compile(function(v) return v end),
  }, { __index = _G })
end

-- The table of a group, and a name of it that messages use.
local function owner(where, env)
  local owners = { tensor = env.x, module = env.model, ["an optimizer"] = env.opt }
  if owners[where] then return owners[where] end
  local at = sgl
  for key in where:gmatch "%a+" do at = key == "sgl" and at or at[key] end
  return at
end

local folder
setup(function()
  folder = support.folder()
  support.write(folder .. "table.csv", "1,2\n3,4\n")
end)
teardown(function() support.remove(folder) end)

local function run(code, env)
  code = code:gsub("table%.csv", folder .. "table.csv")
  local chunk = assert(load("return " .. code, "=row", "t", env) or load(code, "=row", "t", env))
  local real = print
  _G.print = function() end             -- sgl.print uses it
  local fine, e = pcall(chunk)
  _G.print = real
  if not fine then error(e, 0) end
end

describe("what is written for a name from PyTorch", function()
  for _, group in ipairs(pytorch.groups) do
    for _, row in ipairs(group[4]) do
      it(("runs and is said: %s, %s"):format(group[1], row[1]), function()
        local env = environment()
        if row[2] ~= "" then run(row[2], env) end
        for name in row[1]:gmatch "%S+" do
          local e = support.error_of(function() return owner(group[2], env)[name] end)
          assert.are.equal("SGL_EARG", type(e) == "table" and e.code, name .. ": " .. tostring(e))
          assert(e.message:find(("'%s'"):format(name), 1, true), e.message)
          assert(e.hint:find(row[2] ~= "" and row[2] or row[3], 1, true), e.hint)
        end
      end)
    end
  end

  it("is said in a captured step too", function()
    for _, code in ipairs { "x.cuda", "sgl.no_grad", "nn.CrossEntropyLoss", "model:zero_grad()" } do
      local step = sgl.compile(function() end)
      local fn = assert(load("local x = ... return " .. code, "@train.lua", "t", environment()))
      step = sgl.compile(fn)
      local e = support.error_of(step, sgl.ones(2))
      assert.are.equal("SGL_EARG", e.code)
      assert(e.hint, tostring(e))
      assert.is_false(core.capturing())
    end
  end)

  it("is assign for names that end in an underscore", function()
    local e = support.error_of(function() return sgl.ones(2):add_(1) end)
    assert(e.hint:find("x:assign(x:add(…))", 1, true), e.hint)
  end)

  it("is the table in which the name stands", function()
    for code, where in pairs {
      ["sgl.Linear"] = "nn.Linear", ["nn.Adam"] = "optim.Adam", ["sgl.csv"] = "data.csv",
      ["sgl.cross_entropy"] = "nn.cross_entropy", ["nn.matmul"] = "sgl.matmul",
      ["optim.cosine"] = "optim.schedule.cosine", ["x:cross_entropy()"] = "nn.cross_entropy",
    } do
      local e = support.error_of(function() run(code, environment()) end)
      assert.are.equal("use " .. where, e.hint)
    end
  end)

  it("leaves fields of a user's module nil", function()
    local model = sgl.nn.Linear(2, 2)
    assert.is_nil(model.anything)
    assert.is_nil(model.device)
  end)
end)
