-- numerics_spec.lua: results do not depend on the instruction set or the number of threads: the
-- same script gives the same bits under every setting that this machine has.

local core = require "sgl.core"
local engine = require "spec.engine"

local SCRIPT = engine.root .. "spec/numerics_bits.lua"

local function run(environment, what)
  local pipe = assert(io.popen(("env %s %s %s 2>&1; echo status $?"):format(environment,
    engine.binary, what)))
  local text = pipe:read("a")
  pipe:close()
  return text:match("^(.*)status (%d+)\n$")
end

-- The instruction sets that this machine has, best last.
local function instruction_sets()
  local list = {}
  for _, knob in ipairs(core.knobs()) do
    if knob.name == "isa" then
      local values = type(knob.values) == "table" and table.concat(knob.values, " ") or knob.values
      for name in values:gmatch("%S+") do
        if name ~= "auto" then list[#list + 1] = name end
      end
    end
  end
  local here = {}
  for _, name in ipairs(list) do
    local text = run("SGL_ISA=" .. name, "-e 'print(require(\"sgl.core\").isa())'")
    if text == name .. "\n" then here[#here + 1] = name end
  end
  return here
end

-- The first line that differs, for the message.
local function difference(a, b)
  local next_line = b:gmatch("[^\n]+")
  for line in a:gmatch("[^\n]+") do
    local other = next_line()
    if line ~= other then return ("%s\n%s"):format(line, tostring(other)) end
  end
  return "more lines"
end

describe("bits #slow", function()
  local sets = instruction_sets()
  local first

  it("come from a script that runs, with a line for each result", function()
    local status
    first, status = run("SGL_ISA=portable SGL_THREADS=1", SCRIPT)
    assert(status == "0", first)
    local _, lines = first:gsub("\n", "\n")
    assert.is_true(lines > 400, first)
  end)

  for _, set in ipairs(sets) do
    for _, threads in ipairs(engine.scale < 1 and { 2 } or { 1, 2, 5 }) do
      if set ~= "portable" or threads ~= 1 then
        it(("are the same with %s and %d threads"):format(set, threads), function()
          local got = run(("SGL_ISA=%s SGL_THREADS=%d"):format(set, threads), SCRIPT)
          if got ~= first then error(difference(first, got), 0) end
        end)
      end
    end
  end

  it("are asked of a set that the machine lacks with an error that names it", function()
    for _, name in ipairs { "portable", "avx2", "avx512" } do
      local text, status = run("SGL_ISA=" .. name, "-e 'print(require(\"sgl.core\").isa())'")
      local there = text == name .. "\n"
      assert(there or (status == "1" and text:find(name, 1, true)), text)
    end
  end)
end)
