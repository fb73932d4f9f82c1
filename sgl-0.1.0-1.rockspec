-- Builds the module for a stock Lua 5.4 with the project's Makefile: luarocks make
rockspec_format = "3.0"
package = "sgl"
version = "0.1.0-1"
source = { url = "git+file://." }
description = {
  summary = "A static-graph training engine scripted in Lua",
  detailed = "A Lua script describes a training step; sgl captures it as one static graph, " ..
    "simplifies, fuses and plans it, and runs it on CPU threads with reproducible bits.",
  license = "MIT",
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.4, < 5.5" }
external_dependencies = { ZLIB = { header = "zlib.h" } }
build = {
  type = "make",
  build_target = "module",
  install_target = "install-module",
  build_variables = {
    LUA = "$(LUA)",
    LUA_INCLUDE = "$(LUA_INCDIR)",
    B = "build-rock",
  },
  install_variables = { LUA_CMOD = "$(LIBDIR)", LUA = "$(LUA)", B = "build-rock" },
}
