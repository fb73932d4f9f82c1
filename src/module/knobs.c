/* knobs.c: the settings as Lua reads and sets them.
 *
 * What a change causes is done by exec/settings.c, for Lua as for the C interface.
 */
#include <string.h>
#include "capture/capture.h"
#include "module/module.h"
#include "exec/settings.h"
#include "bind/events.h"

static void push_value(lua_State *L, Host *h, KnobId id)
{
    if (KNOBS[id].type == KNOB_INT) {
        lua_pushinteger(L, h->cx->knobs.value[id]);
        return;
    }
    Str *s = bind_text(L);
    base_knob_text(&h->cx->knobs, id, s);
    bind_text_push(L, s);
    lua_remove(L, -2);
}

static int find(lua_State *L, Host *h, int arg)
{
    base_err_clear(&h->cx->err);
    int id = base_knob_find(luaL_checkstring(L, arg), &h->cx->err);
    return id < 0 ? bind_throw(L, h) : id;
}

/* A hook of a capture may set what it likes but the backend that the capture is for. */
static void check_backend_free(lua_State *L, Host *h, int id)
{
    if (!capture_under_way(h) || (id != KNOB_enable && id != KNOB_backend)) return;
    bind_raise(L, SGL_ESTATE, "set it before or after the call of the compiled function",
               "%s: not while a step is captured", KNOBS[id].name);
}

static void put(lua_State *L, Host *h, int id, KnobFrom from, const char *shown, const char *text)
{
    check_backend_free(L, h, id);
    if (exec_setting_put(h->cx, (KnobId)id, from, shown, text) < 0) bind_throw(L, h);
    bind_events_flush(L, h);
}

/* core.knob(name) -> value; core.knob(name, value) sets it */
static int knob(lua_State *L)
{
    Host *h = bind_of(L);
    int id = find(L, h, 1);
    if (!lua_isnoneornil(L, 2))
        put(L, h, id, KNOB_FROM_PROGRAM, KNOBS[id].name, luaL_tolstring(L, 2, NULL));
    push_value(L, h, (KnobId)id);
    return 1;
}

/* core.knob_from_file(name, text, found) -> true, or nil, message, hint; `found`: nobody named the
 * file. Checked in any case, and set
 * unless the environment, a flag or the program did. */
static int knob_from_file(lua_State *L)
{
    Host *h = bind_of(L);
    Err *e = &h->cx->err;
    base_err_clear(e);
    int id = base_knob_find(luaL_checkstring(L, 1), e);
    if (id >= 0)
        exec_setting_put(h->cx, (KnobId)id, lua_toboolean(L, 3) ? KNOB_FROM_FOUND : KNOB_FROM_FILE,
                         KNOBS[id].name, luaL_checkstring(L, 2));
    if (e->code) {
        lua_pushnil(L);
        lua_pushstring(L, e->text);
        lua_pushstring(L, e->hint);
        base_err_clear(e);
        return 3;
    }
    bind_events_flush(L, h);
    lua_pushboolean(L, 1);
    return 1;
}

/* Pushes what is known of a setting as a table. */
static void push_knob(lua_State *L, Host *h, KnobId id)
{
    static const char *const TYPES[] = {[KNOB_INT] = "integer",
                                        [KNOB_CHOICE] = "choice",
                                        [KNOB_SET] = "set",
                                        [KNOB_PATH] = "path",
                                        [KNOB_TEXT] = "text"};
    const KnobInfo *k = &KNOBS[id];
    lua_newtable(L);
    bind_set_text(L, "name", k->name);
    bind_set_text(L, "type", TYPES[k->type]);
    bind_set_text(L, "default", k->def);
    bind_set_text(L, "values", k->values);
    bind_set_text(L, "help", k->help);
    bind_set_text(L, "from", base_knob_from_name((KnobFrom)h->cx->knobs.from[id]));
    lua_pushboolean(L, k->key);
    lua_setfield(L, -2, "key");
    if (k->type == KNOB_INT) {
        lua_pushinteger(L, k->lo);
        lua_setfield(L, -2, "low");
        lua_pushinteger(L, k->hi);
        lua_setfield(L, -2, "high");
    }
    push_value(L, h, id);
    lua_setfield(L, -2, "value");
}

/* core.knobs() -> list of {name, type, default, values, low, high, key, help, value, from} */
static int knobs(lua_State *L)
{
    Host *h = bind_of(L);
    lua_createtable(L, KNOB_COUNT, 0);
    for (int id = 0; id < KNOB_COUNT; id++) {
        push_knob(L, h, (KnobId)id);
        lua_rawseti(L, -2, id + 1);
    }
    return 1;
}

/* core.presets() -> list of {preset, setting, value} */
static int presets(lua_State *L)
{
    lua_newtable(L);
    for (int i = 0; KNOB_PRESETS[i].name; i++) {
        lua_createtable(L, 0, 3);
        bind_set_text(L, "preset", KNOB_PRESETS[i].name);
        bind_set_text(L, "setting", KNOBS[KNOB_PRESETS[i].id].name);
        bind_set_text(L, "value", KNOB_PRESETS[i].text);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

const luaL_Reg MODULE_KNOBS[] = {
    {"knob", knob}, {"knob_from_file", knob_from_file}, {"knobs", knobs}, {"presets", presets},
    {NULL, NULL},
};
