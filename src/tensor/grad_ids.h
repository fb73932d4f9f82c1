/* grad_ids.h: lists of ids of tensors, each with the number of what it is a source of.
 *
 * Holds: a list that tensor_ids_sort left is in ascending order, by id, then source, and has
 *        nothing twice. Memory that runs out is told by false.
 */
#ifndef SGL_TENSOR_GRAD_IDS_H
#define SGL_TENSOR_GRAD_IDS_H
#include "tensor/tensor.h"

typedef struct Entry {
    uint64_t id;
    uint32_t source;
} Entry;

typedef VEC(Entry) Ids;

bool tensor_ids_sort(Ids *ids);
/* Where there are more than *most, which is set anew: drops those of tensors that are gone, for
 * which nobody asks. So the list stays in proportion to the tensors that there are. */
bool tensor_ids_bound(Host *h, Ids *ids, int *most);
/* The first place in a sorted list with this id or a larger one; n: none. */
int tensor_ids_find(const Entry *at, int n, uint64_t id);
#endif
