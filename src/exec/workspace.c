/* workspace.c: the stack of blocks behind workspace.h.
 *
 * Holds: a block only grows while its depth is free, and is then new: what it held is nobody's.
 */
#include "exec/workspace.h"
#include "exec/slot.h"

void *exec_workspace_take(Ctx *cx, size_t bytes)
{
    ExecSlot *slot = exec_slot(cx);
    if (!slot) return NULL;
    Workspaces *w = &slot->workspaces;
    if (w->depth == w->blocks.n && !vec_push(&w->blocks, (WorkBlock){0})) {
        base_fail(cx, SGL_ENOMEM, "no memory for a program's workspace");
        return NULL;
    }
    WorkBlock *block = &w->blocks.at[w->depth];
    if (!block->at || block->bytes < bytes) {
        base_mem_free(block->at);
        *block = (WorkBlock){base_mem_big(bytes), bytes};
        if (!block->at) {
            *block = (WorkBlock){0};
            base_fail(cx, SGL_ENOMEM, "no memory for a program's workspace of %zu bytes", bytes);
            return NULL;
        }
    }
    w->depth++;
    return block->at;
}

void exec_workspace_give(Ctx *cx)
{
    ExecSlot *slot = cx->slot[CTX_EXEC];
    slot->workspaces.depth--;
}

void exec_workspace_trim(Ctx *cx, size_t bytes)
{
    ExecSlot *slot = cx->slot[CTX_EXEC];
    if (!slot) return;
    Workspaces *w = &slot->workspaces;
    for (int i = w->depth; i < w->blocks.n; i++) {
        if (w->blocks.at[i].bytes != bytes) continue;
        base_mem_free(w->blocks.at[i].at);
        w->blocks.at[i] = (WorkBlock){0};
    }
}
