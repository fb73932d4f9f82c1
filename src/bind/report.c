/* report.c: what Lua reports of events, and what it can ask about them.
 */
#include <string.h>
#include "bind/events.h"
#include "bind/room.h"

/* The kind whose name is at arg; raises with the nearest. */
static int check_kind(lua_State *L, int arg)
{
    const char *name = luaL_checkstring(L, arg), *names[OBS_COUNT];
    for (int id = 0; id < OBS_COUNT; id++) {
        names[id] = OBS_EVENTS[id].name;
        if (strcmp(name, names[id]) == 0) return id;
    }
    const char *near = base_str_nearest(name, names, OBS_COUNT);
    luaL_Buffer all;
    luaL_buffinit(L, &all);
    for (int id = 0; id < OBS_COUNT; id++) {
        if (id) luaL_addstring(&all, ", ");
        luaL_addstring(&all, names[id]);
    }
    luaL_pushresult(&all);
    return bind_raise(L, SGL_EARG, NULL, "unknown event '%s' (%s%s%sevents: %s)", name,
                      near ? "did you mean '" : "", near ? near : "", near ? "'? " : "",
                      lua_tostring(L, -1));
}

/* Reads the value on the top of the stack, which stays on the stack's table; false: no scalar. */
static bool read_field(lua_State *L, const char *name, ObsField *to)
{
    switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
        *to = lua_isinteger(L, -1) ? OBS_INT(name, lua_tointeger(L, -1))
                                   : OBS_NUMBER(name, lua_tonumber(L, -1));
        return true;
    case LUA_TBOOLEAN:
        *to = OBS_BOOL(name, lua_toboolean(L, -1));
        return true;
    case LUA_TSTRING:
        *to = OBS_TEXT(name, lua_tostring(L, -1));
        return true;
    default:
        return false;
    }
}

/* core.event(name, fields): Lua reports that something happened. Callbacks get all fields, the
 * other sinks those that are numbers, booleans and strings; the field `ms` is the duration. */
static int event(lua_State *L)
{
    Host *h = bind_of(L);
    Events *ev = h->events;
    ObsField fields[OBS_MAX_FIELDS];
    int id = check_kind(L, 1), n = 0;
    double ms = -1;
    luaL_checktype(L, 2, LUA_TTABLE);
    if (!obs_wanted(h->cx, (ObsId)id)) return 0;
    if (OBS_EVENTS[id].pace == OBS_OFTEN && !obs_sample(h->cx, (ObsId)id)) return 0;
    lua_settop(L, 2);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        if (n == OBS_MAX_FIELDS || lua_type(L, -2) != LUA_TSTRING) continue;
        const char *name = lua_tostring(L, -2);
        if (strcmp(name, "ms") == 0 && lua_type(L, -1) == LUA_TNUMBER) ms = lua_tonumber(L, -1);
        else n += read_field(L, name, &fields[n]);
    }
    ev->table = luaL_ref(L, LUA_REGISTRYINDEX);
    obs_emit(h->cx, (ObsId)id, ms, n, fields);
    luaL_unref(L, LUA_REGISTRYINDEX, ev->table);
    ev->table = LUA_NOREF;
    bind_events_flush(L, h);
    return 0;
}

/* core.listen(fn, names): fn(event) is called for events of these names, instead of what was said
 * before. */
static int listen(lua_State *L)
{
    Host *h = bind_of(L);
    uint64_t wants = 0;
    luaL_checktype(L, 1, LUA_TFUNCTION);
    int n = bind_check_list(L, 2, "listen: the names");
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, 2, i);
        wants |= UINT64_C(1) << check_kind(L, lua_gettop(L));
        lua_pop(L, 1);
    }
    bind_events_flush(L, h);
    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &BIND_LISTENER);
    obs_sink_want(h->cx, h->events->sink, wants);
    return 0;
}

/* core.event_kinds() -> list of {name, component, pace, fields, help, count, weight, ms} */
static int kinds(lua_State *L)
{
    static const char *const PACES[] = {
        [OBS_SELDOM] = "seldom", [OBS_MANY] = "many", [OBS_OFTEN] = "often"};
    const Host *h = bind_of(L);
    lua_createtable(L, OBS_COUNT, 0);
    for (int id = 0; id < OBS_COUNT; id++) {
        const ObsInfo *info = &OBS_EVENTS[id];
        ObsCounter c = obs_counter(h->cx, (ObsId)id);
        lua_createtable(L, 0, 8);
        lua_pushstring(L, info->name);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, info->component);
        lua_setfield(L, -2, "component");
        lua_pushstring(L, PACES[info->pace]);
        lua_setfield(L, -2, "pace");
        lua_pushstring(L, info->fields);
        lua_setfield(L, -2, "fields");
        lua_pushstring(L, info->help);
        lua_setfield(L, -2, "help");
        lua_pushinteger(L, c.count);
        lua_setfield(L, -2, "count");
        lua_pushnumber(L, c.weight);
        lua_setfield(L, -2, "weight");
        lua_pushnumber(L, c.ms);
        lua_setfield(L, -2, "ms");
        lua_rawseti(L, -2, id + 1);
    }
    lua_pushinteger(L, h->events->dropped);
    lua_setfield(L, -2, "dropped");
    return 1;
}

/* core.history() -> list of the last events, the oldest first */
static int history(lua_State *L)
{
    const Host *h = bind_of(L);
    const ObsRecord *r;
    lua_newtable(L);
    for (int i = 0; (r = obs_history(h->cx, i)); i++) {
        bind_events_push(L, &r->event, LUA_NOREF);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* core.callback_interrupted(): a callback ended with Ctrl-C */
static int interrupted(lua_State *L)
{
    bind_of(L)->events->interrupted = true;
    return 0;
}

const luaL_Reg BIND_EVENTS[] = {
    {"event", event},
    {"listen", listen},
    {"event_kinds", kinds},
    {"history", history},
    {"callback_interrupted", interrupted},
    {NULL, NULL},
};
