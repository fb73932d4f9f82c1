/* scan.c: cumsum: running sums along one dim.
 *
 * Holds: each line is summed one element after the other, from the end where the flag says so;
 *        chunks are ranges of the elements beside the dim. Sums of f32 are carried in f64 and
 *        rounded where they are stored; those of f64 carry what each addition lost (A. Neumaier,
 *        1974), so the error does not grow with the length.
 */
#include <math.h>
#include <string.h>
#include "cpu/cpu.h"

enum { SCAN_BLOCK = 1024 };

typedef struct Scan {
    const CpuJob *j;
    AxisSplit x;
    int64_t blocks; /* chunks an outer element */
    void (*run)(const struct Scan *s, const char *x, char *sum, int64_t n, int64_t step);
    CpuAddFn add;
    size_t size;
} Scan;

/* Each scans n lines side by side: element i of them is at i * step bytes. */

static void scan_whole(const Scan *s, const char *x, char *sum, int64_t n, int64_t step)
{
    size_t bytes = (size_t)n * s->size;
    memcpy(sum, x, bytes);
    for (int64_t i = 1; i < s->x.n; i++) {
        memcpy(sum + i * step, sum + (i - 1) * step, bytes);
        s->add(sum + i * step, 1, x + i * step, 1, n);
    }
}

static void scan_f32(const Scan *s, const char *x, char *sum, int64_t n, int64_t step)
{
    double carry[SCAN_BLOCK];
    for (int64_t k = 0; k < n; k++) carry[k] = -0.0;
    for (int64_t i = 0; i < s->x.n; i++) {
        const float *from = (const void *)(x + i * step);
        float *to = (void *)(sum + i * step);
        for (int64_t k = 0; k < n; k++) to[k] = (float)(carry[k] += from[k]);
    }
}

/* Running sums that carry what each addition loses, added to what is stored. */
static void scan_f64(const Scan *s, const char *x, char *sum, int64_t n, int64_t step)
{
    double carry[SCAN_BLOCK], lost[SCAN_BLOCK];
    for (int64_t k = 0; k < n; k++) carry[k] = lost[k] = -0.0;
    for (int64_t i = 0; i < s->x.n; i++) {
        const double *from = (const void *)(x + i * step);
        double *to = (void *)(sum + i * step);
        for (int64_t k = 0; k < n; k++) {
            double a = carry[k], b = from[k], t = a + b;
            double rest = fabs(a) >= fabs(b) ? a - t + b : b - t + a;
            carry[k] = t;
            /* Nothing is lost of infinities, and a 0 would turn -0 into 0. */
            if (rest != 0 && rest - rest == 0) lost[k] += rest;
            to[k] = t + lost[k];
        }
    }
}

/* The lines of one chunk, from the end where the flag says so. */
static void scan_chunk(void *arg, int chunk, int worker)
{
    (void)worker;
    const Scan *s = arg;
    int64_t from = chunk % s->blocks * SCAN_BLOCK, n = s->x.inner - from;
    int64_t step = s->x.inner * (int64_t)s->size;
    int64_t first = (chunk / s->blocks * s->x.n * s->x.inner + from) * (int64_t)s->size;
    if (n > SCAN_BLOCK) n = SCAN_BLOCK;
    if (s->j->step->flag) {
        first += (s->x.n - 1) * step;
        step = -step;
    }
    const char *x = (const char *)s->j->in[0] + first;
    char *sum = (char *)s->j->to + first;
    s->run(s, x, sum, n, step);
}

/* Cuts the elements beside the dim into chunks; a line itself is never cut, since its sums
 * follow one another. */
static int cpu_cumsum(const CpuJob *j)
{
    if (cpu_view_count(&j->out) == 0) return SGL_OK;
    Scan s = {.j = j,
              .x = cpu_view_axis(&j->x[0], j->step->axis),
              .run = j->out.dtype == DT_f32   ? scan_f32
                     : j->out.dtype == DT_f64 ? scan_f64
                                              : scan_whole,
              .add = cpu_add(j->out.dtype),
              .size = DTYPES[j->out.dtype].bytes};
    s.blocks = (s.x.inner + SCAN_BLOCK - 1) / SCAN_BLOCK;
    if (s.x.outer * s.blocks > INT32_MAX)
        return base_fail(j->cx, SGL_EUNSUP, "cumsum: more than 2147483647 lines");
    cpu_split(j, (int)(s.x.outer * s.blocks), scan_chunk, &s);
    return SGL_OK;
}

const CpuOp cpu_op_cumsum = {cpu_cumsum, NULL, true, 1};
