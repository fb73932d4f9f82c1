/* grad_flow.h: through which results of a program a gradient could have gone back to what.
 */
#ifndef SGL_TENSOR_GRAD_FLOW_H
#define SGL_TENSOR_GRAD_FLOW_H
#include "tensor/grad_origin.h"

typedef struct Flow Flow;

/* `results`: the first outputs that become tensors; assigned[i]: the node that input i gets as its
 * value, or NULL: a result too; may_stay[i]: a run may leave that away. NULL: no memory. */
Flow *tensor_flow_new(const Graph *g, int results, Node *const *assigned, const bool *may_stay);
void tensor_flow_free(Flow *f); /* NULL is allowed */

/* Before a run, its inputs computed and not yet updated: tensor[i] is input i, or NULL. *o is NULL
 * where no gradient can go back to anything. */
int tensor_flow_begin(Host *h, Flow *f, Tensor *const *tensor, Origin **o);
/* After it, all of them having their new ids; kept[i]: input i stayed what it was. */
void tensor_flow_end(const Flow *f, Origin *o, Tensor *const *tensor, const bool *kept,
                     Tensor *const *result);
#endif
