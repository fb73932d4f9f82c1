/* bind.h: a graph with symbolic dims made a static one, for given values of its symbols.
 */
#ifndef SGL_IR_BIND_H
#define SGL_IR_BIND_H
#include "ir/graph.h"

/* The graph that would have been recorded with these sizes: values by symbol number, all that the
 * graph needs. NULL with the context's error set, which names the place in the user's source. */
Graph *ir_bind(const Graph *g, const int64_t *value_of_symbol);
#endif
