/* sort.c: argsort: positions that sort lines along one dim.
 *
 * Holds: stable, NaN the largest of all, -0 equal to 0, i64 compared exactly. Each dtype
 *        is mapped to 64-bit keys in the order wanted, so one merge sort serves all.
 */
#include <math.h>
#include <string.h>
#include "cpu/cpu.h"

typedef struct Keyed {
    uint64_t key;
    int32_t position;
} Keyed;

static const uint64_t SIGN = (uint64_t)1 << 63;

static uint64_t key_of(Dtype t, const void *x, int64_t i, bool descending)
{
    uint64_t bits;
    if (t == DT_i64) {
        bits = (uint64_t)((const int64_t *)x)[i] ^ SIGN;
    } else {
        double value = ir_dtype_load(t, x, i) + 0.0; /* -0 becomes 0 */
        memcpy(&bits, &value, sizeof bits);
        bits = isnan(value) ? UINT64_MAX : bits & SIGN ? ~bits : bits | SIGN;
    }
    return descending ? ~bits : bits;
}

static void merge(const Keyed *runs, int64_t from, int64_t middle, int64_t to, Keyed *out)
{
    int64_t a = from, b = middle;
    for (int64_t i = from; i < to; i++) {
        bool second = a == middle || (b < to && runs[b].key < runs[a].key);
        out[i] = second ? runs[b++] : runs[a++];
    }
}

/* Sorts `line` of n, with as much room behind it; returns where the result stands. */
static const Keyed *sort(Keyed *line, int64_t n)
{
    Keyed *from = line, *to = line + n;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            int64_t middle = i + run < n ? i + run : n;
            merge(from, i, middle, i + 2 * run < n ? i + 2 * run : n, to);
        }
        Keyed *t = from;
        from = to, to = t;
    }
    return from;
}

static size_t cpu_argsort_scratch(const Step *s)
{
    return (size_t)s->view[0].extent[s->axis] * 2 * sizeof(Keyed);
}

static void sort_line(void *arg, int chunk, int worker)
{
    const CpuJob *j = arg;
    AxisSplit x = cpu_view_axis(&j->x[0], j->step->axis);
    Keyed *line = (Keyed *)(void *)(j->scratch + (size_t)worker * j->scratch_bytes);
    int64_t first = chunk / x.inner * x.n * x.inner + chunk % x.inner;
    for (int64_t i = 0; i < x.n; i++)
        line[i] = (Keyed){key_of(j->x[0].dtype, j->in[0], first + i * x.inner, j->step->flag),
                          (int32_t)i};
    const Keyed *sorted = sort(line, x.n);
    for (int64_t i = 0; i < x.n; i++) ((int32_t *)j->to)[first + i * x.inner] = sorted[i].position;
}

static int cpu_argsort(const CpuJob *j)
{
    AxisSplit x = cpu_view_axis(&j->x[0], j->step->axis);
    if (x.outer * x.inner > INT32_MAX)
        return base_fail(j->cx, SGL_EUNSUP, "argsort: more than 2147483647 lines");
    cpu_split(j, x.n ? (int)(x.outer * x.inner) : 0, sort_line, (void *)(uintptr_t)j);
    return SGL_OK;
}

const CpuOp cpu_op_argsort = {cpu_argsort, cpu_argsort_scratch, false, 16};
