/* hook_table.c: calls of C functions that read or write tables, whoever makes them.
 *
 * In:   the call event of a function of Lua's own libraries: argument n stands at stack index n.
 * Out:  guards on what it is about to read; breaks at writes to what was there before.
 * Holds: functions that go by metamethods read those too, as Lua would: which there are, and the
 *        tables behind.
 */
#include <string.h>
#include "watch/room.h"

typedef struct Call {
    lua_State *L;
    lua_Debug *ar;
    Watch *w;
    const Frame *f;
    const char *name;
} Call;

static void read_event(const Call *c, int at, const char *event)
{
    watch_event(c->L, c->w, c->f, at, event);
}

static void read_list(const Call *c)
{
    if (!lua_istable(c->L, 1)) return;
    watch_length(c->L, c->w, c->f, 1);
    read_event(c, 1, "__len");
    watch_table(c->L, c->w, c->f, 1);
}

static void read_at(const Call *c)
{
    if (!lua_istable(c->L, 1) || c->ar->ntransfer < 2) return;
    lua_pushvalue(c->L, 2);
    watch_read(c->L, c->w, c->f, 1);
}

static void read_meta(const Call *c)
{
    watch_meta(c->L, c->w, c->f, 1);
    read_event(c, 1, "__metatable");
}

static void read_pairs(const Call *c) { read_event(c, 1, "__pairs"); }
static void read_length(const Call *c) { watch_length(c->L, c->w, c->f, 1); }

static void protect(const Call *c)
{
    read_event(c, 1, "__call");
    if (c->name && *c->name == 'x' && c->ar->ntransfer > 1 &&
        !base_map_set(&c->w->handlers, (uintptr_t)lua_topointer(c->L, 2), 1))
        c->w->failed = true;
}

/* The text of an object without one of its own is its address. */
static void read_text_at(const Call *c, int at)
{
    lua_State *L = c->L;
    int type = lua_type(L, at);
    bool address = type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TTHREAD ||
                   type == LUA_TUSERDATA || type == LUA_TLIGHTUSERDATA;
    read_event(c, at, "__tostring");
    if (!address || (c->f && c->f->library)) return;
    if (luaL_getmetafield(L, at, "__tostring") == LUA_TNIL)
        watch_hook_refuse(L, c->ar, c->w, BREAK_CALL,
                          lua_pushfstring(L, "%s on a %s", c->name, lua_typename(L, type)));
    lua_pop(L, 1);
}

static void read_text(const Call *c) { read_text_at(c, 1); }

static void read_texts(const Call *c)
{
    for (int i = 2; i <= c->ar->ntransfer; i++) read_text_at(c, i);
}

/* next: which keys there are, and the value of the one that comes. */
static void read_next(const Call *c)
{
    lua_State *L = c->L;
    if (!lua_istable(L, 1)) return;
    watch_keys(L, c->w, c->f, 1);
    int top = lua_gettop(L);
    if (c->ar->ntransfer < 2) lua_pushnil(L);
    else lua_pushvalue(L, 2);
    if (!lua_next(L, 1)) return;
    lua_settop(L, top + 1);
    watch_read(L, c->w, c->f, 1);
}

static void read_item(const Call *c)
{
    if (!lua_istable(c->L, 1)) return;
    lua_pushinteger(c->L, lua_tointeger(c->L, 2) + 1);
    watch_read(c->L, c->w, c->f, 1);
}

static void read_replacements(const Call *c)
{
    if (c->ar->ntransfer >= 3) watch_table(c->L, c->w, c->f, 3);
}

static void check_write(const Call *c, int at, bool raw)
{
    Break reason = watch_write(c->L, c->w, c->f, at, raw);
    if (reason != BREAK_COUNT) watch_hook_refuse(c->L, c->ar, c->w, reason, c->name);
}

static void write_raw(const Call *c)
{
    if (!strcmp(c->name, "rawset") && c->ar->ntransfer > 2) lua_pushvalue(c->L, 2);
    else lua_pushnil(c->L);
    check_write(c, 1, true);
}

/* Elements are added at keys that are not known here. */
static void write_at(const Call *c, int at)
{
    lua_pushnil(c->L);
    check_write(c, at, false);
}

static void change_list(const Call *c)
{
    read_list(c);
    write_at(c, 1);
}

static void move_list(const Call *c)
{
    read_list(c);
    write_at(c, c->ar->ntransfer >= 5 ? 5 : 1);
}

static void sort_list(const Call *c)
{
    change_list(c);
    int top = lua_gettop(c->L);
    if (!lua_istable(c->L, 1) || c->ar->ntransfer > 1) return;
    lua_Integer n = (lua_Integer)lua_rawlen(c->L, 1);
    for (lua_Integer i = 1; i <= n; i++, lua_settop(c->L, top)) {
        lua_rawgeti(c->L, 1, i);
        read_event(c, top + 1, "__lt");
    }
}

static void (*const ACTIONS[])(const Call *c) = {
    [C_TEXT] = read_text,         [C_FORMAT] = read_texts,   [C_READ] = read_list,
    [C_READ_AT] = read_at,        [C_READ_META] = read_meta, [C_PAIRS] = read_pairs,
    [C_LENGTH] = read_length,     [C_NEXT] = read_next,      [C_ITEM] = read_item,
    [C_GSUB] = read_replacements, [C_WRITE] = write_raw,     [C_CHANGE] = change_list,
    [C_MOVE] = move_list,         [C_SORT] = sort_list,      [C_PROTECT] = protect,
};

void watch_hook_tables(lua_State *L, lua_Debug *ar, Watch *w, const Frame *f, Purity purity,
                       const char *name)
{
    const Call c = {L, ar, w, f, name};
    if ((size_t)purity < sizeof ACTIONS / sizeof *ACTIONS && ACTIONS[purity]) ACTIONS[purity](&c);
}
