/* simplify.h: what the files of `simplify` share.
 */
#ifndef SGL_PASS_SIMPLIFY_H
#define SGL_PASS_SIMPLIFY_H
#include "ir/live.h"

/* Each gives an equal node for less work, or NULL when it knows none (or with the error set). */
Node *pass_fold_constant(Node *n);     /* constant.c: a node whose inputs are constants */
Node *pass_apply_rules(Node *n);       /* rule.c: the table of algebraic rules */
#endif
