/* room.h: what the files of bind/ share among themselves.
 */
#ifndef SGL_BIND_ROOM_H
#define SGL_BIND_ROOM_H
#include "bind/host.h"
#include "obs/obs.h"

/* error.c */
void bind_open_error(lua_State *L); /* the class of error objects; the host is on the top */
/* class.c: how the object's class calls it; NULL: by its name. May push. */
const char *bind_class_word(lua_State *L, int arg);

extern const char BIND_FAILURE; /* its address is the key, in the registry, of the text of the last
                                   call that failed and gave nil */

/* An event that waits to be told. */
typedef struct Queued {
    int table; /* the reporter's own table in the registry, or LUA_NOREF */
    int depth; /* 0, or one more than that of the event whose callback caused it */
    ObsRecord record;
} Queued;

typedef struct Events {
    int sink;
    int table; /* that of the event that Lua is reporting now, or LUA_NOREF */
    bool telling;
    int held;         /* above 0: nothing is told now */
    int depth;        /* that of events which happen now */
    bool interrupted; /* a callback ended with the Ctrl-C that is meant for the script */
    int64_t dropped;
    VEC(Queued *) queue, spare;
} Events;

/* events.c: pushes an event as a table, which has the pairs of the one in the registry too. */
void bind_events_push(lua_State *L, const ObsEvent *e, int table);
extern const char BIND_LISTENER; /* its address is the key of the listener in the registry */

/* What a file adds to sgl.core. */
extern const luaL_Reg BIND_ERROR[], BIND_EXPLAIN[], BIND_ARGS[], BIND_FIELDS[], BIND_EVENTS[],
    BIND_LIFECYCLE[];
#endif
