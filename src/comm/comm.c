/* comm.c: the job of a context, and how values of two ranks combine.
 *
 * Holds: combining is what the op of that name computes (op.def): the larger of two is NaN if
 *        either is, the first where both are equal.
 */
#include "comm/comm.h"
#include <string.h>

static Comm *started; /* what this process was started as; NULL: alone */

void comm_job_set(Comm *job) { started = job; }

const Comm *comm_job(void) { return started; }

Comm *comm_of(const Ctx *cx) { return cx->slot[CTX_COMM]; }

int comm_join(Ctx *cx)
{
    if (!started || cx->slot[CTX_COMM]) return SGL_OK;
    started->cx = cx;
    cx->slot[CTX_COMM] = started;
    return SGL_OK;
}

/* No axes: a channel of its own, in which the group is the job. */
int comm_meet(Comm *c, const char *what, CommKind kind, int64_t n, const int64_t *in, int64_t *out)
{
    const Mesh line = {.n = 1, .size = {c->size}};
    const CommCall call = {comm_mesh_group(&line, comm_axes_add(0, 0), c->rank), 0, what,
                           "outside a step"};
    return c->transport->all_reduce(c, &call, kind, DT_i64, n, in, out);
}

int64_t comm_parts_total(const CommParts *p, int members)
{
    int64_t n = 0;
    for (int m = 0; m < members; m++) n += p->length[m];
    return n;
}

static const char *const KINDS[] = {
    [COMM_sum] = "sum",
    [COMM_prod] = "prod",
    [COMM_max] = "max",
    [COMM_min] = "min",
};

int comm_kind_find(const char *name)
{
    for (int k = 0; k < COMM_KINDS; k++)
        if (strcmp(name, KINDS[k]) == 0) return k;
    return -1;
}

typedef void (*CombineFn)(void *x, const void *y, int64_t count);

#define COMBINE(name, T, value)                                                                    \
    static void name(void *at, const void *by, int64_t count)                                      \
    {                                                                                              \
        T *a = at;                                                                                 \
        const T *b = by;                                                                           \
        for (int64_t i = 0; i < count; i++) {                                                      \
            T x = a[i], y = b[i];                                                                  \
            a[i] = (T)(value);                                                                     \
        }                                                                                          \
    }
#define COMBINE_ALL(T, name)                                                                       \
    COMBINE(sum_##name, T, x + y)                                                                  \
    COMBINE(prod_##name, T, x *y)                                                                  \
    COMBINE(max_##name, T, y > x || y != y ? y : x)                                                \
    COMBINE(min_##name, T, y < x || y != y ? y : x)
COMBINE_ALL(float, f32)
COMBINE_ALL(double, f64)
COMBINE_ALL(int32_t, i32)
COMBINE_ALL(int64_t, i64)
COMBINE_ALL(uint8_t, u8)

#define ROW(name)                                                                                  \
    {                                                                                              \
        sum_##name, prod_##name, max_##name, min_##name                                            \
    }
static const CombineFn BY_DTYPE[DT_COUNT][COMM_KINDS] = {
    [DT_f32] = ROW(f32), [DT_f64] = ROW(f64), [DT_i32] = ROW(i32),
    [DT_i64] = ROW(i64), [DT_u8] = ROW(u8),   [DT_bool] = ROW(u8),
};

void comm_combine(CommKind kind, Dtype dtype, void *x, const void *y, int64_t count)
{
    BY_DTYPE[dtype][kind](x, y, count);
}
