-- What luacheck expects: Lua 5.4, busted's names in specs, lines as long as the style allows.
std = "lua54"
max_line_length = 100
exclude_files = { "lua/sgl.d.lua", "spec/fixtures" }
files["spec"] = { std = "+busted" }
-- Constructs that capture must see, however odd.
files["spec/watch/capture_rows_spec.lua"] = { ignore = { "111", "221", "231", "241", "512" } }
