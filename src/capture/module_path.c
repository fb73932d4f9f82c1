/* module_path.c: which module a capture is in, for the paths of composites.
 *
 * In:   core.module, which the call of a module makes before and after its forward.
 * Holds: a capture that an error ends takes its module with it.
 */
#include "capture/room.h"
#include "ir/mark.h"

static const char FIELD[] = "module"; /* of the list of a step's states */

/* core.module() -> the module that the capture is in and its path; nothing outside a capture or
 * before the first. core.module(module, path) says which it is in now; nil: none. */
static int module(lua_State *L)
{
    Host *h = bind_of(L);
    Capture *c = capture_on(h);
    int given = lua_gettop(L);
    lua_settop(L, 2);
    if (!c) return 0;
    Graph *g = c->trace.graph;
    lua_rawgetp(L, LUA_REGISTRYINDEX, capture_step(c));
    if (!given) {
        lua_getfield(L, 3, FIELD);
        lua_pushstring(L, g->module);
        return 2;
    }
    lua_pushvalue(L, 1);
    lua_setfield(L, 3, FIELD);
    return ir_mark_module(g, luaL_optstring(L, 2, NULL)) < 0 ? bind_throw(L, h) : 0;
}

const luaL_Reg CAPTURE_MODULE[] = {{"module", module}, {NULL, NULL}};
