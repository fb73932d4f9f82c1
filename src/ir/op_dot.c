/* op_dot.c: the batched matrix product: shape rule, gradient, reference evaluation.
 *
 * [b…, m, k] · [b…, k, n] gives [b…, m, n]; with k = 0 the result is 0.
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
    (void)attr;
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
    return rc ? rc : ir_check_result(&c, a->dtype, rank, dims, out);
}

int ir_grad_dot(Node *n, Node *dy, Node **dx)
{
    int row = n->rank - 2, column = n->rank - 1;
    dx[0] = ir_dot(dy, ir_swap(n->in[1], row, column));
    dx[1] = ir_dot(ir_swap(n->in[0], row, column), dy);
    return dx[0] ? ir_built(n, dx[1]) : ir_built(n, NULL);
}

int ir_eval_dot(const Node *n, const RefArray *const *in, RefArray *out)
{
    int rank = out->rank;
    int64_t m = out->dims[rank - 2], cols = out->dims[rank - 1], depth = in[0]->dims[rank - 1];
    bool real = DTYPES[n->dtype].class == CLASS_FLOAT;
    for (int64_t i = 0; i < out->count; i++) {
        const double *a = in[0]->at + i / cols * depth;
        const double *b = in[1]->at + i / (m * cols) * depth * cols + i % cols;
        double sum = 0;
        for (int64_t k = 0; k < depth; k++) {
            double product = real ? a[k] * b[k * cols] : ir_ref_mul(n->dtype, a[k], b[k * cols]);
            sum = real ? sum + product : ir_ref_add(n->dtype, sum, product);
        }
        out->at[i] = sum;
    }
    return 0;
}
