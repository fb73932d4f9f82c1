/* context.c: making and ending a context, source positions.
 *
 * Holds: slots end from the last to the first, since later folders use earlier ones' tables;
 *        a position has one number for as long as the context lives.
 */
#include "base/context.h"
#include <string.h>
#include "base/mem.h"

Ctx *base_ctx_new(Err *e)
{
    Ctx *cx = base_mem_zero(1, sizeof *cx);
    if (!cx) {
        base_err_set(e, SGL_ENOMEM, "out of memory while opening a context");
        return NULL;
    }
    if (base_knob_init(&cx->knobs, e) < 0) {
        base_ctx_free(cx);
        return NULL;
    }
    if (cx->knobs.value[KNOB_fail_alloc] > 0) base_mem_fail_at(cx->knobs.value[KNOB_fail_alloc]);
    return cx;
}

void base_ctx_free(Ctx *cx)
{
    if (!cx) return;
    for (int i = CTX_SLOTS - 1; i >= 0; i--)
        if (cx->slot_free[i]) cx->slot_free[i](cx->slot[i]);
    base_pool_free(cx->pool);
    vec_free(&cx->sources);
    base_map_free(&cx->source_ids);
    base_intern_free(&cx->names);
    base_knob_free(&cx->knobs);
    base_mem_free(cx);
}

Pool *base_ctx_pool(Ctx *cx)
{
    if (!cx->pool) cx->pool = base_pool_new((int)cx->knobs.value[KNOB_threads]);
    return cx->pool;
}

/* Keys are hashes of (file, line, in); positions whose hashes meet sit at successive keys. */
Src base_src(Ctx *cx, const char *file, int line, const char *in)
{
    SrcPos pos = {base_intern(&cx->names, file, strlen(file)), line, NULL};
    if (in) pos.in = base_intern(&cx->names, in, strlen(in));
    if (!pos.file || (in && !pos.in)) return 0;
    uint64_t key = base_hash((uint64_t)line, &pos.file, sizeof pos.file), id;
    if (in) key = base_hash(key, &pos.in, sizeof pos.in);
    for (; base_map_get(&cx->source_ids, key, &id); key++) {
        const SrcPos *known = &cx->sources.at[id - 1];
        if (known->file == pos.file && known->line == line && known->in == pos.in) return (Src)id;
    }
    if (!vec_push(&cx->sources, pos)) return 0;
    id = (uint64_t)cx->sources.n;
    if (!base_map_set(&cx->source_ids, key, id)) {
        (void)vec_pop(&cx->sources);
        return 0;
    }
    return (Src)id;
}

SrcPos base_src_pos(const Ctx *cx, Src s)
{
    if (s == 0 || s > (Src)cx->sources.n) return (SrcPos){"?", 0, NULL};
    return cx->sources.at[s - 1];
}

int base_fail(Ctx *cx, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    base_err_vset(&cx->err, code, fmt, ap);
    va_end(ap);
    return code;
}

int base_no_memory(Ctx *cx, const char *what)
{
    return base_fail(cx, SGL_ENOMEM, "out of memory for %s", what);
}
