/* dim_derived.c: products and rounded quotients of dims, as symbols derived from others.
 *
 * A product of symbols is a symbol whose factors are theirs, sorted, so batch*length has one
 * number however it came about; its multiple is the product of the multiples, and its unit that of
 * the units. A quotient rounded down is a symbol over the part of the expression that the divisor
 * does not divide. What other code sees are expressions over symbols as before.
 * Holds: a derived symbol exists once; it is made of symbols with smaller numbers.
 */
#include <string.h>
#include "ir/dim_table.h"

int64_t ir_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static bool same_symbol(const DimSymbol *a, const DimSymbol *b)
{
    if (a->over != b->over || a->nfactor != b->nfactor || (a->over && a->of != b->of)) return false;
    return !a->nfactor || !memcmp(a->factor, b->factor, (size_t)a->nfactor * sizeof *a->factor);
}

/* The number of the derived symbol s, whose name is made when it is new; -1 on failure. Its key in
 * the index is that of no expression: these start at other seeds. */
static int64_t derived(Ctx *cx, DimSymbol s, Str *name)
{
    DimTable *t = ir_dim_table_made(cx);
    uint64_t at, key = base_hash(s.over ? (uint64_t)s.of : 1, &s.over, sizeof s.over);
    key = ~base_hash(key, s.factor, (size_t)s.nfactor * sizeof *s.factor);
    for (; base_map_get(&t->derived, key, &at); key++)
        if (same_symbol(&t->symbols.at[at], &s)) return (int64_t)at;
    s.factor = base_arena_copy(&t->arena, s.factor, (size_t)(s.nfactor + 1) * sizeof *s.factor);
    s.name = name->failed || !name->at ? NULL : base_intern(&cx->names, name->at, strlen(name->at));
    if (s.factor && s.name && vec_reserve(&t->symbols, t->symbols.n + 1) &&
        base_map_set(&t->derived, key, (uint64_t)t->symbols.n)) {
        t->symbols.at[t->symbols.n++] = s;
        return t->symbols.n - 1;
    }
    base_no_memory(cx, "a dim");
    return -1;
}

bool ir_dim_factors(const Ctx *cx, int64_t symbol, int64_t *out, int *n)
{
    const DimSymbol *s = ir_dim_symbol_at(cx, (int)symbol);
    for (int i = 0; i < (s->nfactor ? s->nfactor : 1); i++) {
        int64_t factor = s->nfactor ? s->factor[i] : symbol;
        int at = *n;
        if (*n == DIM_FACTORS) return false;
        for (; at > 0 && out[at - 1] > factor; at--) out[at] = out[at - 1];
        out[at] = factor;
        ++*n;
    }
    return true;
}

/* The symbol whose factors are these, sorted: one of them, or a product. */
static int64_t product_of(Ctx *cx, int n, const int64_t *factor)
{
    if (n == 1) return factor[0];
    int64_t made = -1;
    Str name = {0};
    int64_t padded[DIM_FACTORS + 1] = {0};
    memcpy(padded, factor, (size_t)n * sizeof *factor);
    DimSymbol s = {.lo = 1, .hi = 1, .multiple = 1, .nfactor = n, .factor = padded};
    for (int i = 0; i < n; i++) {
        const DimSymbol *f = ir_dim_symbol_at(cx, (int)factor[i]);
        s.lo = ir_dim_times(s.lo, f->lo);
        s.hi = ir_dim_times(s.hi, f->hi);
        s.multiple = ir_dim_times(s.multiple, f->multiple);
        base_str_fmt(&name, "%s%s", i ? "*" : "", f->name);
    }
    if (s.multiple < DIM_MOST) made = derived(cx, s, &name);
    else base_fail(cx, SGL_ESHAPE, "a product of dims leaves the range of sizes");
    base_str_free(&name);
    return made;
}

/* by times the product of two terms; units multiply as the symbols do. */
static Dim term_product(Ctx *cx, DimTerm a, DimTerm b)
{
    int64_t factor[DIM_FACTORS + 1], by;
    int n = 0;
    if (!ir_dim_factors(cx, a.symbol, factor, &n) || !ir_dim_factors(cx, b.symbol, factor, &n)) {
        base_fail(cx, SGL_ESHAPE, "a product of more than %d symbolic dims", DIM_FACTORS);
        return DIM_FAIL;
    }
    int64_t symbol = product_of(cx, n, factor);
    if (symbol < 0) return DIM_FAIL;
    if (!__builtin_mul_overflow(a.by, b.by, &by)) return ir_dim_term(cx, symbol, by);
    base_fail(cx, SGL_ESHAPE, "a dim leaves the range of 64-bit integers");
    return DIM_FAIL;
}

Dim ir_dim_mul(Ctx *cx, Dim a, Dim b)
{
    if (a == DIM_FAIL || b == DIM_FAIL) return DIM_FAIL;
    if (ir_dim_is_const(b)) return ir_dim_combine(cx, 0, a, b);
    if (ir_dim_is_const(a)) return ir_dim_combine(cx, 0, b, a);
    DimExpr x = ir_dim_expr(cx, a), y = ir_dim_expr(cx, b);
    Dim sum = x.constant >= 0 ? ir_dim_combine(cx, 0, b, x.constant) : 0;
    for (int i = 0; i < x.n && sum != DIM_FAIL; i++)
        for (int j = 0; j < y.n && sum != DIM_FAIL; j++)
            sum = ir_dim_add(cx, sum, term_product(cx, x.term[i], y.term[j]));
    for (int i = 0; i < x.n && sum != DIM_FAIL && y.constant; i++)
        sum = ir_dim_combine(cx, sum, ir_dim_term(cx, x.term[i].symbol, x.term[i].by), y.constant);
    return x.constant >= 0 ? sum : ir_dim_combine(cx, sum, b, x.constant);
}

/* ---- quotients ---- */

void ir_dim_hint_multiple(Ctx *cx, int64_t symbol, int64_t times)
{
    const DimSymbol *s = ir_dim_symbol_at(cx, (int)symbol);
    while (s->nfactor) {
        symbol = s->factor[s->nfactor - 1];
        s = ir_dim_symbol_at(cx, (int)symbol);
    }
    if (s->over) {
        ir_dim_hint(cx, ir_dim_term(cx, symbol, 1));
        return;
    }
    base_err_hint(&cx->err, "declare the dim as sgl.dim(\"%s\", { multiple = %lld })", s->name,
                  (long long)(s->multiple * times));
}

bool ir_dim_hint(Ctx *cx, Dim d)
{
    DimExpr e = ir_dim_expr(cx, d);
    for (int i = 0; i < e.n; i++) {
        const DimSymbol *s = ir_dim_symbol_at(cx, (int)e.term[i].symbol);
        for (int k = 0; k < s->nfactor && !s->over; k++)
            if (ir_dim_symbol_at(cx, (int)s->factor[k])->over)
                s = ir_dim_symbol_at(cx, (int)s->factor[k]);
        if (!s->over) continue;
        DimExpr of = ir_dim_expr(cx, s->of);
        if (ir_dim_hint(cx, s->of)) return true;
        if (of.n == 0) continue;
        ir_dim_hint_multiple(cx, of.term[0].symbol, s->over / ir_gcd(s->over, of.term[0].by));
        return true;
    }
    return false;
}

/* The part of x whose coefficients are what division by k leaves, or what it gives. */
static Dim part_of(Ctx *cx, DimExpr x, int64_t k, bool rest)
{
    DimTerm *terms = base_mem_alloc((size_t)(x.n + 1) * sizeof *terms);
    if (!terms) {
        base_no_memory(cx, "a dim");
        return DIM_FAIL;
    }
    int64_t left = (x.constant % k + k) % k;
    DimExpr part = {.constant = rest ? left : (x.constant - left) / k, .term = terms};
    for (int i = 0; i < x.n; i++) {
        int64_t over = (x.term[i].by % k + k) % k;
        int64_t by = rest ? over : (x.term[i].by - over) / k;
        if (by) terms[part.n++] = (DimTerm){x.term[i].symbol, by};
    }
    Dim d = part.n || part.constant ? ir_dim_intern(cx, part) : 0;
    base_mem_free(terms);
    return d;
}

/* With a = k·q + r, r's coefficients in [0, k): q + floor(r / k). */
Dim ir_dim_floordiv(Ctx *cx, Dim a, int64_t k)
{
    int64_t lo, hi;
    if (a == DIM_FAIL) return DIM_FAIL;
    if (k < 1) {
        base_fail(cx, SGL_ESHAPE, "a dim cannot be divided by %lld", (long long)k);
        return DIM_FAIL;
    }
    if (ir_dim_is_const(a)) return a / k;
    DimExpr x = ir_dim_expr(cx, a);
    Dim rest = part_of(cx, x, k, true), floor = 0;
    if (rest == DIM_FAIL) return DIM_FAIL;
    if (!ir_dim_is_const(rest)) {
        Str name = {0};
        ir_dim_range(cx, rest, &lo, &hi);
        base_str_put(&name, "(");
        ir_dim_text(cx, rest, &name);
        base_str_fmt(&name, ")//%lld", (long long)k);
        DimSymbol s = {.lo = lo / k,
                       .hi = hi / k,
                       .multiple = 1,
                       .of = rest,
                       .over = k,
                       .factor = (const int64_t[1]){0}};
        int64_t symbol = derived(cx, s, &name);
        base_str_free(&name);
        floor = symbol < 0 ? DIM_FAIL : ir_dim_term(cx, symbol, 1);
    }
    /* The whole part alone may be negative, which a constant cannot be. */
    DimExpr whole = x;
    if (floor == DIM_FAIL) return DIM_FAIL;
    int64_t left = (whole.constant % k + k) % k, constant = (whole.constant - left) / k;
    whole.constant = left;
    Dim q = part_of(cx, whole, k, false);
    if (q == DIM_FAIL) return DIM_FAIL;
    q = ir_dim_add(cx, q, floor);
    return constant >= 0 ? ir_dim_add(cx, q, constant) : ir_dim_sub(cx, q, -constant);
}

/* Takes the factors `out` out of the symbol; -1 when it has not got them, -2 when nothing stays. */
static int64_t without(Ctx *cx, int64_t symbol, int64_t out)
{
    int64_t have[DIM_FACTORS + 1], gone[DIM_FACTORS + 1], left[DIM_FACTORS + 1];
    int n = 0, m = 0, k = 0, j = 0;
    if (!ir_dim_factors(cx, symbol, have, &n) || !ir_dim_factors(cx, out, gone, &m)) return -1;
    for (int i = 0; i < n; i++)
        if (j < m && have[i] == gone[j]) j++;
        else left[k++] = have[i];
    return j < m ? -1 : k ? product_of(cx, k, left) : -2;
}

Dim ir_dim_quotient(Ctx *cx, Dim a, Dim b)
{
    if (a == DIM_FAIL || b == DIM_FAIL) return DIM_FAIL;
    if (a == b) return 1;
    if (ir_dim_is_const(b)) {
        if (!ir_dim_is_const(a)) return ir_dim_div(cx, a, b);
        if (b && a % b == 0) return a / b;
    }
    DimExpr x = ir_dim_expr(cx, a), y = ir_dim_expr(cx, b);
    Dim sum = x.constant == 0 && y.n == 1 && y.constant == 0 ? 0 : DIM_FAIL;
    for (int i = 0; i < x.n && sum != DIM_FAIL; i++) {
        int64_t symbol = without(cx, x.term[i].symbol, y.term[0].symbol);
        bool fits = symbol != -1 && x.term[i].by % y.term[0].by == 0;
        int64_t by = fits ? x.term[i].by / y.term[0].by : 0;
        if (!fits || (symbol == -2 && by < 0)) sum = DIM_FAIL;
        else sum = ir_dim_add(cx, sum, symbol == -2 ? by : ir_dim_term(cx, symbol, by));
    }
    return sum == DIM_FAIL ? ir_dim_fail(cx, "a dim is not divisible", a, " by ", b) : sum;
}
