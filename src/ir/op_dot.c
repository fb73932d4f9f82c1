/* op_dot.c: the batched matrix product (dot.h): shape rule, gradient, reference evaluation.
 *
 * With no elements to sum over the result is 0. A gradient has no blocks.
 */
#include <string.h>
#include "ir/build.h"
#include "ir/check.h"
#include "ir/dot.h"
#include "ir/ref.h"
#include "ir/rules.h"

static int check_number(const Check *c)
{
    Dtype t = c->in[0]->dtype;
    if (t != DT_bool && t != DT_u8) return ir_check_same_dtype(c);
    return ir_check_fail(c, SGL_EDTYPE, "it does not multiply this dtype",
                         "cast to f32 or i32 first", "%s", DTYPES[t].name);
}

/* The first `n` dims of b from `at_b` on are those of a from `at_a` on. */
static int check_pairs(const Check *c, int at_a, int at_b, int n, const char *what)
{
    const Node *a = c->in[0], *b = c->in[1];
    for (int i = 0; i < n; i++) {
        Dim x = a->dims[at_a + i], y = b->dims[at_b + i];
        if (x == y) continue;
        DimText left = ir_dim_name(c->cx, x), right = ir_dim_name(c->cx, y);
        if (at_a == at_b)
            return ir_check_fail(c, SGL_ESHAPE, what, NULL, "dim %d: %s against %s", i + 1, left.at,
                                 right.at);
        return ir_check_fail(c, SGL_ESHAPE, what, NULL, "%s against %s", left.at, right.at);
    }
    return 0;
}

/* How many dims there are of each kind. */
static int check_ranks(const Check *c, int64_t inner, DotDims *out)
{
    int ra = c->in[0]->rank, rb = c->in[1]->rank;
    if (ra < 2 || rb < 2)
        return ir_check_fail(c, SGL_ESHAPE, "both sides need at least 2 dims",
                             "reshape a vector to one row or one column", "%d and %d", ra, rb);
    if (inner < 1 || inner > rb - 1)
        return ir_check_fail(c, SGL_EARG, "the number of inner dims is out of range", NULL,
                             "%lld outside 1 to %d", (long long)inner, rb - 1);
    *out = (DotDims){rb - 1 - (int)inner, ra - rb + 1, (int)inner};
    if (out->free < 1)
        return ir_check_fail(c, SGL_ESHAPE, "the numbers of dims differ", NULL, "%d against %d", ra,
                             rb);
    return 0;
}

static Dim product_of(Ctx *cx, int n, const Dim *dims)
{
    Dim all = 1;
    for (int i = 0; i < n && all != DIM_FAIL; i++)
        all = all == 1 ? dims[i] : ir_dim_mul(cx, all, dims[i]);
    return all;
}

int ir_shape_dot(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    const Node *a = in[0], *b = in[1];
    DotDims d = {0};
    Dim dims[OP_MAX_RANK];
    int rc = check_ranks(&c, attr[2], &d);
    if (rc) return rc;
    int outer = d.batch + d.free;
    rc = check_pairs(&c, outer, d.batch, d.inner, "the inner dimensions differ");
    if (!rc) rc = check_pairs(&c, 0, 0, d.batch, "the batch dimensions differ");
    if (!rc) rc = check_number(&c);
    if (!rc && attr[0] != 1)
        rc = ir_check_blocks(&c, attr[0], attr[1], product_of(cx, d.inner, a->dims + outer));
    if (rc) return rc;
    memcpy(dims, a->dims, (size_t)outer * sizeof *dims);
    dims[outer] = b->dims[b->rank - 1];
    return ir_check_result(&c, a->dtype, outer + 1, dims, out);
}

/* a with its inner dims between the batch dims and the free ones. */
static Node *turned(Node *a, DotDims d)
{
    int axes[OP_MAX_RANK], n = 0;
    if (!a) return NULL;
    for (int i = 0; i < d.batch; i++) axes[n++] = i;
    for (int i = d.batch + d.free; i < a->rank; i++) axes[n++] = i;
    for (int i = d.batch; i < d.batch + d.free; i++) axes[n++] = i;
    return ir_permute(a, axes);
}

/* x with `n` dims from `at` on as one. */
static Node *joined(Node *x, int at, int n)
{
    Dim dims[OP_MAX_RANK];
    memcpy(dims, x->dims, (size_t)at * sizeof *dims);
    dims[at] = product_of(x->graph->cx, n, x->dims + at);
    if (dims[at] == DIM_FAIL) return NULL;
    memcpy(dims + at + 1, x->dims + at + n, (size_t)(x->rank - at - n) * sizeof *dims);
    return ir_reshape(x, x->rank - n + 1, dims);
}

/* The gradient of a product with one inner dim, n of the same dims. */
static void grad_inner(Node *a, Node *b, DotDims d, Node *dy, Node **dx)
{
    if (!a || !b) return;
    dx[0] = ir_dot(dy, ir_swap(b, b->rank - 2, b->rank - 1));
    dx[1] = ir_dot_inner(turned(a, d), dy, d.free, (Blocks){1, 1});
}

int ir_grad_dot(Node *n, Node *dy, Node **dx)
{
    DotDims d = ir_dot_dims(n);
    Node *a = n->in[0], *b = n->in[1];
    if (d.inner == 1) {
        grad_inner(a, b, d, dy, dx);
    } else {
        DotDims one = {d.batch, d.free, 1};
        grad_inner(joined(a, d.batch + d.free, d.inner), joined(b, d.batch, d.inner), one, dy, dx);
        dx[0] = dx[0] ? ir_reshape(dx[0], a->rank, a->dims) : NULL;
        dx[1] = dx[1] ? ir_reshape(dx[1], b->rank, b->dims) : NULL;
    }
    return dx[0] ? ir_built(n, dx[1]) : ir_built(n, NULL);
}

/* A row of a and a column of b, whose elements are b_step apart. */
typedef struct ProductLeaf {
    const double *a, *b;
    int64_t b_step;
    Dtype dtype;
} ProductLeaf;

static double product_leaf(const void *arg, int64_t from, int64_t to)
{
    const ProductLeaf *p = arg;
    bool real = DTYPES[p->dtype].class == CLASS_FLOAT;
    double sum = from == to ? -0.0 : 0;
    for (int64_t k = from; k < to; k++) {
        double b = p->b[k * p->b_step];
        sum =
            real ? sum + p->a[k] * b : ir_ref_add(p->dtype, sum, ir_ref_mul(p->dtype, p->a[k], b));
    }
    return sum;
}

static int64_t count_of(const RefArray *x, int first, int n)
{
    int64_t count = 1;
    for (int i = first; i < first + n; i++) count *= x->dims[i];
    return count;
}

int ir_eval_dot(const Node *n, const RefArray *const *in, RefArray *out)
{
    DotDims d = ir_dot_dims(n);
    int64_t m = count_of(in[0], d.batch, d.free), cols = out->dims[out->rank - 1];
    int64_t depth = count_of(in[0], d.batch + d.free, d.inner);
    for (int64_t i = 0; i < out->count; i++) {
        ProductLeaf p = {in[0]->at + i / cols * depth,
                         in[1]->at + i / (m * cols) * depth * cols + i % cols, cols,
                         (Dtype)n->dtype};
        out->at[i] = depth ? ir_ref_tree(n, depth, ir_ref_add, product_leaf, &p) : 0;
    }
    return 0;
}
