/* archive.c: named parts in one file, a zip, or in a folder.
 *
 * Holds: of libzip what is used here is declared here; its interface has been the same since 1.0.
 *        Dates in the zip are fixed.
 */
#include "io/archive.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/write.h"

enum { CREATE_NEW = 1 | 8, CHECK_READ = 4 | 16, STORE = 0, ENCODING_GUESS = 0 };
enum { HAS_SIZE = 4, HAS_METHOD = 64 };

typedef struct ZipStat {
    uint64_t valid;
    const char *name;
    uint64_t index, size, packed;
    time_t changed;
    uint32_t crc;
    uint16_t method, encryption;
    uint32_t flags;
} ZipStat;

typedef struct ZipError {
    int code, system;
    char *text;
} ZipError;

typedef struct Zip {
    void *(*open)(const char *path, int flags, int *code);
    int (*close)(void *zip);
    void (*discard)(void *zip);
    const char *(*error)(void *zip);
    void *(*source)(void *zip, const void *data, uint64_t bytes, int free_it);
    void (*source_free)(void *source);
    int64_t (*add)(void *zip, const char *name, void *source, uint32_t flags);
    int (*method)(void *zip, uint64_t index, int32_t method, uint32_t flags);
    int (*date)(void *zip, uint64_t index, time_t date, uint32_t flags);
    int64_t (*locate)(void *zip, const char *name, uint32_t flags);
    int (*stat)(void *zip, uint64_t index, uint32_t flags, ZipStat *out);
    void *(*part_open)(void *zip, uint64_t index, uint32_t flags);
    int64_t (*part_read)(void *part, void *to, uint64_t bytes);
    int (*part_close)(void *part);
    void (*error_init)(ZipError *e, int code);
    const char *(*error_text)(ZipError *e);
    void (*error_end)(ZipError *e);
} Zip;

/* libzip, found when the first bundle is read or written. NULL with the error set. */
static const Zip *library(Err *e)
{
    static const char *const FILES[] = {"libzip.so.5", "libzip.so.4", NULL};
    static const LibrarySymbol SYMBOLS[] = {
        {"zip_open", offsetof(Zip, open)},
        {"zip_close", offsetof(Zip, close)},
        {"zip_discard", offsetof(Zip, discard)},
        {"zip_strerror", offsetof(Zip, error)},
        {"zip_source_buffer", offsetof(Zip, source)},
        {"zip_source_free", offsetof(Zip, source_free)},
        {"zip_file_add", offsetof(Zip, add)},
        {"zip_set_file_compression", offsetof(Zip, method)},
        {"zip_file_set_mtime", offsetof(Zip, date)},
        {"zip_name_locate", offsetof(Zip, locate)},
        {"zip_stat_index", offsetof(Zip, stat)},
        {"zip_fopen_index", offsetof(Zip, part_open)},
        {"zip_fread", offsetof(Zip, part_read)},
        {"zip_fclose", offsetof(Zip, part_close)},
        {"zip_error_init_with_code", offsetof(Zip, error_init)},
        {"zip_error_strerror", offsetof(Zip, error_text)},
        {"zip_error_fini", offsetof(Zip, error_end)},
    };
    static const Library LIBRARY = {
        FILES, "a bundle in one file needs libzip",
        "install the package libzip4 (or libzip5), or use a folder: a name that ends in /", SYMBOLS,
        sizeof SYMBOLS / sizeof SYMBOLS[0]};
    static Zip zip;
    return zip.error_end || base_library_load(&LIBRARY, &zip, e) == SGL_OK ? &zip : NULL;
}

/* ---- writing */

static int add_part(const Zip *z, void *zip, const ArchivePart *p)
{
    static const time_t DATE = 315619200; /* 2 January 1980: a zip's dates begin there */
    void *source = z->source(zip, p->data, p->bytes, 0);
    int64_t index = source ? z->add(zip, p->name, source, 0) : -1;
    if (index < 0) {
        if (source) z->source_free(source);
        return -1;
    }
    return z->method(zip, (uint64_t)index, STORE, 0) < 0 ? -1
                                                         : z->date(zip, (uint64_t)index, DATE, 0);
}

static int open_failed(const Zip *z, const char *path, int code, Err *e)
{
    ZipError why;
    z->error_init(&why, code);
    base_err_set(e, code == 19 || code == 21 ? SGL_EFORMAT : SGL_EFILE, "%s: %s", path,
                 z->error_text(&why));
    z->error_end(&why);
    return e->code;
}

/* A new file, in place of the one that is there. */
static int write_zip(const char *path, const ArchivePart *parts, int n, Err *e)
{
    const Zip *z = library(e);
    int code = 0, status = 0;
    if (!z) return e->code;
    if (unlink(path) < 0 && errno != ENOENT)
        return base_err_set(e, SGL_EFILE, "%s: %s", path, strerror(errno));
    void *zip = z->open(path, CREATE_NEW, &code);
    if (!zip) return open_failed(z, path, code, e);
    for (int i = 0; i < n && status == 0; i++) status = add_part(z, zip, &parts[i]);
    if (status == 0) status = z->close(zip);
    if (status == 0) return SGL_OK;
    base_err_set(e, SGL_EFILE, "%s: %s", path, z->error(zip));
    z->discard(zip);
    return SGL_EFILE;
}

/* Each part as a file, which appears as a whole; others in the folder stay. */
static int write_folder(const char *path, const ArchivePart *parts, int n, Err *e)
{
    Str file = {0};
    int status = SGL_OK;
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return base_err_set(e, SGL_EFILE, "%s: %s", path, strerror(errno));
    for (int i = 0; i < n && status == SGL_OK; i++) {
        file.n = 0;
        base_str_fmt(&file, "%s%s", path, parts[i].name);
        if (file.failed) status = base_err_set(e, SGL_ENOMEM, "%s: out of memory", path);
        else status = base_file_write(file.at, parts[i].data, parts[i].bytes, e);
    }
    base_str_free(&file);
    return status;
}

static bool is_folder(const char *path)
{
    struct stat st;
    size_t n = strlen(path);
    return (n && path[n - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

int io_archive_write(const char *path, const ArchivePart *parts, int n, Err *e)
{
    size_t length = strlen(path);
    if (length && path[length - 1] == '/') return write_folder(path, parts, n, e);
    return write_zip(path, parts, n, e);
}

/* ---- reading */

static int keep(Archive *out, const char *name, char *data, size_t bytes, Err *e)
{
    if (vec_push(&out->parts, ((ArchivePart){name, data, bytes}))) return SGL_OK;
    base_mem_free(data);
    return base_err_set(e, SGL_ENOMEM, "out of memory for '%s'", name);
}

/* One part of a zip: stored, as long as it says, with the checksum that it says. */
static int read_part(const Zip *z, void *zip, const char *path, const char *name, Archive *out,
                     Err *e)
{
    struct stat file;
    ZipStat st = {0};
    int64_t index = z->locate(zip, name, ENCODING_GUESS);
    if (index < 0) return base_err_set(e, SGL_EFORMAT, "%s: there is no '%s' in it", path, name);
    if (z->stat(zip, (uint64_t)index, 0, &st) < 0 || !(st.valid & HAS_SIZE) ||
        !(st.valid & HAS_METHOD) || stat(path, &file) < 0)
        return base_err_set(e, SGL_EFORMAT, "%s: '%s': %s", path, name, z->error(zip));
    if (st.method != STORE) {
        base_err_set(e, SGL_EFORMAT, "%s: '%s' is compressed", path, name);
        base_err_hint(e, "parts of a bundle are stored as they are: pack it with zip -0");
        return SGL_EFORMAT;
    }
    if (st.size > (uint64_t)file.st_size)
        return base_err_set(e, SGL_EFORMAT, "%s: '%s' is longer than the file", path, name);
    char *data = base_mem_alloc((size_t)st.size + 1);
    if (!data) return base_err_set(e, SGL_ENOMEM, "%s: out of memory for '%s'", path, name);
    void *part = z->part_open(zip, (uint64_t)index, 0);
    int64_t got = part ? z->part_read(part, data, st.size + 1) : -1;
    if (part && z->part_close(part) != 0) got = -1;
    if (got != (int64_t)st.size) {
        base_mem_free(data);
        return base_err_set(e, SGL_EFORMAT, "%s: '%s' is damaged", path, name);
    }
    data[st.size] = 0;
    return keep(out, name, data, (size_t)st.size, e);
}

static int read_zip(const char *path, const char *const *names, int n, Archive *out, Err *e)
{
    const Zip *z = library(e);
    int code = 0, status = SGL_OK;
    if (!z) return e->code;
    void *zip = z->open(path, CHECK_READ, &code);
    if (!zip) return open_failed(z, path, code, e);
    for (int i = 0; i < n && status == SGL_OK; i++)
        status = read_part(z, zip, path, names[i], out, e);
    z->discard(zip);
    return status;
}

/* Each part as a file of the folder. */
static int read_folder(const char *path, const char *const *names, int n, Archive *out, Err *e)
{
    Str file = {0};
    int status = SGL_OK;
    for (int i = 0; i < n && status == SGL_OK; i++) {
        char *data = NULL;
        size_t bytes = 0;
        file.n = 0;
        base_str_fmt(&file, "%s/%s", path, names[i]);
        if (file.failed) status = base_err_set(e, SGL_ENOMEM, "%s: out of memory", path);
        else status = base_file_read(file.at, &data, &bytes, e);
        if (status == SGL_OK) status = keep(out, names[i], data, bytes, e);
    }
    base_str_free(&file);
    return status;
}

int io_archive_read(const char *path, const char *const *names, int n, Archive *out, Err *e)
{
    return is_folder(path) ? read_folder(path, names, n, out, e) : read_zip(path, names, n, out, e);
}

void io_archive_free(Archive *a)
{
    for (int i = 0; i < a->parts.n; i++) base_mem_free((void *)a->parts.at[i].data);
    vec_free(&a->parts);
}
