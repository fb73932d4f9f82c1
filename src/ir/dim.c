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
    base_map_free(&t->derived);
    base_arena_free(&t->arena);
    base_mem_free(t);
}

const DimTable *ir_dim_table(const Ctx *cx)
{
    static const DimTable EMPTY;
    return cx->slot[CTX_DIMS] ? cx->slot[CTX_DIMS] : &EMPTY;
}

static Dim out_of_memory(Ctx *cx)
{
    base_no_memory(cx, "a dim");
    return DIM_FAIL;
}

DimTable *ir_dim_table_made(Ctx *cx)
{
    if (!cx->slot[CTX_DIMS]) {
        cx->slot[CTX_DIMS] = base_mem_zero(1, sizeof(DimTable));
        cx->slot_free[CTX_DIMS] = cx->slot[CTX_DIMS] ? table_free : NULL;
    }
    if (!cx->slot[CTX_DIMS]) out_of_memory(cx);
    return cx->slot[CTX_DIMS];
}

void ir_dim_budget(Ctx *cx, int64_t steps)
{
    DimTable *t = cx->slot[CTX_DIMS];
    if (t) t->spent = 0, t->budget = steps;
}

bool ir_dim_spend(Ctx *cx, int64_t steps)
{
    DimTable *t = cx->slot[CTX_DIMS];
    int64_t budget = t && t->budget ? t->budget : DIM_STEPS;
    if (!t || (t->spent += steps) <= budget) return true;
    base_fail(cx, SGL_ESHAPE,
              "the arithmetic on symbolic sizes took more than its budget of %lld "
              "steps",
              (long long)budget);
    base_err_hint(&cx->err,
                  "declare fewer different dims, or keep products and sums of them short");
    return false;
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

static int64_t cut(int64_t v) { return v > DIM_MOST ? DIM_MOST : v < -DIM_MOST ? -DIM_MOST : v; }

int64_t ir_dim_times(int64_t a, int64_t b)
{
    int64_t v;
    if (__builtin_mul_overflow(a, b, &v)) return (a < 0) == (b < 0) ? DIM_MOST : -DIM_MOST;
    return cut(v);
}

/* Of numbers that are cut themselves, so that the sum fits. */
static int64_t plus(int64_t a, int64_t b) { return cut(cut(a) + cut(b)); }

/* Sets [lo, hi], cut at DIM_MOST. */
static void bound(const DimTable *t, DimExpr *e)
{
    e->lo = e->hi = cut(e->constant);
    for (int i = 0; i < e->n; i++) {
        const DimSymbol *s = &t->symbols.at[e->term[i].symbol];
        int64_t by = e->term[i].by;
        int64_t a = ir_dim_times(by, s->lo / s->multiple),
                b = ir_dim_times(by, s->hi / s->multiple);
        e->lo = plus(e->lo, by > 0 ? a : b);
        e->hi = plus(e->hi, by > 0 ? b : a);
    }
}

static bool same_expr(const DimExpr *a, const DimExpr *b)
{
    return a->constant == b->constant && a->n == b->n &&
           (!a->n || !memcmp(a->term, b->term, a->n * sizeof *a->term));
}

Dim ir_dim_intern(Ctx *cx, DimExpr e)
{
    DimTable *t = ir_dim_table_made(cx);
    if (!t || !ir_dim_spend(cx, e.n + 1)) return DIM_FAIL;
    bound(t, &e);
    if (e.lo == e.hi && e.lo >= 0 && e.hi < DIM_MOST) return e.lo;
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

Dim ir_dim_term(Ctx *cx, int64_t symbol, int64_t by)
{
    return ir_dim_intern(cx, (DimExpr){.n = 1, .term = &(DimTerm){symbol, by}});
}

/* The declared symbol of this name and this very range, or -1. */
static int symbol_same(const DimTable *t, const char *name, const DimSymbol *s)
{
    for (int i = 0; i < t->symbols.n; i++) {
        const DimSymbol *old = &t->symbols.at[i];
        if (old->declared && old->lo == s->lo && old->hi == s->hi && old->multiple == s->multiple &&
            !strcmp(old->name, name))
            return i;
    }
    return -1;
}

Dim ir_dim_symbol(Ctx *cx, const char *name, int64_t lo, int64_t hi, int64_t multiple)
{
    DimTable *t = ir_dim_table_made(cx);
    if (!t || symbol_check(cx, name, lo, hi, multiple) < 0) return DIM_FAIL;
    DimSymbol s = {
        .lo = lo / multiple * multiple, .hi = hi / multiple * multiple, .multiple = multiple};
    if (s.lo < lo) s.lo += multiple;
    int at = symbol_same(t, name, &s);
    if (at < 0) {
        s.name = base_intern(&cx->names, name, strlen(name));
        if (!s.name || !vec_push(&t->symbols, s)) return out_of_memory(cx);
        at = t->symbols.n - 1;
    }
    t->symbols.at[at].declared = ++t->declared;
    return ir_dim_term(cx, at, multiple);
}

Dim ir_dim_combine(Ctx *cx, Dim a, Dim b, int64_t by)
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
    Dim d = fits ? ir_dim_intern(cx, sum) : too_large(cx);
    base_mem_free(terms);
    return d;
}

Dim ir_dim_add(Ctx *cx, Dim a, Dim b) { return ir_dim_combine(cx, a, b, 1); }

Dim ir_dim_sub(Ctx *cx, Dim a, Dim b) { return ir_dim_combine(cx, a, b, -1); }

Dim ir_dim_fail(Ctx *cx, const char *what, Dim a, const char *op, Dim b)
{
    Str s = {0};
    ir_dim_text(cx, a, &s);
    base_str_put(&s, op);
    ir_dim_text(cx, b, &s);
    base_fail(cx, SGL_ESHAPE, "%s: %s", what, s.at ? s.at : "");
    base_str_free(&s);
    return DIM_FAIL;
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
        d = ir_dim_fail(cx, "a dim is not divisible for every value", a, " by ", k);
        ir_dim_hint_multiple(cx, t.symbol, k / ir_gcd(k, t.by));
    }
    if (d != DIM_FAIL) d = ir_dim_intern(cx, part);
    base_mem_free(terms);
    return d;
}

void ir_dim_range(const Ctx *cx, Dim d, int64_t *lo, int64_t *hi)
{
    DimExpr e = ir_dim_expr(cx, d);
    *lo = e.lo;
    *hi = e.hi;
}

static int symbols_of_term(const Ctx *cx, int symbol, int *out, int n, int max)
{
    const DimSymbol *s = ir_dim_symbol_at(cx, symbol);
    if (s->over) {
        DimExpr e = ir_dim_expr(cx, s->of);
        for (int i = 0; i < e.n; i++) n = symbols_of_term(cx, (int)e.term[i].symbol, out, n, max);
        return n;
    }
    for (int i = 0; i < s->nfactor; i++) n = symbols_of_term(cx, (int)s->factor[i], out, n, max);
    if (s->nfactor) return n;
    for (int i = 0; i < n; i++)
        if (out[i] == symbol) return n;
    if (n < max) out[n++] = symbol;
    return n;
}

int ir_dim_plain(const Ctx *cx, Dim d)
{
    DimExpr e = ir_dim_expr(cx, d);
    if (e.n != 1 || e.constant) return -1;
    const DimSymbol *s = ir_dim_symbol_at(cx, (int)e.term[0].symbol);
    return s->declared && e.term[0].by == s->multiple ? (int)e.term[0].symbol : -1;
}

int ir_dim_symbols(const Ctx *cx, Dim d, int *out, int max)
{
    DimExpr e = ir_dim_expr(cx, d);
    int n = 0;
    for (int i = 0; i < e.n; i++) n = symbols_of_term(cx, (int)e.term[i].symbol, out, n, max);
    return n;
}

static int64_t value_of(const Ctx *cx, int symbol, const int64_t *values)
{
    const DimSymbol *s = ir_dim_symbol_at(cx, symbol);
    if (s->over) return ir_dim_eval(cx, s->of, values) / s->over; /* of: never below 0 */
    if (!s->nfactor) return values[symbol];
    int64_t product = 1;
    for (int i = 0; i < s->nfactor; i++)
        product = ir_dim_times(product, value_of(cx, (int)s->factor[i], values));
    return product;
}

int64_t ir_dim_eval(const Ctx *cx, Dim d, const int64_t *value_of_symbol)
{
    DimExpr e = ir_dim_expr(cx, d);
    int64_t value = e.constant;
    for (int i = 0; i < e.n; i++) {
        int symbol = (int)e.term[i].symbol;
        int64_t size = value_of(cx, symbol, value_of_symbol);
        int64_t units = size / ir_dim_symbol_at(cx, symbol)->multiple;
        value = plus(value, ir_dim_times(units, e.term[i].by));
    }
    return value;
}

int ir_dim_symbol_count(const Ctx *cx) { return ir_dim_table(cx)->symbols.n; }

const DimSymbol *ir_dim_symbol_at(const Ctx *cx, int symbol)
{
    return &ir_dim_table(cx)->symbols.at[symbol];
}
