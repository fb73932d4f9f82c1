/* build.h: builders: one function for each op, over the rows of op.def.
 *
 * Elementwise builders promote dtypes and broadcast (rank from the right). Every builder takes
 * NULL inputs and then returns NULL, keeping the first error; dims must fit the op's shape rule.
 * Movements make a node even where nothing moves (build_movement.c says why), but for permutations
 * and flips of nothing, which are so for all sizes.
 */
#ifndef SGL_IR_BUILD_H
#define SGL_IR_BUILD_H
#include "ir/blocks.h"
#include "ir/graph.h"

#define UNARY(name, types, value, grad, domain, onnx, doc) Node *ir_##name(Node *x);
#define TEST(name, types, value, domain, onnx, doc) Node *ir_##name(Node *x);
#define BINARY(name, types, value, gx, gy, domain, onnx, doc) Node *ir_##name(Node *x, Node *y);
#define COMPARE(name, types, value, domain, onnx, doc) Node *ir_##name(Node *x, Node *y);
#define SELECT(name, types, value, domain, onnx, doc) Node *ir_##name(Node *x, Node *y, Node *z);
#define OP(name, family, inputs, fn, attrs, domain, layout, kind, onnx, doc)
#include "ir/op.def"
#include "ir/op_undef.h"
/* Any elementwise op, promoting and broadcasting as above. */
Node *ir_elementwise(Graph *g, Op op, int nin, Node *const *in);

/* Leaves: one value in every place; like another node. Dims of a const may be symbols. */
Node *ir_const(Graph *g, Dtype dtype, int rank, const Dim *dims, double value);
Node *ir_const_like(const Node *n, double value);      /* dtype and dims of n */
/* An i64 with all its digits: one that a constant cannot hold is put together from its halves. */
Node *ir_integer(Graph *g, int64_t v);
Node *ir_iota(Graph *g, Dtype dtype, int rank, const Dim *dims, int axis);
Node *ir_iota_from(Graph *g, Dtype dtype, int rank, const Dim *dims, int axis, Dim start);
Node *ir_rand(Node *state, int rank, const Dim *dims, int draw, int word);
/* The numbers that a tensor of dims `global` has from `start` on. */
Node *ir_rand_part(Node *state, int rank, const Dim *dims, int draw, int word, const Dim *global,
                   const Dim *start);
/* A size as a number: a constant when it is one. */
Node *ir_size(Graph *g, Dtype dtype, Dim of);
Node *ir_cast(Node *x, Dtype dtype);                   /* x itself when it has the dtype */
Node *ir_reshape(Node *x, int rank, const Dim *dims);  /* one dim may be DIM_INFER */
#define DIM_INFER (INT64_MIN + 1)                      /* "the size that is left", in ir_reshape */
Node *ir_permute(Node *x, const int *axes);            /* rank axes */
Node *ir_swap(Node *x, int a, int b);                  /* permute that swaps two axes */
Node *ir_broadcast(Node *x, int rank, const Dim *dims); /* NumPy rule: adds leading dims too */
Node *ir_slice(Node *x, const Dim *start, const Dim *stop, const int64_t *step); /* step NULL: 1 */
Node *ir_pad(Node *x, const Dim *lo, const Dim *hi, double value);
Node *ir_flip(Node *x, int n, const int *axes);
Node *ir_concat(int n, Node *const *x, int axis);
Node *ir_window(Node *x, int n, const int *axes, const int64_t *size, const int64_t *stride,
                const int64_t *dilation);
Node *ir_fold(Node *x, int n, const int *axes, const Dim *into, const int64_t *stride,
              const int64_t *dilation);
Node *ir_reduce(Node *x, Op op, int n, const int *axes); /* OP_sum … OP_argmin; n = 0: x itself */
Node *ir_dot(Node *a, Node *b);                        /* promotes; one inner dim; see dot.h */
Node *ir_dot_inner(Node *a, Node *b, int inner, Blocks blocks);
Node *ir_gather(Node *x, Node *index, int axis);
Node *ir_scatter_add(Node *x, Node *index, Node *updates, int axis);
/* The reduction n (sum, prod, dot or scatter_add) once more, in so many blocks (blocks.h). */
Node *ir_in_blocks(Node *n, Blocks blocks);
Node *ir_cumsum(Node *x, int axis, bool reverse);
Node *ir_sum_to(Node *x, const Node *like);            /* undoes a broadcast by summing */
Node *ir_pow_grad_x(Node *dy, Node *x, Node *y);       /* the two halves of pow's row */
/* Of max and min by x, the operand that was chosen unless `other`: dy; half of it where x and y
 * are equal, as PyTorch has it; NaN in either operand takes dy to both. */
Node *ir_chosen_grad(Node *dy, Node *x, Node *y, Node *other);
/* part / (x² + y²), and 0 at the origin. */
Node *ir_atan2_grad(Node *part, Node *x, Node *y);
/* The last collective of the graph, which another waits for; NULL: there is none. */
Node *ir_comm_last(const Graph *g);
Node *ir_pow_grad_y(Node *dy, Node *x, Node *out);
#endif
