-- dist/ends.lua: long work of one rank, and what a script does before a job ends early.
--
-- In:    the module sgl.dist.
-- Out:   dist.alone, dist.on_stop, dist.on_failure in it.
-- Holds: all ranks run the same script: they call alone together and get the same results. Handlers
--        run once a rank, in the order in which they were given, before the process ends.
local api = require "sgl.api"
local core = require "sgl.core"

local handlers = { stop = {}, failure = {} }

-- What the C side calls: kind is "stop" (number: the signal) or "failure" (the rank, or -1).
local function run(kind, number, text)
  local step = core.page()
  local writer = kind == "failure" and number == 0 and 1 or 0
  local end_of = kind == "stop" and { signal = number, step = step - 1 }
    or { rank = number, text = text, step = step }
  end_of.writer = core.job() == writer or select(2, core.job()) == 1
  for _, fn in ipairs(handlers[kind]) do fn(end_of) end
end

local function add(kind, fn)
  table.insert(handlers[kind], fn)
  core.handlers(run, #handlers.stop + #handlers.failure)
end

-- Values that ranks can hand each other, as a string: nil, booleans, numbers, strings.
local CODES = { ["nil"] = "n", boolean = "b", string = "s", integer = "i", float = "d" }
local FORMATS = { n = "", b = "B", s = "s8", i = "i8", d = "d" }

local function pack(values)
  local list = {}
  for i = 1, values.n do
    local value = values[i]
    local code = CODES[math.type(value) or type(value)]
    if not code then
      core.raise("SGL_EARG", ("dist.alone: result %d is a %s; other ranks can get nil, booleans, "
        .. "numbers and strings"):format(i - 1, type(value)),
        "save it to a file, and let all read it")
    end
    if code == "b" then value = value and 1 or 0 end
    list[i] = code .. (code == "n" and "" or string.pack(FORMATS[code], value))
  end
  return table.concat(list)
end

local function unpack_all(text)
  local values, at = { n = 0 }, 1
  while at <= #text do
    local code = text:sub(at, at)
    values.n, at = values.n + 1, at + 1
    local value
    if code ~= "n" then value, at = string.unpack(FORMATS[code], text, at) end
    if code == "b" then value = value == 1 end
    values[values.n] = value
  end
  return table.unpack(values, 1, values.n)
end

return function(dist)
  api.fn(dist, "alone", {
    doc = "Rank 0 alone calls the function, and the other ranks wait for it, as long as `seconds` "
      .. "says: for long work that belongs to one, such as writing a report or asking a server. "
      .. "All ranks call it and get its results, or its error. It cannot use compiled steps or "
      .. "tensors "
      .. "that ranks share, since all ranks compute and read those.",
    args = { { "fn", "function", "the work" } },
    opts = { { "seconds", "number", 3600, "how long the others wait without complaint" } },
    returns = "its results: nil, booleans, numbers and strings",
    errors = "what the function raises; a result of another type",
  }, function(fn, o)
    local rank, size = core.job()
    if size == 1 then return fn() end
    local text = ""
    if rank == 0 then
      core.announce(o.seconds, "sgl.dist.alone")
      local got = table.pack(pcall(fn))
      local packed, e = pcall(pack, got)
      core.announce(0)
      if not got[1] then text = "b\0s" .. string.pack("s8", tostring(got[2]))
      elseif not packed then text = "b\0s" .. string.pack("s8", tostring(e))
      else text = e end
    end
    local values = table.pack(unpack_all(core.tell_all(text)))
    if not values[1] then error(values[2], 0) end
    return table.unpack(values, 2, values.n)
  end)

  api.fn(dist, "on_stop", {
    doc = "Calls the function once on each rank when the job is asked to stop, by SIGTERM or "
      .. "SIGINT at the launcher or any rank: all ranks stop before the same step, so they can "
      .. "save state together. Then the job ends with status 128 + the signal.",
    args = { { "fn", "function", "called with { signal = 15, step = the last one that ended, "
      .. "writer = whether this rank is the one that writes files }" } },
    returns = "nothing",
  }, function(fn) add("stop", fn) end)

  api.fn(dist, "on_failure", {
    doc = "Calls the function once on each rank that is left when the job fails, before it ends. "
      .. "Ranks cannot exchange values any more: what each has by itself can be saved.",
    args = { { "fn", "function", "called with { rank = who failed, or -1, text = why, step = the "
      .. "last that began here, writer = whether this rank is the one that writes files }" } },
    returns = "nothing",
  }, function(fn) add("failure", fn) end)
end
