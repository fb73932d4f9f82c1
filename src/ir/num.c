/* num.c: numbers of either sign over the table of dim expressions.
 *
 * In:    Nums.
 * Out:   Nums in the normal form of dims: equal ones are equal numbers.
 * Holds: no expression here is a constant: what loses all its symbols is a plain number again,
 *        negative ones too, which a Dim cannot be.
 */
#include "ir/num.h"
#include "ir/dim_table.h"

/* Added before terms cancel, so that what is left is no negative constant. */
static const int64_t LIFT = INT64_C(1) << 50;

Num ir_num_of(Dim d)
{
    if (d >= 0 || d == DIM_FAIL) return d;
    return INT64_MIN + 1 + ~d;
}

Dim ir_num_dim(Ctx *cx, Num a)
{
    if (a == NUM_FAIL) return DIM_FAIL;
    if (!ir_num_plain(a)) return ~(a - INT64_MIN - 1);
    if (a >= 0) return a;
    base_fail(cx, SGL_EINTERN, "a size would be %lld", (long long)a);
    return DIM_FAIL;
}

/* A lifted dim as the number that it stands for. */
static Num lowered(Ctx *cx, Dim d)
{
    if (d == DIM_FAIL) return NUM_FAIL;
    return ir_dim_is_const(d) ? d - LIFT : ir_num_of(ir_dim_sub(cx, d, LIFT));
}

/* a + LIFT; plain numbers in kernels are far from it. */
static Dim lifted(Ctx *cx, Num a)
{
    return ir_num_plain(a) ? ir_num_dim(cx, a + LIFT) : ir_dim_add(cx, ir_num_dim(cx, a), LIFT);
}

Num ir_num_sum(Ctx *cx, Num a, Num b, int64_t by)
{
    if (a == NUM_FAIL || b == NUM_FAIL) return NUM_FAIL;
    if (ir_num_plain(b) && ir_num_plain(a)) return a + by * b;
    if (ir_num_plain(b) && b < 0) b = -b, by = -by;
    return lowered(cx, ir_dim_combine(cx, lifted(cx, a), ir_num_dim(cx, b), by));
}

Num ir_num_product(Ctx *cx, Num a, Num b)
{
    if (a == NUM_FAIL || b == NUM_FAIL) return NUM_FAIL;
    if (ir_num_plain(b)) return ir_num_sum(cx, 0, a, b);
    if (ir_num_plain(a)) return ir_num_sum(cx, 0, b, a);
    return ir_num_of(ir_dim_mul(cx, ir_num_dim(cx, a), ir_num_dim(cx, b)));
}

/* Forgets the error of an attempt, but for missing memory. */
static void forget(Ctx *cx, bool clean)
{
    if (clean && cx->err.code != SGL_ENOMEM) base_err_clear(&cx->err);
}

bool ir_num_quotient(Ctx *cx, Num a, Num b, Num *out)
{
    if (a == NUM_FAIL || b == NUM_FAIL || b == 0) return false;
    if (ir_num_plain(a) && (a == 0 || ir_num_plain(b))) {
        *out = a == 0 ? 0 : a / b;
        return a == 0 || a % b == 0;
    }
    if (ir_num_plain(a)) return false;
    bool clean = !cx->err.code, minus = !ir_num_least(cx, a, 0);
    Num size = minus ? ir_num_neg(cx, a) : a;
    Dim q = ir_dim_quotient(cx, ir_num_dim(cx, size), ir_num_dim(cx, b));
    if (q == DIM_FAIL) {
        forget(cx, clean);
        return false;
    }
    *out = minus ? ir_num_neg(cx, ir_num_of(q)) : ir_num_of(q);
    return true;
}

bool ir_num_least(Ctx *cx, Num a, int64_t least)
{
    if (ir_num_plain(a)) return a >= least;
    if (a == NUM_FAIL) return false;
    Num above = ir_num_sub(cx, a, least);
    if (ir_num_plain(above)) return above >= 0;
    return above != NUM_FAIL && ir_dim_least(cx, ir_num_dim(cx, above)) >= 0;
}

bool ir_num_below(Ctx *cx, Num a, Num b)
{
    if (ir_num_plain(a) && ir_num_plain(b)) return a < b;
    return ir_num_least(cx, ir_num_sub(cx, b, a), 1);
}

int64_t ir_num_eval(const Ctx *cx, Num a, const int64_t *value_of_symbol)
{
    if (ir_num_plain(a)) return a;
    return ir_dim_eval(cx, ~(a - INT64_MIN - 1), value_of_symbol);
}
