/* op_window.c: window and its adjoint fold: shape rules, gradients, reference evaluation.
 *
 * window: element p of a listed dim's windows and element k of its size dim come from position
 * p*stride + k*dilation of x. fold adds them back there. Each is the other's gradient.
 * Holds: the dims of window(x) are those of x with listed dims replaced by positions, and one
 *        dim of `size` at the end for each listed dim, in the order of the list.
 */
#include "ir/build.h"
#include "ir/check.h"
#include "ir/ref.h"
#include "ir/rules.h"

/* What one listed dim has: sizes, strides and dilations as numbers. */
typedef struct Slide {
    int64_t size, stride, dilation;
} Slide;

static int check_slide(const Check *c, int64_t dim, Slide s, int64_t *extent)
{
    if (s.size < 1 || s.stride < 1 || s.dilation < 1)
        return ir_check_fail(c, SGL_EARG, "size, stride and dilation must be at least 1", NULL,
                             "dim %lld: %lld, %lld and %lld", (long long)dim + 1, (long long)s.size,
                             (long long)s.stride, (long long)s.dilation);
    if (__builtin_mul_overflow(s.size - 1, s.dilation, extent) || *extent == INT64_MAX)
        return ir_check_fail(c, SGL_EARG, "the window is too large", NULL, "dim %lld: %lld",
                             (long long)dim + 1, (long long)s.size);
    *extent += 1;
    return 0;
}

static int too_large(const Check *c, int64_t dim, Dim n, int64_t extent)
{
    int symbol = ir_dim_plain(c->cx, n);
    Str hint = {0};
    if (symbol < 0) base_str_put(&hint, "pad the dim first");
    else
        base_str_fmt(&hint, "declare the dim with that least size: sgl.dim(\"%s\", { min = %lld })",
                     ir_dim_symbol_at(c->cx, symbol)->name, (long long)extent);
    int rc = ir_check_fail(c, SGL_ESHAPE, "the window is larger than the dim", hint.at,
                           "dim %lld: %lld against %s", (long long)dim + 1, (long long)extent,
                           ir_dim_name(c->cx, n).at);
    base_str_free(&hint);
    return rc;
}

/* floor((n - extent) / stride) + 1, and an error unless one window fits. */
static int window_positions(const Check *c, int64_t dim, Dim n, Slide s, Dim *positions)
{
    Ctx *cx = c->cx;
    int64_t extent = 0, lo = n, hi;
    int rc = check_slide(c, dim, s, &extent);
    if (rc) return rc;
    if (n < 0) ir_dim_range(cx, n, &lo, &hi);
    if (lo < extent) return too_large(c, dim, n, extent);
    if (n >= 0) {
        *positions = (n - extent) / s.stride + 1;
        return 0;
    }
    Dim room = ir_dim_floordiv(cx, ir_dim_sub(cx, n, extent), s.stride);
    *positions = ir_dim_add(cx, room, 1);
    return *positions == DIM_FAIL ? cx->err.code : 0;
}

int ir_shape_window(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    AttrList axes = ir_take_list(&attr), size = ir_take_list(&attr);
    AttrList stride = ir_take_list(&attr), dilation = ir_take_list(&attr);
    int rank = in[0]->rank, rc = ir_check_axes(&c, axes, rank);
    Dim dims[2 * OP_MAX_RANK];
    if (!rc) rc = ir_check_length(&c, size, axes.n, "size");
    if (!rc) rc = ir_check_length(&c, stride, axes.n, "stride");
    if (!rc) rc = ir_check_length(&c, dilation, axes.n, "dilation");
    if (rc) return rc;
    for (int i = 0; i < rank; i++) dims[i] = in[0]->dims[i];
    for (int i = 0; !rc && i < axes.n; i++) {
        Slide s = {size.at[i], stride.at[i], dilation.at[i]};
        rc = window_positions(&c, axes.at[i], in[0]->dims[axes.at[i]], s, &dims[axes.at[i]]);
        dims[rank + i] = s.size;
    }
    return rc ? rc : ir_check_result(&c, in[0]->dtype, rank + axes.n, dims, out);
}

int ir_grad_window(Node *n, Node *dy, Node **dx)
{
    int count, axes[OP_MAX_RANK];
    const int64_t *list = ir_attr_list(n, 0, &count);
    Dim into[OP_MAX_RANK];
    for (int i = 0; i < count; i++) {
        axes[i] = (int)list[i];
        into[i] = n->in[0]->dims[list[i]];
    }
    dx[0] = ir_fold(dy, count, axes, into, ir_attr_list(n, 2, &count), ir_attr_list(n, 3, &count));
    return ir_built(n, dx[0]);
}

/* `unfolded` has the dims of window(folded): a walk over it with the steps of `folded`. */
static Walk window_walk(const RefArray *unfolded, const RefArray *folded, int count,
                        const int64_t *axes, const int64_t *stride, const int64_t *dilation)
{
    Walk w = ir_walk_over(unfolded);
    ir_row_steps(folded->rank, folded->dims, w.step);
    for (int i = 0; i < count; i++) w.step[folded->rank + i] = w.step[axes[i]] * dilation[i];
    for (int i = 0; i < count; i++) w.step[axes[i]] *= stride[i];
    return w;
}

int ir_eval_window(const Node *n, const RefArray *const *in, RefArray *out)
{
    int count;
    const int64_t *axes = ir_attr_list(n, 0, &count);
    Walk w = window_walk(out, in[0], count, axes, ir_attr_list(n, 2, &count),
                         ir_attr_list(n, 3, &count));
    for (int64_t i = 0; i < out->count; i++, ir_walk_next(&w)) out->at[i] = in[0]->at[w.offset];
    return 0;
}

int ir_shape_fold(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    AttrList axes = ir_take_list(&attr), into = ir_take_list(&attr);
    AttrList stride = ir_take_list(&attr), dilation = ir_take_list(&attr);
    const Node *x = in[0];
    int rank = x->rank - axes.n, rc;
    Dim dims[OP_MAX_RANK];
    if (rank < 0)
        return ir_check_fail(&c, SGL_ESHAPE, "there are fewer dims than listed windows", NULL,
                             "%d listed", axes.n);
    rc = ir_check_axes(&c, axes, rank);
    if (!rc) rc = ir_check_length(&c, into, axes.n, "into");
    if (!rc) rc = ir_check_length(&c, stride, axes.n, "stride");
    if (!rc) rc = ir_check_length(&c, dilation, axes.n, "dilation");
    for (int i = 0; i < rank; i++) dims[i] = x->dims[i];
    for (int i = 0; !rc && i < axes.n; i++) {
        int64_t dim = axes.at[i];
        Slide s = {x->dims[rank + i], stride.at[i], dilation.at[i]};
        Dim positions;
        rc = window_positions(&c, dim, into.at[i], s, &positions);
        if (!rc && positions != x->dims[dim])
            rc = ir_check_fail(&c, SGL_ESHAPE, "the number of windows does not fit", NULL,
                               "dim %lld of size %s has %s, not %s", (long long)dim + 1,
                               ir_dim_name(cx, into.at[i]).at, ir_dim_name(cx, positions).at,
                               ir_dim_name(cx, x->dims[dim]).at);
        dims[dim] = into.at[i];
    }
    return rc ? rc : ir_check_result(&c, x->dtype, rank, dims, out);
}

int ir_grad_fold(Node *n, Node *dy, Node **dx)
{
    int count, axes[OP_MAX_RANK];
    const int64_t *list = ir_attr_list(n, 0, &count);
    int64_t size[OP_MAX_RANK];
    for (int i = 0; i < count; i++) {
        axes[i] = (int)list[i];
        size[i] = n->in[0]->dims[n->rank + i];
    }
    dx[0] =
        ir_window(dy, count, axes, size, ir_attr_list(n, 2, &count), ir_attr_list(n, 3, &count));
    return ir_built(n, dx[0]);
}

int ir_eval_fold(const Node *n, const RefArray *const *in, RefArray *out)
{
    int count;
    const int64_t *axes = ir_attr_list(n, 0, &count);
    Walk w = window_walk(in[0], out, count, axes, ir_attr_list(n, 2, &count),
                         ir_attr_list(n, 3, &count));
    for (int64_t i = 0; i < out->count; i++) out->at[i] = 0;
    for (int64_t i = 0; i < in[0]->count; i++, ir_walk_next(&w))
        out->at[w.offset] = ir_ref_add(n->dtype, out->at[w.offset], in[0]->at[i]);
    return 0;
}
