/* fields.c: objects that look like tables and have their fields in a table behind.
 *
 * Holds: each write to such fields moves the host's version, so that while it stands still nobody
 *        need compare them.
 */
#include "bind/room.h"

static const char VERSIONED; /* its address is the host's key in metatables of such objects */

/* Such an object is known by a key in its metatable, whose __index is the table behind. */
bool bind_push_fields(lua_State *L, int at)
{
    lua_pushvalue(L, at);
    int t = lua_gettop(L);
    if (!lua_getmetatable(L, t)) return false;
    bool versioned = lua_rawgetp(L, -1, &VERSIONED) != LUA_TNIL;
    if (versioned) {
        lua_getfield(L, t + 1, "__index");
        lua_replace(L, t);
    }
    lua_settop(L, t);
    return versioned;
}

void bind_fields_touch(lua_State *L, int at)
{
    lua_getmetatable(L, at);
    lua_rawgetp(L, -1, &VERSIONED);
    ((Host *)lua_touserdata(L, -1))->version++;
    lua_pop(L, 2);
}

/* core.touch(): an object with a version was written to */
static int touch(lua_State *L)
{
    bind_of(L)->version++;
    return 0;
}

/* core.versioned(meta): objects with this metatable have their fields in meta.__index, and each
 * write to those is followed by core.touch. */
static int versioned(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_pushlightuserdata(L, bind_of(L));
    lua_rawsetp(L, 1, &VERSIONED);
    return 0;
}

const luaL_Reg BIND_FIELDS[] = {{"touch", touch}, {"versioned", versioned}, {NULL, NULL}};
