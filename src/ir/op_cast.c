/* op_cast.c: conversion between dtypes.
 *
 * The gradient flows from float to float only, back in the dtype it came from.
 * Holds: a cast to integers or bool converts in the reference too; one between floats keeps the
 *        exact value, which ir_eval_nodes rounds in mode REF_ROUND.
 */
#include "ir/build.h"
#include "ir/check.h"
#include "ir/ref.h"
#include "ir/rules.h"

int ir_shape_cast(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    int rc = ir_check_dtype(&c, attr[0]);
    return rc ? rc : ir_check_result(&c, (Dtype)attr[0], in[0]->rank, in[0]->dims, out);
}

int ir_grad_cast(Node *n, Node *dy, Node **dx)
{
    if (DTYPES[n->in[0]->dtype].class != CLASS_FLOAT || DTYPES[n->dtype].class != CLASS_FLOAT)
        return 0;
    dx[0] = ir_cast(dy, n->in[0]->dtype);
    return ir_built(n, dx[0]);
}

int ir_eval_cast(const Node *n, const RefArray *const *in, RefArray *out)
{
    bool exact = DTYPES[n->dtype].class == CLASS_FLOAT;
    for (int64_t i = 0; i < out->count; i++)
        out->at[i] = exact ? in[0]->at[i] : ir_dtype_round(n->dtype, in[0]->at[i]);
    return 0;
}
