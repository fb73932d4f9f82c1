/* grad.c: gradients and composite composites of recorded operations.
 */
#include "tensor/args.h"
#include "tensor/room.h"
#include "ir/build.h"
#include "ir/grad.h"
#include "ir/mark.h"

/* Does the loss reach the tensor of that gradient? A constant 0 comes of one that it does not, and
 * of functions such as sign, which teach it nothing. */
static bool is_reached(const Node *dx)
{
    double value;
    return !ir_const_value(dx, &value) || value != 0;
}

/* Gradients by wrt, and by past[i] (NULL: none) what tensor i was before it became a leaf: a loss
 * recorded before then reads that. wrt has room for n more. Each is a node of its own, which only
 * the script reads: a gradient by a gradient goes back through no other. `told`: the graph's text
 * says which they are. reached[i]: is it more than a constant 0? */
static int gradients(Graph *g, Node *loss, int n, Node **wrt, Node *const *past, Node **dx,
                     bool *reached, bool told)
{
    int m = n;
    for (int i = 0; i < n; i++)
        if (past[i]) wrt[m++] = past[i];
    int status = ir_grad(g, loss, m, wrt, dx);
    if (status == SGL_OK && told) status = ir_mark_loss(g, loss);
    for (int i = 0, k = n; i < n && status == SGL_OK; i++) {
        reached[i] = is_reached(dx[i]) || (past[i] && is_reached(dx[k]));
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

/* The node in r of the tensor at arg. */
static Node *node_at(lua_State *L, Recorder *r, int arg)
{
    Node *n = r->ops->node(L, r, arg, tensor_check(L, r->host, arg, "grad"));
    if (!n) bind_throw(L, r->host);
    return n;
}

/* Pushes the list of the numbers from 1 of those that were not reached. */
static void push_missed(lua_State *L, int n, const bool *reached)
{
    lua_newtable(L);
    for (int i = 0, count = 0; i < n; i++) {
        if (reached[i]) continue;
        lua_pushinteger(L, i + 1);
        lua_rawseti(L, -2, ++count);
    }
}

/* core.grad(loss, list) -> list, numbers of those that the loss does not reach */
static int grad(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, 2);
    tensor_check(L, h, 1, "grad");
    int n = bind_check_list(L, 2, "grad: the tensors");
    Node **wrt = bind_scratch(L, 2 * n, sizeof *wrt), **dx = bind_scratch(L, 2 * n, sizeof *dx);
    Node **past = bind_scratch(L, n, sizeof *past);
    bool *reached = bind_scratch(L, n, sizeof *reached);
    lua_createtable(L, n, 0);
    int list = lua_gettop(L);
    for (int i = 0; i < n; i++) {
        tensor_new(L, h);
        lua_rawseti(L, list, i + 1);
    }
    Trace *tr = tensor_trace(L, h);
    Recorder *r = tensor_recorder(h), *home = r->ops->grad_home(L, r);
    home->trace->graph->src = tr->graph->src;
    tr = home->trace;
    Node *loss = node_at(L, home, 1);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        wrt[i] = node_at(L, home, lua_gettop(L));
        past[i] = tensor_trace_past(tr, tensor_at(L, h, -1));
        lua_pop(L, 1);
    }
    home->ops->grad_check(L, home, loss, n, wrt);
    if (gradients(tr->graph, loss, n, wrt, past, dx, reached, tensor_recording(h)) < 0)
        return bind_throw(L, h);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, list, i + 1);
        tensor_bind(tensor_at(L, h, -1), tr, dx[i]);
        lua_pop(L, 1);
    }
    push_missed(L, n, reached);
    return 2;
}

/* An open composite. It pins its trace, and closes as a to-be-closed variable, so also when an
 * error passes through. A capture that ends first takes its composites with it. */
typedef struct Open {
    Trace *trace;
    Graph *graph;
    uint32_t number;
} Open;

static void composite_end(Host *h, Open *o, Node *out)
{
    Trace *tr = o->trace;
    o->trace = NULL;
    bool there = tr && (tr == room_of(h)->pending.trace || tr == tensor_recorder(h)->trace);
    if (!there || tr->graph != o->graph) return;
    tr->pins--;
    ir_composite_end(tr->graph, o->number, out);
}

static int composite_close(lua_State *L)
{
    composite_end(lua_touserdata(L, lua_upvalueindex(1)), lua_touserdata(L, 1), NULL);
    return 0;
}

static const luaL_Reg REGION_META[] = {
    {"__close", composite_close},
    {"__gc", composite_close},
    {NULL, NULL},
};

/* Begins the composite over the tensors in the list at 2. */
static void composite_begin(lua_State *L, Host *h, Open *o)
{
    const char *name = luaL_checkstring(L, 1);
    int n = bind_check_list(L, 2, "composite"), count = 0;
    Node **in = bind_scratch(L, n, sizeof *in);
    Trace *tr = tensor_trace(L, h);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        if (tensor_at(L, h, -1)) in[count++] = tensor_node(L, h, lua_gettop(L), name);
        lua_pop(L, 1);
    }
    uint32_t number = ir_composite_begin(tr->graph, name, count, in);
    if (!number) bind_throw(L, h);
    *o = (Open){tr, tr->graph, number};
    tr->pins++;
}

/* core.composite(name, inputs, fn, ...) -> the results of fn(...) */
static int composite(lua_State *L)
{
    Host *h = bind_of(L);
    int extra = lua_gettop(L) - 3;
    luaL_checktype(L, 3, LUA_TFUNCTION);
    Open *o = lua_newuserdatauv(L, sizeof *o, 0);
    *o = (Open){0};
    bind_class(L, "sgl.composite", REGION_META, NULL, 0);
    lua_setmetatable(L, -2);
    lua_insert(L, 3);
    lua_toclose(L, 3);
    composite_begin(L, h, o);
    lua_pop(L, 1);
    lua_call(L, extra, LUA_MULTRET);
    Tensor *first = lua_gettop(L) > 3 ? tensor_at(L, h, 4) : NULL;
    composite_end(h, o, first && first->trace == o->trace ? first->node : NULL);
    return lua_gettop(L) - 3;
}

const luaL_Reg TENSOR_GRAD[] = {
    {"grad", grad},
    {"composite", composite},
    {NULL, NULL},
};
