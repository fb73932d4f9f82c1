-- fallback_spec.lua: steps that cannot be captured as a whole: the same results in segments, a
-- record for each break, the report, and `sgl breaks`.

local sgl = require "sgl"
local core = require "sgl.core"
local support = require "spec.support"

local function same(a, b) return a:equal(b) end

-- Steps that break, with the code.
local STEPS = {
  { "B-READ", function(x) if x:sum():item() > 0 then return x * 2 end return x - 1 end },
  { "B-COND", function(x) if x:gt(0) then return x * 2 end end },
  { "B-EQ", function(x) if x + 0 == 3 then return x end return x + 1 end },
  { "B-VALUE", function(x) assert(x:gt(0)) return x * 3 end },
  { "B-CALL", function(x) return x * (os.time() > 0 and 2 or 3) end },
  { "B-STATE", function(x) return (x[x:gt(-1e9)]) end },
}

local lua_assert = package.loaded._G.assert
STEPS[4][2] = function(x) lua_assert(x:gt(0)) return x * 3 end

describe("a step that breaks", function()
  for _, row in ipairs(STEPS) do
    it("at a " .. row[1] .. " gives the same in segments, with one record", function()
      local step = sgl.compile(row[2], { fullgraph = false })
      for _, x in ipairs { sgl.ones(3), -sgl.ones(3), sgl.ones(3) * 5 } do
        assert.is_true(same(row[2](x), step(x)))
      end
      local report = sgl.coverage(step)
      assert.are.equal(1, #report.breaks)
      local b = report.breaks[1]
      assert.are.equal(row[1], b.code)
      assert.are.equal("segments", b.action)
      assert.are.equal(debug.getinfo(row[2], "S").linedefined, b.line)
      assert.matches("fallback_spec.lua$", b.file)
      assert.is_true(#b.stack >= 1 and #b.component > 0 and #b.reason > 0)
      assert.are.equal(3, report.steps)
      assert.are.equal(0, report.captured_steps)
    end)
  end

  it("is refused with the line, the method and the way out when it must be whole", function()
    local e = support.error_of(sgl.compile(STEPS[1][2]), sgl.ones(3))
    assert.are.equal(debug.getinfo(STEPS[1][2], "S").linedefined, e.line)
    assert.matches("item", e.message)
    assert.matches("sgl%.cond", e.hint)
  end)

  it("is an error under strict, whatever fullgraph says", function()
    local step = sgl.compile(STEPS[1][2], { fullgraph = false, strict = true })
    assert.are.equal("B-READ", support.error_of(step, sgl.ones(3)).reason)
  end)

  it("has its effects as often as Lua has them", function()
    local log = {}
    local step = sgl.compile(function(x)
      log[#log + 1] = x:sum():item()
      return x * 2
    end, { fullgraph = false })
    for i = 1, 3 do step(sgl.ones(2) * i) end
    assert.are.same({ 2.0, 4.0, 6.0 }, log)
  end)

  it("trains to the same parameters", function()
    local function train(compile)
      sgl.seed(4)
      local model = sgl.nn.Linear(3, 2)
      local opt = sgl.optim.Adam(model:parameters(), { lr = 0.1 })
      local function step(x)
        local loss = model(x):square():sum()
        if loss:item() > 1 then opt:minimize(loss) else opt:minimize(loss * 2) end
        return loss
      end
      local run = compile and sgl.compile(step, { fullgraph = false }) or step
      for i = 1, 6 do run(sgl.ones(4, 3) * i) end
      return model.weight
    end
    assert.is_true(same(train(false), train(true)))
  end)

  it("is not captured again for what it changes itself", function()
    local count, x = 0, sgl.ones(2)
    local step = sgl.compile(function(v)
      count = count + 1
      if count % 10 == 0 then return v:sum():item() end
      return v * count
    end, { fullgraph = false, max_recaptures = 2 })
    for i = 1, 30 do
      local result = step(x)
      if i % 10 > 0 then assert.are.same({ i + 0.0, i + 0.0 }, result:tolist()) end
    end
    assert.are.equal(30, count)
    assert.are.equal(3, #step:programs())
  end)

  it("runs as Lua past the limit of captures, with one report of what changed", function()
    local function fn(x, batch) return x * batch.scale() end
    local step = sgl.compile(fn, { fullgraph = false, max_recaptures = 3 })
    for i = 1, 20 do
      local result = step(sgl.ones(2), { scale = function() return i end })
      assert.are.same({ i + 0.0, i + 0.0 }, result:tolist())
    end
    local report = sgl.coverage(step)
    assert.are.equal(4, #step:programs())
    assert.are.equal(20, report.steps)
    assert.are.equal(1, #report.breaks)
    assert.are.equal("B-LIMIT", report.breaks[1].code)
    assert.are.equal(debug.getinfo(fn, "S").linedefined, report.breaks[1].line)
    assert.matches("captured 4 times; at most 3 .* 4 batch.scale", report.breaks[1].reason)
    step.strict = true
    assert.matches("at most 3", support.error_of(step, sgl.ones(2), {
      scale = function() return 1 end }).message)
  end)

  it("does not write twice: with effects = 'once', a break after a write is an error", function()
    local count = 0
    local step = sgl.compile(function(v)
      count = count + 1
      return v * v:sum():item()
    end, { fullgraph = false, effects = "once" })
    local e = support.error_of(step, sgl.ones(2))
    assert.matches("wrote to what was there before, then broke: item", e.message)
    assert.matches("without effects = 'once'", e.hint)
    assert.are.equal(1, count)
  end)

  it("counts segments, and is captured again when what it read allows it", function()
    local cfg = { peek = true }
    local step = sgl.compile(function(x)
      local y = x * 2
      if cfg.peek then y = y + y:sum():item() end
      return y
    end, { fullgraph = false })
    local x = sgl.ones(2)
    assert.are.same({ 6.0, 6.0 }, step(x):tolist())
    cfg.peek = false
    assert.are.same({ 2.0, 2.0 }, step(x):tolist())
    local report = sgl.coverage(step)
    assert.are.equal(2, report.segments)
    assert.are.equal(0.5, report.captured_steps)
    assert.are.same({ "cfg.peek changed from true to false" }, report.recaptures)
    assert.matches("50%.0 %% of 2 steps", tostring(report))
    assert.matches('^{"code": "B%-READ", "reason": "item .-"line": %d+, "stack": %[".-%]',
      report:json())
  end)

  it("has a record for each read that ends a segment, once", function()
    local step = sgl.compile(function(x)
      local a = (x * 2):sum():item()
      local b = (x * a):tolist()
      return x * b[1]
    end, { fullgraph = false })
    local first = debug.getinfo(1, "l").currentline - 4
    for i = 1, 3 do
      local want = 4.0 * i ^ 3
      assert.are.same({ want, want }, step(sgl.ones(2) * i):tolist())
    end
    local report = sgl.coverage(step)
    assert.are.equal(2, #report.breaks)
    for i, b in ipairs(report.breaks) do
      assert.are.equal("B-READ", b.code)
      assert.are.equal(first + i - 1, b.line)
      assert.matches(("segment %d ends here"):format(i), tostring(report))
    end
    assert.matches("^tolist", report.breaks[2].reason)
  end)

  it("that user code caught breaks all the same", function()
    local step = sgl.compile(function(x)
      local fine = pcall(function() return x:sum():item() end)
      return fine and x * 2 or 1
    end, { fullgraph = false })
    assert.are.same({ 2.0, 2.0 }, step(sgl.ones(2)):tolist())
  end)
end)

describe("an error that only the capture raises", function()
  for name, case in pairs {
    ["what a metamethod gives"] = { "B-ERROR", function(x, k)
      return x * #tostring(setmetatable({}, { __tostring = function() return k end }))
    end },
    ["an element of a tensor"] = { "B-NUMBER", function(x, k)
      return x * sgl.tensor { k, 1 }
    end },
  } do
    it("makes the step run as Lua: a number as " .. name, function()
      local code, fn = case[1], case[2]
      assert.is_false((pcall(sgl.compile(fn), sgl.ones(2, 2), 2)))
      local step = sgl.compile(fn, { fullgraph = false })
      for _, k in ipairs { 2, 1 } do
        assert.is_true(same(fn(sgl.ones(2, 2), k), step(sgl.ones(2, 2), k)))
      end
      local b = sgl.coverage(step).breaks[1]
      assert.are.equal(code, b.code)
      assert.are.equal(debug.getinfo(fn, "S").linedefined + 1, b.line)
    end)
  end

  it("is the function's own when Lua raises it too, and nothing is kept of it", function()
    local function fn(x, k) return x:reshape(k.rows, 3) end
    local step = sgl.compile(fn, { fullgraph = false, max_recaptures = 1 })
    local cfg = { rows = "two" }
    for _ = 1, 5 do
      assert.matches("reshape", support.error_of(step, sgl.ones(6), cfg).message)
    end
    assert.are.equal(0, #step:programs())
    assert.are.equal(0, #sgl.coverage(step).breaks)
    local text = support.error_of(sgl.compile(function() error("mine", 0) end,
      { fullgraph = false }))
    assert.are.equal("mine", text.message or text)
  end)

  it("is an error under strict", function()
    local step = sgl.compile(function(k) return sgl.tensor { k } end,
      { fullgraph = false, strict = true })
    assert.is_false(pcall(step, 2))
  end)
end)

describe("a coroutine from outside", function()
  local function fn(x)
    local k = coroutine.yield(x * 2)
    return x * k
  end

  it("is a break where the step would leave it", function()
    local e
    coroutine.wrap(function() e = support.error_of(sgl.compile(fn), sgl.ones(2)) end)()
    assert.are.equal("B-CALL", e.reason)
    assert.matches("coroutine.yield", e.message)
    assert.are.equal(debug.getinfo(fn, "S").linedefined + 1, e.line)
  end)

  it("is left and entered again in segments", function()
    local step = sgl.compile(fn, { fullgraph = false })
    for k = 3, 4 do
      local co = coroutine.wrap(function() return step(sgl.ones(2)) end)
      assert.are.same({ 2.0, 2.0 }, co():tolist())
      assert.are.same({ k + 0.0, k + 0.0 }, co(k):tolist())
    end
  end)
end)

describe("the way to a break", function()
  local function path_of(fn, ...)
    local step = sgl.compile(fn, { fullgraph = false })
    step(...)
    return sgl.coverage(step).breaks[1].path, sgl.coverage(step)
  end

  it("has each value once, after those that it reads, with names, composites and lines", function()
    local model = { weight = sgl.ones(3) }
    local here = debug.getinfo(1, "l").currentline
    local way = path_of(function(x)
      local y = sgl.nn.gelu(x) * model.weight
      return y:sum():item()
    end, sgl.ones(3))
    local lines = {}
    for i, v in ipairs(way.values) do
      assert.are.equal(i, v.id)
      for _, id in ipairs(v.inputs) do assert.is_true(id < i) end
      assert.matches("fallback_spec.lua$", v.file)
      lines[v.op] = v.line - here
    end
    local first, last = way.values[1], way.values[#way.values]
    assert.are.same({ "x", "f32[3]" }, { first.op, first.type })
    assert.are.same({ "sum", "f32[]", nil }, { last.op, last.type, last.composite })
    assert.are.equal("gelu", way.values[2].composite)
    assert.are.same({ 2, 3 }, { lines["upvalue model.weight"], lines.sum })
    assert.are.equal(0, way.more)
  end)

  it("begins at an input however long it is, and says how much is left out", function()
    local way, report = path_of(function(x)
      for _ = 1, 60 do x = x:tanh() end
      return x:sum():item()
    end, sgl.ones(2))
    assert.are.equal(62, #way.values + way.more)
    assert.are.equal("x", way.values[1].op)
    local cut = {}
    for _, v in ipairs(way.values) do if v.cut then cut[#cut + 1] = v end end
    assert.are.equal(1, #cut)
    assert.are.same({}, cut[1].inputs)
    assert.matches("\n +… 50 more\n", tostring(report))
    assert.matches('"more": 30}}$', report:json())
  end)

  it("is told of tensors in blocks and of sizes that are symbols", function()
    local scale = sgl.ones(2)
    local way = path_of(function(x)
      return sgl.cond(x:sum():gt(0), function() return x * scale:sum():item() end,
        function() return x end)
    end, sgl.ones(2))
    assert.are.equal("upvalue scale", way.values[1].op)
    local step = sgl.compile(function(x) return (x * 2):sum():item() end,
      { fullgraph = false, inputs = { sgl.spec { sgl.dim "n", 2 } } })
    step(sgl.ones(3, 2))
    assert.are.equal("f32[n, 2]", sgl.coverage(step).breaks[1].path.values[1].type)
  end)

  it("names no segments where nothing is read, and no values where there are none", function()
    local way, report = path_of(function(x) return x * (os.time() > 0 and 2 or 3) end, sgl.ones(2))
    assert.are.same({}, way.values)
    assert.not_matches("segment 1", tostring(report))
    assert.not_matches("values", tostring(report))
  end)

  it("keeps no tensor alive, and adds no guard", function()
    local cfg = { scale = sgl.ones(2) }
    local held = setmetatable({ cfg.scale }, { __mode = "v" })
    local step = sgl.compile(function(x) return (x * cfg.scale):sum():item() end,
      { fullgraph = false })
    for _ = 1, 3 do step(sgl.ones(2)) end
    assert.are.equal(1, sgl.coverage(step).captures)
    cfg.scale = sgl.ones(2)
    step:close()
    collectgarbage()
    collectgarbage()
    assert.is_nil(held[1])
  end)

  it("is drawn into the folder that is asked for, or it is said why not", function()
    local step = sgl.compile(function(x) return x:sum():item() end, { fullgraph = false })
    step(sgl.ones(2))
    local report = sgl.coverage(step)
    local drawn, message, code = report:picture "no/such/folder"
    assert.is_nil(drawn)
    assert.matches("no/such/folder/B%-READ.*%.dot: cannot write", message)
    assert.are.equal("SGL_EFILE", code)
    assert.are.equal("SGL_EARG", support.error_of(report.picture, report, true).code)
  end)
end)

describe("the coverage of a whole step", function()
  it("is all of it", function()
    local step = sgl.compile(function(x) return x * 2 end)
    for _ = 1, 4 do step(sgl.ones(2)) end
    local report = sgl.coverage(step)
    assert.are.same({ 1, 4, 0 }, { report.captured_steps, report.steps, #report.breaks })
    assert.are.equal("SGL_EARG", support.error_of(sgl.coverage, print).code)
  end)
end)

local SCRIPT = [[
local sgl = require "sgl"
local function positive(x)
  return x:sum():item() > 0
end
local step = sgl.compile(function(x)
  if positive(x) then return x * 2 end
  return x
end)
print(step(sgl.ones(2)):tolist()[1])
]]

describe("the command line", function()
  local folder
  before_each(function() folder = support.folder() end)
  after_each(function() support.remove(folder) end)

  local function sgl_of(words)
    return support.run(("cd %s && %s %s"):format(folder, support.binary, words))
  end

  it("says what breaks in a script: `sgl breaks`", function()
    support.write(folder .. "train.lua", SCRIPT)
    local out, status = sgl_of "breaks train.lua"
    assert.are.equal(0, status, out)
    assert.matches("^2%.0\n", out)
    assert.matches("B%-READ  train%.lua:3: item", out)
    assert.matches("calls   train%.lua:9\n +train%.lua:6 in the step\n +train%.lua:3 in positive\n",
      out)
    assert.matches("values  %%1  x +f32%[2%] +train%.lua:%d+\n +%%2  sum +f32%[%] +train%.lua:3"
      .. "  of %%1  <%- here\n      parts   segment 1 ends here", out)
    assert.matches("train%.lua: 1 break\n$", out)
  end)

  -- Graphviz as a script: it keeps what it was given, or fails.
  local function with_dot(body, words)
    support.write(folder .. "dot", "#!/bin/sh\n" .. body)
    os.execute("chmod +x " .. folder .. "dot")
    return support.run(("cd %s && env PATH=.:$PATH %s %s"):format(folder, support.binary, words))
  end

  it("draws the way to each break: `sgl breaks --picture`", function()
    support.write(folder .. "train.lua", SCRIPT)
    local out, status = with_dot('cat > "$3"', "breaks --picture . train.lua")
    assert.are.equal(0, status, out)
    assert.matches("picture %./B%-READ%-train%.lua%-3%.svg\n", out)
    local text = support.read(folder .. "B-READ-train.lua-3.svg")
    assert.matches('call1 %[label="train%.lua:9"', text)
    assert.matches("call1 %-> call2 ", text)
    assert.matches('value1 %[label="x\\nf32%[2%]', text)
    assert.matches("value2 %-> here\n", text)
    assert.matches("cluster_before .*value1.*}\n  after .*here %-> after", text)
  end)

  it("gives breaks of two functions at one place a picture each, and draws none without breaks",
    function()
      support.write(folder .. "train.lua", [[
local sgl = require "sgl"
local function make()
  return sgl.compile(function(x) return x:sum():item() end)
end
one, two = make(), make()
one(sgl.ones(2)) two(sgl.ones(2))
]])
      local out, status = with_dot('cat > "$3"', "breaks --picture=. train.lua")
      assert.are.equal(0, status, out)
      assert.matches("picture %./B%-READ%-train%.lua%-3%.svg\n.*%-3%-2%.svg\n", out)
      assert.matches("^digraph", support.read(folder .. "B-READ-train.lua-3-2.svg"))
      support.write(folder .. "whole.lua", 'require "sgl".compile(function(x) return x end)(1)')
      out, status = with_dot("exit 1", "breaks --picture . whole.lua")
      assert.are.equal(0, status, out)
      assert.matches("whole%.lua: 0 breaks\n$", out)
    end)

  it("keeps the drawing's text where it cannot draw, and says what is missing", function()
    support.write(folder .. "train.lua", SCRIPT)
    local out, status = with_dot("exit 1", "breaks --picture . train.lua")
    assert.are.equal(1, status)
    assert.matches("no picture, only %./B%-READ%-train%.lua%-3%.dot: is .-graphviz", out)
    assert.matches("^digraph ", support.read(folder .. "B-READ-train.lua-3.dot"))
  end)

  it("finds out before the script runs that a picture has no place", function()
    support.write(folder .. "train.lua", SCRIPT)
    local out, status = sgl_of "breaks --picture none train.lua"
    assert.are.equal(1, status)
    assert.matches("%-%-picture: none/.*cannot write", out)
    assert.not_matches("2%.0", out)
    for _, words in ipairs { "--pictures . train.lua", "--picture .", "--picture", "" } do
      out, status = sgl_of("breaks " .. words)
      assert.are.equal(1, status, words)
      assert.matches("usage: sgl breaks %[%-%-picture FOLDER%] SCRIPT", out)
    end
  end)

  it("survives a Graphviz that reads nothing", function()
    support.write(folder .. "train.lua", [[
      print(require "sgl.picture".draw(("x"):rep(2 ^ 20), "large.svg"))
    ]])
    support.write(folder .. "dot", "#!/bin/sh\nexit 3\n")
    os.execute("chmod +x " .. folder .. "dot")
    local out, status = support.run(("cd %s && PATH=.:$PATH %s train.lua"):format(folder,
      support.binary))
    os.remove(folder .. "dot")
    assert.are.equal(0, status, out)
    assert.matches("^nil\tno picture in large%.svg", out)
  end)

  it("prints the entry of a code: `sgl ? B-COND`", function()
    local out, status = sgl_of "? B-COND"
    assert.are.equal(0, status)
    assert.matches("^B%-COND  %(control flow%)\n", out)
    assert.matches("use   sgl%.where%(cond, a, b%) +to choose element by element", out)
  end)

  it("says the first message as it was written before the code", function()
    support.write(folder .. "train.lua", 'local sgl = require "sgl"\n' .. ("\n"):rep(11) .. [[
local step = sgl.compile(function(x)
  if x:gt(0) then
    return x
  end
end)
step(sgl.ones(64))
]])
    local want = [[
train.lua:14: 'if' on a computed tensor (bool[64], from :gt at line 14): ]] .. [[
a tensor is always true in Lua, so the
branch would be frozen into the graph.
    if x:gt(0) then
       ^^^^^^^
  use   sgl.where(cond, a, b)            to choose element by element
  or    sgl.cond(cond, fn_a, fn_b)       to run one branch (cond must be a single boolean)
  or    x:gt(0):any():item()             outside sgl.compile
[break B-COND, sgl ? B-COND]
]]
    local out = sgl_of "train.lua"
    assert(out:find(want, 1, true), out)
  end)
end)

describe("a compiled function that calls itself", function()
  it("goes as deep as it must, whole and in segments", function()
    for _, whole in ipairs { true, false } do
      local f
      f = sgl.compile(function(x, n)
        if n == 0 then return x end
        return f(x * 2, n - 1) + 1
      end, { fullgraph = whole })
      assert.are.same({ 8.0 + 3, 16.0 + 4 }, { f(sgl.ones(1), 3):item(), f(sgl.ones(1), 4):item() })
    end
    local g
    g = sgl.compile(function(x)
      if x:sum():item() > 100 then return x end
      return g(x * 2)
    end, { fullgraph = false })
    assert.are.same({ 128.0, 192.0 },
      { g(sgl.ones(1)):item(), g(sgl.tensor { 3.0 }):item() })
  end)

  it("comes to an error that lies deep", function()
    for _, whole in ipairs { true, false } do
      local f, before = nil, core.clock()
      f = sgl.compile(function(x)
        if x.shape[1] == 1 then error("deep", 0) end
        return f(x[{ { 2, -1 } }]) * 2
      end, { fullgraph = whole })
      local fine, e = pcall(f, sgl.ones(700))
      assert.are.same({ false, "deep" }, { fine, e })
      assert.is_true(core.clock() - before < 5)
    end
  end)
end)
