/* fuse_merge.c: groups that walk the same space and read the same value become one.
 *
 * In:   a node with several readers.
 * Out:  readers merged: one kernel with more results, which reads the node once.
 * Holds: merged groups do not depend on each other. Their variables are made to agree by splits
 *        until both count the same positions in the same order; the node is then read at the same
 *        map by both, or they stay apart.
 */
#include "pass/fuse.h"

/* Variables of two groups that shall become the same, innermost first. */
typedef struct Pairs {
    int n, a[LOOP_MAX_VARS], b[LOOP_MAX_VARS];
} Pairs;

/* Which variables take part: all, the kept, or the reduced ones. */
typedef enum Which { ALL, KEPT, REDUCED } Which;

static int next_var(const LoopNest *s, int below, Which which)
{
    int v = below - 1;
    while (v >= 0 && which != ALL && s->reduced[v] != (which == REDUCED)) v--;
    return v;
}

/* Splits variables of the two spaces until they pair up. Splits that turn out useless cost
 * nothing, for the lowering joins variables again. */
static bool pair_up(IndexMaps *a, Which of_a, IndexMaps *b, Which of_b, Pairs *out)
{
    int va = next_var(&a->space, a->space.nvar, of_a);
    int vb = next_var(&b->space, b->space.nvar, of_b);
    while (va >= 0 && vb >= 0) {
        Num ea = a->space.extent[va], eb = b->space.extent[vb], outer;
        if (ea != eb && ir_num_quotient(a->space.sizes->cx, ea, eb, &outer)) {
            if (!pass_index_split(a, va, eb)) return false;
            for (int i = 0; i < out->n; i++) out->a[i] += out->a[i] > va;
            va++;
        } else if (ea != eb && ir_num_quotient(a->space.sizes->cx, eb, ea, &outer)) {
            if (!pass_index_split(b, vb, ea)) return false;
            for (int i = 0; i < out->n; i++) out->b[i] += out->b[i] > vb;
            vb++;
        } else if (ea != eb) {
            return false;
        }
        out->a[out->n] = va;
        out->b[out->n++] = vb;
        va = next_var(&a->space, va, of_a);
        vb = next_var(&b->space, vb, of_b);
    }
    return va < 0 && vb < 0;
}

/* A map may join all variables of a row kernel, or the kept ones of any reduction, whose results
 * it then follows. Two reductions must walk alike. */
static bool pair_groups(FuseGroup *a, FuseGroup *b, Pairs *p)
{
    if (b->mode == LOOP_MAP) {
        bool whole = a->mode == LOOP_MAP || pass_index_count(&a->maps.space, false) !=
                                                pass_index_count(&b->maps.space, false);
        if (whole && a->mode != LOOP_MAP && a->mode != LOOP_ROW) return false;
        return pair_up(&a->maps, whole ? ALL : KEPT, &b->maps, ALL, p);
    }
    bool alike = a->mode == LOOP_ROW
                     ? b->mode == LOOP_ROW || b->small
                     : a->mode == b->mode && pass_fuse_same_blocks(a->blocks, b->blocks);
    return alike && pair_up(&a->maps, REDUCED, &b->maps, REDUCED, p) &&
           pair_up(&a->maps, KEPT, &b->maps, KEPT, p);
}

static void translate(Affine *x, const Pairs *p)
{
    Affine old = *x;
    for (int v = 0; v < LOOP_MAX_VARS; v++) x->coef[v] = 0;
    for (int i = 0; i < p->n; i++) x->coef[p->a[i]] = old.coef[p->b[i]];
}

static bool same_position(const Node *n, const Read *ra, const Read *rb, const Pairs *p)
{
    for (int i = 0; i < n->rank; i++) {
        const Affine *a = &ra->at->dim[i], *b = &rb->at->dim[i];
        if (a->base != b->base) return false;
        for (int k = 0; k < p->n; k++)
            if (a->coef[p->a[k]] != b->coef[p->b[k]]) return false;
    }
    return true;
}

#define APPEND(to, from)                                                                           \
    do                                                                                             \
        for (int i_ = 0; i_ < (from)->n; i_++)                                                     \
            if (!vec_push((to), (from)->at[i_])) return SGL_ENOMEM;                                \
    while (0)

/* Every variable of b has a partner in a. */
static int take_in(Fuse *f, int into, int from, const Pairs *p)
{
    FuseGroup *a = &f->groups.at[into], *b = &f->groups.at[from];
    for (int i = 0; i < b->maps.made.n; i++) {
        IndexMap *map = b->maps.made.at[i];
        for (int d = 0; d < map->rank; d++) translate(&map->dim[d], p);
        for (int g = 0; g < map->nguard; g++) translate(&map->guard[g].at, p);
    }
    APPEND(&a->maps.made, &b->maps.made);
    APPEND(&a->roots, &b->roots);
    APPEND(&a->nodes, &b->nodes);
    APPEND(&a->outs, &b->outs);
    APPEND(&a->deps, &b->deps);
    a->sites += b->sites;
    a->reductions += b->reductions;
    b->merged = into;
    f->merged = true;
    return 1;
}

static bool is_open(const Fuse *f, const Read *r)
{
    if (r->at == NULL || r->at->nguard > 0) return false;
    const FuseGroup *g = &f->groups.at[pass_fuse_group(f, r->group)];
    return (g->kind == GROUP_MAP || g->kind == GROUP_REDUCE) && g->concat < 0;
}

/* Sharing a value that is in memory anyway saves one read of it: enough to join two reductions,
 * not to tie maps together that may run far apart. Constants are not even read. */
static bool worth_it(const Node *n, const FuseGroup *a, const FuseGroup *b)
{
    Family family = ir_op(n)->family;
    if (n->op == OP_const || n->op == OP_iota) return false;
    return ir_family_elementwise(family) || family == FAM_cast || family == FAM_reduce ||
           n->op == OP_rand || (a->mode != LOOP_MAP && b->mode != LOOP_MAP);
}

/* Puts two groups that one node reads into one, if their loops can run over both and it saves
 * more than it costs. 1: done. The budget bounds the tries, which are quadratic. */
static int try_merge(Fuse *f, Node *n, const Read *ra, const Read *rb, int *budget)
{
    int a = pass_fuse_group(f, ra->group), b = pass_fuse_group(f, rb->group);
    Pairs pairs = {0};
    if (f->groups.at[a].mode == LOOP_MAP || (f->groups.at[a].small && !f->groups.at[b].small)) {
        int swap = a;
        const Read *read = ra;
        a = b, b = swap;
        ra = rb, rb = read;
    }
    FuseGroup *ga = &f->groups.at[a], *gb = &f->groups.at[b];
    if (ga->sites + gb->sites > FUSE_MAX_SITES || !worth_it(n, ga, gb) ||
        !pass_index_covers(&ga->maps.space, n, ra->at) ||
        !pass_index_covers(&gb->maps.space, n, rb->at))
        return 0;
    if (--*budget < 0) return 0;

    int rc = pass_fuse_independent(f, a, b);
    if (rc == 1 && pair_groups(ga, gb, &pairs) && same_position(n, ra, rb, &pairs))
        return take_in(f, a, b, &pairs);
    return rc < 0 ? rc : 0;
}

/* Pairs tried for one node: the search for paths is what costs. */
enum { MERGE_BUDGET = 12 };

int pass_fuse_merge_readers(Fuse *f, Node *n)
{
    const FuseNode *of = &f->of[n->id];
    int budget = MERGE_BUDGET, rc = 1;
    if (of->nread < 2 || of->nread > FUSE_MAX_READS) return 1;
    for (const Read *a = of->reads; a != NULL; a = a->next)
        for (const Read *b = a->next; b != NULL && rc >= 0; b = b->next) {
            if (!is_open(f, a) || !is_open(f, b) ||
                pass_fuse_group(f, a->group) == pass_fuse_group(f, b->group))
                continue;
            rc = try_merge(f, n, a, b, &budget);
        }
    pass_fuse_unify_reads(f, n);
    return rc < 0 ? rc : 1;
}
