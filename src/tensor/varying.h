/* varying.h: constants in which pending operations differ from those that ran before.
 */
#ifndef SGL_TENSOR_VARYING_H
#define SGL_TENSOR_VARYING_H
#include "base/map.h"

typedef struct Varying {
    Map record;              /* hash of a key without its constants: what they were */
    size_t bytes;            /* of the records */
} Varying;

/* Notes the constants of a key, which are its words at[0] < at[1] < …. Which of them had other
 * values before, in keys that are otherwise equal: 1 in a byte each, which is v's; NULL: none, or
 * there is no memory to tell. */
const uint8_t *tensor_varying_note(Varying *v, const int64_t *key, int n, const int *at, int count);
void tensor_varying_free(Varying *v);
#endif
