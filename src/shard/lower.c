/* lower.c: the graph of one rank, in one walk over the nodes.
 *
 * An op takes its inputs in the placement of its factors and gives its result in theirs; a share of
 * a sum is resolved at once. Where a value is wanted in another placement it is moved (move.c);
 * placements that were made are used again.
 * Holds: arguments and outputs of the graph are whole on each rank, state lies as it is stored, and
 *        what it is set to lies so too. Control nodes and effects take
 *        whole values and run alike on all ranks.
 */
#include "shard/lower.h"
#include <string.h>

CommCut shard_cut(const Lower *l, const Node *n, int d)
{
    bool free = l->s->node[n->id].free && l->units;
    int64_t units = free ? l->units[d] : shard_units(l->s, n, d);
    return (CommCut){n->dims[d], units, l->s->plan->blocks};
}

int64_t shard_start(const Lower *l, const Node *n, int d, Axes axes)
{
    const Mesh *m = &l->s->plan->mesh;
    int part = comm_mesh_part(m, axes, l->s->plan->rank);
    return comm_cut_start(shard_cut(l, n, d), comm_mesh_parts(m, axes), part);
}

int64_t shard_length(const Lower *l, const Node *n, int d, Axes axes)
{
    const Mesh *m = &l->s->plan->mesh;
    int part = comm_mesh_part(m, axes, l->s->plan->rank);
    return comm_cut_start(shard_cut(l, n, d), comm_mesh_parts(m, axes), part + 1) -
           shard_start(l, n, d, axes);
}

void shard_dims(const Lower *l, const Node *n, const Axes *spec, Dim *out)
{
    for (int d = 0; d < n->rank; d++)
        out[d] = spec[d] ? shard_length(l, n, d, spec[d]) : n->dims[d];
}

Axes shard_partial(const Lower *l, const Node *n)
{
    const ShardNode *v = &l->s->node[n->id];
    Axes all = 0;
    for (int k = 0; k < v->f.n; k++)
        if (v->f.kind[k] >= FACTOR_sum && v->f.kind[k] <= FACTOR_min)
            for (Axes a = v->fact[k]; a; a >>= 4) all = comm_axes_add(all, comm_axes_at(a, 0));
    return all;
}

/* ---- values */

/* Does a value lie so? Units say something of constants alone, and of dims that are cut. */
static bool lies(const Lower *l, const Node *n, const Placed *p, const Axes *spec,
                 const int64_t *units)
{
    bool same = true;
    for (int d = 0; d < n->rank && same; d++)
        same = p->spec[d] == spec[d] &&
               (!spec[d] || !l->s->node[n->id].free || p->units[d] == units[d]);
    return same;
}

static Node *keep(Lower *l, const Node *n, const Axes *spec, Node *made)
{
    Placed *p = base_arena_zero(&l->s->arena, 1, sizeof *p);
    if (!p || !made) {
        if (!p) base_no_memory(l->to->cx, "the partition of a step");
        return NULL;
    }
    if (n->rank) memcpy(p->spec, spec, n->rank * sizeof *spec);
    if (n->rank && l->units) memcpy(p->units, l->units, n->rank * sizeof *p->units);
    p->node = made;
    p->next = l->have[n->id];
    l->have[n->id] = p;
    return made;
}

/* Elements that have to be gathered to move a value: of an average rank, as all choose alike. */
static double gathered(const Lower *l, const Node *n, const Axes *from, const Axes *to)
{
    double count = 1;
    bool moves = false;
    for (int d = 0; d < n->rank; d++) {
        moves = moves || !comm_axes_begin(to[d], from[d]);
        count *= (double)n->dims[d] / comm_mesh_parts(&l->s->plan->mesh, to[d]);
    }
    return moves ? count : 0;
}

/* Where the dims of input i lie that have the factors of these dims of the result. */
static void spec_by_result(const ShardNode *v, const Node *n, int i, const Axes *spec, Axes *out)
{
    memset(out, 0, OP_MAX_RANK * sizeof *out);
    for (int d = 0; d < n->in[i]->rank; d++)
        for (int e = 0; e < n->rank; e++)
            if (v->in[i][d] >= 0 && v->f.out[e] == v->in[i][d]) out[d] = spec[e];
}

static Node *find(const Lower *l, const Node *n, const Axes *spec, const int64_t *units)
{
    for (const Placed *p = l->have[n->id]; p; p = p->next)
        if (lies(l, n, p, spec, units)) return p->node;
    return NULL;
}

static Node *get(Lower *l, const Node *n, const Axes *spec, const int64_t *units);
static Node *make_free(Lower *l, const Node *n, const Axes *spec, const int64_t *units);

/* Input i of a free value: free too, in the placement that follows from the result's, or whole. */
static Node *free_input(Lower *l, const Node *n, int i, const Axes *spec, const int64_t *units)
{
    const ShardNode *v = &l->s->node[n->id];
    Axes inner[OP_MAX_RANK];
    int64_t inner_units[OP_MAX_RANK] = {0};
    spec_by_result(v, n, i, spec, inner);
    for (int d = 0; d < n->in[i]->rank; d++)
        for (int e = 0; e < n->rank; e++)
            if (v->in[i][d] >= 0 && v->f.out[e] == v->in[i][d]) inner_units[d] = units[e];
    const Axes whole[OP_MAX_RANK] = {0};
    if (l->s->node[n->in[i]->id].free) return make_free(l, n->in[i], inner, inner_units);
    return get(l, n->in[i], whole, inner_units);
}

/* A value of constants, positions and repeated numbers. Its dims are cut as those of the values
 * that it meets, of which `units` tells. */
static Node *make_free(Lower *l, const Node *n, const Axes *spec, const int64_t *units)
{
    Node *in[3] = {NULL}, *there = find(l, n, spec, units); /* elementwise ops have 3 at most */
    if (there) return there;
    for (int i = 0; i < n->nin; i++) {
        in[i] = free_input(l, n, i, spec, units);
        if (!in[i]) return NULL;
    }
    l->units = units;
    Node *made = keep(l, n, spec, shard_part(l, n, in, spec));
    l->units = NULL;
    return made;
}

static bool is_view_of_state(const Lower *l, const Node *n)
{
    bool view = n->op == OP_permute || n->op == OP_reshape || n->op == OP_detach;
    while (n->op == OP_permute || n->op == OP_reshape || n->op == OP_detach) n = n->in[0];
    return view && n->op == OP_input && shard_stored(l->s, (int)n->attr[0]).rank;
}

/* A view that would have to be gathered is made of the gathered state instead: one gather serves
 * all views of it. */
static Node *view_again(Lower *l, const Node *n, const Axes *spec)
{
    Axes inner[OP_MAX_RANK];
    const int64_t units[OP_MAX_RANK] = {0};
    spec_by_result(&l->s->node[n->id], n, 0, spec, inner);
    Node *in[1] = {get(l, n->in[0], inner, units)};
    return in[0] ? keep(l, n, spec, shard_part(l, n, in, spec)) : NULL;
}

/* The value in a placement; `units` of its dims, if it is a constant. */
static Node *get(Lower *l, const Node *n, const Axes *spec, const int64_t *units)
{
    const Placed *best = NULL;
    double least = 0;
    if (l->s->node[n->id].free) return make_free(l, n, spec, units);
    Node *there = find(l, n, spec, units);
    if (there) return there;
    for (const Placed *p = l->have[n->id]; p; p = p->next) {
        double count = gathered(l, n, p->spec, spec);
        if (best && count >= least) continue;
        best = p;
        least = count;
    }
    if (!best) return NULL;
    if (least > 0 && is_view_of_state(l, n)) return view_again(l, n, spec);
    return keep(l, n, spec, shard_move(l, n, best->node, best->spec, spec));
}

static Node *get_whole(Lower *l, const Node *n)
{
    const Axes whole[OP_MAX_RANK] = {0};
    const int64_t units[OP_MAX_RANK] = {0};
    return get(l, n, whole, units);
}

/* The units of the dims that have factor k: of a value that is no constant. */
static int64_t factor_units(const Lower *l, const Node *n, int k)
{
    const ShardNode *v = &l->s->node[n->id];
    for (int i = 0; i <= n->nin; i++) {
        const Node *end = i < n->nin ? n->in[i] : n;
        const int8_t *row = i < n->nin ? v->in[i] : v->f.out;
        for (int d = 0; d < end->rank && !l->s->node[end->id].free; d++)
            if (row[d] == k) return shard_units(l->s, end, d);
    }
    return 1;
}

/* The inputs of an op in the placement of its factors. */
static bool take_inputs(Lower *l, const Node *n, Node **in)
{
    const ShardNode *v = &l->s->node[n->id];
    for (int i = 0; i < n->nin; i++) {
        Axes spec[OP_MAX_RANK] = {0};
        int64_t units[OP_MAX_RANK] = {0};
        for (int d = 0; d < n->in[i]->rank; d++) {
            int k = v->in[i][d];
            if (k < 0) continue;
            spec[d] = v->fact[k];
            units[d] = factor_units(l, n, k);
        }
        in[i] = get(l, n->in[i], spec, units);
        if (!in[i]) return false;
    }
    return true;
}

/* The table that a scatter adds to, and what its ranks add together. */
static Node *add_table(Lower *l, const Node *n, Node *sum, const Axes *spec)
{
    int64_t units[OP_MAX_RANK] = {0};
    for (int d = 0; d < n->rank; d++) units[d] = shard_units(l->s, n, d);
    Node *x = get(l, n->in[0], spec, units);
    return x && sum ? ir_add(ir_cast(x, (Dtype)sum->dtype), sum) : NULL;
}

/* A reduction over dims that ranks share. */
static Node *lower_partial(Lower *l, const Node *n, Node **in, Axes *spec)
{
    FactorKind kind = (FactorKind)l->s->node[n->id].f.kind[shard_reduced(l->s, n)];
    Node *made;
    if (!shard_prepare(l, n, in, spec)) return NULL;
    if (shard_needs_leaves(l, n)) made = shard_add_leaves(l, n, in, spec);
    else {
        made = shard_part(l, n, in, spec);
        if (made) made = shard_resolve(l, n, made, kind, shard_partial(l, n), spec);
    }
    if (n->op == OP_scatter_add) made = add_table(l, n, made, spec);
    return made ? ir_cast(made, (Dtype)n->dtype) : NULL;
}

static Node *lower_input(Rebuild *rb, const Node *n)
{
    Lower *l = rb->arg;
    CommSpread how = shard_stored(l->s, (int)n->attr[0]);
    Axes spec[OP_MAX_RANK] = {0};
    Dim dims[OP_MAX_RANK];
    for (int d = 0; d < how.rank; d++) spec[d] = how.axes[d];
    shard_dims(l, n, spec, dims);
    return keep(l, n, spec, ir_rebuild_input(rb, n, dims));
}

/* Behind the forward pass: what was gathered of state, and of views of it, is forgotten, so that
 * the backward pass gathers it again. The oldest placement of a value is its own. */
static void forget_gathered(Lower *l)
{
    l->forward = -1;
    for (int id = 0; id < l->s->g->nodes.n; id++) {
        const Node *n = l->s->g->nodes.at[id];
        bool state = n->op == OP_input && shard_stored(l->s, (int)n->attr[0]).rank;
        if (!state && !is_view_of_state(l, n)) continue;
        while (l->have[id] && l->have[id]->next) l->have[id] = l->have[id]->next;
    }
}

/* What takes n's place. The inputs that the rewriter brings are of one placement; here they are
 * taken in that of n. */
static Node *lower_node(Rebuild *rb, const Node *n, Node **in)
{
    Lower *l = rb->arg;
    const ShardNode *v = &l->s->node[n->id];
    Axes spec[OP_MAX_RANK] = {0};
    l->to = rb->to;
    if (l->forward >= 0 && n->id > l->forward) forget_gathered(l);
    if (n->op == OP_input) return lower_input(rb, n);
    if (v->free) return get_whole(l, n);
    for (int d = 0; d < n->rank; d++)
        if (v->f.out[d] >= 0) spec[d] = v->fact[v->f.out[d]];
    if (!take_inputs(l, n, in)) return NULL;
    bool partial = shard_partial(l, n) != 0;
    Node *made = partial ? lower_partial(l, n, in, spec) : shard_part(l, n, in, spec);
    return keep(l, n, spec, made);
}

/* ---- ends */

static int failure(const Lower *l)
{
    int code = l->s->g->cx->err.code;
    return code ? code : SGL_EINTERN;
}

/* Outputs and effects, whole; assigned values as their states lie. */
static int make_ends(Lower *l, const Rebuild *rb)
{
    const Graph *g = l->s->g;
    int code = SGL_OK;
    for (int k = 0; k < g->outputs.n && code >= 0; k++) {
        Node *whole = get_whole(l, g->outputs.at[k].node);
        code = whole ? ir_output(l->to, whole, g->outputs.at[k].name) : failure(l);
    }
    for (int a = 0; a < g->assigns.n && code >= 0; a++) {
        const Node *state = g->inputs.at[g->assigns.at[a].input].node;
        CommSpread how = shard_stored(l->s, g->assigns.at[a].input);
        Axes spec[OP_MAX_RANK] = {0};
        int64_t units[OP_MAX_RANK] = {0};
        for (int d = 0; d < how.rank; d++) {
            spec[d] = how.axes[d];
            units[d] = how.cut[d].units;
        }
        Node *value = get(l, g->assigns.at[a].value, spec, units);
        code = value ? ir_assign(l->to, rb->made[state->id], value) : failure(l);
    }
    for (int e = 0; e < g->effects.n && code >= 0; e++) {
        Node *last = get_whole(l, g->effects.at[e].last);
        code = last ? ir_effect(l->to, g->effects.at[e].channel, last) : failure(l);
    }
    return code;
}

Graph *shard_lower(Sharding *s)
{
    Lower l = {.s = s, .to = ir_graph_new(s->g->cx), .forward = -1};
    for (int i = 0; i < s->g->losses.n && s->plan->reshard; i++)
        if (l.forward < s->g->losses.at[i]->id) l.forward = s->g->losses.at[i]->id;
    Rebuild rb = {.from = s->g, .to = l.to, .remake = lower_node, .origin = ORIGIN_SAME, .arg = &l};
    int code = l.to ? SGL_OK : SGL_ENOMEM;
    l.have = base_arena_zero(&s->arena, (size_t)s->g->nodes.n + 1, sizeof *l.have);
    if (!l.have) code = base_no_memory(s->g->cx, "the partition of a step");
    if (code >= 0) {
        l.to->shares = true;
        code = ir_rebuild_nodes(&rb);
        if (code >= 0) code = make_ends(&l, &rb);
        ir_rebuild_end(&rb);
    }
    if (code >= 0) return l.to;
    ir_graph_free(l.to);
    return NULL;
}
