/* constant.c: computes nodes whose inputs are constants.
 *
 * Holds: only what every backend computes to the same bits is folded: ops that are exact or
 *        correctly rounded in the node's dtype, and integers while no digit is lost in a double.
 *        A result that is NaN is left to the backend, whose NaN may carry another sign.
 */
#include <math.h>
#include "ir/build.h"
#include "ir/eval.h"
#include "pass/simplify.h"

/* Of the elementwise ops these round once, so the reference, which rounds the exact or the double
 * result to the dtype, agrees: a double has more than twice the digits of f32. */
static const Op ROUNDED_ONCE[] = {
    OP_neg,   OP_abs,   OP_sign,        OP_sqrt,        OP_floor,       OP_ceil,  OP_round,
    OP_isnan, OP_isinf, OP_isfinite,    OP_logical_not, OP_add,         OP_sub,   OP_mul,
    OP_div,   OP_min,   OP_max,         OP_eq,          OP_ne,          OP_lt,    OP_le,
    OP_gt,    OP_ge,    OP_logical_and, OP_logical_or,  OP_logical_xor, OP_where,
};

/* Up to here the dtype holds every integer. */
static const double EXACT_INTEGERS[DT_COUNT] = {
    [DT_i32] = 0x1p31 - 1, [DT_i64] = 0x1p53, [DT_f16] = 0x1p11,
    [DT_bf16] = 0x1p8,     [DT_f32] = 0x1p24, [DT_f64] = 0x1p53,
};

static bool rounds_once(Op op)
{
    for (unsigned i = 0; i < sizeof ROUNDED_ONCE / sizeof *ROUNDED_ONCE; i++)
        if (ROUNDED_ONCE[i] == op) return true;
    return false;
}

/* An integer that a double computed: 2^53 may be what is left of 2^53 + 1. */
static bool keeps_digits(Dtype dtype, double exact)
{
    if (DTYPES[dtype].class == CLASS_FLOAT) return !isnan(exact);
    return fabs(exact) < 0x1p53 && ir_dtype_round(dtype, exact) == exact;
}

/* By the reference, on one element: every backend rounds these ops as it does. */
static Node *fold_elementwise(Node *n)
{
    double value[3];
    RefArray scalar[3], result = {0};
    const RefArray *in[3];
    if (!rounds_once(n->op)) return NULL;
    for (int i = 0; i < n->nin; i++) {
        if (!ir_const_value(n->in[i], &value[i])) return NULL;
        scalar[i] = (RefArray){.dtype = n->in[i]->dtype, .count = 1, .at = &value[i]};
        in[i] = &scalar[i];
    }
    double exact;
    result = (RefArray){.dtype = n->dtype, .count = 1, .at = &exact};
    if (ir_rules(n->graph->cx, n->op)->eval(n, in, &result) < 0 || !keeps_digits(n->dtype, exact))
        return NULL;
    return ir_const_like(n, exact);
}

/* A sum of n equal integers has no rounding in any order while it stays in the exact range. */
static Node *fold_sum(Node *n, double value)
{
    int64_t from = ir_count(n->in[0]), to = ir_count(n);
    if (from <= 0 || to <= 0) return NULL;
    double total = value * (double)(from / to);
    if (value != rint(value) || signbit(value) || total > EXACT_INTEGERS[n->dtype]) return NULL;
    return ir_const_like(n, total);
}

/* Ops that only move or choose among elements which are all the same. */
static const Op MOVERS[] = {
    OP_reshape, OP_permute, OP_broadcast,  OP_slice,      OP_flip,
    OP_window,  OP_concat,  OP_reduce_max, OP_reduce_min,
};

static Node *fold_moved(Node *n, double value)
{
    for (int i = 1; i < n->nin; i++) {
        double other;
        if (!ir_const_value(n->in[i], &other) || other != value || signbit(other) != signbit(value))
            return NULL;
    }
    if (isnan(value) || ir_count(n->in[0]) == 0) return NULL;
    for (unsigned i = 0; i < sizeof MOVERS / sizeof *MOVERS; i++)
        if (MOVERS[i] == n->op) return ir_const_like(n, value);
    return NULL;
}

Node *pass_fold_constant(Node *n)
{
    double value;
    if (n->nin == 0 || !ir_const_value(n->in[0], &value)) return NULL;
    if (ir_family_elementwise(OPS[n->op].family)) return fold_elementwise(n);
    if (n->op == OP_cast) return ir_const_like(n, value);
    return n->op == OP_sum ? fold_sum(n, value) : fold_moved(n, value);
}
