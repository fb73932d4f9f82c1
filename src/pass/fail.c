/* fail.c: which groups may end a run, so that state is written behind them.
 *
 * In:    a schedule after `fuse`.
 * Out:   Group.fails.
 * Holds: when a run fails, state is as it was before: whoever runs the graph then has all that it
 *        takes to do again what stood before the failure, and nothing to undo. `order` lets state
 *        be written after the groups that fail, and `plan` writes it at the end where that cannot
 *        be. A position that one group reads without failing does not fail in another, so a
 *        gradient's scatter_add fails in its gather.
 */
#include "ir/control.h"
#include "pass/plan.h"

/* Positions that were read: by the node of the index the size that they fit, of the last one. */
typedef struct Read {
    const Schedule *s;
    Map size;
    bool full; /* no memory for more */
} Read;

/* Was the index read before, for the same size? */
static bool was_read(Read *r, const Node *n)
{
    const Node *index = pass_root(r->s, n->in[1]), *x = n->in[0];
    uint64_t now = (uint64_t)x->dims[ir_attr_int(n, 0)], last;
    bool was = base_map_get(&r->size, (uintptr_t)index, &last) && last == now;
    if (!was) r->full |= !base_map_set(&r->size, (uintptr_t)index, now);
    return was;
}

/* The order of the user, in which a gather stands before what its gradient does with the index. */
bool pass_find_failing(Schedule *s)
{
    Read r = {.s = s};
    for (int t = 0; t < s->groups.n; t++) s->groups.at[t].fails = false;
    for (int id = 0; id < s->graph->nodes.n && !s->graph->part; id++) {
        const Node *n = s->graph->nodes.at[id];
        if (s->group_of[id] < 0 || !ir_may_fail(n)) continue;
        if (ir_op(n)->domain != DOM_INDEX || !was_read(&r, n))
            s->groups.at[s->group_of[id]].fails = true;
    }
    base_map_free(&r.size);
    return !r.full;
}
