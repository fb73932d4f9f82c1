/* cache.c: the table of programs, the ring of their use, and what becomes of those that must go.
 *
 * Holds: every entry is in the ring, the one used last behind the head, and in the chain of its
 *        hash. `bytes` counts programs that are there and their keys. The sizes of programs that
 *        were evicted are remembered for a while, to tell a limit that is too low from one that is
 *        not: what comes back soon should have stayed.
 */
#include "exec/cache.h"
#include <string.h>
#include "base/clock.h"
#include "exec/program_type.h"
#include "exec/context.h"
#include "obs/obs.h"

enum { GHOSTS_MAX = 4096, LOOKUPS_PER_SAMPLE = 8 };

struct CacheEntry {
    CacheEntry *prev, *next; /* ring of use */
    CacheEntry *chain;       /* another entry of the same hash */
    uint64_t hash;
    CacheKind kind;
    size_t n;
    void *key;
    Program *program; /* NULL: evicted, but held */
    Graph *graph;     /* then the captured one */
    int holders;
    bool dropped; /* by its last holder, while a program ran */
    int64_t bytes;
};

struct Cache {
    Ctx *cx;         /* borrowed */
    int member;      /* its bit in the knob `enable` */
    int running;     /* programs that run now, one inside the other */
    bool cleared;    /* while one ran */
    bool dropped;    /* some entry was, while one ran */
    CacheEntry ring; /* its head */
    Map table;       /* hash: first entry of the chain */
    Map ghosts;      /* hash of an evicted entry: the bytes it had */
    CacheStats stats;
    int64_t asked;
    ObsSamples lookups, compiles;
};

static const char *const KIND_NAMES[] = {
    [CACHE_PENDING] = "pending",
    [CACHE_CAPTURED] = "captured",
};

Cache *exec_cache_new(Ctx *cx)
{
    ExecContext *slot = exec_context(cx);
    Cache *c = slot ? base_mem_zero(1, sizeof *c) : NULL;
    if (!c) {
        base_no_memory(cx, "the cache of programs");
        return NULL;
    }
    slot->cache = c;
    c->cx = cx;
    c->member = base_knob_member(KNOB_enable, "cache");
    c->ring.prev = c->ring.next = &c->ring;
    return c;
}

static bool enabled(const Cache *c) { return c->cx->knobs.value[KNOB_enable] >> c->member & 1; }

/* ---- the ring and the table */

static void unlink_entry(CacheEntry *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
}

static void use(Cache *c, CacheEntry *e)
{
    unlink_entry(e);
    e->prev = &c->ring;
    e->next = c->ring.next;
    e->prev->next = e->next->prev = e;
}

static CacheEntry *chain_of(const Cache *c, uint64_t hash)
{
    uint64_t at;
    return base_map_get(&c->table, hash, &at) ? (CacheEntry *)(uintptr_t)at : NULL;
}

static bool table_add(Cache *c, CacheEntry *e)
{
    e->chain = chain_of(c, e->hash);
    return base_map_set(&c->table, e->hash, (uint64_t)(uintptr_t)e);
}

static void table_remove(Cache *c, CacheEntry *e)
{
    CacheEntry *first = chain_of(c, e->hash);
    if (first != e) {
        while (first->chain != e) first = first->chain;
        first->chain = e->chain;
    } else if (e->chain) {
        base_map_set(&c->table, e->hash, (uint64_t)(uintptr_t)e->chain); /* in the same place */
    } else {
        base_map_remove(&c->table, e->hash);
    }
}

static CacheEntry *find(const Cache *c, CacheKind kind, const void *key, size_t n, uint64_t hash)
{
    for (CacheEntry *e = chain_of(c, hash); e; e = e->chain)
        if (e->kind == kind && e->n == n && memcmp(e->key, key, n) == 0) return e;
    return NULL;
}

/* ---- going */

static void entry_free(Cache *c, CacheEntry *e)
{
    unlink_entry(e);
    table_remove(c, e);
    c->stats.bytes -= e->bytes;
    c->stats.entries -= e->program != NULL;
    c->stats.held -= e->program == NULL;
    exec_program_free(e->program);
    ir_graph_free(e->graph);
    base_mem_free(e->key);
    base_mem_free(e);
}

static void remember(Cache *c, const CacheEntry *e)
{
    if (c->ghosts.n >= GHOSTS_MAX) {
        base_map_clear(&c->ghosts);
        c->stats.wanted_bytes = 0;
    }
    if (base_map_set(&c->ghosts, e->hash, (uint64_t)e->bytes)) c->stats.wanted_bytes += e->bytes;
}

/* Was a program of that hash evicted? Then it is back, and should have stayed. */
static void recall(Cache *c, uint64_t hash)
{
    uint64_t bytes;
    if (!base_map_get(&c->ghosts, hash, &bytes)) return;
    base_map_remove(&c->ghosts, hash);
    c->stats.wanted_bytes -= (int64_t)bytes;
    c->stats.refaults++;
}

/* Frees the program; an entry that is held keeps its graph. False: that cannot be had. */
static bool evict(Cache *c, CacheEntry *e)
{
    Graph *graph = e->holders ? exec_program_take_source(e->program) : NULL;
    if (e->holders && !graph) return false;
    c->stats.evictions++;
    remember(c, e);
    obs_event(c->cx, OBS_cache_evict, -1, OBS_TEXT("kind", KIND_NAMES[e->kind]),
              OBS_INT("bytes", e->bytes), OBS_INT("entries", c->stats.entries - 1));
    if (!e->holders) {
        entry_free(c, e);
        return true;
    }
    exec_program_free(e->program);
    e->program = NULL;
    e->graph = graph;
    c->stats.bytes -= e->bytes;
    c->stats.entries--;
    c->stats.held++;
    e->bytes = 0;
    return true;
}

void exec_cache_trim(Cache *c)
{
    if (c->running) return;
    bool on = enabled(c);
    int64_t limit = on ? c->cx->knobs.value[KNOB_cache_size_limit] : 0;
    for (CacheEntry *e = c->ring.prev, *before; c->stats.bytes > limit && e != c->ring.next;
         e = before) {
        before = e->prev;
        if (e == &c->ring) return;
        if (e->program && (on || !e->holders)) evict(c, e);
    }
}

void exec_cache_clear(Cache *c)
{
    c->cleared = c->running > 0;
    if (c->running) return;
    for (CacheEntry *e = c->ring.prev, *before; e != &c->ring; e = before) {
        before = e->prev;
        if (!e->holders) entry_free(c, e);
        else if (e->program) evict(c, e);
    }
    base_map_clear(&c->ghosts);
    c->stats.wanted_bytes = 0;
}

void exec_cache_free(Cache *c)
{
    if (!c) return;
    exec_context(c->cx)->cache = NULL;
    while (c->ring.next != &c->ring) entry_free(c, c->ring.next);
    base_map_free(&c->table);
    base_map_free(&c->ghosts);
    base_mem_free(c);
}

/* ---- coming */

/* Finds an entry and counts it. Only some look-ups are timed: reading the clock would cost as
 * much as the look-up. */
static CacheEntry *look_up(Cache *c, CacheKind kind, const void *key, size_t n)
{
    bool timed = c->asked++ % LOOKUPS_PER_SAMPLE == 0, told = obs_sample(c->cx, OBS_cache_hit);
    double start = timed || told ? base_clock() : 0;
    CacheEntry *e = enabled(c) ? find(c, kind, key, n, base_hash(0, key, n)) : NULL;
    double seconds = timed || told ? base_clock() - start : 0;
    if (timed) obs_samples_add(&c->lookups, seconds);
    if (!e || !e->program) {
        c->stats.misses++;
        return e;
    }
    c->stats.hits++;
    use(c, e);
    if (told)
        obs_event(c->cx, OBS_cache_hit, seconds * 1e3, OBS_TEXT("kind", KIND_NAMES[kind]),
                  OBS_INT("bytes", e->bytes));
    return e;
}

Program *exec_cache_find(Cache *c, const void *key, size_t n)
{
    const CacheEntry *e = look_up(c, CACHE_PENDING, key, n);
    return e ? e->program : NULL;
}

/* An entry in the table with a copy of its key, not yet in use; NULL: no memory, and nothing has
 * changed. */
static CacheEntry *entry_new(Cache *c, CacheKind kind, const void *key, size_t n)
{
    CacheEntry *e = base_mem_zero(1, sizeof *e);
    if (!e) return NULL;
    *e = (CacheEntry){.kind = kind, .n = n, .hash = base_hash(0, key, n)};
    e->prev = e->next = e;
    e->key = base_mem_alloc(n + 1);
    if (!e->key || !table_add(c, e)) {
        base_mem_free(e->key);
        base_mem_free(e);
        return NULL;
    }
    memcpy(e->key, key, n);
    return e;
}

/* Puts a program under its key, in place of one there that nobody holds. It takes p, which is
 * freed when there is no memory. */
static CacheEntry *add(Cache *c, CacheKind kind, const void *key, size_t n, Program *p,
                       int64_t bytes, double seconds)
{
    CacheEntry *old = find(c, kind, key, n, base_hash(0, key, n));
    if (old && !old->holders && !c->running) entry_free(c, old);
    CacheEntry *e = entry_new(c, kind, key, n);
    if (!e) {
        exec_program_free(p);
        base_no_memory(c->cx, "a program");
        return NULL;
    }
    e->program = p;
    e->bytes = bytes + (int64_t)(n + sizeof *e);
    c->stats.bytes += e->bytes;
    c->stats.entries++;
    use(c, e);
    recall(c, e->hash);
    obs_samples_add(&c->compiles, seconds);
    return e;
}

int exec_cache_add(Cache *c, const void *key, size_t n, Program *p, int64_t bytes, double seconds)
{
    if (!add(c, CACHE_PENDING, key, n, p, bytes, seconds)) return SGL_ENOMEM;
    exec_cache_trim(c);
    return SGL_OK;
}

CacheEntry *exec_cache_hold(Cache *c, const void *key, size_t n)
{
    CacheEntry *e = look_up(c, CACHE_CAPTURED, key, n);
    if (!e) return NULL;
    e->holders++;
    e->dropped = false;
    return e;
}

CacheEntry *exec_cache_add_held(Cache *c, const void *key, size_t n, Program *p, int64_t bytes,
                                double seconds)
{
    CacheEntry *e = add(c, CACHE_CAPTURED, key, n, p, bytes, seconds);
    if (!e) return NULL;
    e->holders = 1;
    exec_cache_trim(c);
    return e;
}

void exec_cache_release(Cache *c, CacheEntry *e, bool drop)
{
    e->holders--;
    e->dropped = !e->holders && (drop || !e->program);
    c->dropped |= e->dropped;
    if (c->running) return;
    if (e->dropped) entry_free(c, e);
    else exec_cache_trim(c);
}

void exec_cache_run_begin(Cache *c) { c->running++; }

void exec_cache_run_end(Cache *c)
{
    if (--c->running) return;
    for (CacheEntry *e = c->ring.prev, *before; c->dropped && e != &c->ring; e = before) {
        before = e->prev;
        if (e->dropped) entry_free(c, e);
    }
    c->dropped = false;
    if (c->cleared) exec_cache_clear(c);
    else exec_cache_trim(c);
}

Program *exec_cache_program(Cache *c, CacheEntry *e)
{
    if (e->program) use(c, e);
    return e->program;
}

const Graph *exec_cache_graph(const CacheEntry *e)
{
    const Graph *g = e->program ? exec_program_graph(e->program) : e->graph;
    while (g->from) g = g->from;
    return g;
}

void exec_cache_refill(Cache *c, CacheEntry *e, Program *p, int64_t bytes, double seconds)
{
    e->program = p;
    ir_graph_free(e->graph);
    e->graph = NULL;
    e->bytes = bytes + (int64_t)(e->n + sizeof *e);
    c->stats.bytes += e->bytes;
    c->stats.entries++;
    c->stats.held--;
    use(c, e);
    recall(c, e->hash);
    obs_samples_add(&c->compiles, seconds);
    exec_cache_trim(c);
}

CacheStats exec_cache_stats(const Cache *c)
{
    CacheStats s = c->stats;
    s.lookups = &c->lookups;
    s.compiles = &c->compiles;
    return s;
}
