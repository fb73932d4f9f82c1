/* core.c: the module sgl.core: the functions of this folder's files put into one table. Only the
 * Lua files of the library use it.
 */
#include "host/break.h"
#include "host/guard.h"
#include "host/purity.h"
#include "host/dim.h"
#include "host/number.h"

int host_open_core(lua_State *L)
{
    static const luaL_Reg *const LISTS[] = {
        HOST_ERROR,   HOST_ARGS,    HOST_MAKE,   HOST_APPLY, HOST_GRAD,   HOST_RNG,    HOST_GRAPH,
        HOST_CAPTURE, HOST_CONTROL, HOST_EFFECT, HOST_INFO,  HOST_TABLES, HOST_IO,     HOST_GUARD,
        HOST_BREAK,   HOST_KNOBS,   HOST_EVENTS, HOST_CACHE, HOST_DIM,    HOST_NUMBER, HOST_RESULT,
    };
    luaL_checkversion(L);
    lua_settop(L, 0);
    /* The module survives a cleared package.loaded: classes are made once for each Lua state. */
    if (lua_getfield(L, LUA_REGISTRYINDEX, "sgl.core") == LUA_TTABLE) return 1;
    lua_settop(L, 0);
    Host *h = host_open(L);
    host_open_raw(L, h);
    host_purity_open(L, h);
    lua_newtable(L);
    for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++) {
        lua_pushvalue(L, 1);
        luaL_setfuncs(L, LISTS[i], 1);
    }
    host_purity_own(L, h);
    host_tensor_class(L, h);
    lua_setfield(L, 2, "Tensor");
    host_graph_class(L);
    lua_getfield(L, -1, "__index");
    lua_setfield(L, 2, "Graph");
    host_dim_class(L);
    host_program_class(L);
    lua_getfield(L, -1, "__index");
    lua_setfield(L, 2, "Program");
    lua_settop(L, 2);
    lua_pushliteral(L, HOST_VERSION);
    lua_setfield(L, 2, "version");
    lua_pushliteral(L, LUA_RELEASE);
    lua_setfield(L, 2, "lua_version");
    lua_pushvalue(L, 2);
    lua_setfield(L, LUA_REGISTRYINDEX, "sgl.core");
    return 1;
}
