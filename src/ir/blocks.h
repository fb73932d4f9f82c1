/* blocks.h: float reductions cut into blocks, whose results a fixed tree combines.
 *
 * In:   the attributes `blocks` (S) and `units` (U) of sum, prod, dot, scatter_add: the reduced dim
 *       is U units of size / U elements; block i is units iU/S to (i+1)U/S, rounded down.
 * Out:  where blocks begin, how long the longest is, in which order their results meet.
 * Holds: each block is reduced as a whole dim of the longest block's length would be, what it lacks
 *        being neutral: -0 for sums and products of matrices, 1 for products. Their results meet in
 *        a tree: of the blocks [lo, hi) the halves cut at (lo + hi) / 2, rounded down. Whoever
 *        holds the blocks of a subtree can compute it; so who computes which never changes a bit.
 */
#ifndef SGL_IR_BLOCKS_H
#define SGL_IR_BLOCKS_H
#include "ir/graph.h"
#include "ir/numerics.h"

/* Of a node; one block of one unit where it has none. */
typedef struct Blocks { int64_t n, units; } Blocks;
Blocks ir_blocks(const Node *n);

/* Where block i of a dim of `size` elements begins; i = n: the dim's end. */
static inline int64_t ir_block_start(Blocks b, int64_t size, int64_t i)
{
    return i * b.units / b.n * (size / b.units);
}

/* The length of the longest block. */
int64_t ir_block_longest(Blocks b, int64_t size);

/* The tree as a walk over the blocks: results wait on a stack. `waiting` do when block i's turn
 * comes, and so many times, `joins`, the last of them meets the result behind it. */
typedef struct BlockTree { uint8_t waiting[IR_BLOCKS_MAX], joins[IR_BLOCKS_MAX]; } BlockTree;
void ir_block_tree(int64_t n, BlockTree *out);
#endif
