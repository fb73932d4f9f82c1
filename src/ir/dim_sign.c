/* dim_sign.c: proofs that an expression over sizes is never below 0.
 *
 * The range of an expression takes each term by itself: for n - n//2, or for (n-1)*(m-1) written
 * out, it is too wide. Two steps make it narrower:
 *   - every symbol is its least value and the rest above it: with these rests, which start at 0,
 *     most products have no negative part left;
 *   - a rounded quotient is replaced by its expression, off by less than one.
 * Holds: 0 or more is a proof; anything below only says that none was found.
 */
#include <string.h>
#include "ir/dim_table.h"

enum { MOST_DEGREE = 5, MOST_MONOMIALS = 96 };

/* by times a product of rests of symbols. */
typedef struct Monomial {
    int64_t by;
    int n;
    int64_t rest[MOST_DEGREE];
} Monomial;
typedef struct Sum {
    int n;
    bool full;
    Monomial at[MOST_MONOMIALS];
} Sum;

static void sum_add(Sum *s, Monomial m)
{
    int i = 0;
    while (i < s->n &&
           (s->at[i].n != m.n || memcmp(s->at[i].rest, m.rest, (size_t)m.n * sizeof *m.rest)))
        i++;
    if (i == MOST_MONOMIALS) {
        s->full = true;
        return;
    }
    if (i == s->n) s->at[s->n++] = (Monomial){.n = m.n};
    memcpy(s->at[i].rest, m.rest, sizeof m.rest);
    if (__builtin_add_overflow(s->at[i].by, m.by, &s->at[i].by)) s->full = true;
}

/* A symbol's values in units of its multiple. */
static int64_t unit_least(const Ctx *cx, int64_t symbol)
{
    const DimSymbol *s = ir_dim_symbol_at(cx, (int)symbol);
    return s->lo / s->multiple;
}

static int64_t unit_spread(const Ctx *cx, int64_t symbol)
{
    const DimSymbol *s = ir_dim_symbol_at(cx, (int)symbol);
    return s->hi / s->multiple - s->lo / s->multiple;
}

/* The term with each factor as its least value plus a rest: one monomial for each choice. */
static void spread_term(const Ctx *cx, DimTerm t, Sum *s)
{
    int64_t factor[DIM_FACTORS + 1];
    int n = 0;
    if (!ir_dim_factors(cx, t.symbol, factor, &n) || n > MOST_DEGREE) {
        s->full = true;
        return;
    }
    for (unsigned choice = 0; choice < 1u << n && !s->full; choice++) {
        Monomial m = {.by = t.by};
        for (int i = 0; i < n; i++) {
            if (choice >> i & 1) m.rest[m.n++] = factor[i];
            else m.by = ir_dim_times(m.by, unit_least(cx, factor[i]));
        }
        s->full = s->full || m.by >= DIM_MOST || m.by <= -DIM_MOST;
        if (m.by && !s->full) sum_add(s, m);
    }
}

static int64_t least_of_sum(const Ctx *cx, int64_t constant, const Sum *s)
{
    int64_t least = constant;
    for (int i = 0; i < s->n; i++) {
        int64_t part = s->at[i].by;
        for (int k = 0; k < s->at[i].n; k++)
            part = ir_dim_times(part, part < 0 ? unit_spread(cx, s->at[i].rest[k]) : 0);
        least = least > -DIM_MOST && part > -DIM_MOST ? least + part : -DIM_MOST;
    }
    return least;
}

/* The better of the range's lower end and that of the spread terms. */
static int64_t least_value(Ctx *cx, Dim d)
{
    if (ir_dim_is_const(d)) return d;
    DimExpr e = ir_dim_expr(cx, d);
    Sum s;
    s.n = 0;
    s.full = false;
    for (int i = 0; i < e.n && !s.full; i++) spread_term(cx, e.term[i], &s);
    if (s.full || !ir_dim_spend(cx, s.n)) return e.lo;
    int64_t least = least_of_sum(cx, e.constant, &s);
    return least > e.lo ? least : e.lo;
}

enum { MOST_QUOTIENTS = 8, MOST_DIVISOR = 512 };

/* An expression that may be negative: e - LIFT. */
static const int64_t LIFT = INT64_C(1) << 50;

/* The first term that is a quotient, or -1. */
static int quotient_in(const Ctx *cx, const DimExpr *e)
{
    for (int i = 0; i < e->n; i++)
        if (ir_dim_symbol_at(cx, (int)e->term[i].symbol)->over) return i;
    return -1;
}

/* With q = floor(e/k): k·q is from e - (k-1) to e, so k·(d + by·q) is at least k·d + by·e, less
 * by·(k-1) where by > 0; and an integer above -1 is not below 0, so k-1 may be added. */
int64_t ir_dim_least(Ctx *cx, Dim d)
{
    int64_t lo, hi;
    bool clean = !cx->err.code;
    ir_dim_range(cx, d, &lo, &hi);
    if (lo < 0) lo = least_value(cx, d);
    Dim lifted = lo < 0 ? ir_dim_add(cx, d, LIFT) : d;
    for (int round = 0; lo < 0 && round < MOST_QUOTIENTS && lifted != DIM_FAIL; round++) {
        if (ir_dim_is_const(lifted)) break;
        DimExpr e = ir_dim_expr(cx, lifted);
        int at = quotient_in(cx, &e);
        if (at < 0) break;
        DimTerm t = e.term[at];
        DimSymbol s = *ir_dim_symbol_at(cx, (int)t.symbol);
        if (s.over > MOST_DIVISOR) break;
        Dim rest = ir_dim_combine(cx, lifted, ir_dim_term(cx, t.symbol, 1), -t.by);
        lifted = ir_dim_combine(cx, ir_dim_mul(cx, rest, s.over), s.of, t.by);
        lifted = ir_dim_sub(cx, lifted, LIFT * (s.over - 1));
        int64_t slack = s.over - 1 - (t.by > 0 ? t.by * (s.over - 1) : 0);
        lifted = slack >= 0 ? ir_dim_add(cx, lifted, slack) : ir_dim_sub(cx, lifted, -slack);
        lo = lifted == DIM_FAIL ? -1 : least_value(cx, lifted) - LIFT;
    }
    bool own = lifted == DIM_FAIL && clean && cx->err.code != SGL_ENOMEM;
    if (own) base_err_clear(&cx->err);
    return lo;
}
