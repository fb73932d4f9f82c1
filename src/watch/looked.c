/* looked.c: what a step looks at of the tables among its arguments.
 *
 * In:    reads of tables that stand for arguments, as the hook meets them.
 * Out:   by table the keys that were looked at, there or not; or true: any of it, with the tables
 *        within.
 * Holds: what is in none of them is nothing that the step depends on: calls that differ there are
 *        served by one capture. A write counts as a look.
 */
#include "watch/room.h"

static const char LOOKED; /* where the anchor of the guards has it */

/* Pushes the list by table; the anchor is on the top, and stays below. */
static void push_list(lua_State *L)
{
    if (lua_rawgetp(L, -1, &LOOKED) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, -3, &LOOKED);
}

/* Pushes the keys of the table at `at`, or true; the list by table is on the top. */
static void push_keys(lua_State *L, int at)
{
    lua_pushvalue(L, at);
    if (lua_rawget(L, -2) != LUA_TNIL) return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, at);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
}

void watch_looked(lua_State *L, const Watch *w, int at, int key)
{
    if (!watch_given(L, w, at)) return;
    int top = lua_gettop(L);
    luaL_checkstack(L, LUA_MINSTACK, "guards");
    at = lua_absindex(L, at);
    if (key) key = lua_absindex(L, key);
    lua_rawgetp(L, LUA_REGISTRYINDEX, w->guards);
    push_list(L);
    if (!key || lua_isnil(L, key) || !lua_rawequal(L, key, key)) {
        lua_pushvalue(L, at);
        lua_pushboolean(L, true);
        lua_rawset(L, -3);
    } else {
        push_keys(L, at);
        if (lua_istable(L, -1)) {
            lua_pushvalue(L, key);
            lua_pushboolean(L, true);
            lua_rawset(L, -3);
        }
    }
    lua_settop(L, top);
}

/* core.guards_looked(guards) -> by table that stood for an argument the keys that were looked at,
 * as { key = true }, or true: any of it. Once: they keep the tables alive. */
static int guards_looked(lua_State *L)
{
    watch_guards_check(L, 1);
    lua_settop(L, 1);
    lua_getiuservalue(L, 1, 1);
    push_list(L);
    lua_pushnil(L);
    lua_rawsetp(L, 2, &LOOKED);
    return 1;
}

const luaL_Reg WATCH_LOOKED[] = {{"guards_looked", guards_looked}, {NULL, NULL}};
