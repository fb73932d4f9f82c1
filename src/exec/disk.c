/* disk.c: reading and writing the entries, and making room for them.
 *
 * An entry is a line "sgl program 1 <checksum> <bytes of key> <bytes of body>", the key, the body.
 * Holds: the context's error is left alone. Files that another process removes meanwhile are as
 *        good as not there. Parts that a killed process left behind go once they are old.
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
#include "exec/context.h"
#include "obs/obs.h"

enum { HEAD_MAX = 96, PART_SECONDS = 600, ROOM_PERCENT = 90, HASH_DIGITS = 32 };
static const char ENDING[] = ".sgl", PART[] = ".part";

static Disk *disk_of(Ctx *cx)
{
    ExecContext *slot = exec_context(cx);
    return slot ? &slot->disk : NULL;
}

bool exec_disk_enabled(Ctx *cx) { return base_knob_has(&cx->knobs, KNOB_enable, "disk"); }

/* ---- the folder */

static char *find_folder(const Ctx *cx)
{
    const char *named = cx->knobs.text[KNOB_cache_dir], *base = getenv("XDG_CACHE_HOME");
    char path[PATH_MAX];
    int n = 0;
    if (named) n = snprintf(path, sizeof path, "%s", named);
    else if (base && *base == '/') n = snprintf(path, sizeof path, "%s/sgl", base);
    else if ((base = getenv("HOME")) && *base)
        n = snprintf(path, sizeof path, "%s/.cache/sgl", base);
    if (n <= 0 || n >= (int)sizeof path) return NULL;
    char *copy = base_mem_alloc((size_t)n + 1);
    return copy ? memcpy(copy, path, (size_t)n + 1) : NULL;
}

/* Makes the folder and those above it, for this user alone. */
static bool make_folder(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        (void)mkdir(path, 0700);
        *at = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

const char *exec_disk_folder(Ctx *cx)
{
    Disk *d = disk_of(cx);
    if (!d || !exec_disk_enabled(cx)) return NULL;
    if (!d->folder) {
        d->folder = find_folder(cx);
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
}

/* False: there is no folder, or its name is too long. */
static bool entry_path(Ctx *cx, const void *key, size_t n, char *path)
{
    const char *folder = exec_disk_folder(cx);
    if (!folder) return false;
    int length = snprintf(path, PATH_MAX, "%s/%016llx%016llx%s", folder,
                          (unsigned long long)base_hash(1, key, n),
                          (unsigned long long)base_hash(2, key, n), ENDING);
    return length > 0 && length < PATH_MAX;
}

/* ---- entries */

static uint64_t checksum(const void *key, size_t n, const void *body, size_t size)
{
    return base_hash(base_hash(n, key, n), body, size);
}

static void remove_damaged(Ctx *cx, const char *path, const char *reason)
{
    disk_of(cx)->stats.damaged++;
    unlink(path);
    obs_event(cx, OBS_cache_damaged, -1, OBS_TEXT("path", path), OBS_TEXT("reason", reason));
}

/* The first line of an entry; the length of the line. */
static int put_head(char *to, uint64_t sum, size_t key_bytes, size_t body_bytes)
{
    return snprintf(to, HEAD_MAX, "sgl program 1 %016llx %zu %zu\n", (unsigned long long)sum,
                    key_bytes, body_bytes);
}

/* Other spellings of the same numbers, such as capitals, are nothing that is written here. */
static bool is_head(const char *file, size_t bytes, uint64_t sum, size_t key_bytes,
                    size_t body_bytes)
{
    char head[HEAD_MAX];
    size_t n = (size_t)put_head(head, sum, key_bytes, body_bytes);
    return n <= bytes && memcmp(file, head, n) == 0;
}

/* The body inside the file's bytes, or NULL with the reason; no reason: another key's entry. */
static const char *find_body(const char *file, size_t bytes, const void *key, size_t n,
                             size_t *size, const char **reason)
{
    unsigned long long sum, key_bytes, body_bytes;
    int head = 0;
    *reason = "not an entry";
    if (sscanf(file, "sgl program 1 %16llx %llu %llu%n", &sum, &key_bytes, &body_bytes, &head) != 3)
        return NULL;
    if (!is_head(file, bytes, sum, (size_t)key_bytes, (size_t)body_bytes)) return NULL;
    head++; /* the end of the line */
    *reason = "of another length than it says";
    if (key_bytes > bytes || body_bytes > bytes ||
        (size_t)head + (size_t)key_bytes + (size_t)body_bytes != bytes)
        return NULL;
    const char *its_key = file + head, *body = its_key + key_bytes;
    *reason = "the checksum differs";
    if (checksum(its_key, (size_t)key_bytes, body, (size_t)body_bytes) != sum) return NULL;
    *reason = NULL;
    if (key_bytes != n || memcmp(its_key, key, n) != 0) return NULL;
    *size = (size_t)body_bytes;
    return body;
}

/* Only a file of a size that is written is read: a pipe would wait for ever, a device not end. */
static bool is_readable(Ctx *cx, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return false;
    if (!S_ISREG(st.st_mode)) remove_damaged(cx, path, "no file");
    return S_ISREG(st.st_mode) && st.st_size <= cx->knobs.value[KNOB_cache_size_limit];
}

char *exec_disk_read(Ctx *cx, const void *key, size_t n, size_t *size)
{
    char path[PATH_MAX], *file, *body = NULL;
    const char *reason = NULL, *at = NULL;
    size_t bytes;
    Err e = {0};
    if (!entry_path(cx, key, n, path)) return NULL;
    Disk *d = disk_of(cx);
    if (is_readable(cx, path) && base_file_read(path, &file, &bytes, &e) == SGL_OK) {
        at = find_body(file, bytes, key, n, size, &reason);
        if (at) body = memmove(file, at, *size + 1); /* with the 0 behind it */
        else base_mem_free(file);
        if (reason) remove_damaged(cx, path, reason);
        if (at) (void)utimensat(AT_FDCWD, path, NULL, 0);
    }
    if (body) d->stats.hits++;
    else d->stats.misses++;
    return body;
}

void exec_disk_damaged(Ctx *cx, const void *key, size_t n, const char *reason)
{
    char path[PATH_MAX];
    if (entry_path(cx, key, n, path)) remove_damaged(cx, path, reason);
}

/* ---- making room */

typedef struct Found {
    char name[HASH_DIGITS + sizeof ENDING];
    int64_t bytes;
    struct timespec used;
} Found;
typedef VEC(Found) FoundList;

/* Is that the name of an entry, followed by `more`, or by anything if that is NULL? The folder may
 * be somebody's own, with files of theirs that end in .sgl or .part. */
static bool is_named(const char *name, const char *more)
{
    if (strspn(name, "0123456789abcdef") != HASH_DIGITS) return false;
    name += HASH_DIGITS;
    if (strncmp(name, ENDING, sizeof ENDING - 1) != 0) return false;
    return !more || strcmp(name + sizeof ENDING - 1, more) == 0;
}

static bool is_part(const char *name)
{
    size_t n = strlen(name), m = sizeof PART - 1;
    return is_named(name, NULL) && strcmp(name + n - m, PART) == 0;
}

/* Lists the entries, and removes old parts. */
static bool list_entries(const char *folder, FoundList *list)
{
    DIR *dir = opendir(folder);
    if (!dir) return false;
    bool room = true;
    time_t now = time(NULL);
    for (struct dirent *item; room && (item = readdir(dir));) {
        struct stat st;
        Found f;
        bool entry = is_named(item->d_name, ""), part = is_part(item->d_name);
        if ((!entry && !part) || fstatat(dirfd(dir), item->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (part && now - st.st_mtime > PART_SECONDS) unlinkat(dirfd(dir), item->d_name, 0);
        if (!entry) continue;
        strcpy(f.name, item->d_name);
        f.bytes = (int64_t)st.st_size;
        f.used = st.st_mtim;
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

void exec_disk_trim(Ctx *cx, int64_t limit)
{
    const char *folder = exec_disk_folder(cx);
    FoundList list = {0};
    if (!folder) return;
    Disk *d = disk_of(cx);
    if (list_entries(folder, &list)) {
        if (list.n) qsort(list.at, (size_t)list.n, sizeof *list.at, oldest_first);
        d->total = sum_of(&list);
        for (int i = 0; i < list.n && d->total > limit; i++) {
            char path[PATH_MAX];
            if (snprintf(path, sizeof path, "%s/%s", folder, list.at[i].name) >= PATH_MAX) break;
            if (unlink(path) == 0) d->stats.evictions++;
            d->total -= list.at[i].bytes;
        }
    }
    vec_free(&list);
}

void exec_disk_write(Ctx *cx, const void *key, size_t n, const void *body, size_t size)
{
    char path[PATH_MAX], head[HEAD_MAX];
    Str file = {0};
    Err e = {0};
    if (!entry_path(cx, key, n, path)) return;
    Disk *d = disk_of(cx);
    int64_t limit = cx->knobs.value[KNOB_cache_size_limit];
    base_str_add(&file, head, (size_t)put_head(head, checksum(key, n, body, size), n, size));
    base_str_add(&file, key, n);
    base_str_add(&file, body, size);
    bool fits = !file.failed && (int64_t)file.n <= limit && make_folder(d->folder);
    if (fits && base_file_write_quick(path, file.at, file.n, &e) == SGL_OK) {
        d->stats.stores++;
        if (d->total >= 0) d->total += (int64_t)file.n;
    } else {
        d->stats.failures++;
    }
    base_str_free(&file);
    if (d->total < 0) exec_disk_trim(cx, limit);
    else if (d->total > limit) exec_disk_trim(cx, limit / 100 * ROOM_PERCENT);
}

DiskStats exec_disk_stats(Ctx *cx)
{
    const char *folder = exec_disk_folder(cx);
    const Disk *d = disk_of(cx);
    FoundList list = {0};
    DiskStats s = d ? d->stats : (DiskStats){0};
    if (folder && list_entries(folder, &list)) {
        s.entries = list.n;
        s.bytes = sum_of(&list);
    }
    vec_free(&list);
    return s;
}
