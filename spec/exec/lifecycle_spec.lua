-- lifecycle_spec.lua: backends go through their states and no others; what happens is told in
-- order, with the facts, to whoever asked; a callback cannot break what it looks at.

local sgl = require "sgl"
local core = require "sgl.core"
local support = require "spec.support"

-- Collects events of some kinds while fn runs.
local function during(kinds, fn, ...)
  local seen, listeners = {}, {}
  for i, kind in ipairs(kinds) do
    listeners[i] = sgl.on(kind, function(e) seen[#seen + 1] = e end)
  end
  local result = table.pack(pcall(fn, ...))
  for _, listener in ipairs(listeners) do listener:off() end
  return seen, table.unpack(result, 1, result.n)
end

local function names(list, field)
  local out = {}
  for i, e in ipairs(list) do out[i] = e[field or "event"] end
  return table.concat(out, " ")
end

local x2, x3 = sgl.ones(2):realize(), sgl.ones(3):realize()
local next_constant = 0

-- A function that no program is in a cache for.
local function fresh_step()
  next_constant = next_constant + 1
  local constant = next_constant + 0.5
  return sgl.compile(function(x) return ((x * constant):exp() + 1):log():sum() end)
end

describe("a backend", function()
  it("goes from registered through capturing to compiled, told step by step", function()
    local out, status = support.script [[
      local sgl = require "sgl"
      sgl.on("lifecycle", function(e) print(e.backend, e.from, e.to) end)
      print(sgl.lifecycle().cpu)
      local inside
      sgl.compile(function(x)
        inside = sgl.lifecycle().cpu
        return x + 1
      end, { effects = "once" })(sgl.ones(2))
      print(inside, sgl.lifecycle().cpu)
      for _, e in ipairs(sgl.events "lifecycle") do print(e.backend, e.from, e.to) end
    ]]
    assert.are.equal(0, status, out)
    assert.are.equal(table.concat({
      "registered", "cpu\tregistered\tcapturing", "cpu\tcapturing\tcompiled",
      "capturing\tcompiled",
      "cpu\tuninitialized\tregistering", "cpu\tregistering\tregistered",
      "null\tuninitialized\tregistering", "null\tregistering\tregistered",
      "cpu\tregistered\tcapturing", "cpu\tcapturing\tcompiled", "" }, "\n"), out)
  end)

  it("is where it was before when a capture fails", function()
    fresh_step()(x2)
    support.error_of(sgl.compile(function() error "no" end), sgl.ones(2))
    assert.are.equal("compiled", sgl.lifecycle().cpu)
    local out = support.script [[
      local sgl = require "sgl"
      print(pcall(sgl.compile(function() error("no", 0) end)))
      print(sgl.lifecycle().cpu)
    ]]
    assert.are.equal("false\tno\nregistered\n", out)
  end)

  local STATES = { "uninitialized", "registering", "registered", "capturing", "compiled" }
  local LEGAL = {
    uninitialized = { registering = true },
    registering = { registered = true, uninitialized = true },
    registered = { capturing = true, compiled = true, uninitialized = true },
    capturing = { compiled = true, registered = true },
    compiled = { capturing = true, uninitialized = true },
  }
  -- Steps by which the null backend gets to a state from `registered`.
  local WAYS = {
    uninitialized = { "uninitialized" }, registering = { "uninitialized", "registering" },
    registered = {}, capturing = { "capturing" }, compiled = { "compiled" },
  }

  it("refuses every other step and stays where it is", function()
    for _, from in ipairs(STATES) do
      for _, to in ipairs(STATES) do
        for _, state in ipairs(WAYS[from]) do core.lifecycle("null", state) end
        local ok, e = pcall(core.lifecycle, "null", to)
        assert.are.equal(LEGAL[from][to] or false, ok, from .. " to " .. to)
        assert.are.equal(ok and to or from, sgl.lifecycle().null)
        if not ok then
          assert.are.equal("SGL_ESTATE", e.code)
          assert.matches(("cannot go from '%s' to '%s'"):format(from, to), e.message)
        end
        sgl.config.enable = "all"            -- back to registered, from wherever it is
        local back = { registering = "registered", capturing = "registered" }
        local now = sgl.lifecycle().null
        if back[now] then core.lifecycle("null", back[now]) end
        if sgl.lifecycle().null == "compiled" then
          core.lifecycle("null", "uninitialized")
          core.lifecycle("null", "registering")
          core.lifecycle("null", "registered")
        elseif sgl.lifecycle().null == "uninitialized" then
          core.lifecycle("null", "registering")
          core.lifecycle("null", "registered")
        end
      end
    end
  end)

  it("does not start when it is not enabled, and cannot be used then", function()
    local out = support.script([[
      local sgl = require "sgl"
      print(sgl.lifecycle().cpu, sgl.lifecycle().null)
      sgl.config.backend = "null"
      local _, e = pcall(function() return sgl.ones(2):sum():item() end)
      print(e.code, e.message, e.hint)
      sgl.config.enable = "all"
      print(sgl.lifecycle().null, sgl.ones(2):sum():item())
    ]], nil, "SGL_ENABLE=-null")
    assert.are.equal("registered\tuninitialized\nSGL_ESTATE\tthe backend 'null' is not enabled\t"
      .. "the setting `enable` names the components that are\nregistered\t0.0\n", out)
  end)

  it("runs no program once it is taken out, and all again when it is back", function()
    local step = fresh_step()
    local want = step(x2):tolist()
    sgl.config.enable = "-cpu"
    local ok, e = pcall(step, x2)
    local state = sgl.lifecycle().cpu
    sgl.config.enable = "all"
    assert.is_false(ok)
    assert.are.equal("SGL_ESTATE", e.code)
    assert.are.equal("uninitialized", state)
    assert.are.same(want, step(x2):tolist())
    assert.are.equal("compiled", sgl.lifecycle().cpu)
  end)
end)

describe("events", function()
  it("tell a compilation from the capture on, under one trace id", function()
    local seen = during({ "capture_start", "capture_end", "compile_start", "pass_end",
      "fusion_apply", "compile_end" }, fresh_step(), x3)
    local passes = ("pass_end "):rep(#core.passes())
    assert.are.equal("capture_start capture_end compile_start " .. passes
      .. "fusion_apply compile_end", names(seen))
    for _, e in ipairs(seen) do
      assert.are.equal(seen[1].trace, e.trace)
      assert.is_true(math.abs(e.time - os.time()) < 10)
    end
    assert.are.equal(16, #seen[1].trace)
    assert.are.equal(seen[1].span, seen[9].parent)
    local again = during({ "capture_start" }, fresh_step(), x3)
    assert.are_not.equal(seen[1].trace, again[1].trace)
  end)

  it("carry the facts of the program", function()
    local f = fresh_step()
    local seen = during({ "capture_end", "fusion_apply", "compile_end" }, f, x3)
    local captured, fused, compiled, info = seen[1], seen[2], seen[3], f:info()
    assert.is_true(captured.ok and captured.ms > 0)
    assert.are.equal("1 1 0", ("%d %d %d"):format(captured.inputs, captured.outputs,
      captured.states))
    assert.are.equal(5, fused.ops)
    assert.are.equal("mul exp add log sum", fused.list)
    assert.is_true(compiled.ok)
    for _, field in ipairs { "nodes", "kernels", "steps", "dots", "fusion_ratio" } do
      assert.are.equal(info[field], compiled[field], field)
    end
    assert.are.equal(1.0, compiled.fusion_ratio)   -- all in one kernel
    assert.is_true(compiled.ms > 0 and compiled.ms < 1000)
    assert.are.equal("cpu", compiled.backend)
  end)

  it("tell of fusion only from three ops on", function()
    local seen = during({ "fusion_apply" }, sgl.compile(function(x)
      return (x * 2.25):exp()
    end), x3)
    assert.are.equal(0, #seen)
  end)

  it("say what share of the nodes is fused", function()
    sgl.config.fuse = 0
    local seen = during({ "compile_end" }, fresh_step(), x3)
    sgl.config.fuse = 1
    assert.are.equal(0.0, seen[1].fusion_ratio)
  end)

  it("tell of a capture that fails, and of no program then", function()
    local seen, ok = during({ "capture_start", "capture_end", "compile_end" },
      sgl.compile(function() error "no" end), sgl.ones(2))
    assert.is_false(ok)
    assert.are.equal("capture_start capture_end", names(seen))
    assert.is_false(seen[2].ok)
  end)

  it("tell of runs and steps with the number they stand for", function()
    local f, x = fresh_step(), sgl.ones(3):realize()
    f(x)
    -- So few a second that no machine, however slow, has all of them told.
    sgl.config.event_rate = 1000
    local seen = during({ "run_end", "step_end" }, function() for _ = 1, 20000 do f(x) end end)
    sgl.config.event_rate = 10000
    local weight, runs = { run_end = 0, step_end = 0 }, 0
    for _, e in ipairs(seen) do
      weight[e.event] = weight[e.event] + e.weight
      runs = runs + (e.event == "run_end" and 1 or 0)
      assert.is_true(e.ms >= 0)
    end
    assert.is_true(runs < 20000 and runs > 1, runs .. " of 20000 runs were told")
    assert.is_true(weight.run_end > 18000 and weight.run_end <= 20000, weight.run_end)
  end)

  it("of the frequent kinds come no more often than event_rate allows", function()
    local f, x = fresh_step(), sgl.ones(3):realize()
    f(x)
    sgl.config.event_rate = 100
    local start = core.clock()
    local seen = during({ "run_end" }, function() for _ = 1, 20000 do f(x) end end)
    local seconds = core.clock() - start
    sgl.config.event_rate = 0
    local none = during({ "run_end" }, function() for _ = 1, 10 do f(x) end end)
    sgl.config.event_rate = 10000
    assert(#seen >= 1 and #seen <= seconds * 100 + 2,
      ("%d events in %.3f s"):format(#seen, seconds))
    assert.are.equal(0, #none)
  end)

  it("are not told of a component that is not enabled", function()
    sgl.config.enable = "all,-compile"
    local seen = during({ "capture_start", "compile_end" }, fresh_step(), x2)
    sgl.config.enable = "all"
    assert.are.equal("capture_start", names(seen))
  end)

  it("can be looked back on, the oldest first", function()
    sgl.config.event_history = 4
    fresh_step()(x2)
    assert.are.equal("compile_start lifecycle", names(sgl.events()):match "compile_start.*$"
      :gsub(" compile_end", ""))
    assert.are.equal(4, #sgl.events())
    for i = 1, 3 do assert.is_true(sgl.events()[i].time <= sgl.events()[i + 1].time) end
    assert.are.equal(1, #sgl.events "compile_end")
    sgl.config.event_history = 0
    fresh_step()(x2)
    assert.are.equal(0, #sgl.events())
    sgl.config.event_history = 128
  end)

  it("are counted", function()
    local before = sgl.counters().compile_end
    fresh_step()(x2)
    local after = sgl.counters().compile_end
    assert.are.equal(before.count + 1, after.count)
    assert.is_true(after.ms > before.ms)
  end)

  it("that Lua reports reach callbacks whole and the history in part", function()
    local seen = during({ "guard_fail" }, function()
      core.event("guard_fail", { name = "cfg.k", reason = "was 2, is 3", line = 7,
        file = "train.lua", stack = { { line = 3 } } })
    end)
    assert.are.equal("cfg.k", seen[1].name)
    assert.are.equal(3, seen[1].stack[1].line)
    assert.are.equal("guard_fail", seen[1].event)
    local kept = sgl.events "guard_fail"
    assert.are.equal("was 2, is 3", kept[#kept].reason)
    assert.is_nil(kept[#kept].stack)
    local e = support.error_of(core.event, "guard_fial", {})
    assert.matches("did you mean 'guard_fail'", e.message)
  end)

  it("tell of a guard that fails, under the trace of the capture that follows", function()
    local cfg = { k = 2 }
    local f = sgl.compile(function(x) return x * cfg.k end, { name = "scaled" })
    f(x2)
    cfg.k = 3
    local seen = during({ "guard_fail", "capture_start", "compile_end" }, f, x2)
    assert.are.equal("guard_fail capture_start compile_end", names(seen))
    assert.are.equal("scaled", seen[1].name)
    assert.are.equal("cfg.k changed from 2 to 3", seen[1].reason)
    assert.are.equal(seen[1].trace, seen[3].trace)
    assert.are.equal(0, #during({ "guard_fail" }, f, x2))
  end)

  -- Makes every kind happen, and prints what fields each had in all.
  local EVERYTHING = [[
    local sgl, core = require "sgl", require "sgl.core"
    local folder = ...
    sgl.config.cache_dir, sgl.config.cache_min_nodes = folder, 0
    local fields, other = {}, {}
    for _, name in ipairs { "event", "trace", "time", "span", "parent", "ms", "weight" } do
      other[name] = true
    end
    for _, kind in ipairs(core.event_kinds()) do
      fields[kind.name] = {}
      sgl.on(kind.name, function(e)
        for name in pairs(e) do
          if not other[name] then fields[kind.name][name] = true end
        end
        if kind.name == "run_end" then error "no" end
      end)
    end
    local k, x = 2, sgl.ones(4):realize()
    local step = sgl.compile(function(v) return ((v * k):exp() + 1):log():sum() end)
    step(x)
    k = 3
    step(x)
    sgl.compile(function(v) return v:sum():item() end, { fullgraph = false })(x)
    for i = 1, 1000 do (x * 2 + 1):tolist() end      -- often enough for the sampler
    os.execute(("for f in %s/*; do echo damaged > $f; done"):format(folder))
    sgl.config.cache_size_limit = 0
    sgl.config.cache_size_limit = 1 << 30
    k = 2
    step(x)
    sgl.compile(function(v) return ((v * 2):exp() + 1):log():sum() end)(x)
    os.execute("chmod 777 " .. folder)
    sgl.compile(function(v) return (v * 4):sum() end)(x)
    for _, kind in ipairs(core.event_kinds()) do
      local names = {}
      for name in pairs(fields[kind.name]) do names[#names + 1] = name end
      table.sort(names)
      print(kind.name, table.concat(names, " "))
    end
  ]]

  it("of every kind have the fields that are documented, and no others", function()
    local folder = support.folder()
    local out, status = support.script(EVERYTHING, folder .. "cache")
    support.remove(folder)
    assert.are.equal(0, status, out)
    local told = {}
    for name, fields in out:gmatch "([%w_]+)\t([^\n]*)\n" do told[name] = fields end
    for _, kind in ipairs(core.event_kinds()) do
      local fields = {}
      for name in kind.fields:gmatch "[%w_]+" do
        if name ~= "ms" then fields[#fields + 1] = name end
      end
      table.sort(fields)
      assert.are.equal(table.concat(fields, " "), told[kind.name], kind.name)
    end
  end)

  it("tell of a fallback with its record", function()
    local f = sgl.compile(function(x)
      if x:sum():item() > 0 then return x * 2 end
      return x
    end, { fullgraph = false })
    local line = debug.getinfo(1, "l").currentline - 3
    local seen = during({ "fallback" }, f, x2)
    assert.are.equal("fallback", names(seen))
    assert.are.equal("B-READ", seen[1].code)
    assert.are.equal(line, seen[1].line)
    assert.are.equal("string", type(seen[1].reason))
  end)
end)

describe("a callback", function()
  it("gets what SCRIPTS.md prints", function()
    local out = support.script [[
      local sgl = require "sgl"
      sgl.on("compile_end", function(e) print(e.nodes, e.fusion_ratio, e.ms) end)
      sgl.on_graph_capture(function(graph, example_inputs) assert(graph:count "dot" < 100) end)
      sgl.compile(function(x) return x:matmul(x) end)(sgl.ones(2, 2))
    ]]
    assert.matches("^1\t0%.0\t%d+%.%d+\n", out)
  end)

  it("is not called once it is off, and can take itself off", function()
    local calls, listener = 0, nil
    listener = sgl.on("compile_end", function() calls = calls + 1 listener:off() end)
    fresh_step()(x2)
    fresh_step()(x2)
    assert.are.equal(1, calls)
    assert.are.equal(1, listener.calls)
    listener:close()
    do
      local scoped <close> = sgl.on("compile_end", function() calls = calls + 1 end)
      assert.are.equal("compile_end", scoped.event)
    end
    fresh_step()(x2)
    assert.are.equal(1, calls)
  end)

  it("is off after a block that an error left, and the error is the user's", function()
    local scoped
    local fine, e = pcall(function()
      local listener <close> = sgl.on("compile_end", function() end)
      scoped = listener
      error("mine", 0)
    end)
    assert.are.same({ false, "mine" }, { fine, e })
    assert.matches("off%)$", tostring(scoped))
  end)

  it("that fails with anything is counted, and those behind it are called", function()
    local function meta(fn) return setmetatable({}, { __tostring = fn }) end
    for _, problem in ipairs { "text", {}, false, sgl.ones(2), meta(error),
      meta(function() return 5 end), meta(function() error(meta(error)) end) } do
      local failing <close> = sgl.on("compile_end", function() error(problem) end)
      local calls = 0
      local behind <close> = sgl.on("compile_end", function() calls = calls + 1 end)
      local step = fresh_step()
      step(sgl.ones(4))
      step(sgl.ones(5))
      assert.are.equal(2, failing.errors)
      assert.are.equal(2, calls)
      assert.is_true(behind.open)
    end
  end)

  it("that closes the step it is told of ends the call with that, and no more", function()
    for _, kind in ipairs(core.event_kinds()) do
      local k, step = 1, nil
      local listener <close> = sgl.on(kind.name, function()
        if step.entries then step:close() end
      end)
      step = sgl.compile(function(x) return (x * k):sum() end)
      for i = 1, 3 do
        k = i
        local ok, e = pcall(step, x2)
        assert.is_true(ok or e.code == "SGL_ECLOSED", tostring(e))
      end
      assert.are.equal(0, listener.errors)
    end
  end)

  it("for an unknown event is refused with the nearest", function()
    local e = support.error_of(sgl.on, "compile_and", print)
    assert.are.equal("SGL_EARG", e.code)
    assert.matches("unknown event 'compile_and' %(did you mean 'compile_end'%? events: lifecycle, ",
      e.message)
    assert.matches("must be a function", support.error_of(sgl.on, "compile_end", 3).message)
  end)

  it("that fails breaks nothing: it is kept, counted, and warned of once", function()
    local out = support.script [[
      local sgl = require "sgl"
      local two = sgl.ones(2):realize()
      local listener = sgl.on("compile_end", function() error "in the callback" end)
      local other = 0
      sgl.on("compile_end", function() other = other + 1 end)
      warn "@on"
      for i = 1, 3 do
        print(sgl.compile(function(x) return (x + i):sum() end)(two):item())
      end
      print(listener.calls, listener.errors, (tostring(listener.last_error):gsub("^.*: ", "")))
      print(other, #sgl.events "callback_error", sgl.counters().callback_error.count)
    ]]
    local warnings = select(2, out:gsub("Lua warning", ""))
    assert.are.equal(1, warnings, out)
    assert.matches("the callback for 'compile_end' at script.lua:3 failed: script.lua:3: in the "
      .. "callback", out)
    assert.matches("4.0\n.*6.0\n.*8.0\n", out)
    assert.matches("3\t3\tin the callback", out)
    assert.matches("3\t3\t3\n$", out)
  end)

  it("may raise anything: it is counted, and the others are told", function()
    local function bomb() error "in a metamethod" end
    for _, raised in ipairs { "text", 3, true, {}, print, setmetatable({}, { __tostring = bomb }),
                              setmetatable({}, { __tostring = function() return 1 end }),
                              setmetatable({}, { __index = bomb, __name = "odd" }) } do
      local told = 0
      local fails <close> = sgl.on("compile_end", function() error(raised) end)
      local other <close> = sgl.on("compile_end", function() told = told + 1 end)
      fresh_step()(x2)
      assert.are.equal(1, fails.errors)
      assert.is_true(type(raised) == "string" or rawequal(raised, fails.last_error))
      assert.are.same({ 1, 1 }, { told, other.calls })
    end
    local fails <close> = sgl.on("compile_end", function() coroutine.yield() end)
    fresh_step()(x2)
    assert.are.equal(1, fails.errors)
  end)

  it("may use the engine, and what it causes is told afterwards", function()
    local sums, depth, deepest = {}, 0, 0
    local listener = sgl.on("compile_end", function(e)
      depth = depth + 1
      deepest = math.max(depth, deepest)
      if #sums < 3 then sums[#sums + 1] = (sgl.ones(e.steps + 2 + #sums) * 1.5):sum():item() end
      depth = depth - 1
    end)
    local f = fresh_step()
    f(sgl.ones(4))
    f(sgl.ones(5))
    listener:off()
    assert.are.same({ 4.5, 6.0 }, { sums[1], sums[2] })
    assert.are.equal(1, deepest)
  end)

  it("cannot multiply without end, whatever it causes", function()
    local out = support.script [[
      local sgl = require "sgl"
      local two, calls = sgl.ones(2):realize(), 0
      local function busy()
        calls = calls + 1
        pcall(sgl.compile(function(x)
          if calls % 2 == 0 then error "no" end
          return x * calls
        end), two)
      end
      for _, kind in ipairs { "capture_start", "capture_end", "compile_end", "callback_error" } do
        sgl.on(kind, busy)
      end
      for i = 1, 12 do sgl.compile(function(x) return x + i end)(two) end
      print(calls)
      local hooked = 0
      local hook = sgl.on_graph_capture(function()
        hooked = hooked + 1
        sgl.compile(function(x) return x - hooked end)(two)
      end)
      sgl.compile(function(x) return x / 3 end)(two)
      print(hooked > 0 and hook.errors)
    ]]
    local calls, errors = out:match "^(%d+)\n(%d+)\n$"
    assert.is_true(tonumber(calls) < 1000, out)
    assert.are.equal("0", errors)
  end)

  it("may close the tensor whose reading woke it", function()
    local t = sgl.ones(3) * 7.125
    local listener <close> = sgl.on("compile_end", function() t:close() end)
    assert.are.same({ 7.125, 7.125, 7.125 }, t:tolist())
    assert.are.equal(1, listener.calls)
  end)

  it("is not called inside a step that is being recorded", function()
    local inside
    local listener <close> = sgl.on("guard_fail", function() inside = core.capturing() end)
    local f = sgl.compile(function(x) core.event("guard_fail", { name = "x" }) return x * 3.5 end)
    f(sgl.ones(2))
    assert.is_false(inside)
    assert.are.equal(1, listener.calls)
  end)

  it("cannot swallow Ctrl-C", function()
    local out, status = support.script [[
      local sgl = require "sgl"
      local pipe = io.popen "echo $PPID"
      local pid = pipe:read "l"
      pipe:close()
      sgl.on("compile_end", function()
        io.popen("kill -INT " .. pid):close()    -- os.execute would ignore it
        for _ = 1, 1e8 do end
      end)
      sgl.compile(function(x) return x + 1 end)(sgl.ones(2))
      for _ = 1, 1e9 do end
      print "still here"
    ]]
    assert.are.equal(1, status)
    assert.matches("interrupted", out)
    assert.is_nil(out:find "still here")
  end)
end)

describe("on_graph_capture", function()
  it("is called with the graph and the arguments before the program is made", function()
    local got, order = {}, {}
    local x = sgl.ones(2, 3)
    local listener <close> = sgl.on_graph_capture(function(graph, inputs)
      got[#got + 1] = { graph = graph, inputs = inputs, ready = sgl.counters().compile_end.count }
    end)
    local before = sgl.counters().compile_end.count
    local f = sgl.compile(function(a, k, b) return (a.w * k):matmul(b):sum() end)
    f({ w = x }, 2, sgl.ones(3, 2))
    f({ w = x }, 3, sgl.ones(3, 2))                     -- no capture
    assert.are.equal(1, #got)
    assert.are.equal(1, got[1].graph:count "dot")
    assert.are.equal(f:graph():text(), got[1].graph:text())
    assert.are.equal(3, #got[1].inputs)
    assert.is_true(rawequal(x, got[1].inputs[1]))
    assert.are.equal(2, got[1].inputs[2])
    assert.are.equal(before, got[1].ready)
    order[1] = listener.calls
    assert.are.equal(1, order[1])
  end)

  it("cannot break the step", function()
    local listener <close> = sgl.on_graph_capture(function(graph)
      graph:close()
      error "no"
    end)
    assert.are.equal(6.0, sgl.compile(function(x) return (x * 2):sum() end)(x3):item())
    assert.are.equal(1, listener.errors)
  end)
end)
