/* size.c: decisions on sizes, and what they were (see size.h).
 *
 * Holds: a test is kept once.
 */
#include "pass/size.h"
#include <string.h>

Sizes *pass_sizes_new(Ctx *cx, const SizeValues *values)
{
    Sizes *s = base_mem_zero(1, sizeof *s);
    int n = values ? values->n : 0;
    if (s) s->own = base_mem_zero((size_t)n + 1, sizeof *s->own);
    if (!s || !s->own) {
        base_mem_free(s);
        base_no_memory(cx, "the sizes of a program");
        return NULL;
    }
    s->cx = cx;
    s->values = (SizeValues){s->own, n};
    if (n) memcpy(s->own, values->at, (size_t)n * sizeof *s->own);
    return s;
}

void pass_sizes_free(Sizes *s)
{
    if (!s) return;
    base_mem_free(s->own);
    vec_free(&s->tests);
    base_mem_free(s);
}

bool pass_sizes_set(Sizes *s, const SizeValues *values)
{
    size_t bytes = (size_t)s->values.n * sizeof *s->own;
    if (!bytes || !memcmp(s->own, values->at, bytes)) return false;
    memcpy(s->own, values->at, bytes);
    return true;
}

int64_t pass_size_guess(const Sizes *s, Num a)
{
    return ir_num_plain(a) || !s->values.n ? a : ir_num_eval(s->cx, a, s->own);
}

/* 1 or 0 where the range of a is enough to say; -1: it is not. */
static int by_range(const Sizes *s, Num a, int64_t lo, int64_t hi)
{
    if (ir_num_plain(a)) return a >= lo && a <= hi;
    if (ir_num_least(s->cx, a, lo) && ir_num_below(s->cx, a, hi + 1)) return 1;
    return ir_num_below(s->cx, a, lo) || ir_num_least(s->cx, a, hi + 1) ? 0 : -1;
}

bool pass_size_inside(Sizes *s, Num a, int64_t lo, int64_t hi)
{
    int known = by_range(s, a, lo, hi);
    if (known >= 0) return known == 1;
    for (int i = 0; i < s->tests.n; i++) {
        const SizeTest *t = &s->tests.at[i];
        if (t->at == a && t->lo == lo && t->hi == hi) return t->inside;
    }
    int64_t value = pass_size_guess(s, a);
    bool inside = value >= lo && value <= hi;
    if (!vec_push(&s->tests, ((SizeTest){a, lo, hi, inside})) && !s->failed) {
        s->failed = true;
        base_no_memory(s->cx, "the sizes of a program");
    }
    return inside;
}

bool pass_sizes_fit(const Sizes *s, const SizeValues *values)
{
    for (int i = 0; i < s->tests.n; i++) {
        const SizeTest *t = &s->tests.at[i];
        int64_t value = ir_num_eval(s->cx, t->at, values->at);
        if ((value >= t->lo && value <= t->hi) != t->inside) return false;
    }
    return true;
}

Num pass_count(const Node *n)
{
    Num count = 1;
    for (int d = 0; d < n->rank; d++)
        count = ir_num_mul(n->graph->cx, count, ir_num_of(n->dims[d]));
    return count;
}

int64_t pass_count_now(const Sizes *s, const Node *n)
{
    int64_t count = 1;
    for (int d = 0; d < n->rank; d++) count *= pass_size_guess(s, ir_num_of(n->dims[d]));
    return count;
}

bool pass_is_empty(Sizes *s, const Node *n)
{
    for (int d = 0; d < n->rank; d++)
        if (pass_size_inside(s, ir_num_of(n->dims[d]), 0, 0)) return true;
    return false;
}
