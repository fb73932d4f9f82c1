/* op_movement.c: reshape, permute, broadcast, slice, pad, flip, concat: shape rules, gradients.
 *
 * Each moves elements and computes nothing, so each gradient is a movement back (or, for the
 * elements that were repeated, a sum). Evaluation is in op_movement_eval.c.
 * Holds: symbols survive wherever the result is affine in them.
 */
#include "ir/build.h"
#include "ir/check.h"
#include "ir/rules.h"

/* ---- reshape ---- */

/* The product of the dims but those struck out; DIM_FAIL also when it is no size. */
static Dim product_of(Ctx *cx, int rank, const Dim *dims, unsigned struck)
{
    Dim product = 1;
    for (int i = 0; i < rank; i++)
        if (dims[i] == 0) return 0;
    for (int i = 0; i < rank && product != DIM_FAIL; i++)
        if (!(struck >> i & 1)) product = ir_dim_mul(cx, product, dims[i]);
    return product;
}

/* Symbolic dims that stand on both sides are struck out first. */
static bool same_count(Ctx *cx, const Node *x, AttrList dims)
{
    unsigned xs = 0, ds = 0;
    for (int i = 0; i < x->rank; i++)
        for (int j = 0; j < dims.n && x->dims[i] < 0 && !(xs >> i & 1); j++)
            if (!(ds >> j & 1) && dims.at[j] == x->dims[i]) xs |= 1u << i, ds |= 1u << j;
    Dim from = product_of(cx, x->rank, x->dims, xs), to = product_of(cx, dims.n, dims.at, ds);
    return from != DIM_FAIL && from == to;
}

int ir_shape_reshape(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    AttrList dims = ir_take_list(&attr);
    int rc = ir_check_result(&c, in[0]->dtype, dims.n, dims.at, out);
    if (rc || same_count(cx, in[0], dims)) return rc;
    Str s = {0};
    for (int i = 0; i < dims.n; i++)
        base_str_fmt(&s, "%s%s", i ? ", " : "", ir_dim_name(cx, dims.at[i]).at);
    rc = ir_check_fail(&c, SGL_ESHAPE, "the number of elements would change", NULL, "to [%s]",
                       s.at && !s.failed ? s.at : "");
    base_str_free(&s);
    for (int i = 0; i < dims.n; i++)
        if (dims.at[i] < 0 && ir_dim_hint(cx, dims.at[i])) break;
    return rc;
}

int ir_grad_reshape(Node *n, Node *dy, Node **dx)
{
    dx[0] = ir_reshape(dy, n->in[0]->rank, n->in[0]->dims);
    return ir_built(n, dx[0]);
}

/* ---- permute ---- */

int ir_shape_permute(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    AttrList axes = ir_take_list(&attr);
    Dim dims[OP_MAX_RANK];
    int rc = ir_check_length(&c, axes, in[0]->rank, "dims");
    if (!rc) rc = ir_check_axes(&c, axes, in[0]->rank);
    for (int i = 0; !rc && i < axes.n; i++) dims[i] = in[0]->dims[axes.at[i]];
    return rc ? rc : ir_check_result(&c, in[0]->dtype, axes.n, dims, out);
}

int ir_grad_permute(Node *n, Node *dy, Node **dx)
{
    int rank, back[OP_MAX_RANK];
    const int64_t *axes = ir_attr_list(n, 0, &rank);
    for (int i = 0; i < rank; i++) back[axes[i]] = i;
    dx[0] = ir_permute(dy, back);
    return ir_built(n, dx[0]);
}

/* ---- broadcast ---- */

int ir_shape_broadcast(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    AttrList dims = ir_take_list(&attr);
    int rc = ir_check_length(&c, dims, in[0]->rank, "dims");
    for (int i = 0; !rc && i < dims.n; i++) {
        Dim from = in[0]->dims[i], to = dims.at[i];
        if (from == 1 || from == to) continue;
        Str hint = {0};
        const char *name = ir_dim_name(cx, from).at;
        if (from >= 0) base_str_put(&hint, "only dims of size 1 are repeated");
        else
            base_str_fmt(&hint,
                         "dim %d has the symbolic size %s: write %s, the value of "
                         "t.shape[%d], where %s stands",
                         i + 1, name, name, i + 1, ir_dim_name(cx, to).at);
        rc = ir_check_fail(&c, SGL_ESHAPE, "a dim cannot be repeated", hint.at, "dim %d: %s to %s",
                           i + 1, ir_dim_name(cx, from).at, ir_dim_name(cx, to).at);
        base_str_free(&hint);
    }
    return rc ? rc : ir_check_result(&c, in[0]->dtype, dims.n, dims.at, out);
}

int ir_grad_broadcast(Node *n, Node *dy, Node **dx)
{
    dx[0] = ir_sum_to(dy, n->in[0]);
    return ir_built(n, dx[0]);
}

/* ---- slice ---- */

/* Positions start, start+step … below stop: ceil((stop - start) / step). */
static int slice_size(const Check *c, int dim, Dim start, Dim stop, int64_t step, Dim *size)
{
    Dim rest;
    if (step < 1)
        return ir_check_fail(c, SGL_EARG, "the step must be at least 1", "use flip to go backwards",
                             "dim %d: %lld", dim + 1, (long long)step);
    if (ir_dim_below_zero(c->cx, start))
        return ir_check_fail(c, SGL_ESHAPE, "the slice starts before the first element", NULL,
                             "dim %d: %s", dim + 1, ir_dim_name(c->cx, start).at);
    int rc = ir_check_sub(c, c->in[0]->dims[dim], stop, "the slice ends behind the last element",
                          dim, &rest);
    if (!rc) rc = ir_check_sub(c, stop, start, "the slice ends before it starts", dim, size);
    if (rc || step == 1) return rc;
    if (*size >= 0) *size = *size / step + (*size % step != 0);
    else *size = ir_dim_floordiv(c->cx, ir_dim_add(c->cx, *size, step - 1), step);
    return *size == DIM_FAIL ? c->cx->err.code : 0;
}

int ir_shape_slice(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    AttrList start = ir_take_list(&attr), stop = ir_take_list(&attr), step = ir_take_list(&attr);
    int rank = in[0]->rank, rc = ir_check_length(&c, start, rank, "start");
    Dim dims[OP_MAX_RANK];
    if (!rc) rc = ir_check_length(&c, stop, rank, "stop");
    if (!rc) rc = ir_check_length(&c, step, rank, "step");
    for (int i = 0; !rc && i < rank; i++)
        rc = slice_size(&c, i, start.at[i], stop.at[i], step.at[i], &dims[i]);
    return rc ? rc : ir_check_result(&c, in[0]->dtype, rank, dims, out);
}

/* Puts step-1 zeros between neighbours along one dim: m becomes (m - 1)*step + 1. */
static Node *dilate(Node *x, int dim, int64_t step)
{
    Ctx *cx = x->graph->cx;
    Dim dims[OP_MAX_RANK + 1], lo[OP_MAX_RANK] = {0}, hi[OP_MAX_RANK] = {0};
    if (x->rank == OP_MAX_RANK) {
        base_fail(cx, SGL_EUNSUP, "slice: no gradient for a step above 1 at rank %d.", OP_MAX_RANK);
        return NULL;
    }
    for (int i = 0; i <= x->rank; i++)
        dims[i] = i <= dim ? x->dims[i] : i == dim + 1 ? 1 : x->dims[i - 1];
    hi[dim + 1] = step - 1;
    Node *spread = ir_pad(ir_reshape(x, x->rank + 1, dims), lo, hi, 0);
    for (int i = 0; i < x->rank; i++)
        dims[i] = i == dim ? ir_dim_mul(cx, x->dims[i], step) : x->dims[i];
    Node *flat = ir_reshape(spread, x->rank, dims);
    dims[dim] = ir_dim_sub(cx, dims[dim], step - 1);
    return ir_slice(flat, lo, dims, NULL);
}

int ir_grad_slice(Node *n, Node *dy, Node **dx)
{
    Ctx *cx = n->graph->cx;
    int rank;
    const int64_t *start = ir_attr_list(n, 0, &rank), *step = ir_attr_list(n, 2, &rank);
    Dim behind[OP_MAX_RANK];
    for (int i = 0; i < rank; i++)
        if (n->dims[i] == 0) {
            dx[0] = ir_const_like(n->in[0], 0);
            return ir_built(n, dx[0]);
        }
    for (int i = 0; dy && i < rank; i++)
        if (step[i] > 1) dy = dilate(dy, i, step[i]);
    for (int i = 0; dy && i < rank; i++)
        behind[i] = ir_dim_sub(cx, ir_dim_sub(cx, n->in[0]->dims[i], start[i]), dy->dims[i]);
    dx[0] = dy ? ir_pad(dy, start, behind, 0) : NULL;
    return ir_built(n, dx[0]);
}

/* ---- pad ---- */

int ir_shape_pad(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    AttrList lo = ir_take_list(&attr), hi = ir_take_list(&attr);
    int rank = in[0]->rank, rc = ir_check_length(&c, lo, rank, "lo");
    Dim dims[OP_MAX_RANK];
    if (!rc) rc = ir_check_length(&c, hi, rank, "hi");
    for (int i = 0; !rc && i < rank; i++) {
        if (ir_dim_below_zero(cx, lo.at[i]) || ir_dim_below_zero(cx, hi.at[i]))
            return ir_check_fail(&c, SGL_EARG, "a padding is negative", "use a slice to cut off",
                                 "dim %d: %s and %s", i + 1, ir_dim_name(cx, lo.at[i]).at,
                                 ir_dim_name(cx, hi.at[i]).at);
        rc = ir_check_add(&c, in[0]->dims[i], lo.at[i], i, &dims[i]);
        if (!rc) rc = ir_check_add(&c, dims[i], hi.at[i], i, &dims[i]);
    }
    return rc ? rc : ir_check_result(&c, in[0]->dtype, rank, dims, out);
}

int ir_grad_pad(Node *n, Node *dy, Node **dx)
{
    int rank;
    const int64_t *lo = ir_attr_list(n, 0, &rank);
    Dim stop[OP_MAX_RANK];
    for (int i = 0; i < rank; i++) stop[i] = ir_dim_add(n->graph->cx, lo[i], n->in[0]->dims[i]);
    dx[0] = ir_slice(dy, lo, stop, NULL);
    return ir_built(n, dx[0]);
}

/* ---- flip ---- */

int ir_shape_flip(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    int rc = ir_check_axes(&c, ir_take_list(&attr), in[0]->rank);
    return rc ? rc : ir_check_result(&c, in[0]->dtype, in[0]->rank, in[0]->dims, out);
}

int ir_grad_flip(Node *n, Node *dy, Node **dx)
{
    int count, axes[OP_MAX_RANK];
    const int64_t *list = ir_attr_list(n, 0, &count);
    for (int i = 0; i < count; i++) axes[i] = (int)list[i];
    dx[0] = ir_flip(dy, count, axes);
    return ir_built(n, dx[0]);
}

/* ---- concat ---- */

int ir_shape_concat(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    int64_t dim = attr[0];
    Dim dims[OP_MAX_RANK], joined = 0;
    int rc = ir_check_axis(&c, dim, in[0]->rank);
    if (!rc) rc = ir_check_same_dtype(&c);
    for (int k = 0; !rc && k < nin; k++) {
        const Check pair = {cx, op, k ? 2 : 1, (Node *const[]){in[0], in[k]}};
        if (in[k]->rank != in[0]->rank)
            return ir_check_fail(&pair, SGL_ESHAPE, "the inputs differ in their number of dims",
                                 NULL, "%d against %d", in[0]->rank, in[k]->rank);
        for (int i = 0; i < in[0]->rank; i++)
            if (i != dim && in[k]->dims[i] != in[0]->dims[i])
                return ir_check_fail(&pair, SGL_ESHAPE, "the inputs differ beside the joined dim",
                                     NULL, "dim %d: %s against %s", i + 1,
                                     ir_dim_name(cx, in[0]->dims[i]).at,
                                     ir_dim_name(cx, in[k]->dims[i]).at);
        rc = ir_check_add(&c, joined, in[k]->dims[dim], (int)dim, &joined);
    }
    for (int i = 0; !rc && i < in[0]->rank; i++) dims[i] = i == dim ? joined : in[0]->dims[i];
    return rc ? rc : ir_check_result(&c, in[0]->dtype, in[0]->rank, dims, out);
}

int ir_grad_concat(Node *n, Node *dy, Node **dx)
{
    int64_t dim = ir_attr_int(n, 0);
    Dim start[OP_MAX_RANK] = {0}, stop[OP_MAX_RANK];
    for (int i = 0; i < n->rank; i++) stop[i] = n->dims[i];
    for (int k = 0; k < n->nin; k++) {
        stop[dim] = ir_dim_add(n->graph->cx, start[dim], n->in[k]->dims[dim]);
        dx[k] = ir_slice(dy, start, stop, NULL);
        if (!dx[k]) return ir_built(n, NULL);
        start[dim] = stop[dim];
    }
    return 0;
}

/* ---- barrier ---- */

int ir_shape_barrier(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    if (attr[0] < 0)
        return ir_check_fail(&c, SGL_EARG, "the number is below 0", NULL, "%lld",
                             (long long)attr[0]);
    return ir_check_result(&c, (Dtype)in[0]->dtype, in[0]->rank, in[0]->dims, out);
}

int ir_grad_barrier(Node *n, Node *dy, Node **dx)
{
    (void)n;
    dx[0] = dy;
    return 0;
}
