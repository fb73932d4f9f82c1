/* ops.h: recording operations from arguments on the Lua stack.
 */
#ifndef SGL_TENSOR_OPS_H
#define SGL_TENSOR_OPS_H
#include "tensor/trace.h"
#include "ir/attr.h"
#include "ir/custom.h"

/* Applies an elementwise op to the arguments 1 … and pushes the result. */
void tensor_elementwise(lua_State *L, Host *h, Op op);

/* The same for an operator of Lua, which of numbers alone gives a number. */
void tensor_operator(lua_State *L, Host *h, Op op);

/* The argument as a node: a tensor's, or a constant of rank 0. A number is weak beside `beside`,
 * a dtype, or takes the default dtype of its class (-1). */
Node *tensor_operand(lua_State *L, Host *h, Trace *tr, const char *what, int arg, int beside);

/* attrs.c: attributes by the op's schema, from a table and into one. Axes count from 1 in Lua and
 * may be negative; x is what they are resolved against. */
void tensor_attrs_read(lua_State *L, Op op, int table, const Shape *x, AttrBuf *out);
/* Those of a registered op, behind its name. */
void tensor_attrs_custom(lua_State *L, const sgl_op *op, int table, const Shape *x, AttrBuf *out);
void tensor_attrs_push(lua_State *L, const Node *n);
#endif
