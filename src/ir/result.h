/* result.h: nodes with several results.
 *
 * Such a node has no value itself: its type is f32[0], nothing reads it but nodes of `result`, one
 * for each result that is needed, and it is no output (verify.c, V18). A node of one result is its
 * value.
 */
#ifndef SGL_IR_RESULT_H
#define SGL_IR_RESULT_H
#include "ir/graph.h"

/* Its type. */
static inline Shape ir_no_value(void) { return (Shape){.dtype = DT_f32, .rank = 1, .dims = {0}}; }
bool ir_has_value(const Node *n);
/* Values that are computed together with n. */
int ir_result_count(const Node *n);
/* The node whose value is result k of n; NULL: there is none (yet). */
Node *ir_result_find(const Node *n, int k);
Node *ir_result(Node *n, int k);                     /* makes it if need be; NULL with the error */
/* Are the values of such nodes computed by their results, be there one or several? */
bool ir_has_results(const Node *n);
/* The node that computes the value of n: n itself, or what it reads a result of. */
static inline Node *ir_result_of(const Node *n)
{
    return n->op == OP_result ? n->in[0] : n->graph->nodes.at[n->id];
}
#endif
