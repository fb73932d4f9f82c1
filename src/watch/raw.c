/* raw.c: rawget, rawset and rawlen, that go to the fields of an object which has them behind, and
 * what of `debug` changes metatables and upvalues.
 *
 * They take the place of Lua's when the library is opened, so that an object with a version is to
 * them the plain table that it looks like, and a raw write to it moves the version. For all other
 * tables they do, and complain, as Lua's do.
 *
 * Capture takes for good what only `debug` can change: the metatables of types and of objects of
 * the library, and the upvalues of its functions. Such a change moves the host's count of rules,
 * and every step is captured anew.
 */
#include <lualib.h>
#include <string.h>
#include "watch/room.h"

static int raw_get(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    lua_settop(L, 2);
    bind_push_fields(L, 1);
    lua_replace(L, 1);
    lua_rawget(L, 1);
    return 1;
}

/* rawset, to the table behind where there is one, whose version then moves. */
static int raw_set(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    luaL_checkany(L, 3);
    lua_settop(L, 3);
    if (bind_push_fields(L, 1)) bind_fields_touch(L, 1);
    lua_insert(L, 2);
    lua_rawset(L, 2);
    lua_settop(L, 1);
    return 1;
}

static int raw_len(lua_State *L)
{
    int type = lua_type(L, 1);
    luaL_argexpected(L, type == LUA_TTABLE || type == LUA_TSTRING, 1, "table or string");
    lua_settop(L, 1);
    if (type == LUA_TTABLE) bind_push_fields(L, 1);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
    return 1;
}

static void rules_changed(lua_State *L)
{
    room_of(lua_touserdata(L, lua_upvalueindex(1)))->rules++;
}

static int set_metatable(lua_State *L)
{
    int type = lua_type(L, 2);
    luaL_argexpected(L, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table");
    lua_settop(L, 2);
    bool versioned = bind_push_fields(L, 1);
    lua_settop(L, 2);
    if (versioned || !lua_istable(L, 1)) rules_changed(L);
    lua_setmetatable(L, 1);
    return 1;
}

/* Is the function at `at` none of the user's own? */
static bool is_library(lua_State *L, int at)
{
    lua_Debug ar;
    lua_pushvalue(L, at);
    lua_getinfo(L, ">S", &ar);
    return ar.what[0] == 'C' || strncmp(ar.source, "=sgl/", 5) == 0;
}

static int set_upvalue(lua_State *L)
{
    luaL_checkany(L, 3);
    int n = (int)luaL_checkinteger(L, 2);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    if (is_library(L, 1)) rules_changed(L);
    const char *name = lua_setupvalue(L, 1, n);
    if (!name) return 0;
    lua_pushstring(L, name);
    return 1;
}

static int checked_upvalue(lua_State *L, int function, int index)
{
    int n = (int)luaL_checkinteger(L, index);
    luaL_checktype(L, function, LUA_TFUNCTION);
    luaL_argcheck(L, lua_upvalueid(L, function, n), index, "invalid upvalue index");
    return n;
}

static int join_upvalues(lua_State *L)
{
    int to = checked_upvalue(L, 1, 2), from = checked_upvalue(L, 3, 4);
    luaL_argcheck(L, !lua_iscfunction(L, 1), 1, "Lua function expected");
    luaL_argcheck(L, !lua_iscfunction(L, 3), 3, "Lua function expected");
    if (is_library(L, 1)) rules_changed(L);
    lua_upvaluejoin(L, 1, to, 3, from);
    return 0;
}

/* They replace those of the global table and of `debug` in this Lua state. */
void watch_open_raw(lua_State *L, Host *h)
{
    static const luaL_Reg DEBUG[] = {{"setmetatable", set_metatable},
                                     {"setupvalue", set_upvalue},
                                     {"upvaluejoin", join_upvalues},
                                     {NULL, NULL}};
    static const luaL_Reg RAW[] = {
        {"rawget", raw_get}, {"rawset", raw_set}, {"rawlen", raw_len}, {NULL, NULL}};
    lua_pushglobaltable(L);
    luaL_setfuncs(L, RAW, 0);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_getfield(L, -1, LUA_DBLIBNAME) == LUA_TTABLE) {
        lua_pushlightuserdata(L, h);
        luaL_setfuncs(L, DEBUG, 1);
    }
    lua_pop(L, 3);
}
