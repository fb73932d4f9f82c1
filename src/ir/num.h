/* num.h: integers that a run may decide: plain numbers of any sign, or expressions over sizes.
 *
 * Extents, strides, offsets and bounds of loops are Nums while a graph with symbolic dims goes
 * through the passes. From NUM_LEAST up a Num is the number itself; below, it stands for an
 * expression of the table behind dim.h, so equal Nums are equal numbers, and "static" is the case
 * in which all are plain. A Dim is a Num that is not negative (ir_num_of).
 * Holds: what cannot be expressed gives NUM_FAIL with the context's error set, and NUM_FAIL goes
 *        through all arithmetic: whoever wants to know asks the context once, at the end.
 */
#ifndef SGL_IR_NUM_H
#define SGL_IR_NUM_H
#include "ir/dim.h"

typedef int64_t Num;
#define NUM_LEAST (-(INT64_C(1) << 61))
#define NUM_FAIL INT64_MIN

static inline bool ir_num_plain(Num a) { return a >= NUM_LEAST; }

/* A size as such a number. */
Num ir_num_of(Dim d);
Dim ir_num_dim(Ctx *cx, Num a);                       /* of a Num that is no negative number */

/* The same for expressions; a and b may be plain. */
Num ir_num_sum(Ctx *cx, Num a, Num b, int64_t by);    /* a + by·b */
Num ir_num_product(Ctx *cx, Num a, Num b);

static inline Num ir_num_add(Ctx *cx, Num a, Num b)
{
    return ir_num_plain(a) && ir_num_plain(b) ? a + b : ir_num_sum(cx, a, b, 1);
}

static inline Num ir_num_sub(Ctx *cx, Num a, Num b)
{
    return ir_num_plain(a) && ir_num_plain(b) ? a - b : ir_num_sum(cx, a, b, -1);
}

static inline Num ir_num_mul(Ctx *cx, Num a, Num b)
{
    return ir_num_plain(a) && ir_num_plain(b) ? a * b : ir_num_product(cx, a, b);
}

static inline Num ir_num_neg(Ctx *cx, Num a) { return ir_num_sub(cx, 0, a); }

/* a / b where it is exact for all sizes; false: no such quotient is known. b is not negative. */
bool ir_num_quotient(Ctx *cx, Num a, Num b, Num *out);
/* Proofs, for all sizes: false only says that none was found. */
bool ir_num_least(Ctx *cx, Num a, int64_t least);     /* a >= least */
bool ir_num_below(Ctx *cx, Num a, Num b);             /* a < b */
/* Its value for values of the declared symbols, by number. */
int64_t ir_num_eval(const Ctx *cx, Num a, const int64_t *value_of_symbol);
#endif
