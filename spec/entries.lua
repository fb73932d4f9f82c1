-- entries.lua: entries of the folder of programs, taken apart and made as src/exec/disk.c makes
-- them: the tag is SipHash-2-4 (Aumasson and Bernstein, 2012) with the key of the folder.
local entries = {}

local function left(x, bits) return x << bits | x >> 64 - bits end

local function round(v)
  v[1] = v[1] + v[2] v[2] = left(v[2], 13) ~ v[1] v[1] = left(v[1], 32)
  v[3] = v[3] + v[4] v[4] = left(v[4], 16) ~ v[3]
  v[1] = v[1] + v[4] v[4] = left(v[4], 21) ~ v[1]
  v[3] = v[3] + v[2] v[2] = left(v[2], 17) ~ v[3] v[3] = left(v[3], 32)
end

-- The hash of a text with the 16 bytes of a key.
function entries.siphash(key, text)
  local k0, k1 = string.unpack("<i8i8", key)
  local v = { k0 ~ 0x736f6d6570736575, k1 ~ 0x646f72616e646f6d, k0 ~ 0x6c7967656e657261,
              k1 ~ 0x7465646279746573 }
  local whole = #text - #text % 8
  local last = (text:sub(whole + 1) .. ("\0"):rep(7 - #text % 8)) .. string.char(#text & 255)
  for at = 1, whole + 1, 8 do
    local word = string.unpack("<i8", at <= whole and text or last, at <= whole and at or 1)
    v[4] = v[4] ~ word
    round(v) round(v)
    v[1] = v[1] ~ word
  end
  v[3] = v[3] ~ 255
  for _ = 1, 4 do round(v) end
  return v[1] ~ v[2] ~ v[3] ~ v[4]
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- The key that a folder's file `.key` stands for, here and now: with its number and its time.
function entries.key_of(folder)
  local secret = read(folder .. "/.key")
  local pipe = assert(io.popen(("stat -c '%%i %%.9Z' '%s/.key'"):format(folder)))
  local inode, seconds, nanoseconds = pipe:read("a"):match "^(%d+) (%d+)%.(%d+)"
  pipe:close()
  local words = {}
  for i = 0, 1 do
    local place = string.pack("<i8i8i8i8", tonumber(inode), tonumber(seconds),
      tonumber(nanoseconds), i)
    words[i + 1] = entries.siphash(secret, place)
  end
  return string.pack("<i8i8", words[1], words[2])
end

-- The file of an entry, with a right tag.
function entries.make(mac, key, body)
  local rest = (" %d %d\n%s%s"):format(#key, #body, key, body)
  return ("sgl program 2 %016x"):format(entries.siphash(mac, rest)) .. rest
end

-- The key and the body of an entry's file.
function entries.parts(file)
  local n, rest = file:match "^sgl program 2 %x+ (%d+) %d+\n()"
  return file:sub(rest, rest + n - 1), file:sub(rest + n)
end

return entries
