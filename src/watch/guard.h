/* guard.h: guards: what a captured step read of the Lua state, to be checked before each run.
 *
 * A guard is a container, a place in it, and the value found there. Containers, keys and values
 * are anchored, so their addresses stay theirs. Objects with a version (see guards_check) keep
 * their fields in a table behind; those are compared only when the version moved.
 */
#ifndef SGL_WATCH_GUARD_H
#define SGL_WATCH_GUARD_H
#include "bind/host.h"

typedef enum GuardKind {
    GUARD_FIELD,   /* container[key] without metamethods */
    GUARD_UPVALUE, /* upvalue of a closure, by number */
    GUARD_LENGTH,  /* # of a table without metamethods */
    GUARD_META,    /* metatable */
    GUARD_KEYS,    /* number of keys */
    GUARD_VALUES,  /* of a tensor: which they are, by a number */
} GuardKind;

typedef struct Guards Guards;
typedef struct History History;

Guards *watch_guards_new(lua_State *L, Host *h); /* pushes it */
/* The values of a tensor, which stands at `at`. */
void watch_guard_values(lua_State *L, Guards *g, int at);
/* Takes key and value from the top of the stack; `at` is the container. For an upvalue, `id` is
 * its identity, and the key is its number. */
void watch_guard_add(lua_State *L, Guards *g, GuardKind kind, int at, const void *id, bool slow);
int watch_guards_count(const Guards *g); /* without histories */
/* A gradient of the step (history.h), which the guards own then; false: no memory. */
bool watch_guards_history(Guards *g, History *r);
History *watch_guards_history_at(const Guards *g, int i); /* NULL: there are no more */
int watch_guards_anchor(lua_State *L, Guards *g); /* keeps the value on the top, popped; its slot */
/* The number of the first guard of those at `guards` that fails for a call with the arguments in the
 * list at `args`; 0: all hold. */
int watch_guards_failing(lua_State *L, int guards, int args);
/* The step wrote to what was there before. */
void watch_guards_wrote(Guards *g);
/* Nothing is added from now on. With `settle`, guards that fail already are dropped. */
void watch_guards_done(lua_State *L, Guards *g, bool settle);

extern const luaL_Reg WATCH_GUARD[];
void watch_open(lua_State *L, Host *h);     /* adds the functions of this room to the table on the top */
void watch_open_raw(lua_State *L, Host *h); /* raw.c: rawset and others, and those of `debug` */
#endif
