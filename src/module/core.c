/* core.c: the module sgl.core: the functions of all rooms in one table. Only the Lua files of the
 * library use it.
 */
#include "bind/rank.h"
#include "capture/capture.h"
#include "comm/comm.h"
#include "module/module.h"
#include "sgl.h"
#include "tensor/tensor.h"
#include "watch/watch.h"

/* Each room adds its functions; what the watch must know of them all comes last. */
int module_open_core(lua_State *L)
{
    static const luaL_Reg *const LISTS[] = {MODULE_INFO,  MODULE_TABLES, MODULE_IO,   MODULE_CSV,
                                            MODULE_KNOBS, MODULE_BUNDLE, MODULE_DIST, BIND_RANK};
    luaL_checkversion(L);
    lua_settop(L, 0);
    /* The module survives a cleared package.loaded: classes are made once for each Lua state. */
    if (lua_getfield(L, LUA_REGISTRYINDEX, "sgl.core") == LUA_TTABLE) return 1;
    lua_settop(L, 0);
    Host *h = bind_open(L);
    comm_join(h->cx);
    lua_newtable(L);
    bind_open_functions(L);
    watch_open(L, h);
    tensor_open(L, h);
    capture_open(L, h);
    bind_functions(L, LISTS, sizeof LISTS / sizeof *LISTS);
    watch_know_own(L, h);
    lua_pushliteral(L, SGL_VERSION);
    lua_setfield(L, 2, "version");
    lua_pushliteral(L, LUA_RELEASE);
    lua_setfield(L, 2, "lua_version");
    lua_pushvalue(L, 2);
    lua_setfield(L, LUA_REGISTRYINDEX, "sgl.core");
    return 1;
}
