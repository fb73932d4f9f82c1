/* source.c: see source.h.
 */
#include "io/source.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"

enum { FIRST = 1 << 16, MAGIC = 2 };

static int no_memory(const FileSource *s, size_t bytes, Err *e)
{
    return base_err_set(e, SGL_ENOMEM, "%s: out of memory for %zu bytes", s->name, bytes);
}

/* Makes at least so many bytes of the beginning be there. */
static int need(FileSource *s, size_t bytes, Err *e)
{
    if (bytes > s->n) bytes = s->n;
    if (bytes <= s->have) return SGL_OK;
    char *at = base_mem_resize(s->bytes, bytes);
    if (!at) return no_memory(s, bytes, e);
    s->bytes = at;
    int status =
        base_file_read_at(s->fd, s->name, &s->rules, s->have, at + s->have, bytes - s->have, e);
    if (status == SGL_OK) s->have = bytes;
    return status;
}

static int read_whole(FileSource *s, Err *e)
{
    int status = base_file_unpack_fd(s->fd, s->name, &s->rules, &s->bytes, &s->n, e);
    s->have = s->n;
    close(s->fd);
    s->fd = -1;
    return status;
}

int io_source_open(FileSource *s, const char *path, FileRules rules, Err *e)
{
    struct stat st;
    char magic[MAGIC];
    *s = (FileSource){.name = path, .rules = rules, .own = true};
    s->fd = base_file_open(path, &rules, e);
    if (s->fd < 0) return e->code;
    if (fstat(s->fd, &st) != 0)
        return base_err_set(e, SGL_EFILE, "%s: cannot read: %s", path, strerror(errno));
    bool packed = pread(s->fd, magic, MAGIC, 0) == MAGIC && memcmp(magic, "\x1f\x8b", MAGIC) == 0;
    if (packed || !S_ISREG(st.st_mode) || st.st_size <= 0) return read_whole(s, e);
    s->n = (size_t)st.st_size;
    return need(s, FIRST, e);
}

void io_source_of(FileSource *s, const char *name, const void *bytes, size_t n)
{
    *s = (FileSource){.name = name, .bytes = (char *)(uintptr_t)bytes, .n = n, .fd = -1};
    s->have = n;
}

/* Only the format knows how long its head is, and asks for more of it until it has it. */
int io_source_describe(FileSource *s, const Format *f, FileArrays *out, Err *e)
{
    for (;;) {
        int status = f->load(s->bytes, s->have, s->n, s->name, out, e);
        if (status < 0 || out->need <= s->have || s->have == s->n) return status;
        size_t more = out->need;
        io_format_free(out);
        status = need(s, more, e);
        if (status < 0) return status;
    }
}

/* By the format's own function, from bytes in memory. */
static int convert(const FileSource *s, const FileArray *a, void *to, Err *e)
{
    FileArray with = *a;
    char *bytes = base_mem_alloc(a->bytes + 1);
    if (!bytes) return no_memory(s, a->bytes, e);
    int status = base_file_read_at(s->fd, s->name, &s->rules, a->offset, bytes, a->bytes, e);
    with.data = bytes;
    if (status == SGL_OK) a->read(&with, to);
    base_mem_free(bytes);
    return status;
}

static int fetch(const FileSource *s, const FileArray *a, void *to, Err *e)
{
    if (s->fd >= 0 && a->read) return convert(s, a, to, e);
    if (s->fd >= 0) return base_file_read_at(s->fd, s->name, &s->rules, a->offset, to, a->bytes, e);
    FileArray with = *a;
    with.data = s->bytes + a->offset;
    if (a->read) a->read(&with, to);
    else if (a->bytes) memcpy(to, with.data, a->bytes);
    return SGL_OK;
}

int io_source_read(const FileSource *s, const FileArray *a, void *to, Err *e)
{
    uint8_t *flag = to;
    int status = fetch(s, a, to, e);
    for (size_t i = 0; a->dtype == DT_bool && status == SGL_OK && i < a->bytes; i++)
        flag[i] = flag[i] != 0;
    return status;
}

void io_source_close(FileSource *s)
{
    if (s->own && s->fd >= 0) close(s->fd);
    if (s->own) base_mem_free(s->bytes);
    *s = (FileSource){.fd = -1};
}
