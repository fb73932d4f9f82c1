/* file.h: files that are read whole. Writing them is write.h.
 */
#ifndef SGL_BASE_FILE_H
#define SGL_BASE_FILE_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

/* What ends a reading before the file does. */
typedef struct FileRules {
    const atomic_int *stop;          /* not 0: SGL_EINTR; NULL: nothing */
    int64_t unpack_limit;            /* bytes that gzip may unpack to; 0: any number */
} FileRules;

/* Is there a file of this name that can be read to its end? 1, or 0 where nothing is; what is there
 * and is no regular file, or cannot be reached, is an error. */
int base_file_there(const char *path, Err *e);
/* What the name itself is: "file", "folder", "link", wherever it leads, or "other"; NULL: there is
 * nothing. */
const char *base_file_kind(const char *path);
/* A descriptor to read from, or an error. */
int base_file_open(const char *path, const FileRules *rules, Err *e);
/* Reads a file whole; *data is the caller's (base_mem_free) and has a 0 behind its last byte. */
int base_file_read(const char *path, char **data, size_t *n, Err *e);
/* Of an open file, to its end; it stays open. `shown` is for messages. */
int base_file_read_fd(int fd, const char *shown, char **data, size_t *n, Err *e);
/* The same, and unpacks gzip as it reads, when the content starts with its magic number. A
 * truncated or damaged stream is SGL_EFORMAT, and so is one that unpacks to more than the limit. */
int base_file_unpack_fd(int fd, const char *shown, const FileRules *rules, char **data, size_t *n,
                        Err *e);
int base_file_read_gz(const char *path, const FileRules *rules, char **data, size_t *n, Err *e);
/* Exactly n bytes from an offset of a regular file; that there are fewer is an error. */
int base_file_read_at(int fd, const char *shown, const FileRules *rules, size_t offset, void *to,
                      size_t n, Err *e);
#endif
