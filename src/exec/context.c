/* context.c: what exec/ keeps in a context, made when it is first needed.
 */
#include "exec/context.h"

static void engine_free(Engine *e)
{
    Device *memory = dev_memory(&e->device);
    dev_drain(memory);
    for (int i = 0; i < e->work.blocks.n; i++) dev_free(memory, e->work.blocks.at[i].at);
    vec_free(&e->work.blocks);
    dev_end(&e->device);
}

static void slot_free(void *at)
{
    ExecContext *slot = at;
    for (int i = 0; i < BACKEND_COUNT; i++) engine_free(&slot->engine[i]);
    base_mem_free(slot->disk.folder);
    base_mem_free(slot);
}

ExecContext *exec_context(Ctx *cx)
{
    if (cx->slot[CTX_EXEC]) return cx->slot[CTX_EXEC];
    ExecContext *slot = base_mem_zero(1, sizeof *slot);
    if (!slot) {
        base_fail(cx, SGL_ENOMEM, "no memory for the state of the engine");
        return NULL;
    }
    for (int i = 0; i < BACKEND_COUNT; i++)
        slot->engine[i].device = (Device){.backend = exec_backend_at(i), .cx = cx, .number = i};
    cx->slot[CTX_EXEC] = slot;
    cx->slot_free[CTX_EXEC] = slot_free;
    return slot;
}

int exec_hooks_set(Ctx *cx, ExecHooks hooks)
{
    ExecContext *slot = exec_context(cx);
    if (!slot) return SGL_ENOMEM;
    slot->hooks = hooks;
    return SGL_OK;
}
