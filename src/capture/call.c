/* call.c: the call of a compiled function that was called so before: from the arguments to the
 * results without Lua.
 *
 * In:   arguments; captures that Lua found or made for earlier calls (core.call_learn).
 * Out:  the capture that ran and its results; or false and the arguments, and Lua does the call.
 * Holds: a capture runs here if it was learnt for a call of the same signature and its guards hold.
 *        Whatever else a call may need (a capture, a message, running as Lua) is left to Lua before
 *        anything has happened.
 */
#include <string.h>
#include "base/clock.h"
#include "bind/rank.h"
#include "capture/room.h"
#include "capture/signature.h"
#include "watch/guard.h"

enum { MOST_ROWS = 1024 };

/* A capture: its table, guards and program are three items of the list of captures. */
typedef struct Known {
    int slot;
    bool plain; /* its results are the tensors of its program, as they come */
} Known;

/* The captures for one signature, the one used last in front. */
typedef struct Row {
    uint64_t hash;
    uint64_t *words;
    int n;
    VEC(Known) known;
} Row;

/* What is known of the calls of one compiled function. */
typedef struct Calls {
    const char *class; /* CLASS: what the type is known by, more quickly than by its name */
    Signature now;     /* of the call that is on */
    VEC(Row) rows;
    int last;       /* row of the last call */
    bool masked;    /* a mask stands in the place of the specs */
    bool segments;  /* it may run as Lua does, where a program cannot */
    double seconds; /* that programs ran here */
} Calls;

/* The user values: the captures, by slot, and the slots, by capture; the specs; while no call has
 * them the lists of run-time inputs and of tables. */
enum { CAPTURES = 1, SPECS, LEAVES, TABLES, USER_VALUES = TABLES };

static const char CLASS[] = "sgl.calls";

static void rows_clear(Calls *c)
{
    for (int i = 0; i < c->rows.n; i++) {
        base_mem_free(c->rows.at[i].words);
        vec_free(&c->rows.at[i].known);
    }
    c->rows.n = c->last = 0;
}

static int calls_gc(lua_State *L)
{
    Calls *c = lua_touserdata(L, 1);
    rows_clear(c);
    vec_free(&c->rows);
    capture_signature_free(&c->now);
    return 0;
}

static const luaL_Reg CALLS_META[] = {{"__gc", calls_gc}, {NULL, NULL}};

/* core.calls(specs?, segments?) -> what calls are looked up in. The specs are packed by
 * dynamic.lua; with `segments` an argument may also be state of the step. */
static int calls(lua_State *L)
{
    lua_settop(L, 2);
    Calls *c = lua_newuserdatauv(L, sizeof *c, USER_VALUES);
    *c = (Calls){.class = CLASS, .segments = lua_toboolean(L, 2)};
    bind_class(L, CLASS, CALLS_META, NULL, 0);
    lua_setmetatable(L, -2);
    lua_newtable(L);
    lua_setiuservalue(L, 3, CAPTURES);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, 3, SPECS);
    return 1;
}

/* The row of the signature that was read, or -1. */
static int row_find(const Calls *c)
{
    size_t bytes = (size_t)c->now.words.n * sizeof *c->now.words.at;
    uint64_t hash = 0;
    for (int k = 0; k <= c->rows.n; k++) {
        if (k == 1) hash = base_hash(0, c->now.words.at, bytes);
        int i = k ? k - 1 : c->last;
        if (i < 0 || i >= c->rows.n) continue;
        const Row *row = &c->rows.at[i];
        if (k && row->hash != hash) continue;
        if (row->n == c->now.words.n && !memcmp(row->words, c->now.words.at, bytes)) return i;
    }
    return -1;
}

/* A new row for the signature that was read, or -1: no memory. */
static int row_new(Calls *c)
{
    size_t bytes = (size_t)c->now.words.n * sizeof *c->now.words.at;
    if (c->rows.n == MOST_ROWS) rows_clear(c);
    Row row = {base_hash(0, c->now.words.at, bytes), base_mem_alloc(bytes), c->now.words.n, {0}};
    if (row.words && vec_push(&c->rows, row)) {
        memcpy(row.words, c->now.words.at, bytes);
        return c->rows.n - 1;
    }
    base_mem_free(row.words);
    return -1;
}

static void move_to_front(Row *row, int i)
{
    Known k = row->known.at[i];
    for (; i > 0; i--) row->known.at[i] = row->known.at[i - 1];
    row->known.at[0] = k;
}

/* ---- a call */

/* Pushes a list that is kept for this; it is taken, so a call inside this one makes its own. */
static void list_take(lua_State *L, int which)
{
    if (lua_getiuservalue(L, 1, which) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        return;
    }
    lua_pushnil(L);
    lua_setiuservalue(L, 1, which);
}

/* Gives it back without its n items. */
static void list_give(lua_State *L, int which, int list, int n)
{
    for (; n > 0; n--) {
        lua_pushnil(L);
        lua_rawseti(L, list, n);
    }
    lua_pushvalue(L, list);
    lua_setiuservalue(L, 1, which);
}

/* Reads the signature of `count` arguments from `first` on; pushes what it needs for that. */
static bool read(lua_State *L, Host *h, Calls *c, int first, int count, CallPlace *at)
{
    luaL_checkstack(L, LUA_MINSTACK, "arguments");
    int top = lua_gettop(L);
    *at = (CallPlace){first, count, top + 1, top + 2, top + 3, c->masked};
    lua_getiuservalue(L, 1, SPECS);
    list_take(L, LEAVES);
    list_take(L, TABLES);
    return capture_signature_read(L, h, &c->now, at);
}

static void give_back(lua_State *L, const CallPlace *at, int leaves, int tables)
{
    list_give(L, LEAVES, at->leaves, leaves);
    list_give(L, TABLES, at->tables, tables);
}

/* Pushes a capture of the row that can run, its guards and its program, and moves it to the front;
 * false: there is none, and nothing is pushed. */
static bool push_capture(lua_State *L, const Calls *c, Row *row, const CallPlace *at)
{
    int top = lua_gettop(L);
    for (int i = 0; i < row->known.n; i++) {
        lua_getiuservalue(L, 1, CAPTURES);
        for (int k = 0; k < 3; k++) lua_rawgeti(L, top + 1, row->known.at[i].slot + k);
        lua_remove(L, top + 1);
        if (!watch_guards_failing(L, top + 2, at->leaves) &&
            capture_program_fits(L, top + 3, at->leaves) &&
            !(c->segments && capture_program_aliased(L, top + 3, at->leaves))) {
            if (i) move_to_front(row, i);
            return true;
        }
        lua_settop(L, top);
    }
    return false;
}

/* Runs the capture on the top three; the results of the call are on the top then. Returns how many,
 * or CAPTURE_AGAIN. */
static int run(lua_State *L, Calls *c, Known known, const CallPlace *at)
{
    int program = lua_gettop(L), leaves = c->now.leaf.n, tables = c->now.table.n;
    double start = base_clock();
    int n = capture_program_run(L, program, at->leaves);
    c->seconds += base_clock() - start;
    if (n == CAPTURE_AGAIN) return n;
    if (known.plain) {
        give_back(L, at, leaves, tables);
        lua_rotate(L, program - 1, -2);
        lua_pop(L, 2);
        return n + 1;
    }
    lua_createtable(L, n, 0);
    lua_insert(L, program + 1);
    for (int i = n; i > 0; i--) lua_rawseti(L, program + 1, i);
    lua_pushvalue(L, at->leaves);
    lua_replace(L, program);
    lua_pushvalue(L, at->tables);
    lua_replace(L, program - 1);
    return 4;
}

/* The calls at 1; NULL: false stands there. Each call of a step asks. */
static Calls *calls_at(lua_State *L)
{
    Calls *c = lua_rawlen(L, 1) == sizeof *c ? lua_touserdata(L, 1) : NULL;
    if (c && c->class == CLASS) return c;
    if (lua_toboolean(L, 1) || lua_isnone(L, 1)) luaL_checkudata(L, 1, CLASS);
    return NULL;
}

/* core.call(calls, arguments …) -> the capture and its results; or behind it, to make the results
 * of, the lists of tables, of run-time inputs and of outputs. Else false, arguments …, or nil,
 * arguments … if Lua does again what a run began; calls may be false. */
static int call(lua_State *L)
{
    Host *h = bind_of(L);
    Calls *c = calls_at(L);
    int n = lua_gettop(L);
    CallPlace at;
    bool again = false;
    if (!tensor_recording(h)) bind_rank_step(L);
    if (c && !tensor_recording(h) && c->rows.n && read(L, h, c, 2, n - 1, &at)) {
        c->last = row_find(c);
        Row *row = c->last < 0 ? NULL : &c->rows.at[c->last];
        if (row && push_capture(L, c, row, &at)) {
            int results = run(L, c, row->known.at[0], &at);
            if (results != CAPTURE_AGAIN) return results;
            again = true;
        }
        give_back(L, &at, c->now.leaf.n, c->now.table.n);
    }
    lua_settop(L, n);
    if (again) lua_pushnil(L);
    else lua_pushboolean(L, false);
    lua_replace(L, 1);
    return n;
}

/* core.call_seconds(calls) -> how long programs ran here */
static int seconds(lua_State *L)
{
    const Calls *c = luaL_checkudata(L, 1, CLASS);
    lua_pushnumber(L, c->seconds);
    return 1;
}

/* ---- learning */

/* The slot of the capture at `at`, whose guards and program stand behind it. */
static int slot_of(lua_State *L, int captures, int at)
{
    lua_pushvalue(L, at);
    if (lua_rawget(L, captures) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_pushinteger(L, (lua_Integer)lua_rawlen(L, captures) + 1);
        for (int k = 0; k < 3; k++) {
            lua_pushvalue(L, at + k);
            lua_rawseti(L, captures, lua_tointeger(L, -2) + k);
        }
        lua_pushvalue(L, at);
        lua_pushvalue(L, -2);
        lua_rawset(L, captures);
    }
    int slot = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return slot;
}

/* core.call_learn(calls, capture, guards, program, plain, arguments …): a call of these arguments
 * is served by it. */
static int learn(lua_State *L)
{
    enum { CAPTURE = 2, PLAIN = 5 };
    Host *h = bind_of(L);
    Calls *c = luaL_checkudata(L, 1, CLASS);
    int n = lua_gettop(L);
    CallPlace at;
    if (!read(L, h, c, PLAIN + 1, n - PLAIN, &at)) return 0;
    lua_getiuservalue(L, 1, CAPTURES);
    Known known = {slot_of(L, lua_gettop(L), CAPTURE), lua_toboolean(L, PLAIN)};
    int found = row_find(c);
    if (found < 0) found = row_new(c);
    if (found < 0) return 0;
    Row *row = &c->rows.at[found];
    for (int i = 0; i < row->known.n; i++) {
        if (row->known.at[i].slot != known.slot) continue;
        move_to_front(row, i);
        return 0;
    }
    if (vec_push(&row->known, known)) move_to_front(row, row->known.n - 1);
    return 0;
}

/* core.call_forget(calls): what served a call may serve it no longer. */
static int forget(lua_State *L)
{
    rows_clear(luaL_checkudata(L, 1, CLASS));
    return 0;
}

/* core.call_mask(calls, mask): of the arguments only what the mask says is looked at; nil: all of
 * them. What served a call is forgotten. */
static int mask(lua_State *L)
{
    Calls *c = luaL_checkudata(L, 1, CLASS);
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
    c->masked = lua_istable(L, 2);
    lua_setiuservalue(L, 1, SPECS);
    rows_clear(c);
    return 0;
}

const luaL_Reg CAPTURE_CALL[] = {
    {"calls", calls},          {"call", call},      {"call_learn", learn}, {"call_forget", forget},
    {"call_seconds", seconds}, {"call_mask", mask}, {NULL, NULL},
};
