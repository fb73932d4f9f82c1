/* graph.c: graphs in Lua: text, parts, the reference interpreter, passes, gradients, running.
 *
 * Holds: a graph in a handle never changes; what would change it works on a copy.
 */
#include <string.h>
#include "tensor/args.h"
#include "tensor/graph.h"
#include "tensor/ops.h"
#include "ir/eval.h"
#include "ir/grad.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "pass/pass.h"

static void box_end(Owned *o)
{
    GraphBox *b = (GraphBox *)o;
    if (b->graph) ir_graph_free(b->graph);
    b->graph = NULL;
}

static int box_gc(lua_State *L)
{
    GraphBox *b = lua_touserdata(L, 1);
    bind_disown(&b->owned);
    box_end(&b->owned);
    return 0;
}

/* g:close(), as often as one likes */
static int graph_close(lua_State *L)
{
    bind_check_self(L, "sgl.graph");
    return box_gc(L);
}

GraphBox *tensor_graph_check(lua_State *L)
{
    GraphBox *b = bind_check_self(L, "sgl.graph");
    if (!b->graph) bind_raise(L, SGL_ECLOSED, NULL, "the graph is closed");
    return b;
}

static Graph *check_graph(lua_State *L) { return tensor_graph_check(L)->graph; }

static int graph_text(lua_State *L)
{
    Graph *g = check_graph(L);
    Str *s = bind_text(L);
    ir_print(g, s);
    return bind_text_push(L, s);
}

/* g:show(kernels?), g:show(stage), and tostring */
static int graph_show(lua_State *L)
{
    if (lua_type(L, 2) == LUA_TSTRING) return tensor_graph_stage(L);
    const GraphBox *b = tensor_graph_check(L);
    int kernels = (int)luaL_optinteger(L, 2, b->kernels);
    Str *s = bind_text(L);
    ir_show(b->graph, kernels, s);
    return bind_text_push(L, s);
}

static int graph_tostring(lua_State *L)
{
    const GraphBox *b = bind_check_self(L, "sgl.graph");
    lua_settop(L, 1);
    if (b->graph) return graph_show(L);
    lua_pushliteral(L, "closed graph");
    return 1;
}

static void push_id(lua_State *L, const Node *n) { lua_pushfstring(L, "%%%d", (int)n->id); }

/* Sizes as integers, expressions over symbols as text. */
static void push_node_dims(lua_State *L, const Node *n)
{
    lua_createtable(L, n->rank, 0);
    for (int d = 0; d < n->rank; d++) {
        if (ir_dim_is_const(n->dims[d])) {
            lua_pushinteger(L, n->dims[d]);
        } else {
            Str *s = bind_text(L);
            ir_dim_text(n->graph->cx, n->dims[d], s);
            bind_text_push(L, s);
            lua_remove(L, -2);
        }
        lua_rawseti(L, -2, d + 1);
    }
}

/* Pushes what is known of a node as a table. */
static void push_node(lua_State *L, const Node *n)
{
    lua_createtable(L, 0, 9);
    push_id(L, n);
    lua_setfield(L, -2, "id");
    lua_pushstring(L, ir_op(n)->name);
    lua_setfield(L, -2, "op");
    lua_pushstring(L, DTYPES[n->dtype].name);
    lua_setfield(L, -2, "dtype");
    push_node_dims(L, n);
    lua_setfield(L, -2, "shape");
    lua_createtable(L, n->nin, 0);
    for (int i = 0; i < n->nin; i++) {
        push_id(L, n->in[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "inputs");
    tensor_attrs_push(L, n);
    lua_setfield(L, -2, "attrs");
    if (n->src) {
        SrcPos at = base_src_pos(n->graph->cx, n->src);
        lua_pushstring(L, at.file);
        lua_setfield(L, -2, "file");
        lua_pushinteger(L, at.line);
        lua_setfield(L, -2, "line");
    }
    if (!n->composite) return;
    lua_pushstring(L, n->graph->composites.at[n->composite].name);
    lua_setfield(L, -2, "composite");
}

/* Pushes what is known of a composite as a table. */
static void push_composite(lua_State *L, const Graph *g, const Composite *c)
{
    lua_createtable(L, 0, 6);
    lua_pushstring(L, c->name);
    lua_setfield(L, -2, "name");
    lua_createtable(L, c->nin, 0);
    for (int i = 0; i < c->nin; i++) {
        push_id(L, c->in[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "inputs");
    push_id(L, c->out);
    lua_setfield(L, -2, "output");
    if (!c->src) return;
    SrcPos at = base_src_pos(g->cx, c->src);
    lua_pushstring(L, at.file);
    lua_setfield(L, -2, "file");
    lua_pushinteger(L, at.line);
    lua_setfield(L, -2, "line");
}

/* g:composites() -> list, the outer before the inner, of those that returned a value */
static int graph_composites(lua_State *L)
{
    const Graph *g = check_graph(L);
    lua_newtable(L);
    for (int i = 1; i < g->composites.n; i++) {
        if (!g->composites.at[i].out) continue;
        push_composite(L, g, &g->composites.at[i]);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
    return 1;
}

static int graph_nodes(lua_State *L)
{
    const Graph *g = check_graph(L);
    lua_createtable(L, g->nodes.n, 0);
    for (int i = 0; i < g->nodes.n; i++) {
        push_node(L, g->nodes.at[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static void push_end(lua_State *L, const Node *n, const char *name, int at)
{
    push_node(L, n);
    if (name && *name) {
        lua_pushstring(L, name);
        lua_setfield(L, -2, "name");
    }
    lua_rawseti(L, -2, at);
}

/* g:inputs() -> list; `state` and `assigned` say whether a run keeps it, and changes it. */
static int graph_inputs(lua_State *L)
{
    const Graph *g = check_graph(L);
    lua_createtable(L, g->inputs.n, 0);
    for (int i = 0; i < g->inputs.n; i++) {
        push_end(L, g->inputs.at[i].node, g->inputs.at[i].name, i + 1);
        lua_rawgeti(L, -1, i + 1);
        lua_pushboolean(L, g->inputs.at[i].kind == INPUT_STATE);
        lua_setfield(L, -2, "state");
        lua_pop(L, 1);
    }
    for (int i = 0; i < g->assigns.n; i++) {
        lua_rawgeti(L, -1, g->assigns.at[i].input + 1);
        lua_pushboolean(L, 1);
        lua_setfield(L, -2, "assigned");
        lua_pop(L, 1);
    }
    return 1;
}

static int graph_outputs(lua_State *L)
{
    const Graph *g = check_graph(L);
    lua_createtable(L, g->outputs.n, 0);
    for (int i = 0; i < g->outputs.n; i++)
        push_end(L, g->outputs.at[i].node, g->outputs.at[i].name, i + 1);
    return 1;
}

static int graph_hash(lua_State *L)
{
    uint64_t hash = ir_graph_hash(check_graph(L));
    lua_pushfstring(L, "%p", (void *)(uintptr_t)hash);
    return 1;
}

static int graph_verify(lua_State *L)
{
    Host *h = bind_of(L);
    base_err_clear(&h->cx->err);
    if (ir_verify(check_graph(L)) < 0) return bind_throw(L, h);
    lua_pushboolean(L, 1);
    return 1;
}

/* g:count(op) */
static int graph_count(lua_State *L)
{
    const Graph *g = check_graph(L);
    Op op = bind_check_op(L, 2);
    int count = 0;
    for (int i = 0; i < g->nodes.n; i++) count += g->nodes.at[i]->op == op;
    lua_pushinteger(L, count);
    return 1;
}

/* g:blocks() -> list of the graphs that control nodes run; their attributes count from 1 here */
static int graph_blocks(lua_State *L)
{
    Host *h = bind_of(L);
    const Graph *g = check_graph(L);
    lua_createtable(L, g->blocks.n, 0);
    for (int i = 0; i < g->blocks.n; i++) {
        GraphBox *b = tensor_graph_new(L, h);
        b->graph = ir_graph_ref(g->blocks.at[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int pass_unknown(lua_State *L, const char *name)
{
    const char *names[PASS_MAX_TIMES];
    int n = 0;
    for (const Pass *p = PASSES; p->name && n < PASS_MAX_TIMES; p++) names[n++] = p->name;
    return bind_unknown(L, "pass", "passes", name, names, n);
}

/* g:pass(name) -> the graph after that pass */
static int graph_pass(lua_State *L)
{
    Host *h = bind_of(L);
    Graph *g = check_graph(L);
    const char *name = luaL_checkstring(L, 2);
    const Pass *p = PASSES;
    while (p->name && strcmp(p->name, name) != 0) p++;
    if (!p->name) return pass_unknown(L, name);
    GraphBox *b = tensor_graph_new(L, h);
    Graph *copy = tensor_copy_whole(g);
    PassTimes times = {0};
    Schedule *s = copy ? pass_run(copy, NULL, name, &times, NULL, NULL) : NULL;
    if (!s) return bind_throw(L, h);
    b->graph = tensor_copy_whole(s->graph);
    pass_schedule_free(s);
    return tensor_graph_made(L, h, b);
}

/* A copy of g whose outputs are the gradients of one output with respect to inputs. */
static Graph *gradient_of(const Graph *g, int output, int n, const int *inputs, Node **wrt,
                          Node **dx)
{
    Graph *copy = tensor_copy_whole(g);
    if (!copy) return NULL;
    for (int i = 0; i < n; i++) wrt[i] = copy->inputs.at[inputs[i]].node;
    int status = ir_grad(copy, copy->outputs.at[output].node, n, wrt, dx);
    copy->outputs.n = copy->assigns.n = 0;
    copy->effects.n = 0;
    for (int i = 0; i < n && status == SGL_OK; i++) status = ir_output(copy, dx[i], NULL);
    if (status == SGL_OK) return copy;
    ir_graph_free(copy);
    return NULL;
}

static int check_index(lua_State *L, lua_Integer v, int n, const char *what)
{
    if (v >= 1 && v <= n) return (int)v - 1;
    return bind_raise(L, SGL_EARG, NULL, "grad: the graph has no %s %I, it has %d", what, v, n);
}

/* g:grad(output_index, input_indices) */
static int graph_grad(lua_State *L)
{
    Host *h = bind_of(L);
    Graph *g = check_graph(L);
    int output = check_index(L, luaL_checkinteger(L, 2), g->outputs.n, "output");
    int n = bind_check_list(L, 3, "grad: the inputs");
    int *inputs = bind_scratch(L, n, sizeof *inputs);
    for (int i = 0; i < n; i++)
        inputs[i] = check_index(L, tensor_check_item(L, 3, i + 1, "grad"), g->inputs.n, "input");
    Node **wrt = bind_scratch(L, n, sizeof *wrt), **dx = bind_scratch(L, n, sizeof *dx);
    GraphBox *b = tensor_graph_new(L, h);
    b->graph = gradient_of(g, output, n, inputs, wrt, dx);
    return tensor_graph_made(L, h, b);
}

/* core.parse(text) */
static int graph_parse(lua_State *L)
{
    Host *h = bind_of(L);
    const char *text = luaL_checkstring(L, 1);
    GraphBox *b = tensor_graph_new(L, h);
    b->graph = ir_parse(h->cx, text);
    return tensor_graph_made(L, h, b);
}

/* What the roots are made of, up to values that are known, as a graph of its own. */
static Graph *pending_part(const Trace *tr, int n, Node *const *roots, uint8_t *mark, Node **made)
{
    Graph *g = ir_graph_new(tr->graph->cx);
    if (!g) return NULL;
    for (int i = 0; i < n; i++) mark[roots[i]->id] = COPY_NODE;
    tensor_copy_mark(tr->graph, tr, false, mark);
    int status = tensor_copy(tr->graph, mark, g, made);
    for (int i = 0; i < n && status == SGL_OK; i++) status = ir_output(g, made[roots[i]->id], NULL);
    if (status == SGL_OK) return g;
    ir_graph_free(g);
    return NULL;
}

/* core.graph(outputs): what is pending for the tensors, or recorded so far inside a capture */
static int graph_of(lua_State *L)
{
    Host *h = bind_of(L);
    int n;
    tensor_list(L, h, 1, "graph", &n);
    Node **roots = bind_scratch(L, n, sizeof *roots);
    Trace *tr = tensor_trace(L, h);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 1, i + 1);
        roots[i] = tensor_node(L, h, lua_gettop(L), "graph");
        lua_pop(L, 1);
    }
    uint8_t *mark = bind_scratch(L, tr->graph->nodes.n, sizeof *mark);
    Node **made = bind_scratch(L, tr->graph->nodes.n, sizeof *made);
    GraphBox *b = tensor_graph_new(L, h);
    b->graph = pending_part(tr, n, roots, mark, made);
    return tensor_graph_made(L, h, b);
}

static const luaL_Reg GRAPH_META[] = {
    {"__gc", box_gc},
    {"__close", graph_close},
    {"__tostring", graph_tostring},
    {NULL, NULL},
};

static const luaL_Reg GRAPH_METHODS[] = {
    {"text", graph_text},     {"show", graph_show},
    {"nodes", graph_nodes},   {"composites", graph_composites},
    {"inputs", graph_inputs}, {"outputs", graph_outputs},
    {"hash", graph_hash},     {"verify", graph_verify},
    {"count", graph_count},   {"pass", graph_pass},
    {"grad", graph_grad},     {"blocks", graph_blocks},
    {"close", graph_close},   {NULL, NULL},
};

void tensor_graph_class(lua_State *L)
{
    static const luaL_Reg *const LISTS[] = {GRAPH_METHODS, TENSOR_EVAL_METHODS,
                                            TENSOR_SPLICE_METHODS};
    bind_class(L, "sgl.graph", GRAPH_META, LISTS, 3);
}

GraphBox *tensor_graph_new(lua_State *L, Host *h)
{
    GraphBox *b = lua_newuserdatauv(L, sizeof *b, 0);
    *b = (GraphBox){.kernels = -1};
    tensor_graph_class(L);
    lua_setmetatable(L, -2);
    bind_own(h, &b->owned, box_end);
    base_err_clear(&h->cx->err);
    return b;
}

int tensor_graph_made(lua_State *L, Host *h, const GraphBox *b)
{
    return b->graph ? 1 : bind_throw(L, h);
}

const luaL_Reg TENSOR_GRAPH[] = {
    {"graph", graph_of},
    {"parse", graph_parse},
    {NULL, NULL},
};
