/* csv.c: tables from text.
 *
 * In:    the text of a whole file, which may hold any bytes and need not end in 0.
 * Out:   where the records begin, and later the columns that are asked for, cell by cell.
 * Holds: io_csv_open has walked over every cell, so reading a column meets no damage; nothing is
 *        read behind the end of the text. Beside the text a record costs one word.
 */
#include "io/csv.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/message.h"
#include "io/decimal.h"

typedef struct Cell {
    const char *at;
    size_t n;
    bool quoted; /* `at` is behind the quote; "" inside is still doubled */
} Cell;

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Where the line ends: at LF, at CR LF, or at the end of the text. */
static bool is_line_end(const CsvTable *t, const char *at)
{
    return at == t->end || *at == '\n' || (*at == '\r' && (at + 1 == t->end || at[1] == '\n'));
}

static const char *next_line(const CsvTable *t, const char *at)
{
    if (at < t->end && *at == '\r') at++;
    return at < t->end ? at + 1 : at;
}

/* ---- errors */

static long long line_of(const CsvTable *t, const char *at)
{
    long long line = 1;
    for (const char *p = t->text; (p = memchr(p, '\n', (size_t)(at - p))); p++) line++;
    return line;
}

static int fail(const CsvTable *t, const char *row, int column, Err *e, const char *what, Cell c)
{
    char value[MESSAGE_VALUE_CAP];
    base_message_value(value, c.at, c.n);
    return base_err_set(e, SGL_EFORMAT, "%s:%lld:%d: %s: '%s'", t->name, line_of(t, row),
                        column + 1, what, value);
}

static int no_memory(const CsvTable *t, Err *e)
{
    return base_err_set(e, SGL_ENOMEM, "%s: no memory for more than %d rows", t->name, t->rows.n);
}

/* Asked at each record, it looks at some. */
int io_csv_stopped(const CsvTable *t, int64_t record, Err *e)
{
    enum { EACH = 1024 };
    if (record % EACH || !t->stop || !*t->stop) return SGL_OK;
    return base_err_set(e, SGL_EINTR, "%s: interrupted while it was read", t->name);
}

/* ---- cells */

/* A quoted cell whose quote is at `at`: *next is behind the closing one. False: it never closes. */
static bool take_quoted(const CsvTable *t, const char *at, Cell *out, const char **next)
{
    out->at = ++at;
    out->quoted = true;
    while ((at = memchr(at, '"', (size_t)(t->end - at)))) {
        if (at + 1 == t->end || at[1] != '"') break;
        at += 2;
    }
    if (!at) return false;
    out->n = (size_t)(at - out->at);
    *next = at + 1;
    return true;
}

/* The cell at `at`; returns where its separator, or the line's end, stands; NULL: a quote does not
 * end, or something stands behind it. */
static const char *take_cell(const CsvTable *t, const char *at, Cell *out)
{
    while (at < t->end && is_blank(*at) && *at != t->separator) at++;
    if (at < t->end && *at == '"') {
        if (!take_quoted(t, at, out, &at)) return NULL;
        while (at < t->end && is_blank(*at) && *at != t->separator) at++;
        return is_line_end(t, at) || *at == t->separator ? at : NULL;
    }
    *out = (Cell){.at = at};
    while (at < t->end && *at != t->separator && *at != '\n' && *at != '\r') at++;
    while (!is_line_end(t, at) && *at != t->separator) at++; /* a CR of its own is a character */
    const char *stop = at;
    while (stop > out->at && is_blank(stop[-1])) stop--;
    out->n = (size_t)(stop - out->at);
    return at;
}

/* Words that other programs write where there is no value. */
static bool is_missing(Cell c)
{
    static const char *const WORDS[] = {"NA",   "N/A",  "n/a",  "#N/A", "<NA>",
                                        "NULL", "null", "None", "none"};
    if (c.n == 0) return !c.quoted;
    if (c.quoted || c.n > 4 || !strchr("N#<n", *c.at)) return false;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strlen(WORDS[i]) == c.n && memcmp(WORDS[i], c.at, c.n) == 0) return true;
    return false;
}

/* A quoted number is a number too, as it was written. */
static bool is_number(Cell c, Decimal *d)
{
    while (c.n && is_blank(*c.at)) c.at++, c.n--;
    while (c.n && is_blank(c.at[c.n - 1])) c.n--;
    return io_decimal_read(c.at, c.n, d);
}

/* Adds the cell's text, "" undone; false: no memory. */
static bool put_text(Str *out, Cell c)
{
    while (c.n) {
        const char *quote = c.quoted ? memchr(c.at, '"', c.n) : NULL;
        size_t n = quote ? (size_t)(quote - c.at) + 1 : c.n;
        base_str_add(out, c.at, n);
        if (quote) n++; /* the second of two */
        c.at += n, c.n -= n;
    }
    return !out->failed;
}

/* ---- records */

/* Walks over the record at `at`: *cells is how many it has. NULL with the error set: damage. */
static const char *walk_record(const CsvTable *t, const char *at, int *cells, Err *e)
{
    const char *row = at;
    Cell c;
    for (*cells = 0;; at++) {
        const char *stop = take_cell(t, at, &c);
        if (!stop) {
            fail(t, row, *cells, e, "a quote that does not end, or text behind it",
                 (Cell){.at = at, .n = (size_t)(t->end - at)});
            return NULL;
        }
        ++*cells;
        if (is_line_end(t, stop)) return next_line(t, stop);
        at = stop;
    }
}

/* The next record from `at` on that is not empty; the end of the text: there is none. */
static const char *skip_empty(const CsvTable *t, const char *at)
{
    while (at < t->end) {
        const char *p = at;
        while (p < t->end && is_blank(*p) && *p != t->separator) p++;
        if (!is_line_end(t, p) || p == t->end) return p == t->end ? p : at;
        at = next_line(t, p);
    }
    return at;
}

/* Notes all records from `at` on and checks that each has as many cells as the first. */
static int find_records(CsvTable *t, const char *at, Err *e)
{
    for (at = skip_empty(t, at); at < t->end; at = skip_empty(t, at)) {
        int cells;
        const char *row = at;
        if (io_csv_stopped(t, t->rows.n, e) < 0) return e->code;
        at = walk_record(t, row, &cells, e);
        if (!at) return e->code;
        if (t->cols == 0) t->cols = cells;
        if (cells > t->cols)
            return base_err_set(e, SGL_EFORMAT,
                                "%s:%lld:%d: more than the %d fields of the first "
                                "row",
                                t->name, line_of(t, row), t->cols + 1, t->cols);
        if (cells < t->cols)
            return base_err_set(e, SGL_EFORMAT,
                                "%s:%lld:%d: only %d of the %d fields of the first "
                                "row",
                                t->name, line_of(t, row), cells, cells, t->cols);
        if (t->rows.n == INT32_MAX || !vec_push(&t->rows, (size_t)(row - t->text)))
            return no_memory(t, e);
    }
    return SGL_OK;
}

/* ---- the header */

/* Cell number `column` of the record at `row`. */
static Cell cell_at(const CsvTable *t, const char *row, int column)
{
    Cell c;
    const char *at = take_cell(t, row, &c);
    for (int i = 0; i < column; i++) at = take_cell(t, at + 1, &c);
    return c;
}

/* Does the first record look like names? See CsvOptions. */
static bool looks_like_names(const CsvTable *t)
{
    bool all_text = true;
    Decimal d;
    for (int i = 0; i < t->cols; i++) {
        Cell c = cell_at(t, t->text + t->rows.at[0], i);
        bool text = !is_missing(c) && !is_number(c, &d);
        all_text = all_text && text;
        if (!text || t->rows.n < 2) continue;
        Cell below = cell_at(t, t->text + t->rows.at[1], i);
        if (is_missing(below) || is_number(below, &d)) return true;
    }
    return all_text;
}

static char *name_text(Arena *a, Cell c)
{
    Str s = {0};
    char *text = put_text(&s, c) ? base_arena_text(a, s.n ? s.at : "") : NULL;
    base_str_free(&s);
    return text;
}

/* Takes the first record off as names. */
static int take_names(CsvTable *t, Err *e)
{
    const char *row = t->text + t->rows.at[0];
    t->names = base_arena_zero(&t->arena, (size_t)t->cols, sizeof *t->names);
    if (!t->names) return no_memory(t, e);
    for (int i = 0; i < t->cols; i++) {
        Cell c = cell_at(t, row, i);
        t->names[i] = name_text(&t->arena, c);
        if (!t->names[i]) return no_memory(t, e);
        for (int k = 0; k < i; k++)
            if (c.n && strcmp(t->names[k], t->names[i]) == 0) {
                fail(t, row, i, e, "two columns have the same name", c);
                base_err_hint(e, "header = false reads the first line as values");
                return e->code;
            }
    }
    t->rows.n--;
    memmove(t->rows.at, t->rows.at + 1, (size_t)t->rows.n * sizeof *t->rows.at);
    return SGL_OK;
}

int io_csv_open(const char *text, size_t n, const CsvOptions *o, CsvTable *out, Err *e)
{
    *out = (CsvTable){.text = text,
                      .end = text + n,
                      .separator = o->separator ? o->separator : ',',
                      .name = o->name ? o->name : "csv",
                      .stop = o->stop};
    const char *at = n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text;
    int code = find_records(out, at, e);
    if (code == SGL_OK && out->rows.n > 0) {
        out->header = o->header == CSV_HEADER_YES ||
                      (o->header == CSV_HEADER_BY_LOOK && looks_like_names(out));
        if (out->header) code = take_names(out, e);
    }
    if (code == SGL_OK && out->rows.n == 0)
        code = base_err_set(e, SGL_EFORMAT, "%s: no rows of numbers", out->name);
    if (code < 0) io_csv_close(out);
    return code;
}

void io_csv_close(CsvTable *t)
{
    vec_free(&t->rows);
    base_arena_free(&t->arena);
    *t = (CsvTable){0};
}

/* ---- numbers */

/* Puts one number at place i of `to`; false: the integer dtype has no such value. */
static bool store_number(void *to, int64_t i, Dtype dtype, Cell c, const Decimal *d)
{
    if (dtype == DT_f32) return ((float *)to)[i] = io_decimal_float(c.at, c.n, d), true;
    if (dtype == DT_f64) return ((double *)to)[i] = d->value, true;
    bool fits = d->whole || (d->value == floor(d->value) && fabs(d->value) < 0x1p63);
    int64_t v = d->whole ? d->integer : fits ? (int64_t)d->value : 0;
    if (dtype == DT_i64) return ((int64_t *)to)[i] = v, fits;
    return ((int32_t *)to)[i] = (int32_t)v, fits && v == (int32_t)v;
}

static int read_number(const CsvTable *t, const char *row, int column, Cell c, Dtype dtype,
                       CsvFill fill, void *to, int64_t i, Err *e)
{
    Decimal d;
    if (is_missing(c)) {
        if (fill.given) d = (Decimal){.value = fill.value};
        else return fail(t, row, column, e, "a number is missing", c);
    } else if (!is_number(c, &d)) return fail(t, row, column, e, "not a number", c);
    if (store_number(to, i, dtype, c, &d)) return SGL_OK;
    return fail(t, row, column, e, dtype == DT_i64 ? "no value of i64" : "no value of i32", c);
}

int io_csv_numbers(const CsvTable *t, const int *columns, int n, Dtype dtype, CsvFill fill,
                   void *to, Err *e)
{
    int *place = base_mem_alloc((size_t)t->cols * sizeof *place); /* of a column in the result */
    if (!place) return no_memory(t, e);
    for (int i = 0; i < t->cols; i++) place[i] = -1;
    int last = -1, code = SGL_OK;
    for (int i = 0; i < n; i++) {
        place[columns[i]] = i;
        if (columns[i] > last) last = columns[i];
    }
    for (int64_t r = 0; r < t->rows.n && code == SGL_OK; r++) {
        const char *row = t->text + t->rows.at[r], *at = row;
        code = io_csv_stopped(t, r, e);
        for (int k = 0; k <= last && code == SGL_OK; k++, at++) {
            Cell c;
            at = take_cell(t, at, &c);
            if (place[k] >= 0)
                code = read_number(t, row, k, c, dtype, fill, to, r * n + place[k], e);
        }
    }
    base_mem_free(place);
    return code;
}

/* ---- text */

int io_csv_text(const CsvTable *t, int64_t record, int column, Str *out, Err *e)
{
    const char *row = t->text + t->rows.at[record];
    Cell c = cell_at(t, row, column);
    if (is_missing(c)) return 0;
    out->n = 0;
    return put_text(out, c) ? 1 : no_memory(t, e);
}
