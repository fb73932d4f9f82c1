/* file.h: whole files in, whole files out.
 *
 * Holds: base_file_write is atomic: a reader sees the old content or the new one, never a part,
 *        also when the disk is full or the process is killed (temporary file, fsync, rename).
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
/* The same, and unpacks gzip when the content starts with its magic number. A truncated or
 * damaged stream is SGL_EFORMAT. */
int base_file_read_gz(const char *path, char **data, size_t *n, Err *e);
int base_file_write(const char *path, const void *data, size_t n, Err *e);
/* The same without waiting for the disk: after a failure of the machine the file may be damaged. */
int base_file_write_quick(const char *path, const void *data, size_t n, Err *e);
#endif
