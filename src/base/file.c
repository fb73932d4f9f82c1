/* file.c: reading whole files, gzip unpacked.
 *
 * Holds: every message names the path and what the system said; nothing stays open on any way out.
 */
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "base/mem.h"

enum { FIRST_READ = 1 << 16, GZIP_WINDOW = 15 + 16 };
static const size_t FILE_LIMIT = SIZE_MAX / 8;
static const size_t READ_MAX = 1 << 30; /* Linux moves at most 2 GiB in one call */

typedef struct Buffer {
    char *at;
    size_t n, cap;
} Buffer;

static int system_error(Err *e, const char *path, const char *doing)
{
    return base_err_set(e, errno == ENOMEM ? SGL_ENOMEM : SGL_EFILE, "%s: cannot %s: %s", path,
                        doing, strerror(errno));
}

static int no_memory(Err *e, const char *path, size_t bytes)
{
    return base_err_set(e, SGL_ENOMEM, "%s: out of memory for %zu bytes", path, bytes);
}

/* Makes the buffer hold `cap` bytes and the closing 0. */
static int buffer_reserve(Buffer *b, size_t cap, const char *path, Err *e)
{
    if (cap > FILE_LIMIT)
        return base_err_set(e, SGL_EFILE, "%s: larger than %zu bytes", path, FILE_LIMIT);
    char *at = base_mem_resize(b->at, cap + 1);
    if (!at) return no_memory(e, path, cap);
    b->at = at;
    b->cap = cap;
    return SGL_OK;
}

/* Reads to the end, whatever is behind the descriptor: a file may grow meanwhile, and a pipe has
 * no size. */
static int read_all(int fd, Buffer *b, const char *path, Err *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return system_error(e, path, "read");
    /* One byte more than the size, so that the end is seen without growing. */
    size_t first = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size + 1 : FIRST_READ;
    int status = buffer_reserve(b, first, path, e);
    while (status == SGL_OK) {
        ssize_t got = read(fd, b->at + b->n, b->cap - b->n < READ_MAX ? b->cap - b->n : READ_MAX);
        if (got == 0) break;
        if (got > 0) b->n += (size_t)got;
        else if (errno != EINTR) return system_error(e, path, "read");
        if (b->n == b->cap) status = buffer_reserve(b, b->cap * 2, path, e);
    }
    return status;
}

static int finish(Buffer *b, int status, char **data, size_t *n)
{
    if (status < 0) {
        base_mem_free(b->at);
        return status;
    }
    b->at[b->n] = 0;
    *data = b->at;
    *n = b->n;
    return SGL_OK;
}

int base_file_there(const char *path, Err *e)
{
    struct stat st;
    if (lstat(path, &st) != 0) return errno == ENOENT ? 0 : system_error(e, path, "read");
    if (stat(path, &st) != 0) return system_error(e, path, "read");
    if (S_ISREG(st.st_mode)) return 1;
    return base_err_set(e, SGL_EFILE, "%s: cannot read: not a file but a %s", path,
                        S_ISDIR(st.st_mode) ? "folder" : "pipe or device");
}

int base_file_read_fd(int fd, const char *shown, char **data, size_t *n, Err *e)
{
    Buffer b = {0};
    return finish(&b, read_all(fd, &b, shown, e), data, n);
}

int base_file_read(const char *path, char **data, size_t *n, Err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return system_error(e, path, "read");
    int status = base_file_read_fd(fd, path, data, n, e);
    close(fd);
    return status;
}

static void *zlib_alloc(void *none, unsigned count, unsigned size)
{
    (void)none;
    return base_mem_zero(count, size);
}

static void zlib_free(void *none, void *p)
{
    (void)none;
    base_mem_free(p);
}

static uInt at_most(size_t n) { return n < UINT_MAX ? (uInt)n : UINT_MAX; }

static int unpack_error(Err *e, const char *path, const z_stream *z, int result, size_t made)
{
    if (result == Z_MEM_ERROR) return no_memory(e, path, made);
    if (result == Z_BUF_ERROR)
        return base_err_set(e, SGL_EFORMAT, "%s: gzip data ends early, after %zu unpacked bytes",
                            path, made);
    return base_err_set(e, SGL_EFORMAT, "%s: damaged gzip data: %s, after %zu unpacked bytes", path,
                        z->msg ? z->msg : "not a gzip stream", made);
}

static bool only_zeros(const char *p, size_t n)
{
    while (n > 0 && p[n - 1] == 0) n--;
    return n == 0;
}

/* Unpacks one member after the other (RFC 1952 allows several); zeros may pad the end. */
static int inflate_all(z_stream *z, const char *in, size_t n, Buffer *out, const char *path, Err *e)
{
    size_t taken = 0;
    for (;;) {
        if (out->n == out->cap) {
            int status = buffer_reserve(out, out->cap * 2, path, e);
            if (status < 0) return status;
        }
        uInt fed = at_most(n - taken), room = at_most(out->cap - out->n);
        z->next_in = (Bytef *)(uintptr_t)(in + taken);
        z->avail_in = fed;
        z->next_out = (Bytef *)(out->at + out->n);
        z->avail_out = room;
        int result = inflate(z, Z_NO_FLUSH);
        taken += fed - z->avail_in;
        out->n += room - z->avail_out;
        if (result == Z_STREAM_END) {
            if (only_zeros(in + taken, n - taken)) return SGL_OK;
            inflateReset(z);
        } else if (result != Z_OK) {
            return unpack_error(e, path, z, result, out->n);
        }
    }
}

static int unpack(const char *in, size_t n, Buffer *out, const char *path, Err *e)
{
    z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free};
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK) return no_memory(e, path, n);
    int status = buffer_reserve(out, n * 4 > FIRST_READ ? n * 4 : FIRST_READ, path, e);
    if (status == SGL_OK) status = inflate_all(&z, in, n, out, path, e);
    inflateEnd(&z);
    return status;
}

int base_file_read_gz(const char *path, char **data, size_t *n, Err *e)
{
    char *raw;
    size_t size;
    int status = base_file_read(path, &raw, &size, e);
    if (status < 0) return status;
    if (size < 2 || memcmp(raw, "\x1f\x8b", 2) != 0) {
        *data = raw;
        *n = size;
        return SGL_OK;
    }
    Buffer out = {0};
    status = unpack(raw, size, &out, path, e);
    base_mem_free(raw);
    return finish(&out, status, data, n);
}
