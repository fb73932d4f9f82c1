/* module_path.c: which module a capture is in, for the paths of composites.
 *
 * In:   core.module, which the call of a module makes before and after its forward.
 * Out:  the list of the calls, from which the paths are found when the step is captured: looking
 *       through modules in between would be watched as what the step reads.
 * Holds: until then the module of a composite is the number of the call that it was made in. A
 *        capture that an error ends takes its list with it.
 */
#include <stdlib.h>
#include "capture/room.h"
#include "ir/mark.h"

static const char FIELD[] = "modules"; /* of the list of a step's states */

/* Pushes the list of a step's calls: { module, number of the call around it } each. */
void capture_modules(lua_State *L, const Capture *c)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, capture_step(c));
    if (lua_getfield(L, -1, FIELD) == LUA_TNIL) {
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setfield(L, -4, FIELD);
        lua_remove(L, -2);
    }
    lua_remove(L, -2);
}

static int in_call(lua_State *L, Host *h, Graph *g, lua_Integer number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    return ir_mark_module(g, number ? text : NULL) < 0 ? bind_throw(L, h) : SGL_OK;
}

/* core.module() -> the number of the call that the capture is in, 0: none. It is now in a call of
 * the module that is the caller's first local variable: a table among the arguments would be
 * watched as read by the step. core.module(number): back in that. Nothing outside a capture. */
static int module(lua_State *L)
{
    Host *h = bind_of(L);
    Capture *c = capture_on(h);
    lua_Debug ar;
    lua_settop(L, 1);
    if (!c || !lua_getstack(L, 1, &ar)) return 0;
    Graph *g = c->trace.graph;
    lua_Integer before = g->module ? strtol(g->module, NULL, 10) : 0;
    if (lua_isinteger(L, 1)) return in_call(L, h, g, lua_tointeger(L, 1));
    capture_modules(L, c);
    lua_createtable(L, 2, 0);
    if (!lua_getlocal(L, &ar, 1)) lua_pushnil(L);
    lua_rawseti(L, 3, 1);
    lua_pushinteger(L, before);
    lua_rawseti(L, 3, 2);
    lua_Integer number = (lua_Integer)lua_rawlen(L, 2) + 1;
    lua_rawseti(L, 2, number);
    in_call(L, h, g, number);
    lua_pushinteger(L, before);
    return 1;
}

void capture_modules_named(lua_State *L, Host *h, const Capture *c)
{
    Graph *g = c->trace.graph;
    for (int r = 1; r < g->composites.n; r++) {
        Composite *composite = &g->composites.at[r];
        if (!*composite->module) continue;
        lua_rawgeti(L, -1, strtol(composite->module, NULL, 10));
        if (ir_composite_module(g, (uint32_t)r, luaL_optstring(L, -1, "")) < 0) bind_throw(L, h);
        lua_pop(L, 1);
    }
}

const luaL_Reg CAPTURE_MODULE[] = {{"module", module}, {NULL, NULL}};
