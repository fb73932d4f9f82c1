/* file.c: reading whole files (gzip unpacked) and replacing them atomically.
 *
 * Holds: every message names the path and what the system said; nothing stays open and no
 *        temporary file stays behind on any way out; a pipe or a device is written in place,
 *        because only regular files can be replaced by a rename.
 */
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "base/mem.h"

enum { FIRST_READ = 1 << 16, NAME_TRIES = 100, GZIP_WINDOW = 15 + 16 };
static const size_t FILE_LIMIT = SIZE_MAX / 8;
static const size_t WRITE_MAX = 1 << 30; /* Linux moves at most 2 GiB in one call */

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
        ssize_t got = read(fd, b->at + b->n, b->cap - b->n < WRITE_MAX ? b->cap - b->n : WRITE_MAX);
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

int base_file_read(const char *path, char **data, size_t *n, Err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return system_error(e, path, "read");
    Buffer b = {0};
    int status = read_all(fd, &b, path, e);
    close(fd);
    return finish(&b, status, data, n);
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

/* A write beyond the limit of the size of files (RLIMIT_FSIZE) raises SIGXFSZ, which would end the
 * process; blocked, and taken if it was not pending before, it leaves EFBIG, an error as any. */
typedef struct Quiet {
    sigset_t only, before;
    bool pending;
} Quiet;

static Quiet quiet_begin(void)
{
    Quiet q;
    sigset_t pending;
    sigemptyset(&q.only);
    sigaddset(&q.only, SIGXFSZ);
    q.pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &q.only, &q.before);
    return q;
}

static void quiet_end(Quiet *q)
{
    int first = errno, signal;
    sigset_t pending;
    if (!q->pending && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1)
        sigwait(&q->only, &signal);
    pthread_sigmask(SIG_SETMASK, &q->before, NULL);
    errno = first;
}

static bool write_some(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, p, n < WRITE_MAX ? n : WRITE_MAX);
        if (put < 0 && errno != EINTR) return false;
        if (put > 0) {
            p += put;
            n -= (size_t)put;
        }
    }
    return true;
}

static bool write_all(int fd, const char *p, size_t n)
{
    Quiet q = quiet_begin();
    bool well = write_some(fd, p, n);
    quiet_end(&q);
    return well;
}

/* Closes and says whether all went well so far; keeps the first errno. */
static bool close_after(int fd, bool well)
{
    int first = errno;
    bool closed = close(fd) == 0;
    if (!well) errno = first;
    return well && closed;
}

/* A new file beside `target`, so that the rename stays inside one file system. */
static int open_beside(const char *target, mode_t mode, char *temporary, size_t cap)
{
    static _Atomic unsigned serial;
    for (int i = 0; i < NAME_TRIES; i++) {
        int n = snprintf(temporary, cap, "%s.%ld-%u.part", target, (long)getpid(),
                         atomic_fetch_add(&serial, 1));
        if (n < 0 || (size_t)n >= cap) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* Makes the rename itself durable; not every file system can, and then nothing is lost by it. */
static void sync_folder(char *target)
{
    char *slash = strrchr(target, '/');
    if (slash) slash[slash == target] = 0;
    int fd = open(slash ? target : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* Writes beside the target and renames, so that a reader sees the old file or the new one, never
 * a part; the old one's permissions stay. */
static int replace(char *target, const struct stat *old, const void *data, size_t n, bool durable,
                   const char *path, Err *e)
{
    char temporary[PATH_MAX];
    int fd = open_beside(target, 0666, temporary, sizeof temporary);
    if (fd < 0) return system_error(e, path, "write");
    bool well = (!old || fchmod(fd, old->st_mode & 07777) == 0) && write_all(fd, data, n) &&
                (!durable || fsync(fd) == 0);
    well = close_after(fd, well) && rename(temporary, target) == 0;
    if (!well) {
        int status = system_error(e, path, "write");
        unlink(temporary);
        return status;
    }
    if (durable) sync_folder(target);
    return SGL_OK;
}

static int write_in_place(const char *path, const void *data, size_t n, Err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || !close_after(fd, write_all(fd, data, n))) return system_error(e, path, "write");
    return SGL_OK;
}

static int write_file(const char *path, const void *data, size_t n, bool durable, Err *e)
{
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && !S_ISREG(st.st_mode)) return write_in_place(path, data, n, e);
    char target[PATH_MAX]; /* behind links, so that a link stays one */
    if (exists ? !realpath(path, target)
               : snprintf(target, sizeof target, "%s", path) >= (int)sizeof target) {
        if (!exists) errno = ENAMETOOLONG;
        return system_error(e, path, "write");
    }
    return replace(target, exists ? &st : NULL, data, n, durable, path, e);
}

int base_file_write(const char *path, const void *data, size_t n, Err *e)
{
    return write_file(path, data, n, true, e);
}

int base_file_write_quick(const char *path, const void *data, size_t n, Err *e)
{
    return write_file(path, data, n, false, e);
}
