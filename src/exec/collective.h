/* collective.h: steps that ranks do together.
 */
#ifndef SGL_EXEC_COLLECTIVE_H
#define SGL_EXEC_COLLECTIVE_H
#include "ir/graph.h"

static inline bool exec_is_collective(const Node *n) { return OPS[n->op].family == FAM_comm; }
/* Runs node n, whose dims are numbers, on values in the host's memory, together with the other
 * ranks of its group; alone it is a copy. */
int exec_collective_run(const Node *n, const void *in, void *out);
#endif
