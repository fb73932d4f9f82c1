/* simplify.h: what the files of `simplify` share.
 */
#ifndef SGL_PASS_SIMPLIFY_H
#define SGL_PASS_SIMPLIFY_H
#include "ir/control.h"

/* Each gives an equal node for less work, or NULL when it knows none (or with the error set). */
Node *pass_fold_constant(Node *n);     /* constant.c: a node whose inputs are constants */
Node *pass_apply_rules(Node *n);       /* rule.c: the table of algebraic rules */

/* trim.c: the copy in `to` of a control node, whose inputs there are `in`, and of all its live
 * results, into made by old id. 1: simpler than they were; 0; negative: no memory. */
int pass_dead_control(const Node *n, const uint8_t *live, Graph *to, Node *const *in, Node **made);
#endif
