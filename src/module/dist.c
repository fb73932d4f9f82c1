/* dist.c: the job that the process is part of, for Lua.
 */
#include "comm/comm.h"
#include "module/module.h"
#include "tensor/args.h"

/* core.job() -> rank from 0, how many ranks there are */
static int job(lua_State *L)
{
    const Comm *c = comm_of(bind_of(L)->cx);
    lua_pushinteger(L, c ? c->rank : 0);
    lua_pushinteger(L, c ? c->size : 1);
    return 2;
}

/* core.together(fine) -> was it fine on all ranks? They call it together; alone, its argument. */
static int together(lua_State *L)
{
    Host *h = bind_of(L);
    Comm *c = comm_of(h->cx);
    int64_t fine = lua_toboolean(L, 1), all = fine;
    base_err_clear(&h->cx->err);
    if (c && c->size > 1 && comm_meet(c, "the end of a write", COMM_min, 1, &fine, &all) < 0)
        return bind_throw(L, h);
    lua_pushboolean(L, all != 0);
    return 1;
}

/* core.share(tensor, dim): the ranks of an axis `model` share the dim; nil: they do not */
static int share(lua_State *L)
{
    Host *h = bind_of(L);
    Tensor *t = tensor_check(L, h, 1, "share");
    t->shared = (uint8_t)luaL_optinteger(L, 2, 0);
    return 0;
}

const luaL_Reg MODULE_DIST[] = {
    {"share", share},
    {"job", job},
    {"together", together},
    {NULL, NULL},
};
