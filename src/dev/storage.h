/* storage.h: the memory of tensors: contiguous row-major arrays, reference-counted, each in the
 * memory of one device at a time.
 *
 * A storage is made in the host's memory and moves where it is used: to a device when a program
 * there takes it, back when the host writes. Reading leaves it where it is. On several ranks it may
 * lie over all of them (spread.c), and is put together where somebody reads or writes it.
 * Holds: the memory is 64-byte aligned and padded to 128 bytes; bool elements are 0 or 1. `at` and
 *        `mirror` are for dev/ alone, everybody else asks. Counts are not atomic: a storage belongs
 *        to one context's thread.
 */
#ifndef SGL_DEV_STORAGE_H
#define SGL_DEV_STORAGE_H
#include "comm/spread.h"
#include "dev/device.h"
#include "ir/op.h"

typedef struct StoragePart StoragePart;
typedef struct Storage {
    int refs;
    Dtype dtype;
    int rank;
    int64_t dims[OP_MAX_RANK];
    int64_t count;
    size_t bytes;             /* of the elements, without padding */
    Device *device;           /* in whose memory it is; NULL: the host's */
    void *at;
    void *mirror;             /* what the host last read of a device's; NULL: nothing */
    bool fresh;               /* the mirror has what the device has */
    StoragePart *part;        /* it lies over the ranks of a job, and `at` is NULL; else NULL */
} Storage;

/* On the host; not zeroed. */
Storage *dev_storage_new(Ctx *cx, Dtype dtype, int rank, const int64_t *dims);
Storage *dev_storage_new_on(Device *d, Ctx *cx, Dtype dtype, int rank, const int64_t *dims);
Storage *dev_storage_copy(Ctx *cx, const Storage *s);    /* the same values in the same memory */
Storage *dev_storage_ref(Storage *s);      /* returns s with one more reference */
void dev_storage_unref(Storage *s);        /* NULL is allowed */
int64_t dev_storage_live_bytes(void);      /* of all storages, for the collector's hints */

/* The values for the host to read, until the storage is written or moves. NULL with the context's
 * error set; never NULL for one in the host's memory. */
const void *dev_storage_host(const Storage *s);
/* The values for the host to write: the storage is in the host's memory then. NULL as above. */
void *dev_storage_edit(Storage *s);
/* Writes all bytes where they are. */
int dev_storage_write(Storage *s, const void *from);
int dev_storage_zero(Storage *s);
/* Reads all bytes. */
int dev_storage_read(const Storage *s, void *to);
/* spread.c: from now on each rank of the job has a part of it, until anybody asks for the values:
 * then all ranks ask, and it is whole again. */
int dev_storage_spread(Storage *s, Comm *c, const CommSpread *how);
/* Writes all values of a spread one, which stays spread: all ranks call it together. */
int dev_storage_gather(const Storage *s, void *to);
Storage *dev_storage_part(Storage *s);     /* this rank's part, borrowed; of a whole one itself */
/* The address in d's memory (NULL: the host's), where it is afterwards. `writes`: what the host has
 * read of it holds no longer. NULL with the context's error set. */
void *dev_storage_use(Storage *s, Device *d, bool writes);
#endif
