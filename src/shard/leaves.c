/* leaves.c: a sum in blocks over ranks whose shares are no whole subtrees, as of 3 ranks and 8
 * blocks: each rank makes the leaves of its blocks, all get the leaves of all, and each adds them
 * by the fixed tree.
 *
 * Holds: a leaf has the same operands and the same length on any mesh, and the tree is that of the
 *        whole (ir/blocks.h), so the bits are. It costs as many values as there are blocks.
 */
#include <string.h>
#include "ir/attr.h"
#include "shard/lower.h"

static bool is_power(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

bool shard_needs_leaves(const Lower *l, const Node *n)
{
    int k = shard_reduced(l->s, n);
    if (k < 0 || !ir_is_float(n) || ir_attr_place(n, "blocks") < 0) return false;
    int64_t blocks = ir_blocks(n).n;
    int parts = comm_mesh_parts(&l->s->plan->mesh, l->s->node[n->id].fact[k]);
    return blocks > 1 && parts > 1 && !(is_power(blocks) && is_power(parts));
}

/* The node with a dim of size 1 before its own. */
static Node *as_row(Node *n)
{
    Dim dims[OP_MAX_RANK] = {1};
    if (!n) return NULL;
    if (n->rank) memcpy(dims + 1, n->dims, n->rank * sizeof *dims);
    return ir_reshape(n, n->rank + 1, dims);
}

/* The leaves of this rank, one behind the other: [blocks here, the dims of the result]. */
static Node *own_leaves(Lower *l, const Node *n, Node *const *in, const Axes *spec)
{
    Node *leaf[IR_BLOCKS_MAX];
    Dim dims[OP_MAX_RANK] = {0};
    int lo, hi;
    shard_own_blocks(l, n, &lo, &hi);
    for (int b = lo; b < hi; b++) {
        leaf[b - lo] = as_row(shard_block(l, n, in, b));
        if (!leaf[b - lo]) return NULL;
    }
    if (hi > lo) return ir_concat(hi - lo, leaf, 0);
    shard_dims(l, n, spec, dims + 1);
    return ir_const(l->to, shard_share_dtype(n), n->rank + 1, dims, 0);
}

Node *shard_add_leaves(Lower *l, const Node *n, Node *const *in, const Axes *spec)
{
    const Blocks one = {ir_blocks(n).n, ir_blocks(n).n};
    Axes axes = l->s->node[n->id].fact[shard_reduced(l->s, n)];
    Node *own = own_leaves(l, n, in, spec);
    Node *all = own ? shard_gather_blocks(l, own, axes, (int)one.n) : NULL;
    int first = 0;
    if (!all) return NULL;
    return ir_in_blocks(ir_reduce(all, n->op == OP_prod ? OP_prod : OP_sum, 1, &first), one);
}
