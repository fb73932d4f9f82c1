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
#include "ir/close.h"

static void no_memory(lua_State *L, Host *h)
{
    base_fail(h->cx, SGL_ENOMEM, "out of memory for a block");
    bind_throw(L, h);
}

/* ---- capturing a block */

/* (block, function): turns the block on and calls the function with a tensor for each of its
 * arguments. */
static int block_call(lua_State *L)
{
    Host *h = bind_of(L);
    Capture *c = lua_touserdata(L, 1);
    int nargs = c->inputs.n;
    lua_settop(L, 2);
    tensor_recorder_on(h, &c->recorder);
    c->around = watch_block_begin(capture_step(c)->watch, L);
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
    return 0;
}

/* Each block in a block takes some of the C stack that Lua allows, 200 calls in all. */
enum { MOST_NESTED = 64 };

static void check_depth(lua_State *L, const Capture *outer)
{
    int depth = 0;
    for (const Capture *c = outer; c; c = c->outer) depth++;
    if (depth > MOST_NESTED)
        bind_raise(
            L, SGL_EUNSUP, "sgl.scan or sgl.loop repeats a function without nesting it",
            "functions given to sgl.cond, scan or loop are nested in each other more than %d "
            "deep",
            MOST_NESTED);
}

/* Pushes (block, its states): a new block inside the capture that is on; `draw` is the number of
 * its control node. */
static Capture *block_new(lua_State *L, Host *h, bool repeats, int draw)
{
    check_depth(L, capture_on(h));
    Capture *c = capture_new(L, h);
    c->outer = capture_on(h);
    c->recorder.outer = &c->outer->recorder;
    c->recorder.assumed = c->outer->recorder.assumed;
    c->number = draw;
    c->repeats = repeats;
    return c;
}

/* Is the error on the top one that ends the step while it is captured: a break, one of the capture
 * alone, or none of the step's? */
static bool is_final(lua_State *L, const Capture *step, int status, bool doubtful)
{
    if (status != LUA_ERRRUN || step->broken || doubtful) return true;
    if (lua_type(L, -1) == LUA_TSTRING) return strstr(lua_tostring(L, -1), "stack overflow");
    if (!lua_istable(L, -1)) return false;
    lua_getfield(L, -1, "code");
    const char *code = lua_tostring(L, -1);
    bool final = code && (!strcmp(code, "SGL_ENOMEM") || !strcmp(code, "SGL_EINTR"));
    lua_pop(L, 1);
    return final;
}

/* Raises the error on the top, which left a block inside c. */
static void raise_on(lua_State *L, const Capture *c, bool doubtful)
{
    watch_block_raises(capture_step(c)->watch, doubtful);
    lua_error(L);
}

/* Captures what the function does. Where it raises an error, so does the block when it runs, and
 * the error is on the top. */
static void block_capture(lua_State *L, Capture *c, int block, int fn)
{
    Host *h = c->host;
    c->trace.graph->src = c->outer->trace.graph->src;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, block_call, 1);
    lua_pushvalue(L, block);
    lua_pushvalue(L, fn);
    const Capture *step = capture_step(c);
    int status = lua_pcall(L, 2, 0, 0);
    bool doubtful = status != LUA_OK && watch_block_caught(step->watch);
    capture_off(L, c);
    base_err_clear(&h->cx->err);
    if (status == LUA_OK) return;
    if (is_final(L, step, status, doubtful)) raise_on(L, c, doubtful);
    c->fails = true;
    c->results.n = 0;
    if (!capture_effect_fail(c, luaL_tolstring(L, -1, NULL))) bind_throw(L, h);
    lua_pop(L, 1);
}

/* A block that fails gives what the other one would. */
static void fail_alike(lua_State *L, Capture *c, const Capture *other)
{
    for (int k = 0; k < other->results.n; k++) {
        const Node *like = other->results.at[k];
        Node *zero = ir_const(c->trace.graph, (Dtype)like->dtype, like->rank, like->dims, 0);
        if (!zero) bind_throw(L, c->host);
        if (!vec_push(&c->results, zero)) no_memory(L, c->host);
    }
}

/* A step that fails hands on what it got. */
static void fail_step(lua_State *L, Capture *c, int ncarry)
{
    for (int i = 0; i < ncarry; i++)
        if (!vec_push(&c->results, c->inputs.at[i].input)) no_memory(L, c->host);
}

/* What the input stands for after the block. */
static Node *value_after(const Capture *c, const BlockInput *in)
{
    uint64_t place;
    if (in->kind == BLOCK_EFFECT) return c->effect;
    if (in->kind == BLOCK_SET) return in->after;
    if (in->kind == BLOCK_TENSOR && base_map_get(&c->state_of, (uintptr_t)in->tensor, &place))
        return c->states.at[place].now;
    return in->input;
}

/* ---- putting blocks together */

/* A control node in the making. */
typedef struct Plan {
    lua_State *L;
    Host *h;
    Capture *outer, *block[2];
    int list[2]; /* on the stack: the states of each block */
    int given;   /* results of blocks before this one */
    Closing closing;
} Plan;

static Plan plan_new(lua_State *L, Host *h, Op op)
{
    Capture *outer = capture_on(h);
    return (Plan){.L = L,
                  .h = h,
                  .outer = outer,
                  .given = outer->given.n,
                  .closing = {.op = op, .outer = outer->trace.graph}};
}

/* A tensor, and whether it was assigned, are told by addresses in it; kinds without one are one
 * thing each. */
static const void *key_of(const BlockInput *in)
{
    static const char other[BLOCK_INDEX + 1];
    if (in->kind == BLOCK_SET) return &in->tensor->leaf;
    return in->kind == BLOCK_TENSOR ? (const void *)in->tensor : &other[in->kind];
}

/* What the capture of a block has, as ir_close reads it; pushes scratch. */
static OpenBlock open_block(lua_State *L, const Capture *c)
{
    OpenInput *in = bind_scratch(L, (size_t)c->inputs.n + 1, sizeof *in);
    for (int i = 0; i < c->inputs.n; i++) {
        const BlockInput *b = &c->inputs.at[i];
        in[i] = (OpenInput){.role = b->kind == BLOCK_ARG     ? OPEN_ARGUMENT
                                    : b->kind == BLOCK_INDEX ? OPEN_STEP
                                                             : OPEN_VALUE,
                            .key = key_of(b),
                            .from = b->from,
                            .input = b->input,
                            .after = value_after(c, b)};
    }
    return (OpenBlock){c->trace.graph, c->inputs.n, c->results.n, in, c->results.at};
}

/* Makes the control node and its results; pushes scratch. */
static void close_blocks(Plan *p)
{
    Closing *c = &p->closing;
    capture_maybe_tell(p->L, p->h, c->nblock, p->block);
    for (int b = 0; b < c->nblock; b++) c->block[b] = open_block(p->L, p->block[b]);
    c->result = bind_scratch(p->L, (size_t)c->block[0].nresult + 1, sizeof *c->result);
    if (ir_close(c) < 0) bind_throw(p->L, p->h);
}

/* The handle of a changed tensor, from the states of block b, goes on the stack. */
static void push_tensor(const Plan *p, int b, const Tensor *t)
{
    uint64_t place = 0;
    while (!base_map_get(&p->block[b]->state_of, (uintptr_t)t, &place)) b++;
    lua_rawgeti(p->L, p->list[b], (lua_Integer)place + 1);
}

/* What stands for the input of block b changed: it is assigned outside. */
static void apply_change(Plan *p, int b, const BlockInput *in, Node *made)
{
    if (in->kind == BLOCK_EFFECT) p->outer->effect = made;
    if (in->kind != BLOCK_TENSOR) return;
    push_tensor(p, b, in->tensor);
    int at = lua_gettop(p->L);
    BlockChange change = {.changed = made, .from = p->given, .to = p->outer->given.n};
    change.set = capture_maybe_set(p->L, p->h, &p->closing, p->block, in->tensor);
    change.before = capture_node_in(p->L, p->h, p->outer, at, in->tensor);
    if (!capture_assign(p->L, p->h, at, in->tensor, made, change.set)) bind_throw(p->L, p->h);
    if (!vec_push(&p->outer->changes, change)) no_memory(p->L, p->h);
    lua_pop(p->L, 1);
}

static void apply_changes(Plan *p)
{
    for (int b = 0; b < p->closing.nblock; b++)
        for (int i = 0; i < p->block[b]->inputs.n; i++) {
            Node *made = p->closing.block[b].in[i].changed;
            if (made) apply_change(p, b, &p->block[b]->inputs.at[i], made);
        }
}

/* Pushes the list of the results from `first` to before `end`. */
static void push_results(Plan *p, int first, int end)
{
    lua_createtable(p->L, end - first, 0);
    for (int k = first; k < end; k++) {
        Node *made = p->closing.result[k];
        Tensor *t = tensor_new(p->L, p->h);
        tensor_bind(t, &p->outer->trace, made);
        if (!vec_push(&p->outer->given, made)) no_memory(p->L, p->h);
        lua_rawseti(p->L, -2, k - first + 1);
    }
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

/* core.cond(pred, then, otherwise, check) -> list; check() raises unless what both gave fits. */
static int cond(lua_State *L)
{
    enum { CHECK = 4 };
    int draw;
    Host *h = begin(L, "cond", &draw);
    lua_settop(L, CHECK);
    Plan p = plan_new(L, h, OP_cond);
    p.closing.nblock = 2;
    p.closing.pred = tensor_node(L, h, 1, "cond");
    for (int b = 0; b < 2; b++) {
        p.block[b] = block_new(L, h, false, draw);
        p.list[b] = lua_gettop(L);
        block_capture(L, p.block[b], p.list[b] - 1, 2 + b);
    }
    if (p.block[0]->fails && p.block[1]->fails) raise_on(L, p.outer, false);
    for (int b = 0; b < 2; b++)
        if (p.block[b]->fails) fail_alike(L, p.block[b], p.block[1 - b]);
    if (!p.block[0]->fails && !p.block[1]->fails) {
        lua_pushvalue(L, CHECK);
        if (lua_pcall(L, 0, 0, 0) != LUA_OK) raise_on(L, p.outer, true);
    }
    close_blocks(&p);
    push_results(&p, 0, p.block[0]->results.n);
    apply_changes(&p);
    return 1;
}

/* The arguments of a block that repeats: the tensors in the list at `list`. */
static int add_arguments(Plan *p, int list, bool sliced)
{
    const char *what = OPS[p->closing.op].name;
    int n = bind_check_list(p->L, list, what);
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(p->L, list, i);
        Node *node = tensor_node(p->L, p->h, lua_gettop(p->L), what);
        Shape s = {.dtype = (Dtype)node->dtype, .rank = node->rank - sliced};
        if (s.rank < 0) bind_raise(p->L, SGL_ESHAPE, NULL, "scan: a scalar has no slices");
        memcpy(s.dims, node->dims + sliced, (size_t)s.rank * sizeof *s.dims);
        Graph *g = p->block[0]->trace.graph;
        Node *input = ir_input(g, INPUT_ARG, NULL, s.dtype, s.rank, s.dims);
        BlockInput in = {.kind = BLOCK_ARG, .from = node, .input = input};
        if (!input) bind_throw(p->L, p->h);
        if (!vec_push(&p->block[0]->inputs, in)) no_memory(p->L, p->h);
        if (sliced) p->closing.length = node->dims[0];
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
    Plan p = plan_new(L, h, OP_scan);
    Closing *c = &p.closing;
    c->nblock = 1;
    c->length = tensor_dim_at(L, 4);
    if (c->length == DIM_FAIL) c->length = luaL_optinteger(L, 4, 0);
    c->reverse = lua_toboolean(L, 5);
    p.block[0] = block_new(L, h, true, draw);
    p.list[0] = lua_gettop(L);
    c->ncarry = add_arguments(&p, 2, false);
    add_arguments(&p, 3, true);
    block_capture(L, p.block[0], p.list[0] - 1, 1);
    if (p.block[0]->fails) raise_on(L, p.outer, false); /* what it stacks is not known */
    capture_carry_end(L, p.block[0], c->ncarry);
    close_blocks(&p);
    push_results(&p, 0, c->ncarry);
    push_results(&p, c->ncarry, p.block[0]->results.n);
    apply_changes(&p);
    return 2;
}

/* core.loop(fn, carries, max, user) -> list of the carries, the number of steps. The first carry
 * is the condition. */
static int loop(lua_State *L)
{
    int draw;
    Host *h = begin(L, "loop", &draw);
    lua_settop(L, 4);
    Plan p = plan_new(L, h, OP_loop);
    Closing *c = &p.closing;
    c->nblock = 1;
    c->length = luaL_checkinteger(L, 3);
    p.block[0] = block_new(L, h, true, draw);
    p.list[0] = lua_gettop(L);
    c->ncarry = add_arguments(&p, 2, false);
    block_capture(L, p.block[0], p.list[0] - 1, 1);
    if (p.block[0]->fails) fail_step(L, p.block[0], c->ncarry);
    capture_carry_end(L, p.block[0], c->ncarry);
    close_blocks(&p);
    push_results(&p, 0, c->ncarry);
    push_results(&p, c->ncarry, c->ncarry + 1);
    lua_rawgeti(L, -1, 1);
    lua_remove(L, -2);
    apply_changes(&p);
    return 2;
}

const luaL_Reg CAPTURE_CONTROL[] = {
    {"cond", cond},
    {"scan", scan},
    {"loop", loop},
    {NULL, NULL},
};
