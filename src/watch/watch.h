/* watch.h: watching what a function does in the Lua virtual machine, while a step is captured.
 *
 * User frames are watched: tensors taken for booleans, keys or values; writes to what was there
 * before; calls whose result would be frozen; and what is read, as guards. Frames of the library
 * are trusted in all but two things: reads and writes of tables that are not its own.
 * Holds: one watch is on at a time for each Lua state.
 */
#ifndef SGL_WATCH_WATCH_H
#define SGL_WATCH_WATCH_H
#include "watch/guard.h"

typedef struct Watch Watch;

/* Where the innermost block of control flow began. */
typedef struct WatchBlock {
    uint64_t since;    /* number of the first object that is born in it */
    lua_State *thread; /* NULL: there is none */
} WatchBlock;

/* Adds the functions of this room to the table on the top; when it has those of all rooms, takes
 * note of them. */
void watch_open(lua_State *L, Host *h);
void watch_know_own(lua_State *L, Host *h);
bool watch_fits(lua_State *L, Host *h); /* is Lua laid out as expected? */
void watch_test(lua_State *L, Host *h); /* raises unless it is */

Watch *watch_new(Host *h); /* NULL: no memory */
void watch_free(Watch *w); /* one that is off; NULL is allowed */
/* `once`: what was there before may be written to. Guards go to g. */
void watch_on(lua_State *L, Watch *w, Guards *g, bool once);
void watch_off(lua_State *L, Watch *w);        /* may be called again; NULL is allowed */
bool watch_lost(lua_State *L, const Watch *w); /* was the hook taken away? */
/* In the step something stands for what differs from run to run: numbers, symbolic sizes. */
void watch_stand_ins(Watch *w);
/* An error that left a block was caught: may it be one of the capture alone? What comes next is
 * watched again. */
bool watch_block_caught(Watch *w);
/* It goes on: nothing but a block around may catch it, since the run may not come to it. */
void watch_block_raises(Watch *w, bool doubtful);
/* For lack of memory what is new and what is old is not known. */
bool watch_failed(const Watch *w);
/* What is at that address, a table or a tensor, stands for an argument: born inside, but not the
 * step's. false: no memory. */
bool watch_give(Watch *w, const void *p);
/* On the top are a table, perhaps one behind an object with a version, or a function; a key, or the
 * number of an upvalue; and the value that is there while the step is captured. Pops them. */
void watch_stand_in_place(lua_State *L, Watch *w, bool behind);
/* Pushes the list of what the step wrote to: { container, key, before, after, behind }. */
void watch_journal_push(lua_State *L, const Watch *w);
void watch_journal_free(lua_State *L, const Watch *w);
/* A block of control flow begins, in the thread L, for which all that was born before it is old;
 * gives the one around it, for its end. */
WatchBlock watch_block_begin(Watch *w, lua_State *L);
void watch_block_end(Watch *w, WatchBlock around);
bool watch_made(lua_State *L, const Watch *w, int at); /* was the value, no tensor, born inside? */
#endif
