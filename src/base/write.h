/* write.h: a file that is written bit by bit and appears under its name as a whole.
 *
 *   base_write_begin(&w, path, &e)   base_write_put(&w, bytes, n) …   base_write_end(&w, &e)
 *
 * Holds: until the end the old file stays as it is, and so it does when anything fails or the
 *        process is killed: the bytes go to a part beside it, `.sgl-<n>.part`, which is renamed. A
 *        part that a killed process left is removed by the next write into that folder. A pipe or
 *        a device is written in place, because only regular files can be replaced by a rename.
 */
#ifndef SGL_BASE_WRITE_H
#define SGL_BASE_WRITE_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/err.h"
#include "base/str.h"

enum { WRITE_PART_BYTES = 32 };
typedef struct FileWrite {
    int fd;
    int folder;                      /* the part's; -1: written in place, or to memory */
    Str *memory;                     /* NULL: to a file */
    bool own;                        /* is the folder closed with the file? */
    const char *shown;               /* the path in messages; borrowed */
    char name[NAME_MAX + 1], part[WRITE_PART_BYTES];
    int failure;                     /* errno of the first put that failed */
} FileWrite;

/* Replaces what is behind links, so that a link stays one, and keeps the old one's permissions. */
int base_write_begin(FileWrite *w, const char *path, Err *e);
/* In an open folder, which stays the caller's. What has that name is replaced, whatever it is: a
 * link there is not followed. `shown` is for messages. */
int base_write_begin_in(FileWrite *w, int folder, const char *name, mode_t mode, const char *shown,
                        Err *e);
/* What is put goes behind the text, which stays the caller's. */
void base_write_begin_memory(FileWrite *w, Str *to);
/* What is put goes nowhere, and base_write_end fails: for who only takes part. */
void base_write_begin_nowhere(FileWrite *w);
/* After a failure nothing more is written; base_write_end tells. */
bool base_write_put(FileWrite *w, const void *bytes, size_t n);
/* Waits until the bytes are on the disk, and renames. Ends w in any case. */
int base_write_end(FileWrite *w, Err *e);
/* The same without waiting: after a failure of the machine the file may be damaged. */
int base_write_end_quick(FileWrite *w, Err *e);
void base_write_drop(FileWrite *w); /* ends w, and the old file stays */
/* Everything to a descriptor; false with errno. A limit of the size of files is an error as any. */
bool base_write_all(int fd, const void *bytes, size_t n);
/* A file that others wrote, and no link, gets its name when its bytes are on the disk; what has
 * that name, a link too, is replaced. */
int base_write_keep(const char *part, const char *path, Err *e);
/* All of a file in one call. */
int base_file_write(const char *path, const void *data, size_t n, Err *e);
#endif
