/* storage_type.h: what the files of storages share.
 */
#ifndef SGL_DEV_STORAGE_TYPE_H
#define SGL_DEV_STORAGE_TYPE_H
#include "dev/storage.h"

struct StoragePart {
    CommSpread how;
    Comm *comm;
    Storage *own;              /* this rank's part */
};

/* The memory of a whole storage goes, or comes: `at` is the host's. */
void dev_storage_drop(Storage *s);
void dev_storage_take(Storage *s, void *at);
/* A spread storage has memory of its own again: with its values, or with any. */
int dev_part_gather(Storage *s, bool values);
void dev_part_free(StoragePart *p);    /* NULL is allowed */
#endif
