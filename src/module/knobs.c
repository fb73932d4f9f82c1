/* knobs.c: the settings as Lua reads and sets them.
 *
 * Holds: what was made from the old value of a setting is made again at its next use, wherever the
 *        new value came from.
 */
#include <string.h>
#include "capture/capture.h"
#include "module/module.h"
#include "exec/cache.h"
#include "exec/disk.h"
#include "exec/lifecycle.h"
#include "tensor/debug.h"
#include "bind/events.h"
#include "tensor/trace.h"

static int drop_pool(Host *h)
{
    base_pool_free(h->cx->pool);
    h->cx->pool = NULL;
    return SGL_OK;
}

/* Programs keep what they were made with: the instruction set, the settings that change programs.
 * Compiled functions make theirs again at the next call. */
static int drop_programs(Host *h)
{
    exec_cache_clear(tensor_programs(h));
    return SGL_OK;
}

static int trim_cache(Host *h)
{
    exec_cache_trim(tensor_programs(h));
    return SGL_OK;
}

static int fail_alloc(Host *h)
{
    base_mem_fail_at(h->cx->knobs.value[KNOB_fail_alloc]);
    return SGL_OK;
}

static int refresh_events(Host *h)
{
    obs_refresh(h->cx);
    return SGL_OK;
}

/* A program must not outlive the backend that it was made for. */
static int refresh_components(Host *h)
{
    obs_refresh(h->cx);
    exec_cache_clear(tensor_programs(h));
    return exec_lifecycle_start(h->cx);
}

static int forget_folder(Host *h)
{
    exec_disk_forget(h->cx);
    return SGL_OK;
}

static int resize_history(Host *h) { return obs_history_resize(h->cx); }

/* What is done when a setting has another value. */
static const struct {
    KnobId id;
    int (*apply)(Host *h);
} EFFECTS[] = {
    {KNOB_threads, drop_pool},
    {KNOB_isa, drop_programs},
    {KNOB_debug, tensor_debug_watch},
    {KNOB_fail_alloc, fail_alloc},
    {KNOB_enable, refresh_components},
    {KNOB_event_rate, refresh_events},
    {KNOB_event_history, resize_history},
    {KNOB_cache_size_limit, trim_cache},
    {KNOB_cache_dir, forget_folder},
};

static void apply_changes(lua_State *L, Host *h, const int64_t *before)
{
    for (int id = 0; id < KNOB_COUNT; id++)
        if (KNOBS[id].key && before[id] != h->cx->knobs.value[id]) drop_programs(h);
    for (size_t i = 0; i < sizeof EFFECTS / sizeof *EFFECTS; i++) {
        KnobId id = EFFECTS[i].id;
        if (before[id] != h->cx->knobs.value[id] && EFFECTS[i].apply(h) < 0) bind_throw(L, h);
    }
    bind_events_flush(L, h);
}

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
    int64_t before[KNOB_COUNT];
    check_backend_free(L, h, id);
    memcpy(before, h->cx->knobs.value, sizeof before);
    if (base_knob_put(&h->cx->knobs, (KnobId)id, from, shown, text, &h->cx->err) < 0)
        bind_throw(L, h);
    apply_changes(L, h, before);
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

/* core.knob_from_file(name, text) -> true, or nil, message, hint. Checked in any case, and set
 * unless the environment, a flag or the program did. */
static int knob_from_file(lua_State *L)
{
    Host *h = bind_of(L);
    Err *e = &h->cx->err;
    int64_t before[KNOB_COUNT];
    memcpy(before, h->cx->knobs.value, sizeof before);
    base_err_clear(e);
    int id = base_knob_find(luaL_checkstring(L, 1), e);
    if (id >= 0)
        base_knob_put(&h->cx->knobs, (KnobId)id, KNOB_FROM_FILE, KNOBS[id].name,
                      luaL_checkstring(L, 2), e);
    if (e->code) {
        lua_pushnil(L);
        lua_pushstring(L, e->text);
        lua_pushstring(L, e->hint);
        base_err_clear(e);
        return 3;
    }
    apply_changes(L, h, before);
    lua_pushboolean(L, 1);
    return 1;
}

static void set_string(lua_State *L, const char *key, const char *value)
{
    if (!value) return;
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

static void push_knob(lua_State *L, Host *h, KnobId id)
{
    static const char *const TYPES[] = {
        [KNOB_INT] = "integer", [KNOB_CHOICE] = "choice", [KNOB_SET] = "set", [KNOB_TEXT] = "text"};
    const KnobInfo *k = &KNOBS[id];
    lua_newtable(L);
    set_string(L, "name", k->name);
    set_string(L, "type", TYPES[k->type]);
    set_string(L, "default", k->def);
    set_string(L, "values", k->values);
    set_string(L, "help", k->help);
    set_string(L, "from", base_knob_from_name((KnobFrom)h->cx->knobs.from[id]));
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
        set_string(L, "preset", KNOB_PRESETS[i].name);
        set_string(L, "setting", KNOBS[KNOB_PRESETS[i].id].name);
        set_string(L, "value", KNOB_PRESETS[i].text);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

const luaL_Reg MODULE_KNOBS[] = {
    {"knob", knob}, {"knob_from_file", knob_from_file}, {"knobs", knobs}, {"presets", presets},
    {NULL, NULL},
};
