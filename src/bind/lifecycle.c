/* lifecycle.c: the states of backends as Lua sees and changes them.
 */
#include "bind/events.h"
#include "bind/room.h"
#include "exec/lifecycle.h"

/* core.lifecycle() -> list of {name, state}; core.lifecycle(name, state) takes a step. */
static int lifecycle(lua_State *L)
{
    Host *h = bind_of(L);
    const char *names[BACKEND_COUNT + 1] = {NULL}, *states[BACKEND_STATES + 1] = {NULL};
    for (int i = 0; i < BACKEND_COUNT; i++) names[i] = exec_backend_at(i)->name;
    for (int i = 0; i < BACKEND_STATES; i++) states[i] = exec_state_name((BackendState)i);
    if (!lua_isnoneornil(L, 1)) {
        int backend = luaL_checkoption(L, 1, NULL, names);
        BackendState to = (BackendState)luaL_checkoption(L, 2, NULL, states);
        base_err_clear(&h->cx->err);
        if (exec_lifecycle_move(h->cx, backend, to) < 0) return bind_throw(L, h);
        bind_events_flush(L, h);
    }
    lua_createtable(L, BACKEND_COUNT, 0);
    for (int i = 0; i < BACKEND_COUNT; i++) {
        lua_createtable(L, 0, 2);
        lua_pushstring(L, names[i]);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, states[exec_lifecycle_state(h->cx, i)]);
        lua_setfield(L, -2, "state");
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* core.lifecycle_steps() -> list of {from, to, when} */
static int lifecycle_steps(lua_State *L)
{
    const BackendStep *step;
    lua_newtable(L);
    for (int i = 0; (step = exec_lifecycle_step(i)); i++) {
        lua_createtable(L, 0, 3);
        lua_pushstring(L, exec_state_name(step->from));
        lua_setfield(L, -2, "from");
        lua_pushstring(L, exec_state_name(step->to));
        lua_setfield(L, -2, "to");
        lua_pushstring(L, step->when);
        lua_setfield(L, -2, "when");
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

const luaL_Reg BIND_LIFECYCLE[] = {
    {"lifecycle", lifecycle},
    {"lifecycle_steps", lifecycle_steps},
    {NULL, NULL},
};
