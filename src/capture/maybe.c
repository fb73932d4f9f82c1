/* maybe.c: tensors that the blocks of a control node may have assigned, and may not have.
 *
 * In:    the blocks, captured.
 * Out:   whether they assigned a tensor, as a bool of the graph around.
 * Holds: where the predicate or the number of steps tells it, nothing is added; else the blocks
 *        tell it, by one result more.
 * A tensor that was not assigned is the tensor that it was: its gradient is that by the node
 * before, and whoever holds it keeps its history.
 */
#include "capture/room.h"
#include "ir/build.h"

typedef enum Whether { NEVER, SURELY, MAYBE } Whether;

/* Was t assigned when block c ran? *set: the bool, of MAYBE. */
static Whether whether(const Capture *c, const Tensor *t, Node **set)
{
    uint64_t place;
    if (!base_map_get(&c->state_of, (uintptr_t)t, &place)) return NEVER;
    const CapturedState *s = &c->states.at[place];
    *set = s->set;
    return s->now == s->input ? NEVER : s->set ? MAYBE : SURELY;
}

static bool any_maybe(int nblock, Capture *const *block, const Tensor *t)
{
    Node *set;
    bool any = false;
    for (int b = 0; b < nblock; b++) any |= whether(block[b], t, &set) == MAYBE;
    return any;
}

void capture_maybe_tell(lua_State *L, Host *h, int nblock, Capture *const *block)
{
    for (int b = 0; b < nblock; b++)
        for (int i = 0; i < block[b]->states.n; i++) {
            Node *set = NULL;
            Tensor *t = block[b]->states.at[i].tensor;
            if (!any_maybe(nblock, block, t) || whether(block[b], t, &set) == NEVER) continue;
            if (!capture_block_set(block[b], t, set)) bind_throw(L, h);
        }
}

/* What the blocks tell outside. */
static Node *told(const Closing *closing, Capture *const *block, const Tensor *t)
{
    for (int b = 0; b < closing->nblock; b++)
        for (int i = 0; i < block[b]->inputs.n; i++) {
            const BlockInput *in = &block[b]->inputs.at[i];
            Node *changed = closing->block[b].in[i].changed;
            if (in->kind == BLOCK_SET && in->tensor == t && changed) return changed;
        }
    return NULL;
}

/* Of t, that the block assigns in each of its steps, which may be none. */
static Node *set_by_steps(const Closing *closing, bool *surely)
{
    *surely = closing->op == OP_scan && closing->length != 0;
    if (*surely || closing->op == OP_scan)
        return ir_const(closing->outer, DT_bool, 0, NULL, *surely);
    Node *steps = closing->result[closing->ncarry];
    return ir_gt(steps, ir_const_like(steps, 0));
}

Node *capture_maybe_set(lua_State *L, Host *h, const Closing *closing, Capture *const *block,
                        const Tensor *t)
{
    Node *set, *unused;
    bool surely = false;
    if (any_maybe(closing->nblock, block, t)) {
        set = told(closing, block, t);
    } else if (closing->op == OP_cond) {
        bool first = whether(block[0], t, &unused) == SURELY;
        surely = first && whether(block[1], t, &unused) == SURELY;
        set = first ? closing->pred : ir_logical_not(closing->pred);
    } else {
        set = set_by_steps(closing, &surely);
    }
    if (!set) bind_throw(L, h);
    return surely ? NULL : set;
}

Node *capture_maybe_before(const Capture *c, const Node *n, Node **set)
{
    for (int i = 0; i < c->changes.n; i++) {
        const BlockChange *b = &c->changes.at[i];
        if (b->changed != n || !b->set) continue;
        *set = b->set;
        return b->before;
    }
    return NULL;
}
