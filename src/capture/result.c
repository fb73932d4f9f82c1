/* result.c: where the values come from that a captured step returns.
 *
 * Holds: called when the hook is off already, but the capture is still on, so that looking at the
 *        results is no read of the step.
 */
#include "capture/room.h"
#include "tensor/break.h"

/* core.whence(v) -> "outside"; "argument" and its number; or "made", and for a tensor that stands
 * for a number which kind: "integer" or "float" */
static int whence(lua_State *L)
{
    static const char *const NUMBERS[] = {
        [STRONG] = NULL, [WEAK_INT] = "integer", [WEAK_FLOAT] = "float"};
    Host *h = bind_of(L);
    lua_settop(L, 1);
    const Capture *c = capture_on(h);
    if (!c) return bind_raise(L, SGL_ESTATE, NULL, "whence: no step is being captured");
    const Tensor *t = tensor_at(L, h, 1);
    const CapturedArg *arg = t ? capture_argument(c, t) : NULL;
    bool made = t ? capture_made(c, t) : watch_made(L, capture_step(c)->watch, 1);
    lua_pushstring(L, arg ? "argument" : made ? "made" : "outside");
    if (arg) lua_pushinteger(L, arg - c->args + 1);
    else if (t && t->weak) lua_pushstring(L, NUMBERS[t->weak]);
    else lua_pushnil(L);
    return 2;
}

/* core.break_result(what, fn): breaks at the definition of fn */
static int break_result(lua_State *L)
{
    lua_Debug ar;
    Host *h = bind_of(L);
    const char *what = luaL_checkstring(L, 1);
    if (!lua_isfunction(L, 2)) return tensor_break(L, h, BREAK_RESULT, NULL, "%s", what);
    lua_pushvalue(L, 2);
    lua_getinfo(L, ">S", &ar);
    return tensor_break_at(L, h, BREAK_RESULT, &ar, what);
}

const luaL_Reg CAPTURE_RESULT[] = {
    {"whence", whence},
    {"break_result", break_result},
    {NULL, NULL},
};
