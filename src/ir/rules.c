/* rules.c: what ops do: expands op.def into the shape rules, gradients and references of all ops.
 *
 * A gradient column is an expression over x, y (inputs), out (the result), dy and K(v), the
 * constant v shaped like x. A row whose column is NULL gets no gradient function: none flows.
 */
#include <string.h>
#include "ir/build.h"
#include "ir/rules.h"

#define K(value) ir_const_like(x, value)

/* A builder returns NULL only after it recorded why. */
static int grad_status(const Node *n, const Node *made)
{
    return made ? SGL_OK : n->graph->cx->err.code;
}

#define UNARY(name, types, value, grad, domain, onnx, doc)                                         \
    static int grad_##name(Node *n, Node *dy, Node **dx)                                           \
    {                                                                                              \
        Node *x = n->in[0], *out = n;                                                              \
        (void)x, (void)out, (void)dy;                                                              \
        dx[0] = grad;                                                                              \
        return grad_status(n, dx[0]);                                                              \
    }
#define BINARY(name, types, value, gx, gy, domain, onnx, doc)                                      \
    static int grad_##name(Node *n, Node *dy, Node **dx)                                           \
    {                                                                                              \
        Node *x = n->in[0], *y = n->in[1], *out = n;                                               \
        (void)x, (void)y, (void)out, (void)dy;                                                     \
        dx[0] = gx;                                                                                \
        dx[1] = gy;                                                                                \
        return dx[0] ? grad_status(n, dx[1]) : grad_status(n, dx[0]);                              \
    }
#define TEST(name, types, value, domain, onnx, doc)
#define COMPARE(name, types, value, domain, onnx, doc)
#define SELECT(name, types, value, domain, onnx, doc)
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc)
#include "ir/op.def"
#include "ir/op_undef.h"

/* Each side gets the gradient only where it was taken. */
static int grad_select(Node *n, Node *dy, Node **dx)
{
    Node *zero = ir_const_like(dy, 0);
    dx[1] = ir_where(n->in[0], dy, zero);
    dx[2] = ir_where(n->in[0], zero, dy);
    return dx[1] ? grad_status(n, dx[2]) : grad_status(n, dx[1]);
}

/* Elementwise inputs come promoted and broadcast by ir_elementwise; anything else is refused. */
static int shape_same(Ctx *cx, Op op, int first, int nin, Node *const *in, Shape *out)
{
    const Node *a = in[first];
    if (!(DTYPES[a->dtype].class & OPS[op].types))
        return base_fail(cx, SGL_EDTYPE, "%s: does not take %s", OPS[op].name,
                         DTYPES[a->dtype].name);
    for (int i = 0; i < nin; i++) {
        if (!ir_same_dims(in[i], a))
            return base_fail(cx, SGL_ESHAPE, "%s: inputs differ in their dims", OPS[op].name);
        if (i > first && in[i]->dtype != a->dtype)
            return base_fail(cx, SGL_EDTYPE, "%s: inputs are %s and %s", OPS[op].name,
                             DTYPES[a->dtype].name, DTYPES[in[i]->dtype].name);
    }
    out->dtype = a->dtype;
    out->rank = a->rank;
    memcpy(out->dims, a->dims, a->rank * sizeof *a->dims);
    return SGL_OK;
}

static int shape_value(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    (void)attr;
    return shape_same(cx, op, 0, nin, in, out);
}

static int shape_truth(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    (void)attr;
    int status = shape_same(cx, op, 0, nin, in, out);
    out->dtype = DT_bool;
    return status;
}

static int shape_select(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr, Shape *out)
{
    (void)attr;
    if (in[0]->dtype != DT_bool)
        return base_fail(cx, SGL_EDTYPE, "%s: the condition is %s, not bool", OPS[op].name,
                         DTYPES[in[0]->dtype].name);
    return shape_same(cx, op, 1, nin, in, out);
}

static const OpRules RULES[OP_COUNT] = {
#define UNARY(name, types, value, grad, domain, onnx, doc)                                         \
    {shape_value, NO_GRAD(#grad) ? NULL : grad_##name, ir_eval_elementwise},
#define TEST(name, types, value, domain, onnx, doc) {shape_truth, NULL, ir_eval_elementwise},
#define BINARY(name, types, value, gx, gy, domain, onnx, doc)                                      \
    {shape_value, NO_GRAD(#gx) ? NULL : grad_##name, ir_eval_elementwise},
#define COMPARE(name, types, value, domain, onnx, doc) {shape_truth, NULL, ir_eval_elementwise},
#define SELECT(name, types, value, domain, onnx, doc)                                              \
    {shape_select, grad_select, ir_eval_elementwise},
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc)                       \
    {ir_shape_##fn, ir_grad_##fn, ir_eval_##fn},
#include "ir/op.def"
#include "ir/op_undef.h"
};

void ir_rules_bind(Ctx *cx) { cx->slot[CTX_OPS] = (void *)RULES; }
