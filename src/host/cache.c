/* cache.c: compiled programs of pending operations, found by the exact key of their graph.
 *
 * Holds: one entry for a hash; a hit compares the whole key. The knob cache_size_limit bounds the
 *        bytes of programs and keys; the least recently used go first, the newest always stays.
 */
#include <string.h>
#include "exec/program.h"
#include "host/trace.h"

typedef struct Entry {
    uint64_t hash, used;
    int64_t *key, bytes;
    int n;
    Program *program;
} Entry;

struct Cache {
    VEC(Entry) entries;
    Map by_hash; /* index in entries */
    uint64_t clock;
    int64_t bytes;
};

Cache *host_cache_new(void) { return base_mem_zero(1, sizeof(Cache)); }

static void entry_free(Entry *e)
{
    exec_program_free(e->program);
    base_mem_free(e->key);
}

void host_cache_clear(Cache *c)
{
    for (int i = 0; i < c->entries.n; i++) entry_free(&c->entries.at[i]);
    c->entries.n = 0;
    c->bytes = 0;
    base_map_clear(&c->by_hash);
}

void host_cache_free(Cache *c)
{
    if (!c) return;
    host_cache_clear(c);
    vec_free(&c->entries);
    base_map_free(&c->by_hash);
    base_mem_free(c);
}

Program *host_cache_find(Cache *c, const int64_t *key, int n)
{
    uint64_t index;
    if (!base_map_get(&c->by_hash, base_hash(0, key, n * sizeof *key), &index)) return NULL;
    Entry *e = &c->entries.at[index];
    if (e->n != n || memcmp(e->key, key, n * sizeof *key) != 0) return NULL;
    e->used = ++c->clock;
    return e->program;
}

/* The last entry takes the place of the one removed. */
static void cache_remove(Cache *c, int index)
{
    Entry *e = &c->entries.at[index];
    c->bytes -= e->bytes;
    base_map_remove(&c->by_hash, e->hash);
    entry_free(e);
    *e = vec_pop(&c->entries);
    if (index < c->entries.n) base_map_set(&c->by_hash, e->hash, (uint64_t)index);
}

static void cache_trim(Cache *c, int64_t limit)
{
    while (c->bytes > limit && c->entries.n > 1) {
        int oldest = 0;
        for (int i = 1; i < c->entries.n; i++)
            if (c->entries.at[i].used < c->entries.at[oldest].used) oldest = i;
        cache_remove(c, oldest);
    }
}

int host_cache_add(Ctx *cx, Cache *c, const int64_t *key, int n, Program *p, int64_t bytes)
{
    size_t size = n * sizeof *key;
    Entry e = {.hash = base_hash(0, key, size),
               .used = ++c->clock,
               .n = n,
               .program = p,
               .key = base_mem_alloc(size)};
    uint64_t old;
    if (base_map_get(&c->by_hash, e.hash, &old)) cache_remove(c, (int)old);
    if (!e.key || !vec_reserve(&c->entries, c->entries.n + 1) ||
        !base_map_set(&c->by_hash, e.hash, (uint64_t)c->entries.n)) {
        entry_free(&e);
        return base_fail(cx, SGL_ENOMEM, "out of memory for a program");
    }
    memcpy(e.key, key, size);
    e.bytes = bytes + (int64_t)size;
    (void)vec_push(&c->entries, e);
    c->bytes += e.bytes;
    cache_trim(c, cx->knobs.value[KNOB_cache_size_limit]);
    return SGL_OK;
}
