-- helper.lua: runs before the spec files.
--
-- Holds: the engine's modules are loaded once. busted forgets what a spec file loaded when the file
--        ends; without this each file would get new copies of them beside the old. What os.tmpname
--        named, file or folder, is gone when busted ends, whatever became of the specs.

require "sgl"
for name in pairs(package.preload) do
  if name:find("^sgl%.") then require(name) end
end

local tmpname, names = os.tmpname, {}

function os.tmpname()
  names[#names + 1] = tmpname()
  return names[#names]
end

require "busted".subscribe({ "exit" }, function()
  for _, name in ipairs(names) do
    if not os.remove(name) then os.execute("rm -rf " .. name) end
  end
  return nil, true
end, { priority = 1 })
