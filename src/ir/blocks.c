/* blocks.c: see blocks.h.
 */
#include "ir/blocks.h"
#include <string.h>
#include "ir/attr.h"

Blocks ir_blocks(const Node *n)
{
    int at = ir_attr_place(n, "blocks");
    if (at < 0 || n->attr[at] == 1) return (Blocks){1, 1};
    return (Blocks){n->attr[at], n->attr[at + 1]};
}

int64_t ir_block_longest(Blocks b, int64_t size)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < b.n; i++) {
        int64_t length = ir_block_start(b, size, i + 1) - ir_block_start(b, size, i);
        if (length > longest) longest = length;
    }
    return longest;
}

/* The last block of every right half joins its left half. */
static void join_halves(int64_t lo, int64_t hi, BlockTree *out)
{
    if (hi - lo < 2) return;
    int64_t middle = (lo + hi) / 2;
    join_halves(lo, middle, out);
    join_halves(middle, hi, out);
    out->joins[hi - 1]++;
}

void ir_block_tree(int64_t n, BlockTree *out)
{
    memset(out, 0, sizeof *out);
    join_halves(0, n, out);
    for (int64_t i = 1; i < n; i++)
        out->waiting[i] = (uint8_t)(out->waiting[i - 1] + 1 - out->joins[i - 1]);
}
