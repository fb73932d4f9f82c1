/* op_reduce.c: sum, prod, max, min, argmax, argmin over dims: shape rules, gradients, reference.
 *
 * Holds: a sum over nothing is 0 and a product 1; the extremes of nothing do not exist and are
 *        refused by the shape rule.
 */
#include <math.h>
#include <string.h>
#include "ir/build.h"
#include "ir/check.h"
#include "ir/ref.h"
#include "ir/rules.h"

/* ---- shapes ---- */

static int shape_without(const Check *c, AttrList axes, Dtype dtype, Shape *out)
{
    const Node *x = c->in[0];
    Dim dims[OP_MAX_RANK];
    unsigned gone = 0;
    int rank = 0, rc = ir_check_axes(c, axes, x->rank);
    for (int i = 0; !rc && i < axes.n; i++) gone |= 1u << axes.at[i];
    for (int i = 0; i < x->rank; i++)
        if (!(gone >> i & 1)) dims[rank++] = x->dims[i];
    return rc ? rc : ir_check_result(c, dtype, rank, dims, out);
}

static int shape_total(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    bool narrow = in[0]->dtype == DT_bool || in[0]->dtype == DT_u8;
    AttrList axes = ir_take_list(&attr);
    int rc = shape_without(&c, axes, narrow ? DT_i32 : in[0]->dtype, out);
    if (!rc && attr[0] != 1 && axes.n != 1)
        rc = ir_check_fail(&c, SGL_EARG, "blocks cut exactly one dim",
                           "reduce the last dim, then the one before", "got %d", axes.n);
    if (!rc && attr[2] != 0 && attr[2] != 1)
        rc = ir_check_fail(&c, SGL_EARG, "columns is 0 or 1", NULL, "%lld", (long long)attr[2]);
    return rc ? rc : ir_check_blocks(&c, attr[0], attr[1], axes.n ? in[0]->dims[axes.at[0]] : 1);
}

static int shape_extreme(const Check *c, AttrList axes, Dtype dtype, Shape *out)
{
    int rc = shape_without(c, axes, dtype, out);
    for (int i = 0; !rc && i < axes.n; i++) {
        int64_t lo = c->in[0]->dims[axes.at[i]], hi;
        if (lo < 0) ir_dim_range(c->cx, lo, &lo, &hi);
        if (lo < 1)
            rc = ir_check_fail(c, SGL_ESHAPE, "no elements, so no extreme", NULL,
                               "dim %d can be empty", (int)axes.at[i] + 1);
    }
    return rc;
}

static int shape_value(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    return shape_extreme(&c, ir_take_list(&attr), in[0]->dtype, out);
}

static int shape_position(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    AttrList axes = ir_take_list(&attr);
    if (axes.n != 1)
        return ir_check_fail(&c, SGL_EARG, "it takes exactly one dim",
                             "reshape to one dim for the position among all", "got %d", axes.n);
    int rc = shape_extreme(&c, axes, DT_i32, out);
    if (!rc && in[0]->dims[axes.at[0]] > INT32_MAX)
        rc = ir_check_fail(&c, SGL_ESHAPE, "positions do not fit i32", NULL, NULL);
    return rc;
}

#define SHAPE(fn, rule)                                                                            \
    int ir_shape_##fn(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)   \
    {                                                                                              \
        return rule(cx, op, nin, in, attr, out);                                                   \
    }
SHAPE(sum, shape_total)
SHAPE(prod, shape_total)
SHAPE(reduce_max, shape_value)
SHAPE(reduce_min, shape_value)
SHAPE(argmax, shape_position)
SHAPE(argmin, shape_position)

/* ---- gradients ---- */

/* v, with the dims of reduction n, repeated over the reduced dims. */
static Node *spread(const Node *n, Node *v)
{
    const Node *x = n->in[0];
    unsigned gone = ir_listed_dims(n);
    Dim kept[OP_MAX_RANK];
    for (int i = 0; i < x->rank; i++) kept[i] = gone >> i & 1 ? 1 : x->dims[i];
    return ir_broadcast(ir_reshape(v, x->rank, kept), x->rank, x->dims);
}

int ir_grad_sum(Node *n, Node *dy, Node **dx)
{
    dx[0] = spread(n, dy);
    return ir_built(n, dx[0]);
}

/* v reduced along one axis, which stays with size 1. */
static Node *along(Node *v, Op op, int axis)
{
    Dim dims[OP_MAX_RANK];
    if (!v) return NULL;
    memcpy(dims, v->dims, sizeof dims);
    dims[axis] = 1;
    return ir_reshape(ir_reduce(v, op, 1, &axis), v->rank, dims);
}

/* Of equal extremes the first in row-major order has all of the gradient: the first along the last
 * of the dims, among those the first along the one before it, and so on. */
static int grad_first(Node *n, Node *dy, Op extreme, Op position, Node **dx)
{
    Node *x = n->in[0], *v = x, *hit = NULL;
    int count;
    const int64_t *axes = ir_attr_list(n, 0, &count);
    for (int i = count - 1; i >= 0; i--) {
        int axis = (int)axes[i];
        Node *at = along(v, position, axis);
        if (!v || !at) return ir_built(n, NULL);
        Node *place = ir_iota(x->graph, DT_i32, v->rank, v->dims, axis);
        Node *here = ir_eq(place, ir_broadcast(at, v->rank, v->dims));
        here = ir_broadcast(here, x->rank, x->dims);
        hit = hit ? ir_logical_and(hit, here) : here;
        v = along(v, extreme, axis);
    }
    dx[0] = ir_where(hit, spread(n, dy), ir_const_like(x, 0));
    return ir_built(n, dx[0]);
}

/* Equal extremes share the gradient. */
static int grad_shared(Node *n, Node *dy, Node **dx)
{
    Node *x = n->in[0];
    int count, axes[OP_MAX_RANK];
    const int64_t *list = ir_attr_list(n, 0, &count);
    for (int i = 0; i < count; i++) axes[i] = (int)list[i];
    Node *hit = ir_eq(x, spread(n, n));
    Node *equals = ir_reduce(ir_cast(hit, n->dtype), OP_sum, count, axes);
    Node *share = spread(n, ir_div(dy, equals));
    /* Where a NaN won, no element is hit: all get NaN, which hides nothing. */
    Node *rest = ir_where(ir_eq(n, n), ir_const_like(n, 0), n);
    dx[0] = ir_where(hit, share, spread(n, rest));
    return ir_built(n, dx[0]);
}

int ir_grad_reduce_max(Node *n, Node *dy, Node **dx)
{
    return ir_attr_int(n, 1) ? grad_first(n, dy, OP_reduce_max, OP_argmax, dx)
                             : grad_shared(n, dy, dx);
}

int ir_grad_reduce_min(Node *n, Node *dy, Node **dx)
{
    return ir_attr_int(n, 1) ? grad_first(n, dy, OP_reduce_min, OP_argmin, dx)
                             : grad_shared(n, dy, dx);
}

NO_GRADIENT(argmax)
NO_GRADIENT(argmin)

/* ---- reference ---- */

static double keep_larger(Dtype t, double a, double b)
{
    (void)t;
    return b > a || isnan(b) ? b : a;
}

static double keep_smaller(Dtype t, double a, double b)
{
    (void)t;
    return b < a || isnan(b) ? b : a;
}

/* A walk over x whose steps are those of out, 0 along the reduced dims. */
static int reduce(const Node *n, const RefArray *x, RefArray *out, double start,
                  double (*combine)(Dtype, double, double))
{
    unsigned gone = ir_listed_dims(n);
    int64_t kept_step[OP_MAX_RANK];
    Walk w = ir_walk_over(x);
    ir_row_steps(out->rank, out->dims, kept_step);
    for (int i = 0, kept = 0; i < x->rank; i++) w.step[i] = gone >> i & 1 ? 0 : kept_step[kept++];
    for (int64_t i = 0; i < out->count; i++) out->at[i] = start;
    for (int64_t i = 0; i < x->count; i++, ir_walk_next(&w))
        out->at[w.offset] = combine(n->dtype, out->at[w.offset], x->at[i]);
    return 0;
}

/* One line of the reduced dim. */
typedef struct LineLeaf {
    const double *at;
    int64_t step;
    Dtype dtype;
    double start;
    double (*combine)(Dtype, double, double);
} LineLeaf;

static double line_leaf(const void *arg, int64_t from, int64_t to)
{
    const LineLeaf *l = arg;
    double v = l->start;
    for (int64_t k = from; k < to; k++) v = l->combine(l->dtype, v, l->at[k * l->step]);
    return v;
}

/* A reduction of one dim in blocks, or of any without. `start` is neutral. */
static int reduce_blocks(const Node *n, const RefArray *x, RefArray *out, double start,
                         double (*combine)(Dtype, double, double))
{
    if (ir_blocks(n).n == 1) return reduce(n, x, out, start, combine);
    Lines l = ir_lines(x, ir_attr_list(n, 0, &(int){0})[0]);
    for (int64_t i = 0; i < out->count; i++) {
        const double *line = x->at + i / l.inner * l.n * l.inner + i % l.inner;
        LineLeaf leaf = {line, l.inner, (Dtype)n->dtype, start, combine};
        out->at[i] = ir_ref_tree(n, l.n, combine, line_leaf, &leaf);
    }
    return 0;
}

int ir_eval_sum(const Node *n, const RefArray *const *in, RefArray *out)
{
    return reduce_blocks(n, in[0], out, in[0]->count ? -0.0 : 0, ir_ref_add);
}

int ir_eval_prod(const Node *n, const RefArray *const *in, RefArray *out)
{
    return reduce_blocks(n, in[0], out, 1, ir_ref_mul);
}

int ir_eval_reduce_max(const Node *n, const RefArray *const *in, RefArray *out)
{
    return reduce(n, in[0], out, -INFINITY, keep_larger);
}

int ir_eval_reduce_min(const Node *n, const RefArray *const *in, RefArray *out)
{
    return reduce(n, in[0], out, INFINITY, keep_smaller);
}

/* The first position that no later one beats; sign -1 looks for the smallest. */
static int extreme_position(const Node *n, const RefArray *x, RefArray *out, double sign)
{
    Lines l = ir_lines(x, ir_attr_list(n, 0, &(int){0})[0]);
    for (int64_t i = 0; i < out->count; i++) {
        const double *line = x->at + i / l.inner * l.n * l.inner + i % l.inner;
        int64_t best = 0;
        for (int64_t k = 1; k < l.n && !isnan(line[best * l.inner]); k++) {
            double v = line[k * l.inner];
            if (isnan(v) || sign * v > sign * line[best * l.inner]) best = k;
        }
        out->at[i] = (double)best;
    }
    return 0;
}

int ir_eval_argmax(const Node *n, const RefArray *const *in, RefArray *out)
{
    return extreme_position(n, in[0], out, 1);
}

int ir_eval_argmin(const Node *n, const RefArray *const *in, RefArray *out)
{
    return extreme_position(n, in[0], out, -1);
}
