/* dist.c: the job that the process is part of, for Lua.
 */
#include "comm/comm.h"
#include "module/module.h"

/* core.job() -> rank from 0, how many ranks there are */
static int job(lua_State *L)
{
    const Comm *c = comm_of(bind_of(L)->cx);
    lua_pushinteger(L, c ? c->rank : 0);
    lua_pushinteger(L, c ? c->size : 1);
    return 2;
}

const luaL_Reg MODULE_DIST[] = {
    {"job", job},
    {NULL, NULL},
};
