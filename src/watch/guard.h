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
    GUARD_ORDER,   /* the order in which `next` gives them, by a number */
    GUARD_VALUES,  /* of a tensor: which they are, by a number */
} GuardKind;

typedef struct Guards Guards;

/* A guard of another kind, which is asked at each call; it is a part of what the asking needs. */
typedef struct Condition Condition;
typedef struct ConditionOps {
    /* Is the answer for a call with the arguments in the list at `leaves` that of the capture? */
    bool (*holds)(lua_State *L, Host *h, Condition *c, int leaves);
    /* Puts what it says into the table on the top; what it keeps stands at `kept`. */
    void (*put)(lua_State *L, Host *h, const Condition *c, int kept);
    void (*free)(Condition *c);
    bool exact; /* it is that a number has one value */
} ConditionOps;

struct Condition {
    const ConditionOps *ops;
    int slot; /* of what it keeps, among what the guards anchor */
};

Guards *watch_guards_new(lua_State *L, Host *h); /* pushes it */
/* The order of the keys of the table at `at`. */
void watch_guard_order(lua_State *L, Guards *g, int at, bool slow);
/* The values of a tensor, which stands at `at`. */
void watch_guard_values(lua_State *L, Guards *g, int at);
/* Takes key and value from the top of the stack; `at` is the container. For an upvalue, `id` is
 * its identity, and the key is its number. */
void watch_guard_add(lua_State *L, Guards *g, GuardKind kind, int at, const void *id, bool slow);
/* Reads of the field on the top, popped, of that container are no guards from now on. */
void watch_guard_skip(lua_State *L, Guards *g, const void *container);
/* Adds a condition, which the guards own then, and which keeps the value on the top, popped; false:
 * no memory, and nothing is owned or popped. */
bool watch_guards_condition(lua_State *L, Guards *g, Condition *c);
Condition *watch_guards_condition_at(const Guards *g, int i); /* NULL: there are no more */
/* The number of the first guard of those at `guards` that fails for a call with the arguments in
 * the list at `args`; 0: all hold. */
int watch_guards_failing(lua_State *L, int guards, int args);
/* The step wrote to what was there before. */
void watch_guards_wrote(Guards *g);
/* Nothing is added from now on. With `settle`, guards that fail already are dropped. */
void watch_guards_done(lua_State *L, Guards *g, bool settle);

#endif
