/* grad_check.c: outside steps: is each way of a gradient recorded?
 *
 * In:   a loss, and the tensors in the list at 2, in the pending trace.
 * Out:  an error where the gradient would be too small (gradient.h).
 */
#include <string.h>
#include "tensor/gradient.h"
#include "tensor/room.h"
#include "tensor/grad_walk.h"

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
    uint64_t last_cut = room_of(h)->last_cut;
    if (!last_cut) return;
    for (int i = 0, count = (int)lua_rawlen(L, 2); i < count; i++) {
        lua_rawgeti(L, 2, i + 1);
        old |= tensor_at(L, h, -1)->id < last_cut;
        lua_pop(L, 1);
    }
    if (old && reads_cut(L, loss, n, wrt))
        bind_raise(L, SGL_EGRAD,
                   "compile the step, or keep numbers (loss:item()) instead of tensors",
                   "grad: too many operations were recorded, the oldest are gone");
}

/* A gradient does not go back through a run of a program: refused where the loss depends on a
 * tensor of the list at 2 through one. */
static void check_runs(lua_State *L, Host *h, Node *loss)
{
    if (!room_of(h)->pending.trace->origins) return;
    Walk *w = tensor_walk_begin(h);
    if (!w || !tensor_walk_node(w, loss) || !tensor_walk_run(w, true))
        bind_raise(L, SGL_ENOMEM, NULL, "out of memory for a gradient");
    for (int i = 1, n = (int)lua_rawlen(L, 2); i <= n; i++) {
        lua_rawgeti(L, 2, i);
        if (tensor_walk_meets_behind(w, tensor_at(L, h, -1)))
            bind_raise(L, SGL_EGRAD,
                       "take the gradient inside the compiled function, or use t:detach() where "
                       "none shall go back",
                       "grad: the loss depends on tensor %d through a compiled function, whose "
                       "operations are not recorded outside",
                       i);
        lua_pop(L, 1);
    }
}

void tensor_grad_check(lua_State *L, Recorder *r, Node *loss, int n, Node *const *wrt)
{
    check_cut(L, r->host, loss, n, wrt);
    check_runs(L, r->host, loss);
}

uint64_t tensor_last_cut(const Host *h) { return room_of(h)->last_cut; }
