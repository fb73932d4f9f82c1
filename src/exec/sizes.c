/* sizes.c: the table of numbers that a run decides (see sizes.h).
 *
 * In:   the steps of a program, with expressions in them; then sizes.
 * Out:  the same steps with plain numbers.
 * Holds: a kernel that several steps share is filled once, as the first one's.
 */
#include "exec/sizes.h"
#include <string.h>

/* The number of the expression in the table, or -1: no memory. */
static int expr_of(SizeTable *t, Num num)
{
    uint64_t at;
    if (base_map_get(&t->index, (uint64_t)num, &at)) return (int)at;
    if (!base_map_set(&t->index, (uint64_t)num, (uint64_t)t->exprs.n)) return -1;
    return vec_push(&t->exprs, ((SizeExpr){.num = num})) ? t->exprs.n - 1 : -1;
}

static bool find_one(SizeTable *t, int step, int64_t *at)
{
    if (ir_num_plain(*at)) return true;
    int expr = expr_of(t, *at);
    return expr >= 0 && vec_push(&t->places, ((SizePlace){at, expr, step}));
}

static bool find_all(SizeTable *t, int step, int64_t *at, int n)
{
    bool found = true;
    for (int i = 0; i < n && found; i++) found = find_one(t, step, &at[i]);
    return found;
}

static bool find_affine(SizeTable *t, int step, Affine *a, int nvar)
{
    return find_one(t, step, &a->base) && find_all(t, step, a->coef, nvar);
}

/* Kernels lie in the program's arena and are the program's to fill. */
static bool find_kernel(SizeTable *t, int step, Kernel *k)
{
    bool found = find_all(t, step, k->extent, k->nvar);
    for (int i = 0; i < k->naccess && found; i++) {
        Access *a = (Access *)&k->access[i];
        found = find_affine(t, step, &a->at, k->nvar);
        for (int g = 0; g < a->nguard && found; g++) {
            Guard *guard = (Guard *)&a->guard[g];
            found = find_affine(t, step, &guard->at, k->nvar) && find_one(t, step, &guard->lo) &&
                    find_one(t, step, &guard->hi);
        }
    }
    return found;
}

static bool find_view(SizeTable *t, int step, View *v)
{
    return find_one(t, step, &v->offset) && find_all(t, step, v->extent, v->rank) &&
           find_all(t, step, v->stride, v->rank);
}

/* Notes the numbers of a step that sizes decide. Steps with one kernel have them in common.
 * False: no memory. */
static bool find_step(SizeTable *t, int i, Step *s, Map *kernels)
{
    uint64_t first;
    t->owner[i] = i;
    if (s->kind == STEP_KERNEL) {
        if (base_map_get(kernels, (uintptr_t)s->kernel, &first)) {
            t->owner[i] = (int)first;
            return true;
        }
        return base_map_set(kernels, (uintptr_t)s->kernel, (uint64_t)i) &&
               find_kernel(t, i, (Kernel *)s->kernel);
    }
    bool found = find_one(t, i, &s->bytes);
    for (int k = 0; s->each && k < s->nargs && found; k++) found = find_view(t, i, &s->each[k]);
    for (int k = 0; k < STEPS[s->kind].views && found; k++) found = find_view(t, i, &s->view[k]);
    return found && (!STEPS[s->kind].views || find_view(t, i, &s->out));
}

int exec_sizes_find(Ctx *cx, const StepVec *steps, SizeTable *t)
{
    Map kernels = {0};
    t->nstep = steps->n;
    t->owner = base_mem_zero((size_t)steps->n + 1, sizeof *t->owner);
    t->moved = base_mem_zero((size_t)steps->n + 1, 1);
    bool found = t->owner && t->moved;
    for (int i = 0; i < steps->n && found; i++) found = find_step(t, i, &steps->at[i], &kernels);
    base_map_free(&kernels);
    base_map_free(&t->index);
    return found ? SGL_OK : base_fail(cx, SGL_ENOMEM, "out of memory for the sizes of a program");
}

void exec_sizes_fill(SizeTable *t, const Sizes *sizes, bool all)
{
    for (int i = 0; i < t->exprs.n; i++) {
        SizeExpr *e = &t->exprs.at[i];
        int64_t value = pass_size_guess(sizes, e->num);
        e->moved = all || value != e->value;
        e->value = value;
    }
    if (t->nstep) memset(t->moved, 0, (size_t)t->nstep);
    for (int i = 0; i < t->places.n; i++) {
        const SizePlace *p = &t->places.at[i];
        const SizeExpr *e = &t->exprs.at[p->expr];
        *p->at = e->value;
        t->moved[p->step] |= e->moved;
    }
    for (int i = 0; i < t->nstep; i++) t->moved[i] = t->moved[t->owner[i]];
}

void exec_sizes_free(SizeTable *t)
{
    vec_free(&t->exprs);
    vec_free(&t->places);
    base_map_free(&t->index);
    base_mem_free(t->owner);
    base_mem_free(t->moved);
}
