/* api.c: the C interface: contexts, settings, errors.
 *
 * In:   calls of users, whose every argument may be wrong.
 * Holds: a NULL context or program is refused, never used, so a chain of calls needs one check at
 *        its end.
 */
#include <string.h>
#include "capi/api.h"
#include "exec/engine.h"
#include "exec/settings.h"

#define SAME_CODE(name, number) _Static_assert(name == number, "sgl.h and err.def differ");
SGL_STATUS(SAME_CODE)

static _Thread_local Err open_error;
/* What the last call of this thread that others may make too failed with; NULL: it did not. */
static _Thread_local struct {
    const Ctx *cx;
    Err err;
} own;

static void free_api(void *slot)
{
    Api *api = slot;
    while (api->programs) sgl_program_free(api->programs);
    pthread_mutex_destroy(&api->lock);
    base_mem_free(api);
}

Api *capi_api(const Ctx *cx) { return cx->slot[CTX_HOST]; }

Err *capi_api_error(void)
{
    base_err_clear(&open_error);
    return &open_error;
}

int capi_api_enter(Ctx *cx)
{
    if (!cx) return SGL_EARG;
    if (capi_api(cx)->telling) return SGL_ESTATE;
    if (own.cx == cx) own.cx = NULL;
    base_err_clear(&cx->err);
    return SGL_OK;
}

int capi_api_lock(Ctx *cx)
{
    if (!cx) return SGL_EARG;
    pthread_mutex_lock(&capi_api(cx)->lock);
    int code = capi_api_enter(cx);
    if (code < 0) pthread_mutex_unlock(&capi_api(cx)->lock);
    return code;
}

int capi_api_unlock(Ctx *cx, int code)
{
    if (code < 0) {
        own.cx = cx;
        own.err = cx->err;
    }
    pthread_mutex_unlock(&capi_api(cx)->lock);
    return code;
}

static Api *make_api(void)
{
    pthread_mutexattr_t again;
    Api *api = base_mem_zero(1, sizeof *api);
    if (!api || pthread_mutexattr_init(&again) != 0) {
        base_mem_free(api);
        return NULL;
    }
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&api->lock, &again);
    pthread_mutexattr_destroy(&again);
    return api;
}

static int set(Ctx *cx, const char *setting, const char *value)
{
    int id = base_knob_find(setting, &cx->err);
    return id < 0 ? id : exec_setting_put(cx, (KnobId)id, KNOB_FROM_PROGRAM, setting, value);
}

/* "name=value name=value". */
static int set_all(Ctx *cx, const char *settings)
{
    for (const char *at = settings; *(at += strspn(at, " ")); at += strcspn(at, " ")) {
        char word[128];
        size_t n = strcspn(at, " ");
        char *equals = n < sizeof word ? memchr(memcpy(word, at, n), '=', n) : NULL;
        if (!equals)
            return base_fail(cx, SGL_EKNOB, "settings: '%.*s' is not name=value", (int)n, at);
        word[n] = *equals = 0;
        int code = set(cx, word, equals + 1);
        if (code < 0) return code;
    }
    return SGL_OK;
}

sgl_context *sgl_open(const char *settings)
{
    base_err_clear(&open_error);
    Ctx *cx = exec_engine_open(&open_error);
    if (!cx) return NULL;
    if (settings && set_all(cx, settings) < 0) {
        open_error = cx->err;
        base_ctx_free(cx);
        return NULL;
    }
    cx->slot[CTX_HOST] = make_api();
    cx->slot_free[CTX_HOST] = cx->slot[CTX_HOST] ? free_api : NULL;
    if (cx->slot[CTX_HOST]) return cx;
    base_err_set(&open_error, SGL_ENOMEM, "out of memory while opening a context");
    base_ctx_free(cx);
    return NULL;
}

void sgl_close(sgl_context *cx)
{
    if (!cx || capi_api(cx)->telling) return;
    if (own.cx == cx) own.cx = NULL;
    base_ctx_free(cx);
}

int sgl_set(sgl_context *cx, const char *setting, const char *value)
{
    int code = capi_api_enter(cx);
    if (code < 0) return code;
    if (!setting || !value) return base_fail(cx, SGL_EARG, "sgl_set: a setting and its value");
    return set(cx, setting, value);
}

void sgl_interrupt(sgl_context *cx)
{
    if (cx) cx->interrupted = 1;
}

static const Err *error_of(const sgl_context *cx)
{
    if (!cx) return &open_error;
    return own.cx == cx ? &own.err : &cx->err;
}

const char *sgl_error(const sgl_context *cx) { return error_of(cx)->text; }
const char *sgl_error_hint(const sgl_context *cx) { return error_of(cx)->hint; }
int sgl_error_code(const sgl_context *cx) { return error_of(cx)->code; }
const char *sgl_status_name(int code) { return base_err_name(code); }
const char *sgl_status_text(int code) { return base_err_sentence(code); }
const char *sgl_version(void) { return SGL_VERSION; }
