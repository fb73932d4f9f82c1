/* fuse_group.c: groups while they grow: reads, dependencies, what computing a node asks for.
 *
 * In:   decisions of fuse.c.
 * Out:  reads of the inputs, edges between groups, the lists of nodes and roots.
 * Holds: equal reads of a node by a group are one, so a value is computed once a place. The graph
 *        of groups has no cycle: every step that adds an edge asks pass_fuse_convex first.
 */
#include "pass/fuse.h"

/* A search that visits more groups than this gives up and answers "there is a path", which costs
 * a kernel and is never wrong. It keeps the pass linear. */
enum { PATH_BUDGET = 256 };

int pass_fuse_new(Fuse *f, GroupKind kind)
{
    FuseGroup g = {.kind = kind,
                   .merged = -1,
                   .concat = -1,
                   .maps = {.space.sizes = f->sizes, .arena = &f->arena}};
    return vec_push(&f->groups, g) ? f->groups.n - 1 : SGL_ENOMEM;
}

int pass_fuse_group(const Fuse *f, int group)
{
    while (f->groups.at[group].merged >= 0) group = f->groups.at[group].merged;
    return group;
}

int pass_fuse_step(const Fuse *f, int group)
{
    group = pass_fuse_group(f, group);
    return f->groups.at[group].concat >= 0 ? f->groups.at[group].concat : group;
}

static int push_read(Fuse *f, Node *x, Read read)
{
    FuseNode *of = &f->of[x->id];
    Read *r = base_arena_copy(&f->arena, &read, sizeof read);
    if (r == NULL) return SGL_ENOMEM;
    r->next = of->reads;
    of->reads = r;
    of->nread++;
    return 1;
}

int pass_fuse_read(Fuse *f, Node *x, int group, IndexMap *at, int stage)
{
    const LoopNest *s = &f->groups.at[group].maps.space;
    int looked = 0;
    for (Read *r = f->of[x->id].reads; r != NULL && looked++ < FUSE_MAX_READS; r = r->next)
        if (r->at != NULL && pass_fuse_group(f, r->group) == group &&
            pass_index_same(s, r->at, at)) {
            r->stage |= stage;
            return 1;
        }
    return push_read(f, x, (Read){.group = group, .at = at, .stage = stage});
}

void pass_fuse_unify_reads(Fuse *f, Node *n)
{
    FuseNode *of = &f->of[n->id];
    if (!f->merged || of->nread > FUSE_MAX_READS) return;
    for (Read *r = of->reads; r != NULL; r = r->next) {
        int group = pass_fuse_group(f, r->group);
        for (Read **o = &r->next; *o != NULL;) {
            bool same = r->at != NULL && (*o)->at != NULL &&
                        pass_fuse_group(f, (*o)->group) == group &&
                        pass_index_same(&f->groups.at[group].maps.space, r->at, (*o)->at);
            if (!same) {
                o = &(*o)->next;
                continue;
            }
            r->stage |= (*o)->stage;
            *o = (*o)->next;
            of->nread--;
        }
    }
}

int pass_fuse_need(Fuse *f, Node *x, int group)
{
    f->of[x->id].need = true;
    return push_read(f, x, (Read){.group = group});
}

/* What is below a pad of nothing, and below a reduction of nothing, is never read. */
static bool reads_inputs(const Fuse *f, const Node *n)
{
    return n->op != OP_rand && (n->nin == 0 || !pass_is_empty(f->sizes, n->in[0]));
}

int pass_fuse_inlines(Fuse *f, Node *n)
{
    FuseNode *of = &f->of[n->id];
    for (Read *r = of->reads; r != NULL; r = r->next) {
        int group = r->at == NULL ? -1 : pass_fuse_group(f, r->group);
        if (group < 0 || f->groups.at[group].sites >= FUSE_MAX_SITES) return 0;
        if (ir_op(n)->family != FAM_movement || !reads_inputs(f, n)) continue;
        int rc = pass_index_through(&f->groups.at[group].maps, n, r->at, &r->below);
        if (rc != 1) return rc;
    }
    return 1;
}

int pass_fuse_compute(Fuse *f, Node *n, Read *r, int stage)
{
    int group = pass_fuse_group(f, r->group), rc = 1;
    FuseGroup *g = &f->groups.at[group];
    Family family = ir_op(n)->family;
    IndexMap *below = r->at;
    g->sites++;
    if (!vec_push(&g->nodes, n)) return SGL_ENOMEM;
    if (n->op == OP_rand) return pass_fuse_need(f, n->in[0], group);
    if (!reads_inputs(f, n)) return 1;
    if (family == FAM_movement) below = r->below;
    if (family == FAM_reduce) {
        rc = pass_index_reduce(&g->maps, n, r->at, &below);
        stage = STAGE_EACH;
        g->reductions++;
    }
    for (int i = 0; i < n->nin && rc == 1; i++)
        rc = pass_fuse_read(f, n->in[i], group, below, stage);
    return rc;
}

static int add_dep(Fuse *f, int group, int on)
{
    FuseGroup *g = &f->groups.at[group];
    if (group == on || (g->deps.n > 0 && vec_last(&g->deps) == on)) return 1;
    return vec_push(&g->deps, on) ? 1 : SGL_ENOMEM;
}

int pass_fuse_store(Fuse *f, Node *n, int group, const IndexMap *at)
{
    int step = pass_fuse_step(f, group), rc = 1;
    FuseGroup *g = &f->groups.at[group];
    f->of[n->id].group = step;
    if (!vec_push(&f->groups.at[step].outs, n) ||
        (at != NULL && !vec_push(&g->roots, ((LoopRoot){n, at}))))
        return SGL_ENOMEM;
    for (const Read *r = f->of[n->id].reads; r != NULL && rc == 1; r = r->next)
        rc = add_dep(f, pass_fuse_step(f, r->group), step);
    return rc;
}

/* 1: no marked group can be reached from `group` over what it depends on. */
static int reaches_none(Fuse *f, int group, unsigned marked)
{
    unsigned visited = ++f->now;
    int budget = PATH_BUDGET;
    f->stack.n = 0;
    if (!vec_push(&f->stack, group)) return SGL_ENOMEM;
    while (f->stack.n > 0) {
        int at = vec_pop(&f->stack);
        if (budget-- == 0) return 0;
        for (int i = 0; i < f->groups.at[at].deps.n; i++) {
            int to = pass_fuse_step(f, f->groups.at[at].deps.at[i]);
            FuseGroup *g = &f->groups.at[to];
            if (g->seen == marked) return 0;
            if (g->seen == visited || to == group) continue;
            g->seen = visited;
            if (!vec_push(&f->stack, to)) return SGL_ENOMEM;
        }
    }
    return 1;
}

static int cannot_reach(Fuse *f, int from, int to)
{
    f->groups.at[to].seen = ++f->now;
    return reaches_none(f, from, f->now);
}

int pass_fuse_independent(Fuse *f, int a, int b)
{
    int rc = cannot_reach(f, a, b);
    return rc == 1 ? cannot_reach(f, b, a) : rc;
}

int pass_fuse_convex(Fuse *f, Node *n, const Read *host)
{
    int step = pass_fuse_step(f, host->group);
    unsigned marked = ++f->now;
    bool others = false;
    for (const Read *r = f->of[n->id].reads; r != NULL; r = r->next) {
        int other = pass_fuse_step(f, r->group);
        if (other == step) continue;
        f->groups.at[other].seen = marked;
        others = true;
    }
    return others ? reaches_none(f, step, marked) : 1;
}
