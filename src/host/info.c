/* info.c: what Lua can ask of the engine and set: settings, memory, the machine, time.
 */
#include <unistd.h>
#include "base/clock.h"
#include "exec/storage.h"
#include "host/debug.h"
#include "host/trace.h"
#include "kern/isa.h"

static void push_knob_value(lua_State *L, Host *h, KnobId id)
{
    if (KNOBS[id].type == KNOB_INT) {
        lua_pushinteger(L, h->cx->knobs.value[id]);
        return;
    }
    Str *s = host_text(L);
    base_knob_text(&h->cx->knobs, id, s);
    host_text_push(L, s);
    lua_remove(L, -2);
}

/* What was made from the old value is made again at its next use: the pool, and cached programs,
 * which keep their instruction set. */
static void knob_applied(lua_State *L, Host *h, KnobId id)
{
    if (id == KNOB_fail_alloc) base_mem_fail_at(h->cx->knobs.value[id]);
    if (id == KNOB_isa) host_cache_clear(h->cache);
    if (id == KNOB_debug && host_debug_watch(h) < 0) host_throw(L, h);
    if (id != KNOB_threads) return;
    base_pool_free(h->cx->pool);
    h->cx->pool = NULL;
}

/* core.knob(name) -> value; core.knob(name, value) sets it */
static int knob(lua_State *L)
{
    Host *h = host_of(L);
    const char *name = luaL_checkstring(L, 1);
    base_err_clear(&h->cx->err);
    int id = base_knob_find(name, &h->cx->err);
    if (id < 0) return host_throw(L, h);
    if (!lua_isnoneornil(L, 2)) {
        if (base_knob_set(&h->cx->knobs, name, luaL_tolstring(L, 2, NULL), &h->cx->err) < 0)
            return host_throw(L, h);
        knob_applied(L, h, (KnobId)id);
    }
    push_knob_value(L, h, (KnobId)id);
    return 1;
}

static void set_string(lua_State *L, const char *key, const char *value)
{
    if (!value) return;
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

/* core.knobs() -> list of {name, type, default, values, low, high, help, value} */
static int knobs(lua_State *L)
{
    Host *h = host_of(L);
    lua_createtable(L, KNOB_COUNT, 0);
    for (int id = 0; id < KNOB_COUNT; id++) {
        const KnobInfo *k = &KNOBS[id];
        lua_newtable(L);
        set_string(L, "name", k->name);
        set_string(L, "type", k->type == KNOB_INT ? "integer" : "choice");
        set_string(L, "default", k->def);
        set_string(L, "values", k->values);
        set_string(L, "help", k->help);
        if (k->type == KNOB_INT) {
            lua_pushinteger(L, k->lo);
            lua_setfield(L, -2, "low");
            lua_pushinteger(L, k->hi);
            lua_setfield(L, -2, "high");
        }
        push_knob_value(L, h, (KnobId)id);
        lua_setfield(L, -2, "value");
        lua_rawseti(L, -2, id + 1);
    }
    return 1;
}

/* core.memory(restart?) -> {live, peak, count, blocks, tensors}; restart: the peak counts anew. */
static int memory(lua_State *L)
{
    Host *h = host_of(L);
    host_trace_idle(h);
    if (lua_toboolean(L, 1)) base_mem_peak_restart();
    MemStats m = base_mem_stats();
    const struct {
        const char *name;
        int64_t value;
    } FIELDS[] = {
        {"live", m.live},
        {"peak", m.peak},
        {"count", m.count},
        {"blocks", m.blocks},
        {"tensors", exec_storage_live_bytes()},
    };
    lua_newtable(L);
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        lua_pushinteger(L, FIELDS[i].value);
        lua_setfield(L, -2, FIELDS[i].name);
    }
    return 1;
}

/* core.fail_alloc(n): the n-th allocation from now fails */
static int fail_alloc(lua_State *L)
{
    base_mem_fail_at(luaL_checkinteger(L, 1));
    return 0;
}

static int isa(lua_State *L)
{
    Host *h = host_of(L);
    base_err_clear(&h->cx->err);
    const Isa *found = kern_isa(h->cx);
    if (!found) return host_throw(L, h);
    lua_pushstring(L, found->name);
    return 1;
}

static int threads(lua_State *L)
{
    Host *h = host_of(L);
    base_err_clear(&h->cx->err);
    Pool *p = base_ctx_pool(h->cx);
    if (!p) return host_throw(L, h);
    lua_pushinteger(L, base_pool_threads(p));
    return 1;
}

static int clock_seconds(lua_State *L)
{
    lua_pushnumber(L, base_clock());
    return 1;
}

static int is_terminal(lua_State *L)
{
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
    return 1;
}

static int interrupted(lua_State *L)
{
    lua_pushboolean(L, host_of(L)->cx->interrupted);
    return 1;
}

/* core.nearest(word, list) -> the likely intended word, or nil */
static int nearest(lua_State *L)
{
    const char *word = luaL_checkstring(L, 1);
    int n = host_check_list(L, 2, "nearest: the words"), count = 0;
    const char **words = host_scratch(L, n, sizeof *words);
    for (int i = 1; i <= n; i++) {
        if (lua_rawgeti(L, 2, i) == LUA_TSTRING) words[count++] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    lua_pushstring(L, base_str_nearest(word, words, count));
    return 1;
}

const luaL_Reg HOST_INFO[] = {
    {"knob", knob},
    {"knobs", knobs},
    {"memory", memory},
    {"isa", isa},
    {"threads", threads},
    {"fail_alloc", fail_alloc},
    {"nearest", nearest},
    {"clock", clock_seconds},
    {"isatty", is_terminal},
    {"interrupted", interrupted},
    {NULL, NULL},
};
