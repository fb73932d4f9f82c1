/* class.c: classes of objects, and the functions of sgl.core: each holds the host.
 *
 * Holds: a class is known by its name in the registry only once it is whole.
 */
#include "bind/room.h"

static const char CLASS; /* its address is the key, in a metatable, of the name in the registry */
static const char KIND;  /* its address is the key, in a metatable, of how its objects are called */

void bind_functions(lua_State *L, const luaL_Reg *const *lists, int n)
{
    for (int i = 0; i < n; i++) {
        bind_open(L);
        luaL_setfuncs(L, lists[i], 1);
    }
}

/* The registry gets the class last: whatever raises before leaves no half of one behind. */
void bind_class(lua_State *L, const char *name, const luaL_Reg *meta,
                const luaL_Reg *const *methods, int n)
{
    if (luaL_getmetatable(L, name) != LUA_TNIL) return;
    lua_pop(L, 1);
    lua_newtable(L);
    int class = lua_gettop(L);
    lua_pushstring(L, name + sizeof "sgl." - 1);
    lua_setfield(L, class, "__name");
    lua_pushstring(L, name);
    lua_rawsetp(L, class, &CLASS);
    lua_newtable(L);
    bind_functions(L, methods, n);
    lua_setfield(L, class, "__index");
    bind_open(L);
    luaL_setfuncs(L, meta, 1);
    lua_pushvalue(L, class); /* known only now that it is whole: each line above may raise */
    lua_setfield(L, LUA_REGISTRYINDEX, name);
}

void bind_class_kind(lua_State *L, const ClassKind *kind)
{
    lua_pushlightuserdata(L, (void *)(uintptr_t)kind);
    lua_rawsetp(L, -2, &KIND);
}

const char *bind_class_word(lua_State *L, int arg)
{
    const ClassKind *kind = NULL;
    if (lua_getmetatable(L, arg)) {
        if (lua_rawgetp(L, -1, &KIND) == LUA_TLIGHTUSERDATA) kind = lua_touserdata(L, -1);
        lua_pop(L, 2);
    }
    return kind ? kind->of(L, arg) : NULL;
}

/* By the name that it has: the registry must hold the same table under it. */
bool bind_is_class(lua_State *L, int meta)
{
    int top = lua_gettop(L);
    if (lua_rawgetp(L, meta, &CLASS) == LUA_TSTRING) lua_rawget(L, LUA_REGISTRYINDEX);
    bool is = lua_rawequal(L, -1, meta);
    lua_settop(L, top);
    return is;
}

void bind_open_functions(lua_State *L)
{
    static const luaL_Reg *const LISTS[] = {BIND_ERROR,  BIND_EXPLAIN, BIND_ARGS,
                                            BIND_FIELDS, BIND_EVENTS,  BIND_LIFECYCLE};
    bind_functions(L, LISTS, sizeof LISTS / sizeof *LISTS);
}
