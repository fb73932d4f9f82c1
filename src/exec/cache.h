/* cache.h: programs in memory, found by the exact key of what they were made of.
 *
 * Programs of pending operations belong to the cache. Captured ones are shared by their holders:
 * when the cache makes room, a held program is freed but its graph stays, and the program is made
 * again at its next use.
 * Holds: the bytes of programs and keys stay within the knob cache_size_limit, but for the one used
 *        last, which always stays; the least recently used go first. Without the component `cache`
 *        nothing is found, and only the program used last and held ones stay.
 */
#ifndef SGL_EXEC_CACHE_H
#define SGL_EXEC_CACHE_H
#include "exec/program.h"
#include "obs/samples.h"

typedef struct Cache Cache;
typedef struct CacheEntry CacheEntry;
typedef enum CacheKind { CACHE_PENDING, CACHE_CAPTURED } CacheKind;

typedef struct CacheStats {
    int64_t hits, misses, evictions;
    int64_t refaults;          /* programs made again after they were evicted */
    int64_t bytes, entries;    /* of programs that are there */
    int64_t held;              /* held graphs whose programs were evicted */
    int64_t wanted_bytes;      /* what the programs evicted and not forgotten held */
    const ObsSamples *lookups, *compiles;
} CacheStats;

Cache *exec_cache_new(Ctx *cx);                  /* the one of the context, for settings.c */
void exec_cache_clear(Cache *c);                 /* programs; held graphs stay */
void exec_cache_trim(Cache *c);                  /* the limit has changed */
void exec_cache_free(Cache *c);
CacheStats exec_cache_stats(const Cache *c);

/* While a program of the cache runs, what it calls (a print) may use the cache; nothing is freed
 * until the run ended. Runs may nest. */
void exec_cache_run_begin(Cache *c);
void exec_cache_run_end(Cache *c);

/* NULL: not there. */
Program *exec_cache_find(Cache *c, const void *key, size_t n);
/* Takes p, made in so many seconds and holding so many bytes. SGL_ENOMEM: p is freed. */
int exec_cache_add(Cache *c, const void *key, size_t n, Program *p, int64_t bytes, double seconds);

/* Of a captured graph: NULL: not there; else it has one holder more. */
CacheEntry *exec_cache_hold(Cache *c, const void *key, size_t n);
CacheEntry *exec_cache_add_held(Cache *c, const void *key, size_t n, Program *p, int64_t bytes,
                                double seconds);
/* One holder less. `drop`: free the program if that was the last; else it waits for its turn. */
void exec_cache_release(Cache *c, CacheEntry *e, bool drop);
Program *exec_cache_program(Cache *c, CacheEntry *e);      /* marks it used; NULL: evicted */
const Graph *exec_cache_graph(const CacheEntry *e);        /* the captured one, also then */
/* The evicted program, made again. */
void exec_cache_refill(Cache *c, CacheEntry *e, Program *p, int64_t bytes, double seconds);
#endif
