/* math.c: the error of each f32 function of math.def, over all floats, against long double.
 *
 * In:   names of functions ("exp tanh"), or none: all with a stated error. STRIDE=n in the
 *       environment takes each n-th float or pair only.
 * Out:  a line for each: the largest error in ulp, the argument it is at, what is stated, and the
 *       seconds it took. Exit status 1 when an error is above the stated one.
 * Functions of one argument are measured at all 2^32 floats; those of two at PAIRS random pairs,
 * because there are too many.
 * Holds: what is measured are the inlines that the kernels are compiled from (`make bench-math`
 *        gives the flags). A result is first compared with the function in double, whose error of
 *        at most one unit of a double is 2^-29 ulp here; long double decides where that comes
 *        within CLOSE of the largest error so far, so the figure is that of long double.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "ir/math.h"

static const double CLOSE = 1e-6;
enum { BATCH = 1 << 12, PAIRS = 200000000 };

/* One argument: y[i] of x[i]; the references in double and long double. */
typedef struct Unary {
    const char *name;
    void (*run)(const float *x, float *y);
    double (*near)(double);
    long double (*exact)(long double);
} Unary;

typedef struct Binary {
    const char *name;
    float (*run)(float x, float y);
    double (*near)(double, double);
    long double (*exact)(long double, long double);
} Binary;

typedef struct Worst {
    double error;
    float x, y;
} Worst;

static float float_of(uint32_t bits) { return math_float((int32_t)bits); }

/* The distance between the neighbours of f32 around v, which is finite. */
static double ulp(double v)
{
    uint64_t exponent = math_bits64(v) >> 52 & 0x7ff;
    return math_float64((exponent < 1023 - 126 ? 1023 - 149 : exponent - 23) << 52);
}

/* In ulp of r. From halfway past the largest float on, the right result is infinite. */
static inline double error_of(float y, long double r)
{
    if (y != y || r != r) return (y != y) == (r != r) ? 0 : INFINITY;
    bool over = fabsl(r) >= 0x1.ffffffp127L;
    if (over || isinf(y)) return over && isinf(y) && (y > 0) == (r > 0) ? 0 : INFINITY;
    return (double)(fabsl((long double)y - r) / ulp((double)r));
}

/* Whether y, near r in double, is surely no worse than `error` ulp. */
static inline bool settled(float y, double r, double error)
{
    if (fabs(r) < 0x1.fffffep127) return fabs((double)y - r) <= (error - CLOSE) * ulp(r);
    return (y != y && r != r) || (fabs(r) > 0x1p128 && y == (r > 0 ? INFINITY : -INFINITY));
}

static uint64_t stride(void)
{
    const char *text = getenv("STRIDE");
    return text && atoi(text) > 0 ? (uint64_t)atoi(text) : 1;
}

static void unary(const Unary *f, Worst *worst)
{
    float x[BATCH], y[BATCH];
    const uint64_t step = stride();
    for (uint64_t first = 0; first < (uint64_t)1 << 32; first += BATCH * step) {
        for (int i = 0; i < BATCH; i++) x[i] = float_of((uint32_t)(first + (uint64_t)i * step));
        f->run(x, y);
        for (int i = 0; i < BATCH; i++) {
            if (settled(y[i], f->near(x[i]), worst->error)) continue;
            double error = error_of(y[i], f->exact(x[i]));
            if (error > worst->error) *worst = (Worst){error, x[i], 0};
        }
    }
}

/* Pairs of all exponents, and as many near 1, where results are neither 0 nor infinite. */
static void binary(const Binary *f, Worst *worst)
{
    uint32_t w[4];
    const int pairs = PAIRS / (int)stride();
    for (int i = 0; i < pairs; i++) {
        if (i % 2 == 0)
            for (int k = 0; k < 4; k++) w[k] = math_rand_word(1, 0, 0, i / 2, k);
        uint32_t a = w[i % 2 * 2], b = w[i % 2 * 2 + 1];
        float x = i & 4 ? float_of(a) : float_of((a & 0x83ffffff) + 0x3e000000);
        float y = i & 4 ? float_of(b) : float_of((b & 0x83ffffff) + 0x40000000);
        float z = f->run(x, y);
        if (settled(z, f->near(x, y), worst->error)) continue;
        double error = error_of(z, f->exact(x, y));
        if (error > worst->error) *worst = (Worst){error, x, y};
    }
}

/* ---- which functions there are ---- */

#define RUN(f)                                                                                     \
    static void run_##f(const float *x, float *y)                                                  \
    {                                                                                              \
        for (int i = 0; i < BATCH; i++) y[i] = math_##f##_f32(x[i]);                               \
    }
#define EACH(m) \
    m(exp) m(exp2) m(expm1) m(log) m(log2) m(log1p) m(sin) m(cos) m(tan) m(asin) m(acos) m(atan) \
    m(sinh) m(cosh) m(tanh) m(erf)
EACH(RUN)
#define ROW(f) {"math_" #f "_f32", run_##f, f, f##l},
static const Unary UNARY[] = {EACH(ROW)};
static const Binary BINARY[] = {
    {"math_pow_f32", math_pow_f32, pow, powl},
    {"math_atan2_f32", math_atan2_f32, atan2, atan2l},
};

#define CONST(type, name, value)
#define TABLE(type, name, ...)
#define FN(type, name, params, ...)
#define FN_ULP(error, type, name, params, ...) {#name, error},
#define LIBM(f)
static const struct Stated { const char *name; double error; } STATED[] = {
#include "ir/math.def"
};
#include "ir/math_undef.h"

enum {
    UNARIES = sizeof UNARY / sizeof *UNARY,
    BINARIES = sizeof BINARY / sizeof *BINARY,
    ALL = sizeof STATED / sizeof *STATED
};

/* Measures the function of that name; false: no row above says what it should be. */
static bool measure(const char *name, Worst *worst)
{
    for (int i = 0; i < UNARIES; i++)
        if (!strcmp(UNARY[i].name, name)) return unary(&UNARY[i], worst), true;
    for (int i = 0; i < BINARIES; i++)
        if (!strcmp(BINARY[i].name, name)) return binary(&BINARY[i], worst), true;
    return false;
}

/* Is the function, "math_exp_f32", among the words "exp", …? No words: all are. */
static bool wanted(const char *name, int n, char **words)
{
    char full[64];
    for (int i = 0; i < n; i++) {
        snprintf(full, sizeof full, "math_%s_f32", words[i]);
        if (!strcmp(full, name)) return true;
    }
    return n == 0;
}

int main(int argc, char **argv)
{
    int status = EXIT_SUCCESS;
    for (int i = 0; i < ALL; i++) {
        const struct Stated *s = &STATED[i];
        Worst worst = {0};
        clock_t start = clock();
        if (!wanted(s->name, argc - 1, argv + 1)) continue;
        if (!measure(s->name, &worst)) {
            fprintf(stderr, "bench/math.c: %s has no reference here\n", s->name);
            return EXIT_FAILURE;
        }
        printf("%-16s %.5f ulp at %a", s->name, worst.error, worst.x);
        if (worst.y != 0) printf(", %a", worst.y);
        printf("  (stated %.2f; %.0f s)\n", s->error,
               (double)(clock() - start) / CLOCKS_PER_SEC);
        fflush(stdout);
        if (!(worst.error <= s->error)) status = EXIT_FAILURE;
    }
    return status;
}
