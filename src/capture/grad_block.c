/* grad_block.c: gradients that a function given to sgl.cond, scan or loop takes.
 *
 * In:    a loss and tensors, made inside the block or outside.
 * Out:   the capture whose graph the gradient belongs to; an error where no single graph knows all
 *        ways from the tensors to the loss.
 * Holds: inside a block a tensor from outside is an input, whose history lies in the graph around.
 *        A gradient that would leave such a history out is refused, never silently too small.
 */
#include "capture/room.h"
#include "ir/grad.h"

/* Is t made in the block, or assigned there? */
static bool touched(const Capture *c, Tensor *t)
{
    uint64_t place;
    if (t->trace == &c->trace) return true;
    return base_map_get(&c->state_of, (uintptr_t)t, &place) &&
           c->states.at[place].now != c->states.at[place].input;
}

static bool any_touched(lua_State *L, Host *h, const Capture *c)
{
    bool found = touched(c, tensor_at(L, h, 1));
    for (int i = 1, n = (int)lua_rawlen(L, 2); i <= n && !found; i++) {
        lua_rawgeti(L, 2, i);
        found = touched(c, tensor_at(L, h, -1));
        lua_pop(L, 1);
    }
    return found;
}

Capture *capture_grad_home(lua_State *L, Host *h)
{
    Capture *c = capture_on(h);
    while (c && c->outer && !c->repeats && !any_touched(L, h, c)) c = c->outer;
    return c;
}

/* Is t a tensor of a block inside c? It has no node in c then. */
static bool is_inner(const Host *h, const Capture *c, const Tensor *t)
{
    for (const Capture *in = capture_on(h); in != c; in = in->outer)
        if (t->trace == &in->trace) return true;
    return false;
}

/* Pushes scratch: by id of a node of c, does it depend on a tensor of the list at 2? */
static const uint8_t *flows(lua_State *L, Capture *c)
{
    Host *h = c->host;
    int n = (int)lua_rawlen(L, 2);
    Node **nodes = bind_scratch(L, (size_t)n + 1, sizeof *nodes);
    const uint8_t *outside = c->outer ? flows(L, c->outer) : NULL;
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        Tensor *t = tensor_at(L, h, -1);
        if (!is_inner(h, c, t)) nodes[i] = capture_node_in(L, h, c, lua_gettop(L), t);
        lua_pop(L, 1);
    }
    uint8_t *mark = bind_scratch(L, (size_t)c->trace.graph->nodes.n, 1);
    for (int i = 0; i < n; i++)
        for (Node *node = nodes[i], *set; node; node = capture_maybe_before(c, node, &set))
            mark[node->id] = 1;
    for (int i = 0; outside && i < c->inputs.n; i++) {
        const BlockInput *in = &c->inputs.at[i];
        if (in->from && outside[in->from->id]) mark[in->input->id] = 1;
    }
    ir_grad_flow(c->trace.graph, mark);
    return mark;
}

static bool is_among(const Node *n, int count, Node *const *nodes)
{
    for (int i = 0; i < count; i++)
        if (nodes[i] == n) return true;
    return false;
}

/* The number from 1 of the tensor in the list at 2 that wrt[k], a node of c, is or was. */
static int number_of(lua_State *L, const Capture *c, Node *const *wrt, int k)
{
    int n = (int)lua_rawlen(L, 2);
    Node *set;
    for (int i = 0; i < n; i++)
        for (const Node *node = wrt[i]; node; node = capture_maybe_before(c, node, &set))
            if (node == wrt[k]) return i + 1;
    return n;
}

/* A constant made in a capture is one node with all equal constants: its gradient would be theirs
 * too. */
static void check_wrt(lua_State *L, const Capture *c, Node *const *wrt, int k)
{
    const Node *n = wrt[k];
    if (n->nin || n->op == OP_input) return;
    bind_raise(L, SGL_EGRAD, "make the tensor outside the step, or pass it as an argument",
               "grad: tensor %d is a constant made inside the captured step",
               number_of(L, c, wrt, k));
}

/* What a block computed of a tensor after it assigned that is computed of another node than the one
 * that the tensor stands for behind the block: refused where the loss may depend on it so. */
static void check_changes(lua_State *L, const Capture *c, const Node *loss, int n, Node *const *wrt)
{
    if (!c->changes.n) return;
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
                           number_of(L, c, wrt, k));
    }
    lua_pop(L, 1);
}

/* The ways from outside a block into it. */
static void check_outside(lua_State *L, Capture *c, const Node *loss, int n, Node *const *wrt)
{
    if (!c->outer) return;
    int top = lua_gettop(L);
    const Graph *g = c->trace.graph;
    const uint8_t *outside = flows(L, c->outer);
    uint8_t *needed = bind_scratch(L, (size_t)g->nodes.n, 1);
    needed[loss->id] = 1;
    for (uint32_t id = loss->id + 1; id-- > 0;) {
        const Node *node = g->nodes.at[id];
        if (!needed[id] || is_among(node, n, wrt)) continue;
        for (int i = 0; i < node->nin; i++) needed[node->in[i]->id] = 1;
    }
    for (int i = 0; i < c->inputs.n; i++) {
        const BlockInput *in = &c->inputs.at[i];
        bool passes = in->from && needed[in->input->id] && outside[in->from->id];
        if (passes && !is_among(in->input, n, wrt))
            bind_raise(L, SGL_EGRAD,
                       "take the gradient outside, or compute the loss from the tensors inside",
                       "grad: the loss depends on the tensors through what was computed outside "
                       "the function given to sgl.%s",
                       c->repeats ? "scan or loop" : "cond");
    }
    lua_settop(L, top);
}

void capture_grad_check(lua_State *L, Capture *c, Node *loss, int n, Node *const *wrt)
{
    for (int i = 0; i < n; i++) check_wrt(L, c, wrt, i);
    check_changes(L, c, loss, n, wrt);
    capture_grad_step(L, c->host, c, loss);
    check_outside(L, c, loss, n, wrt);
    capture_carry_note(L, c->host, c, loss);
}
