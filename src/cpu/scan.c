/* scan.c: cumsum: running sums along one dim.
 *
 * Holds: each line is summed one element after the other, from the end where the flag says so;
 *        chunks are ranges of the elements beside the dim.
 */
#include <string.h>
#include "cpu/cpu.h"

enum { SCAN_BLOCK = 1024 };

typedef struct Scan {
    const CpuJob *j;
    AxisSplit x;
    int64_t blocks; /* chunks an outer element */
    CpuAddFn add;
    size_t size;
} Scan;

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
    size_t bytes = (size_t)n * s->size;
    memcpy(sum, x, bytes);
    for (int64_t i = 1; i < s->x.n; i++) {
        memcpy(sum + i * step, sum + (i - 1) * step, bytes);
        s->add(sum + i * step, 1, x + i * step, 1, n);
    }
}

static int cpu_cumsum(const CpuJob *j)
{
    if (cpu_view_count(&j->out) == 0) return SGL_OK;
    Scan s = {.j = j,
              .x = cpu_view_axis(&j->x[0], j->step->axis),
              .add = cpu_add(j->out.dtype),
              .size = DTYPES[j->out.dtype].bytes};
    s.blocks = (s.x.inner + SCAN_BLOCK - 1) / SCAN_BLOCK;
    if (s.x.outer * s.blocks > INT32_MAX)
        return base_fail(j->cx, SGL_EUNSUP, "cumsum: more than 2147483647 lines");
    cpu_split(j, (int)(s.x.outer * s.blocks), scan_chunk, &s);
    return SGL_OK;
}

const CpuOp cpu_op_cumsum = {cpu_cumsum, NULL, true, 1};
