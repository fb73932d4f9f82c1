/* caught.c: errors that are caught inside the step.
 *
 * In:    errors on their way, and returns of the functions that catch: pcall, xpcall, resume and
 *        close of coroutines, load.
 * Out:   the break again that was caught; B-CAUGHT for an error that may be the capture's alone. An
 *        error that leaves a block is caught by the block, which is asked here whether it may be.
 * Holds: no catch of such an error comes to an end, so nothing of the step runs on a path that
 *        Lua would not take. An error may be the capture's alone where something stands for what
 *        differs from run to run: numbers among the arguments, symbolic sizes, functions of
 *        control flow; unless the step raises it itself, by `error` or `assert`, or an
 *        instruction does, since instructions are looked at before they run.
 */
#include <string.h>
#include "watch/room.h"

bool watch_is_above(const void *frame, const lua_Debug *ar)
{
    const CallHead *c = (const void *)ar->i_ci;
    while (c && c != frame) c = c->previous;
    return c != NULL;
}

bool watch_is_inside(const Watch *w, const lua_Debug *ar)
{
    const CallHead *base = w->base;
    return watch_is_above(base, ar) && (const void *)ar->i_ci != base &&
           (const void *)ar->i_ci != base->next;
}

void watch_stand_ins(Watch *w) { w->stand_ins = true; }

bool watch_block_caught(Watch *w)
{
    bool doubtful = w->doubtful || (w->stand_ins && !w->sure);
    w->unwinding = w->erring = NULL;
    w->sure = w->left_block = false;
    return doubtful;
}

void watch_block_raises(Watch *w, bool doubtful)
{
    w->left_block = true;
    w->doubtful |= doubtful;
    w->sure = !doubtful;
}

/* An error of the engine is about to be raised; it is on the top. What says nothing of the step is
 * not for it to catch either, nor is what a function of the engine cannot do in a step. */
void watch_raising(lua_State *L, Watch *w, int code)
{
    lua_Debug ar;
    if (code == SGL_ESTATE) {
        lua_pushliteral(L, "B-STATE");
        lua_setfield(L, -2, "reason");
    }
    if (code == SGL_ESTATE || code == SGL_ENOMEM || code == SGL_EINTR)
        tensor_break_remember(L, w->host);
    if (w->stand_ins || code == SGL_EGRAD || code == SGL_EUNSUP) w->doubtful = true;
    if (lua_getstack(L, 0, &ar)) w->unwinding = ar.i_ci;
}

/* `sure`: an error that comes before the next event is one of Lua as well. What runs above `error`
 * handles one that is on its way. */
void watch_sure(Watch *w, const lua_Debug *ar, bool sure, bool raises)
{
    if (w->erring && watch_is_above(w->erring, ar)) return;
    w->erring = raises ? ar->i_ci : NULL;
    w->sure = sure || raises;
}

/* Which of its first results says that the function of the return event caught an error? */
static int caught_result(lua_State *L, lua_Debug *ar, const Watch *w)
{
    static const struct {
        const char *name;
        int type;
    } CATCH[] = {
        {"pcall", LUA_TBOOLEAN},
        {"xpcall", LUA_TBOOLEAN},
        {"coroutine.resume", LUA_TBOOLEAN},
        {"coroutine.close", LUA_TBOOLEAN},
        {"load", LUA_TNIL},
    };
    const char *name = NULL;
    lua_getinfo(L, "f", ar);
    lua_CFunction c = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    if (c) watch_purity_of(w->host, c, &name);
    for (size_t i = 0; name && i < sizeof CATCH / sizeof *CATCH; i++)
        if (!strcmp(CATCH[i].name, name)) return CATCH[i].type;
    return LUA_TNONE;
}

/* Replaces the error on the top by what it says: of the engine's own the message. */
static const char *error_text(lua_State *L)
{
    if (lua_istable(L, -1)) {
        lua_pushliteral(L, "message");
        lua_rawget(L, -2);
    }
    if (lua_type(L, -1) == LUA_TSTRING) return lua_tostring(L, -1);
    return lua_pushfstring(L, "an error object, a %s,", luaL_typename(L, -1));
}

/* Did the innermost block begin in a coroutine that ended with an error? */
static bool block_died(const Watch *w)
{
    return w->block.thread && lua_status(w->block.thread) > LUA_YIELD;
}

/* Of the return event of a function whose first result is on the top, false or nil. */
void watch_hook_caught(lua_State *L, lua_Debug *ar, Watch *w)
{
    int top = lua_gettop(L), type = caught_result(L, ar, w);
    if (type != lua_type(L, top)) return;
    tensor_break_again(L, w->host);
    bool doubtful = w->doubtful || w->left_block || block_died(w);
    if (!doubtful && (type == LUA_TNIL || w->sure || !w->stand_ins)) return;
    if (ar->ntransfer < 2 || !lua_getlocal(L, ar, ar->ftransfer + 1)) lua_pushnil(L);
    tensor_break(L, w->host, BREAK_CAUGHT, NULL, "\"%s\" is caught", error_text(L));
}
