-- docs_spec.lua: the documentation fits the code: every public function has a row that says what it
-- takes and gives, generated pages are fresh, the examples in pages run and print what stands
-- there, and the README promises what docs/status.md says.

local lfs = require "lfs"
local core = require "sgl.core"
local api = require "sgl.api"
local sgl = require "sgl"
local support = require "spec.support"

local ROOMS = { "nn", "optim", "data" }
for _, room in ipairs(ROOMS) do assert(sgl[room]) end

local function read(path)
  local file <close> = assert(io.open(support.root .. path))
  return file:read "a"
end

-- "nn.relu" and "sgl.Graph" as a path from the table sgl: { "nn", "relu" }.
local function keys_of(full)
  local keys = {}
  for key in full:gsub("^sgl%.", ""):gmatch "[%w_]+" do keys[#keys + 1] = key end
  return keys
end

local function reach(full)
  local value = sgl
  for _, key in ipairs(keys_of(full)) do
    if key ~= "sgl" then value = type(value) == "table" and value[key] or nil end
  end
  return value
end

-- What a row makes reachable, by the names that scripts use.
local function names_of(row)
  local module = row.module:find "^sgl" and row.module or "sgl." .. row.module
  if row.kind == "tensor" or row.kind == "alias" then
    return { "sgl." .. row.name, "sgl.Tensor:" .. row.name }
  end
  return { module .. (row.kind == "method" and ":" or ".") .. row.name }
end

local function registered()
  local names = {}
  for _, row in ipairs(api.all()) do
    for _, name in ipairs(names_of(row)) do names[name] = true end
  end
  for name in pairs(sgl.nn.functional) do
    -- what sgl.nn passes on from there is documented there
    if rawget(sgl.nn, name) == sgl.nn.functional[name] then names["sgl.nn." .. name] = true end
  end
  return names
end

-- Methods that the library alone calls, and those that the class's row describes.
local INTERNAL = { forward = true, graph = true }

-- Calls found(name) for each function reachable from a table or a class.
local function walk(name, value, seen, found)
  if seen[value] then return end
  seen[value] = true
  local separator = rawget(value, "__index") and ":" or "."
  for key, item in pairs(value) do
    local full = name .. separator .. tostring(key)
    if type(item) == "function" and not tostring(key):find "^__" then
      found(full, key)
    elseif type(item) == "table" and not tostring(key):find "^__" and key ~= "config" then
      walk(full, item, seen, found)
    end
  end
end

local function unregistered()
  local known, missing = registered(), {}
  local function found(full, key)
    if not known[full] and not (INTERNAL[key] and full:find ":") then
      missing[#missing + 1] = full
    end
  end
  walk("sgl", sgl, { [core.Tensor] = true }, found)
  for key, item in pairs(core.Tensor) do
    if type(item) == "function" and not key:find "^__" then found("sgl.Tensor:" .. key, key) end
  end
  table.sort(missing)
  return missing
end

describe("the registry", function()
  it("has a row for every function that a script can reach", function()
    assert.are.equal("", table.concat(unregistered(), "\n"))
  end)

  it("names only what is there", function()
    for _, row in ipairs(api.all()) do
      if row.kind == "tensor" or row.kind == "alias" then
        assert(rawget(sgl, row.name), "sgl." .. row.name)
      elseif row.kind == "method" then
        local class = row.module == "sgl.Graph" and getmetatable(core.graph {}).__index
          or reach(row.module)
        assert(class[row.name], row.full)
      else
        assert(reach(row.full), row.full)
      end
    end
  end)

  it("has an example for each entry, which `make docs` runs", function()
    local list = dofile(support.root .. "scripts/api/calls.lua")
    local missing, known = {}, {}
    for _, row in ipairs(api.all()) do
      known[row.full] = true
      local shared = row.op or row.kind == "module" or row.kind == "alias"
      if not shared and not list.code[row.full] and not list.pages[row.full] then
        missing[#missing + 1] = row.full
      end
    end
    for name in pairs(list.code) do
      if not known[name] then missing[#missing + 1] = name .. " is not there" end
    end
    table.sort(missing)
    assert.are.equal("", table.concat(missing, "\n"))
  end)

  it("says of each function what it does, takes and gives", function()
    local silent = {}
    for _, row in ipairs(api.all()) do
      local makes = row.kind == "function" or row.kind == "tensor"
      if row.kind ~= "alias" and row.kind ~= "module" and not (row.doc or ""):find "%S.*%.$" then
        silent[#silent + 1] = row.full .. ": doc is no sentence"
      end
      if makes and not row.returns and row.name ~= "seed" and row.name ~= "backward" then
        silent[#silent + 1] = row.full .. ": returns is missing"
      end
      for i, arg in ipairs(row.args or {}) do
        -- what stands before the colon needs no words
        local receiver = row.kind == "tensor" and i == 1
        if not arg[1] or not arg[2] or not receiver and (arg[3] or "") == "" then
          silent[#silent + 1] = ("%s: argument %s"):format(row.full, arg[1])
        end
      end
      for _, opt in ipairs(row.opts or {}) do
        if not opt[4] then silent[#silent + 1] = row.full .. ": option " .. opt[1] end
      end
    end
    assert.are.equal("", table.concat(silent, "\n"))
  end)
end)

describe("the documentation", function()
  it("is what `make docs` writes, outputs of its examples and of the demo included", function()
    local out, status = support.run(("cd %s && %s scripts/api.lua --check"):format(
      support.root, support.binary))
    assert(status == 0, out)
  end)

  it("comes with annotations that parse as Lua", function()
    assert(load(read "lua/sgl.d.lua", "=sgl.d.lua", "t"))
  end)

  it("links to files that exist", function()
    local pages = { "README.md", "CONTRIBUTING.md", "CHANGELOG.md" }
    for name in lfs.dir(support.root .. "docs") do
      if name:find "%.md$" then pages[#pages + 1] = "docs/" .. name end
    end
    for _, page in ipairs(pages) do
      local folder = page:match "^(.*/)" or ""
      for target in read(page):gmatch "%]%(([^)#]+)%)" do
        local there = target:find "^https?:" or io.open(support.root .. folder .. target)
        assert(there, ("%s links to %s"):format(page, target))
        if type(there) == "userdata" then there:close() end
      end
    end
  end)
end)

describe("docs/status.md", function()
  local STATES = { works = true, partly = true, ["not yet"] = true }
  local COUNTS = { A = 6, B = 10, C = 7, D = 5, E = 5, F = 6, G = 3 }

  -- id -> { state, proof }
  local function promises()
    local list = {}
    for line in read "docs/status.md":gmatch "[^\n]+" do
      local cells = {}
      for cell in line:gmatch "|%s*([^|]-)%s*%f[|]" do cells[#cells + 1] = cell end
      local id = (cells[1] or ""):match "^%u%d+$"
      if id then
        assert(not list[id], id .. " is there twice")
        list[id] = { cells[3], cells[5] }
      end
    end
    return list
  end

  it("has a row for each promise, with a state and a proof that exists", function()
    local list = promises()
    for letter, count in pairs(COUNTS) do
      for i = 1, count do
        local id = letter .. i
        local row = assert(list[id], id .. " is missing")
        assert(STATES[row[1]], id .. ": state " .. row[1])
        assert(row[1] == "not yet" or row[2]:find "`", id .. ": no proof")
        for path in row[2]:gmatch "`([^`]+)`" do
          local file = assert(io.open(support.root .. path), id .. ": " .. path)
          file:close()
        end
      end
    end
  end)

  it("agrees with the README", function()
    local list, rows = promises(), 0
    for id, state in read "README.md":gmatch "%((%u%d+)%) | ([^|]-) |" do
      rows = rows + 1
      assert.are.equal(list[id][1], state, id)
    end
    assert.is_true(rows >= 10)
  end)
end)
