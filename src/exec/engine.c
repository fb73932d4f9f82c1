/* engine.c: see engine.h.
 */
#include "exec/debug.h"
#include "exec/engine.h"
#include "ir/rules.h"
#include "obs/obs.h"

Ctx *exec_engine_open(Err *e)
{
    Ctx *cx = base_ctx_new(e);
    if (!cx) return NULL;
    ir_rules_bind(cx);
    if (obs_open(cx) == SGL_OK && exec_debug_watch(cx) == SGL_OK) return cx;
    *e = cx->err;
    base_ctx_free(cx);
    return NULL;
}
