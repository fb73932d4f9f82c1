/* rules.h: the functions behind the rows of op.def, as rules.c puts them into a table.
 *
 * A structured row names `fn`: its shape rule, gradient and reference live in op_<family>.c. A row
 * through which no gradient flows still has ir_grad_<fn>, which leaves dx alone and returns 0.
 * Elementwise rows share the shape rules and gradients that rules.c makes from the table, and one
 * reference.
 */
#ifndef SGL_IR_RULES_H
#define SGL_IR_RULES_H
#include "ir/graph.h"

#define UNARY(name, types, value, grad, domain, onnx, doc)
#define TEST(name, types, value, domain, onnx, doc)
#define BINARY(name, types, value, gx, gy, domain, onnx, doc)
#define COMPARE(name, types, value, domain, onnx, doc)
#define SELECT(name, types, value, domain, onnx, doc)
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc)                  \
    int ir_shape_##fn(Ctx *cx, Op op, int nin, Node *const *in, const int64_t *attr,          \
                      Shape *out);                                                            \
    int ir_grad_##fn(Node *n, Node *dy, Node **dx);                                           \
    int ir_eval_##fn(const Node *n, const RefArray *const *in, RefArray *out);
#include "ir/op.def"
#include "ir/op_undef.h"

/* Gives the context what its graphs do by their ops; once, before the first graph. */
void ir_rules_bind(Ctx *cx);

int ir_eval_elementwise(const Node *n, const RefArray *const *in, RefArray *out);
#endif
