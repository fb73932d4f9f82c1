/* custom.h: ops that are registered at run time: rows of libraries and programs beside op.def.
 *
 * A row is an sgl_op (sgl.h, where its fields are explained). Nodes of such an op are nodes of
 * `custom`, whose first attribute is the name; the others follow the row's schema (attr.h).
 * What holds of them in a graph: no rule changes one and no constant is folded through it; equal
 * ones are one, unless the row says SGL_OP_RANDOM; nothing that nobody reads stays; each is a step
 * of its own, over contiguous arrays, whose results lie in no input's memory. When a graph is cut
 * into shards all their dims are whole.
 * Holds: the table is the process's and only grows, a row of it never changes, and any thread may
 *        ask for one while another registers.
 */
#ifndef SGL_IR_CUSTOM_H
#define SGL_IR_CUSTOM_H
#include "ir/eval.h"
#include "sgl.h"

/* Adds a row, or finds it there; negative with the error in e. */
int ir_custom_register(const sgl_op *op, Err *e);
const sgl_op *ir_custom_find(const char *name);      /* NULL: not registered, or name is */
/* "op:S " and the schema of the row; NULL: not registered. */
const char *ir_custom_schema(const char *name);
/* The error of a name that nothing has registered, with the way out; its code. */
int ir_custom_missing(Ctx *cx, const char *name);

/* The row of a node of `custom`; NULL: it is a node of another op. */
const sgl_op *ir_custom_op(const Node *n);
/* "mylib.twice", of other nodes the op's name. */
const char *ir_custom_name(const Node *n);
/* Do equal calls of the op of this name give other results? */
bool ir_custom_random(const char *name);
/* Does a call of an op that has these flags stand in the graph, or in a block of it? */
bool ir_custom_any(const Graph *g, unsigned flags);

typedef int (*CustomRun)(sgl_call *c);
/* What computes the op on the backend of that name; NULL: nothing does. */
CustomRun ir_custom_run(const sgl_op *op, const char *backend);

/* op_custom.c: the attributes of n as functions of a row see them; they point into the node. */
void ir_custom_attrs(const Node *n, sgl_attr *out);
/* Types of all results of n. Negative with the error set. */
int ir_custom_types(const Node *n, Shape *out);
/* The error of a function of n's row that gave `code` and this text; 0 for SGL_OK. */
int ir_custom_failed(const Node *n, int code, const char *error);
/* An error with the op's name in front and, where there are inputs to show, their types behind. */
int ir_custom_refuse(Ctx *cx, const sgl_op *op, int code, const char *what, int nin,
                     Node *const *in);
sgl_array ir_custom_array(Dtype dtype, int rank, const Dim *dims);   /* without data */

/* custom_grad.c: dx[i] from dy by result, of which some may be NULL. */
int ir_custom_grad(Node *n, Node *const *dy, Node **dx);
/* custom_eval.c: all results, in arrays that the caller frees. */
int ir_custom_eval(const Node *n, const RefArray *const *in, RefArray *out);
#endif
