-- cache.lua: sgl.cache: figures of the caches of programs, advice, and emptying them.
local api = require "sgl.api"
local core = require "sgl.core"

local cache = api.module("cache", "Programs kept in memory and on disk")
api.root.cache = cache

local MIB = 2 ^ 20
local FEW = 100                          -- look-ups from which on shares mean something

local function size_text(bytes)
  return bytes >= MIB and ("%.0f MiB"):format(math.ceil(bytes / MIB))
    or ("%d bytes"):format(bytes)
end

-- The next limit that people would choose: a power of two.
local function round_limit(bytes)
  local limit = MIB
  while limit < bytes do limit = limit * 2 end
  return math.tointeger(limit)
end

local function is_enabled(component)
  local enabled = core.knob "enable"
  return enabled == "all" or ("," .. enabled .. ","):find("," .. component .. ",", 1, true) ~= nil
end

-- Each: when it applies, and what it says. The first that applies is the advice.
local ADVICE = {
  { function() return not is_enabled "cache" end,
    function() return "the cache is not enabled: every reading of a tensor compiles" end },
  { function(s) return s.refaults > 0 end, function(s)
    local limit = round_limit(s.bytes + s.wanted_bytes)
    if limit <= s.limit then limit = s.limit * 2 end
    return ("%d programs were compiled again after they had been evicted: raise the limit, "
      .. "sgl.config.cache_size_limit = %d"):format(s.refaults, limit)
  end },
  { function(s) return s.evictions > 0 end, function(s)
    return ("the limit fits: none of the %d programs that were evicted was needed again"):format(
      s.evictions)
  end },
  { function(s) return s.hits + s.misses >= FEW and s.misses > s.hits end, function(s)
    return ("%d of %d look-ups missed, and not for want of room: shapes or constants that change "
      .. "from call to call make a new program each time"):format(s.misses, s.hits + s.misses)
  end },
  { function() return true end, function(s)
    return ("the limit fits: all programs take %s of %s"):format(size_text(s.bytes),
      size_text(s.limit))
  end },
}

local function advice(stats)
  for _, row in ipairs(ADVICE) do
    if row[1](stats) then return row[2](stats) end
  end
end

api.fn(cache, "stats", {
  doc = "Figures of the cache: hits, misses, evictions, refaults (programs compiled again after "
    .. "they had been evicted), bytes, entries, limit; held (captured functions whose programs "
    .. "were evicted); lookup_us and compile_us with p50, p95 and p99 in microseconds of the last "
    .. "1024 of each (of look-ups, one in eight is timed); advice on the limit, a sentence; and "
    .. "disk, the figures of the folder.",
  returns = "table",
}, function()
  local stats = core.cache_stats()
  stats.limit = core.knob "cache_size_limit"
  stats.advice = advice(stats)
  return stats
end)

api.fn(cache, "clear", {
  doc = "Frees all programs in memory. Functions that are still there compile at their next call.",
  opts = { { "disk", "boolean", false, "remove those on disk too" } }, returns = "nothing",
}, function(o)
  core.cache_clear(o.disk)
end)
