/* disk.h: a folder of entries, each named by the hash of its key.
 *
 * The folder is the setting cache_dir, else sgl/ in $XDG_CACHE_HOME or ~/.cache; exec/folder.h says
 * when it is trusted. It is in use while the component `disk` is enabled.
 * Holds: an entry is whole or not there: it comes by a rename, with its whole key and a tag that
 *        nobody makes without the folder's key. Several processes may use the folder at once. What
 *        is damaged or forged is removed, counted and told. A folder that cannot be used is no
 *        error: nothing is found, failures count, and one that is not trusted is told once. No
 *        link in the folder is followed. The entries' bytes stay within cache_size_limit; the
 *        least recently used go first.
 */
#ifndef SGL_EXEC_DISK_H
#define SGL_EXEC_DISK_H
#include "base/context.h"
#include "exec/folder.h"

typedef struct DiskStats {
    int64_t hits, misses, stores, failures, damaged, evictions;
    int64_t bytes, entries;          /* counted when they are asked for */
    char refused[FOLDER_WHY];        /* why the folder is not used; "": it is */
} DiskStats;

typedef struct Disk {
    char *folder;                    /* NULL: not known yet, or none */
    int64_t total;                   /* bytes of entries, about; -1: not counted yet */
    DiskStats stats;
} Disk;

/* The folder, as the settings say now. */
const char *exec_disk_folder(Ctx *cx);             /* NULL: there is none */
void exec_disk_forget(Ctx *cx);                    /* the setting cache_dir has changed */
/* The body stored under the key, the caller's to free; NULL: not there. */
char *exec_disk_read(Ctx *cx, const void *key, size_t n, size_t *size);
void exec_disk_write(Ctx *cx, const void *key, size_t n, const void *body, size_t size);
/* The body under the key does not mean what it should. */
void exec_disk_damaged(Ctx *cx, const void *key, size_t n, const char *reason);
void exec_disk_trim(Ctx *cx, int64_t limit);       /* 0: everything goes */
DiskStats exec_disk_stats(Ctx *cx);
#endif
