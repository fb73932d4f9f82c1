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

enum { FIRST_READ = 1 << 16, PIECE = 1 << 18, MAGIC = 2, GZIP_WINDOW = 15 + 16 };
static const size_t FILE_LIMIT = SIZE_MAX / 8;
static const size_t READ_MAX = 1 << 24; /* in one call, between looks at FileRules.stop */
static const FileRules NO_RULES = {0};

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

/* What is read from, in messages too. */
typedef struct From {
    int fd;
    const char *path;
    const FileRules *rules;
    Err *e;
} From;

static int stopped(const char *path, Err *e)
{
    return base_err_set(e, SGL_EINTR, "%s: interrupted while it was read", path);
}

/* At most n bytes; 0 at the end. */
static ssize_t read_some(const From *f, void *to, size_t n)
{
    for (;;) {
        if (f->rules->stop && *f->rules->stop) return stopped(f->path, f->e);
        ssize_t got = read(f->fd, to, n < READ_MAX ? n : READ_MAX);
        if (got >= 0) return got;
        if (errno != EINTR) return system_error(f->e, f->path, "read");
    }
}

/* Reads to the end, whatever is behind the descriptor: a file may grow meanwhile, and a pipe has
 * no size. */
static int read_all(const From *f, Buffer *b)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0) return system_error(f->e, f->path, "read");
    /* One byte more than the size, so that the end is seen without growing. */
    size_t size = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size + 1 : FIRST_READ;
    int status = size > b->cap ? buffer_reserve(b, size, f->path, f->e) : SGL_OK;
    while (status == SGL_OK) {
        if (b->n == b->cap) status = buffer_reserve(b, b->cap * 2, f->path, f->e);
        if (status < 0) break;
        ssize_t got = read_some(f, b->at + b->n, b->cap - b->n);
        if (got <= 0) return (int)got;
        b->n += (size_t)got;
    }
    return status;
}

static int finish(Buffer *b, int status, char **data, size_t *n)
{
    if (status < 0) {
        base_mem_free(b->at);
        return status;
    }
    *data = base_mem_resize(b->at, b->n + 1); /* smaller: what growing took too much goes back */
    (*data)[b->n] = 0;
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

const char *base_file_kind(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0) return NULL;
    return S_ISLNK(st.st_mode)   ? "link"
           : S_ISREG(st.st_mode) ? "file"
           : S_ISDIR(st.st_mode) ? "folder"
                                 : "other";
}

int base_file_read_fd(int fd, const char *shown, char **data, size_t *n, Err *e)
{
    Buffer b = {0};
    return finish(&b, read_all(&(From){fd, shown, &NO_RULES, e}, &b), data, n);
}

int base_file_open(const char *path, const FileRules *rules, Err *e)
{
    for (;;) {
        int fd = open(path, O_RDONLY | O_CLOEXEC); /* of a pipe, waits for who writes to it */
        if (fd >= 0) return fd;
        if (errno != EINTR) return system_error(e, path, "read");
        if (rules->stop && *rules->stop) return stopped(path, e);
    }
}

int base_file_read(const char *path, char **data, size_t *n, Err *e)
{
    int fd = base_file_open(path, &NO_RULES, e);
    if (fd < 0) return fd;
    int status = base_file_read_fd(fd, path, data, n, e);
    close(fd);
    return status;
}

int base_file_read_at(int fd, const char *shown, const FileRules *rules, size_t offset, void *to,
                      size_t n, Err *e)
{
    const From f = {fd, shown, rules, e};
    if (lseek(fd, (off_t)offset, SEEK_SET) < 0) return system_error(e, shown, "read");
    for (size_t done = 0; done < n;) {
        ssize_t got = read_some(&f, (char *)to + done, n - done);
        if (got < 0) return (int)got;
        if (got == 0)
            return base_err_set(e, SGL_EFILE, "%s: became shorter while it was read", shown);
        done += (size_t)got;
    }
    return SGL_OK;
}

/* ---- gzip */

/* The packed bytes that have been read and not yet taken. */
typedef struct Packed {
    From from;
    char *piece;
    size_t at, n;
    bool ended;
} Packed;

/* Is there a byte to take? Negative: an error. */
static int more(Packed *p)
{
    if (p->at < p->n) return 1;
    if (p->ended) return 0;
    ssize_t got = read_some(&p->from, p->piece, PIECE);
    if (got < 0) return (int)got;
    p->at = 0;
    p->n = (size_t)got;
    p->ended = got == 0;
    return got > 0;
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

static int too_large(const From *f)
{
    base_err_set(f->e, SGL_EFORMAT, "%s: unpacks to more than unpack_limit, %lld bytes", f->path,
                 (long long)f->rules->unpack_limit);
    base_err_hint(f->e, "if that is no mistake, set sgl.config.unpack_limit or SGL_UNPACK_LIMIT to "
                        "as many bytes, or unpack the file with gunzip");
    return SGL_EFORMAT;
}

/* Room for more, as far as the limit and one byte, by which more than it is seen. */
static int make_room(Buffer *out, const From *f)
{
    size_t limit = f->rules->unpack_limit ? (size_t)f->rules->unpack_limit : FILE_LIMIT - 1;
    if (out->n > limit) return too_large(f);
    if (out->n < out->cap) return SGL_OK;
    size_t cap = out->cap ? out->cap * 2 : PIECE;
    return buffer_reserve(out, cap < limit + 1 ? cap : limit + 1, f->path, f->e);
}

/* After a member: another one begins, or zeros pad the end. 1: another; 0: the end. */
static int next_member(Packed *p, z_stream *z)
{
    bool padded = false;
    int there;
    while ((there = more(p)) > 0 && p->piece[p->at] == 0) {
        p->at++;
        padded = true;
    }
    if (there > 0 && padded)
        return base_err_set(p->from.e, SGL_EFORMAT,
                            "%s: something follows the zeros at the end of "
                            "its gzip data",
                            p->from.path);
    if (there > 0) inflateReset(z);
    return there;
}

/* Unpacks one member after the other (RFC 1952 allows several). */
static int inflate_all(z_stream *z, Packed *p, Buffer *out)
{
    const From *f = &p->from;
    for (;;) {
        int status = more(p);
        if (status >= 0) status = make_room(out, f);
        if (status < 0) return status;
        uInt fed = at_most(p->n - p->at), room = at_most(out->cap - out->n);
        z->next_in = (Bytef *)p->piece + p->at;
        z->avail_in = fed;
        z->next_out = (Bytef *)(out->at + out->n);
        z->avail_out = room;
        int result = inflate(z, Z_NO_FLUSH);
        p->at += fed - z->avail_in;
        out->n += room - z->avail_out;
        if (result == Z_STREAM_END) {
            status = next_member(p, z);
            if (status == 0) status = make_room(out, f);
            if (status <= 0) return status;
        } else if (result != Z_OK) {
            return unpack_error(f->e, f->path, z, result, out->n);
        }
    }
}

static int unpack(Packed *p, Buffer *out)
{
    z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free};
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK) return no_memory(p->from.e, p->from.path, PIECE);
    int status = inflate_all(&z, p, out);
    inflateEnd(&z);
    return status;
}

/* The rest of a file whose first bytes have been read. */
static int read_rest(const Packed *p, Buffer *out)
{
    int status = buffer_reserve(out, PIECE, p->from.path, p->from.e);
    if (status < 0) return status;
    memcpy(out->at, p->piece, p->n);
    out->n = p->n;
    return p->ended ? SGL_OK : read_all(&p->from, out);
}

/* Reads until what it is can be told. */
static int read_first(Packed *p)
{
    while (p->n < MAGIC && !p->ended) {
        ssize_t got = read_some(&p->from, p->piece + p->n, PIECE - p->n);
        if (got < 0) return (int)got;
        p->n += (size_t)got;
        p->ended = got == 0;
    }
    return SGL_OK;
}

int base_file_unpack_fd(int fd, const char *shown, const FileRules *rules, char **data, size_t *n,
                        Err *e)
{
    Packed p = {.from = {fd, shown, rules, e}, .piece = base_mem_alloc(PIECE)};
    Buffer out = {0};
    int status = p.piece ? read_first(&p) : no_memory(e, shown, PIECE);
    if (status == SGL_OK && p.n >= MAGIC && memcmp(p.piece, "\x1f\x8b", MAGIC) == 0)
        status = unpack(&p, &out);
    else if (status == SGL_OK) status = read_rest(&p, &out);
    base_mem_free(p.piece);
    return finish(&out, status, data, n);
}

int base_file_read_gz(const char *path, const FileRules *rules, char **data, size_t *n, Err *e)
{
    int fd = base_file_open(path, rules, e);
    if (fd < 0) return fd;
    int status = base_file_unpack_fd(fd, path, rules, data, n, e);
    close(fd);
    return status;
}
