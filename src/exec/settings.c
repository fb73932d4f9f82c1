/* settings.c: see settings.h. The table EFFECTS is all that a changed setting causes.
 *
 * Holds: effects are done in the order of knob.def, after the value is set; the first error ends
 *        them, and the value stays.
 */
#include <string.h>
#include "exec/cache.h"
#include "exec/debug.h"
#include "exec/settings.h"
#include "exec/context.h"
#include "obs/obs.h"

static int drop_pool(Ctx *cx)
{
    base_pool_free(cx->pool);
    cx->pool = NULL;
    return SGL_OK;
}

/* Programs keep what they were made with: the instruction set, the settings that change programs.
 * Who holds one makes it again at its next use. */
static int drop_programs(Ctx *cx)
{
    ExecContext *slot = exec_context(cx);
    if (!slot) return SGL_ENOMEM;
    slot->age++;
    if (slot->cache) exec_cache_clear(slot->cache);
    return SGL_OK;
}

static int trim_cache(Ctx *cx)
{
    const ExecContext *slot = exec_context(cx);
    if (!slot) return SGL_ENOMEM;
    if (slot->cache) exec_cache_trim(slot->cache);
    return SGL_OK;
}

static int fail_alloc(Ctx *cx)
{
    base_mem_fail_at(cx->knobs.value[KNOB_fail_alloc]);
    return SGL_OK;
}

static int refresh_events(Ctx *cx)
{
    obs_refresh(cx);
    return SGL_OK;
}

/* A program must not outlive the backend that it was made for. */
static int restart_components(Ctx *cx)
{
    obs_refresh(cx);
    int status = drop_programs(cx);
    return status < 0 ? status : exec_lifecycle_start(cx);
}

static int forget_folder(Ctx *cx)
{
    exec_disk_forget(cx);
    return SGL_OK;
}

static int (*const EFFECTS[])(Ctx *) = {
    [EFFECT_pool] = drop_pool,
    [EFFECT_programs] = drop_programs,
    [EFFECT_cache] = trim_cache,
    [EFFECT_folder] = forget_folder,
    [EFFECT_components] = restart_components,
    [EFFECT_events] = refresh_events,
    [EFFECT_history] = obs_history_resize,
    [EFFECT_debug] = exec_debug_watch,
    [EFFECT_alloc] = fail_alloc,
};

int64_t exec_programs_age(const Ctx *cx)
{
    const ExecContext *slot = cx->slot[CTX_EXEC];
    return slot ? slot->age : 0;
}

static int apply(Ctx *cx, const int64_t *before)
{
    int status = SGL_OK;
    for (int id = 0; id < KNOB_COUNT && status == SGL_OK; id++) {
        if (before[id] == cx->knobs.value[id]) continue;
        if (KNOBS[id].key) status = drop_programs(cx);
        if (status == SGL_OK && KNOBS[id].effect) status = EFFECTS[KNOBS[id].effect](cx);
    }
    return status;
}

int exec_setting_put(Ctx *cx, KnobId id, KnobFrom from, const char *shown, const char *text)
{
    int64_t before[KNOB_COUNT]; /* a preset sets several */
    memcpy(before, cx->knobs.value, sizeof before);
    int status = base_knob_put(&cx->knobs, id, from, shown, text, &cx->err);
    int applied = apply(cx, before);
    return status < 0 ? status : applied;
}
