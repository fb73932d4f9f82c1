/* source.h: a file of arrays that is read as far as it is asked for: its head is in memory, and the
 * elements go from the file straight to where they are wanted.
 *
 * What is no regular file, or packed by gzip, is read whole.
 */
#ifndef SGL_IO_SOURCE_H
#define SGL_IO_SOURCE_H
#include "base/file.h"
#include "io/format.h"

typedef struct FileSource {
    const char *name;                /* for messages; borrowed */
    FileRules rules;
    char *bytes;                     /* of the beginning; owned if `own` */
    bool own;
    size_t have, n;                  /* bytes in memory, and of the file */
    int fd;                          /* -1: all is in memory */
} FileSource;

/* Ends with io_source_close, also after an error. */
int io_source_open(FileSource *s, const char *path, FileRules rules, Err *e);
/* Of bytes in memory, which stay the caller's. */
void io_source_of(FileSource *s, const char *name, const void *bytes, size_t n);
/* Describes the arrays; *out does not need the source. */
int io_source_describe(FileSource *s, const Format *f, FileArrays *out, Err *e);
/* The array's elements, ready for a tensor: truths are 0 or 1. */
int io_source_read(const FileSource *s, const FileArray *a, void *to, Err *e);
void io_source_close(FileSource *s);
#endif
