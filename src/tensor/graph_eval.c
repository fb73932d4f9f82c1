/* graph_eval.c: running a graph in a handle: the reference interpreter in double, and the backend.
 */
#include <stdlib.h>
#include <string.h>
#include "exec/program.h"
#include "exec/debug.h"
#include "tensor/args.h"
#include "tensor/arrays.h"
#include "bind/events.h"
#include "ir/bind.h"
#include "tensor/graph.h"
#include "tensor/room.h"

static int arrays_gc(lua_State *L)
{
    Arrays *a = lua_touserdata(L, 1);
    for (int i = 0; i < a->n; i++) ir_ref_free(&a->at[i]);
    a->n = 0;
    return 0;
}

Arrays *tensor_arrays_new(lua_State *L, int n)
{
    static const luaL_Reg META[] = {{"__gc", arrays_gc}, {NULL, NULL}};
    size_t bytes = sizeof(Arrays) + (size_t)n * sizeof(RefArray);
    Arrays *a = lua_newuserdatauv(L, bytes, 0);
    memset(a, 0, bytes);
    a->n = n;
    bind_class(L, "sgl.arrays", META, NULL, 0);
    lua_setmetatable(L, -2);
    return a;
}

const Node *tensor_graph_node(lua_State *L, const Graph *g, int arg)
{
    const char *text = luaL_checkstring(L, arg);
    char *end = NULL;
    long id = *text == '%' ? strtol(text + 1, &end, 10) : -1;
    if (id >= 0 && id < g->nodes.n && end > text + 1 && !*end) return g->nodes.at[id];
    bind_raise(L, SGL_EARG, NULL, "the graph has no node '%s', it has %%0 to %%%d", text,
               g->nodes.n - 1);
    return NULL;
}

/* Raises, and names the inputs that are missing. */
static void wrong_count(lua_State *L, const Graph *g, int got, const char *what)
{
    Str *missing = bind_text(L);
    for (int i = got; i < g->inputs.n; i++) {
        const char *name = g->inputs.at[i].name;
        base_str_fmt(missing, "%s%d", i == got ? "missing: input " : ", ", i + 1);
        if (name && *name) base_str_fmt(missing, " '%s'", name);
        base_str_put(missing, " ");
        ir_type_text(g->inputs.at[i].node, missing);
    }
    bind_text_push(L, missing);
    bind_raise(L, SGL_EARG, lua_tostring(L, -1), "%s: the graph has %d input%s, got %d", what,
               g->inputs.n, g->inputs.n == 1 ? "" : "s", got);
}

/* The values of the tensors in the list at 2, one for each input. */
static Tensor **input_tensors(lua_State *L, Host *h, const Graph *g, const char *what)
{
    int n = 0;
    Tensor **list = lua_isnoneornil(L, 2) ? NULL : tensor_list(L, h, 2, what, &n);
    if (n != g->inputs.n) wrong_count(L, g, n, what);
    base_err_clear(&h->cx->err);
    if (tensor_realize(h, n, list) < 0) bind_throw(L, h);
    return list;
}

/* Shape errors are raised here: the interpreter trusts its inputs. */
static void check_input(lua_State *L, const Graph *g, int i, const Storage *s)
{
    const Node *n = g->inputs.at[i].node;
    bool fits = n->dtype == s->dtype && n->rank == s->rank;
    for (int d = 0; fits && d < n->rank; d++) fits = n->dims[d] == s->dims[d];
    if (fits) return;
    Shape is = {.dtype = s->dtype, .rank = s->rank};
    memcpy(is.dims, s->dims, s->rank * sizeof *s->dims);
    Str *want = bind_text(L);
    ir_type_text(n, want);
    bind_text_push(L, want);
    bind_push_type(L, &is);
    bind_raise(L, n->dtype == s->dtype ? SGL_ESHAPE : SGL_EDTYPE, NULL,
               "input %d of the graph is %s, got %s", i + 1, lua_tostring(L, -2),
               lua_tostring(L, -1));
}

Arrays *tensor_arrays_input(lua_State *L, Host *h, const Graph *g)
{
    Tensor **list = input_tensors(L, h, g, "eval");
    Arrays *a = tensor_arrays_new(L, g->inputs.n);
    for (int i = 0; i < g->inputs.n; i++) {
        const Storage *s = list[i]->storage;
        check_input(L, g, i, s);
        if (ir_ref_alloc(&a->at[i], s->dtype, s->rank, s->dims) < 0)
            bind_raise(L, SGL_ENOMEM, NULL, "eval: out of memory");
        const void *at = tensor_host(L, h, s);
        for (int64_t e = 0; e < s->count; e++) a->at[i].at[e] = ir_dtype_load(s->dtype, at, e);
    }
    return a;
}

void tensor_push_array(lua_State *L, Host *h, const RefArray *a)
{
    Storage *s = tensor_make(L, h, DT_f64, a->rank, a->dims)->storage;
    dev_storage_write(s, a->at);
}

/* The nodes whose values are wanted: those named in the list at 3, or the outputs. With these all
 * that is asserted must hold: the last effects stand behind them. */
static Node **wanted_nodes(lua_State *L, const Graph *g, int *n, int *all)
{
    bool named = !lua_isnoneornil(L, 3);
    *n = *all = named ? bind_check_list(L, 3, "eval: the nodes") : g->outputs.n;
    Node **nodes = bind_scratch(L, *n + g->effects.n + 1, sizeof *nodes);
    for (int i = 0; !named && i < g->effects.n; i++) nodes[(*all)++] = g->effects.at[i].last;
    for (int i = 0; i < *n; i++) {
        if (!named) {
            nodes[i] = g->outputs.at[i].node;
            continue;
        }
        lua_rawgeti(L, 3, i + 1);
        nodes[i] = (Node *)tensor_graph_node(L, g, lua_gettop(L));
        lua_pop(L, 1);
    }
    return nodes;
}

/* g:eval(inputs, node_ids?) -> list of f64 tensors */
static int graph_eval(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, 3);
    const Graph *g = tensor_graph_check(L)->graph;
    int n, all;
    Node **nodes = wanted_nodes(L, g, &n, &all);
    Arrays *in = tensor_arrays_input(L, h, g), *out = tensor_arrays_new(L, all);
    base_err_clear(&h->cx->err);
    if (ir_eval_nodes(g, REF_EXACT, in->at, all, nodes, out->at) < 0) return bind_throw(L, h);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        tensor_push_array(L, h, &out->at[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* A program that lives for one run. */
typedef struct Once {
    Program *program;
} Once;

static int once_gc(lua_State *L)
{
    Once *o = lua_touserdata(L, 1);
    if (o->program) exec_program_free(o->program);
    o->program = NULL;
    return 0;
}

static Once *once_new(lua_State *L)
{
    static const luaL_Reg META[] = {{"__gc", once_gc}, {NULL, NULL}};
    Once *o = lua_newuserdatauv(L, sizeof *o, 0);
    o->program = NULL;
    bind_class(L, "sgl.once", META, NULL, 0);
    lua_setmetatable(L, -2);
    return o;
}

/* Inputs of the run: what the graph assigns is updated in place, so it runs on a copy. */
static Storage **run_inputs(lua_State *L, Host *h, const Graph *g)
{
    Tensor **list = input_tensors(L, h, g, "run");
    Storage **in = bind_scratch(L, g->inputs.n, sizeof *in);
    luaL_checkstack(L, g->assigns.n + LUA_MINSTACK, "too many assigns");
    for (int i = 0; i < g->inputs.n; i++) in[i] = list[i]->storage;
    for (int i = 0; i < g->assigns.n; i++) {
        int k = g->assigns.at[i].input;
        Tensor *own = tensor_new(L, h);
        tensor_set(own, dev_storage_copy(h->cx, in[k]));
        in[k] = own->storage;
        if (!in[k]) bind_throw(L, h);
    }
    return in;
}

/* g:run(inputs) -> list of the outputs */
static int graph_run(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, 2);
    const Graph *g = tensor_graph_check(L)->graph;
    Storage **in = run_inputs(L, h, g);
    Storage **out = bind_scratch(L, g->outputs.n, sizeof *out);
    Once *once = once_new(L);
    lua_createtable(L, g->outputs.n, 0);
    for (int i = 0; i < g->outputs.n; i++) {
        tensor_new(L, h);
        lua_rawseti(L, -2, i + 1);
    }
    base_err_clear(&h->cx->err);
    room_of(h)->running = L;
    Graph *copy = tensor_copy_whole(g);
    once->program = copy ? exec_debug_compile(copy, NULL, NULL) : NULL;
    if (!once->program || exec_run(once->program, in, out) < 0) return bind_throw(L, h);
    for (int i = 0; i < g->outputs.n; i++) {
        lua_rawgeti(L, -1, i + 1);
        tensor_set(tensor_at(L, h, -1), out[i]);
        lua_pop(L, 1);
    }
    bind_events_flush(L, h);
    return 1;
}

/* The argument as the name of a stage. */
const char *tensor_stage(lua_State *L, int arg)
{
    const char *name = luaL_checkstring(L, arg), *stage;
    for (int i = 0; (stage = exec_stage_name(i)) != NULL; i++)
        if (strcmp(name, stage) == 0) return stage;
    return luaL_argerror(L, arg, lua_pushfstring(L, "unknown stage '%s'", name)), NULL;
}

/* g:show(stage) -> the text of a stage of the program that the graph compiles to */
int tensor_graph_stage(lua_State *L)
{
    Host *h = bind_of(L);
    const Graph *g = tensor_graph_check(L)->graph;
    const char *stage = tensor_stage(L, 2);
    Once *once = once_new(L);
    Str *text = bind_text(L);
    base_err_clear(&h->cx->err);
    Graph *copy = tensor_copy_whole(g);
    once->program = copy ? exec_debug_compile(copy, NULL, NULL) : NULL;
    if (!once->program) return bind_throw(L, h);
    exec_program_print(once->program, stage, text);
    return bind_text_push(L, text);
}

/* g:bind(sizes) -> the graph with these sizes, by name, for its symbolic ones */
static int graph_bind(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, 2);
    const GraphBox *from = tensor_graph_check(L);
    luaL_checktype(L, 2, LUA_TTABLE);
    int count = ir_dim_symbol_count(h->cx);
    int64_t *values = bind_scratch(L, (size_t)count + 1, sizeof *values);
    int *found = bind_scratch(L, (size_t)count + 1, sizeof *found);
    for (int id = 0; id < from->graph->nodes.n; id++) {
        Dim dims[IR_NODE_DIMS];
        int n = ir_node_dims(from->graph->nodes.at[id], dims);
        for (int d = 0; d < n; d++)
            for (int k = ir_dim_symbols(h->cx, dims[d], found, count); k > 0; k--) {
                const DimSymbol *s = ir_dim_symbol_at(h->cx, found[k - 1]);
                if (values[found[k - 1]]) continue;
                lua_getfield(L, 2, s->name);
                lua_Integer v = lua_tointeger(L, -1);
                lua_pop(L, 1);
                if (v < 1 || v < s->lo || v > s->hi || v % s->multiple)
                    return bind_raise(L, SGL_EARG, NULL,
                                      "bind: '%s' must be a size from %I to %I, "
                                      "a multiple of %I",
                                      s->name, (lua_Integer)s->lo, (lua_Integer)s->hi,
                                      (lua_Integer)s->multiple);
                values[found[k - 1]] = v;
            }
    }
    GraphBox *to = tensor_graph_new(L, h);
    base_err_clear(&h->cx->err);
    to->kernels = -1;
    to->graph = ir_bind(from->graph, values);
    return tensor_graph_made(L, h, to);
}

const luaL_Reg TENSOR_EVAL_METHODS[] = {
    {"bind", graph_bind},
    {"eval", graph_eval},
    {"run", graph_run},
    {NULL, NULL},
};
