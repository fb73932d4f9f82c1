/* dot.h: which dims of a product are what.
 *
 * a[batch…, free…, inner…] · b[batch…, inner…, n] gives [batch…, free…, n]. Each group is one dim
 * to the product, row-major: a batch of sequences times one matrix is a single larger product, and
 * a weight's gradient sums over all free dims.
 */
#ifndef SGL_IR_DOT_H
#define SGL_IR_DOT_H
#include "ir/graph.h"

typedef struct DotDims { int batch, free, inner; } DotDims;

static inline DotDims ir_dot_dims(const Node *n)
{
    int inner = (int)ir_attr_int(n, 2), batch = n->in[1]->rank - 1 - inner;
    return (DotDims){batch, n->in[0]->rank - batch - inner, inner};
}
#endif
