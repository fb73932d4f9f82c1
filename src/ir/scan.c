/* scan.c: see scan.h. Nothing here depends on the locale.
 */
#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ir/scan.h"

bool ir_scan_fail(Scan *s, const char *fmt, ...)
{
    Err *e = &s->cx->err, found = *e;
    va_list ap;
    int column = (int)(s->at - s->line_start) + 1;
    if (s->failed || found.code == SGL_ENOMEM) return false;
    s->failed = true;
    if (!found.code) {
        va_start(ap, fmt);
        base_err_vset(&found, SGL_EPARSE, fmt, ap);
        va_end(ap);
    }
    base_err_clear(e);
    base_err_set(e, found.code, "line %d, column %d: %.1900s", s->line, column, found.text);
    if (*found.hint) base_err_hint(e, "%s", found.hint);
    return false;
}

void ir_scan_blanks(Scan *s)
{
    while (*s->at == ' ' || *s->at == '\t' || *s->at == '\r') s->at++;
}

bool ir_scan_end(Scan *s)
{
    ir_scan_blanks(s);
    return *s->at == '\n' || *s->at == 0;
}

bool ir_scan_line(Scan *s)
{
    if (!ir_scan_end(s)) return ir_scan_fail(s, "unexpected text");
    if (*s->at == 0) return true;
    s->line_start = ++s->at;
    s->line++;
    return true;
}

bool ir_scan_take(Scan *s, const char *token)
{
    size_t n = strlen(token);
    ir_scan_blanks(s);
    if (strncmp(s->at, token, n) != 0) return false;
    s->at += n;
    return true;
}

bool ir_scan_need(Scan *s, const char *token)
{
    return ir_scan_take(s, token) || ir_scan_fail(s, "'%s' expected", token);
}

bool ir_scan_word(Scan *s, char *out, int size, const char *what)
{
    int n = 0;
    ir_scan_blanks(s);
    while (isalnum((unsigned char)s->at[n]) || s->at[n] == '_') n++;
    if (n == 0 || n >= size) return ir_scan_fail(s, "%s expected", what);
    memcpy(out, s->at, n);
    out[n] = 0;
    s->at += n;
    return true;
}

bool ir_scan_int(Scan *s, int64_t *out)
{
    ir_scan_blanks(s);
    const char *at = s->at + (*s->at == '-');
    int64_t value = 0;
    bool fits = isdigit((unsigned char)*at), minus = at > s->at;
    for (; isdigit((unsigned char)*at) && fits; at++) /* downwards: INT64_MIN has no opposite */
        fits = !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_sub_overflow(value, *at - '0', &value);
    if (!fits || (!minus && value == INT64_MIN))
        return ir_scan_fail(s, "a 64-bit integer expected");
    s->at = at;
    *out = minus ? value : -value;
    return true;
}

bool ir_scan_double(Scan *s, double *out)
{
    char text[64], *end;
    int n = 0;
    ir_scan_blanks(s);
    while (n < (int)sizeof text - 1 &&
           (isalnum((unsigned char)s->at[n]) || (s->at[n] && strchr("+-.", s->at[n])))) {
        text[n] = s->at[n] == '.' ? *localeconv()->decimal_point : s->at[n];
        n++;
    }
    text[n] = 0;
    *out = strtod(text, &end);
    if (n == 0 || *end) return ir_scan_fail(s, "a number expected");
    s->at += n;
    return true;
}

static int hex_value(const char *two)
{
    char text[3] = {two[0], two[0] ? two[1] : 0, 0};
    if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1])) return -1;
    return (int)strtol(text, NULL, 16);
}

/* The character an escape stands for; 0: none does. */
static int escaped(const char **at)
{
    int c = *(*at)++;
    if (c == '"' || c == '\\') return c;
    int value = c == 'x' ? hex_value(*at) : 0;
    *at += value > 0 ? 2 : 0;
    return value > 0 ? value : 0;
}

bool ir_scan_quoted(Scan *s, Str *out)
{
    if (!ir_scan_need(s, "\"")) return false;
    base_str_add(out, "", 0);
    while (*s->at != '"') {
        if (*s->at == 0 || *s->at == '\n') return ir_scan_fail(s, "a string has no end");
        const char *next = s->at + 1;
        char c = *s->at;
        if (c == '\\') c = (char)escaped(&next);
        if (c == 0) return ir_scan_fail(s, "unknown escape in a string");
        base_str_add(out, &c, 1);
        s->at = next;
    }
    s->at++;
    if (out->failed) base_no_memory(s->cx, "a string");
    return !out->failed;
}
