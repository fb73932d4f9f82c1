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

/* What a tensor was before: its gradient is a part of that of wrt[of], or that itself where
 * something that might have assigned the tensor did not. */
typedef struct Before {
    int of;
    Node *set; /* bool[]; NULL: a part */
} Before;

typedef struct Wrt {
    int n, all; /* the tensors; with what they were before */
    Node **at, **dx;
    Before *before; /* of those from n on */
    bool *reached;  /* by tensor: is its gradient more than a constant 0? */
} Wrt;

/* The gradient of wrt[of] with that of what it was before. */
static Node *with_before(const Wrt *w, int k)
{
    const Before *b = &w->before[k - w->n];
    if (!b->set) return ir_add(w->dx[b->of], w->dx[k]);
    return ir_where(b->set, w->dx[b->of], w->dx[k]);
}

/* Each gradient is a node of its own, which only the script reads: a gradient by a gradient goes
 * back through no other. `told`: the graph's text says which they are. */
static int gradients(Graph *g, Node *loss, Wrt *w, bool told)
{
    int status = ir_grad(g, loss, w->all, w->at, w->dx);
    if (status == SGL_OK && told) status = ir_mark_loss(g, loss);
    for (int i = 0; i < w->all && status == SGL_OK; i++) w->reached[i] = is_reached(w->dx[i]);
    for (int k = w->all - 1; k >= w->n && status == SGL_OK; k--) {
        int of = w->before[k - w->n].of;
        w->reached[of] |= w->reached[k];
        w->dx[of] = with_before(w, k);
        if (!w->dx[of]) status = g->cx->err.code;
    }
    for (int i = 0; i < w->n && status == SGL_OK; i++) {
        w->dx[i] = ir_reshape(w->dx[i], w->dx[i]->rank, w->dx[i]->dims);
        if (!w->dx[i]) status = g->cx->err.code;
        else if (told) status = ir_mark_grad(g, w->dx[i], w->at[i]);
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

/* How many things the tensor that is n in the recorder was before. */
static int count_before(const Recorder *home, const Node *n)
{
    int count = 0;
    Node *set;
    while ((n = home->ops->grad_before(home, n, &set))) count++;
    return count;
}

/* The nodes of the tensors in the list at 2, and what those were before; pushes scratch. A loss
 * that was recorded before a tensor became a leaf reads what it was then. */
static Wrt wrt_new(lua_State *L, Recorder *home)
{
    Wrt w = {.n = (int)lua_rawlen(L, 2)};
    int most = w.n;
    Node **now = bind_scratch(L, w.n, sizeof *now), *set;
    for (int i = 0; i < w.n; i++) {
        lua_rawgeti(L, 2, i + 1);
        now[i] = node_at(L, home, lua_gettop(L));
        most += 1 + count_before(home, now[i]);
        lua_pop(L, 1);
    }
    w.at = bind_scratch(L, most, sizeof *w.at);
    w.dx = bind_scratch(L, most, sizeof *w.dx);
    w.before = bind_scratch(L, most, sizeof *w.before);
    w.reached = bind_scratch(L, most, sizeof *w.reached);
    w.all = w.n;
    for (int i = 0; i < w.n; i++) {
        lua_rawgeti(L, 2, i + 1);
        Node *before = tensor_trace_past(home->trace, tensor_at(L, home->host, -1));
        lua_pop(L, 1);
        w.at[i] = now[i];
        if (before) {
            w.before[w.all - w.n] = (Before){i, NULL};
            w.at[w.all++] = before;
        }
        for (int of = i; (before = home->ops->grad_before(home, w.at[of], &set)); of = w.all - 1) {
            w.before[w.all - w.n] = (Before){of, set};
            w.at[w.all++] = before;
        }
    }
    return w;
}

/* core.grad(loss, list) -> list, numbers of those that the loss does not reach */
static int grad(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, 2);
    tensor_check(L, h, 1, "grad");
    int n = bind_check_list(L, 2, "grad: the tensors");
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
    Wrt wrt = wrt_new(L, home);
    home->ops->grad_check(L, home, loss, wrt.all, wrt.at);
    if (gradients(tr->graph, loss, &wrt, tensor_recording(h)) < 0) return bind_throw(L, h);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, list, i + 1);
        tensor_bind(tensor_at(L, h, -1), tr, wrt.dx[i]);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, list);
    push_missed(L, n, wrt.reached);
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
