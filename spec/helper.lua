-- helper.lua: runs before the spec files.
--
-- Holds: the engine's modules are loaded once. busted forgets what a spec file loaded when the file
--        ends; without this each file would get new copies of them beside the old.

require "sgl"
for name in pairs(package.preload) do
  if name:find("^sgl%.") then require(name) end
end
