/* grad_walk.h: walks back through the pending trace, along the ways that gradients take.
 *
 *   walk = tensor_walk_begin(h);  tensor_walk_from(walk, t, …) …;  tensor_walk_run(walk, …);
 *   tensor_walk_meets(walk, w, …) …
 * A walk from leaves that are no results of programs costs nothing. Memory that runs out is told by
 * false, or NULL.
 */
#ifndef SGL_TENSOR_GRAD_WALK_H
#define SGL_TENSOR_GRAD_WALK_H
#include "tensor/grad_ids.h"
#include "tensor/trace.h"

typedef struct Walk Walk;

Walk *tensor_walk_begin(Host *h); /* the one there is: ends the last walk */
/* `among`: t is one of those that are asked for. */
bool tensor_walk_from(Walk *w, const Tensor *t, bool among);
bool tensor_walk_node(Walk *w, Node *n);
/* `whole`: to all the ends; else it stops where the ids of what lies behind are kept. */
bool tensor_walk_run(Walk *w, bool whole);
/* Did the walk meet t on a way from another tensor? `among`: it began at t too. */
bool tensor_walk_meets(const Walk *w, const Tensor *t, bool among);
/* The same of a whole walk, but only behind the results of programs. */
bool tensor_walk_meets_behind(const Walk *w, const Tensor *t);

/* The ids of all tensors that a walk from the node meets, sorted; kept in the trace. */
typedef struct TraceIds {
    int n;
    uint64_t older; /* all smaller ids too; 0: none */
    Entry at[];
} TraceIds;

/* Of a node whose value is known, so that nothing new is bound to what it was computed of. Valid
 * until the next call. */
const TraceIds *tensor_walk_ids(Host *h, Node *n);
#endif
