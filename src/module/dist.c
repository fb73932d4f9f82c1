/* dist.c: the job that the process is part of, for Lua.
 */
#include "comm/comm.h"
#include "ir/attr.h"
#include "ir/side.h"
#include "module/module.h"
#include "shard/shard.h"
#include "tensor/args.h"
#include "tensor/recorder.h"

/* core.job() -> rank from 0, how many ranks there are, the number among those of this machine */
static int job(lua_State *L)
{
    const Comm *c = comm_of(bind_of(L)->cx);
    lua_pushinteger(L, c ? c->rank : 0);
    lua_pushinteger(L, c ? c->size : 1);
    lua_pushinteger(L, c ? c->local_rank : 0);
    return 3;
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

/* core.place(tensor, text): how it is to lie over the ranks (shard.h); nil: as it comes. Of a value
 * within a step it is a note in the step's graph. */
static int place(lua_State *L)
{
    Host *h = bind_of(L);
    Tensor *t = tensor_check(L, h, 1, "place");
    const char *text = luaL_optstring(L, 2, NULL);
    const char *wrong = text ? shard_place_wrong(text) : NULL;
    if (wrong) bind_raise(L, SGL_EARG, NULL, "placement '%s': %s", text, wrong);
    base_err_clear(&h->cx->err);
    int64_t word = text ? ir_attr_text_word(h->cx, text) : 0;
    if (text && !word) return bind_throw(L, h);
    t->place = text ? ir_attr_text(word) : NULL;
    if (!text || !t->node || !tensor_recording(h) || t->trace != tensor_recorder(h)->trace)
        return 0;
    return ir_side_set(t->node->graph, SIDE_asked, t->node, 1, &word) < 0 ? bind_throw(L, h) : 0;
}

/* core.mesh() -> list of { name, ranks }: the axes of the plan, in order */
static int mesh(lua_State *L)
{
    Host *h = bind_of(L);
    const Comm *c = comm_of(h->cx);
    ShardPlan p = {0};
    base_err_clear(&h->cx->err);
    if (shard_plan_read(h->cx, h->cx->knobs.text[KNOB_plan], c && c->size > 1 ? c->size : 0,
                        h->cx->knobs.from[KNOB_plan] == KNOB_FROM_PROGRAM, &p) < 0)
        return bind_throw(L, h);
    lua_createtable(L, p.mesh.n, 0);
    for (int a = 0; a < p.mesh.n; a++) {
        lua_createtable(L, 2, 0);
        lua_pushstring(L, p.mesh.name[a]);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, c && c->size > 1 ? p.mesh.size[a] : 1);
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, -2, a + 1);
    }
    return 1;
}

/* core.tell_all(text, from?) -> the text that rank 0, or `from`, gave; all call it together. */
static int tell_all(lua_State *L)
{
    Host *h = bind_of(L);
    Comm *c = comm_of(h->cx);
    size_t n;
    const char *mine = luaL_checklstring(L, 1, &n);
    int from = (int)luaL_optinteger(L, 2, 0);
    int64_t own = c && c->rank == from ? (int64_t)n : 0, all = own;
    lua_settop(L, 1);
    if (!c || c->size == 1 || from < 0 || from >= c->size) return 1;
    base_err_clear(&h->cx->err);
    if (comm_meet(c, "sgl.dist.alone", COMM_max, 1, &own, &all) < 0) return bind_throw(L, h);
    char *text = bind_scratch(L, (size_t)all + 1, 1);
    CommWork w = {.op = COMM_broadcast, .dtype = DT_u8, .count = all, .in = mine, .root = from};
    w.call = comm_call_all(c, "the result of sgl.dist.alone");
    w.out = text;
    if (comm_run(c, &w) < 0) return bind_throw(L, h);
    lua_pushlstring(L, text, (size_t)all);
    return 1;
}

const luaL_Reg MODULE_DIST[] = {
    {"place", place},       {"job", job},           {"mesh", mesh},
    {"together", together}, {"tell_all", tell_all}, {NULL, NULL},
};
