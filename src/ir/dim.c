/* dim.c: the table of dim expressions and the arithmetic on them.
 *
 * A symbol whose values are multiples of m is m·t; an expression is c0 + Σ ci·ti over these
 * units t, so batch/8 is affine when batch is a multiple of 8.
 * Holds: terms are sorted by symbol and have no zero coefficient; an expression that can take one
 *        value only is that constant; equal expressions have one index; [lo, hi] of every
 *        expression fits the int64, checked when it is made.
 */
#include <string.h>
#include "ir/dim_table.h"

static void table_free(void *slot)
{
    DimTable *t = slot;
    vec_free(&t->symbols);
    vec_free(&t->exprs);
    base_map_free(&t->index);
    base_arena_free(&t->arena);
    base_mem_free(t);
}

const DimTable *ir_dim_table(const Ctx *cx)
{
    static const DimTable EMPTY;
    return cx->slot[CTX_DIMS] ? cx->slot[CTX_DIMS] : &EMPTY;
}

static DimTable *table_made(Ctx *cx)
{
    if (!cx->slot[CTX_DIMS]) {
        cx->slot[CTX_DIMS] = base_mem_zero(1, sizeof(DimTable));
        cx->slot_free[CTX_DIMS] = cx->slot[CTX_DIMS] ? table_free : NULL;
    }
    return cx->slot[CTX_DIMS];
}

static Dim out_of_memory(Ctx *cx)
{
    base_fail(cx, SGL_ENOMEM, "out of memory for a dim");
    return DIM_FAIL;
}

static Dim too_large(Ctx *cx)
{
    base_fail(cx, SGL_ESHAPE, "a dim leaves the range of 64-bit integers");
    return DIM_FAIL;
}

DimExpr ir_dim_expr(const Ctx *cx, Dim d)
{
    if (ir_dim_is_const(d)) return (DimExpr){.constant = d, .lo = d, .hi = d};
    return ir_dim_table(cx)->exprs.at[~d];
}

bool ir_dim_valid(const Ctx *cx, Dim d)
{
    return ir_dim_is_const(d) || (d != DIM_FAIL && ~d < ir_dim_table(cx)->exprs.n);
}

/* Sets [lo, hi]; false when an end leaves the int64. */
static bool bound(const DimTable *t, DimExpr *e)
{
    e->lo = e->hi = e->constant;
    for (int i = 0; i < e->n; i++) {
        const DimSymbol *s = &t->symbols.at[e->term[i].symbol];
        int64_t by = e->term[i].by, a, b;
        if (__builtin_mul_overflow(by, s->lo / s->multiple, &a) ||
            __builtin_mul_overflow(by, s->hi / s->multiple, &b) ||
            __builtin_add_overflow(e->lo, by > 0 ? a : b, &e->lo) ||
            __builtin_add_overflow(e->hi, by > 0 ? b : a, &e->hi))
            return false;
    }
    return e->lo != INT64_MIN;
}

static bool same_expr(const DimExpr *a, const DimExpr *b)
{
    return a->constant == b->constant && a->n == b->n &&
           (!a->n || !memcmp(a->term, b->term, a->n * sizeof *a->term));
}

/* The Dim of an expression whose terms are sorted and may lie on the caller's stack. */
static Dim intern(Ctx *cx, DimExpr e)
{
    DimTable *t = table_made(cx);
    if (!t) return out_of_memory(cx);
    if (!bound(t, &e)) return too_large(cx);
    if (e.lo == e.hi && e.lo >= 0) return e.lo;
    if (e.n == 0) {
        base_fail(cx, SGL_ESHAPE, "a dim would be %lld", (long long)e.constant);
        return DIM_FAIL;
    }
    uint64_t key = base_hash((uint64_t)e.constant, e.term, e.n * sizeof *e.term), at;
    for (; base_map_get(&t->index, key, &at); key++)
        if (same_expr(&t->exprs.at[at], &e)) return ~(Dim)at;
    e.term = base_arena_copy(&t->arena, e.term, e.n * sizeof *e.term);
    if (!e.term || !vec_reserve(&t->exprs, t->exprs.n + 1) ||
        !base_map_set(&t->index, key, (uint64_t)t->exprs.n))
        return out_of_memory(cx);
    t->exprs.at[t->exprs.n++] = e;
    return ~(Dim)(t->exprs.n - 1);
}

static bool is_name(const char *name)
{
    if (!name || !ir_dim_name_length(name)) return false;
    return name[ir_dim_name_length(name)] == 0;
}

static int symbol_check(Ctx *cx, const char *name, int64_t lo, int64_t hi, int64_t multiple)
{
    if (!is_name(name)) return base_fail(cx, SGL_EARG, "dim: '%s' is not a name", name ? name : "");
    if (lo < 0 || multiple < 1 || hi < lo || hi / multiple * multiple < lo)
        return base_fail(cx, SGL_EARG, "dim '%s': no multiple of %lld lies in [%lld, %lld]", name,
                         (long long)multiple, (long long)lo, (long long)hi);
    return SGL_OK;
}

Dim ir_dim_symbol(Ctx *cx, const char *name, int64_t lo, int64_t hi, int64_t multiple)
{
    DimTable *t = table_made(cx);
    if (!t) return out_of_memory(cx);
    if (symbol_check(cx, name, lo, hi, multiple) < 0) return DIM_FAIL;
    DimSymbol s = {
        .lo = lo / multiple * multiple, .hi = hi / multiple * multiple, .multiple = multiple};
    if (s.lo < lo) s.lo += multiple;
    int at = ir_dim_symbol_find(cx, name, strlen(name));
    if (at < 0) {
        s.name = base_intern(&cx->names, name, strlen(name));
        if (!s.name || !vec_push(&t->symbols, s)) return out_of_memory(cx);
        at = t->symbols.n - 1;
    }
    const DimSymbol *old = &t->symbols.at[at];
    if (old->lo != s.lo || old->hi != s.hi || old->multiple != multiple) {
        base_fail(cx, SGL_EARG, "dim '%s' exists with the range [%lld, %lld], multiple %lld", name,
                  (long long)old->lo, (long long)old->hi, (long long)old->multiple);
        return DIM_FAIL;
    }
    return intern(cx, (DimExpr){.n = 1, .term = &(DimTerm){at, multiple}});
}

/* a + by·b */
static Dim combine(Ctx *cx, Dim a, Dim b, int64_t by)
{
    if (a == DIM_FAIL || b == DIM_FAIL) return DIM_FAIL;
    DimExpr x = ir_dim_expr(cx, a), y = ir_dim_expr(cx, b), sum = {0};
    int64_t scaled;
    if (x.n + y.n == 0 && !__builtin_mul_overflow(b, by, &scaled) &&
        !__builtin_add_overflow(a, scaled, &scaled) && scaled >= 0)
        return scaled;
    DimTerm *terms = base_mem_alloc((x.n + y.n + 1) * sizeof *terms);
    if (!terms) return out_of_memory(cx);
    bool fits = !__builtin_mul_overflow(y.constant, by, &scaled) &&
                !__builtin_add_overflow(x.constant, scaled, &sum.constant);
    for (int i = 0, j = 0; fits && (i < x.n || j < y.n);) {
        bool left = i < x.n && (j == y.n || x.term[i].symbol <= y.term[j].symbol);
        bool right = j < y.n && (i == x.n || y.term[j].symbol <= x.term[i].symbol);
        DimTerm t = {left ? x.term[i].symbol : y.term[j].symbol, left ? x.term[i].by : 0};
        fits = !right || (!__builtin_mul_overflow(y.term[j].by, by, &scaled) &&
                          !__builtin_add_overflow(t.by, scaled, &t.by));
        if (t.by) terms[sum.n++] = t;
        i += left;
        j += right;
    }
    sum.term = terms;
    Dim d = fits ? intern(cx, sum) : too_large(cx);
    base_mem_free(terms);
    return d;
}

Dim ir_dim_add(Ctx *cx, Dim a, Dim b) { return combine(cx, a, b, 1); }

Dim ir_dim_sub(Ctx *cx, Dim a, Dim b) { return combine(cx, a, b, -1); }

static Dim dim_fail(Ctx *cx, const char *what, Dim a, const char *op, Dim b)
{
    Str s = {0};
    ir_dim_text(cx, a, &s);
    base_str_put(&s, op);
    ir_dim_text(cx, b, &s);
    base_fail(cx, SGL_ESHAPE, "%s: %s", what, s.at ? s.at : "");
    base_str_free(&s);
    return DIM_FAIL;
}

Dim ir_dim_mul(Ctx *cx, Dim a, Dim b)
{
    if (a == DIM_FAIL || b == DIM_FAIL) return DIM_FAIL;
    if (ir_dim_is_const(b)) return combine(cx, 0, a, b);
    if (ir_dim_is_const(a)) return combine(cx, 0, b, a);
    return dim_fail(cx, "a product of two symbolic dims is not supported", a, " times ", b);
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

Dim ir_dim_div(Ctx *cx, Dim a, int64_t k)
{
    if (a == DIM_FAIL) return DIM_FAIL;
    DimExpr x = ir_dim_expr(cx, a);
    if (k < 1 || x.constant % k) {
        base_fail(cx, SGL_ESHAPE, "a dim cannot be divided by %lld", (long long)k);
        return DIM_FAIL;
    }
    DimTerm *terms = base_mem_alloc((x.n + 1) * sizeof *terms);
    if (!terms) return out_of_memory(cx);
    DimExpr part = {.constant = x.constant / k, .n = x.n, .term = terms};
    Dim d = 0;
    for (int i = 0; i < x.n; i++) {
        DimTerm t = x.term[i];
        terms[i] = (DimTerm){t.symbol, t.by / k};
        if (t.by % k == 0 || d == DIM_FAIL) continue;
        const DimSymbol *s = ir_dim_symbol_at(cx, t.symbol);
        d = dim_fail(cx, "a dim is not divisible for every value", a, " by ", k);
        base_err_hint(&cx->err, "give '%s' the option multiple = %lld", s->name,
                      (long long)(s->multiple * (k / gcd(k, t.by))));
    }
    if (d != DIM_FAIL) d = intern(cx, part);
    base_mem_free(terms);
    return d;
}

void ir_dim_range(const Ctx *cx, Dim d, int64_t *lo, int64_t *hi)
{
    DimExpr e = ir_dim_expr(cx, d);
    *lo = e.lo;
    *hi = e.hi;
}

int ir_dim_symbols(const Ctx *cx, Dim d, int *out, int max)
{
    DimExpr e = ir_dim_expr(cx, d);
    for (int i = 0; i < e.n && i < max; i++) out[i] = e.term[i].symbol;
    return e.n;
}

int ir_dim_symbol_count(const Ctx *cx) { return ir_dim_table(cx)->symbols.n; }

const DimSymbol *ir_dim_symbol_at(const Ctx *cx, int symbol)
{
    return &ir_dim_table(cx)->symbols.at[symbol];
}
