/* json.c: reading and writing the small JSON in binary formats' headers.
 */
#include "io/json.h"
#include <string.h>

int io_json_fail(Json *j, const char *what)
{
    if (j->code == SGL_OK)
        base_err_set(j->err, SGL_EFORMAT, "%s: header byte %lld: %s", j->name,
                     (long long)(j->at - j->start), what);
    return j->code = SGL_EFORMAT;
}

static void skip_blanks(Json *j)
{
    while (j->at < j->end && memchr(" \t\r\n", *j->at, 4)) j->at++;
}

bool io_json_take(Json *j, char c)
{
    if (j->code < 0) return false;
    skip_blanks(j);
    if (j->at == j->end || *j->at != c) return false;
    j->at++;
    return true;
}

bool io_json_expect(Json *j, char c)
{
    if (io_json_take(j, c)) return true;
    char what[] = "'?' is missing";
    what[1] = c;
    io_json_fail(j, what);
    return false;
}

bool io_json_more(Json *j, char close, bool *first)
{
    if (io_json_take(j, close)) return false;
    if (!*first && !io_json_expect(j, ',')) return false;
    *first = false;
    return j->code == SGL_OK;
}

bool io_json_natural(Json *j, int64_t *value)
{
    if (j->code < 0) return false;
    skip_blanks(j);
    const char *from = j->at;
    *value = 0;
    for (; j->at < j->end && *j->at >= '0' && *j->at <= '9'; j->at++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, *j->at - '0', value)) {
            io_json_fail(j, "the number is too large");
            return false;
        }
    if (j->at == from || (*from == '0' && j->at > from + 1)) {
        io_json_fail(j, "a natural number is missing");
        return false;
    }
    return true;
}

bool io_json_end(Json *j)
{
    if (j->code < 0) return false;
    skip_blanks(j);
    if (j->at != j->end) io_json_fail(j, "there is more behind the end");
    return j->code == SGL_OK;
}

/* A code point in UTF-8. */
static void put_code_point(Str *out, uint32_t c)
{
    char b[4];
    if (c < 0x80) {
        b[0] = (char)c;
        base_str_add(out, b, 1);
    } else if (c < 0x800) {
        b[0] = (char)(0xC0 | c >> 6), b[1] = (char)(0x80 | (c & 0x3F));
        base_str_add(out, b, 2);
    } else if (c < 0x10000) {
        b[0] = (char)(0xE0 | c >> 12), b[1] = (char)(0x80 | (c >> 6 & 0x3F));
        b[2] = (char)(0x80 | (c & 0x3F));
        base_str_add(out, b, 3);
    } else {
        b[0] = (char)(0xF0 | c >> 18), b[1] = (char)(0x80 | (c >> 12 & 0x3F));
        b[2] = (char)(0x80 | (c >> 6 & 0x3F)), b[3] = (char)(0x80 | (c & 0x3F));
        base_str_add(out, b, 4);
    }
}

/* Four hexadecimal digits, or -1. */
static int32_t hex4(Json *j)
{
    int32_t value = 0;
    if (j->end - j->at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = *j->at++;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* What follows "\u": one unit, or two that form a pair. */
static bool read_unicode(Json *j, Str *out)
{
    int32_t c = hex4(j);
    if (c >= 0xD800 && c < 0xDC00 && j->end - j->at >= 2 && j->at[0] == '\\' && j->at[1] == 'u') {
        j->at += 2;
        int32_t low = hex4(j);
        c = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00) : -1;
    }
    if (c <= 0 || (c >= 0xD800 && c < 0xE000)) return false;
    put_code_point(out, (uint32_t)c);
    return true;
}

static bool read_escape(Json *j, Str *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (j->at == j->end) return false;
    char c = *j->at++;
    if (c == 'u') return read_unicode(j, out);
    const char *known = memchr(from, c, sizeof from - 1);
    if (known) base_str_add(out, &to[known - from], 1);
    return known != NULL;
}

/* Length of the UTF-8 sequence at p, 0 when it is none (also overlong ones and surrogates). */
static int utf8_length(const char *p, const char *end)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char c = (unsigned char)*p;
    if (c < 0x80) return 1;
    int n = c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    if (n == 0 || end - p < n) return 0;
    uint32_t value = c & (0xFFu >> (n + 1));
    for (int i = 1; i < n; i++) {
        if (((unsigned char)p[i] & 0xC0) != 0x80) return 0;
        value = value << 6 | ((unsigned char)p[i] & 0x3F);
    }
    bool valid = value >= least[n] && value < 0x110000 && (value < 0xD800 || value >= 0xE000);
    return valid ? n : 0;
}

/* The rest of a string behind its quote; false where it is no JSON or no UTF-8. */
static bool read_string(Json *j, Str *out)
{
    while (j->at < j->end && *j->at != '"') {
        int n = utf8_length(j->at, j->end);
        if (n == 0 || (unsigned char)*j->at < 0x20) return false;
        if (*j->at == '\\') {
            j->at++;
            if (!read_escape(j, out)) return false;
        } else {
            base_str_add(out, j->at, (size_t)n);
            j->at += n;
        }
    }
    return j->at < j->end && *j->at++ == '"';
}

const char *io_json_string(Json *j)
{
    Str text = {0};
    const char *copy = NULL;
    base_str_put(&text, "");
    if (!io_json_take(j, '"')) io_json_fail(j, "a string is missing");
    else if (!read_string(j, &text)) io_json_fail(j, "the string is not valid JSON");
    else if (!text.failed) copy = base_arena_text(j->arena, text.at);
    if (!copy && j->code == SGL_OK)
        j->code = base_err_set(j->err, SGL_ENOMEM, "%s: no memory for its header", j->name);
    base_str_free(&text);
    return copy;
}

void io_json_quote(const char *text, Str *out)
{
    base_str_put(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') base_str_put(out, "\\");
        if (c < 0x20) base_str_fmt(out, "\\u%04x", c);
        else base_str_add(out, text, 1);
    }
    base_str_put(out, "\"");
}
