/* grad_carry.c: gradients in a function given to sgl.scan or loop, and the runs of it before.
 *
 * The function is recorded once. What it carries from run to run, among its arguments or by assign,
 * is an input of its block, whose history lies in the runs before.
 * In:    the gradients that were taken inside, when all results of the function are known.
 * Out:   a break where one would leave out a way from a tensor to the loss through such a run.
 * Holds: a tensor that stays the same in all runs may reach the loss through any of them; one that
 *        is carried itself is another in each run, so only what was made of it at the end of the
 *        last run counts, or before the first.
 */
#include "tensor/break.h"
#include "capture/room.h"
#include "ir/grad.h"

enum { IN_LOSS = 1, IN_WRT = 2 };

static int no_memory(lua_State *L, Host *h)
{
    base_fail(h->cx, SGL_ENOMEM, "out of memory for a gradient");
    return bind_throw(L, h);
}

/* ---- taking note */

/* Is t a tensor of a block inside c? */
static bool is_inner(const Host *h, const Capture *c, const Tensor *t)
{
    for (const Capture *in = capture_on(h); in != c; in = in->outer)
        if (t->trace == &in->trace) return true;
    return false;
}

/* The roles, all none, of the inputs of c in a new record. */
static uint8_t *roles_new(lua_State *L, Host *h, Capture *c)
{
    int n = c->inputs.n;
    uint8_t *roles = base_mem_zero((size_t)n + 1, 1);
    CarryGrad grad = {.src = c->trace.graph->src, .roles = roles, .n = n};
    if (roles && vec_push(&c->grads, grad)) return roles;
    base_mem_free(roles);
    no_memory(L, h);
    return NULL;
}

/* What the inputs of c are to a gradient by the tensors in the list at 2; `mark`: the nodes of c
 * that the loss reads. */
static void note(lua_State *L, Host *h, Capture *c, const uint8_t *mark)
{
    uint8_t *roles = roles_new(L, h, c);
    for (int i = 0; i < c->inputs.n; i++) {
        const Node *input = c->inputs.at[i].input;
        if (ir_is_float(input) && mark[input->id]) roles[i] |= IN_LOSS;
    }
    for (int i = 1, n = (int)lua_rawlen(L, 2); i <= n; i++) {
        lua_rawgeti(L, 2, i);
        Tensor *t = tensor_at(L, h, -1);
        Node *node = is_inner(h, c, t) ? NULL : capture_node_in(L, h, c, lua_gettop(L), t), *set;
        while (node && node->op != OP_input) node = capture_maybe_before(c, node, &set);
        if (node) roles[ir_attr_int(node, 0)] |= IN_WRT;
        lua_pop(L, 1);
    }
}

uint8_t *capture_carry_outside(lua_State *L, const Capture *c, const uint8_t *mark)
{
    luaL_checkstack(L, LUA_MINSTACK, "blocks in blocks");
    uint8_t *outside = bind_scratch(L, (size_t)c->outer->trace.graph->nodes.n, 1);
    for (int i = 0; i < c->inputs.n; i++) {
        const BlockInput *in = &c->inputs.at[i];
        if (in->from && mark[in->input->id] && ir_is_float(in->input)) outside[in->from->id] = 1;
    }
    ir_grad_reach(c->outer->trace.graph, outside);
    return outside;
}

/* From the block of the loss outwards: in each that repeats, which of its inputs the loss reads. */
void capture_carry_note(lua_State *L, Host *h, Capture *c, const Node *loss)
{
    int top = lua_gettop(L);
    uint8_t *mark = c ? bind_scratch(L, (size_t)c->trace.graph->nodes.n, 1) : NULL;
    if (c) mark[loss->id] = 1;
    if (c) ir_grad_reach(c->trace.graph, mark);
    for (; c && c->outer; c = c->outer) {
        if (c->repeats) note(L, h, c, mark);
        mark = capture_carry_outside(L, c, mark);
    }
    lua_settop(L, top);
}

/* ---- asking, when the results are known */

/* What input i is in the next run; itself if it stays. */
static Node *next_of(const Capture *c, int i, int ncarry)
{
    const BlockInput *in = &c->inputs.at[i];
    uint64_t place;
    if (in->kind == BLOCK_ARG && i < ncarry) return c->results.at[i];
    if (in->kind == BLOCK_TENSOR && base_map_get(&c->state_of, (uintptr_t)in->tensor, &place))
        return c->states.at[place].now;
    return in->input;
}

/* Is input i the same in each run, or may it be? */
static bool may_stay(const Capture *c, int i, int ncarry)
{
    const BlockInput *in = &c->inputs.at[i];
    uint64_t place;
    bool set = in->kind == BLOCK_TENSOR &&
               base_map_get(&c->state_of, (uintptr_t)in->tensor, &place) && c->states.at[place].set;
    return set || next_of(c, i, ncarry) == in->input;
}

typedef struct Asked {
    const Capture *c;
    const CarryGrad *g;
    int ncarry;
    uint8_t *mark; /* by id, of nodes of the block */
} Asked;

static int role(const Asked *a, int i) { return i < a->g->n ? a->g->roles[i] : 0; }

/* Is there an input but number `except` that the loss reads, made of marked nodes by the last
 * run? */
static bool carries_mark(const Asked *a, int except)
{
    for (int i = 0; i < a->c->inputs.n; i++) {
        const Node *next = next_of(a->c, i, a->ncarry), *input = a->c->inputs.at[i].input;
        bool carried = next != input && ir_is_float(input);
        if (carried && i != except && role(a, i) & IN_LOSS && a->mark[next->id]) return true;
    }
    return false;
}

/* Through any number of runs, from input i, which may stay. Where it does not it is another tensor,
 * which the loss may read. */
static bool passes_runs_from(const Asked *a, int i)
{
    const Graph *g = a->c->trace.graph;
    const Node *from = a->c->inputs.at[i].input;
    bool more = true;
    for (int id = 0; id < g->nodes.n; id++) a->mark[id] = (uint32_t)id == from->id;
    while (more) {
        more = false;
        ir_grad_flow(g, a->mark);
        for (int k = 0; k < a->c->inputs.n; k++) {
            const Node *input = a->c->inputs.at[k].input;
            if (a->mark[input->id] || !ir_is_float(input)) continue;
            a->mark[input->id] = a->mark[next_of(a->c, k, a->ncarry)->id];
            more |= a->mark[input->id];
        }
    }
    return carries_mark(a, i);
}

static bool passes_runs(const Asked *a)
{
    bool passes = false;
    for (int i = 0; i < a->c->inputs.n && !passes; i++)
        if (role(a, i) & IN_WRT && may_stay(a->c, i, a->ncarry)) passes = passes_runs_from(a, i);
    return passes;
}

/* Are there other inputs that the loss reads and that were made of what carry i is at first? */
static bool passes_before(lua_State *L, const Asked *a, int i)
{
    const Capture *c = a->c;
    const Node *first = c->inputs.at[i].from;
    if (!first || (!first->nin && first->op != OP_input)) return false;
    const Graph *outside = c->outer->trace.graph;
    uint8_t *mark = bind_scratch(L, (size_t)outside->nodes.n, 1);
    bool found = false;
    mark[first->id] = 1;
    ir_grad_flow(outside, mark);
    for (int k = 0; k < c->inputs.n; k++) {
        const BlockInput *in = &c->inputs.at[k];
        found |= k != i && in->from && role(a, k) & IN_LOSS && mark[in->from->id];
    }
    lua_pop(L, 1);
    return found;
}

/* From what is carried itself. */
static bool passes_carry(lua_State *L, const Asked *a)
{
    const Graph *g = a->c->trace.graph;
    for (int i = 0; i < a->c->inputs.n; i++) {
        const Node *next = next_of(a->c, i, a->ncarry);
        if (!(role(a, i) & IN_WRT) || next == a->c->inputs.at[i].input) continue;
        for (int id = 0; id < g->nodes.n; id++) a->mark[id] = (uint32_t)id == next->id;
        ir_grad_flow(g, a->mark);
        if (carries_mark(a, i) || passes_before(L, a, i)) return true;
    }
    return false;
}

/* Asks each gradient that was noted, and breaks at the first that leaves a way out. */
void capture_carry_end(lua_State *L, Capture *c, int ncarry)
{
    int top = lua_gettop(L);
    for (int i = 0; i < c->grads.n; i++) {
        Asked a = {c, &c->grads.at[i], ncarry, NULL};
        a.mark = bind_scratch(L, (size_t)c->trace.graph->nodes.n, 1);
        if (!passes_runs(&a) && !passes_carry(L, &a)) continue;
        SrcPos at = base_src_pos(c->host->cx, a.g->src);
        tensor_break(L, c->host, BREAK_CARRY, NULL, "grad at %s:%d", at.file ? at.file : "?",
                     at.line);
    }
    lua_settop(L, top);
}
