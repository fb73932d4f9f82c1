/* sample.c: values from the sampling domains of the op table, for generated specs.
 *
 * In:    a domain, a seed, an array whose dims and dtype are set.
 * Out:   the array filled; the same for the same arguments, on every machine.
 * Holds: a value is one of the array's dtype. Integers take small whole values of the domain,
 *        bool takes both of its values, whatever the domain.
 *
 * Domains for finite differences keep away from where a gradient jumps:
 *   APART   elements are multiples of 0.08 shifted by (seed mod 8)/100, so also the elements of
 *           two arrays of different seeds (mod 8) differ by 0.01 at least.
 *   BROKEN  ± b[i]·1.5^(seed mod 4) within 1 %, b depending on the position alone: none is near a
 *           whole or half number, nor is the quotient of two arrays of different seeds (mod 4).
 */
#include <math.h>
#include "ir/philox.h"
#include "ir/ref.h"

/* The random numbers of one element. */
typedef struct Draw {
    int64_t i, n, bound;
    uint64_t seed;
    double u;
    uint32_t bits;
} Draw;
typedef double (*DrawFn)(const Draw *d);

static double sign_of(const Draw *d) { return d->bits & 1 ? -1 : 1; }

static double draw_real(const Draw *d) { return sign_of(d) * (0.002 + 2.998 * d->u); }
static double draw_nonzero(const Draw *d) { return sign_of(d) * (0.25 + 2.75 * d->u); }
static double draw_positive(const Draw *d) { return 0.1 + 3.9 * d->u; }
static double draw_unit(const Draw *d) { return sign_of(d) * (0.002 + 0.888 * d->u); }
static double draw_smallint(const Draw *d) { return (double)(d->bits % 5) - 2; }
static double draw_index(const Draw *d) { return (double)(d->bits % (uint64_t)d->bound); }
static double draw_state(const Draw *d) { return d->i == 0 ? (double)d->bits : d->bits % 1000; }

static double draw_broken(const Draw *d)
{
    static const double BASE[] = {0.25, 0.4, 0.8, 1.6};
    double b = BASE[((uint64_t)d->i * 0x9E3779B97F4A7C15u) >> 62];
    return sign_of(d) * b * pow(1.5, (double)(d->seed & 3)) * (0.99 + 0.02 * d->u);
}

static double draw_anything(const Draw *d)
{
    static const double SPECIAL[] = {
        0.0,      -0.0,         INFINITY, -INFINITY, NAN,      1,       -1,
        0.5,      -2.5,         1e-45,    -1e-40,    0x1p-126, 0x1p127, -0x1.fffffep127,
        16777217, 2147483648.0, -65504,   88.8,      -104,     3e-5};
    enum { SPECIALS = sizeof SPECIAL / sizeof *SPECIAL };
    if (d->bits % 3) return SPECIAL[(d->bits >> 8) % SPECIALS];
    return sign_of(d) * ldexp(1 + d->u, (int)((d->bits >> 8) % 160) - 80);
}

/* Whole numbers for integer dtypes, where the domain's own values would be cut to 0. */
static double whole_any(const Draw *d) { return (double)(d->bits % 7) - 3; }
static double whole_positive(const Draw *d) { return 1 + (double)(d->bits % 4); }
static double whole_nonzero(const Draw *d) { return sign_of(d) * (1 + (double)(d->bits / 2 % 6)); }

static double whole_anything(const Draw *d)
{
    static const double SPECIAL[] = {0, 1, -1, 2147483647.0, -2147483648.0, 255, 256, 65536};
    return d->bits & 1 ? SPECIAL[d->bits >> 1 & 7] : ldexp(d->u - 0.5, (int)(d->bits >> 8) % 32);
}

static const struct {
    DrawFn real, whole;
} DRAWS[] = {
    [DOM_NONE] = {draw_real, whole_any},
    [DOM_REAL] = {draw_real, whole_any},
    [DOM_NONZERO] = {draw_nonzero, whole_nonzero},
    [DOM_POSITIVE] = {draw_positive, whole_positive},
    [DOM_UNIT] = {draw_unit, whole_any},
    [DOM_BROKEN] = {draw_broken, whole_nonzero},
    [DOM_APART] = {NULL, NULL},
    [DOM_SMALLINT] = {draw_smallint, draw_smallint},
    [DOM_ANYTHING] = {draw_anything, whole_anything},
    [DOM_INDEX] = {draw_index, draw_index},
    [DOM_RNGSTATE] = {draw_state, draw_state},
};

static Draw draw_at(const RefArray *a, Domain d, uint64_t seed, int64_t bound, int64_t i)
{
    uint32_t word[4];
    philox_element((int64_t)seed, 0, (int)d, i, word);
    return (Draw){i, a->count, bound > 0 ? bound : 1, seed, philox_uniform(word[0]), word[1]};
}

/* A random order of equally spaced values around 0; whole ones for integers, from 0 for u8. */
static void sample_apart(uint64_t seed, RefArray *a)
{
    bool whole = DTYPES[a->dtype].class == CLASS_INT;
    double spacing = whole ? 1 : 0.08, shift = whole ? 0 : (double)(seed & 7) * 0.01;
    int64_t middle = a->dtype == DT_u8 ? 0 : a->count / 2;
    for (int64_t i = 0; i < a->count; i++) a->at[i] = (double)(i - middle) * spacing + shift;
    for (int64_t i = a->count - 1; i > 0; i--) {
        int64_t j = draw_at(a, DOM_APART, seed, 0, i).bits % (uint64_t)(i + 1);
        double swap = a->at[i];
        a->at[i] = a->at[j];
        a->at[j] = swap;
    }
}

void ir_domain_sample(Domain d, uint64_t seed, int64_t bound, RefArray *a)
{
    int class = DTYPES[a->dtype].class;
    DrawFn draw = class == CLASS_FLOAT ? DRAWS[d].real : DRAWS[d].whole;
    if (d == DOM_APART && class != CLASS_BOOL) sample_apart(seed, a);
    for (int64_t i = 0; i < a->count; i++) {
        Draw at = draw_at(a, d, seed, bound, i);
        double v = class == CLASS_BOOL ? at.bits & 1 : draw ? draw(&at) : a->at[i];
        if (a->dtype == DT_u8 && d != DOM_ANYTHING) v = fabs(v);
        a->at[i] = ir_dtype_round(a->dtype, v);
    }
}
