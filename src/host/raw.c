/* raw.c: rawget, rawset and rawlen, that go to the fields of an object which has them behind.
 *
 * They take the place of Lua's when the library is opened, so that an object with a version is to
 * them the plain table that it looks like, and a raw write to it moves the version. For all other
 * tables they do, and complain, as Lua's do.
 */
#include "host/guard.h"

static int raw_get(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    lua_settop(L, 2);
    host_push_fields(L, 1);
    lua_replace(L, 1);
    lua_rawget(L, 1);
    return 1;
}

static int raw_set(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    luaL_checkany(L, 3);
    lua_settop(L, 3);
    if (host_push_fields(L, 1)) host_fields_touch(L, 1);
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
    if (type == LUA_TTABLE) host_push_fields(L, 1);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
    return 1;
}

void host_open_raw(lua_State *L)
{
    static const luaL_Reg RAW[] = {
        {"rawget", raw_get}, {"rawset", raw_set}, {"rawlen", raw_len}, {NULL, NULL}};
    lua_pushglobaltable(L);
    luaL_setfuncs(L, RAW, 0);
    lua_pop(L, 1);
}
