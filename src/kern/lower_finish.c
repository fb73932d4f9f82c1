/* lower_finish.c: from the lists of a lowering to a finished kernel.
 *
 * In:   instructions in two stages, accesses over the group's variables in any order.
 * Out:  a Kernel in the arena: outer variables first, as few variables as the accesses allow.
 */
#include "kern/lower.h"
#include <string.h>

typedef struct Vars {
    Ctx *cx;
    int nvar, nouter;
    Num extent[LOOP_MAX_VARS];
    int from[LOOP_MAX_VARS]; /* number in the group's space */
} Vars;

/* Stable: the order inside outer and inside lanes stays row-major. */
static Vars order_vars(const Loop *loop)
{
    const LoopNest *s = &loop->space;
    Vars o = {.cx = s->sizes->cx};
    for (int outer = 1; outer >= 0; outer--) {
        for (int v = 0; v < s->nvar; v++) {
            bool is_outer = loop->mode == LOOP_COL   ? s->reduced[v]
                            : loop->mode == LOOP_MAP ? false
                                                     : !s->reduced[v];
            if (is_outer != (outer == 1)) continue;
            o.from[o.nvar] = v;
            o.extent[o.nvar++] = s->extent[v];
        }
        if (outer) o.nouter = o.nvar;
    }
    return o;
}

static void reorder(Affine *a, const Vars *o)
{
    Affine old = *a;
    memset(a->coef, 0, sizeof a->coef);
    for (int v = 0; v < o->nvar; v++) a->coef[v] = old.coef[o->from[v]];
}

/* One pair of variables walks like a single one of extent e_v * e_{v+1}. */
static bool joins(const Affine *a, const Vars *o, int v)
{
    return a->coef[v] == ir_num_mul(o->cx, a->coef[v + 1], o->extent[v + 1]);
}

static void join(Affine *a, const Vars *o, int v)
{
    memmove(a->coef + v, a->coef + v + 1, (size_t)(o->nvar - v - 1) * sizeof *a->coef);
    a->coef[o->nvar - 1] = 0;
}

typedef struct Accesses {
    int n;
    Access *at;
} Accesses;

static bool all_join(const Accesses *all, const Vars *o, int v)
{
    for (int i = 0; i < all->n; i++) {
        if (!joins(&all->at[i].at, o, v)) return false;
        for (int g = 0; g < all->at[i].nguard; g++)
            if (!joins(&all->at[i].guard[g].at, o, v)) return false;
    }
    return true;
}

/* Makes one variable of two neighbours that every access walks as one, so that inner loops are
 * long. */
static void coalesce(const Accesses *all, Vars *o)
{
    for (int v = o->nvar - 2; v >= 0; v--) {
        if (v + 1 == o->nouter || !all_join(all, o, v)) continue;
        for (int i = 0; i < all->n; i++) {
            join(&all->at[i].at, o, v);
            for (int g = 0; g < all->at[i].nguard; g++)
                join((Affine *)&all->at[i].guard[g].at, o, v);
        }
        o->extent[v] = ir_num_mul(o->cx, o->extent[v], o->extent[v + 1]);
        memmove(o->extent + v + 1, o->extent + v + 2,
                (size_t)(o->nvar - v - 2) * sizeof *o->extent);
        o->nvar--;
        o->nouter -= v + 1 < o->nouter;
    }
}

/* The accesses in the arena of the kernel, over the variables in their last order. False: no
 * memory. */
static bool copy_accesses(Lower *l, Accesses *to, const Vars *o)
{
    to->n = l->access.n;
    to->at = base_arena_alloc(l->arena, (size_t)to->n * sizeof *to->at);
    if (to->at == NULL) return false;
    for (int i = 0; i < to->n; i++) {
        Access *a = &to->at[i];
        *a = l->access.at[i];
        Guard *guard = base_arena_alloc(l->arena, (size_t)a->nguard * sizeof *guard);
        if (guard == NULL) return false;
        reorder(&a->at, o);
        for (int g = 0; g < a->nguard; g++) {
            guard[g] = a->guard[g];
            reorder(&guard[g].at, o);
        }
        a->guard = guard;
    }
    return true;
}

static int32_t final_number(const Lower *l, int32_t inst)
{
    return inst < LOWER_END ? inst : inst - LOWER_END + l->inst[LOWER_EACH].n;
}

/* Both stages one behind the other, in the arena of the kernel; NULL: no memory. */
static KernInst *copy_insts(Lower *l)
{
    int each = l->inst[0].n, n = each + l->inst[1].n;
    KernInst *to = base_arena_alloc(l->arena, (size_t)n * sizeof *to);
    for (int i = 0; to != NULL && i < n; i++) {
        to[i] = i < each ? l->inst[0].at[i] : l->inst[1].at[i - each];
        if (to[i].code == KI_RAND) /* b and c are numbers of its own */
            continue;
        to[i].a = final_number(l, to[i].a);
        if (to[i].code == KI_REDUCE) /* here too */
            continue;
        to[i].b = final_number(l, to[i].b);
        to[i].c = final_number(l, to[i].c);
    }
    return to;
}

int kern_lower_finish(Lower *l, Step *step)
{
    Vars o = order_vars(l->loop);
    Accesses accesses;
    Kernel *k = base_arena_zero(l->arena, 1, sizeof *k);
    int *args = base_arena_copy(l->arena, l->args.at, (size_t)l->args.n * sizeof *args);
    KernInst *inst = copy_insts(l);
    if (k == NULL || args == NULL || inst == NULL || !copy_accesses(l, &accesses, &o))
        return SGL_ENOMEM;
    coalesce(&accesses, &o);
    bool split = l->loop->mode == LOOP_LONG || l->loop->mode == LOOP_COL;
    k->mode = (KernMode)l->loop->mode;
    k->nvar = o.nvar;
    k->nouter = o.nouter;
    memcpy(k->extent, o.extent, sizeof k->extent);
    k->ninst = l->inst[0].n + l->inst[1].n;
    k->post = split ? l->inst[0].n : k->ninst;
    k->inst = inst;
    k->naccess = accesses.n;
    k->access = accesses.at;
    k->nargs = l->args.n;
    k->name = kern_lower_name(l, k);
    step->kernel = k;
    step->args = args;
    step->nargs = l->args.n;
    return k->name == NULL ? SGL_ENOMEM : 0;
}
