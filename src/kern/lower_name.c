/* lower_name.c: names of kernels, for pictures and dumps.
 */
#include "kern/lower.h"
#include <string.h>

enum { NAME_OPS = 4 };
static const char *const PREFIX[] = {"map", "row", "long", "col"};

/* The composite that all stored nodes were made in, or NULL. */
static const char *composite_of(const Lower *l)
{
    const Graph *g = l->s->graph;
    uint32_t composite = l->loop->root[0].node->composite;
    for (int i = 1; i < l->loop->nroot; i++)
        if (l->loop->root[i].node->composite != composite) return NULL;
    return composite == 0 || composite >= (uint32_t)g->composites.n
               ? NULL
               : g->composites.at[composite].name;
}

static void put_ops(Str *name, const Kernel *k)
{
    int put = 0;
    bool seen[OP_COUNT] = {false};
    for (int i = 0; i < k->ninst && put < NAME_OPS; i++) {
        const KernInst *inst = &k->inst[i];
        if ((inst->code != KI_OP && inst->code != KI_REDUCE) || seen[inst->op]) continue;
        seen[inst->op] = true;
        base_str_fmt(name, "_%s", OPS[inst->op].name);
        put++;
    }
    if (put == 0) base_str_put(name, "_copy");
}

const char *kern_lower_name(const Lower *l, const Kernel *k)
{
    Str name = {0};
    const char *composite = composite_of(l), *copy = NULL;
    base_str_put(&name, PREFIX[k->mode]);
    if (composite != NULL) base_str_fmt(&name, "_%s", composite);
    else put_ops(&name, k);
    if (!name.failed) copy = base_arena_text(l->arena, name.at);
    base_str_free(&name);
    return copy;
}
