/* solve.h: the values of a graph's symbolic sizes, read off the inputs of a run.
 */
#ifndef SGL_IR_SOLVE_H
#define SGL_IR_SOLVE_H
#include "ir/graph.h"

/* Values by symbol number for inputs of these shapes, in the order of the graph's; the caller frees
 * them (base_mem_free). NULL: the context's error names the input and the dim (SGL_ESHAPE), or
 * there is no memory. */
int64_t *ir_solve(const Graph *g, const Shape *list);
#endif
