/* grad_origin.h: what the results of a program came out of, by gradients.
 *
 * What a run does is in no trace. Its results remember instead which tensors a gradient could have
 * gone back to: by Tensor.id, those that the run read, those from before that these were made of,
 * those that it updated, and its other results. So what would be left out is known, and refused.
 *   Reach    of a program: which of its sources can reach which result
 *   Origin   of a run: the ids of the sources; its results share it, each by its number in Reach
 * Holds: an origin is flat: it has the ids of the origins of what the run read, so no chain of runs
 *        keeps anything alive. Its entries are sorted. The ids of the states, the longest part and
 *        mostly the same from run to run, are shared.
 */
#ifndef SGL_TENSOR_GRAD_ORIGIN_H
#define SGL_TENSOR_GRAD_ORIGIN_H
#include "tensor/grad_ids.h"

typedef struct Reach {
    int refs;
    int words;       /* of 64 results */
    uint64_t bits[]; /* by source, then word: the results that it reaches */
} Reach;

typedef struct SharedIds {
    int refs, n;
    Entry at[];
} SharedIds;

void tensor_reach_unref(Reach *r);      /* NULL is allowed */
void tensor_shared_unref(SharedIds *s); /* NULL is allowed */

/* With references to the first two, of which `states` may be NULL, the ids in order, and room for
 * some more that are larger. All ids below `older` are part of it. NULL: no memory. */
Origin *tensor_origin_new(Reach *reach, SharedIds *states, uint64_t older, const Ids *ids,
                          int more);
void tensor_origin_add(Origin *o, uint64_t id, uint32_t source);
Origin *tensor_origin_ref(Origin *o); /* NULL is allowed */
void tensor_origin_unref(Origin *o);  /* NULL is allowed */
bool tensor_origin_has(const Origin *o, int result, uint64_t id);
/* Adds its ids, all with the number of that source; false: no memory. */
bool tensor_origin_ids(const Origin *o, int result, uint32_t source, Ids *ids);
/* What it says of one result, without the ids that are not in `live`. A reference; NULL: no
 * memory. */
Origin *tensor_origin_pruned(Origin *o, int result, const Map *live);
size_t tensor_origin_bytes(const Origin *o);   /* NULL is allowed */
uint64_t tensor_origin_older(const Origin *o); /* all smaller ids are part of it; 0: none */
#endif
