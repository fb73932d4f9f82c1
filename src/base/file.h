/* file.h: files that are read whole. Writing them is write.h.
 */
#ifndef SGL_BASE_FILE_H
#define SGL_BASE_FILE_H
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

/* Is there a file of this name that can be read to its end? 1, or 0 where nothing is; what is there
 * and is no regular file, or cannot be reached, is an error. */
int base_file_there(const char *path, Err *e);
/* Reads a file whole; *data is the caller's (base_mem_free) and has a 0 behind its last byte. */
int base_file_read(const char *path, char **data, size_t *n, Err *e);
/* Of an open file, to its end; it stays open. `shown` is for messages. */
int base_file_read_fd(int fd, const char *shown, char **data, size_t *n, Err *e);
/* As base_file_read, and unpacks gzip when the content starts with its magic number. A truncated or
 * damaged stream is SGL_EFORMAT. */
int base_file_read_gz(const char *path, char **data, size_t *n, Err *e);
#endif
