/* message.c: texts of messages, see message.h.
 *
 * Holds: nothing here allocates, so reporting that memory is out works.
 */
#include "base/message.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A text that grows in place; `over` once something did not fit. */
typedef struct Text {
    char *at;
    size_t n, cap;
    bool over;
} Text;

static void put(Text *t, const char *from, size_t n)
{
    if (t->over || n >= t->cap - t->n) {
        t->over = true;
        return;
    }
    memcpy(t->at + t->n, from, n);
    t->n += n;
    t->at[t->n] = 0;
}

/* Ends a text that did not fit in "...". */
static void finish(Text *t)
{
    static const char more[] = "...";
    size_t at = t->n;
    if (!t->over || t->cap < sizeof more) return;
    if (at > t->cap - sizeof more) at = t->cap - sizeof more;
    while (at > 0 && ((unsigned char)t->at[at] & 0xC0) == 0x80) at--;
    memcpy(t->at + at, more, sizeof more);
}

/* Bytes of the character at `at`, which may be shown as it is; 0: it is escaped. Control
 * characters are those below blank, DEL, and U+0080 to U+009F. */
static size_t character(const unsigned char *at, size_t left)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } FORMS[] = {
        {0x80, 0x00, 0x20}, {0xE0, 0xC0, 0xA0}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        if ((at[0] & FORMS[i].mask) != FORMS[i].lead) continue;
        uint32_t code = at[0] & (unsigned char)~FORMS[i].mask;
        if (i >= left) return 0;
        for (size_t k = 1; k <= i; k++) {
            if ((at[k] & 0xC0) != 0x80) return 0;
            code = code << 6 | (at[k] & 0x3F);
        }
        bool surrogate = code >= 0xD800 && code < 0xE000;
        return code < FORMS[i].least || code == 0x7F || surrogate || code > 0x10FFFF ? 0 : i + 1;
    }
    return 0;
}

static void put_escaped(Text *t, unsigned char byte)
{
    static const char *const NAMES[] = {['\t'] = "\\t", ['\n'] = "\\n", ['\r'] = "\\r"};
    char code[8];
    const char *name = byte < sizeof NAMES / sizeof *NAMES ? NAMES[byte] : NULL;
    if (!name) snprintf(code, sizeof code, "\\x%02x", byte);
    put(t, name ? name : code, strlen(name ? name : code));
}

/* The first `most` bytes of a text with control bytes escaped; `lines`: line ends stay. */
static void put_text(Text *t, const char *text, size_t n, size_t most, bool lines)
{
    const unsigned char *at = (const unsigned char *)text;
    for (size_t i = 0, size; i < n; i += size) {
        size = character(at + i, n - i);
        if (i + (size ? size : 1) > most) {
            put(t, "...", 3);
            return;
        }
        if (size || (lines && at[i] == '\n')) put(t, text + i, size ? size : 1);
        else put_escaped(t, at[i]);
        if (!size) size = 1;
    }
}

size_t base_message_value(char to[MESSAGE_VALUE_CAP], const char *text, size_t n)
{
    Text t = {.at = to, .cap = MESSAGE_VALUE_CAP};
    to[0] = 0;
    put_text(&t, text, n, MESSAGE_VALUE, false);
    return t.n;
}

void base_message_clean(char *to, size_t cap, const char *text, size_t n)
{
    Text t = {.at = to, .cap = cap};
    to[0] = 0;
    put_text(&t, text, n, SIZE_MAX, true);
    finish(&t);
}

/* A conversion of a format: what stands between % and its letter, without the size of the type. */
typedef struct Conversion {
    char spec[24]; /* "%-9.2" */
    int precision; /* -1: none; with *, what the arguments say */
    int longs;     /* number of l, 9 for z */
    char letter;
} Conversion;

/* Reads the conversion behind a %; returns what follows it. */
static const char *read_conversion(const char *at, Conversion *c, va_list *ap)
{
    size_t n = 0;
    *c = (Conversion){.precision = -1};
    c->spec[n++] = '%';
    for (; *at && strchr("-+ #0123456789.*", *at); at++) {
        if (*at == '.') c->precision = 0;
        else if (c->precision >= 0 && *at != '*') c->precision = c->precision * 10 + (*at - '0');
        if (*at == '*') {
            int given = va_arg(*ap, int);
            if (c->precision >= 0) c->precision = given < 0 ? -1 : given;
            n += (size_t)snprintf(c->spec + n, sizeof c->spec - n, "%d", given);
        } else if (n < sizeof c->spec - 12) {
            c->spec[n++] = *at;
        }
    }
    for (; *at && strchr("lzhj", *at); at++) c->longs += *at == 'z' ? 9 : *at != 'h';
    c->letter = *at;
    return *at ? at + 1 : at;
}

static void put_integer(Text *t, const Conversion *c, va_list *ap)
{
    char spec[32], digits[64];
    long long value;
    if (c->letter == 'I' || c->longs == 2) value = va_arg(*ap, long long);
    else if (c->longs == 9) value = (long long)va_arg(*ap, size_t);
    else if (c->longs) value = va_arg(*ap, long);
    else if (c->letter == 'd' || c->letter == 'i') value = va_arg(*ap, int);
    else value = va_arg(*ap, unsigned);
    snprintf(spec, sizeof spec, "%sll%c", c->spec, c->letter == 'I' ? 'd' : c->letter);
    int n = snprintf(digits, sizeof digits, spec, value);
    if (n > 0) put(t, digits, (size_t)n < sizeof digits ? (size_t)n : sizeof digits - 1);
}

static void put_float(Text *t, const Conversion *c, double value)
{
    char spec[32], digits[400];
    snprintf(spec, sizeof spec, "%s%c", c->spec, c->letter);
    int n = snprintf(digits, sizeof digits, spec, value);
    if (n > 0) put(t, digits, (size_t)n < sizeof digits ? (size_t)n : sizeof digits - 1);
}

static void put_string(Text *t, const Conversion *c, const char *text, bool value)
{
    char shown[MESSAGE_VALUE_CAP];
    if (!text) text = "(null)";
    size_t n = c->precision >= 0 ? strnlen(text, (size_t)c->precision) : strlen(text);
    if (value) put(t, shown, base_message_value(shown, text, n));
    else put_text(t, text, n, SIZE_MAX, true);
}

void base_message_format(char *to, size_t cap, const char *fmt, va_list given)
{
    Text t = {.at = to, .cap = cap};
    Conversion c;
    va_list ap;
    va_copy(ap, given);
    to[0] = 0;
    for (const char *at = fmt; *at && !t.over;) {
        size_t plain = strcspn(at, "%");
        put(&t, at, plain);
        at += plain;
        if (!*at) break;
        bool value = at == fmt || at[-1] == '\'';
        at = read_conversion(at + 1, &c, &ap);
        if (c.letter == 's') put_string(&t, &c, va_arg(ap, const char *), value);
        else if (c.letter == '%') put(&t, "%", 1);
        else if (c.letter == 'c') put(&t, (char[]){(char)va_arg(ap, int)}, 1);
        else if (c.letter && strchr("diuxXoI", c.letter)) put_integer(&t, &c, &ap);
        else if (c.letter && strchr("aefgAEFG", c.letter)) put_float(&t, &c, va_arg(ap, double));
    }
    va_end(ap);
    finish(&t);
}
