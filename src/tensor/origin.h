/* origin.h: what the results of a program came out of, by gradients.
 *
 * What a run does is in no trace. Its results remember instead which tensors a gradient could have
 * gone back to: by Tensor.id, those that the run read, those from before that these were made of,
 * those that it updated, and its other results. So what would be left out is known, and refused.
 *   Flow     of a program: which of what a run reads and makes can reach which result
 *   Origin   of a run: the ids; all its results share it, each with its number in the Flow
 * Holds: ids are never given twice, so an id names one value of one tensor.
 */
#ifndef SGL_TENSOR_ORIGIN_H
#define SGL_TENSOR_ORIGIN_H
#include "tensor/ids.h"

typedef struct Flow Flow;

/* `results`: the first outputs that become tensors; assigned[i]: the node that input i gets as its
 * value, or NULL: a result too. NULL: no memory. */
Flow *tensor_flow_new(const Graph *g, int results, Node *const *assigned);
void tensor_flow_unref(Flow *f);

/* Before a run, its inputs computed and not yet updated: tensor[i] is input i, or NULL. *o is NULL
 * where no gradient can go back to anything. */
int tensor_origin_begin(Host *h, Flow *f, Tensor *const *tensor, Origin **o);
/* After it, all of them having their new ids. */
void tensor_origin_end(Origin *o, Tensor *const *tensor, Tensor *const *result);

Origin *tensor_origin_ref(Origin *o); /* NULL is allowed */
void tensor_origin_unref(Origin *o);  /* NULL is allowed */
bool tensor_origin_has(const Origin *o, int result, uint64_t id);
bool tensor_origin_ids(const Origin *o, int result, Ids *ids); /* adds them; false: no memory */
/* What it says of one result, without the ids that are not in `live`. A reference; NULL: no
 * memory. */
Origin *tensor_origin_pruned(Origin *o, int result, const Map *live);
size_t tensor_origin_bytes(const Origin *o);         /* NULL is allowed */
uint64_t tensor_origin_older(const Origin *o); /* all smaller ids are part of it; 0: none */
#endif
