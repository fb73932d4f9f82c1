/* op_index.c: gather, scatter_add, argsort, cumsum: shape rules, gradients, reference evaluation.
 *
 * gather and scatter_add see x as [outer, n, inner] around the dim and the index as a flat list of
 * m positions, so the gathered array is [outer, m, inner].
 * Holds: a position outside [0, n) is SGL_EINDEX with its value, never a read outside.
 */
#include <math.h>
#include <string.h>
#include "ir/build.h"
#include "ir/check.h"
#include "ir/ref.h"
#include "ir/rules.h"

/* ---- gather and scatter_add ---- */

/* x's dims with `dim` replaced by those of the index; the rank, or an error. */
static int gathered_dims(const Check *c, int64_t dim, Dim dims[2 * OP_MAX_RANK])
{
    const Node *x = c->in[0], *index = c->in[1];
    int rank = 0, rc = ir_check_axis(c, dim, x->rank);
    if (!rc) rc = ir_check_number(c, 1, CLASS_INT);
    if (rc) return rc;
    for (int i = 0; i < x->rank; i++) {
        if (i != dim) dims[rank++] = x->dims[i];
        for (int j = 0; i == dim && j < index->rank; j++) dims[rank++] = index->dims[j];
    }
    return rank;
}

int ir_shape_gather(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    Dim dims[2 * OP_MAX_RANK];
    int rank = gathered_dims(&c, attr[0], dims);
    return rank < 0 ? rank : ir_check_result(&c, in[0]->dtype, rank, dims, out);
}

int ir_grad_gather(Node *n, Node *dy, Node **dx)
{
    dx[0] = ir_scatter_add(ir_const_like(n->in[0], 0), n->in[1], dy, (int)ir_attr_int(n, 0));
    return ir_built(n, dx[0]);
}

int ir_shape_scatter_add(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    const Node *x = in[0], *updates = in[2];
    Dim dims[2 * OP_MAX_RANK];
    int rank = gathered_dims(&c, attr[0], dims);
    if (rank < 0) return rank;
    int rc = ir_check_number(&c, 0, CLASS_INT | CLASS_FLOAT);
    if (rc) return rc;
    if (updates->dtype != x->dtype)
        return ir_check_fail(&c, SGL_EDTYPE, "the updates have another dtype", "cast them", NULL);
    if (updates->rank != rank)
        return ir_check_fail(&c, SGL_ESHAPE, "the updates have the wrong number of dims",
                             "they have the dims that gather gives", "%d, not %d", updates->rank,
                             rank);
    for (int i = 0; i < rank; i++)
        if (updates->dims[i] != dims[i])
            return ir_check_fail(&c, SGL_ESHAPE, "the updates do not fit",
                                 "they have the dims that gather gives", "dim %d: %s, not %s",
                                 i + 1, ir_dim_name(cx, updates->dims[i]).at,
                                 ir_dim_name(cx, dims[i]).at);
    Dim first = in[1]->rank ? in[1]->dims[0] : 1;
    rc = ir_check_blocks(&c, attr[1], attr[2], first);
    return rc ? rc : ir_check_result(&c, x->dtype, x->rank, x->dims, out);
}

int ir_grad_scatter_add(Node *n, Node *dy, Node **dx)
{
    dx[0] = dy;
    dx[2] = ir_gather(dy, n->in[1], (int)ir_attr_int(n, 0));
    return ir_built(n, dx[2]);
}

static int check_positions(const Node *n, const RefArray *index, int64_t bound)
{
    for (int64_t j = 0; j < index->count; j++)
        if (!(index->at[j] >= 0 && index->at[j] < (double)bound))
            return base_fail(n->graph->cx, SGL_EINDEX,
                             "%s: index %.0f is outside 0 to %lld (dim %lld, element %lld of the "
                             "index).",
                             ir_op(n)->name, index->at[j], (long long)bound - 1,
                             (long long)ir_attr_int(n, 0) + 1, (long long)j + 1);
    return 0;
}

int ir_eval_gather(const Node *n, const RefArray *const *in, RefArray *out)
{
    const RefArray *x = in[0], *index = in[1];
    Lines l = ir_lines(x, ir_attr_int(n, 0));
    int rc = check_positions(n, index, l.n);
    for (int64_t i = 0; !rc && i < out->count; i++) {
        int64_t line = i / l.inner / index->count;
        int64_t position = (int64_t)index->at[i / l.inner % index->count];
        out->at[i] = x->at[(line * l.n + position) * l.inner + i % l.inner];
    }
    return rc;
}

/* Adds the updates of the positions [from, to) of the index to `out`. */
static void add_updates(const Node *n, const RefArray *const *in, int64_t from, int64_t to,
                        double *out)
{
    const RefArray *index = in[1], *updates = in[2];
    Lines l = ir_lines(in[0], ir_attr_int(n, 0));
    for (int64_t line = 0; line < l.outer; line++)
        for (int64_t i = from; i < to; i++)
            for (int64_t k = 0; k < l.inner; k++) {
                double *at = out + (line * l.n + (int64_t)index->at[i]) * l.inner + k;
                *at =
                    ir_ref_add(n->dtype, *at, updates->at[(line * index->count + i) * l.inner + k]);
            }
}

/* Blocks of the first dim of the index; what they add to meets as a tree, x comes last. */
static int scatter_blocks(const Node *n, const RefArray *const *in, RefArray *out)
{
    const Blocks b = ir_blocks(n);
    const int64_t count = out->count, rows = in[1]->rank ? in[1]->dims[0] : 1;
    double *waiting = base_mem_alloc((size_t)(IR_BLOCKS_LEVELS * count + 1) * sizeof *waiting);
    BlockTree tree;
    if (!waiting) return base_fail(n->graph->cx, SGL_ENOMEM, "scatter_add: out of memory.");
    ir_block_tree(b.n, &tree);
    double *top = waiting;
    for (int64_t i = 0; i < b.n; i++) {
        int64_t from = ir_block_start(b, rows, i), to = ir_block_start(b, rows, i + 1);
        int64_t each = rows ? in[1]->count / rows : 0;
        for (int64_t k = 0; k < count; k++) top[k] = -0.0;
        add_updates(n, in, from * each, to * each, top);
        for (int j = 0; j < tree.joins[i]; j++, top -= count)
            for (int64_t k = -count; k < 0; k++)
                top[k] = ir_ref_add(n->dtype, top[k], top[k + count]);
        top += count;
    }
    for (int64_t k = 0; k < count; k++) out->at[k] = ir_ref_add(n->dtype, out->at[k], waiting[k]);
    base_mem_free(waiting);
    return 0;
}

int ir_eval_scatter_add(const Node *n, const RefArray *const *in, RefArray *out)
{
    const RefArray *x = in[0], *index = in[1];
    int rc = check_positions(n, index, x->dims[ir_attr_int(n, 0)]);
    if (rc) return rc;
    if (x->count) memcpy(out->at, x->at, (size_t)x->count * sizeof *x->at);
    if (ir_blocks(n).n > 1) return scatter_blocks(n, in, out);
    add_updates(n, in, 0, index->count, out->at);
    return 0;
}

/* ---- argsort ---- */

int ir_shape_argsort(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    int rc = ir_check_axis(&c, attr[0], in[0]->rank);
    if (!rc && attr[1] != 0 && attr[1] != 1)
        rc = ir_check_fail(&c, SGL_EARG, "descending is 0 or 1", NULL, "%lld", (long long)attr[1]);
    if (!rc && in[0]->dims[attr[0]] > INT32_MAX)
        rc = ir_check_fail(&c, SGL_ESHAPE, "positions do not fit i32", NULL, NULL);
    return rc ? rc : ir_check_result(&c, DT_i32, in[0]->rank, in[0]->dims, out);
}

NO_GRADIENT(argsort)

/* Whether b must come before a although it stands behind; equal elements keep their order, and NaN
 * is the largest. */
static bool overtakes(double b, double a, bool descending)
{
    double less = descending ? a : b, more = descending ? b : a;
    return less < more || (isnan(more) && !isnan(less));
}

/* Merges the sorted runs [from, middle) and [middle, to) of positions. */
static void merge(const double *key, int64_t inner, bool descending, const double *runs,
                  double *out, int64_t from, int64_t middle, int64_t to)
{
    int64_t a = from, b = middle;
    for (int64_t i = from; i < to; i++) {
        bool second =
            a == middle || (b < to && overtakes(key[(int64_t)runs[b] * inner],
                                                key[(int64_t)runs[a] * inner], descending));
        out[i] = second ? runs[b++] : runs[a++];
    }
}

/* Bottom-up merge sort of one line of positions; `work` holds 2n. Returns the sorted half. */
static const double *sort_line(const double *key, int64_t n, int64_t inner, bool descending,
                               double *work)
{
    double *from = work, *to = work + n;
    for (int64_t i = 0; i < n; i++) from[i] = (double)i;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            int64_t middle = i + run < n ? i + run : n;
            merge(key, inner, descending, from, to, i, middle, i + 2 * run < n ? i + 2 * run : n);
        }
        double *swap = from;
        from = to, to = swap;
    }
    return from;
}

int ir_eval_argsort(const Node *n, const RefArray *const *in, RefArray *out)
{
    const RefArray *x = in[0];
    Lines l = ir_lines(x, ir_attr_int(n, 0));
    double *work = base_mem_zero((size_t)l.n + 1, 2 * sizeof *work);
    if (!work) return base_fail(n->graph->cx, SGL_ENOMEM, "argsort: out of memory.");
    for (int64_t i = 0; x->count && i < l.outer * l.inner; i++) {
        int64_t first = i / l.inner * l.n * l.inner + i % l.inner;
        const double *sorted = sort_line(x->at + first, l.n, l.inner, ir_attr_int(n, 1), work);
        for (int64_t k = 0; k < l.n; k++) out->at[first + k * l.inner] = sorted[k];
    }
    base_mem_free(work);
    return 0;
}

/* ---- cumsum ---- */

int ir_shape_cumsum(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    int rc = ir_check_axis(&c, attr[0], in[0]->rank);
    if (!rc) rc = ir_check_number(&c, 0, CLASS_INT | CLASS_FLOAT);
    if (!rc && attr[1] != 0 && attr[1] != 1)
        rc = ir_check_fail(&c, SGL_EARG, "reverse is 0 or 1", NULL, "%lld", (long long)attr[1]);
    return rc ? rc : ir_check_result(&c, in[0]->dtype, in[0]->rank, in[0]->dims, out);
}

int ir_grad_cumsum(Node *n, Node *dy, Node **dx)
{
    dx[0] = ir_cumsum(dy, (int)ir_attr_int(n, 0), !ir_attr_int(n, 1));
    return ir_built(n, dx[0]);
}

int ir_eval_cumsum(const Node *n, const RefArray *const *in, RefArray *out)
{
    const RefArray *x = in[0];
    Lines l = ir_lines(x, ir_attr_int(n, 0));
    for (int64_t i = 0; x->count && i < l.outer * l.inner; i++) {
        int64_t first = i / l.inner * l.n * l.inner + i % l.inner, step = l.inner;
        if (ir_attr_int(n, 1)) {
            first += (l.n - 1) * step;
            step = -step;
        }
        double sum = 0;
        for (int64_t k = 0; k < l.n; k++) {
            sum = ir_ref_add(n->dtype, sum, x->at[first + k * step]);
            out->at[first + k * step] = sum;
        }
    }
    return 0;
}
