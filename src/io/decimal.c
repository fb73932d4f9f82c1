/* decimal.c: decimal numbers from text.
 *
 * Two ways, both correctly rounded: up to 19 digits whose number is below 2^53, times or by a power
 * of ten below 10^23, is one rounding of two exact doubles (W. Clinger, How to Read Floating Point
 * Numbers Accurately, 1990); everything else goes to strtod in the C locale.
 */
#include "io/decimal.h"
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TEXT_MAX = 512, FAST_POWER = 22, FAST_DIGITS = 19 };

/* What a text says before it is a number. */
typedef struct Parts {
    uint64_t digits;      /* the number without its point; the first FAST_DIGITS of them */
    int count;            /* of digits from the first that is not 0 */
    int power;            /* of ten, the point counted in */
    bool negative, point; /* `point`: a point or an exponent stands there */
} Parts;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void take_digit(Parts *p, char c)
{
    if (p->count || c != '0') p->count++;
    if (p->count <= FAST_DIGITS) p->digits = p->digits * 10 + (uint64_t)(c - '0');
}

/* The exponent's number from `at` on; NULL: there is none. Past 9999 it counts as that. */
static const char *take_exponent(Parts *p, const char *at, const char *end)
{
    int value = 0;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end || !is_digit(*at)) return NULL;
    for (; at < end && is_digit(*at); at++)
        if (value < 9999) value = value * 10 + (*at - '0');
    p->power += negative ? -value : value;
    return at;
}

/* Takes a text of the grammar apart; false: it is none, or nan or inf. */
static bool take_apart(const char *at, const char *end, Parts *p)
{
    if (at < end && (*at == '-' || *at == '+')) p->negative = *at++ == '-';
    const char *first = at;
    for (; at < end && is_digit(*at); at++) take_digit(p, *at);
    int seen = (int)(at - first);
    if (at < end && *at == '.') {
        p->point = true;
        for (at++; at < end && is_digit(*at); at++, seen++) {
            take_digit(p, *at);
            p->power--;
        }
    }
    if (seen == 0) return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        p->point = true;
        at = take_exponent(p, at + 1, end);
    }
    return at == end;
}

/* nan, inf or infinity with a sign. */
static bool read_special(const char *text, size_t n, double *value)
{
    static const struct {
        const char *word;
        double value;
    } WORDS[] = {{"nan", NAN}, {"inf", INFINITY}, {"infinity", INFINITY}};
    bool negative = n && *text == '-';
    if (n > sizeof "infinity" || n < 3) return false;
    if (n && (*text == '-' || *text == '+')) text++, n--;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        if (strlen(WORDS[i].word) != n || strncasecmp(text, WORDS[i].word, n) != 0) continue;
        *value = negative ? -WORDS[i].value : WORDS[i].value;
        return true;
    }
    return false;
}

/* strtod and strtof in the C locale. A process needs one such locale, for good. */
static locale_t c_locale(void)
{
    static locale_t made;
    locale_t found = __atomic_load_n(&made, __ATOMIC_ACQUIRE);
    if (found) return found;
    found = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t none = (locale_t)0;
    if (!__atomic_compare_exchange_n(&made, &none, found, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        freelocale(found);
        found = none;
    }
    return found;
}

/* The text with a 0 behind it; NULL: it is longer than any number that a file would hold. */
static const char *ended(const char *text, size_t n, char out[TEXT_MAX])
{
    if (n >= TEXT_MAX) return NULL;
    memcpy(out, text, n);
    out[n] = 0;
    return out;
}

bool io_decimal_read(const char *text, size_t n, Decimal *out)
{
    static const double TEN[FAST_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    Parts p = {0};
    char copy[TEXT_MAX];
    *out = (Decimal){0};
    if (!take_apart(text, text + n, &p)) return read_special(text, n, &out->value);
    if (!p.point && p.count <= FAST_DIGITS && p.digits <= (uint64_t)INT64_MAX) {
        out->whole = true;
        out->integer = p.negative ? -(int64_t)p.digits : (int64_t)p.digits;
    }
    if (p.count <= FAST_DIGITS && p.digits <= 1ull << 53 && p.power >= -FAST_POWER &&
        p.power <= FAST_POWER) {
        double d = (double)p.digits;
        d = p.power < 0 ? d / TEN[-p.power] : d * TEN[p.power];
        out->value = p.negative ? -d : d;
        return true;
    }
    const char *whole = ended(text, n, copy);
    if (whole) out->value = strtod_l(whole, NULL, c_locale());
    return whole != NULL;
}

float io_decimal_float(const char *text, size_t n, const Decimal *d)
{
    uint64_t bits;
    char copy[TEXT_MAX];
    memcpy(&bits, &d->value, sizeof bits);
    /* Rounded twice, a number differs only where the double is a tie of floats, or where floats
     * have fewer bits than a normal one. */
    bool tie = (bits & 0x1fffffff) == 0x10000000;
    bool small = fabs(d->value) < 0x1p-125 && d->value != 0;
    const char *whole = tie || small ? ended(text, n, copy) : NULL;
    return whole ? strtof_l(whole, NULL, c_locale()) : (float)d->value;
}
