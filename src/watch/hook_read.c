/* hook_read.c: reads of tables and upvalues become guards, unless the object was born inside.
 *
 * The tables of the library are no user's: reading them in its own frames needs no guard. They are
 * what its functions have as upvalues, and plain tables in those.
 */
#include <string.h>
#include "watch/room.h"

bool watch_fresh(const Watch *w, const void *p)
{
    uint64_t number;
    return base_map_get(&w->fresh, (uintptr_t)p, &number);
}

WatchBlock watch_block_begin(Watch *w, lua_State *L)
{
    WatchBlock around = w->block;
    w->block = (WatchBlock){w->born, L};
    return around;
}

void watch_block_end(Watch *w, WatchBlock around) { w->block = around; }

Break watch_change(const Watch *w, const void *p)
{
    uint64_t number;
    if (!base_map_get(&w->fresh, (uintptr_t)p, &number)) return BREAK_WRITE;
    return number < w->block.since ? BREAK_BLOCK : BREAK_COUNT;
}

static bool is_internal(const Watch *w, const void *p)
{
    uint64_t one;
    return base_map_get(&w->internal, (uintptr_t)p, &one);
}

bool watch_old(lua_State *L, const Watch *w, const Frame *f, int at)
{
    if (lua_type(L, at) != LUA_TTABLE) return false;
    const void *p = lua_topointer(L, at);
    return !watch_fresh(w, p) && !(f && f->library && is_internal(w, p));
}

bool watch_give(Watch *w, const void *p) { return base_map_set(&w->given, (uintptr_t)p, 1); }

static bool is_given(const Watch *w, const void *p)
{
    uint64_t one;
    return base_map_get(&w->given, (uintptr_t)p, &one);
}

bool watch_given(lua_State *L, const Watch *w, int at)
{
    return lua_istable(L, at) && is_given(w, lua_topointer(L, at));
}

static bool is_mixed(lua_State *L, const Watch *w, int a, int b)
{
    const Tensor *t = tensor_at(L, w->host, a), *u = tensor_at(L, w->host, b);
    if (t && u) return is_given(w, t) && !tensor_recorder_holds(tensor_recorder(w->host), u);
    return watch_given(L, w, a) && watch_old(L, w, NULL, b);
}

bool watch_stand_in(lua_State *L, const Watch *w, int a, int b)
{
    return is_mixed(L, w, a, b) || is_mixed(L, w, b, a);
}

Break watch_once(const Watch *w, Break reason)
{
    if (reason != BREAK_WRITE || !w->once) return reason;
    watch_guards_wrote(w->guards);
    return BREAK_COUNT;
}

/* What a write to the table at `at` breaks. */
static Break write_breaks(lua_State *L, const Watch *w, const Frame *f, int at)
{
    if (lua_type(L, at) != LUA_TTABLE) return BREAK_COUNT;
    const void *p = lua_topointer(L, at);
    if (watch_given(L, w, at)) return BREAK_WRITE;
    if (f && f->library && is_internal(w, p)) return BREAK_COUNT;
    return watch_once(w, watch_change(w, p));
}

static void mark_own(Watch *w, const void *p)
{
    if (!base_map_set(&w->internal, (uintptr_t)p, 1)) w->failed = true;
}

/* Marks a table as the library's: one in an upvalue of it, or a plain one in such a table; caches,
 * which have a mode, hold what is the user's. */
void watch_own(lua_State *L, Watch *w, int table, int value)
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

const Tensor *watch_computed(lua_State *L, const Watch *w, int at)
{
    const Tensor *t = tensor_at(L, w->host, at);
    bool computed = t && t->node && t->node->op != OP_input;
    return computed && tensor_recorder_holds(tensor_recorder(w->host), t) ? t : NULL;
}

bool watch_boolean(lua_State *L, const Watch *w, int at)
{
    const Tensor *t = watch_computed(L, w, at);
    return t && !t->weak && t->node->dtype == DT_bool;
}

/* What was done with a table already: once is enough. */
enum { KEYS_COUNTED = 1, ALL_READ = 2 };

static bool is_first(Watch *w, const void *p, uint64_t what)
{
    uint64_t done = 0;
    base_map_get(&w->walked, (uintptr_t)p, &done);
    if (done & what) return false;
    if (!base_map_set(&w->walked, (uintptr_t)p, done | what)) w->failed = true;
    return true;
}

/* Guards a raw field of the table on the top. Pushes the value. */
static void guard_field(lua_State *L, Watch *w, const Frame *f, int key, bool slow)
{
    int t = lua_gettop(L);
    watch_looked(L, w, t, key);
    lua_pushvalue(L, key);
    lua_rawget(L, t);
    if (slow || watch_old(L, w, f, t)) {
        lua_pushvalue(L, key);
        lua_pushvalue(L, -2);
        watch_guard_add(L, w->guards, GUARD_FIELD, t, NULL, slow);
    } else if (f && f->library) {
        watch_own(L, w, t, t + 1);
    }
}

/* Replaces the table on the top, where a field is absent, by its __index; false: none. The
 * metatable counts as read, except that of a table behind an object with a version. */
static bool behind(lua_State *L, Watch *w, const Frame *f, bool slow)
{
    int t = lua_gettop(L), meta = t + 1;
    if (!lua_getmetatable(L, t)) lua_pushnil(L);
    if (!slow && watch_old(L, w, f, t)) {
        lua_pushnil(L);
        lua_pushvalue(L, meta);
        watch_guard_add(L, w->guards, GUARD_META, t, NULL, false);
    }
    if (!lua_istable(L, meta)) return false;
    lua_pushliteral(L, "__index");
    lua_pushliteral(L, "__index");
    lua_rawget(L, meta);
    if (!slow && watch_old(L, w, f, meta)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        watch_guard_add(L, w->guards, GUARD_FIELD, meta, NULL, false);
    }
    lua_replace(L, t);
    lua_settop(L, t);
    return lua_istable(L, t);
}

enum { MOST_TABLES = 32 };

/* Along __index, as Lua would go: each table on the way is guarded for the key that it has or
 * lacks. */
void watch_read(lua_State *L, Watch *w, const Frame *f, int at)
{
    int key = lua_gettop(L), t = key + 1;
    luaL_checkstack(L, LUA_MINSTACK, "guards");
    lua_pushvalue(L, at);
    if (tensor_at(L, w->host, t)) {
        tensor_push_methods(L);
        lua_replace(L, t);
    } else if (!lua_istable(L, t)) {
        behind(L, w, f, false);
    }
    for (int i = 0; i < MOST_TABLES && lua_istable(L, t); i++) {
        bool old = watch_old(L, w, f, t), slow = bind_push_fields(L, t);
        lua_replace(L, t);
        guard_field(L, w, f, key, slow && old);
        bool found = !lua_isnil(L, -1);
        lua_settop(L, t);
        if (found || !behind(L, w, f, slow)) break;
    }
    lua_settop(L, key - 1);
}

void watch_upvalue(lua_State *L, Watch *w, int function, int index)
{
    const void *id = lua_upvalueid(L, function, index);
    if (!id || watch_fresh(w, id) || watch_journal_has(L, w, id)) return;
    lua_pushinteger(L, index);
    if (lua_getupvalue(L, function, index))
        watch_guard_add(L, w->guards, GUARD_UPVALUE, function, id, false);
    else lua_pop(L, 1);
}

/* Which keys there are may be no longer what was there before the step. */
static void refuse_written(lua_State *L, const Watch *w, int t)
{
    if (watch_journal_resized(L, w, lua_topointer(L, t)))
        tensor_break(L, w->host, BREAK_WRITE, NULL,
                     "a look at which keys a table has, of which the step changed one");
}

void watch_length(lua_State *L, Watch *w, const Frame *f, int at)
{
    watch_looked(L, w, at, 0);
    if (!watch_old(L, w, f, at)) return;
    bool slow = bind_push_fields(L, at);
    int t = lua_gettop(L);
    refuse_written(L, w, t);
    lua_pushnil(L);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, t));
    watch_guard_add(L, w->guards, GUARD_LENGTH, t, NULL, slow);
    lua_settop(L, t - 1);
}

/* Objects with a version have their metatable for good. */
void watch_meta(lua_State *L, Watch *w, const Frame *f, int at)
{
    int top = lua_gettop(L);
    if (!watch_old(L, w, f, at)) return;
    if (!bind_push_fields(L, at)) {
        int t = lua_gettop(L);
        lua_pushnil(L);
        if (!lua_getmetatable(L, t)) lua_pushnil(L);
        watch_guard_add(L, w->guards, GUARD_META, t, NULL, false);
    }
    lua_settop(L, top);
}

/* Guards the metatable of the table on the top and its field for the event; replaces the table by
 * that. The metatable of a type, of all numbers, say, is read as well: which it is the host's count
 * of rules tells. Objects with a version have metatables of the library, which are for good. */
static void handler(lua_State *L, Watch *w, const Frame *f, const char *event)
{
    int t = lua_gettop(L);
    watch_meta(L, w, f, t);
    bool versioned = bind_push_fields(L, t);
    if (versioned || !lua_getmetatable(L, t)) {
        lua_settop(L, t);
        lua_pushnil(L);
    } else {
        int meta = lua_gettop(L);
        lua_pushstring(L, event);
        lua_pushvalue(L, -1);
        lua_rawget(L, meta);
        lua_pushvalue(L, -1);
        lua_replace(L, t + 1);
        if (watch_old(L, w, f, meta)) watch_guard_add(L, w->guards, GUARD_FIELD, meta, NULL, false);
        lua_settop(L, t + 1);
    }
    lua_replace(L, t);
}

bool watch_has_events(lua_State *L, int at)
{
    if (lua_istable(L, at)) return true;
    if (!lua_getmetatable(L, at)) return false;
    bool own = lua_isuserdata(L, at) && bind_is_class(L, lua_gettop(L));
    lua_pop(L, 1);
    return !own;
}

/* A handler that is a table is called through its own __call, and so on. */
void watch_event(lua_State *L, Watch *w, const Frame *f, int at, const char *event)
{
    int top = lua_gettop(L);
    if (!watch_has_events(L, at)) return;
    bool called = strcmp(event, "__newindex") != 0 && strcmp(event, "__metatable") != 0;
    luaL_checkstack(L, LUA_MINSTACK, "guards");
    lua_pushvalue(L, at);
    for (int i = 0; i < MOST_TABLES && (!i || lua_istable(L, -1)); i++) {
        handler(L, w, f, i ? "__call" : event);
        if (!called) break;
    }
    lua_settop(L, top);
}

/* Guards the keys and values of the table at t, itself or behind an object with a version. */
static void guard_entries(lua_State *L, Watch *w, int t, bool slow)
{
    lua_Integer n = 0;
    refuse_written(L, w, t);
    for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1), n++) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        watch_guard_add(L, w->guards, GUARD_FIELD, t, NULL, slow);
    }
    lua_pushnil(L);
    lua_pushinteger(L, n);
    watch_guard_add(L, w->guards, GUARD_KEYS, t, NULL, slow);
}

/* How many keys there are, once for each table: with the guards on those that were read, that is
 * which; and their order, which a table that grew and shrank may give another. */
void watch_keys(lua_State *L, Watch *w, const Frame *f, int at)
{
    watch_looked(L, w, at, 0);
    if (!watch_old(L, w, f, at) || !is_first(w, lua_topointer(L, at), KEYS_COUNTED)) return;
    bool slow = bind_push_fields(L, at);
    int t = lua_gettop(L);
    lua_Integer n = 0;
    refuse_written(L, w, t);
    for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) n++;
    lua_pushnil(L);
    lua_pushinteger(L, n);
    watch_guard_add(L, w->guards, GUARD_KEYS, t, NULL, slow);
    watch_guard_order(L, w->guards, t, slow);
    lua_settop(L, t - 1);
}

/* All entries, and those of the tables that __index leads to. */
void watch_table(lua_State *L, Watch *w, const Frame *f, int at)
{
    int t = lua_gettop(L) + 1;
    luaL_checkstack(L, LUA_MINSTACK, "guards");
    watch_looked(L, w, at, 0);
    lua_pushvalue(L, at);
    for (int i = 0; i < MOST_TABLES && lua_istable(L, t); i++) {
        bool old = watch_old(L, w, f, t), slow = bind_push_fields(L, t);
        lua_replace(L, t);
        if (old) guard_entries(L, w, t, slow);
        if (!behind(L, w, f, slow)) break;
    }
    lua_settop(L, t - 1);
}

/* The table at `at` and those within. One that was born inside is no guard, but what it holds may
 * be; it is gone through once. */
static void read_all(lua_State *L, Watch *w, const Frame *f, int at, Map *seen)
{
    enum { MOST_DEPTH = 16 };
    int top = lua_gettop(L);
    uint64_t one;
    const void *p = lua_topointer(L, at);
    bool old = watch_old(L, w, f, at);
    if (!lua_checkstack(L, LUA_MINSTACK) || top > 8 * MOST_DEPTH + LUA_MINSTACK) return;
    watch_looked(L, w, at, 0);
    if (old ? !is_first(w, p, ALL_READ)
            : !watch_fresh(w, p) || base_map_get(seen, (uintptr_t)p, &one))
        return;
    if (!old && !base_map_set(seen, (uintptr_t)p, 1)) w->failed = true;
    bool slow = bind_push_fields(L, at);
    if (old) guard_entries(L, w, top + 1, slow);
    for (lua_pushnil(L); lua_next(L, top + 1); lua_settop(L, top + 2))
        if (lua_istable(L, top + 3)) read_all(L, w, f, top + 3, seen);
    lua_settop(L, top);
}

/* What the engine reads of a table that it is given, with all tables within, no deeper than
 * anything sensible. */
void watch_all(lua_State *L, Watch *w, const Frame *f, int at)
{
    base_map_free(&w->seen);
    read_all(L, w, f, at, &w->seen);
    base_map_free(&w->seen);
}

/* May a write to the table at `at` under the key on the top be made again after each run? A list
 * that grows would be captured for each length. */
static bool is_repeatable(lua_State *L, const Watch *w, int at)
{
    int type = lua_type(L, -1);
    if (w->once || w->block.thread) return false;
    if (type == LUA_TSTRING || type == LUA_TBOOLEAN) return true;
    if (type != LUA_TNUMBER) return false;
    lua_pushvalue(L, -1);
    bool there = lua_rawget(L, at) != LUA_TNIL;
    lua_pop(L, 1);
    return there;
}

/* What it breaks to write to that table, under the key on the top; notes what can be repeated. */
static Break write_there(lua_State *L, Watch *w, const Frame *f, int at)
{
    watch_looked(L, w, at, -1);
    Break reason = write_breaks(L, w, f, at);
    if (reason != BREAK_WRITE || !is_repeatable(L, w, at)) return reason;
    watch_journal_field(L, w, at);
    return BREAK_COUNT;
}

/* Pushes where a write to the table at t goes on under the key at `key`, because that is absent;
 * false: nowhere, and nothing is pushed. Whether it is there is read, if that matters. */
static bool goes_on(lua_State *L, Watch *w, const Frame *f, int t, int key)
{
    bool absent = lua_isnil(L, key);
    if (!absent) {
        lua_pushvalue(L, key);
        absent = lua_rawget(L, t) == LUA_TNIL;
        lua_pop(L, 1);
    }
    if (absent) watch_event(L, w, f, t, "__newindex");
    if (luaL_getmetafield(L, t, "__newindex") == LUA_TNIL) return false;
    if (absent) return true;
    lua_pop(L, 1);
    lua_pushvalue(L, key);
    watch_read(L, w, f, t);
    return false;
}

/* Along __newindex, as Lua would go, to the table that is written to in the end; a function there
 * makes writes of its own. */
Break watch_write(lua_State *L, Watch *w, const Frame *f, int at, bool raw)
{
    int key = lua_gettop(L), t = key + 1;
    Break reason = BREAK_COUNT;
    lua_pushvalue(L, at);
    for (int i = 0; i < MOST_TABLES && lua_istable(L, t); i++) {
        bool behind = bind_push_fields(L, t);
        if (behind && !base_map_set(&w->behind, (uintptr_t)lua_topointer(L, -1), 1))
            w->failed = true;
        if (raw) lua_replace(L, t);
        else lua_pop(L, 1);
        if (raw || !goes_on(L, w, f, t, key)) {
            lua_pushvalue(L, key);
            reason = write_there(L, w, f, t);
            break;
        }
        lua_replace(L, t);
    }
    lua_settop(L, key);
    return reason;
}

/* ---- where a value comes from, once the hook is off */

/* Was the userdata born inside? The allocator saw the head before the block: 32 bytes, or 40 and 16
 * for each user value. A false "yes" is a break, never a wrong result. */
static bool new_userdata(const Watch *w, const char *p)
{
    enum { BARE = 32, HEAD = 40, VALUE = 16, MOST_VALUES = 8 };
    bool fresh = watch_fresh(w, p - BARE);
    for (int n = 1; n <= MOST_VALUES && !fresh; n++) fresh = watch_fresh(w, p - HEAD - n * VALUE);
    return fresh;
}

/* A function that the step made differs from one call to the next only by variables of the step. */
static bool new_function(lua_State *L, const Watch *w, int at)
{
    if (!watch_fresh(w, lua_topointer(L, at))) return false;
    const void *id;
    bool fresh = lua_iscfunction(L, at);
    for (int i = 1; !fresh && (id = lua_upvalueid(L, at, i)) != NULL; i++)
        fresh = watch_fresh(w, id);
    return fresh;
}

/* What has an address is looked up by it; the kinds of objects differ in where their memory
 * begins. */
bool watch_made(lua_State *L, const Watch *w, int at)
{
    const char *p = lua_topointer(L, at);
    switch (lua_type(L, at)) {
    case LUA_TFUNCTION:
        return new_function(L, w, at);
    case LUA_TTHREAD:
        return watch_fresh(w, p - LUA_EXTRASPACE);
    case LUA_TUSERDATA:
        return tensor_dim_at(L, at) != DIM_FAIL || new_userdata(w, p);
    default:
        return watch_fresh(w, p);
    }
}
