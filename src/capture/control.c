/* control.c: core.cond, core.scan and core.loop inside a capture: what the functions do becomes
 * blocks of a control node.
 *
 * In:    functions of tensors that return flat lists of tensors.
 * Out:   the node's results as tensors of the capture around.
 * Holds: a function sees handles as it would outside. What it reads from outside is an input of
 *        its block; what it assigns is a result, which the handle stands for afterwards; where it
 *        runs several times, what it assigns is carried from step to step. Random numbers differ
 *        from step to step: a key is drawn outside, and the number of the step is the counter.
 */
#include <string.h>
#include "capture/room.h"
#include "tensor/ops.h"
#include "ir/build.h"
#include "ir/control.h"
#include "ir/rebuild.h"

static void no_memory(lua_State *L, Host *h)
{
    base_fail(h->cx, SGL_ENOMEM, "out of memory for a block");
    bind_throw(L, h);
}

/* ---- capturing a block */

/* (block, function, …): calls the function with a tensor for each argument of the block. */
static int block_call(lua_State *L)
{
    Host *h = bind_of(L);
    Capture *c = lua_touserdata(L, 1);
    int nargs = c->inputs.n;
    lua_settop(L, 2);
    lua_toclose(L, 1);
    tensor_recorder_on(h, &c->recorder);
    c->since = watch_block_begin(capture_step(c)->watch);
    luaL_checkstack(L, nargs + LUA_MINSTACK, "too many arguments");
    for (int i = 0; i < nargs; i++) tensor_bind(tensor_new(L, h), &c->trace, c->inputs.at[i].input);
    lua_call(L, nargs, 1);
    int n = bind_check_list(L, 2, "the results of a block");
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, 2, i);
        Node *node = tensor_node(L, h, 3, "the results of a block");
        if (!vec_push(&c->results, node)) no_memory(L, h);
        lua_pop(L, 1);
    }
    capture_off(L, c);
    return 0;
}

/* Pushes (block, its states): a new block inside the capture that is on; `draw` is the number of
 * its control node. */
static Capture *block_new(lua_State *L, Host *h, bool repeats, int draw)
{
    Capture *c = capture_new(L, h);
    c->outer = capture_on(h);
    c->recorder.outer = &c->outer->recorder;
    c->recorder.assumed = c->outer->recorder.assumed;
    c->number = draw;
    c->repeats = repeats;
    return c;
}

static void block_capture(lua_State *L, Capture *c, int block, int fn)
{
    Host *h = c->host;
    c->trace.graph->src = c->outer->trace.graph->src;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, block_call, 1);
    lua_pushvalue(L, block);
    lua_pushvalue(L, fn);
    lua_call(L, 2, 0);
    base_err_clear(&h->cx->err);
}

/* What the input stands for after the block. */
static Node *value_after(const Capture *c, const BlockInput *in)
{
    uint64_t place;
    if (in->kind == BLOCK_EFFECT) return c->effect;
    if (in->kind == BLOCK_TENSOR && base_map_get(&c->state_of, (uintptr_t)in->tensor, &place))
        return c->states.at[place].now;
    return in->input;
}

/* ---- putting blocks together */

/* An input of the control node: carries, then xs, then captures. One that changes is a result as
 * well: among the carries, or for cond behind the results. */
typedef enum Place { PLACE_CARRY, PLACE_CHANGE, PLACE_XS, PLACE_CAPTURE, PLACE_COUNT } Place;
typedef struct Joined {
    BlockKind kind;
    Tensor *tensor;
    Node *from;
    Place place;
    bool changes;
    Node *made; /* in the block at hand */
} Joined;

typedef struct Plan {
    lua_State *L;
    Host *h;
    Capture *outer, *block[2];
    int list[2], nblock; /* on the stack: the states of each block */
    Op op;
    int ncarry; /* the user's */
    int given;  /* results of blocks before this one */
    Dim length;
    bool reverse;
    Joined *in;
    int n, place[PLACE_COUNT]; /* inputs, and how many of each place */
    Node **nodes;              /* scratch for n nodes, twice */
} Plan;

static bool stands_for(const Joined *j, const BlockInput *in)
{
    return j->kind == in->kind && j->tensor == in->tensor &&
           (in->kind != BLOCK_ARG || j->from == in->from);
}

static Joined *find(const Plan *p, const BlockInput *in)
{
    for (int i = 0; i < p->n; i++)
        if (stands_for(&p->in[i], in)) return &p->in[i];
    return NULL;
}

static Place place_of(const Plan *p, const Joined *j, int number)
{
    if (j->kind == BLOCK_ARG) return number < p->ncarry ? PLACE_CARRY : PLACE_XS;
    if (j->kind == BLOCK_INDEX) return p->op == OP_loop ? PLACE_CHANGE : PLACE_XS;
    return j->changes && p->op != OP_cond ? PLACE_CHANGE : PLACE_CAPTURE;
}

/* Stable, so the user's carries, xs and results keep their order. */
static void sort_inputs(Plan *p)
{
    Joined *sorted = bind_scratch(p->L, (size_t)p->n + 1, sizeof *sorted);
    int n = 0;
    for (int i = 0; i < p->n; i++) p->in[i].place = place_of(p, &p->in[i], i);
    for (Place place = 0; place < PLACE_COUNT; place++)
        for (int i = 0; i < p->n; i++) {
            if (p->in[i].place != place) continue;
            sorted[n++] = p->in[i];
            p->place[place]++;
        }
    p->in = sorted;
}

/* What the blocks read, each thing once. Arguments come first and are all different inputs. */
static void join(Plan *p)
{
    int most = 0;
    for (int b = 0; b < p->nblock; b++) most += p->block[b]->inputs.n;
    p->in = bind_scratch(p->L, (size_t)most + 1, sizeof *p->in);
    p->nodes = bind_scratch(p->L, 2 * ((size_t)most + 1), sizeof *p->nodes);
    for (int b = 0; b < p->nblock; b++) {
        const Capture *c = p->block[b];
        for (int i = 0; i < c->inputs.n; i++) {
            const BlockInput *in = &c->inputs.at[i];
            Joined *j = in->kind == BLOCK_ARG ? NULL : find(p, in);
            if (!j) {
                j = &p->in[p->n++];
                *j = (Joined){.kind = in->kind, .tensor = in->tensor, .from = in->from};
            }
            j->changes |= value_after(c, in) != in->input || in->kind == BLOCK_INDEX;
        }
    }
    sort_inputs(p);
}

/* The node outside that is the input. */
static Node *outside(const Plan *p, const Joined *j)
{
    Graph *g = p->outer->trace.graph;
    if (j->kind != BLOCK_INDEX) return j->from;
    return p->op == OP_loop ? ir_const(g, DT_i64, 0, NULL, 0)
                            : ir_iota(g, DT_i64, 1, &p->length, 0);
}

/* The inputs in the new graph of a block; NULL in Joined.made: no memory. */
static bool make_inputs(const Plan *p, Graph *g)
{
    for (int i = 0; i < p->n; i++) {
        Joined *j = &p->in[i];
        const Node *n = p->nodes[i];
        int slice = j->place == PLACE_XS;
        j->made = ir_input(g, INPUT_ARG, NULL, n->dtype, n->rank - slice, n->dims + slice);
        /* The input stays, unused, and is dropped when the graph is compiled. */
        if (j->made && n->op == OP_const && j->place == PLACE_CAPTURE)
            j->made = ir_node_over(g, n, NULL);
        if (!j->made) return false;
    }
    return true;
}

/* The value of an input after the block, in its new graph. */
static Node *changed(const Capture *c, const Joined *j, Node *const *out)
{
    if (j->kind == BLOCK_INDEX) return ir_add(j->made, ir_const_like(j->made, 1));
    int at = c->results.n;
    for (int i = 0; i < c->inputs.n; i++) {
        const BlockInput *in = &c->inputs.at[i];
        if (in->kind != BLOCK_ARG && stands_for(j, in)) return out[at];
        at++;
    }
    return j->made;
}

/* The results in order: those of the user's carries, what changed, the others. */
static bool give(const Plan *p, const Capture *c, Graph *g, Node *const *out)
{
    int first = p->op == OP_cond ? c->results.n : p->ncarry;
    bool ok = true;
    for (int k = 0; k < first && ok; k++) ok = ir_output(g, out[k], NULL) == SGL_OK;
    for (int i = 0; i < p->n && ok; i++) {
        const Joined *j = &p->in[i];
        bool result = p->op == OP_cond ? j->changes : j->place == PLACE_CHANGE;
        if (result) ok = ir_output(g, changed(c, j, out), NULL) == SGL_OK;
    }
    for (int k = first; k < c->results.n && ok; k++) ok = ir_output(g, out[k], NULL) == SGL_OK;
    return ok;
}

/* Adds block b to the graph outside, over the joined inputs; its number, or raises. */
static int add_block(Plan *p, int b)
{
    Capture *c = p->block[b];
    Graph *from = c->trace.graph, *g = ir_graph_new(p->h->cx);
    Node **args = bind_scratch(p->L, (size_t)c->inputs.n + 1, sizeof *args);
    Node **out = bind_scratch(p->L, (size_t)(c->results.n + c->inputs.n) + 1, sizeof *out);
    int number = -1;
    bool ok = g && make_inputs(p, g);
    for (int i = 0, arg = 0; i < c->inputs.n && ok; i++) {
        const BlockInput *in = &c->inputs.at[i];
        int at = arg < p->ncarry ? arg : arg + p->place[PLACE_CHANGE];
        args[i] = in->kind == BLOCK_ARG ? p->in[at].made : find(p, in)->made;
        arg += in->kind == BLOCK_ARG;
    }
    for (int k = 0; k < c->results.n && ok; k++)
        ok = ir_output(from, c->results.at[k], NULL) == SGL_OK;
    for (int i = 0; i < c->inputs.n && ok; i++)
        ok = ir_output(from, value_after(c, &c->inputs.at[i]), NULL) == SGL_OK;
    if (ok && ir_block_splice(g, from, args, NULL, out) == SGL_OK && give(p, c, g, out))
        number = ir_block_add(p->outer->trace.graph, g);
    ir_graph_free(g);
    lua_pop(p->L, 2);
    return number < 0 ? bind_throw(p->L, p->h) : number;
}

/* Result `out` of the node over the joined inputs; equal nodes are one, so each result asks
 * anew. */
static Node *control_node(const Plan *p, const int number[2], int out)
{
    int ncarry = p->place[PLACE_CARRY] + p->place[PLACE_CHANGE];
    switch (p->op) {
    case OP_cond:
        return ir_cond(p->nodes[p->n], p->n, p->nodes, number[0], number[1], out);
    case OP_scan:
        return ir_scan(p->n, p->nodes, number[0], ncarry, p->place[PLACE_XS], p->length, p->reverse,
                       out);
    default:
        return ir_loop(p->n, p->nodes, number[0], ncarry, p->length, out);
    }
}

/* The handle of a changed tensor, from the states of a block, goes on the stack. */
static void push_tensor(const Plan *p, const Tensor *t)
{
    uint64_t place = 0;
    int b = 0;
    while (!base_map_get(&p->block[b]->state_of, (uintptr_t)t, &place)) b++;
    lua_rawgeti(p->L, p->list[b], (lua_Integer)place + 1);
}

/* What the blocks assigned is assigned outside. */
static void apply_changes(Plan *p, const int number[2], int first)
{
    for (int i = 0, out = first; i < p->n; i++) {
        Joined *j = &p->in[i];
        if (p->op == OP_cond ? !j->changes : j->place != PLACE_CHANGE) continue;
        Node *made = control_node(p, number, out++);
        if (made && j->kind == BLOCK_EFFECT) p->outer->effect = made;
        if (made && j->kind == BLOCK_TENSOR) {
            push_tensor(p, j->tensor);
            made = capture_assign(p->L, p->h, lua_gettop(p->L), j->tensor, made);
            lua_pop(p->L, 1);
            BlockChange change = {made, p->given, p->outer->given.n};
            if (made && !vec_push(&p->outer->changes, change)) no_memory(p->L, p->h);
        }
        if (!made) bind_throw(p->L, p->h);
    }
}

/* Pushes the list of the results: `count` of them from `first` on. */
static void push_results(Plan *p, const int number[2], int first, int count)
{
    lua_createtable(p->L, count, 0);
    for (int k = 0; k < count; k++) {
        Tensor *t = tensor_new(p->L, p->h);
        Node *made = control_node(p, number, first + k);
        if (!made) bind_throw(p->L, p->h);
        tensor_bind(t, &p->outer->trace, made);
        if (!vec_push(&p->outer->given, made)) no_memory(p->L, p->h);
        lua_rawseti(p->L, -2, k + 1);
    }
}

static void plan_blocks(Plan *p, int number[2])
{
    join(p);
    for (int i = 0; i < p->n; i++)
        if (!(p->nodes[i] = outside(p, &p->in[i]))) bind_throw(p->L, p->h);
    for (int b = 0; b < p->nblock; b++) number[b] = add_block(p, b);
}

/* ---- what Lua calls */

/* *draw: the number of the control node among the draws. */
static Host *begin(lua_State *L, const char *what, int *draw)
{
    Host *h = bind_of(L);
    if (!tensor_recording(h))
        bind_raise(L, SGL_ESTATE, NULL, "%s: only while a step is captured", what);
    tensor_trace(L, h);
    *draw = capture_draw(capture_on(h));
    return h;
}

/* core.cond(pred, then, otherwise, user_then, user_otherwise) -> list */
static int cond(lua_State *L)
{
    int draw;
    Host *h = begin(L, "cond", &draw);
    lua_settop(L, 5);
    Plan p = {.L = L, .h = h, .outer = capture_on(h), .nblock = 2, .op = OP_cond};
    p.given = p.outer->given.n;
    int number[2];
    Node *pred = tensor_node(L, h, 1, "cond");
    for (int b = 0; b < 2; b++) {
        p.block[b] = block_new(L, h, false, draw);
        p.list[b] = lua_gettop(L);
        block_capture(L, p.block[b], p.list[b] - 1, 2 + b);
    }
    plan_blocks(&p, number);
    p.nodes[p.n] = pred;
    int results = p.block[0]->results.n;
    push_results(&p, number, 0, results);
    apply_changes(&p, number, results);
    return 1;
}

/* The arguments of a block that repeats: the tensors in the list at `list`. */
static int add_arguments(Plan *p, int list, bool sliced)
{
    int n = bind_check_list(p->L, list, OPS[p->op].name);
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(p->L, list, i);
        Node *node = tensor_node(p->L, p->h, lua_gettop(p->L), OPS[p->op].name);
        Shape s = {.dtype = (Dtype)node->dtype, .rank = node->rank - sliced};
        if (s.rank < 0) bind_raise(p->L, SGL_ESHAPE, NULL, "scan: a scalar has no slices");
        memcpy(s.dims, node->dims + sliced, (size_t)s.rank * sizeof *s.dims);
        Graph *g = p->block[0]->trace.graph;
        Node *input = ir_input(g, INPUT_ARG, NULL, s.dtype, s.rank, s.dims);
        BlockInput in = {BLOCK_ARG, NULL, node, input};
        if (!input) bind_throw(p->L, p->h);
        if (!vec_push(&p->block[0]->inputs, in)) no_memory(p->L, p->h);
        if (sliced) p->length = node->dims[0];
        lua_pop(p->L, 1);
    }
    return n;
}

/* core.scan(fn, carries, xs, length, reverse, user) -> list of the carries, list of the ys */
static int scan(lua_State *L)
{
    int draw;
    Host *h = begin(L, "scan", &draw);
    lua_settop(L, 6);
    Plan p = {.L = L, .h = h, .outer = capture_on(h), .nblock = 1, .op = OP_scan};
    p.given = p.outer->given.n;
    int number[2];
    p.length = tensor_dim_at(L, 4);
    if (p.length == DIM_FAIL) p.length = luaL_optinteger(L, 4, 0);
    p.reverse = lua_toboolean(L, 5);
    p.block[0] = block_new(L, h, true, draw);
    p.list[0] = lua_gettop(L);
    p.ncarry = add_arguments(&p, 2, false);
    add_arguments(&p, 3, true);
    block_capture(L, p.block[0], p.list[0] - 1, 1);
    capture_carry_end(L, p.block[0], p.ncarry);
    plan_blocks(&p, number);
    int carries = p.place[PLACE_CARRY] + p.place[PLACE_CHANGE];
    push_results(&p, number, 0, p.ncarry);
    push_results(&p, number, carries, p.block[0]->results.n - p.ncarry);
    apply_changes(&p, number, p.ncarry);
    return 2;
}

/* core.loop(fn, carries, max, user) -> list of the carries, the number of steps. The first carry
 * is the condition. */
static int loop(lua_State *L)
{
    int draw;
    Host *h = begin(L, "loop", &draw);
    lua_settop(L, 4);
    Plan p = {.L = L, .h = h, .outer = capture_on(h), .nblock = 1, .op = OP_loop};
    p.given = p.outer->given.n;
    int number[2];
    p.length = luaL_checkinteger(L, 3);
    p.block[0] = block_new(L, h, true, draw);
    p.list[0] = lua_gettop(L);
    p.ncarry = add_arguments(&p, 2, false);
    block_capture(L, p.block[0], p.list[0] - 1, 1);
    capture_carry_end(L, p.block[0], p.ncarry);
    plan_blocks(&p, number);
    push_results(&p, number, 0, p.ncarry);
    push_results(&p, number, p.place[PLACE_CARRY] + p.place[PLACE_CHANGE], 1);
    lua_rawgeti(L, -1, 1);
    lua_remove(L, -2);
    apply_changes(&p, number, p.ncarry);
    return 2;
}

const luaL_Reg CAPTURE_CONTROL[] = {
    {"cond", cond},
    {"scan", scan},
    {"loop", loop},
    {NULL, NULL},
};
