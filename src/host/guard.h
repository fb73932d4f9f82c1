/* guard.h: guards: what a captured step read of the Lua state, to be checked before each run.
 *
 * A guard is a container, a place in it, and the value found there. Containers, keys and values
 * are anchored, so their addresses stay theirs. Objects with a version (see guards_check) keep
 * their fields in a table behind; those are compared only when the version moved.
 */
#ifndef SGL_HOST_GUARD_H
#define SGL_HOST_GUARD_H
#include "host/host.h"

typedef enum GuardKind {
    GUARD_FIELD,   /* container[key] without metamethods */
    GUARD_UPVALUE, /* upvalue of a closure, by number */
    GUARD_LENGTH,  /* # of a table without metamethods */
    GUARD_META,    /* metatable */
    GUARD_KEYS,    /* number of keys */
} GuardKind;

typedef struct Guards Guards;

Guards *host_guards_new(lua_State *L, Host *h); /* pushes it */
/* Takes key and value from the top of the stack; `at` is the container. For an upvalue, `id` is
 * its identity, and the key is its number. */
void host_guard_add(lua_State *L, Guards *g, GuardKind kind, int at, const void *id, bool slow);
int host_guards_count(const Guards *g);
/* Nothing is added from now on. With `settle`, guards that fail already are dropped. */
void host_guards_done(lua_State *L, Guards *g, bool settle);

/* Pushes the table at `at`, or, if it is one with a version, the one with its fields: true. */
bool host_push_fields(lua_State *L, int at);
void host_fields_touch(lua_State *L, int at); /* such fields are written to */

extern const luaL_Reg HOST_GUARD[];
#endif
