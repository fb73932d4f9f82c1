/* state.c: the interpreter's Lua state: memory, warnings, panic, protected calls with traceback.
 *
 * Holds: an error object gets a traceback like a string does: the message handler turns it
 *        into tostring(object) and the traceback.
 */
#include <stdio.h>
#include <string.h>
#include "bind/host.h"
#include "bind/state.h"

static void *allocate(void *ud, void *at, size_t old, size_t new)
{
    (void)ud, (void)old;
    if (new) return base_mem_resize(at, new);
    base_mem_free(at);
    return NULL;
}

static int panic(lua_State *L)
{
    const char *message = lua_tostring(L, -1);
    fprintf(stderr, "PANIC: unprotected error in call to Lua (%s)\n", message ? message : "?");
    fflush(stderr);
    return 0;
}

/* What was said last about warnings; their pieces come one by one. */
typedef struct Warnings {
    bool on, inside;
} Warnings;

/* As lauxlib does it: "@on" and "@off" are commands, and a message may come in pieces. */
static void warn(void *ud, const char *message, int more)
{
    Warnings *w = ud;
    if (!w->inside && !more && *message == '@') {
        if (!strcmp(message, "@on")) w->on = true;
        if (!strcmp(message, "@off")) w->on = false;
        return;
    }
    if (w->on)
        fprintf(stderr, "%s%s%s", w->inside ? "" : "Lua warning: ", message, more ? "" : "\n");
    w->inside = more;
}

lua_State *bind_state_new(void)
{
    static Warnings warnings;
    lua_State *L = lua_newstate(allocate, NULL);
    if (!L) return NULL;
    lua_atpanic(L, panic);
    lua_setwarnf(L, warn, &warnings);
    return L;
}

static int add_traceback(lua_State *L)
{
    const char *message = lua_tostring(L, 1);
    if (!message && luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING)
        message = lua_tostring(L, -1);
    if (!message) message = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
    luaL_traceback(L, L, bind_explain(L, message), 1);
    return 1;
}

int bind_state_call(lua_State *L, int nargs, int nresults)
{
    int base = lua_gettop(L) - nargs;
    lua_pushcfunction(L, add_traceback);
    lua_insert(L, base);
    bind_interrupt_arm(L, true);
    int status = lua_pcall(L, nargs, nresults, base);
    bind_interrupt_arm(L, false);
    lua_remove(L, base);
    return status;
}
