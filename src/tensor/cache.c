/* cache.c: the cache as captured functions use it, and as Lua sees it.
 *
 * Holds: the key of a program is all that it depends on: the graph's text, the positions that
 *        messages name, its number among those of the graph, the settings that matter. So equal
 *        keys are one program.
 */
#include "tensor/cache.h"
#include "base/clock.h"
#include "exec/disk.h"
#include "exec/debug.h"
#include "bind/events.h"
#include "tensor/room.h"
#include "ir/text.h"

enum { REFAULTS_MAX = 8 }; /* that are no accident any more */

static void put_word(Str *key, int64_t word)
{
    base_str_add(key, (const char *)&word, sizeof word);
}

int tensor_cache_text(const Graph *g, Str *out)
{
    int32_t *number = base_mem_alloc(((size_t)g->nodes.n + 1) * sizeof *number);
    int n = number ? ir_text_numbers(g, number) : SGL_ENOMEM;
    for (int id = 0; id < g->nodes.n && n >= 0; id++)
        if (number[id] >= 0) put_word(out, g->nodes.at[id]->src);
    size_t plain = out->n;
    ir_print_plain(g, out);
    base_mem_free(number);
    if (n >= 0 && !out->failed) return (int)plain;
    return base_no_memory(g->cx, "the key of a program");
}

static void captured_key(const Host *h, const CacheRecipe *r, Str *key)
{
    for (int k = 0; k < KNOB_COUNT; k++)
        if (KNOBS[k].key) put_word(key, h->cx->knobs.value[k]);
    base_str_add(key, r->text->at, r->text->n);
    put_word(key, r->variant);
}

static CacheEntry *compile(Host *h, Graph *g, const char *text, const SizeValues *sizes,
                           const Str *key)
{
    if (!g) return NULL;
    double start = base_clock();
    int64_t bytes = (int64_t)g->arena.bytes - base_mem_stats().live;
    Program *p = exec_debug_compile(g, text, sizes);
    bytes += base_mem_stats().live;
    if (!p) return NULL;
    return exec_cache_add_held(room_of(h)->cache, key->at, key->n, p, bytes, base_clock() - start);
}

/* Found by the key, or made; either is held, so that the cache does not drop it while the caller
 * has it. */
CacheEntry *tensor_cache_captured(Host *h, const CacheRecipe *r)
{
    Str key = {0};
    double start = base_clock();
    captured_key(h, r, &key);
    CacheEntry *e = key.failed ? NULL : exec_cache_hold(room_of(h)->cache, key.at, key.n);
    if (key.failed) base_no_memory(h->cx, "the key of a program");
    if (!e && !key.failed) {
        const char *text = r->plain ? r->text->at + r->plain : NULL;
        e = compile(h, r->graph(r), text, r->sizes, &key);
    } else {
        Program *p = e ? exec_cache_program(room_of(h)->cache, e) : NULL;
        if (p) exec_compile_found(p, (base_clock() - start) * 1e3);
    }
    base_str_free(&key);
    return e;
}

/* A limit that is too low would be a silent slow path. */
static void warn_of_refaults(lua_State *L, Host *h)
{
    if (room_of(h)->cache_warned || exec_cache_stats(room_of(h)->cache).refaults < REFAULTS_MAX)
        return;
    room_of(h)->cache_warned = true;
    lua_warning(L, "sgl: programs are compiled again and again, because they do not fit into", 1);
    lua_warning(L, " cache_size_limit together; sgl.cache.stats().advice says what would do", 0);
}

/* A program that the cache had to free is made again from the graph that its entry keeps. */
Program *tensor_cache_ready(lua_State *L, Host *h, CacheEntry *e, const SizeValues *sizes)
{
    Program *p = exec_cache_program(room_of(h)->cache, e);
    if (p) return p;
    double start = base_clock();
    int64_t before = base_mem_stats().live;
    base_err_clear(&h->cx->err);
    Graph *copy = tensor_copy_whole(exec_cache_graph(e));
    p = copy ? exec_debug_compile(copy, NULL, sizes) : NULL;
    if (!p) bind_throw(L, h);
    exec_cache_refill(room_of(h)->cache, e, p, base_mem_stats().live - before,
                      base_clock() - start);
    warn_of_refaults(L, h);
    return p;
}

static void set_integer(lua_State *L, const char *key, int64_t value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, key);
}

/* Percentiles in microseconds. */
static void set_percentiles(lua_State *L, const char *key, const ObsSamples *s)
{
    static const struct {
        const char *name;
        double at;
    } WHICH[] = {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}};
    lua_createtable(L, 0, 4);
    for (size_t i = 0; i < sizeof WHICH / sizeof *WHICH; i++) {
        double seconds;
        obs_samples_percentiles(s, 1, &WHICH[i].at, &seconds);
        lua_pushnumber(L, seconds * 1e6);
        lua_setfield(L, -2, WHICH[i].name);
    }
    set_integer(L, "count", s->count);
    lua_setfield(L, -2, key);
}

/* Pushes what the cache on disk counted. */
static void push_disk(lua_State *L, Ctx *cx)
{
    DiskStats s = exec_disk_stats(cx);
    lua_newtable(L);
    set_integer(L, "hits", s.hits);
    set_integer(L, "misses", s.misses);
    set_integer(L, "stores", s.stores);
    set_integer(L, "failures", s.failures);
    set_integer(L, "damaged", s.damaged);
    set_integer(L, "evictions", s.evictions);
    set_integer(L, "bytes", s.bytes);
    set_integer(L, "entries", s.entries);
    lua_pushstring(L, exec_disk_folder(cx));
    lua_setfield(L, -2, "folder");
    if (*s.refused) lua_pushstring(L, s.refused);
    else lua_pushnil(L);
    lua_setfield(L, -2, "refused");
}

/* core.cache_stats() */
static int stats(lua_State *L)
{
    const Host *h = bind_of(L);
    CacheStats s = exec_cache_stats(room_of(h)->cache);
    lua_newtable(L);
    set_integer(L, "hits", s.hits);
    set_integer(L, "misses", s.misses);
    set_integer(L, "evictions", s.evictions);
    set_integer(L, "refaults", s.refaults);
    set_integer(L, "bytes", s.bytes);
    set_integer(L, "entries", s.entries);
    set_integer(L, "held", s.held);
    set_integer(L, "wanted_bytes", s.wanted_bytes);
    set_percentiles(L, "lookup_us", s.lookups);
    set_percentiles(L, "compile_us", s.compiles);
    push_disk(L, h->cx);
    lua_setfield(L, -2, "disk");
    return 1;
}

/* core.cache_clear(disk): also the folder? */
static int clear(lua_State *L)
{
    Host *h = bind_of(L);
    exec_cache_clear(room_of(h)->cache);
    if (lua_toboolean(L, 1)) exec_disk_trim(h->cx, 0);
    bind_events_flush(L, h);
    return 0;
}

const luaL_Reg TENSOR_CACHE[] = {
    {"cache_stats", stats},
    {"cache_clear", clear},
    {NULL, NULL},
};
