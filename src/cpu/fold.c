/* fold.c: fold, the adjoint of window: adds each window's elements back at their place.
 *
 * In:   x[dims with positions, sizes]; the element of position p and window element k belongs at
 *       p*stride + k*dilation of the listed dim.
 * Holds: what meets at one place is added in row-major order of x: later window elements belong to
 *        earlier positions, so the sizes are walked downwards outside and the positions upwards
 *        inside. Chunks are the elements of the dims before the first listed one.
 */
#include <string.h>
#include "cpu/cpu.h"

/* The walk of one chunk: its dims from outside to inside, strides in elements. */
typedef struct Fold {
    const CpuJob *j;
    int rank, lead; /* dims walked; dims before the first listed one */
    int64_t extent[VIEW_MAX_RANK], x[VIEW_MAX_RANK], out[VIEW_MAX_RANK];
    int64_t x_first; /* the last window element */
    int64_t out_first;
    int64_t x_chunk, out_chunk; /* elements of one chunk */
} Fold;

static Fold fold_of(const CpuJob *j)
{
    const View *x = &j->x[0], *out = &j->out;
    int count;
    const int64_t *axes = ir_attr_list(j->step->node, 0, &count);
    const int64_t *stride = ir_attr_list(j->step->node, 2, &count);
    const int64_t *dilation = ir_attr_list(j->step->node, 3, &count);
    Fold f = {.j = j, .lead = out->rank, .x_chunk = 1, .out_chunk = 1};
    int64_t scale[VIEW_MAX_RANK];
    for (int d = 0; d < out->rank; d++) scale[d] = 1;
    for (int i = 0; i < count; i++) {
        int d = out->rank + i, n = f.rank++;
        scale[axes[i]] = stride[i];
        if (axes[i] < f.lead) f.lead = (int)axes[i];
        f.extent[n] = x->extent[d];
        f.x[n] = -x->stride[d];
        f.out[n] = -out->stride[axes[i]] * dilation[i];
        f.x_first -= (x->extent[d] - 1) * f.x[n];
        f.out_first -= (x->extent[d] - 1) * f.out[n];
    }
    for (int d = f.lead; d < out->rank; d++) {
        int n = f.rank++;
        f.extent[n] = x->extent[d];
        f.x[n] = x->stride[d];
        f.out[n] = out->stride[d] * scale[d];
    }
    for (int d = f.lead; d < x->rank; d++) f.x_chunk *= x->extent[d];
    for (int d = f.lead; d < out->rank; d++) f.out_chunk *= out->extent[d];
    return f;
}

static void fold_chunk(void *arg, int chunk, int worker)
{
    (void)worker;
    const Fold *f = arg;
    const CpuAddFn add = cpu_add(f->j->out.dtype);
    int64_t size = (int64_t)DTYPES[f->j->out.dtype].bytes, at[VIEW_MAX_RANK] = {0};
    const char *x = (const char *)f->j->in[0] + (chunk * f->x_chunk + f->x_first) * size;
    char *out = (char *)f->j->to + chunk * f->out_chunk * size;
    memset(out, 0, (size_t)(f->out_chunk * size));
    out += f->out_first * size;

    int last = f->rank - 1;
    int64_t n = last < 0 ? 1 : f->extent[last];
    for (int64_t lines = f->x_chunk / (n ? n : 1); lines > 0; lines--) {
        add(out, last < 0 ? 1 : f->out[last], x, last < 0 ? 1 : f->x[last], n);
        for (int d = last; d-- > 0;) {
            x += f->x[d] * size;
            out += f->out[d] * size;
            if (++at[d] < f->extent[d]) break;
            x -= at[d] * f->x[d] * size;
            out -= at[d] * f->out[d] * size;
            at[d] = 0;
        }
    }
}

static int cpu_fold(const CpuJob *j)
{
    Fold f = fold_of(j);
    int64_t chunks = 1;
    for (int d = 0; d < f.lead; d++) chunks *= j->out.extent[d];
    if (chunks > INT32_MAX)
        return base_fail(j->cx, SGL_EUNSUP, "fold: more than 2147483647 slices");
    cpu_split(j, (int)chunks, fold_chunk, &f);
    return SGL_OK;
}

const CpuOp cpu_op_FOLD = {cpu_fold, NULL, true, 1};
