-- config.lua: sgl.config: the settings as fields, presets, and the configuration file.
--
-- In:    the settings' table (core.knobs); a file named by --config or SGL_CONFIG, else sgl.yaml or
--        sgl.config.lua in the current folder, if there.
-- Out:   a table whose fields are the settings: reading gives the value, assigning checks it.
-- Holds: a file that nobody named sets no paths, and a file in Lua has an end;
--        file < environment < flag < program, in whatever order they come; what is wrong is an
--        error that names the nearest setting or what would have fitted, and in a file its line.
local api = require "sgl.api"
local core = require "sgl.core"

local raise = core.raise

local INSTRUCTIONS, EACH = 100000000, 100000     -- of a file in Lua; how often they are counted

local FILES = { "sgl.yaml", "sgl.config.lua" }

-- What a setting of each type may be given as in Lua.
local FITS = {
  integer = { number = true, boolean = true, string = true }, choice = { string = true },
  path = { string = true, number = true }, text = { string = true },
  set = { string = true, table = true },
}

-- Lists name the members of a set; { disk = false } takes them out, { disk = true } names them.
-- nil: something in it does neither.
local function list_text(list)
  local words, without, members = {}, {}, 0
  for i, word in ipairs(list) do
    if type(word) ~= "string" then return nil end
    words[i] = word
  end
  for word, on in pairs(list) do
    members = members + 1
    if type(word) == "string" then
      if type(on) ~= "boolean" then return nil end
      table.insert(on and words or without, word)
    end
  end
  if members ~= #words + #without then return nil end
  table.sort(without)
  if #words == 0 then words[1] = #without > 0 and "all" or "none" end
  for _, word in ipairs(without) do words[#words + 1] = "-" .. word end
  return table.concat(words, ",")
end

local function knob_of(name)
  for _, knob in ipairs(core.knobs()) do
    if knob.name == name then return knob end
  end
end

local function no_name(name, file, line)
  raise("SGL_EKNOB", ("%s is no name of a setting"):format(api.describe(name)),
    "such as threads, a string", file, line)
end

-- The value as a user of the command line would write it: 2.0 is 2. In a file, with its line.
local function as_text(name, value, file, line)
  if type(name) ~= "string" then no_name(name, file, line) end
  local knob, text = knob_of(name), nil
  if type(value) == "table" and knob and knob.type == "set" then
    text = list_text(value)
  elseif not knob or FITS[knob.type][type(value)] then
    if math.type(value) == "float" then value = math.tointeger(value) or value end
    text = tostring(value)
  end
  if text and not text:find("\0", 1, true) then return text end
  raise("SGL_EKNOB", ("%s: %s does not fit"):format(name, api.describe(value)),
    knob.type == "set" and [[such as { "cpu", "cache" }, { disk = false } or "all,-disk"]]
      or ("%s: %s"):format(name, knob.help), file, line)
end

local function set_from_file(key, value, file, line, found)
  if key == "config" then
    raise("SGL_EKNOB", "a configuration file cannot name another", nil, file, line)
  end
  local ok, message, hint = core.knob_from_file(key, as_text(key, value, file, line), found)
  if not ok then raise("SGL_EKNOB", message, hint, file, line) end
end

local function load_yaml(text, file, found)
  local pairs_of_file, message, code, hint, line = core.yaml(text)
  if not pairs_of_file then raise(code, message, hint, file, line) end
  local lines = {}
  for _, pair in ipairs(pairs_of_file) do
    if lines[pair.key] then
      raise("SGL_EKNOB", ("%s is said twice"):format(core.quote(pair.key)),
        ("the first is in line %d"):format(lines[pair.key]), file, pair.line)
    end
    lines[pair.key] = pair.line
    set_from_file(pair.key, pair.value, file, pair.line, found)
  end
end

-- What a Lua file may use; to write any other global is to set a setting. The libraries are copies:
-- what a file does to them is not done to the program's.
local function given()
  local values = { env = os.getenv, tonumber = tonumber, tostring = tostring, ipairs = ipairs,
                   pairs = pairs }
  for name, library in pairs { math = math, string = string, table = table } do
    values[name] = {}
    for key, value in pairs(library) do values[name][key] = value end
  end
  return values
end

-- Runs the chunk for so many instructions, about, and then calls `stop`.
local function run(chunk, stop)
  local hook, mask, count = debug.gethook()
  local left = INSTRUCTIONS // EACH
  debug.sethook(function()
    left = left - 1
    if left < 0 then stop() end
  end, "", EACH)
  local ok, e = pcall(chunk)
  debug.sethook(hook, mask, count)
  if not ok then error(e, 0) end
end

local function load_lua(text, file, found)
  -- Of the file's innermost frame: C functions such as table.insert may be between.
  local function line_of_caller()
    local level, info = 1, nil
    repeat
      level = level + 1
      info = debug.getinfo(level, "Sl")
    until not info or info.source == "@" .. file
    return info and info.currentline or 0
  end
  local values = given()
  local env = setmetatable({}, {
    __index = function(_, name)
      if values[name] then return values[name] end
      raise("SGL_EKNOB", ("%s is not known in a configuration file"):format(core.quote(name)),
        "lines of the form `name = value` set settings; env \"NAME\" reads the environment", file,
        line_of_caller())
    end,
    __newindex = function(_, name, value)
      set_from_file(name, value, file, line_of_caller(), found)
    end,
  })
  local chunk, message = load(text, "@" .. file, "t", env)
  if not chunk then
    local line, what = message:match ":(%d+): (.*)$"
    raise("SGL_EPARSE", what or message, nil, file, math.tointeger(line) or 0)
  end
  run(chunk, function()
    raise("SGL_EKNOB", "a configuration file that does not end", "it may take some "
      .. "seconds at most; loops that are longer belong into the script", file, line_of_caller())
  end)
end

local function load_file(file, found)
  local text, message, code = core.read(file)
  if not text then raise(code, message) end
  if file:find "%.lua$" then return load_lua(text, file, found) end
  load_yaml(text, file, found)
end

local function find_file()
  local named = core.knob "config"
  if named ~= "" then return named, false end
  for _, file in ipairs(FILES) do
    local there, message, code = core.there(file)
    if there then return file, true end
    if message then raise(code, message, "it is read where it stands in the current folder") end
  end
end

local config = api.module("config", "Settings: read and assigned as fields, sgl.config.threads = 2")

api.fn(config, "preset", {
  doc = "Sets all settings of a preset, 'dev' or 'prod'; without a name, says which one is on.",
  args = { { "name", "string?", "dev, prod" } }, returns = "string: the preset",
  errors = "an unknown name",
}, function(name)
  if name then core.knob("preset", name) end
  return core.knob "preset"
end)

-- Both a setting and a function: what is read can be called, and prints as the value.
local preset = setmetatable({}, {
  __call = function(_, ...) return config.preset(...) end,
  __tostring = function() return core.knob "preset" end,
})

api.fn(config, "from", {
  doc = "Where a setting's value came from: default, file, environment, flag, program, or a preset "
    .. "in one of them.",
  args = { { "name", "string", "of the setting" } }, returns = "string", errors = "an unknown name",
}, function(name)
  local knob = knob_of(name)
  return knob and knob.from or core.knob(name)
end)

local function settings(_)
  local list, i = core.knobs(), 0
  return function()
    i = i + 1
    if list[i] then return list[i].name, list[i].value end
  end
end

local function show()
  local lines = {}
  for i, knob in ipairs(core.knobs()) do
    lines[i] = ("%-17s %-10s %s"):format(knob.name, knob.value,
      knob.from == "default" and "" or knob.from):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

local file, found = find_file()
if file then load_file(file, found) end

api.root.config = setmetatable({}, {
  __index = function(_, name)
    if type(name) ~= "string" then no_name(name) end
    return name == "preset" and preset or rawget(config, name) or core.knob(name)
  end,
  __newindex = function(_, name, value)
    if type(name) ~= "string" then no_name(name) end
    if value == nil then raise("SGL_EKNOB", ("%s: no value"):format(name)) end
    if name == "config" then
      raise("SGL_EKNOB", "config: the file is read when sgl is loaded",
        "name it by --config or SGL_CONFIG, or assign the settings here")
    end
    core.knob(name, as_text(name, value))
  end,
  __pairs = settings,
  __tostring = show,
})
