/* explain.c: what the library knows of errors that are Lua's own.
 *
 * In:   the message of an error that nobody caught.
 * Out:  the message, and a line more where a cause is known: "attempt to index a nil value" or an
 *       argument nil after a file could not be read, whose loader gave nil and said why; a
 *       recursion without end.
 * Holds: only the last of such failures is kept, as text, for each Lua state.
 */
#include <string.h>
#include "bind/room.h"

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

const char *bind_explain(lua_State *L, const char *message)
{
    if (ends_in(message, "stack overflow"))
        return lua_pushfstring(L, "%s\n  a function calls itself without end", message);
    if (!strstr(message, " a nil value") && !strstr(message, ", got nil")) return message;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &BIND_FAILURE) != LUA_TSTRING) return message;
    return lua_pushfstring(L, "%s\n  %s\n  assert(…) around such a call raises that there", message,
                           lua_tostring(L, -1));
}

/* core.explain(message) -> message */
static int explain(lua_State *L)
{
    lua_pushstring(L, bind_explain(L, luaL_checkstring(L, 1)));
    return 1;
}

const luaL_Reg BIND_EXPLAIN[] = {{"explain", explain}, {NULL, NULL}};
