/* journal.c: writes of the step to what was there before it: they happen while it is captured, are
 * taken back at its end, and are made again after each run.
 *
 * In:    a place, a field of a table or an upvalue, that is about to be written to.
 * Out:   what was there, and at the end of the capture what is there then.
 * Holds: the journal is a list in the registry: { container, key, before, after, behind: is it the
 *        table behind an object with a version? }; of an upvalue the function and the number. A
 *        place stands in it once. After the first write reads of the place are no guards.
 */
#include "watch/room.h"

enum { CONTAINER = 1, KEY, BEFORE, AFTER };

/* The places that are known, by container, are at the address one behind. */
static const void *known_at(const Watch *w) { return (const char *)&w->journal + 1; }

static void push_list(lua_State *L, const void *at)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, at) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, at);
}

/* Is the place, known by `id` and the value on the top, new to the journal? Pops the value. */
static bool is_new(lua_State *L, const Watch *w, const void *id)
{
    push_list(L, known_at(w));
    if (lua_rawgetp(L, -1, id) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, -3, id);
    }
    lua_pushvalue(L, -3);
    bool new = lua_rawget(L, -2) == LUA_TNIL;
    if (new) {
        lua_pushvalue(L, -4);
        lua_pushboolean(L, 1);
        lua_rawset(L, -4);
    }
    lua_pop(L, 4);
    return new;
}

/* Pushes what is at the place of the entry at `entry`. */
static void push_now(lua_State *L, int entry)
{
    lua_rawgeti(L, entry, CONTAINER);
    lua_rawgeti(L, entry, KEY);
    if (lua_isfunction(L, -2)) {
        int number = (int)lua_tointeger(L, -1);
        lua_pop(L, 1);
        lua_getupvalue(L, -1, number);
    } else {
        lua_rawget(L, -2);
    }
    lua_remove(L, -2);
}

/* Puts the value on the top, popped, there. */
static void put_back(lua_State *L, int entry)
{
    lua_rawgeti(L, entry, CONTAINER);
    lua_rawgeti(L, entry, KEY);
    lua_rotate(L, -3, -1);
    if (lua_isfunction(L, -3)) lua_setupvalue(L, -3, (int)lua_tointeger(L, -2));
    else lua_rawset(L, -3);
    lua_settop(L, entry);
}

/* An entry for the container at `at` and the key on the top, popped. */
static void add(lua_State *L, Watch *w, int at, bool behind)
{
    int key = lua_gettop(L), entry = key + 1;
    luaL_checkstack(L, LUA_MINSTACK, "a write of the step");
    lua_createtable(L, AFTER, 1);
    lua_pushvalue(L, at);
    lua_rawseti(L, entry, CONTAINER);
    lua_pushvalue(L, key);
    lua_rawseti(L, entry, KEY);
    push_now(L, entry);
    lua_rawseti(L, entry, BEFORE);
    lua_pushboolean(L, behind);
    lua_setfield(L, entry, "behind");
    push_list(L, &w->journal);
    lua_pushvalue(L, entry);
    lua_rawseti(L, -2, ++w->journal);
    lua_settop(L, key - 1);
}

void watch_journal_field(lua_State *L, Watch *w, int at)
{
    uint64_t one;
    int key = lua_gettop(L);
    at = lua_absindex(L, at);
    const void *container = lua_topointer(L, at);
    lua_pushvalue(L, key);
    if (is_new(L, w, container)) {
        lua_pushvalue(L, key);
        watch_guard_skip(L, w->guards, container);
        lua_pushvalue(L, key);
        add(L, w, at, base_map_get(&w->behind, (uintptr_t)container, &one));
    }
    lua_settop(L, key - 1);
}

void watch_journal_upvalue(lua_State *L, Watch *w, int function, int index)
{
    function = lua_absindex(L, function);
    lua_pushboolean(L, 1);
    if (!is_new(L, w, lua_upvalueid(L, function, index))) return;
    lua_pushinteger(L, index);
    add(L, w, function, false);
}

bool watch_journal_has(lua_State *L, const Watch *w, const void *id)
{
    if (!w->journal) return false;
    push_list(L, known_at(w));
    bool known = lua_rawgetp(L, -1, id) != LUA_TNIL;
    lua_pop(L, 2);
    return known;
}

bool watch_journal_resized(lua_State *L, const Watch *w, const void *id)
{
    int top = lua_gettop(L), entry = top + 2;
    bool resized = false;
    if (!watch_journal_has(L, w, id)) return false;
    push_list(L, &w->journal);
    for (int i = 1; i <= w->journal && !resized; i++, lua_settop(L, top + 1)) {
        lua_rawgeti(L, top + 1, i);
        lua_rawgeti(L, entry, CONTAINER);
        if (lua_topointer(L, -1) != id) continue;
        bool was = lua_rawgeti(L, entry, BEFORE) != LUA_TNIL;
        push_now(L, entry);
        resized = was == lua_isnil(L, -1);
    }
    lua_settop(L, top);
    return resized;
}

void watch_journal_end(lua_State *L, Watch *w)
{
    int top = lua_gettop(L), entry = top + 2;
    luaL_checkstack(L, LUA_MINSTACK, "the writes of a step");
    push_list(L, &w->journal);
    for (int i = w->journal; i > 0; i--) {
        lua_rawgeti(L, top + 1, i);
        push_now(L, entry);
        lua_rawseti(L, entry, AFTER);
        lua_rawgeti(L, entry, BEFORE);
        put_back(L, entry);
        lua_settop(L, top + 1);
    }
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, known_at(w));
    lua_settop(L, top);
}

void watch_stand_in_place(lua_State *L, Watch *w, bool behind)
{
    int value = lua_gettop(L), key = value - 1, container = value - 2;
    if (lua_isfunction(L, container)) {
        int number = (int)lua_tointeger(L, key);
        watch_journal_upvalue(L, w, container, number);
        lua_setupvalue(L, container, number);
    } else {
        const void *p = lua_topointer(L, container);
        if (behind && !base_map_set(&w->behind, (uintptr_t)p, 1)) w->failed = true;
        lua_pushvalue(L, key);
        watch_journal_field(L, w, container);
        lua_rawset(L, container);
    }
    lua_settop(L, container - 1);
}

void watch_journal_push(lua_State *L, const Watch *w) { push_list(L, &w->journal); }

void watch_journal_free(lua_State *L, const Watch *w)
{
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &w->journal);
}

/* core.write_back(container, key, value, behind): as a step wrote to a field, or to an upvalue of a
 * function by its number. */
static int write_back(lua_State *L)
{
    Host *h = bind_of(L);
    lua_settop(L, 4);
    bool behind = lua_toboolean(L, 4);
    lua_pop(L, 1);
    if (lua_isfunction(L, 1)) {
        lua_setupvalue(L, 1, (int)luaL_checkinteger(L, 2));
        return 0;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_pushvalue(L, 2);
    lua_rawget(L, 1);
    if (behind && !lua_rawequal(L, 3, -1)) h->version++;
    lua_settop(L, 3);
    lua_rawset(L, 1);
    return 0;
}

const luaL_Reg WATCH_JOURNAL[] = {{"write_back", write_back}, {NULL, NULL}};
