/* part.c: an op of the whole as an op on a rank's parts.
 *
 * Most ops are the same over the parts of their inputs. Those whose attributes name sizes get the
 * sizes of the parts, those that know places theirs, and a reduction in blocks has the blocks that
 * lie on the rank.
 * Holds: a block is as long on the rank as on the whole; where blocks differ, shorter ones are
 *        filled up to the longest with what adds nothing, which is what a block of the whole is
 *        too (ir/blocks.h).
 */
#include <math.h>
#include <string.h>
#include "ir/attr.h"
#include "ir/dot.h"
#include "shard/lower.h"

/* What a share adds nothing by: -0, 1, or the least or the largest value. */
static double neutral(FactorKind kind, Dtype dtype)
{
    static const struct {
        double least, largest;
    } RANGE[DT_COUNT] = {
        [DT_bool] = {0, 1},
        [DT_u8] = {0, UINT8_MAX},
        [DT_i32] = {INT32_MIN, INT32_MAX},
        [DT_i64] = {(double)INT64_MIN, (double)INT64_MAX},
    };
    bool real = DTYPES[dtype].class == CLASS_FLOAT;
    if (kind == FACTOR_prod) return 1;
    if (kind == FACTOR_max) return real ? -INFINITY : RANGE[dtype].least;
    if (kind == FACTOR_min) return real ? INFINITY : RANGE[dtype].largest;
    return real ? -0.0 : 0;
}

/* n once more with other words from `at` on, in place of those of one list. */
static Node *with_list(Lower *l, const Node *n, Node **in, int at, int count, const int64_t *list)
{
    AttrBuf b = {.n = at};
    int behind = at + 1 + (int)n->attr[at];
    if (at) memcpy(b.word, n->attr, (size_t)at * sizeof *b.word);
    ir_attr_put_list(&b, count, list);
    for (int i = behind; i < n->nattr; i++) ir_attr_put(&b, n->attr[i]);
    return ir_attr_node(l->to, (Op)n->op, n->nin, in, &b);
}

/* const, reshape, broadcast: they name the dims of the result. */
static Node *sized(Lower *l, const Node *n, Node **in, const Axes *spec)
{
    Dim dims[OP_MAX_RANK];
    shard_dims(l, n, spec, dims);
    return with_list(l, n, in, ir_attr_place(n, "dims"), n->rank, dims);
}

static Node *iota(Lower *l, const Node *n, Node **in, const Axes *spec)
{
    Dim dims[OP_MAX_RANK];
    int axis = (int)n->attr[0], at = ir_attr_place(n, "start");
    int64_t start = shard_start(l, n, axis, spec[axis]);
    (void)in;
    if (n->attr[at]) start += n->attr[at + 1];
    shard_dims(l, n, spec, dims);
    return ir_iota_from(l->to, (Dtype)n->dtype, n->rank, dims, axis, start);
}

/* Numbers by the place in the whole. One that is a part already is never cut (spread.c cuts dims
 * of whole ones alone), so it has no start of its own. */
static Node *rand_part(Lower *l, const Node *n, Node **in, const Axes *spec)
{
    Dim dims[OP_MAX_RANK], start[OP_MAX_RANK];
    bool cut = false;
    shard_dims(l, n, spec, dims);
    for (int d = 0; d < n->rank; d++) {
        start[d] = shard_start(l, n, d, spec[d]);
        cut = cut || spec[d];
    }
    if (!cut) return ir_node_over(l->to, n, in);
    return ir_rand_part(in[0], n->rank, dims, (int)n->attr[0], (int)n->attr[1], n->dims, start);
}

/* Dims that are cut stay whole in a slice. */
static Node *slice(Lower *l, const Node *n, Node **in, const Axes *spec)
{
    (void)l;
    Dim start[OP_MAX_RANK], stop[OP_MAX_RANK];
    int64_t step[OP_MAX_RANK];
    int count;
    for (int d = 0; d < n->rank; d++) {
        start[d] = ir_attr_list(n, 0, &count)[d];
        stop[d] = spec[d] ? in[0]->dims[d] : ir_attr_list(n, 1, &count)[d];
        step[d] = ir_attr_list(n, 2, &count)[d];
    }
    return ir_slice(in[0], start, stop, step);
}

/* ---- reductions */

Dtype shard_share_dtype(const Node *n)
{
    bool half = n->dtype == DT_f16 || n->dtype == DT_bf16;
    return half && ir_attr_place(n, "blocks") >= 0 && ir_blocks(n).n > 1 ? DT_f32 : (Dtype)n->dtype;
}

/* A rank that shares the index of a scatter adds to nothing; the table comes behind the sum. */
bool shard_prepare(Lower *l, const Node *n, Node **in, const Axes *spec)
{
    Dtype work = shard_share_dtype(n);
    Dim dims[OP_MAX_RANK];
    shard_dims(l, n, spec, dims);
    if (n->op == OP_scatter_add)
        in[0] = ir_const(l->to, work, n->rank, dims, neutral(FACTOR_sum, work));
    for (int i = 0; i < n->nin; i++) {
        if (!in[i]) return false;
        if (work != n->dtype && ir_is_float(in[i])) in[i] = ir_cast(in[i], work);
    }
    return true;
}

void shard_own_blocks(const Lower *l, const Node *n, int *lo, int *hi)
{
    Axes axes = l->s->node[n->id].fact[shard_reduced(l->s, n)];
    int parts = comm_mesh_parts(&l->s->plan->mesh, axes);
    int part = comm_mesh_part(&l->s->plan->mesh, axes, l->s->plan->rank);
    int blocks = (int)ir_blocks(n).n;
    *lo = part * blocks / parts;
    *hi = (part + 1) * blocks / parts;
}

/* Elements [from, to) of dim d, with `fill` behind up to a length. */
static Node *filled(Node *x, int d, int64_t from, int64_t to, int64_t length, double fill)
{
    Dim start[OP_MAX_RANK] = {0}, stop[OP_MAX_RANK], none[OP_MAX_RANK] = {0};
    Dim behind[OP_MAX_RANK] = {0};
    if (!x) return NULL;
    memcpy(stop, x->dims, x->rank * sizeof *stop);
    start[d] = from;
    stop[d] = to;
    behind[d] = length - (to - from);
    return ir_pad(ir_slice(x, start, stop, NULL), none, behind, fill);
}

/* Blocks [lo, hi) of dim d, of `size` elements on the whole, each as long as the longest. x begins
 * with block `at`. */
static Node *level(Node *x, int d, Blocks whole, int64_t size, int at, int lo, int hi, double fill)
{
    Node *block[IR_BLOCKS_MAX];
    int64_t longest = ir_block_longest(whole, size), first = ir_block_start(whole, size, at);
    for (int b = lo; b < hi; b++) {
        int64_t from = ir_block_start(whole, size, b) - first;
        int64_t to = ir_block_start(whole, size, b + 1) - first;
        block[b - lo] = filled(x, d, from, to, longest, fill);
        if (!block[b - lo]) return NULL;
    }
    return ir_concat(hi - lo, block, d);
}

/* The sum over a dim that has one element behind it on the rank keeps the order of columns, if the
 * whole has that. */
static Node *in_order(const Lower *l, const Node *n, Node *made, int d)
{
    const Node *x = n->in[0];
    int at = ir_attr_place(n, "columns");
    int64_t whole = 1, here = 1;
    if (at < 0 || !made || n->attr[at]) return made;
    for (int i = d + 1; i < x->rank; i++) {
        whole *= x->dims[i];
        here *= made->in[0]->dims[i];
    }
    if (whole == 1 || here != 1) return made;
    AttrBuf b = {.n = made->nattr};
    memcpy(b.word, made->attr, made->nattr * sizeof *b.word);
    b.word[at] = 1;
    return ir_attr_node(l->to, (Op)made->op, 1, made->in, &b);
}

/* What the operands of a reduction are filled up with, by input. */
static double fill_of(const Node *n, int input)
{
    if (n->op == OP_prod) return 1;
    if (n->op == OP_dot) return input == 0 ? -0.0 : 0.0; /* their product adds nothing */
    return n->op == OP_scatter_add && input == 1 ? 0 : -0.0;
}

/* Blocks [lo, hi) of a reduction whose blocks ranks share, out of this rank's parts. */
static Node *reduce_blocks(Lower *l, const Node *n, Node *const *in, int lo, int hi)
{
    const ShardNode *v = &l->s->node[n->id];
    const Blocks whole = ir_blocks(n);
    int own, end, input, dim, k = shard_reduced(l->s, n);
    Node *part[3]; /* what has blocks has no more inputs */
    shard_own_blocks(l, n, &own, &end);
    shard_factor_end(l->s, n, k, &input, &dim);
    int64_t size = n->in[input]->dims[dim];
    bool as_they_are = whole.units % whole.n == 0 && lo == own && hi == end;
    for (int i = 0; i < n->nin; i++) {
        part[i] = in[i];
        for (int d = 0; d < n->in[i]->rank && !as_they_are; d++)
            if (v->in[i][d] == k)
                part[i] = level(in[i], d, whole, size, own, lo, hi, fill_of(n, i));
        if (!part[i]) return NULL;
    }
    AttrBuf b = {.n = n->nattr};
    int at = ir_attr_place(n, "blocks");
    memcpy(b.word, n->attr, n->nattr * sizeof *b.word);
    b.word[at] = b.word[at + 1] = hi - lo;
    return ir_attr_node(l->to, (Op)n->op, n->nin, part, &b);
}

/* The sum over one dim keeps the order of columns. */
static Node *keep_order(const Lower *l, const Node *n, Node *made)
{
    int input, dim, k = shard_reduced(l->s, n);
    if (k < 0 || ir_attr_place(n, "columns") < 0) return made;
    shard_factor_end(l->s, n, k, &input, &dim);
    return in_order(l, n, made, dim);
}

Node *shard_block(Lower *l, const Node *n, Node *const *in, int block)
{
    return keep_order(l, n, reduce_blocks(l, n, in, block, block + 1));
}

static Node *own_share(Lower *l, const Node *n, Node *const *in)
{
    int lo, hi;
    shard_own_blocks(l, n, &lo, &hi);
    return reduce_blocks(l, n, in, lo, hi);
}

/* How many elements this rank reduces into one. */
static int64_t reduced_here(const Lower *l, const Node *n, Node *const *in)
{
    const ShardNode *v = &l->s->node[n->id];
    int64_t count = 1;
    for (int k = 0; k < v->f.n; k++) {
        int input, dim;
        if (v->f.kind[k] < FACTOR_sum || v->f.kind[k] > FACTOR_min) continue;
        shard_factor_end(l->s, n, k, &input, &dim);
        if (input >= 0) count *= in[input]->dims[dim];
    }
    return count;
}

/* A rank without any element to reduce gives what adds nothing. */
static Node *reduce(Lower *l, const Node *n, Node **in, const Axes *spec)
{
    const ShardNode *v = &l->s->node[n->id];
    Dim dims[OP_MAX_RANK];
    int k = shard_reduced(l->s, n);
    bool shared = shard_partial(l, n) != 0;
    Dtype work = shard_share_dtype(n);
    if (shared && reduced_here(l, n, in) == 0) {
        shard_dims(l, n, spec, dims);
        double none = neutral((FactorKind)v->f.kind[k], work);
        return ir_const(l->to, work, n->rank, dims, none);
    }
    bool blocks = shared && ir_attr_place(n, "blocks") >= 0 && ir_blocks(n).n > 1;
    return keep_order(l, n, blocks ? own_share(l, n, in) : ir_node_over(l->to, n, in));
}

typedef Node *(*PartFn)(Lower *l, const Node *n, Node **in, const Axes *spec);
static const PartFn BY_OP[OP_COUNT] = {
    [OP_const] = sized,       [OP_reshape] = sized,  [OP_broadcast] = sized,
    [OP_iota] = iota,         [OP_rand] = rand_part, [OP_slice] = slice,
    [OP_sum] = reduce,        [OP_prod] = reduce,    [OP_reduce_max] = reduce,
    [OP_reduce_min] = reduce, [OP_dot] = reduce,     [OP_scatter_add] = reduce,
};

Node *shard_part(Lower *l, const Node *n, Node **in, const Axes *spec)
{
    PartFn part = BY_OP[n->op];
    return part ? part(l, n, in, spec) : ir_node_over(l->to, n, in);
}
