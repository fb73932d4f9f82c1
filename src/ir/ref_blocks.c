/* ref_blocks.c: the tree of blocks (blocks.h) over numbers of the reference.
 */
#include "ir/ref.h"

double ir_ref_tree(const Node *n, int64_t size, double (*combine)(Dtype, double, double),
                   double (*leaf)(const void *arg, int64_t from, int64_t to), const void *arg)
{
    const Blocks b = ir_blocks(n);
    double waiting[IR_BLOCKS_LEVELS] = {0};
    BlockTree tree;
    int top = 0;
    ir_block_tree(b.n, &tree);
    for (int64_t i = 0; i < b.n; i++) {
        double v = leaf(arg, ir_block_start(b, size, i), ir_block_start(b, size, i + 1));
        for (int j = 0; j < tree.joins[i]; j++) v = combine((Dtype)n->dtype, waiting[--top], v);
        waiting[top++] = v;
    }
    return waiting[0];
}
