/* hook_read.c: reads of tables and upvalues become guards, unless the object was born inside.
 *
 * The tables of the library are no user's: reading them in its own frames needs no guard. They are
 * what its functions have as upvalues, and plain tables in those.
 */
#include "host/capture.h"

bool host_watch_fresh(const Watch *w, const void *p)
{
    uint64_t number;
    return base_map_get(&w->fresh, (uintptr_t)p, &number);
}

Break host_watch_change(const Watch *w, const void *p)
{
    uint64_t number;
    if (!base_map_get(&w->fresh, (uintptr_t)p, &number)) return BREAK_WRITE;
    return number < w->since ? BREAK_BLOCK : BREAK_COUNT;
}

static bool is_internal(const Watch *w, const void *p)
{
    uint64_t one;
    return base_map_get(&w->internal, (uintptr_t)p, &one);
}

bool host_watch_old(lua_State *L, const Watch *w, const Frame *f, int at)
{
    if (lua_type(L, at) != LUA_TTABLE) return false;
    const void *p = lua_topointer(L, at);
    return !host_watch_fresh(w, p) && !(f && f->library && is_internal(w, p));
}

/* What a write to the table at `at` breaks. */
Break host_watch_write(lua_State *L, const Watch *w, const Frame *f, int at)
{
    if (lua_type(L, at) != LUA_TTABLE) return BREAK_COUNT;
    const void *p = lua_topointer(L, at);
    if (f && f->library && is_internal(w, p)) return BREAK_COUNT;
    Break reason = host_watch_change(w, p);
    return reason == BREAK_WRITE && w->once ? BREAK_COUNT : reason;
}

static void mark_own(Watch *w, const void *p)
{
    if (!base_map_set(&w->internal, (uintptr_t)p, 1)) w->failed = true;
}

void host_watch_own(lua_State *L, Watch *w, int table, int value)
{
    if (lua_type(L, table) != LUA_TTABLE) return;
    if (!value) {
        mark_own(w, lua_topointer(L, table));
        return;
    }
    if (lua_type(L, value) != LUA_TTABLE || !is_internal(w, lua_topointer(L, table))) return;
    if (luaL_getmetafield(L, table, "__mode") != LUA_TNIL) lua_pop(L, 1);
    else if (!lua_getmetatable(L, value)) mark_own(w, lua_topointer(L, value));
    else lua_pop(L, 1);
}

const Tensor *host_watch_computed(lua_State *L, const Watch *w, int at)
{
    const Tensor *t = host_tensor_at(L, w->host, at);
    bool computed = t && t->node && t->node->op != OP_input;
    return computed && host_capture_holds(w->host->capture, t) ? t : NULL;
}

/* Guards a raw field of the table on the top. Pushes the value. */
static void guard_field(lua_State *L, Watch *w, const Frame *f, int key, bool slow)
{
    int t = lua_gettop(L);
    lua_pushvalue(L, key);
    lua_rawget(L, t);
    if (slow || host_watch_old(L, w, f, t)) {
        lua_pushvalue(L, key);
        lua_pushvalue(L, -2);
        host_guard_add(L, w->guards, GUARD_FIELD, t, NULL, slow);
    } else if (f && f->library) {
        host_watch_own(L, w, t, t + 1);
    }
}

/* Replaces the table on the top, where a field is absent, by its __index; false: none. The
 * metatable counts as read, except that of a table behind an object with a version. */
static bool behind(lua_State *L, Watch *w, const Frame *f, bool slow)
{
    int t = lua_gettop(L), meta = t + 1;
    if (!lua_getmetatable(L, t)) lua_pushnil(L);
    if (!slow && host_watch_old(L, w, f, t)) {
        lua_pushnil(L);
        lua_pushvalue(L, meta);
        host_guard_add(L, w->guards, GUARD_META, t, NULL, false);
    }
    if (!lua_istable(L, meta)) return false;
    lua_pushliteral(L, "__index");
    lua_pushliteral(L, "__index");
    lua_rawget(L, meta);
    if (!slow && host_watch_old(L, w, f, meta)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        host_guard_add(L, w->guards, GUARD_FIELD, meta, NULL, false);
    }
    lua_replace(L, t);
    lua_settop(L, t);
    return lua_istable(L, t);
}

void host_watch_read(lua_State *L, Watch *w, const Frame *f, int at)
{
    enum { MOST_TABLES = 32 };
    int key = lua_gettop(L), t = key + 1;
    luaL_checkstack(L, LUA_MINSTACK, "guards");
    lua_pushvalue(L, at);
    for (int i = 0; i < MOST_TABLES && lua_istable(L, t); i++) {
        bool old = host_watch_old(L, w, f, t), slow = host_push_fields(L, t);
        lua_replace(L, t);
        guard_field(L, w, f, key, slow && old);
        bool found = !lua_isnil(L, -1);
        lua_settop(L, t);
        if (found || !behind(L, w, f, slow)) break;
    }
    lua_settop(L, key - 1);
}

void host_watch_upvalue(lua_State *L, Watch *w, int function, int index)
{
    const void *id = lua_upvalueid(L, function, index);
    if (!id || host_watch_fresh(w, id)) return;
    lua_pushinteger(L, index);
    if (lua_getupvalue(L, function, index))
        host_guard_add(L, w->guards, GUARD_UPVALUE, function, id, false);
    else lua_pop(L, 1);
}

void host_watch_length(lua_State *L, Watch *w, const Frame *f, int at)
{
    if (!host_watch_old(L, w, f, at)) return;
    bool slow = host_push_fields(L, at);
    int t = lua_gettop(L);
    lua_pushnil(L);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, t));
    host_guard_add(L, w->guards, GUARD_LENGTH, t, NULL, slow);
    lua_settop(L, t - 1);
}

void host_watch_meta(lua_State *L, Watch *w, const Frame *f, int at)
{
    int top = lua_gettop(L);
    if (!host_watch_old(L, w, f, at)) return;
    if (!host_push_fields(L, at)) {
        int t = lua_gettop(L);
        lua_pushnil(L);
        if (!lua_getmetatable(L, t)) lua_pushnil(L);
        host_guard_add(L, w->guards, GUARD_META, t, NULL, false);
    }
    lua_settop(L, top);
}

void host_watch_event(lua_State *L, Watch *w, const Frame *f, int at, const char *event)
{
    int top = lua_gettop(L);
    if (lua_type(L, at) != LUA_TTABLE) return;
    host_watch_meta(L, w, f, at);
    if (!host_push_fields(L, at) && lua_getmetatable(L, top + 1) &&
        host_watch_old(L, w, f, top + 2)) {
        lua_pushstring(L, event);
        lua_pushstring(L, event);
        lua_rawget(L, top + 2);
        host_guard_add(L, w->guards, GUARD_FIELD, top + 2, NULL, false);
    }
    lua_settop(L, top);
}

void host_watch_keys(lua_State *L, Watch *w, const Frame *f, int at)
{
    if (!host_watch_old(L, w, f, at)) return;
    bool slow = host_push_fields(L, at);
    int t = lua_gettop(L);
    lua_Integer n = 0;
    for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) n++;
    lua_pushnil(L);
    lua_pushinteger(L, n);
    host_guard_add(L, w->guards, GUARD_KEYS, t, NULL, slow);
    lua_settop(L, t - 1);
}

void host_watch_all(lua_State *L, Watch *w, const Frame *f, int at)
{
    enum { MOST_DEPTH = 16 };
    int top = lua_gettop(L);
    if (!lua_checkstack(L, LUA_MINSTACK) || top > 8 * MOST_DEPTH + LUA_MINSTACK) return;
    if (!host_watch_old(L, w, f, at)) return;
    host_watch_keys(L, w, f, at);
    bool slow = host_push_fields(L, at);
    for (lua_pushnil(L); lua_next(L, top + 1); lua_settop(L, top + 2)) {
        lua_pushvalue(L, top + 2);
        lua_pushvalue(L, top + 3);
        host_guard_add(L, w->guards, GUARD_FIELD, top + 1, NULL, slow);
        if (lua_istable(L, top + 3)) host_watch_all(L, w, f, top + 3);
    }
    lua_settop(L, top);
}
