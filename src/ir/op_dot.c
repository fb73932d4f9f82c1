/* op_dot.c: the batched matrix product: shape rule, gradient, reference evaluation.
 *
 * [b…, m, k] · [b…, k, n] gives [b…, m, n]; with k = 0 the result is 0. A gradient has no blocks.
 */
#include <string.h>
#include "ir/build.h"
#include "ir/check.h"
#include "ir/ref.h"
#include "ir/rules.h"

static int check_number(const Check *c)
{
    Dtype t = c->in[0]->dtype;
    if (t != DT_bool && t != DT_u8) return ir_check_same_dtype(c);
    return ir_check_fail(c, SGL_EDTYPE, "it does not multiply this dtype",
                         "cast to f32 or i32 first", "%s", DTYPES[t].name);
}

int ir_shape_dot(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    const Check c = {cx, op, nin, in};
    const Node *a = in[0], *b = in[1];
    int rank = a->rank;
    Dim dims[OP_MAX_RANK];
    if (rank < 2 || b->rank < 2)
        return ir_check_fail(&c, SGL_ESHAPE, "both sides need at least 2 dims",
                             "reshape a vector to one row or one column", "%d and %d", rank,
                             b->rank);
    if (rank != b->rank)
        return ir_check_fail(&c, SGL_ESHAPE, "the numbers of dims differ", NULL, "%d against %d",
                             rank, b->rank);
    if (a->dims[rank - 1] != b->dims[rank - 2])
        return ir_check_fail(&c, SGL_ESHAPE, "the inner dimensions differ", NULL, "%s against %s",
                             ir_dim_name(cx, a->dims[rank - 1]).at,
                             ir_dim_name(cx, b->dims[rank - 2]).at);
    for (int i = 0; i < rank - 2; i++)
        if (a->dims[i] != b->dims[i])
            return ir_check_fail(&c, SGL_ESHAPE, "the batch dimensions differ", NULL,
                                 "dim %d: %s against %s", i + 1, ir_dim_name(cx, a->dims[i]).at,
                                 ir_dim_name(cx, b->dims[i]).at);
    memcpy(dims, a->dims, (size_t)rank * sizeof *dims);
    dims[rank - 1] = b->dims[rank - 1];
    int rc = check_number(&c);
    if (!rc) rc = ir_check_blocks(&c, attr[0], attr[1], a->dims[rank - 1]);
    return rc ? rc : ir_check_result(&c, a->dtype, rank, dims, out);
}

int ir_grad_dot(Node *n, Node *dy, Node **dx)
{
    int row = n->rank - 2, column = n->rank - 1;
    dx[0] = ir_dot(dy, ir_swap(n->in[1], row, column));
    dx[1] = ir_dot(ir_swap(n->in[0], row, column), dy);
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

int ir_eval_dot(const Node *n, const RefArray *const *in, RefArray *out)
{
    int rank = out->rank;
    int64_t m = out->dims[rank - 2], cols = out->dims[rank - 1], depth = in[0]->dims[rank - 1];
    for (int64_t i = 0; i < out->count; i++) {
        ProductLeaf p = {in[0]->at + i / cols * depth,
                         in[1]->at + i / (m * cols) * depth * cols + i % cols, cols,
                         (Dtype)n->dtype};
        out->at[i] = depth ? ir_ref_tree(n, depth, ir_ref_add, product_leaf, &p) : 0;
    }
    return 0;
}
