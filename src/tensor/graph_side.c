/* graph_side.c: of graphs in handles, how their nodes may be cut into shards, and notes about them.
 */
#include "ir/factor.h"
#include "ir/attr.h"
#include "ir/side.h"
#include "tensor/graph.h"
#include "tensor/room.h"

/* Pushes the factors of dims, from 1 on; 0: a dim without one. */
static void push_row(lua_State *L, int rank, const int8_t *row)
{
    lua_createtable(L, rank, 0);
    for (int d = 0; d < rank; d++) {
        lua_pushinteger(L, row[d] + 1);
        lua_rawseti(L, -2, d + 1);
    }
}

/* core.factors(graph, "%3") -> kinds by number of the factor, factors of the result's dims, of each
 * input's */
static int graph_factors(lua_State *L)
{
    const Graph *g = tensor_graph_check(L)->graph;
    const Node *n = tensor_graph_node(L, g, 2);
    Factors f;
    int8_t(*in)[OP_MAX_RANK] = bind_scratch(L, (size_t)n->nin + 1, sizeof *in);
    ir_factors(n, &f, in);
    lua_createtable(L, f.n, 0);
    for (int i = 0; i < f.n; i++) {
        lua_pushstring(L, ir_factor_name((FactorKind)f.kind[i]));
        lua_rawseti(L, -2, i + 1);
    }
    push_row(L, n->rank, f.out);
    lua_createtable(L, n->nin, 0);
    for (int i = 0; i < n->nin; i++) {
        push_row(L, n->in[i]->rank, in[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 3;
}

/* core.note(graph, "%3", kind, words): integers, or texts where the kind has such words */
static int graph_note(lua_State *L)
{
    GraphBox *b = tensor_graph_check(L);
    const Node *n = tensor_graph_node(L, b->graph, 2);
    int kind = ir_side_find(luaL_checkstring(L, 3));
    luaL_argcheck(L, kind >= 0, 3, "no such kind");
    int count = bind_check_list(L, 4, "note: the words");
    int64_t *words = bind_scratch(L, (size_t)count + 1, sizeof *words);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, 4, i + 1);
        if (ir_side_is_text((SideKind)kind))
            words[i] = ir_attr_text_word(bind_of(L)->cx, luaL_checkstring(L, -1));
        else words[i] = luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    base_err_clear(&bind_of(L)->cx->err);
    return ir_side_set(b->graph, (SideKind)kind, n, count, words) < 0 ? bind_throw(L, bind_of(L))
                                                                      : 0;
}

/* core.notes(graph) -> all of them as text, one a line */
static int graph_notes(lua_State *L)
{
    const Graph *g = tensor_graph_check(L)->graph;
    Str *s = bind_text(L);
    base_err_clear(&g->cx->err);
    ir_side_print(g, s);
    return bind_text_push(L, s);
}

const luaL_Reg TENSOR_SIDE[] = {
    {"factors", graph_factors},
    {"note", graph_note},
    {"notes", graph_notes},
    {NULL, NULL},
};
