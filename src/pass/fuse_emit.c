/* fuse_emit.c: writes the groups that `fuse` has made into the schedule.
 *
 * In:   placed nodes and their reads.
 * Out:  Schedule.groups with nodes, ins, outs and loops; group_of.
 * Holds: lists are in id order and without repeats.
 */
#include "pass/fuse.h"
#include <stdlib.h>
#include <string.h>

static const IndexMap *copy_map(Arena *to, const IndexMap *map)
{
    size_t dims = (size_t)map->rank * sizeof(Affine);
    IndexMap *copy = base_arena_zero(to, 1, sizeof *copy + dims);
    if (copy == NULL) return NULL;
    copy->rank = map->rank;
    copy->dim = memcpy(copy + 1, map->dim, dims);
    return copy;
}

/* Rows that no reduction came to join are a map, unless a result does not change along them: a map
 * would store it again at each point. */
static bool is_map(const FuseGroup *g)
{
    if (g->reductions > 0) return false;
    if (g->mode == LOOP_MAP) return true;
    for (int i = 0; i < g->roots.n; i++)
        if (!pass_index_on_reduced(&g->maps.space, g->roots.at[i].at)) return false;
    return true;
}

/* Roots are read without guards, so dims are all of their maps. */
static bool emit_loop(Arena *to, const FuseGroup *from, Loop *loop)
{
    LoopRoot *root = base_arena_alloc(to, (size_t)from->roots.n * sizeof *root);
    if (root == NULL) return false;
    bool map = is_map(from);
    *loop = (Loop){.mode = map ? LOOP_MAP : from->mode,
                   .space = from->maps.space,
                   .nroot = from->roots.n,
                   .root = root,
                   .part = from->part};
    for (int v = 0; v < loop->space.nvar; v++)
        loop->space.reduced[v] = loop->space.reduced[v] && !map;
    for (int i = 0; i < from->roots.n; i++) {
        root[i] = (LoopRoot){from->roots.at[i].node, copy_map(to, from->roots.at[i].at)};
        if (root[i].at == NULL) return false;
    }
    return true;
}

static bool append(NodeVec *to, const NodeVec *from)
{
    if (!vec_reserve(to, to->n + from->n)) return false;
    if (from->n > 0) memcpy(to->at + to->n, from->at, (size_t)from->n * sizeof *from->at);
    to->n += from->n;
    return true;
}

/* Numbers of the schedule's groups by the numbers in Fuse; loops[] counts kernels of each. */
static bool emit_groups(Fuse *f, Schedule *s, int *number, int *loops)
{
    for (int i = 0; i < f->groups.n; i++) {
        const FuseGroup *g = &f->groups.at[i];
        int step = pass_fuse_step(f, i);
        if (step == i) {
            number[i] = s->groups.n;
            bool map = g->kind == GROUP_REDUCE && is_map(g);
            if (!vec_push(&s->groups, ((Group){.kind = map ? GROUP_MAP : g->kind}))) return false;
        }
        if (g->merged < 0 && g->roots.n > 0) loops[step]++;
    }
    return true;
}

/* The nodes, results and loop nests of groups; groups that were merged into one step have a nest
 * each there. */
static bool emit_loops(Fuse *f, Schedule *s, const int *number, const int *loops)
{
    for (int i = 0; i < f->groups.n; i++) {
        const FuseGroup *g = &f->groups.at[i];
        int step = pass_fuse_step(f, i);
        Group *to = &s->groups.at[number[step]];
        if (g->merged >= 0) continue;
        if (!append(&to->nodes, &g->nodes) || !append(&to->outs, &g->outs)) return false;
        if (g->roots.n == 0) continue;
        if (to->loop == NULL)
            to->loop = base_arena_zero(&s->arena, (size_t)loops[step], sizeof(Loop));
        if (to->loop == NULL || !emit_loop(&s->arena, g, to->loop + to->nloop++)) return false;
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    const Node *x = *(Node *const *)a, *y = *(Node *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

static void sort_unique(NodeVec *v)
{
    int n = 0;
    if (v->n > 1) qsort(v->at, (size_t)v->n, sizeof *v->at, by_id);
    for (int i = 0; i < v->n; i++)
        if (n == 0 || v->at[n - 1] != v->at[i]) v->at[n++] = v->at[i];
    v->n = n;
}

/* A node in memory is an input of every group that reads it, but for the one that computes it. */
static bool emit_ins(const Fuse *f, Schedule *s, const int *number)
{
    for (int id = 0; id < f->graph->nodes.n; id++) {
        Node *n = f->graph->nodes.at[id];
        const FuseNode *of = &f->of[id];
        int own = of->group < 0 ? -1 : pass_fuse_step(f, of->group);
        if (own < 0 && n->op != OP_input) continue;
        for (const Read *r = of->reads; r != NULL; r = r->next) {
            int reader = pass_fuse_step(f, r->group);
            NodeVec *ins = &s->groups.at[number[reader]].ins;
            if (reader != own && (ins->n == 0 || vec_last(ins) != n) && !vec_push(ins, n))
                return false;
        }
    }
    return true;
}

/* Writes the groups into the schedule and tells of each node in which group it is stored. */
static bool emit(Fuse *f, Schedule *s)
{
    int *number = base_arena_zero(&f->arena, (size_t)f->groups.n + 1, sizeof *number);
    int *loops = base_arena_zero(&f->arena, (size_t)f->groups.n + 1, sizeof *loops);
    size_t nodes = (size_t)f->graph->nodes.n;
    s->group_of = base_mem_alloc((nodes + 1) * sizeof *s->group_of);
    if (number == NULL || loops == NULL || s->group_of == NULL ||
        !emit_groups(f, s, number, loops) || !emit_loops(f, s, number, loops) ||
        !emit_ins(f, s, number))
        return false;
    memset(s->group_of, -1, (nodes + 1) * sizeof *s->group_of);
    for (int i = 0; i < s->groups.n; i++) {
        Group *g = &s->groups.at[i];
        sort_unique(&g->nodes);
        sort_unique(&g->outs);
        for (int k = 0; k < g->nodes.n; k++)
            if (s->group_of[g->nodes.at[k]->id] < 0) s->group_of[g->nodes.at[k]->id] = i;
    }
    for (size_t id = 0; id < nodes; id++)
        if (f->of[id].group >= 0) s->group_of[id] = number[pass_fuse_step(f, f->of[id].group)];
    return true;
}

int pass_fuse_emit(Fuse *f, Schedule *s) { return emit(f, s) ? 1 : SGL_ENOMEM; }
