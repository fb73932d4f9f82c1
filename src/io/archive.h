/* archive.h: named parts in one file, a zip, or in a folder.
 *
 * The zip is written and read by libzip, which is loaded when it is first needed. A folder needs no
 * library. Parts are stored as they are: equal parts make equal files, and a part is never larger
 * than the file.
 */
#ifndef SGL_IO_ARCHIVE_H
#define SGL_IO_ARCHIVE_H
#include <stddef.h>
#include "base/err.h"
#include "base/vec.h"

typedef struct ArchivePart { const char *name; const void *data; size_t bytes; } ArchivePart;
typedef struct Archive {
    VEC(ArchivePart) parts;            /* data: base_mem_free; each with a 0 behind its last byte */
} Archive;

/* Writes the parts to a new file, or into a folder if the path ends in '/'; what has that name is
 * replaced. SGL_EFILE, SGL_EUNSUP: libzip is missing. On an error there is no file. */
int io_archive_write(const char *path, const ArchivePart *parts, int n, Err *e);
/* Reads the parts that are named, in that order; others are passed over. SGL_EFORMAT: one is
 * missing, compressed or damaged. io_archive_free in any case. */
int io_archive_read(const char *path, const char *const *names, int n, Archive *out, Err *e);
void io_archive_free(Archive *a);
#endif
