/* limit.h: how many threads this process can use at once, and which limit says so: processors that
 * it may run on (affinity), or a quota of time of its control groups (version 1 and 2, of all
 * groups above it too). */
#ifndef SGL_BASE_LIMIT_H
#define SGL_BASE_LIMIT_H
#include <stdint.h>

typedef struct Limit {
    int threads;      /* at least 1; a quota of 7.65 processors is 7 */
    char source[200]; /* "affinity: 4 processors", "cpu.max of /sys/fs/cgroup/…: 2.00" */
} Limit;

/* Files are read below `root`, which is "" but in specs. */
Limit base_limit_threads(const char *root);
/* Bytes that this process can still get, by its control groups and the machine; -1: unknown. */
int64_t base_limit_memory(const char *root);
#endif
