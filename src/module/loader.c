/* loader.c: the Lua modules inside the program, found by `require` before any file.
 *
 * luaopen_sgl is what a stock lua5.4 calls for require "sgl".
 */
#include "module/embed.h"
#include "module/module.h"

static int load_module(lua_State *L)
{
    const EmbeddedModule *m = lua_touserdata(L, lua_upvalueindex(1));
    if (luaL_loadbufferx(L, m->code, m->size, m->chunkname, "t") != LUA_OK) return lua_error(L);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

/* package.preload comes before all files, so none can shadow them. */
void module_preload(lua_State *L)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    for (const EmbeddedModule *m = EMBEDDED_MODULES; m->name; m++) {
        lua_pushlightuserdata(L, (void *)(uintptr_t)m);
        lua_pushcclosure(L, load_module, 1);
        lua_setfield(L, -2, m->name);
    }
    lua_pushcfunction(L, module_open_core);
    lua_setfield(L, -2, "sgl.core");
    lua_pushcfunction(L, module_open_line);
    lua_setfield(L, -2, "sgl.line");
    lua_pop(L, 1);
}

MODULE_EXPORT int luaopen_sgl(lua_State *L);
MODULE_EXPORT int luaopen_sgl(lua_State *L)
{
    lua_settop(L, 1);
    module_preload(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_getfield(L, -1, "sgl");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
}
