/* eval.h: the reference interpreter, in double: the oracle of every backend.
 *
 * Integers and bool hold values of their dtype in both modes: integer rows are computed in 64-bit
 * integers and wrap. Values of i64 beyond 2^53 are inexact, because arrays hold doubles. Sums add
 * in row-major order. A position outside is SGL_EINDEX with its value.
 */
#ifndef SGL_IR_EVAL_H
#define SGL_IR_EVAL_H
#include "ir/graph.h"

struct RefArray { Dtype dtype; int rank; int64_t dims[OP_MAX_RANK]; int64_t count; double *at; };
typedef enum RefMode { REF_EXACT, REF_ROUND } RefMode;  /* ROUND: each node rounds to its dtype */
/* Evaluates n nodes of the graph in double. in[i] belongs to input i and is borrowed; out has one
 * entry for each node; the caller frees each with ir_ref_free. Static graphs only. */
int ir_eval_nodes(const Graph *g, RefMode mode, const RefArray *in, int n, Node *const *nodes,
                  RefArray *out);

/* The same in steps, for graphs that are evaluated side by side: all that is said above holds. A
 * value of a node of the family comm comes from outside. */
typedef struct Evaluation Evaluation;
/* `in` and `nodes` are borrowed until the end; NULL with the error set. */
Evaluation *ir_eval_begin(const Graph *g, RefMode mode, const RefArray *in, int n,
                          Node *const *nodes);
/* Goes on to the end, *stop = NULL, or, if `together`, to a node of that family, whose input is
 * *in: it goes on again when that node's value was given. */
int ir_eval_go(Evaluation *e, bool together, const Node **stop, const RefArray **in);
/* Room for the value of the node that it stopped at, to be filled in; NULL with the error set. */
RefArray *ir_eval_give(Evaluation *e, const Node *n);
/* At the end: the nodes' values. */
int ir_eval_take(const Evaluation *e, RefArray *out);
/* Frees it; NULL is allowed. */
void ir_eval_end(Evaluation *e);

/* An array without values, and its end. */
int ir_ref_alloc(RefArray *a, Dtype dtype, int rank, const int64_t *dims);
void ir_ref_free(RefArray *a);
/* Fills an array with values from the domain, reproducibly from the seed; `bound` is the size of
 * the indexed dim for DOM_INDEX. Arrays sampled for one op take seeds that differ modulo 4. */
void ir_domain_sample(Domain d, uint64_t seed, int64_t bound, RefArray *a);

/* The uniform of op `rand`: top 24 bits of the word times 2^-24. Counter: {element low, element
 * high, step + draw low, 0}; key: seed, the high half of step + draw xored into its high half. The
 * inline form for kernels is philox.h. */
float ir_rand_value(int64_t seed, int64_t step, int draw, int word, int64_t element);
#endif
