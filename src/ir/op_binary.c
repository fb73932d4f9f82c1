/* op_binary.c: gradients of elementwise ops of two numbers that are too long for their rows.
 *
 * Holds: those of pow are right at x = 0. d/dx is y·x^(y-1), which is 0·inf at y = 0 and means 0
 *        there. d/dy is out·log(x), which is 0·-inf at x = 0 with y >= 0 and means 0 there; the
 *        logarithm is taken of 1 in those places, so gradients of this gradient stay finite too.
 */
#include "ir/build.h"

Node *ir_pow_grad_x(Node *dy, Node *x, Node *y)
{
    if (!dy || !x || !y) return NULL;
    Node *one = ir_const_like(x, 1), *zero = ir_const_like(x, 0);
    Node *slope = ir_mul(y, ir_pow(x, ir_sub(y, one)));
    return ir_where(ir_eq(y, zero), zero, ir_mul(dy, slope));
}

Node *ir_pow_grad_y(Node *dy, Node *x, Node *out)
{
    if (!dy || !x || !out) return NULL;
    Node *one = ir_const_like(x, 1), *zero = ir_const_like(x, 0);
    /* 0 to the power y is 0 or 1 exactly when y >= 0. */
    Node *flat = ir_logical_and(ir_eq(x, zero), ir_le(ir_abs(out), one));
    return ir_mul(dy, ir_mul(out, ir_log(ir_where(flat, one, x))));
}

Node *ir_chosen_grad(Node *dy, Node *x, Node *y, Node *other)
{
    if (!dy || !x || !y || !other) return NULL;
    Node *half = ir_mul(dy, ir_const_like(x, 0.5));
    return ir_where(other, ir_const_like(x, 0), ir_where(ir_eq(x, y), half, dy));
}

Node *ir_atan2_grad(Node *part, Node *x, Node *y)
{
    if (!part || !x || !y) return NULL;
    Node *square = ir_add(ir_mul(x, x), ir_mul(y, y));
    Node *zero = ir_const_like(x, 0), *origin = ir_eq(square, zero);
    return ir_where(origin, zero, ir_div(part, ir_where(origin, ir_const_like(x, 1), square)));
}
