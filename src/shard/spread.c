/* spread.c: spreads the axes of a mesh from annotated inputs to all values.
 *
 * An axis on a dim goes onto the dim's factor, unless another factor of the op has it, and from
 * there onto every dim of that factor whose value does not use it and whose list it extends.
 * Forward and backward over all ops, until nothing changes.
 * Holds: what is set stays; the order of nodes alone decides, so all ranks get the same.
 */
#include <string.h>
#include "ir/attr.h"
#include "ir/blocks.h"
#include "ir/side.h"
#include "shard/classes.h"

/* May a factor be cut? In exact mode a float sum only if it has a tree, and by its first dim. */
static bool can_cut(const Sharding *s, const Node *n, int k)
{
    FactorKind kind = (FactorKind)s->node[n->id].f.kind[k];
    if (kind == FACTOR_fix || kind == FACTOR_pick || kind == FACTOR_own) return false;
    if (kind != FACTOR_sum && kind != FACTOR_prod) return true;
    if (!s->plan->blocks || !ir_is_float(n)) return true;
    return ir_blocks(n).n > 1 && k == shard_reduced(s, n);
}

/* Lays axes on a dim, unless the value uses them elsewhere or has others there. */
static bool put(Sharding *s, const Node *n, int d, Axes axes)
{
    ShardNode *v = &s->node[n->id];
    if (v->free || v->fixed || n->dims[d] == 1 || v->spec[d] == axes ||
        !comm_axes_begin(axes, v->spec[d]))
        return false;
    if (s->plan->blocks && comm_mesh_parts(&s->plan->mesh, axes) > s->plan->blocks) return false;
    for (int e = 0; e < n->rank; e++)
        if (e != d && comm_axes_set(v->spec[e]) & comm_axes_set(axes)) return false;
    v->spec[d] = axes;
    return true;
}

/* Are axes on another factor of the op? */
static bool taken(const ShardNode *v, int k, Axes axes)
{
    for (int j = 0; j < v->f.n; j++)
        if (j != k && comm_axes_set(v->fact[j]) & comm_axes_set(axes)) return true;
    return false;
}

typedef bool (*EndFn)(Sharding *s, const Node *n, int k, const Node *end, int d);

/* Calls fn for each dim that has factor k: of inputs, then of the result. */
static bool each_end(Sharding *s, const Node *n, int k, EndFn fn)
{
    const ShardNode *v = &s->node[n->id];
    bool changed = false;
    for (int i = 0; i <= n->nin; i++) {
        const Node *end = i < n->nin ? n->in[i] : n;
        const int8_t *row = i < n->nin ? v->in[i] : v->f.out;
        for (int d = 0; d < end->rank; d++)
            if (row[d] == k && fn(s, n, k, end, d)) changed = true;
    }
    return changed;
}

static bool take_axes(Sharding *s, const Node *n, int k, const Node *end, int d)
{
    ShardNode *v = &s->node[n->id];
    Axes axes = s->node[end->id].spec[d];
    if (axes == v->fact[k] || !comm_axes_begin(axes, v->fact[k]) || taken(v, k, axes)) return false;
    v->fact[k] = axes;
    return true;
}

static bool give_axes(Sharding *s, const Node *n, int k, const Node *end, int d)
{
    return put(s, end, d, s->node[n->id].fact[k]);
}

static bool visit(Sharding *s, const Node *n)
{
    bool changed = false;
    for (int k = 0; k < s->node[n->id].f.n; k++) {
        if (!can_cut(s, n, k)) continue;
        if (each_end(s, n, k, take_axes)) changed = true;
        if (s->node[n->id].fact[k] && each_end(s, n, k, give_axes)) changed = true;
    }
    return changed;
}

/* State and what it is set to lie alike. */
static bool visit_assign(Sharding *s, const GraphAssign *a)
{
    const Node *state = s->g->inputs.at[a->input].node;
    bool changed = false;
    for (int d = 0; d < state->rank; d++) {
        if (put(s, a->value, d, s->node[state->id].spec[d])) changed = true;
        if (put(s, state, d, s->node[a->value->id].spec[d])) changed = true;
    }
    return changed;
}

static void settle(Sharding *s)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int id = 0; id < s->g->nodes.n; id++)
            if (visit(s, s->g->nodes.at[id])) changed = true;
        for (int id = s->g->nodes.n - 1; id >= 0; id--)
            if (visit(s, s->g->nodes.at[id])) changed = true;
        for (int a = 0; a < s->g->assigns.n; a++)
            if (visit_assign(s, &s->g->assigns.at[a])) changed = true;
    }
}

/* ---- the levels: samples, what a script placed, storage */

static void put_names(const Sharding *s, Axes axes, Str *out)
{
    base_str_fmt(out, "shard(");
    for (int i = 0; i < comm_axes_count(axes); i++)
        base_str_fmt(out, i ? ", %s" : "%s", s->plan->mesh.name[comm_axes_at(axes, i)]);
    base_str_fmt(out, ")");
}

/* "1.bias: dim 1 cannot be shard(data): it is shard(model)" */
static int refuse(const Sharding *s, const Node *n, const char *name, int d, Axes asked)
{
    Axes there = s->node[n->id].spec[d];
    Str t = {0};
    base_str_fmt(&t, "%s: dim %d cannot be ", name && *name ? name : ir_op(n)->name, d + 1);
    put_names(s, asked, &t);
    base_str_fmt(&t, there ? ": it is " : ": another dim is, or it has fewer blocks than ranks");
    if (there) put_names(s, there, &t);
    base_fail(s->g->cx, SGL_EARG, "%s", t.failed ? "placements contradict each other" : t.at);
    base_err_hint(&s->g->cx->err, "name the axes of a dim together, the outermost first");
    base_str_free(&t);
    return SGL_EARG;
}

/* What a script asked of a value; a dim of one element is never cut. */
static int seed(Sharding *s, const Node *n, const char *name, const char *place)
{
    Axes asked[OP_MAX_RANK];
    if (!place) return SGL_OK;
    s->node[n->id].fixed = strcmp(place, SHARD_WHOLE) == 0;
    shard_place(&s->plan->mesh, place, n->rank, asked);
    for (int d = 0; d < n->rank; d++) {
        if (!asked[d] || put(s, n, d, asked[d]) || n->dims[d] == 1) continue;
        if (s->node[n->id].free || comm_axes_begin(s->node[n->id].spec[d], asked[d])) continue;
        return refuse(s, n, name, d, asked[d]);
    }
    return SGL_OK;
}

/* Inputs, then values within the step. */
static int seed_placed(Sharding *s)
{
    int code = SGL_OK, words;
    for (int i = 0; i < s->g->inputs.n && code >= 0; i++)
        code = seed(s, s->g->inputs.at[i].node, s->g->inputs.at[i].name, s->place[i]);
    for (int id = 0; id < s->g->nodes.n && code >= 0 && s->g->side; id++) {
        const int64_t *word = ir_side_get(s->g->nodes.at[id], SIDE_asked, &words);
        if (word) code = seed(s, s->g->nodes.at[id], NULL, ir_attr_text(*word));
    }
    return code;
}

static void seed_samples(Sharding *s)
{
    for (int i = 0; i < s->g->inputs.n; i++) {
        int d = shard_batch_dim(s->g, i);
        if (d >= 0) put(s, s->g->inputs.at[i].node, d, s->plan->samples);
    }
}

/* The dim of a state that the axes can lie on: one that is cut evenly before others, then that of
 * most units; -1: none has enough. */
static int storage_dim(const Sharding *s, const Node *n)
{
    int64_t parts = comm_mesh_parts(&s->plan->mesh, s->plan->storage), most = 0;
    int best = -1;
    for (int d = 0; d < n->rank; d++) {
        int64_t units = shard_units(s, n, d), even = units % parts ? 0 : INT32_MAX;
        if (s->node[n->id].spec[d] || units < parts || units + even <= most) continue;
        most = units + even;
        best = d;
    }
    return best;
}

/* A state that follows another, as an optimizer's does, has its place already. */
static void seed_storage(Sharding *s)
{
    for (int i = 0; i < s->g->inputs.n; i++) {
        const Node *n = s->g->inputs.at[i].node;
        const ShardNode *v = &s->node[n->id];
        bool placed = !ir_is_float(n) || v->fixed || s->g->inputs.at[i].kind != INPUT_STATE;
        for (int d = 0; d < n->rank && !placed; d++)
            placed = comm_axes_set(v->spec[d]) & comm_axes_set(s->plan->storage);
        int d = placed ? -1 : storage_dim(s, n);
        if (d >= 0) put(s, n, d, s->plan->storage);
    }
}

int shard_spread(Sharding *s)
{
    for (int i = 0, words; i < s->g->inputs.n; i++) {
        const int64_t *word = ir_side_get(s->g->inputs.at[i].node, SIDE_asked, &words);
        const char *place = s->place[i] || !word ? s->place[i] : ir_attr_text(*word);
        s->placed = s->placed || (place && strcmp(place, SHARD_WHOLE));
    }
    seed_samples(s);
    settle(s);
    int code = seed_placed(s);
    if (code < 0) return code;
    settle(s);
    if (!s->plan->storage) return SGL_OK;
    seed_storage(s);
    settle(s);
    return SGL_OK;
}

CommSpread shard_stored(const Sharding *s, int i)
{
    const GraphInput *in = &s->g->inputs.at[i];
    CommSpread how = {.mesh = s->plan->mesh, .rank = in->node->rank};
    bool cut = false;
    for (int d = 0; d < in->node->rank; d++) {
        how.axes[d] = s->node[in->node->id].spec[d];
        how.cut[d] = (CommCut){in->node->dims[d], shard_units(s, in->node, d), s->plan->blocks};
        cut = cut || how.axes[d];
    }
    if (!cut || !(s->plan->storage || s->placed) || in->kind != INPUT_STATE) how.rank = 0;
    return how;
}
