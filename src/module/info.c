/* info.c: what Lua can ask of the engine: memory, the machine, time.
 */
#include <unistd.h>
#include "module/module.h"
#include "base/limit.h"
#include "base/clock.h"
#include "dev/storage.h"
#include "tensor/recorder.h"
#include "cpu/isa.h"

/* core.memory(restart?) -> {live, peak, count, blocks, tensors}; restart: the peak counts anew.
 * What only waits for a compaction of the trace is gone before. */
static int memory(lua_State *L)
{
    Host *h = bind_of(L);
    tensor_pending_idle(h);
    tensor_pending_compact(h);
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
        {"tensors", dev_storage_live_bytes()},
    };
    lua_newtable(L);
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        lua_pushinteger(L, FIELDS[i].value);
        lua_setfield(L, -2, FIELDS[i].name);
    }
    return 1;
}

/* core.limits(root?) -> threads, what says so, bytes of memory left; files are read below root */
static int limits(lua_State *L)
{
    const char *root = luaL_optstring(L, 1, "");
    Limit l = base_limit_threads(root);
    lua_pushinteger(L, l.threads);
    lua_pushstring(L, l.source);
    lua_pushinteger(L, base_limit_memory(root));
    return 3;
}

/* core.fail_alloc(n): the n-th allocation from now fails */
static int fail_alloc(lua_State *L)
{
    base_mem_fail_at(luaL_checkinteger(L, 1));
    return 0;
}

static int isa(lua_State *L)
{
    Host *h = bind_of(L);
    base_err_clear(&h->cx->err);
    const Isa *found = cpu_isa(h->cx);
    if (!found) return bind_throw(L, h);
    lua_pushstring(L, found->name);
    return 1;
}

static int threads(lua_State *L)
{
    Host *h = bind_of(L);
    base_err_clear(&h->cx->err);
    Pool *p = base_ctx_pool(h->cx);
    if (!p) return bind_throw(L, h);
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
    lua_pushboolean(L, bind_of(L)->cx->interrupted);
    return 1;
}

/* core.nearest(word, list) -> the likely intended word, or nil */
static int nearest(lua_State *L)
{
    const char *word = luaL_checkstring(L, 1);
    int n = bind_check_list(L, 2, "nearest: the words"), count = 0;
    const char **words = bind_scratch(L, n, sizeof *words);
    for (int i = 1; i <= n; i++) {
        if (lua_rawgeti(L, 2, i) == LUA_TSTRING) words[count++] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    lua_pushstring(L, base_str_nearest(word, words, count));
    return 1;
}

const luaL_Reg MODULE_INFO[] = {
    {"memory", memory},           {"isa", isa},
    {"threads", threads},         {"fail_alloc", fail_alloc},
    {"limits", limits},           {"nearest", nearest},
    {"clock", clock_seconds},     {"isatty", is_terminal},
    {"interrupted", interrupted}, {NULL, NULL},
};
