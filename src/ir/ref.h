/* ref.h: what the reference evaluations of the ops share: walks over strided positions and the
 * arithmetic of each dtype on doubles.
 *
 * Holds: integers add and multiply as 64-bit integers and wrap to their dtype; a value of i64
 *        beyond 2^53 is held inexactly, because arrays of the reference are doubles.
 */
#ifndef SGL_IR_REF_H
#define SGL_IR_REF_H
#include "ir/blocks.h"
#include "ir/eval.h"

/* The positions of a box in row-major order; offset = start + Σ at[i]*step[i]. */
typedef struct Walk {
    int rank;
    int64_t offset;
    int64_t at[OP_MAX_RANK], dims[OP_MAX_RANK], step[OP_MAX_RANK];
} Walk;

static inline void ir_walk_next(Walk *w)
{
    for (int i = w->rank - 1; i >= 0; i--) {
        w->offset += w->step[i];
        if (++w->at[i] < w->dims[i])
            return;
        w->offset -= w->step[i] * w->dims[i];
        w->at[i] = 0;
    }
}

/* step[i]: the distance in elements of neighbours along dim i of a row-major array. */
static inline void ir_row_steps(int rank, const int64_t *dims, int64_t *step)
{
    int64_t s = 1;
    for (int i = rank - 1; i >= 0; i--) {
        step[i] = s;
        s *= dims[i];
    }
}

/* A walk over an array's own elements; the caller changes start and steps as needed. */
static inline Walk ir_walk_over(const RefArray *a)
{
    Walk w = { .rank = a->rank };
    for (int i = 0; i < a->rank; i++)
        w.dims[i] = a->dims[i];
    ir_row_steps(a->rank, a->dims, w.step);
    return w;
}

/* An array seen as [outer, n, inner] around one dim. */
typedef struct Lines { int64_t outer, n, inner; } Lines;
static inline Lines ir_lines(const RefArray *a, int64_t dim)
{
    Lines l = { 1, a->dims[dim], 1 };
    for (int i = 0; i < a->rank; i++) {
        if (i < dim)
            l.outer *= a->dims[i];
        else if (i > dim)
            l.inner *= a->dims[i];
    }
    return l;
}

static inline int64_t ir_ref_int(double v)       /* saturates; NaN is 0 */
{
    if (v != v)
        return 0;
    if (v >= 9223372036854775808.0)
        return INT64_MAX;
    return v < -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
}

static inline double ir_ref_wrap(Dtype t, int64_t v)
{
    switch (t) {
    case DT_bool: return v != 0;
    case DT_u8: return (uint8_t)v;
    case DT_i32: return (int32_t)v;
    default: return (double)v;
    }
}

static inline double ir_ref_add(Dtype t, double a, double b)
{
    if (DTYPES[t].class == CLASS_FLOAT)
        return a + b;
    uint64_t sum = (uint64_t)ir_ref_int(a) + (uint64_t)ir_ref_int(b);
    return ir_ref_wrap(t, (int64_t)sum);
}

/* One result of n, a reduction of `size` elements in blocks: `leaf` reduces the elements from
 * `from` up to before `to`, which may be none. */
double ir_ref_tree(const Node *n, int64_t size, double (*combine)(Dtype, double, double),
                   double (*leaf)(const void *arg, int64_t from, int64_t to), const void *arg);

static inline double ir_ref_mul(Dtype t, double a, double b)
{
    if (DTYPES[t].class == CLASS_FLOAT)
        return a * b;
    uint64_t product = (uint64_t)ir_ref_int(a) * (uint64_t)ir_ref_int(b);
    return ir_ref_wrap(t, (int64_t)product);
}
#endif
