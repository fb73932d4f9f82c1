/* dedupe.c: equal kernels of a program become one.
 *
 * In:    the steps of a program; their kernels.
 * Out:   steps whose kernels are equal only if they are the same.
 * Holds: kernels differ in what they compute; names do not count, so a shared one has the name it
 *        got first. N equal layers have the kernels of one.
 */
#include <string.h>
#include "kern/step.h"

static uint64_t hash_affine(uint64_t h, const Affine *a, int nvar)
{
    h = base_hash(h, &a->base, sizeof a->base);
    return base_hash(h, a->coef, (size_t)nvar * sizeof *a->coef);
}

static uint64_t hash_access(uint64_t h, const Access *a, int nvar)
{
    const int head[] = {a->arg, (int)a->dtype, a->nguard};
    h = hash_affine(base_hash(h, head, sizeof head), &a->at, nvar);
    for (int g = 0; g < a->nguard; g++) {
        const int64_t range[] = {a->guard[g].lo, a->guard[g].hi};
        h = hash_affine(base_hash(h, range, sizeof range), &a->guard[g].at, nvar);
    }
    return h;
}

static uint64_t hash_kernel(const Kernel *k)
{
    const int head[] = {(int)k->mode, k->nvar, k->nouter, k->ninst, k->post, k->naccess, k->nargs};
    uint64_t h = base_hash(0, head, sizeof head);
    h = base_hash(h, k->extent, (size_t)k->nvar * sizeof *k->extent);
    for (int i = 0; i < k->ninst; i++) {
        const KernInst *t = &k->inst[i];
        const int word[] = {t->code, t->dtype, t->from, t->scalar, t->op,
                            t->a,    t->b,     t->c,    t->access};
        h = base_hash(base_hash(h, word, sizeof word), &t->value, sizeof t->value);
    }
    for (int i = 0; i < k->naccess; i++) h = hash_access(h, &k->access[i], k->nvar);
    return h;
}

static bool same_affine(const Affine *a, const Affine *b, int nvar)
{
    return a->base == b->base && !memcmp(a->coef, b->coef, (size_t)nvar * sizeof *a->coef);
}

static bool same_access(const Access *a, const Access *b, int nvar)
{
    bool same = a->arg == b->arg && a->dtype == b->dtype && a->nguard == b->nguard &&
                same_affine(&a->at, &b->at, nvar);
    for (int g = 0; same && g < a->nguard; g++)
        same = a->guard[g].lo == b->guard[g].lo && a->guard[g].hi == b->guard[g].hi &&
               same_affine(&a->guard[g].at, &b->guard[g].at, nvar);
    return same;
}

static bool same_inst(const KernInst *a, const KernInst *b)
{
    return a->code == b->code && a->dtype == b->dtype && a->from == b->from &&
           a->scalar == b->scalar && a->op == b->op && a->a == b->a && a->b == b->b &&
           a->c == b->c && a->access == b->access && !memcmp(&a->value, &b->value, sizeof a->value);
}

static bool same_kernel(const Kernel *a, const Kernel *b)
{
    bool same = a->mode == b->mode && a->nvar == b->nvar && a->nouter == b->nouter &&
                a->ninst == b->ninst && a->post == b->post && a->naccess == b->naccess &&
                a->nargs == b->nargs &&
                !memcmp(a->extent, b->extent, (size_t)a->nvar * sizeof *a->extent);
    for (int i = 0; same && i < a->ninst; i++) same = same_inst(&a->inst[i], &b->inst[i]);
    for (int i = 0; same && i < a->naccess; i++)
        same = same_access(&a->access[i], &b->access[i], a->nvar);
    return same;
}

int kern_dedupe(Ctx *cx, StepVec *steps, int *distinct)
{
    Map first = {0}; /* hash: number of a step; unequal ones stand at successive keys */
    int status = SGL_OK;
    *distinct = 0;
    for (int i = 0; i < steps->n && status == SGL_OK; i++) {
        Step *s = &steps->at[i];
        uint64_t key, at;
        if (s->kind != STEP_KERNEL) continue;
        key = hash_kernel(s->kernel);
        while (base_map_get(&first, key, &at) && !same_kernel(steps->at[at].kernel, s->kernel))
            key++;
        if (base_map_get(&first, key, &at)) {
            s->kernel = steps->at[at].kernel;
        } else if (base_map_set(&first, key, (uint64_t)i)) {
            ++*distinct;
        } else {
            status = base_no_memory(cx, "the kernels of a program");
        }
    }
    base_map_free(&first);
    return status;
}
