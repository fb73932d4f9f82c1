/* room.h: what the files of watch/ share: the state of a watch, and its parts.
 *
 * The one private thing of Lua that it relies on is the head of CallInfo (bind/frame.h), checked by
 * watch_test.
 */
#ifndef SGL_WATCH_ROOM_H
#define SGL_WATCH_ROOM_H
#include "tensor/break.h"
#include "tensor/recorder.h"
#include "watch/opcode.h"
#include "watch/purity.h"
#include "watch/watch.h"

typedef struct WatchRoom {
    uint64_t rules; /* counts what `debug` changes of types, modules and the library */
    bool tested;    /* Lua was found to be laid out as expected */
    Map purity;     /* C functions whose effects are known, by address */
} WatchRoom;

static inline WatchRoom *room_of(const Host *h) { return h->room[ROOM_WATCH].state; }

extern const luaL_Reg WATCH_JOURNAL[], WATCH_GUARD[], WATCH_UNHELD[], WATCH_DUMP[], WATCH_LOOKED[];
void watch_open_raw(lua_State *L, Host *h); /* raw.c: rawset and others, and those of `debug` */

/* The constants of a function, taken from what lua_dump writes. */
typedef struct Code {
    int n;
    uint8_t *bytes;
    uint32_t *at; /* where constant i begins in bytes */
} Code;

typedef struct Frame {
    const void *first; /* its first instruction seen: the same for all calls of a function */
    int code;          /* index in codes, or -1 */
    bool library;
    SrcPos tail; /* where the user's tail call that became this frame stands */
} Frame;

struct Watch {
    Host *host;
    Guards *guards;
    const void *registry; /* of the Lua state */
    struct Watch *outer;  /* of another state */
    bool on, entered, failed, once;
    lua_Alloc alloc;
    void *alloc_data;
    lua_Hook old_hook;
    int old_mask, old_count;
    Map fresh;             /* addresses of objects born since it began, with their numbers */
    uint64_t born;         /* how many */
    WatchBlock block;      /* the innermost one */
    Map internal;          /* tables of the library */
    Map given;             /* what stands for arguments: born inside, but not the step's */
    Map behind;            /* tables behind objects with a version that were written to */
    int journal;           /* writes to what was there before */
    Map walked;            /* tables whose keys were counted, and those read with all below */
    Map seen;              /* tables that are gone through now */
    Map frame_of, code_of; /* CallInfo: index in frames; first instruction: index in codes */
    VEC(Frame) frames;
    VEC(Code) codes;
    VEC(lua_State *) threads; /* that were given the hook; anchored by the guards' list */
    const void *base;         /* CallInfo of the capture itself */
    Map handlers;             /* functions that were given to xpcall inside */
    const void *handler;      /* message handler set outside, by xpcall; NULL: not known */
    const void *unwinding;    /* CallInfo of what raises an error: handlers run above it */
    const void *erring;       /* CallInfo of `error`, whose error is on its way */
    bool collects;            /* the collector ran before, and runs again at the end */
    Recorder *set_aside;      /* while collectgarbage runs finalizers, no part of a step */
    bool stand_ins;           /* something in the step stands for what differs from run to run */
    bool doubtful;            /* an error was raised that may be one of the capture alone */
    bool left_block;          /* an error left a function of control flow, which may not run */
    bool sure;                /* if there is one now, it is one of Lua as well */
    const void *swapped;      /* CallInfo of a frame with registers that are not its own now */
    int swaps[2], nswaps;     /* which; the values are in the guards' list, under their addresses */
    const void *last;         /* CallInfo of the last frame looked up, and its index */
    int last_frame;
};

/* hook_op.c, hook_call.c */
void watch_hook_op(lua_State *L, lua_Debug *ar, Watch *w, Instruction i);
void watch_hook_call(lua_State *L, lua_Debug *ar, Watch *w);
void watch_hook_tables(lua_State *L, lua_Debug *ar, Watch *w, const Frame *f, Purity purity,
                       const char *name);
int watch_hook_refuse(lua_State *L, lua_Debug *ar, const Watch *w, Break reason, const char *name);
void watch_hook_return(lua_State *L, lua_Debug *ar, Watch *w);
Instruction watch_hook_instruction(const lua_Debug *ar);
Frame *watch_hook_frame(lua_State *L, lua_Debug *ar, Watch *w);
void watch_hook_thread(lua_State *L, Watch *w, lua_State *thread);
bool watch_hook_constant(lua_State *L, lua_Debug *ar, Watch *w, Frame *f, int i);

/* dump.c */
bool watch_dump(lua_State *L, Str *s); /* the function on the top, stripped; false: no memory */
const uint8_t *watch_dump_code(const Str *s, size_t *n); /* its instructions; NULL: no dump */
bool watch_dump_constants(Code *c, Str *s);              /* takes the dump; false: no memory */
void watch_dump_push(lua_State *L, const uint8_t *p);

/* looked.c: the step looks at the table at `at`, if that stands for an argument, under the key at
 * `key`; 0: at any of it, and of the tables within. */
void watch_looked(lua_State *L, const Watch *w, int at, int key);
void watch_guards_check(lua_State *L, int at); /* guard.c: raises where there are no guards */

/* The register at `at` has the value on the top, popped, until the next instruction. */
void watch_swap(lua_State *L, const lua_Debug *ar, Watch *w, int at);

/* caught.c */
/* Is it a frame of the step's own, no coroutine's: above the capture and what calls the step? */
bool watch_is_inside(const Watch *w, const lua_Debug *ar);
/* Does the frame of ar stand above that one, or is it that one? */
bool watch_is_above(const void *frame, const lua_Debug *ar);
void watch_raising(lua_State *L, Watch *w, int code);
void watch_sure(Watch *w, const lua_Debug *ar, bool sure, bool raises);
void watch_hook_caught(lua_State *L, lua_Debug *ar, Watch *w);

/* journal.c */
/* The table at `at` is about to be written to under the key on the top, popped; or an upvalue. */
void watch_journal_field(lua_State *L, Watch *w, int at);
void watch_journal_upvalue(lua_State *L, Watch *w, int function, int index);
/* Was something of the table, or the upvalue, of that address written to? */
bool watch_journal_has(lua_State *L, const Watch *w, const void *id);
/* Did that change which keys the table has? */
bool watch_journal_resized(lua_State *L, const Watch *w, const void *id);
void watch_journal_end(lua_State *L, Watch *w); /* takes the writes back */

/* hook_read.c: tables that are read and written */
/* What it breaks to change an object now: it is older than the step, or than the innermost block;
 * BREAK_COUNT: nothing. */
Break watch_change(const Watch *w, const void *p);
bool watch_fresh(const Watch *w, const void *p);
bool watch_old(lua_State *L, const Watch *w, const Frame *f, int at);
/* The same, but with `once` it breaks nothing to change what is older than the step. */
Break watch_once(const Watch *w, Break reason);
void watch_own(lua_State *L, Watch *w, int table, int value);    /* value: 0, the table itself */
void watch_read(lua_State *L, Watch *w, const Frame *f, int at); /* the key on the top */
void watch_upvalue(lua_State *L, Watch *w, int function, int index);
void watch_length(lua_State *L, Watch *w, const Frame *f, int at);
void watch_meta(lua_State *L, Watch *w, const Frame *f, int at);
/* Is it a table, or has it a metatable? The library's own objects keep theirs. */
bool watch_has_events(lua_State *L, int at);
/* Which metamethod the value at `at` has for an event. */
void watch_event(lua_State *L, Watch *w, const Frame *f, int at, const char *event);
void watch_keys(lua_State *L, Watch *w, const Frame *f, int at);
/* Keys and values, of the tables behind too. */
void watch_table(lua_State *L, Watch *w, const Frame *f, int at);
void watch_all(lua_State *L, Watch *w, const Frame *f, int at); /* and of those within */
/* What it breaks to write to the table at `at` under the key on the top (nil: a new one). Unless it
 * is a raw write, __newindex may send it on where the key is absent. */
Break watch_write(lua_State *L, Watch *w, const Frame *f, int at, bool raw);
bool watch_given(lua_State *L, const Watch *w, int at); /* a table that stands for an argument? */
/* Does one of two values stand for an argument, the other being from outside? What stands for an
 * argument is another object than the argument itself. */
bool watch_stand_in(lua_State *L, const Watch *w, int a, int b);
/* A computed tensor of this step, not an input? */
const Tensor *watch_computed(lua_State *L, const Watch *w, int at);
/* One that asks something: of booleans, and no number? */
bool watch_boolean(lua_State *L, const Watch *w, int at);
#endif
