/* csv.c: tables of numbers from text.
 *
 * Holds: the text may contain any bytes and need not end in 0: a field is copied before it is read
 *        as a number, so nothing behind it is looked at.
 */
#include "io/csv.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FIELD_MAX = 128 };

typedef struct Csv {
    const char *at, *end;
    char separator;
    const char *name;
    int64_t line;
    CsvTable *out;
    Err *err;
} Csv;

typedef struct Field {
    const char *at;
    size_t n;
} Field;

static int fail(const Csv *c, int64_t column, const char *what, Field f)
{
    int shown = 0;
    while (shown < 40 && (size_t)shown < f.n && isprint((unsigned char)f.at[shown])) shown++;
    base_err_set(c->err, SGL_EFORMAT, "%s:%lld:%lld: %s: '%.*s'", c->name, (long long)c->line,
                 (long long)column, what, shown, f.at);
    return SGL_EFORMAT;
}

static Field trim(Field f)
{
    while (f.n && (f.at[0] == ' ' || f.at[0] == '\t')) f.at++, f.n--;
    while (f.n && (f.at[f.n - 1] == ' ' || f.at[f.n - 1] == '\t' || f.at[f.n - 1] == '\r')) f.n--;
    return f;
}

/* Hexadecimal floats and "nan(…)" are strtod's but no one's CSV. */
static bool is_plain_number(const char *text)
{
    if (*text == '+' || *text == '-') text++;
    if (strcasecmp(text, "nan") == 0 || strcasecmp(text, "inf") == 0) return true;
    return (isdigit((unsigned char)*text) || *text == '.') &&
           strspn(text, "0123456789.eE+-") == strlen(text);
}

static int read_number(const Csv *c, int64_t column, Field whole, float *value)
{
    char text[FIELD_MAX], *stop;
    Field f = trim(whole);
    if (f.n >= 2 && f.at[0] == '"' && f.at[f.n - 1] == '"') f = trim((Field){f.at + 1, f.n - 2});
    if (f.n == 0) return fail(c, column, "a number is missing", f);
    if (f.n >= FIELD_MAX) return fail(c, column, "not a number", f);
    memcpy(text, f.at, f.n);
    text[f.n] = 0;
    *value = strtof(text, &stop);
    if (strlen(text) != f.n || *stop || !is_plain_number(text))
        return fail(c, column, "not a number", f);
    return SGL_OK;
}

static int out_of_memory(const Csv *c)
{
    return base_err_set(c->err, SGL_ENOMEM, "%s: no memory for more than %lld rows", c->name,
                        (long long)c->out->rows);
}

static int read_row(Csv *c, const char *end)
{
    int64_t cols = 0;
    for (const char *at = c->at; at <= end;) {
        const char *stop = memchr(at, c->separator, (size_t)(end - at));
        if (!stop) stop = end;
        float value = 0;
        int code = read_number(c, ++cols, (Field){at, (size_t)(stop - at)}, &value);
        if (code < 0) return code;
        if (c->out->rows && cols > c->out->cols)
            return base_err_set(c->err, SGL_EFORMAT,
                                "%s:%lld:%lld: more than the %lld fields of the first row", c->name,
                                (long long)c->line, (long long)cols, (long long)c->out->cols);
        if (c->out->values.n == INT32_MAX || !vec_push(&c->out->values, value))
            return out_of_memory(c);
        at = stop + 1;
    }
    if (c->out->rows && cols < c->out->cols)
        return base_err_set(
            c->err, SGL_EFORMAT, "%s:%lld:%lld: only %lld of the %lld fields of the first row",
            c->name, (long long)c->line, (long long)cols, (long long)cols, (long long)c->out->cols);
    c->out->cols = cols;
    c->out->rows++;
    return SGL_OK;
}

static int read_table(Csv *c, bool header)
{
    for (; c->at < c->end; c->line++) {
        const char *end = memchr(c->at, '\n', (size_t)(c->end - c->at));
        if (!end) end = c->end;
        bool empty = trim((Field){c->at, (size_t)(end - c->at)}).n == 0;
        if (!empty && !header) {
            int code = read_row(c, end);
            if (code < 0) return code;
        }
        header = header && empty;
        c->at = end < c->end ? end + 1 : end;
    }
    if (c->out->rows == 0)
        return base_err_set(c->err, SGL_EFORMAT, "%s: no rows of numbers", c->name);
    return SGL_OK;
}

int io_csv_parse(const char *text, size_t n, const CsvOptions *o, CsvTable *out, Err *e)
{
    Csv c = {.at = text,
             .end = text + n,
             .separator = o->separator ? o->separator : ',',
             .name = o->name ? o->name : "csv",
             .line = 1,
             .out = out,
             .err = e};
    *out = (CsvTable){0};
    if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) c.at += 3; /* byte order mark */
    int code = read_table(&c, o->header);
    if (code < 0) io_csv_free(out);
    return code;
}

void io_csv_free(CsvTable *t)
{
    vec_free(&t->values);
    *t = (CsvTable){0};
}
