/* workspace.c: the stacks of blocks behind workspace.h.
 *
 * Holds: a block only grows while its depth is free, and is then new: what it held is nobody's.
 *        What the device was given before may still run in the old one, which it frees after that.
 */
#include "exec/workspace.h"
#include "exec/context.h"

static Workspaces *workspaces_of(const Device *d)
{
    ExecContext *slot = d->cx->slot[CTX_EXEC];
    return &slot->engine[d->number].work;
}

void *exec_workspace_take(Device *d, size_t bytes)
{
    Workspaces *w = workspaces_of(d);
    Device *memory = dev_memory(d);
    if (w->depth == w->blocks.n && !vec_push(&w->blocks, (WorkBlock){0})) {
        base_fail(d->cx, SGL_ENOMEM, "no memory for a program's workspace");
        return NULL;
    }
    WorkBlock *block = &w->blocks.at[w->depth];
    if (!block->at || block->bytes < bytes) {
        dev_free(memory, block->at);
        *block = (WorkBlock){dev_alloc(memory, bytes), bytes};
        if (!block->at) {
            *block = (WorkBlock){0};
            base_fail(d->cx, SGL_ENOMEM, "no memory for a program's workspace of %zu bytes", bytes);
            return NULL;
        }
    }
    w->depth++;
    return block->at;
}

void exec_workspace_give(Device *d) { workspaces_of(d)->depth--; }

void exec_workspace_trim(Device *d, size_t bytes)
{
    Workspaces *w = workspaces_of(d);
    for (int i = w->depth; i < w->blocks.n; i++) {
        if (w->blocks.at[i].bytes != bytes) continue;
        dev_free(dev_memory(d), w->blocks.at[i].at);
        w->blocks.at[i] = (WorkBlock){0};
    }
}
