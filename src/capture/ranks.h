/* ranks.h: what the ranks of a job must have in common to run a step together.
 */
#ifndef SGL_CAPTURE_RANKS_H
#define SGL_CAPTURE_RANKS_H
#include "dev/storage.h"
#include "ir/graph.h"

/* Are the inputs of a step the same on all ranks? Else an error that names the first that is not.
 * All ranks ask together; it takes one exchange. */
int capture_ranks_agree(Ctx *cx, const Graph *g, Storage *const *in);
/* The step failed on this rank, with the context's error: no rank can go on. */
void capture_ranks_stop(Ctx *cx);
#endif
