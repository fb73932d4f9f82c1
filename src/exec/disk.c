/* disk.c: reading and writing the entries, and making room for them.
 *
 * An entry is a line "sgl program 2 <tag> <bytes of key> <bytes of body>", the key, the body; the
 * tag is a hash, with the folder's key, of all that stands behind it.
 * Holds: the context's error is left alone. Files that another process removes meanwhile are as
 *        good as not there.
 */
#include "exec/disk.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "base/write.h"
#include "exec/context.h"
#include "obs/obs.h"

enum { HEAD_MAX = 96, ROOM_PERCENT = 90, HASH_DIGITS = 32, TAG_END = 30 };
static const char ENDING[] = ".sgl";
#define NAME_BYTES (HASH_DIGITS + sizeof ENDING)

static Disk *disk_of(Ctx *cx)
{
    ExecContext *slot = exec_context(cx);
    return slot ? &slot->disk : NULL;
}

static bool enabled(const Ctx *cx) { return base_knob_has(&cx->knobs, KNOB_enable, "disk"); }

/* ---- the folder */

const char *exec_disk_folder(Ctx *cx)
{
    Disk *d = disk_of(cx);
    if (!d || !enabled(cx)) return NULL;
    if (!d->folder) {
        d->folder = exec_folder_find(cx);
        d->total = -1;
    }
    return d->folder;
}

void exec_disk_forget(Ctx *cx)
{
    Disk *d = disk_of(cx);
    if (!d) return;
    base_mem_free(d->folder);
    d->folder = NULL;
    *d->stats.refused = 0;
}

/* The folder's descriptor, or -1; the first time that one is not trusted, this is told. */
static int open_folder(Ctx *cx, bool make)
{
    const char *path = exec_disk_folder(cx);
    Disk *d = disk_of(cx);
    bool told = d && *d->stats.refused;
    int folder = path ? exec_folder_open(path, make, d->stats.refused) : -1;
    if (folder < 0 && path && *d->stats.refused && !told)
        obs_event(cx, OBS_cache_refused, -1, OBS_TEXT("path", path),
                  OBS_TEXT("reason", d->stats.refused));
    return folder;
}

static void entry_name(const void *key, size_t n, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%016llx%016llx%s", (unsigned long long)base_hash(1, key, n),
             (unsigned long long)base_hash(2, key, n), ENDING);
}

/* ---- entries */

static void remove_damaged(Ctx *cx, int folder, const char *name, const char *reason)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.3500s/%s", disk_of(cx)->folder, name);
    disk_of(cx)->stats.damaged++;
    unlinkat(folder, name, 0);
    obs_event(cx, OBS_cache_damaged, -1, OBS_TEXT("path", path), OBS_TEXT("reason", reason));
}

/* The first line of an entry; the length of the line. */
static int put_head(char *to, uint64_t tag, size_t key_bytes, size_t body_bytes)
{
    return snprintf(to, HEAD_MAX, "sgl program 2 %016llx %zu %zu\n", (unsigned long long)tag,
                    key_bytes, body_bytes);
}

/* Of all that stands behind it, with the blank before. */
static uint64_t tag_of(const MacKey *mac, const char *file, size_t bytes)
{
    return base_mac(mac, file + TAG_END, bytes - TAG_END);
}

/* Other spellings of the same numbers, such as capitals, are nothing that is written here. */
static bool is_head(const char *file, size_t bytes, uint64_t tag, size_t key_bytes,
                    size_t body_bytes)
{
    char head[HEAD_MAX];
    size_t n = (size_t)put_head(head, tag, key_bytes, body_bytes);
    return n <= bytes && memcmp(file, head, n) == 0;
}

/* The body inside the file's bytes, or NULL with the reason; no reason: another key's entry. */
static const char *find_body(const char *file, size_t bytes, const MacKey *mac, const void *key,
                             size_t n, size_t *size, const char **reason)
{
    unsigned long long tag, key_bytes, body_bytes;
    int head = 0;
    *reason = "not an entry";
    if (sscanf(file, "sgl program 2 %16llx %llu %llu%n", &tag, &key_bytes, &body_bytes, &head) != 3)
        return NULL;
    if (!is_head(file, bytes, tag, (size_t)key_bytes, (size_t)body_bytes)) return NULL;
    head++; /* the end of the line */
    *reason = "of another length than it says";
    if (key_bytes > bytes || body_bytes > bytes ||
        (size_t)head + (size_t)key_bytes + (size_t)body_bytes != bytes)
        return NULL;
    *reason = "damaged, or not written by this user in this folder";
    if (tag_of(mac, file, bytes) != tag) return NULL;
    *reason = NULL;
    if (key_bytes != n || memcmp(file + head, key, n) != 0) return NULL;
    *size = (size_t)body_bytes;
    return file + head + key_bytes;
}

/* Opens an entry; only a file of a size that is written is read: a pipe would wait for ever, a
 * device not end. A file of several names may be one of the user's own. */
static int open_entry(Ctx *cx, int folder, const char *name)
{
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno != ELOOP && errno != ENXIO) return -1;
    bool plain = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
                 st.st_uid == geteuid();
    if (!plain) remove_damaged(cx, folder, name, "no file of its own");
    if (plain && st.st_size <= cx->knobs.value[KNOB_cache_size_limit]) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* The body of the entry in a trusted folder. */
static char *read_entry(Ctx *cx, int folder, const void *key, size_t n, size_t *size)
{
    char name[NAME_BYTES], *file, *body = NULL;
    const char *reason = NULL, *at = NULL;
    size_t bytes;
    MacKey mac;
    Err e = {0};
    entry_name(key, n, name);
    int fd = exec_folder_key(folder, false, &mac) ? open_entry(cx, folder, name) : -1;
    if (fd < 0) return NULL;
    if (base_file_read_fd(fd, name, &file, &bytes, &e) == SGL_OK) {
        at = find_body(file, bytes, &mac, key, n, size, &reason);
        if (at) body = memmove(file, at, *size + 1); /* with the 0 behind it */
        else base_mem_free(file);
        if (reason) remove_damaged(cx, folder, name, reason);
        if (at) (void)futimens(fd, NULL);
    }
    close(fd);
    return body;
}

char *exec_disk_read(Ctx *cx, const void *key, size_t n, size_t *size)
{
    int folder = open_folder(cx, false);
    Disk *d = disk_of(cx);
    if (!d) return NULL;
    char *body = folder >= 0 ? read_entry(cx, folder, key, n, size) : NULL;
    if (folder >= 0) close(folder);
    if (body) d->stats.hits++;
    else d->stats.misses++;
    return body;
}

void exec_disk_damaged(Ctx *cx, const void *key, size_t n, const char *reason)
{
    char name[NAME_BYTES];
    int folder = open_folder(cx, false);
    if (folder < 0) return;
    entry_name(key, n, name);
    remove_damaged(cx, folder, name, reason);
    close(folder);
}

/* ---- making room */

typedef struct Found {
    char name[NAME_BYTES];
    int64_t bytes;
    struct timespec used;
} Found;
typedef VEC(Found) FoundList;

/* Is that the name of an entry? The folder may be somebody's own, with files of theirs that end in
 * .sgl. */
static bool is_entry(const char *name)
{
    return strspn(name, "0123456789abcdef") == HASH_DIGITS &&
           strcmp(name + HASH_DIGITS, ENDING) == 0;
}

/* Lists the entries. One from the future goes first: it would otherwise stay for ever. */
static bool list_entries(int folder, FoundList *list)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0) close(fd);
        return false;
    }
    bool room = true;
    time_t now = time(NULL);
    const struct timespec never = {0};
    for (struct dirent *item; room && (item = readdir(dir));) {
        struct stat st;
        Found f;
        if (!is_entry(item->d_name) || fstatat(fd, item->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        strcpy(f.name, item->d_name);
        f.bytes = (int64_t)st.st_size;
        f.used = st.st_mtim.tv_sec > now ? never : st.st_mtim;
        room = vec_push(list, f);
    }
    closedir(dir);
    return room;
}

static int oldest_first(const void *a, const void *b)
{
    const struct timespec *x = &((const Found *)a)->used, *y = &((const Found *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static int64_t sum_of(const FoundList *list)
{
    int64_t bytes = 0;
    for (int i = 0; i < list->n; i++) bytes += list->at[i].bytes;
    return bytes;
}

static void trim(Disk *d, int folder, int64_t limit)
{
    FoundList list = {0};
    if (list_entries(folder, &list)) {
        if (list.n) qsort(list.at, (size_t)list.n, sizeof *list.at, oldest_first);
        d->total = sum_of(&list);
        for (int i = 0; i < list.n && d->total > limit; i++) {
            if (unlinkat(folder, list.at[i].name, 0) == 0) d->stats.evictions++;
            d->total -= list.at[i].bytes;
        }
    }
    vec_free(&list);
}

void exec_disk_trim(Ctx *cx, int64_t limit)
{
    int folder = open_folder(cx, false);
    if (folder < 0) return;
    trim(disk_of(cx), folder, limit);
    close(folder);
}

/* The whole file of an entry. */
static void put_entry(Str *file, const MacKey *mac, const void *key, size_t n, const void *body,
                      size_t size)
{
    char head[HEAD_MAX];
    base_str_add(file, head, (size_t)put_head(head, 0, n, size));
    base_str_add(file, key, n);
    base_str_add(file, body, size);
    if (file->failed) return;
    put_head(head, tag_of(mac, file->at, file->n), n, size);
    memcpy(file->at, head, TAG_END);
}

static bool write_entry(int folder, const void *key, size_t n, const Str *file)
{
    char name[NAME_BYTES];
    FileWrite w;
    Err e = {0};
    entry_name(key, n, name);
    if (base_write_begin_in(&w, folder, name, 0600, name, &e) < 0) return false;
    base_write_put(&w, file->at, file->n);
    return base_write_end_quick(&w, &e) == SGL_OK;
}

void exec_disk_write(Ctx *cx, const void *key, size_t n, const void *body, size_t size)
{
    int folder = open_folder(cx, true);
    Disk *d = disk_of(cx);
    Str file = {0};
    MacKey mac;
    if (!d) return;
    int64_t limit = cx->knobs.value[KNOB_cache_size_limit];
    bool known = folder >= 0 && exec_folder_key(folder, true, &mac);
    if (known) put_entry(&file, &mac, key, n, body, size);
    bool fits = known && !file.failed && (int64_t)file.n <= limit;
    if (fits && write_entry(folder, key, n, &file)) {
        d->stats.stores++;
        if (d->total >= 0) d->total += (int64_t)file.n;
    } else {
        d->stats.failures++;
    }
    base_str_free(&file);
    if (folder < 0) return;
    if (d->total < 0) trim(d, folder, limit);
    else if (d->total > limit) trim(d, folder, limit / 100 * ROOM_PERCENT);
    close(folder);
}

DiskStats exec_disk_stats(Ctx *cx)
{
    int folder = open_folder(cx, false);
    const Disk *d = disk_of(cx);
    FoundList list = {0};
    DiskStats s = d ? d->stats : (DiskStats){0};
    if (folder >= 0 && list_entries(folder, &list)) {
        s.entries = list.n;
        s.bytes = sum_of(&list);
    }
    if (folder >= 0) close(folder);
    vec_free(&list);
    return s;
}
