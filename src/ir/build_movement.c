/* build_movement.c: builders of ops that move elements without computing.
 *
 * Holds: a movement is a node even where it changes nothing for these sizes: with others it may,
 *        and gradients add up in the order that nodes are in. `simplify` drops such nodes.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/build.h"

static void put_ints(AttrBuf *b, int n, const int *items)
{
    int64_t wide[OP_MAX_RANK] = {0};
    for (int i = 0; i < n && i < OP_MAX_RANK; i++) wide[i] = items[i];
    ir_attr_put_list(b, n, wide);
}

/* Keeps the hint of what failed before, and its reason. */
static Node *infer_fail(Node *x, int rank, const Dim *dims)
{
    Ctx *cx = x->graph->cx;
    Err why = cx->err;
    Str from = {0}, to = {0};
    ir_type_text(x, &from);
    for (int d = 0; d < rank; d++) {
        if (d) base_str_put(&to, ", ");
        if (dims[d] == DIM_INFER) base_str_put(&to, "-1");
        else ir_dim_text(cx, dims[d], &to);
    }
    base_err_clear(&cx->err);
    base_fail(cx, why.code ? why.code : SGL_ESHAPE, "reshape: %s does not fit into [%s]%s%.200s",
              from.at ? from.at : "", to.at ? to.at : "", why.code ? ": " : "", why.text);
    if (why.hint[0]) base_err_hint(&cx->err, "%.500s", why.hint);
    base_err_hint(&x->graph->cx->err,
                  "the number of elements must stay; one dim may be -1, and the "
                  "others must divide that number");
    base_str_free(&from);
    base_str_free(&to);
    return NULL;
}

/* The dim that is left for DIM_INFER at `open`. Dims that stand on both sides cancel first, so a
 * symbolic batch does not have to be divided by itself. */
static Dim infer(const Node *x, int rank, const Dim *dims, int open)
{
    Ctx *cx = x->graph->cx;
    bool used[OP_MAX_RANK] = {false};
    Dim left = 1, known = 1;
    for (int d = 0; d < rank; d++) {
        int twin = 0;
        if (d == open) continue;
        while (twin < x->rank && (used[twin] || x->dims[twin] != dims[d])) twin++;
        if (twin < x->rank) used[twin] = true;
        else if ((known = ir_dim_mul(cx, known, dims[d])) == DIM_FAIL) return DIM_FAIL;
    }
    for (int d = 0; d < x->rank && left != DIM_FAIL; d++)
        if (!used[d]) left = ir_dim_mul(cx, left, x->dims[d]);
    if (left == DIM_FAIL || known == 0) return DIM_FAIL;
    if (ir_dim_is_const(left) && ir_dim_is_const(known))
        return left % known ? DIM_FAIL : left / known;
    return ir_dim_quotient(cx, left, known);
}

Node *ir_reshape(Node *x, int rank, const Dim *dims)
{
    if (!x) return NULL;
    Dim full[OP_MAX_RANK];
    int open = -1, opens = 0;
    AttrBuf b = {.bad = rank > OP_MAX_RANK};
    for (int d = 0; d < rank && !b.bad; d++) {
        full[d] = dims[d];
        if (dims[d] == DIM_INFER) opens++, open = d;
    }
    if (opens > 1) return infer_fail(x, rank, dims);
    if (opens) full[open] = infer(x, rank, dims, open);
    if (opens && full[open] == DIM_FAIL) return infer_fail(x, rank, dims);
    if (!b.bad) ir_attr_put_list(&b, rank, full);
    return ir_attr_node(x->graph, OP_reshape, 1, &x, &b);
}

Node *ir_permute(Node *x, const int *axes)
{
    if (!x) return NULL;
    bool same = true;
    for (int d = 0; d < x->rank; d++) same = same && axes[d] == d;
    if (same) return x;
    AttrBuf b = {0};
    put_ints(&b, x->rank, axes);
    return ir_attr_node(x->graph, OP_permute, 1, &x, &b);
}

Node *ir_swap(Node *x, int a, int b)
{
    if (!x) return NULL;
    int axes[OP_MAX_RANK];
    for (int d = 0; d < x->rank; d++) axes[d] = d == a ? b : d == b ? a : d;
    return ir_permute(x, axes);
}

Node *ir_broadcast(Node *x, int rank, const Dim *dims)
{
    if (!x) return NULL;
    AttrBuf b = {.bad = rank > OP_MAX_RANK};
    if (!b.bad && rank > x->rank) {
        Dim padded[OP_MAX_RANK];
        int added = rank - x->rank;
        for (int d = 0; d < rank; d++) padded[d] = d < added ? 1 : x->dims[d - added];
        if (x->op != OP_const) return ir_broadcast(ir_reshape(x, rank, padded), rank, dims);
        x = ir_const(x->graph, x->dtype, rank, padded, ir_attr_float(x, 0));
        return ir_broadcast(x, rank, dims);
    }
    if (!b.bad) ir_attr_put_list(&b, rank, dims);
    bool fits = x->op == OP_const && rank == x->rank;
    for (int d = 0; fits && d < rank; d++) fits = x->dims[d] == 1 || x->dims[d] == dims[d];
    if (fits) return ir_const(x->graph, x->dtype, rank, dims, ir_attr_float(x, 0));
    return ir_attr_node(x->graph, OP_broadcast, 1, &x, &b);
}

Node *ir_slice(Node *x, const Dim *start, const Dim *stop, const int64_t *step)
{
    if (!x) return NULL;
    static const int64_t ONES[OP_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    if (!step) step = ONES;
    AttrBuf b = {0};
    ir_attr_put_list(&b, x->rank, start);
    ir_attr_put_list(&b, x->rank, stop);
    ir_attr_put_list(&b, x->rank, step);
    return ir_attr_node(x->graph, OP_slice, 1, &x, &b);
}

Node *ir_pad(Node *x, const Dim *lo, const Dim *hi, double value)
{
    if (!x) return NULL;
    AttrBuf b = {0};
    ir_attr_put_list(&b, x->rank, lo);
    ir_attr_put_list(&b, x->rank, hi);
    ir_attr_put_real(&b, ir_dtype_round(x->dtype, value));
    return ir_attr_node(x->graph, OP_pad, 1, &x, &b);
}

Node *ir_flip(Node *x, int n, const int *axes)
{
    if (!x || n == 0) return x;
    AttrBuf b = {0};
    put_ints(&b, n, axes);
    return ir_attr_node(x->graph, OP_flip, 1, &x, &b);
}

Node *ir_concat(int n, Node *const *x, int axis)
{
    if (n < 2 || !x[0]) return n == 1 ? x[0] : NULL;
    Graph *g = x[0]->graph;
    Dtype dtype = x[0]->dtype;
    Node **cast = base_mem_alloc(n * sizeof *cast);
    if (!cast) {
        base_fail(g->cx, SGL_ENOMEM, "out of memory for %d inputs of concat", n);
        return NULL;
    }
    for (int i = 1; i < n && x[i]; i++) dtype = ir_dtype_promote(dtype, x[i]->dtype);
    for (int i = 0; i < n; i++) cast[i] = ir_cast(x[i], dtype);
    AttrBuf b = {0};
    ir_attr_put(&b, axis);
    Node *made = ir_attr_node(g, OP_concat, n, cast, &b);
    base_mem_free(cast);
    return made;
}

Node *ir_window(Node *x, int n, const int *axes, const int64_t *size, const int64_t *stride,
                const int64_t *dilation)
{
    if (!x) return NULL;
    AttrBuf b = {0};
    put_ints(&b, n, axes);
    ir_attr_put_list(&b, n, size);
    ir_attr_put_list(&b, n, stride);
    ir_attr_put_list(&b, n, dilation);
    return ir_attr_node(x->graph, OP_window, 1, &x, &b);
}

Node *ir_fold(Node *x, int n, const int *axes, const Dim *into, const int64_t *stride,
              const int64_t *dilation)
{
    if (!x) return NULL;
    AttrBuf b = {0};
    put_ints(&b, n, axes);
    ir_attr_put_list(&b, n, into);
    ir_attr_put_list(&b, n, stride);
    ir_attr_put_list(&b, n, dilation);
    return ir_attr_node(x->graph, OP_fold, 1, &x, &b);
}
