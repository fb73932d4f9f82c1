/* fuse_join.c: which group may take a node in, and as what.
 *
 * In:   a node and a read of it.
 * Out:  yes or no; a yes for a reduction may turn the group's loops into those of a reduction.
 * The order of additions is fixed by the shape (rules N2 and N3 of kernel.h), so it decides the
 * mode: row order in ROW and LONG loops, column order in COL loops.
 */
#include "ir/attr.h"
#include "pass/fuse.h"

/* A sum that is part of one over columns keeps their order, however few are left. */
static bool over_columns(const Node *n)
{
    int at = ir_attr_place(n, "columns");
    return at >= 0 && n->attr[at] == 1;
}

/* Have all dims before `last` that may be longer than 1 the same part in the reduction as it? */
static bool all_alike(const Node *n, int last)
{
    unsigned axes = pass_reduce_axes(n);
    for (int i = 0; i < last; i++)
        if (n->in[0]->dims[i] != 1 && (axes >> i & 1) != (axes >> last & 1)) return false;
    return true;
}

/* Is the product of the reduced dims before `last` certainly small, so that no order matters when
 * the dims from there on are 1? */
static bool is_small_without(const Node *n, int last)
{
    Num rest = 1;
    for (int i = 0; i < last; i++)
        if (pass_reduce_axes(n) >> i & 1)
            rest = ir_num_mul(n->graph->cx, rest, ir_num_of(n->in[0]->dims[i]));
    return ir_num_below(n->graph->cx, rest, IR_LANES);
}

/* Is the last dim reduced? Dims of size 1 do not count: they are no order. Whether a symbolic one
 * is 1 is asked only where that changes the order of 32 elements or more. */
static bool reduces_last(Sizes *s, const Node *n)
{
    if (over_columns(n)) return false;
    int last = n->in[0]->rank - 1;
    for (; last > 0; last--) {
        Num dim = ir_num_of(n->in[0]->dims[last]);
        if (dim == 1) continue;
        if (ir_num_plain(dim) || all_alike(n, last) || is_small_without(n, last)) break;
        if (!pass_size_inside(s, dim, 1, 1)) break;
    }
    return last >= 0 && pass_reduce_axes(n) >> last & 1;
}

/* A row of a length that only a run knows fits any row kernel while it is no longer than a tile:
 * below IR_LANES all orders are one. */
LoopMode pass_fuse_mode(Sizes *s, const Node *n, bool *small)
{
    Num length = pass_reduce_length(n);
    *small = ir_num_below(s->cx, length, IR_LANES);
    if (*small || !reduces_last(s, n)) return LOOP_COL;
    return pass_size_inside(s, length, 0, LOOP_ROW_MAX) ? LOOP_ROW : LOOP_LONG;
}

Blocks pass_fuse_blocks(const Node *n)
{
    return DTYPES[n->dtype].class == CLASS_FLOAT ? ir_blocks(n) : (Blocks){1, 1};
}

bool pass_fuse_same_blocks(Blocks a, Blocks b) { return a.n == b.n && a.units == b.units; }

static bool has_room(const FuseGroup *g)
{
    return (g->kind == GROUP_MAP || g->kind == GROUP_REDUCE) && g->concat < 0 &&
           g->sites < FUSE_MAX_SITES;
}

/* Does its group read n elsewhere too? */
static bool only_read(const Fuse *f, const Node *n, const Read *r)
{
    int group = pass_fuse_group(f, r->group);
    for (const Read *o = f->of[n->id].reads; o != NULL; o = o->next)
        if (o != r && pass_fuse_group(f, o->group) == group) return false;
    return true;
}

/* Is each element visited once? An element stored twice would be work done twice, and a race of
 * the threads that do it. Rows compute what does not change along them once a row. */
static bool visits_once(const FuseGroup *g, const Node *n, const Read *r)
{
    const LoopNest *s = &g->maps.space;
    bool along = pass_index_on_reduced(s, r->at);
    if (g->mode == LOOP_COL && !along && r->stage & STAGE_EACH) return false;
    Num points = pass_index_count(s, false);
    if (along) points = ir_num_mul(s->sizes->cx, points, pass_index_count(s, true));
    return points == pass_count(n) && pass_index_covers(s, n, r->at);
}

int pass_fuse_host_value(Fuse *f, Node *n, const Read *r)
{
    const FuseGroup *g = &f->groups.at[pass_fuse_group(f, r->group)];
    return r->at != NULL && has_room(g) && visits_once(g, n, r) && only_read(f, n, r);
}

bool pass_fuse_is_row(Sizes *s, const Node *n)
{
    return reduces_last(s, n) && pass_size_inside(s, pass_reduce_length(n), 0, LOOP_ROW_MAX);
}

/* The reduced variables are there already: do the orders agree, and is n read when it is known? */
static int joins_reduction(FuseGroup *g, const Node *n, const Read *r)
{
    const LoopNest *s = &g->maps.space;
    bool small, early = r->stage & STAGE_EACH;
    LoopMode mode = pass_fuse_mode(s->sizes, n, &small);
    bool turns =
        g->small && early && pass_fuse_is_row(s->sizes, n); /* a short row may still be a tile */
    bool fits =
        g->mode == LOOP_ROW ? small || mode == LOOP_ROW : turns || (mode == g->mode && !early);
    if (!turns && g->mode != LOOP_ROW && !pass_fuse_same_blocks(g->blocks, pass_fuse_blocks(n)))
        return 0;
    if (!fits || pass_index_on_reduced(s, r->at) || !pass_index_covers(s, n, r->at) ||
        pass_index_count(s, true) != pass_reduce_length(n))
        return 0;
    IndexMap *trial;
    int rc = pass_index_reduce(&g->maps, n, r->at, &trial);
    if (rc == 1 && turns) {
        g->small = false;
        g->mode = LOOP_ROW;
    }
    return rc;
}

/* A map over exactly the kept dims gets the reduced dims as new variables; what it computed so far
 * comes after the reduction. */
static bool grows_reduction(FuseGroup *g, const Node *n, const Read *r)
{
    LoopNest *s = &g->maps.space;
    int nvar = s->nvar;
    if (!pass_index_covers(s, n, r->at)) return false;
    if (!pass_index_add(&g->maps, n->in[0], pass_reduce_axes(n), true)) {
        s->nvar = nvar;
        return false;
    }
    g->mode = pass_fuse_mode(s->sizes, n, &g->small);
    g->blocks = pass_fuse_blocks(n);
    return true;
}

static bool is_used(const IndexMap *at, int v)
{
    for (int i = 0; i < at->rank; i++)
        if (at->dim[i].coef[v] != 0) return true;
    return false;
}

/* A map that reads n broadcast along some variables takes them for rows of that length. */
static int becomes_row(FuseGroup *g, const Node *n, const Read *r, Num length)
{
    LoopNest *s = &g->maps.space;
    for (int v = 0; v < s->nvar; v++) s->reduced[v] = !is_used(r->at, v);
    bool fits = length != 1 && length != 0 && pass_index_count(s, true) == length &&
                pass_size_inside(s->sizes, length, 0, LOOP_ROW_MAX) &&
                pass_index_covers(s, n, r->at);
    IndexMap *trial;
    int rc = fits;
    if (fits && ir_op(n)->family == FAM_reduce) rc = pass_index_reduce(&g->maps, n, r->at, &trial);
    for (int v = 0; v < s->nvar; v++) s->reduced[v] = rc == 1 && s->reduced[v];
    if (rc == 1) {
        g->mode = LOOP_ROW;
        g->kind = GROUP_REDUCE;
    }
    return rc;
}

int pass_fuse_make_rows(Fuse *f, Node *n)
{
    const FuseNode *of = &f->of[n->id];
    int rc = 1;
    for (const Read *r = of->reads; r != NULL && of->row != 0 && of->row != ROW_MIXED && rc >= 0;
         r = r->next) {
        FuseGroup *g = &f->groups.at[pass_fuse_group(f, r->group)];
        if (r->at != NULL && g->mode == LOOP_MAP && has_room(g)) rc = becomes_row(g, n, r, of->row);
    }
    return rc < 0 ? rc : 1;
}

int pass_fuse_host_reduce(Fuse *f, Node *n, const Read *r)
{
    FuseGroup *g = &f->groups.at[pass_fuse_group(f, r->group)];
    if (r->at == NULL || !has_room(g) || !only_read(f, n, r) || r->at->nguard > 0) return 0;
    if (g->mode != LOOP_MAP) return joins_reduction(g, n, r);
    if (grows_reduction(g, n, r)) {
        g->kind = GROUP_REDUCE;
        return 1;
    }
    return pass_fuse_is_row(f->sizes, n) ? becomes_row(g, n, r, pass_reduce_length(n)) : 0;
}
