/* inplace.c: when a kernel may write its result over one of its inputs.
 *
 * In:   a group, a node it reads, a node it computes.
 * Out:  yes or no.
 * Holds: yes only if the group is a map and every path from the node read, inside the group, goes
 *        through elementwise ops alone. Those keep dims, so each element is read at the one place
 *        where the same loop position writes, and no other position reads it.
 */
#include "pass/plan.h"

static bool touches(const Node *n, const Node *x, const uint8_t *mark)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i] == x || mark[n->in[i]->id]) return true;
    return false;
}

bool pass_reads_in_place(const Group *g, const Node *x, const Node *out, uint8_t *mark)
{
    bool fits = g->kind == GROUP_MAP && DTYPES[x->dtype].bytes == DTYPES[out->dtype].bytes;
    for (int i = 0; fits && i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (!touches(n, x, mark)) continue;
        mark[n->id] = 1;
        fits = ir_family_elementwise(ir_op(n)->family) || ir_op(n)->family == FAM_cast;
    }
    fits = fits && mark[out->id];
    for (int i = 0; i < g->nodes.n; i++) mark[g->nodes.at[i]->id] = 0;
    return fits;
}
