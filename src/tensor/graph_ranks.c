/* graph_ranks.c: of graphs in handles, what the ranks of a mesh make of them, without the ranks.
 *
 * The table of both functions: plan, a text such as "data=2,model=2"; ranks, where it says no
 * sizes; exact, how many blocks, and all, whether every float sum has them; place, by the number of
 * an input, how it was asked to lie (shard.h).
 */
#include "ir/attr.h"
#include "tensor/args.h"
#include "tensor/arrays.h"
#include "tensor/graph.h"
#include "tensor/graph_ranks.h"
#include "tensor/room.h"

static lua_Integer field(lua_State *L, int table, const char *name, lua_Integer fallback)
{
    lua_getfield(L, table, name);
    lua_Integer value = luaL_optinteger(L, -1, fallback);
    lua_pop(L, 1);
    return value;
}

ShardPlan tensor_ranks_plan(lua_State *L, Host *h, int table, bool planned)
{
    ShardPlan p = {.planned = planned, .blocks = (int)field(L, table, "exact", 0)};
    p.reshard = field(L, table, "reshard", 0) == 1;
    lua_getfield(L, table, "all");
    p.all = lua_toboolean(L, -1);
    lua_getfield(L, table, "plan");
    base_err_clear(&h->cx->err);
    if (shard_plan_read(h->cx, luaL_optstring(L, -1, ""), (int)field(L, table, "ranks", 0), true,
                        &p) < 0)
        bind_throw(L, h);
    lua_pop(L, 2);
    return p;
}

/* The texts are interned. */
const char **tensor_ranks_places(lua_State *L, Host *h, const Graph *g, int table)
{
    const char **place = bind_scratch(L, (size_t)g->inputs.n + 1, sizeof *place);
    int kind = lua_getfield(L, table, "place");
    for (int i = 0; i < g->inputs.n && kind == LUA_TTABLE; i++) {
        lua_rawgeti(L, -1, i + 1);
        int64_t word = lua_isnil(L, -1) ? 0 : ir_attr_text_word(h->cx, luaL_checkstring(L, -1));
        place[i] = word ? ir_attr_text(word) : NULL;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return place;
}

/* core.ranks_eval(graph, inputs, plan) -> list of f64 tensors: outputs, then assigned values */
static int ranks_eval(lua_State *L)
{
    Host *h = bind_of(L);
    const Graph *g = tensor_graph_check(L)->graph;
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    ShardPlan plan = tensor_ranks_plan(L, h, 3, false);
    luaL_argcheck(L, comm_mesh_ranks(&plan.mesh) <= MESH_RANKS, 3, "too many ranks");
    const char **place = tensor_ranks_places(L, h, g, 3);
    int n = g->outputs.n + g->assigns.n;
    Arrays *in = tensor_arrays_input(L, h, g), *out = tensor_arrays_new(L, n);
    base_err_clear(&h->cx->err);
    if (shard_eval(g, &plan, place, in->at, out->at) < 0) return bind_throw(L, h);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        tensor_push_array(L, h, &out->at[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* core.ranks_graph(graph, rank, plan) -> the graph of this rank, from 0 */
static int ranks_graph(lua_State *L)
{
    Host *h = bind_of(L);
    const Graph *g = tensor_graph_check(L)->graph;
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    ShardPlan plan = tensor_ranks_plan(L, h, 3, false);
    plan.rank = (int)luaL_checkinteger(L, 2);
    luaL_argcheck(L, plan.rank >= 0 && plan.rank < comm_mesh_ranks(&plan.mesh), 2, "no such rank");
    const char **place = tensor_ranks_places(L, h, g, 3);
    CommSpread *lies = bind_scratch(L, (size_t)g->inputs.n + 1, sizeof *lies);
    GraphBox *b = tensor_graph_new(L, h);
    b->kernels = -1;
    b->graph = shard_step(g, &plan, place, lies);
    return tensor_graph_made(L, h, b);
}

const luaL_Reg TENSOR_RANKS[] = {
    {"ranks_eval", ranks_eval},
    {"ranks_graph", ranks_graph},
    {NULL, NULL},
};
