/* op_movement_eval.c: reference evaluation of the movement ops.
 *
 * Each op is one strided walk: either it reads its input along strides and writes row-major
 * (permute, broadcast, slice, flip), or it reads row-major and writes along strides (pad, concat).
 */
#include <string.h>
#include "ir/ref.h"
#include "ir/rules.h"

int ir_eval_reshape(const Node *n, const RefArray *const *in, RefArray *out)
{
    (void)n;
    if (out->count) memcpy(out->at, in[0]->at, (size_t)out->count * sizeof *out->at);
    return 0;
}

/* out[i] = x[w.offset] over the positions of out; w walks out's dims with x's steps. */
static int gather_strided(Walk w, const RefArray *x, RefArray *out)
{
    for (int64_t i = 0; i < out->count; i++, ir_walk_next(&w)) out->at[i] = x->at[w.offset];
    return 0;
}

/* A walk over the positions of out whose steps are those of x. */
static Walk walk_with_steps_of(const RefArray *x, const RefArray *out)
{
    Walk w = ir_walk_over(out);
    ir_row_steps(x->rank, x->dims, w.step);
    return w;
}

int ir_eval_permute(const Node *n, const RefArray *const *in, RefArray *out)
{
    int rank;
    const int64_t *axes = ir_attr_list(n, 0, &rank);
    int64_t step[OP_MAX_RANK];
    Walk w = ir_walk_over(out);
    ir_row_steps(rank, in[0]->dims, step);
    for (int i = 0; i < rank; i++) w.step[i] = step[axes[i]];
    return gather_strided(w, in[0], out);
}

int ir_eval_broadcast(const Node *n, const RefArray *const *in, RefArray *out)
{
    (void)n;
    Walk w = walk_with_steps_of(in[0], out);
    for (int i = 0; i < out->rank; i++)
        if (in[0]->dims[i] == 1) w.step[i] = 0;
    return gather_strided(w, in[0], out);
}

int ir_eval_slice(const Node *n, const RefArray *const *in, RefArray *out)
{
    int rank;
    const int64_t *start = ir_attr_list(n, 0, &rank), *step = ir_attr_list(n, 2, &rank);
    Walk w = walk_with_steps_of(in[0], out);
    for (int i = 0; i < rank; i++) {
        w.offset += start[i] * w.step[i];
        w.step[i] *= step[i];
    }
    return gather_strided(w, in[0], out);
}

int ir_eval_flip(const Node *n, const RefArray *const *in, RefArray *out)
{
    int count;
    const int64_t *axes = ir_attr_list(n, 0, &count);
    Walk w = walk_with_steps_of(in[0], out);
    for (int i = 0; i < count; i++) {
        w.offset += (out->dims[axes[i]] - 1) * w.step[axes[i]];
        w.step[axes[i]] *= -1;
    }
    return gather_strided(w, in[0], out);
}

/* Writes x, row-major, to the box of out that begins at element `offset`. */
static void place(const RefArray *x, int64_t offset, RefArray *out)
{
    Walk w = ir_walk_over(x);
    ir_row_steps(out->rank, out->dims, w.step);
    w.offset = offset;
    for (int64_t i = 0; i < x->count; i++, ir_walk_next(&w)) out->at[w.offset] = x->at[i];
}

int ir_eval_pad(const Node *n, const RefArray *const *in, RefArray *out)
{
    int rank;
    const int64_t *lo = ir_attr_list(n, 0, &rank);
    double value = ir_attr_float(n, 2);
    int64_t step[OP_MAX_RANK], offset = 0;
    for (int64_t i = 0; i < out->count; i++) out->at[i] = value;
    ir_row_steps(rank, out->dims, step);
    for (int i = 0; i < rank; i++) offset += lo[i] * step[i];
    place(in[0], offset, out);
    return 0;
}

int ir_eval_concat(const Node *n, const RefArray *const *in, RefArray *out)
{
    int64_t dim = ir_attr_int(n, 0), step[OP_MAX_RANK], offset = 0;
    ir_row_steps(out->rank, out->dims, step);
    for (int k = 0; k < n->nin; k++) {
        place(in[k], offset, out);
        offset += in[k]->dims[dim] * step[dim];
    }
    return 0;
}

int ir_eval_barrier(const Node *n, const RefArray *const *in, RefArray *out)
{
    return ir_eval_reshape(n, in, out);
}
