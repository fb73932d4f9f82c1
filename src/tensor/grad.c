/* grad.c: gradients and composite regions of recorded operations.
 */
#include <string.h>
#include "capture/capture.h"
#include "capture/history.h"
#include "tensor/trace.h"
#include "ir/build.h"
#include "ir/grad.h"
#include "ir/mark.h"

static bool is_among(const Node *n, int count, Node *const *nodes)
{
    for (int i = 0; i < count; i++)
        if (nodes[i] == n) return true;
    return false;
}

/* Does loss read a tensor, not one of wrt, whose history was dropped? */
static bool reads_cut(lua_State *L, const Node *loss, int n, Node *const *wrt)
{
    const Graph *g = loss->graph;
    uint8_t *mark = bind_scratch(L, g->nodes.n, 1);
    bool found = false;
    ir_reachable(g, 1, (Node *const[]){(Node *)loss}, mark);
    for (int i = 0; i < g->inputs.n; i++) {
        const GraphInput *in = &g->inputs.at[i];
        found |= mark[in->node->id] && !strcmp(in->name, TRACE_CUT) && !is_among(in->node, n, wrt);
    }
    lua_pop(L, 1);
    return found;
}

/* A gradient would be too small if loss depends on a tensor of the list at 2 also through
 * operations that are no longer recorded. So refuse where that may be. */
static void check_cut(lua_State *L, Host *h, const Node *loss, int n, Node *const *wrt)
{
    bool old = false;
    if (h->capture || !h->last_cut) return;
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        old |= tensor_at(L, h, -1)->id < h->last_cut;
        lua_pop(L, 1);
    }
    if (old && reads_cut(L, loss, n, wrt))
        bind_raise(L, SGL_EGRAD,
                   "compile the step, or keep numbers (loss:item()) instead of tensors",
                   "grad: too many operations were recorded, the oldest are gone");
}

/* A constant made in a capture is one node with all equal constants: its gradient would be theirs
 * too. */
static void check_wrt(lua_State *L, Host *h, const Node *n, int i)
{
    if (!h->capture || n->nin || n->op == OP_input) return;
    bind_raise(L, SGL_EGRAD, "make the tensor outside the step, or pass it as an argument",
               "grad: tensor %d is a constant made inside the captured step", i + 1);
}

/* What a block computed of a tensor after it assigned that is computed of another node than the one
 * that the tensor stands for behind the block: refused where the loss may depend on it so. */
static void check_changes(lua_State *L, const Capture *c, const Node *loss, int n, Node **wrt)
{
    if (!c || !c->changes.n) return;
    const Graph *g = c->trace.graph;
    uint8_t *mark = bind_scratch(L, (size_t)g->nodes.n, 1);
    mark[loss->id] = 1;
    ir_grad_reach(g, mark);
    for (int i = 0; i < c->changes.n; i++) {
        const BlockChange *b = &c->changes.at[i];
        bool read = false;
        for (int k = b->from; k < b->to; k++) read |= mark[c->given.at[k]->id];
        for (int k = 0; k < n && read; k++)
            if (wrt[k] == b->changed)
                bind_raise(L, SGL_EGRAD, "take the gradient in that function, or by its result",
                           "grad: tensor %d was assigned in a function given to sgl.cond, scan or "
                           "loop, and the loss depends on what that returned",
                           k + 1);
    }
    lua_pop(L, 1);
}

/* The node of the tensor at arg, in the capture c if there is one. */
static Node *node_of(lua_State *L, Host *h, Capture *c, int arg)
{
    Tensor *t = tensor_check(L, h, arg, "grad");
    return c ? capture_node_in(L, h, c, arg, t) : tensor_node(L, h, arg, "grad");
}

/* Gradients by wrt, and by past[i] (NULL: none) what tensor i was before it became a leaf: a loss
 * recorded before then reads that. wrt has room for n more. Each is a node of its own, which only
 * the script reads: a gradient by a gradient goes back through no other. `told`: the graph's text
 * says which they are. */
static int gradients(Graph *g, Node *loss, int n, Node **wrt, Node *const *past, Node **dx,
                     bool told)
{
    int m = n;
    for (int i = 0; i < n; i++)
        if (past[i]) wrt[m++] = past[i];
    int status = ir_grad(g, loss, m, wrt, dx);
    if (status == SGL_OK && told) status = ir_mark_loss(g, loss);
    for (int i = 0, k = n; i < n && status == SGL_OK; i++) {
        if (!past[i]) continue;
        dx[i] = ir_add(dx[i], dx[k++]);
        if (!dx[i]) status = g->cx->err.code;
    }
    for (int i = 0; i < n && status == SGL_OK; i++) {
        dx[i] = ir_reshape(dx[i], dx[i]->rank, dx[i]->dims);
        if (!dx[i]) status = g->cx->err.code;
        else if (told) status = ir_mark_grad(g, dx[i], wrt[i]);
    }
    return status;
}

/* core.grad(loss, list) -> list */
static int grad(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, 2);
    tensor_check(L, h, 1, "grad");
    int n = bind_check_list(L, 2, "grad: the tensors");
    Node **wrt = bind_scratch(L, 2 * n, sizeof *wrt), **dx = bind_scratch(L, 2 * n, sizeof *dx);
    Node **past = bind_scratch(L, n, sizeof *past);
    lua_createtable(L, n, 0);
    int list = lua_gettop(L);
    for (int i = 0; i < n; i++) {
        tensor_new(L, h);
        lua_rawseti(L, list, i + 1);
    }
    Trace *tr = tensor_trace(L, h);
    Capture *c = capture_grad_home(L, h);
    if (c && c != h->capture) {
        c->trace.graph->src = tr->graph->src;
        tr = &c->trace;
    }
    Node *loss = node_of(L, h, c, 1);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        wrt[i] = node_of(L, h, c, lua_gettop(L));
        check_wrt(L, h, wrt[i], i);
        if (!c) past[i] = tensor_trace_past(tr, tensor_at(L, h, -1));
        lua_pop(L, 1);
    }
    check_cut(L, h, loss, n, wrt);
    check_changes(L, c ? c : h->capture, loss, n, wrt);
    capture_history_check(L, h, c, loss);
    capture_grad_check(L, c, loss, n, wrt);
    capture_carry_note(L, h, c, loss);
    if (gradients(tr->graph, loss, n, wrt, past, dx, h->capture != NULL) < 0)
        return bind_throw(L, h);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, list, i + 1);
        tensor_bind(tensor_at(L, h, -1), tr, dx[i]);
        lua_pop(L, 1);
    }
    return 1;
}

/* An open region. It pins its trace, and closes as a to-be-closed variable, so also when an error
 * passes through. A capture that ends first takes its regions with it. */
typedef struct Open {
    Trace *trace;
    Graph *graph;
    uint32_t number;
} Open;

static void region_end(Host *h, Open *o, Node *out)
{
    Trace *tr = o->trace;
    o->trace = NULL;
    bool there = tr && (tr == h->pending || (h->capture && tr == &h->capture->trace));
    if (!there || tr->graph != o->graph) return;
    tr->pins--;
    ir_region_end(tr->graph, o->number, out);
}

static int region_close(lua_State *L)
{
    region_end(lua_touserdata(L, lua_upvalueindex(1)), lua_touserdata(L, 1), NULL);
    return 0;
}

static const luaL_Reg REGION_META[] = {
    {"__close", region_close},
    {"__gc", region_close},
    {NULL, NULL},
};

/* Begins the region over the tensors in the list at 2. */
static void region_begin(lua_State *L, Host *h, Open *o)
{
    const char *name = luaL_checkstring(L, 1);
    int n = bind_check_list(L, 2, "region"), count = 0;
    Node **in = bind_scratch(L, n, sizeof *in);
    Trace *tr = tensor_trace(L, h);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        if (tensor_at(L, h, -1)) in[count++] = tensor_node(L, h, lua_gettop(L), name);
        lua_pop(L, 1);
    }
    uint32_t number = ir_region_begin(tr->graph, name, count, in);
    if (!number) bind_throw(L, h);
    *o = (Open){tr, tr->graph, number};
    tr->pins++;
}

/* core.region(name, inputs, fn, ...) -> the results of fn(...) */
static int region(lua_State *L)
{
    Host *h = bind_of(L);
    int extra = lua_gettop(L) - 3;
    luaL_checktype(L, 3, LUA_TFUNCTION);
    Open *o = lua_newuserdatauv(L, sizeof *o, 0);
    *o = (Open){0};
    bind_class(L, "sgl.region", REGION_META, NULL, 0);
    lua_setmetatable(L, -2);
    lua_insert(L, 3);
    lua_toclose(L, 3);
    region_begin(L, h, o);
    lua_pop(L, 1);
    lua_call(L, extra, LUA_MULTRET);
    Tensor *first = lua_gettop(L) > 3 ? tensor_at(L, h, 4) : NULL;
    region_end(h, o, first && first->trace == o->trace ? first->node : NULL);
    return lua_gettop(L) - 3;
}

const luaL_Reg TENSOR_GRAD[] = {
    {"grad", grad},
    {"region", region},
    {NULL, NULL},
};
