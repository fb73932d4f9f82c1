/* settings.c: changes each setting in Lua, through sgl_set, by a configuration file and in the
 * environment, and looks inside at what each change caused. settings_spec.lua runs it.
 *
 * In:    a folder to write to.
 * Out:   a line for each setting; exit 1 with a text when two ways differ, or when one did not do
 *        what the setting's row in base/knob.def says. It is linked with all of the engine.
 * Holds: nothing here names a setting but `config`, which says where the others come from,
 *        `preset`, which sets several, and one that a file sets; what is tried is worked out from
 *        the row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <lauxlib.h>
#include <lualib.h>
#include "bind/host.h"
#include "exec/cache.h"
#include "exec/engine.h"
#include "exec/context.h"
#include "ir/text.h"
#include "module/module.h"
#include "obs/obs.h"
#include "sgl.h"

enum { EVENTS = 140, ARMED = 100000, TEXT = 4096 };
static const char GRAPH[] = "graph\ninput %0 arg \"x\" f32[2]\n"
                            "%1 = neg(%0) : f32[2]\noutput %1 \"\"\n";

static int faults;
static const char *folder;

/* What is there of a context that settings can change. */
typedef struct Seen {
    bool pool, found_folder, prints_steps, armed;
    long long age, programs, kept; /* times programs were dropped, those in memory, events */
    char rest[TEXT];                 /* values of all settings, events wanted, backends started */
} Seen;

static void fault(const char *name, const char *what)
{
    printf("%s: %s\n", name, what);
    faults++;
}

/* Something of everything that an effect can take away. */
static void fill(Ctx *cx)
{
    ExecContext *slot = exec_context(cx);
    Cache *cache = slot->cache ? slot->cache : exec_cache_new(cx);
    base_ctx_pool(cx);
    exec_disk_folder(cx);
    exec_lifecycle_start(cx);
    for (int i = 0; i < 3; i++)
        exec_cache_add(cache, &i, sizeof i, exec_compile(ir_parse(cx, GRAPH), NULL, NULL), 1000, 0);
    for (int i = 0; i < EVENTS; i++)
        obs_event(cx, OBS_lifecycle, -1, OBS_TEXT("backend", "none"));
}

static void look(Ctx *cx, Seen *out)
{
    const ExecContext *slot = exec_context(cx);
    Str s = {0};
    *out = (Seen){.pool = cx->pool != NULL,
                  .found_folder = slot->disk.folder != NULL,
                  .prints_steps = slot->hooks.step != NULL,
                  .age = slot->age,
                  .programs = slot->cache ? exec_cache_stats(slot->cache).entries : 0};
    while (obs_history(cx, (int)out->kept)) out->kept++;
    for (int id = 0; id < KNOB_COUNT; id++) {
        base_knob_text(&cx->knobs, (KnobId)id, &s);
        base_str_put(&s, " ");
    }
    for (int id = 0; id < OBS_COUNT; id++) base_str_put(&s, obs_wanted(cx, (ObsId)id) ? "1" : "0");
    for (int b = 0; b < BACKEND_COUNT; b++)
        base_str_fmt(&s, " %d", exec_lifecycle_state(cx, b) >= BACKEND_REGISTERED);
    snprintf(out->rest, sizeof out->rest, "%s", s.at);
    base_str_free(&s);
    for (int i = 0; i < ARMED + 1 && !out->armed; i++) {
        void *p = base_mem_alloc(1);
        out->armed = !p;
        base_mem_free(p);
    }
    base_mem_fail_at(0);
}

/* A value other than the default that its row allows and that makes its effect show. */
static const char *other_value(const KnobInfo *k)
{
    static char text[64];
    int64_t def = k->type == KNOB_INT ? strtoll(k->def, NULL, 10) : 0;
    int64_t value = def > k->lo ? k->lo + (def - k->lo) / 2 : k->lo + 1;
    if (k->effect == EFFECT_debug) value = k->hi;
    if (k->effect == EFFECT_cache || k->effect == EFFECT_events) value = k->lo;
    if (k->effect == EFFECT_alloc) value = ARMED;
    if (k->type == KNOB_INT) snprintf(text, sizeof text, "%lld", (long long)value);
    if (k->type == KNOB_CHOICE) sscanf(strchr(k->values, ' '), "%63s", text);
    if (k->type == KNOB_SET)
        snprintf(text, sizeof text, "-%.*s", (int)strcspn(k->values, " "), k->values);
    return k->type == KNOB_PATH ? folder : text;
}

/* Does the change show what the row says, and nothing else? */
static void check_effect(const KnobInfo *k, const char *way, const Seen *was, const Seen *now)
{
    char what[128];
    KnobEffect e = k->effect;
    bool programs = k->key || e == EFFECT_programs || e == EFFECT_components;
    struct {
        const char *what;
        bool is, must;
    } rows[] = {
        {"the pool of threads ends", was->pool && !now->pool, e == EFFECT_pool},
        {"programs are dropped", now->age > was->age, programs},
        {"programs in memory go", now->programs < was->programs, programs || e == EFFECT_cache},
        {"the folder is looked for again", was->found_folder && !now->found_folder,
         e == EFFECT_folder},
        {"events kept are dropped", now->kept < was->kept, e == EFFECT_history},
        {"steps are printed", now->prints_steps != was->prints_steps, e == EFFECT_debug},
        {"an allocation will fail", now->armed, e == EFFECT_alloc},
        {"the value is another", strcmp(now->rest, was->rest) != 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].is == rows[i].must) continue;
        snprintf(what, sizeof what, "%s: %s%s", way, rows[i].must ? "not so: " : "why? ",
                 rows[i].what);
        fault(k->name, what);
    }
}

static void check_same(const KnobInfo *k, const char *way, const Seen *a, const Seen *b)
{
    char what[2 * TEXT + 64];
    snprintf(what, sizeof what, "%s is not Lua:\n  %s\n  %s", way, b->rest, a->rest);
    if (strcmp(a->rest, b->rest) != 0) fault(k->name, what);
}

/* ---- the ways */

static void by_lua(const KnobInfo *k, const char *value, Seen *was, Seen *now)
{
    char code[1200];
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    module_preload(L);
    if (luaL_dostring(L, "sgl = require 'sgl'")) fault(k->name, lua_tostring(L, -1));
    Ctx *cx = bind_open(L)->cx;
    fill(cx);
    look(cx, was);
    snprintf(code, sizeof code, "sgl.config.%s = '%s'", k->name, value);
    if (luaL_dostring(L, code)) fault(k->name, luaL_tolstring(L, -1, NULL));
    look(cx, now);
    lua_close(L);
}

static void by_set(const KnobInfo *k, const char *value, Seen *was, Seen *now)
{
    sgl_context *cx = sgl_open(NULL);
    fill(cx);
    look(cx, was);
    if (sgl_set(cx, k->name, value) < 0) fault(k->name, sgl_error(cx));
    look(cx, now);
    exec_cache_free(exec_context(cx)->cache);
    sgl_close(cx);
}

static void by_file(const KnobInfo *k, const char *value, Seen *was, Seen *now)
{
    char path[1024];
    sgl_context *cx = sgl_open(NULL);
    snprintf(path, sizeof path, "%s/settings.yaml", folder);
    FILE *file = fopen(path, "w");
    if (!file) exit(2);
    fprintf(file, "%s: %s%s%s\n", k->name, k->type == KNOB_SET ? "[" : "", value,
            k->type == KNOB_SET ? "]" : "");
    fclose(file);
    fill(cx);
    look(cx, was);
    if (sgl_config_load(cx, path) < 0) fault(k->name, sgl_error(cx));
    look(cx, now);
    exec_cache_free(exec_context(cx)->cache);
    sgl_close(cx);
}

/* Read when the context opens: nothing was there to be dropped, but the value counts. */
static void by_environment(const KnobInfo *k, const char *value, Seen *now)
{
    char name[64];
    snprintf(name, sizeof name, "SGL_%s", k->name);
    for (char *c = name; *c; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    setenv(name, value, 1);
    sgl_context *cx = sgl_open(NULL);
    unsetenv(name);
    if (!cx) {
        fault(k->name, sgl_error(NULL));
        return;
    }
    exec_lifecycle_start(cx);
    look(cx, now);
    if (now->prints_steps != (k->effect == EFFECT_debug)) fault(k->name, "environment: steps");
    if (now->armed != (k->effect == EFFECT_alloc)) fault(k->name, "environment: allocation");
    sgl_close(cx);
}

static void check(const KnobInfo *k)
{
    Seen was, lua, now;
    char value[1024];
    snprintf(value, sizeof value, "%s", other_value(k));
    by_lua(k, value, &was, &lua);
    check_effect(k, "Lua", &was, &lua);
    by_set(k, value, &was, &now);
    check_effect(k, "sgl_set", &was, &now);
    check_same(k, "sgl_set", &lua, &now);
    by_file(k, value, &was, &now);
    check_effect(k, "file", &was, &now);
    check_same(k, "file", &lua, &now);
    by_environment(k, value, &now);
    check_same(k, "environment", &lua, &now);
    printf("%s = %s\n", k->name, value);
}

/* ---- those that stand for others */

/* A preset sets the same by every way, and what its rows say unless a row is the default. */
static void check_preset(const char *name)
{
    const KnobInfo *k = &KNOBS[KNOB_preset];
    Seen was, lua, now;
    by_lua(k, name, &was, &lua);
    by_set(k, name, &was, &now);
    check_same(k, "sgl_set", &lua, &now);
    by_file(k, name, &was, &now);
    check_same(k, "file", &lua, &now);
    by_environment(k, name, &now);
    check_same(k, "environment", &lua, &now);
    sgl_context *cx = sgl_open(NULL), *one = sgl_open(NULL);
    if (sgl_set(cx, k->name, name) < 0) fault(k->name, sgl_error(cx));
    for (int i = 0; KNOB_PRESETS[i].name; i++) {
        KnobId id = KNOB_PRESETS[i].id;
        if (strcmp(KNOB_PRESETS[i].name, name) != 0) continue;
        if (sgl_set(one, KNOBS[id].name, KNOB_PRESETS[i].text) < 0) fault(name, sgl_error(one));
        if (cx->knobs.value[id] != one->knobs.value[id]) fault(name, KNOBS[id].name);
    }
    sgl_close(cx);
    sgl_close(one);
    printf("%s = %s\n", k->name, name);
}

/* What sgl_config_load gives for the file that the setting names, as the number of threads. */
static long long threads_by(sgl_context *cx, const char *way)
{
    if (sgl_config_load(cx, NULL) != 1) fault(way, sgl_error(cx));
    long long threads = cx->knobs.value[KNOB_threads];
    sgl_close(cx);
    return threads;
}

/* The file is read by C from where sgl_set or the environment say, by Lua when it starts; a file
 * names no other, and a script comes too late. */
static void check_config(void)
{
    char path[1024], code[1200];
    snprintf(path, sizeof path, "%s/named.yaml", folder);
    FILE *file = fopen(path, "w");
    if (!file) exit(2);
    fprintf(file, "threads: 3\n");
    fclose(file);
    sgl_context *cx = sgl_open(NULL);
    if (sgl_set(cx, "config", path) < 0) fault("config", sgl_error(cx));
    if (threads_by(cx, "sgl_set") != 3) fault("config", "sgl_set");
    setenv("SGL_CONFIG", path, 1);
    if (threads_by(sgl_open(NULL), "environment") != 3) fault("config", "environment");
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    module_preload(L);
    if (luaL_dostring(L, "sgl = require 'sgl' assert(sgl.config.threads == 3)"))
        fault("config", luaL_tolstring(L, -1, NULL));
    snprintf(code, sizeof code, "sgl.config.config = '%s'", path);
    if (!luaL_dostring(L, code)) fault("config", "a script names a file");
    lua_close(L);
    unsetenv("SGL_CONFIG");
    file = fopen(path, "w");
    fprintf(file, "config: %s\n", path);
    fclose(file);
    cx = sgl_open(NULL);
    if (sgl_config_load(cx, path) != SGL_EKNOB) fault("config", "a file names another");
    sgl_close(cx);
    printf("config = %s\n", path);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    for (int id = 0; id < KNOB_COUNT; id++)
        if (id != KNOB_config && id != KNOB_preset) check(&KNOBS[id]);
    check_preset("dev");
    check_preset("prod");
    check_config();
    return faults > 0;
}
