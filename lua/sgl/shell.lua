-- shell.lua: words for a shell.
local shell = {}

--- The text as one word.
function shell.quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

return shell
