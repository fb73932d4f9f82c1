/* limit.c: see limit.h.
 *
 * In:    /proc/self/cgroup, a line "id:controllers:path" a hierarchy, none named for version 2; the
 *        files of these groups under /sys/fs/cgroup.
 * Holds: a file that is not there limits nothing. A container sees its own group as the root, so a
 *        path that leads nowhere is tried further up, to the root.
 */
#include "base/limit.h"
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_CAP = 1024 };

/* A file of a group that limits something. */
typedef struct File {
    const char *controller;   /* of version 1; NULL: version 2 */
    const char *mount;        /* where its hierarchy is */
    const char *name, *other; /* the limit; what belongs to it in a second file, or NULL */
} File;

static const File QUOTAS[] = {
    {NULL, "/sys/fs/cgroup", "cpu.max", NULL},
    {NULL, "/sys/fs/cgroup/unified", "cpu.max", NULL},
    {"cpu", "/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us"},
    {"cpu", "/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", "cpu.cfs_period_us"},
};
static const File MEMORY[] = {
    {NULL, "/sys/fs/cgroup", "memory.max", "memory.current"},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
};

/* The numbers at the beginning of a file; returns how many, up to 2. "max" is none. */
static int read_numbers(const char *path, double out[2])
{
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    int n = fscanf(f, "%lf %lf", &out[0], &out[1]);
    fclose(f);
    return n > 0 ? n : 0;
}

/* Is the controller among those of a line, "cpu,cpuacct"? */
static bool names(const char *controllers, const char *one)
{
    size_t n = strlen(one);
    for (const char *at = controllers; (at = strstr(at, one)); at += n)
        if ((at == controllers || at[-1] == ',') && (at[n] == 0 || at[n] == ',')) return true;
    return false;
}

/* The path of this process's group for a file's controller; false: it has none. */
static bool group_of(const char *root, const File *file, char *out, size_t size)
{
    char path[PATH_CAP], line[PATH_CAP];
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        found = file->controller ? names(controllers + 1, file->controller) : !controllers[1];
        if (found) snprintf(out, size, "%s", strcmp(group, "/") == 0 ? "" : group);
    }
    if (f) fclose(f);
    return found;
}

typedef void (*Visit)(const File *file, const char *folder, void *to);

/* Calls visit for the group and all above it, by the folder that they are. */
static void each_group(const char *root, const File *file, Visit visit, void *to)
{
    char group[PATH_CAP / 2], folder[PATH_CAP];
    if (!group_of(root, file, group, sizeof group)) return;
    for (;;) {
        snprintf(folder, sizeof folder, "%s%s%s", root, file->mount, group);
        visit(file, folder, to);
        char *last = strrchr(group, '/');
        if (!last) return;
        *last = 0;
    }
}

/* ---- threads */

/* Version 2 has quota and period in one file, version 1 in two. */
static void look_at_quota(const File *file, const char *folder, void *to)
{
    Limit *l = to;
    char path[PATH_CAP + 64];
    double v[2] = {-1, 0}, period[2];
    snprintf(path, sizeof path, "%s/%s", folder, file->name);
    int n = read_numbers(path, v);
    if (n && file->other) {
        snprintf(path, sizeof path, "%s/%s", folder, file->other);
        n += read_numbers(path, period) ? 1 : 0;
        v[1] = period[0];
    }
    if (n < 2 || v[0] <= 0 || v[1] <= 0 || v[0] / v[1] >= l->threads) return;
    l->threads = v[0] / v[1] < 1 ? 1 : (int)(v[0] / v[1]);
    snprintf(l->source, sizeof l->source, "%s of %.120s: %.2f", file->name, folder, v[0] / v[1]);
}

Limit base_limit_threads(const char *root)
{
    Limit l = {.threads = 1};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    l.threads = cores > 0 && cores < INT_MAX ? (int)cores : 1;
    snprintf(l.source, sizeof l.source, "the machine: %d processors", l.threads);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < l.threads) {
        l.threads = CPU_COUNT(&set);
        snprintf(l.source, sizeof l.source, "affinity: %d processors", l.threads);
    }
    for (size_t i = 0; i < sizeof QUOTAS / sizeof *QUOTAS; i++)
        each_group(root, &QUOTAS[i], look_at_quota, &l);
    return l;
}

/* ---- memory */

static void look_at_memory(const File *file, const char *folder, void *to)
{
    int64_t *least = to;
    char path[PATH_CAP + 64];
    double most[2], used[2];
    snprintf(path, sizeof path, "%s/%s", folder, file->name);
    if (!read_numbers(path, most) || most[0] > 1e18) return;
    snprintf(path, sizeof path, "%s/%s", folder, file->other);
    if (!read_numbers(path, used)) return;
    int64_t left = most[0] > used[0] ? (int64_t)(most[0] - used[0]) : 0;
    if (*least < 0 || left < *least) *least = left;
}

int64_t base_limit_memory(const char *root)
{
    char path[PATH_CAP], line[256];
    int64_t least = -1;
    long long kilobytes;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *f = fopen(path, "re");
    while (f && least < 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lld", &kilobytes) == 1) least = kilobytes << 10;
    if (f) fclose(f);
    for (size_t i = 0; i < sizeof MEMORY / sizeof *MEMORY; i++)
        each_group(root, &MEMORY[i], look_at_memory, &least);
    return least;
}
