/* check.c: the shared checks of the shape rules and the one form of their messages.
 *
 * In:    inputs and attribute words of a node to be made.
 * Out:   0, or a negative code with the context's error set.
 * Holds: sizes of a result are never negative for any value of their symbols; the number of
 *        elements (symbols at their lower bound) stays below 2^58, so byte counts cannot overflow.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "ir/blocks.h"
#include "ir/check.h"

#define MAX_ELEMENTS ((int64_t)1 << 58)

static const char *user_name(Op op)
{
    return op == OP_dot ? "matmul" : OPS[op].name; /* the name scripts know it by */
}

static void add_types(const Check *c, Str *s)
{
    for (int i = 0; i < c->nin && i < 8; i++) {
        if (i) base_str_put(s, i == c->nin - 1 ? " and " : ", ");
        ir_type_text(c->in[i], s);
    }
    if (c->nin > 8) base_str_put(s, " …");
}

int ir_check_fail(const Check *c, int code, const char *what, const char *hint, const char *detail,
                  ...)
{
    if (c->cx->err.code) return code; /* the first error and its hint stay */
    Str s = {0};
    base_str_put(&s, what);
    if (c->nin) {
        base_str_put(&s, ": ");
        add_types(c, &s);
    }
    if (detail) {
        va_list ap;
        va_start(ap, detail);
        base_str_put(&s, " (");
        base_str_vfmt(&s, detail, ap);
        base_str_put(&s, ")");
        va_end(ap);
    }
    base_fail(c->cx, code, "%s: %s.", user_name(c->op), s.failed || !s.at ? what : s.at);
    if (hint) base_err_hint(&c->cx->err, "%s", hint);
    base_str_free(&s);
    return code;
}

DimText ir_dim_name(const Ctx *cx, Dim d)
{
    DimText t;
    Str s = {0};
    if (d != DIM_FAIL) ir_dim_text(cx, d, &s);
    snprintf(t.at, sizeof t.at, "%s", s.failed || !s.at ? "?" : s.at);
    base_str_free(&s);
    return t;
}

int ir_check_axis(const Check *c, int64_t axis, int rank)
{
    if (axis >= 0 && axis < rank) return 0;
    if (rank == 0)
        return ir_check_fail(c, SGL_EARG, "there is no dim to choose", NULL, "dim %lld of rank 0",
                             (long long)axis + 1);
    return ir_check_fail(c, SGL_EARG, "the dim is out of range", NULL, "%lld outside 1 to %d",
                         (long long)axis + 1, rank);
}

int ir_check_axes(const Check *c, AttrList axes, int rank)
{
    unsigned seen = 0;
    for (int i = 0; i < axes.n; i++) {
        int rc = ir_check_axis(c, axes.at[i], rank);
        if (rc) return rc;
        if (seen >> axes.at[i] & 1)
            return ir_check_fail(c, SGL_EARG, "a dim is named twice", NULL, "dim %d",
                                 (int)axes.at[i] + 1);
        seen |= 1u << axes.at[i];
    }
    return 0;
}

int ir_check_dtype(const Check *c, int64_t dtype)
{
    if (dtype >= 0 && dtype < DT_COUNT) return 0;
    return ir_check_fail(c, SGL_EDTYPE, "there is no such dtype", NULL, "number %lld",
                         (long long)dtype);
}

int ir_check_same_dtype(const Check *c)
{
    for (int i = 1; i < c->nin; i++)
        if (c->in[i]->dtype != c->in[0]->dtype)
            return ir_check_fail(c, SGL_EDTYPE, "the dtypes differ", "cast one of them", NULL);
    return 0;
}

int ir_check_number(const Check *c, int input, int classes)
{
    if (DTYPES[c->in[input]->dtype].class & classes) return 0;
    const char *want = classes == CLASS_INT ? "an integer dtype" : "a number";
    return ir_check_fail(c, SGL_EDTYPE, "the dtype does not fit", "cast it first",
                         "input %d is %s, it must be %s", input + 1,
                         DTYPES[c->in[input]->dtype].name, want);
}

int ir_check_length(const Check *c, AttrList l, int n, const char *name)
{
    if (l.n == n) return 0;
    return ir_check_fail(c, SGL_EARG, "a list has the wrong length", NULL,
                         "%s has %d items, not %d", name, l.n, n);
}

bool ir_dim_below_zero(Ctx *cx, Dim d) { return d < 0 && ir_dim_least(cx, d) < 0; }

int ir_check_result(const Check *c, Dtype dtype, int rank, const Dim *dims, Shape *out)
{
    int64_t count = 1;
    if (rank < 0 || rank > OP_MAX_RANK)
        return ir_check_fail(c, SGL_ESHAPE, "the result has too many dims",
                             "merge dims with reshape", "%d, at most %d", rank, OP_MAX_RANK);
    for (int i = 0; i < rank; i++) {
        int64_t lo = dims[i];
        if (dims[i] == DIM_FAIL) return c->cx->err.code ? c->cx->err.code : SGL_ESHAPE;
        if (dims[i] < 0) lo = ir_dim_least(c->cx, dims[i]);
        if (lo < 0)
            return ir_check_fail(c, SGL_ESHAPE, "a size can be negative", NULL, "dim %d is %s",
                                 i + 1, ir_dim_name(c->cx, dims[i]).at);
        if (lo > 0 && __builtin_mul_overflow(count, lo, &count)) count = INT64_MAX;
        if (count > MAX_ELEMENTS)
            return ir_check_fail(c, SGL_ESHAPE, "the result has too many elements", NULL,
                                 "at most 2^58");
        out->dims[i] = dims[i];
    }
    out->dtype = dtype;
    out->rank = rank;
    return 0;
}

/* A symbolic size must be so many units whatever its symbols are. */
static bool has_units(Ctx *cx, Dim size, int64_t units)
{
    if (ir_dim_is_const(size)) return size % units == 0;
    if (ir_dim_div(cx, size, units) != DIM_FAIL) return true;
    if (cx->err.code != SGL_ENOMEM) base_err_clear(&cx->err);
    return false;
}

int ir_check_blocks(const Check *c, int64_t blocks, int64_t units, Dim size)
{
    if (blocks < 1 || blocks > IR_BLOCKS_MAX)
        return ir_check_fail(c, SGL_EARG, "the number of blocks is out of range", NULL,
                             "%lld outside 1 to %d", (long long)blocks, IR_BLOCKS_MAX);
    if (units < 1 || units > INT32_MAX)
        return ir_check_fail(c, SGL_EARG, "the number of units is out of range", NULL,
                             "%lld outside 1 to 2^31-1", (long long)units);
    if (units == 1 || has_units(c->cx, size, units)) return 0;
    return ir_check_fail(c, SGL_ESHAPE, "the reduced dim is no whole number of units",
                         "the number of units divides the size", "%s elements in %lld units",
                         ir_dim_name(c->cx, size).at, (long long)units);
}

int ir_check_add(const Check *c, Dim a, Dim b, int dim, Dim *out)
{
    bool numbers = a >= 0 && b >= 0;
    if (numbers ? !__builtin_add_overflow(a, b, out) : (*out = ir_dim_add(c->cx, a, b)) != DIM_FAIL)
        return 0;
    return ir_check_fail(c, SGL_ESHAPE, "a size leaves the range of integers", NULL,
                         "dim %d: %s and %s", dim + 1, ir_dim_name(c->cx, a).at,
                         ir_dim_name(c->cx, b).at);
}

int ir_check_sub(const Check *c, Dim a, Dim b, const char *what, int dim, Dim *out)
{
    *out = a == b ? 0 : a;
    if (a == b || b == 0) return 0;
    if (a >= 0 && b >= 0) *out = a >= b ? a - b : DIM_FAIL;
    else *out = ir_dim_sub(c->cx, a, b);
    if (*out != DIM_FAIL && !ir_dim_below_zero(c->cx, *out)) return 0;
    int symbol = ir_dim_plain(c->cx, a);
    Str hint = {0};
    if (symbol >= 0 && ir_dim_is_const(b))
        base_str_fmt(&hint, "declare the dim with that least size: sgl.dim(\"%s\", { min = %lld })",
                     ir_dim_symbol_at(c->cx, symbol)->name, (long long)b);
    int rc = ir_check_fail(c, SGL_ESHAPE, what, hint.at, "dim %d: %s against %s", dim + 1,
                           ir_dim_name(c->cx, a).at, ir_dim_name(c->cx, b).at);
    base_str_free(&hint);
    return rc;
}
