/* move.c: changes of placement: a slice where an axis comes, a collective where one goes.
 *
 * Holds: what two placements of a dim have in common from the outermost axis on stays. Slices that
 *        can come first do, so that less is gathered.
 */
#include <string.h>
#include "ir/attr.h"
#include "shard/lower.h"

static void put_mesh(const Lower *l, Axes axes, AttrBuf *b)
{
    const Mesh *m = &l->s->plan->mesh;
    int64_t list[MESH_AXES];
    for (int a = 0; a < m->n; a++) list[a] = m->size[a];
    ir_attr_put_list(b, m->n, list);
    for (int i = 0; i < comm_axes_count(axes); i++) list[i] = comm_axes_at(axes, i) + 1;
    ir_attr_put_list(b, comm_axes_count(axes), list);
    ir_attr_put(b, l->s->plan->step);
}

/* A collective on x, behind the one before. */
static Node *collective(Lower *l, Op op, Node *x, const AttrBuf *b)
{
    Node *in[] = {x, l->last};
    if (!x) return NULL;
    l->last = ir_attr_node(l->to, op, l->last ? 2 : 1, in, b);
    return l->last;
}

/* Dim d, which is cut over `axes`, is put together or cut so that `keep` of them stay. */
static void put_cut(const Lower *l, const Node *n, int d, Axes axes, int keep, Axes result,
                    AttrBuf *b)
{
    CommCut c = shard_cut(l, n, d);
    ir_attr_put(b, d);
    ir_attr_put(b, shard_length(l, n, d, result));
    ir_attr_put(b, c.size);
    ir_attr_put(b, c.units);
    ir_attr_put(b, c.blocks);
    ir_attr_put(b, keep);
    put_mesh(l, axes, b);
}

static int common(Axes a, Axes b)
{
    int n = 0;
    while ((a >> 4 * n & 15) && (a >> 4 * n & 15) == (b >> 4 * n & 15)) n++;
    return n;
}

static Node *gather_dim(Lower *l, const Node *n, Node *x, int d, Axes axes, int keep)
{
    AttrBuf b = {0};
    put_cut(l, n, d, axes, keep, comm_axes_first(axes, keep), &b);
    return collective(l, OP_all_gather, x, &b);
}

Node *shard_gather_blocks(Lower *l, Node *rows, Axes axes, int blocks)
{
    AttrBuf b = {0};
    ir_attr_put(&b, 0);
    for (int i = 0; i < 4; i++) ir_attr_put(&b, blocks); /* to, size, units, blocks */
    ir_attr_put(&b, 0);
    put_mesh(l, axes, &b);
    return collective(l, OP_all_gather, rows, &b);
}

/* This rank's part of dim d, which lies over `from`, as it lies over `to`. */
static Node *slice_dim(const Lower *l, const Node *n, Node *x, int d, Axes from, Axes to)
{
    Dim start[OP_MAX_RANK] = {0}, stop[OP_MAX_RANK];
    if (!x) return NULL;
    memcpy(stop, x->dims, x->rank * sizeof *stop);
    start[d] = shard_start(l, n, d, to) - shard_start(l, n, d, from);
    stop[d] = start[d] + shard_length(l, n, d, to);
    return ir_slice(x, start, stop, NULL);
}

/* All dims that only get axes which are on no dim yet. */
static Node *slice_dims(const Lower *l, const Node *n, Node *x, Axes *spec, const Axes *to)
{
    for (int d = 0; d < n->rank; d++) {
        unsigned used = 0;
        if (spec[d] == to[d] || !comm_axes_begin(to[d], spec[d])) continue;
        for (int e = 0; e < n->rank; e++)
            if (e != d) used |= comm_axes_set(spec[e]);
        if (used & comm_axes_set(to[d])) continue;
        x = slice_dim(l, n, x, d, spec[d], to[d]);
        spec[d] = to[d];
    }
    return x;
}

Node *shard_move(Lower *l, const Node *n, Node *at, const Axes *from, const Axes *to)
{
    Axes spec[OP_MAX_RANK];
    memcpy(spec, from, sizeof spec);
    at = slice_dims(l, n, at, spec, to);
    for (int d = 0; d < n->rank; d++) {
        int keep = common(spec[d], to[d]);
        if (keep == comm_axes_count(spec[d])) continue;
        at = gather_dim(l, n, at, d, spec[d], keep);
        spec[d] = comm_axes_first(spec[d], keep);
    }
    return slice_dims(l, n, at, spec, to);
}

/* Each rank gets its part, along dim d, of the sum over the axes that come there. */
static Node *scatter_dim(Lower *l, const Node *n, Node *share, FactorKind kind, int d, int keep,
                         Axes own)
{
    AttrBuf b = {0};
    ir_attr_put(&b, ir_attr_text_word(l->to->cx, ir_factor_name(kind)));
    put_cut(l, n, d, own, keep, own, &b);
    return collective(l, OP_reduce_scatter, share, &b);
}

/* Where the value itself is to lie over the innermost of the axes, these come first: what they
 * give are whole subtrees of the sum. */
Node *shard_resolve(Lower *l, const Node *n, Node *share, FactorKind kind, Axes axes, Axes *spec)
{
    const Axes *own = l->s->node[n->id].spec;
    for (int d = 0; d < n->rank; d++) {
        int keep = comm_axes_count(spec[d]), left;
        Axes more = own[d] >> 4 * keep;
        left = comm_axes_count(axes) - comm_axes_count(more);
        if (!more || !comm_axes_begin(own[d], spec[d]) || left < 0 || axes >> 4 * left != more)
            continue;
        spec[d] = own[d];
        share = scatter_dim(l, n, share, kind, d, keep, own[d]);
        axes = comm_axes_first(axes, left);
        break;
    }
    AttrBuf b = {0};
    if (!axes) return share;
    ir_attr_put(&b, ir_attr_text_word(l->to->cx, ir_factor_name(kind)));
    put_mesh(l, axes, &b);
    return collective(l, OP_all_reduce, share, &b);
}
