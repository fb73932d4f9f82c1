/* storage.h: the memory of tensors: contiguous row-major arrays, reference-counted.
 *
 * Holds: data is 64-byte aligned and padded to 128 bytes; bool elements are 0 or 1. Counts are
 *        not atomic: a storage belongs to one context's thread.
 */
#ifndef SGL_DEV_STORAGE_H
#define SGL_DEV_STORAGE_H
#include "base/context.h"
#include "ir/op.h"

typedef struct Storage {
    int refs;
    Dtype dtype;
    int rank;
    int64_t dims[OP_MAX_RANK];
    int64_t count;
    size_t bytes;             /* of the elements, without padding */
    void *data;
} Storage;

Storage *dev_storage_new(Ctx *cx, Dtype dtype, int rank, const int64_t *dims);  /* not zeroed */
Storage *dev_storage_ref(Storage *s);      /* returns s with one more reference */
void dev_storage_unref(Storage *s);        /* NULL is allowed */
int64_t dev_storage_live_bytes(void);      /* of all storages, for the collector's hints */
#endif
