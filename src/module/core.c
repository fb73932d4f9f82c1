/* core.c: the module sgl.core: the functions of this folder's files put into one table. Only the
 * Lua files of the library use it.
 */
#include "bind/break.h"
#include "watch/guard.h"
#include "watch/purity.h"
#include "tensor/dim.h"
#include "tensor/number.h"

int module_open_core(lua_State *L)
{
    static const luaL_Reg *const LISTS[] = {
        BIND_ERROR,   BIND_ARGS,    TENSOR_MAKE,   TENSOR_APPLY, TENSOR_GRAD,   TENSOR_RNG,    TENSOR_GRAPH,
        CAPTURE_CAPTURE, CAPTURE_CONTROL, CAPTURE_EFFECT, MODULE_INFO,  MODULE_TABLES, MODULE_IO,     MODULE_CSV, WATCH_GUARD,
        BIND_BREAK,   MODULE_KNOBS,   BIND_EVENTS, TENSOR_CACHE, TENSOR_DIM,    TENSOR_NUMBER, CAPTURE_RESULT,
    };
    luaL_checkversion(L);
    lua_settop(L, 0);
    /* The module survives a cleared package.loaded: classes are made once for each Lua state. */
    if (lua_getfield(L, LUA_REGISTRYINDEX, "sgl.core") == LUA_TTABLE) return 1;
    lua_settop(L, 0);
    Host *h = bind_open(L);
    watch_open_raw(L, h);
    watch_purity_open(L, h);
    lua_newtable(L);
    for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++) {
        lua_pushvalue(L, 1);
        luaL_setfuncs(L, LISTS[i], 1);
    }
    watch_purity_own(L, h);
    tensor_class(L, h);
    lua_setfield(L, 2, "Tensor");
    tensor_graph_class(L);
    lua_getfield(L, -1, "__index");
    lua_setfield(L, 2, "Graph");
    tensor_dim_class(L);
    capture_program_class(L);
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
