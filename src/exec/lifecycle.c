/* lifecycle.c: the states of backends: which steps between them are legal, and taking them.
 */
#include "exec/lifecycle.h"
#include "exec/context.h"
#include "obs/obs.h"

static const char *const NAMES[BACKEND_STATES] = {
    [BACKEND_UNINITIALIZED] = "uninitialized", [BACKEND_REGISTERING] = "registering",
    [BACKEND_REGISTERED] = "registered",       [BACKEND_CAPTURING] = "capturing",
    [BACKEND_COMPILED] = "compiled",
};

/* Every legal step; all others are errors. */
static const BackendStep MOVES[] = {
    {BACKEND_UNINITIALIZED, BACKEND_REGISTERING, "the engine starts, or it is enabled"},
    {BACKEND_REGISTERING, BACKEND_REGISTERED, "the machine is fit for it"},
    {BACKEND_REGISTERING, BACKEND_UNINITIALIZED, "the machine is not"},
    {BACKEND_REGISTERED, BACKEND_CAPTURING, "sgl.compile records a function"},
    {BACKEND_REGISTERED, BACKEND_COMPILED, "pending operations became a program"},
    {BACKEND_REGISTERED, BACKEND_UNINITIALIZED, "it is taken out of `enable`"},
    {BACKEND_CAPTURING, BACKEND_COMPILED, "the function became a program, or others had before"},
    {BACKEND_CAPTURING, BACKEND_REGISTERED, "it raised, and there is no program so far"},
    {BACKEND_COMPILED, BACKEND_CAPTURING, "another function, or another signature"},
    {BACKEND_COMPILED, BACKEND_UNINITIALIZED, "it is taken out of `enable`"},
};

const BackendStep *exec_lifecycle_step(int i)
{
    return i >= 0 && i < (int)(sizeof MOVES / sizeof *MOVES) ? &MOVES[i] : NULL;
}

const char *exec_state_name(BackendState s) { return NAMES[s]; }

BackendState exec_lifecycle_state(const Ctx *cx, int backend)
{
    const ExecContext *slot = cx->slot[CTX_EXEC];
    return slot ? slot->engine[backend].state : BACKEND_UNINITIALIZED;
}

static bool legal(BackendState from, BackendState to)
{
    const BackendStep *step;
    for (int i = 0; (step = exec_lifecycle_step(i)); i++)
        if (step->from == from && step->to == to) return true;
    return false;
}

static int refuse(Ctx *cx, int backend, BackendState from, BackendState to)
{
    Str next = {0};
    const BackendStep *step;
    for (int i = 0; (step = exec_lifecycle_step(i)); i++)
        if (step->from == from) base_str_fmt(&next, "\n%s: when %s", NAMES[step->to], step->when);
    base_fail(cx, SGL_ESTATE, "the backend %s cannot go from '%s' to '%s'",
              exec_backend_at(backend)->name, NAMES[from], NAMES[to]);
    if (!next.failed) base_err_hint(&cx->err, "from there it goes to%s", next.at);
    base_str_free(&next);
    return SGL_ESTATE;
}

int exec_lifecycle_move(Ctx *cx, int backend, BackendState to)
{
    ExecContext *slot = exec_context(cx);
    if (!slot) return SGL_ENOMEM;
    BackendState from = slot->engine[backend].state;
    if (!legal(from, to)) return refuse(cx, backend, from, to);
    slot->engine[backend].state = to;
    obs_event(cx, OBS_lifecycle, -1, OBS_TEXT("backend", exec_backend_at(backend)->name),
              OBS_TEXT("from", NAMES[from]), OBS_TEXT("to", NAMES[to]));
    return SGL_OK;
}

static bool enabled(const Ctx *cx, int backend)
{
    return base_knob_has(&cx->knobs, KNOB_enable, exec_backend_at(backend)->name);
}

static int enroll(Ctx *cx, int backend)
{
    const Backend *b = exec_backend_at(backend);
    int code = exec_lifecycle_move(cx, backend, BACKEND_REGISTERING);
    if (code < 0) return code;
    code = b->start ? b->start(exec_device(cx, backend)) : SGL_OK;
    exec_lifecycle_move(cx, backend, code < 0 ? BACKEND_UNINITIALIZED : BACKEND_REGISTERED);
    return code;
}

int exec_lifecycle_ready(Ctx *cx, int backend)
{
    if (exec_lifecycle_state(cx, backend) != BACKEND_UNINITIALIZED) return SGL_OK;
    if (enabled(cx, backend)) return enroll(cx, backend);
    base_fail(cx, SGL_ESTATE, "the backend '%s' is not enabled", exec_backend_at(backend)->name);
    base_err_hint(&cx->err, "the setting `enable` names the components that are");
    return SGL_ESTATE;
}

int exec_lifecycle_start(Ctx *cx)
{
    if (!exec_context(cx)) return SGL_ENOMEM;
    for (int i = 0; i < BACKEND_COUNT; i++) {
        BackendState state = exec_lifecycle_state(cx, i);
        bool wanted = !exec_backend_at(i)->late || i == exec_backend_chosen(cx);
        bool on = enabled(cx, i), idle = state == BACKEND_REGISTERED || state == BACKEND_COMPILED;
        if (on && wanted && state == BACKEND_UNINITIALIZED && enroll(cx, i) < 0)
            base_err_clear(&cx->err);
        if (!on && idle) exec_lifecycle_move(cx, i, BACKEND_UNINITIALIZED);
    }
    return SGL_OK;
}
