/* purity.h: what is known of C functions that a captured step calls.
 */
#ifndef SGL_WATCH_PURITY_H
#define SGL_WATCH_PURITY_H
#include "bind/host.h"

typedef enum Purity {
    C_UNKNOWN,   /* not in the list: its result or effect could be anything */
    C_PURE,      /* the result depends on the arguments alone */
    C_VALUE,     /* the same, but of a tensor it would need the value */
    C_TEXT,      /* tostring: of an object without a text of its own, the result is an address */
    C_FORMAT,    /* string.format: the same for each argument */
    C_READ,      /* reads the list at 1 as Lua would */
    C_READ_AT,   /* rawget: the key is at 2 */
    C_READ_META, /* getmetatable */
    C_PAIRS,
    C_LENGTH, /* rawlen */
    C_NEXT,
    C_ITEM,   /* the iterator of ipairs */
    C_GSUB,   /* string.gsub: may read a table at 3, or call */
    C_WRITE,  /* writes to the table at 1, past its metamethods */
    C_CHANGE, /* the same, as Lua would */
    C_MOVE,   /* table.move */
    C_SORT,
    C_PROTECT,  /* pcall, xpcall */
    C_RESUME,   /* a coroutine, at 1 or in its upvalue, goes on */
    C_STATUS,   /* of the coroutine at 1 */
    C_THREAD,   /* of the coroutine that runs */
    C_ADVANCE,  /* the iterator of gmatch */
    C_COLLECT,  /* collectgarbage */
    C_LEVELS,   /* debug.getinfo and traceback */
    C_REQUIRE,
    C_HOOK,
} Purity;

void watch_purity_open(lua_State *L, Host *h); /* finds the functions, before user code runs */
Purity watch_purity_of(const Host *h, lua_CFunction f, const char **name); /* NULL: no name */
#endif
