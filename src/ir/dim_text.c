/* dim_text.c: dims as text and back.
 *
 * expression:  ['-'] term { ('+' | '-') term }
 * term:        number  |  [number '*'] symbol { '*' symbol } ['/' number]
 * symbol:      name  |  '(' expression ')' '//' number
 * "batch/8" means the exact quotient, so the symbol's multiple must allow it. What prints parses
 * to the same Dim.
 */
#include <ctype.h>
#include <string.h>
#include "ir/dim_table.h"

enum { MOST_DEPTH = 16 };

int ir_dim_symbol_find(const Ctx *cx, const char *name, size_t n)
{
    const DimTable *t = ir_dim_table(cx);
    uint64_t latest = 0;
    int found = -1;
    for (int i = 0; i < t->symbols.n; i++) {
        const DimSymbol *s = &t->symbols.at[i];
        if (s->declared <= latest || strncmp(s->name, name, n) != 0 || s->name[n]) continue;
        latest = s->declared;
        found = i;
    }
    return found;
}

size_t ir_dim_name_length(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_') n++;
    return isdigit((unsigned char)text[0]) ? 0 : n;
}

static void term_text(const Ctx *cx, DimTerm t, bool first, Str *out)
{
    const DimSymbol *s = ir_dim_symbol_at(cx, (int)t.symbol);
    uint64_t size = t.by < 0 ? -(uint64_t)t.by : (uint64_t)t.by;
    uint64_t common = (uint64_t)ir_gcd((int64_t)size, s->multiple);
    uint64_t times = size / common, over = (uint64_t)s->multiple / common;
    if (t.by < 0) base_str_put(out, "-");
    else if (!first) base_str_put(out, "+");
    if (times != 1) base_str_fmt(out, "%llu*", (unsigned long long)times);
    base_str_put(out, s->name);
    if (over != 1) base_str_fmt(out, "/%llu", (unsigned long long)over);
}

void ir_dim_text(const Ctx *cx, Dim d, Str *out)
{
    DimExpr e = ir_dim_expr(cx, d);
    for (int i = 0; i < e.n; i++) term_text(cx, e.term[i], i == 0, out);
    if (e.n && e.constant > 0) base_str_put(out, "+");
    if (e.n == 0 || e.constant) base_str_int(out, e.constant);
}

/* Digits alone: signs belong to the terms around, and an overflow is an error of the text. */
static bool read_number(Ctx *cx, const char **text, int64_t *out)
{
    *out = 0;
    if (!isdigit((unsigned char)**text)) {
        base_fail(cx, SGL_EPARSE, "a number is missing in a dim");
        return false;
    }
    for (; isdigit((unsigned char)**text); ++*text)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, **text - '0', out)) {
            base_fail(cx, SGL_EPARSE, "a number in a dim is too large");
            return false;
        }
    return true;
}

/* Expressions in brackets nest: `depth` counts how deeply. */
static Dim read_sum(Ctx *cx, const char **text, int depth);

static Dim read_quotient(Ctx *cx, const char **text, int depth)
{
    int64_t over;
    ++*text;
    Dim d = depth < MOST_DEPTH ? read_sum(cx, text, depth + 1) : DIM_FAIL;
    if (d == DIM_FAIL || strncmp(*text, ")//", 3) != 0) {
        base_fail(cx, SGL_EPARSE, "')//' and a number must follow '(' in a dim");
        return DIM_FAIL;
    }
    *text += 3;
    return read_number(cx, text, &over) ? ir_dim_floordiv(cx, d, over) : DIM_FAIL;
}

static Dim read_name(Ctx *cx, const char **text)
{
    size_t n = ir_dim_name_length(*text);
    int at = ir_dim_symbol_find(cx, *text, n);
    if (at < 0) {
        base_fail(cx, SGL_EPARSE, "dim '%.*s' is not declared", (int)(n < 64 ? n : 64), *text);
        return DIM_FAIL;
    }
    *text += n;
    return ir_dim_term(cx, at, ir_dim_symbol_at(cx, at)->multiple);
}

static Dim read_symbols(Ctx *cx, const char **text, int64_t times, int depth)
{
    Dim d = times;
    for (bool more = true; more && d != DIM_FAIL; *text += more) {
        d = ir_dim_mul(cx, d, **text == '(' ? read_quotient(cx, text, depth) : read_name(cx, text));
        more = **text == '*';
    }
    int64_t over;
    if (**text != '/' || d == DIM_FAIL) return d;
    ++*text;
    return read_number(cx, text, &over) ? ir_dim_quotient(cx, d, over) : DIM_FAIL;
}

static Dim read_term(Ctx *cx, const char **text, int depth)
{
    int64_t number = 1;
    if (!isdigit((unsigned char)**text) && (**text == '(' || ir_dim_name_length(*text)))
        return read_symbols(cx, text, 1, depth);
    if (!read_number(cx, text, &number)) return DIM_FAIL;
    if (**text != '*') return number;
    ++*text;
    return read_symbols(cx, text, number, depth);
}

/* Partial sums may be negative, which no constant Dim can be: constants are added up apart and
 * joined to the symbols at the end. */
static Dim read_sum(Ctx *cx, const char **text, int depth)
{
    Dim sum = 0;
    int64_t constant = 0;
    bool minus = **text == '-';
    if (minus) ++*text;
    for (;;) {
        Dim term = read_term(cx, text, depth);
        if (term == DIM_FAIL) return DIM_FAIL;
        if (!ir_dim_is_const(term)) {
            sum = minus ? ir_dim_sub(cx, sum, term) : ir_dim_add(cx, sum, term);
        } else if (__builtin_add_overflow(constant, minus ? -term : term, &constant) ||
                   constant == INT64_MIN) {
            base_fail(cx, SGL_EPARSE, "a number in a dim is too large");
            return DIM_FAIL;
        }
        if (sum == DIM_FAIL) return DIM_FAIL;
        if (**text != '+' && **text != '-') break;
        minus = *(*text)++ == '-';
    }
    if (constant >= 0) return ir_dim_add(cx, sum, constant);
    return ir_dim_sub(cx, sum, -constant);
}

Dim ir_dim_parse(Ctx *cx, const char **text) { return read_sum(cx, text, 0); }
