/* together.c: the graphs of all ranks, run side by side by the reference interpreter: what a step
 * means when ranks share it, without any ranks.
 *
 * In:    a step, a plan, an array for each input of the whole.
 * Out:   the outputs, then the assigned values, as the script sees them: whole.
 * Holds: ranks go on in turn from one collective to the next, which all of them come to; what they
 *        get is combined in double as the transports do (comm.h), so in exact mode, in REF_EXACT,
 *        every value has the bits of the graph on one rank. An output that two ranks do not have
 *        alike is an error.
 */
#include <string.h>
#include "ir/ref.h"
#include "ir/text.h"
#include "shard/collective.h"
#include "shard/shard.h"

typedef struct Rank {
    Graph *g;
    CommSpread *lies;
    RefArray *in;
    Node **roots;
    Evaluation *e;
    const Node *stop;   /* the collective that it is at */
    const RefArray *at; /* and what goes in */
} Rank;

typedef struct Together {
    const Graph *g; /* the whole */
    const ShardPlan *plan;
    const char *const *place;
    const RefArray *in;
    int n, nroots;
    Rank *rank;
} Together;

static int no_memory(const Together *t) { return base_no_memory(t->g->cx, "the ranks of a step"); }

/* ---- parts */

/* What rank `number` has of input i. */
static int copy_in(const Together *t, const Rank *r, int number, int i)
{
    const CommSpread *how = &r->lies[i];
    int64_t dims[OP_MAX_RANK];
    memcpy(dims, t->in[i].dims, sizeof dims);
    for (int d = 0; d < how->rank; d++) {
        int64_t from, to;
        comm_spread_range(how, number, d, &from, &to);
        dims[d] = to - from;
    }
    if (ir_ref_alloc(&r->in[i], t->in[i].dtype, t->in[i].rank, dims) < 0) return no_memory(t);
    if (how->rank) comm_spread_cut(how, number, sizeof(double), t->in[i].at, r->in[i].at);
    else memcpy(r->in[i].at, t->in[i].at, (size_t)t->in[i].count * sizeof(double));
    return SGL_OK;
}

/* The value of root k: the outputs', then the assigns'. */
static Node *root(const Graph *g, int k)
{
    int n = g->outputs.n;
    return k < n ? g->outputs.at[k].node : g->assigns.at[k - n].value;
}

/* How root k lies: an assigned value as its state does. */
static CommSpread how_lies(const Together *t, const Rank *r, int k)
{
    CommSpread whole = {0};
    int n = t->g->outputs.n;
    return k < n ? whole : r->lies[t->g->assigns.at[k - n].input];
}

/* A part of rank `number` to its place in the whole, or, where the whole is there already, does it
 * fit? */
static bool put_part(const CommSpread *how, int number, const RefArray *part, RefArray *whole,
                     bool first)
{
    int64_t from[OP_MAX_RANK] = {0}, to;
    bool same = true;
    Walk w = ir_walk_over(part);
    ir_row_steps(whole->rank, whole->dims, w.step);
    for (int d = 0; d < how->rank; d++) {
        comm_spread_range(how, number, d, &from[d], &to);
        w.offset += from[d] * w.step[d];
    }
    for (int64_t i = 0; i < part->count; i++, ir_walk_next(&w)) {
        if (first || how->rank) whole->at[w.offset] = part->at[i];
        else same = same && !memcmp(&whole->at[w.offset], &part->at[i], sizeof(double));
    }
    return same;
}

/* ---- collectives */

static double combine_two(CommKind kind, Dtype dtype, double x, double y)
{
    if (kind == COMM_sum) return ir_ref_add(dtype, x, y);
    if (kind == COMM_prod) return ir_ref_mul(dtype, x, y);
    if (kind == COMM_max) return y > x || y != y ? y : x;
    return y < x || y != y ? y : x;
}

/* Element i of members [lo, hi), by the tree of comm.h. */
static double combine(const Together *t, const Collective *k, int lo, int hi, int64_t i)
{
    if (hi - lo == 1) return t->rank[k->group.rank[lo]].at->at[i];
    int middle = (lo + hi) / 2;
    return combine_two(k->kind, (Dtype)k->n->dtype, combine(t, k, lo, middle, i),
                       combine(t, k, middle, hi, i));
}

static void reduce(const Together *t, const Collective *k, RefArray *out)
{
    for (int64_t i = 0; i < out->count; i++) out->at[i] = combine(t, k, 0, k->group.n, i);
}

/* The member's rows of the dim, of all: whole[outer, Σ length, inner]. */
static void gather(const Together *t, const Collective *k, RefArray *out)
{
    CommParts p = shard_collective_parts(k, k->n, 1);
    int64_t all = comm_parts_total(&p, k->group.n) * p.inner, before = 0;
    for (int m = 0; m < k->group.n; m++) {
        const double *from = t->rank[k->group.rank[m]].at->at;
        int64_t row = p.length[m] * p.inner;
        for (int64_t o = 0; o < p.outer; o++)
            memcpy(out->at + o * all + before, from + o * row, (size_t)row * sizeof *from);
        before += row;
    }
}

static void scatter(const Together *t, const Collective *k, RefArray *out)
{
    CommParts p = shard_collective_parts(k, k->n, 1);
    int64_t all = comm_parts_total(&p, k->group.n) * p.inner, before = 0;
    for (int m = 0; m < k->group.me; m++) before += p.length[m] * p.inner;
    int64_t row = p.length[k->group.me] * p.inner;
    for (int64_t i = 0; i < out->count; i++)
        out->at[i] = combine(t, k, 0, k->group.n, i / row * all + before + i % row);
}

/* Part `me` of what each member has. */
static void exchange(const Together *t, const Collective *k, RefArray *out)
{
    int64_t part = out->count / k->group.n;
    for (int m = 0; m < k->group.n; m++)
        memcpy(out->at + m * part, t->rank[k->group.rank[m]].at->at + k->group.me * part,
               (size_t)part * sizeof *out->at);
}

static void copy(const Together *t, const Collective *k, RefArray *out)
{
    const RefArray *from = t->rank[k->group.rank[k->n->attr[0]]].at;
    memcpy(out->at, from->at, (size_t)out->count * sizeof *out->at);
}

static void (*const RUN[OP_COUNT])(const Together *, const Collective *, RefArray *) = {
    [OP_all_reduce] = reduce,   [OP_all_gather] = gather, [OP_reduce_scatter] = scatter,
    [OP_all_to_all] = exchange, [OP_copy_from] = copy,
};

/* Are two ranks of a group at the same collective? Their parts of its dim may differ. */
static bool is_same(const Collective *k, const Node *b)
{
    const Node *a = k->n;
    bool same = b && a->op == b->op && a->dtype == b->dtype && a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++) same = d == k->dim || a->dims[d] == b->dims[d];
    return same;
}

static int disagree(const Together *t, int a, int b)
{
    const Node *x = t->rank[a].stop, *y = t->rank[b].stop;
    Str one = {0}, other = {0};
    if (x) ir_type_text(x, &one);
    if (y) ir_type_text(y, &other);
    base_fail(t->g->cx, SGL_EINTERN, "rank %d is at %s %s, rank %d at %s %s", a,
              x ? ir_op(x)->name : "the end", one.at ? one.at : "", b,
              y ? ir_op(y)->name : "the end", other.at ? other.at : "");
    base_str_free(&one);
    base_str_free(&other);
    return SGL_EINTERN;
}

/* All ranks stand at a collective: each gets its result; inputs are freed as they go on. */
static int meet(Together *t)
{
    int code = SGL_OK;
    for (int r = 0; r < t->n && code >= 0; r++) {
        const Node *n = t->rank[r].stop;
        if (!n) return disagree(t, 0, r);
        Collective k = shard_collective(n, r);
        for (int m = 0; m < k.group.n; m++)
            if (!is_same(&k, t->rank[k.group.rank[m]].stop)) return disagree(t, r, k.group.rank[m]);
        RefArray *out = ir_eval_give(t->rank[r].e, n);
        if (out) RUN[n->op](t, &k, out);
        else code = SGL_ENOMEM;
    }
    return code;
}

/* ---- the ranks */

/* The graph of one rank, its inputs, and its evaluation. */
static int begin(Together *t, int number)
{
    Rank *r = &t->rank[number];
    ShardPlan plan = *t->plan;
    size_t inputs = (size_t)t->g->inputs.n + 1;
    plan.rank = number;
    r->lies = base_mem_zero(inputs, sizeof *r->lies);
    r->in = base_mem_zero(inputs, sizeof *r->in);
    r->roots = base_mem_zero((size_t)t->nroots + 1, sizeof *r->roots);
    if (!r->lies || !r->in || !r->roots) return no_memory(t);
    r->g = shard_step(t->g, &plan, t->place, r->lies);
    if (!r->g) return t->g->cx->err.code;
    for (int i = 0; i < t->g->inputs.n; i++)
        if (copy_in(t, r, number, i) < 0) return SGL_ENOMEM;
    for (int k = 0; k < t->nroots; k++) r->roots[k] = root(r->g, k);
    r->e = ir_eval_begin(r->g, REF_EXACT, r->in, t->nroots, r->roots);
    return r->e ? SGL_OK : t->g->cx->err.code;
}

static void end(Together *t)
{
    for (int number = 0; t->rank && number < t->n; number++) {
        Rank *r = &t->rank[number];
        ir_eval_end(r->e);
        for (int i = 0; r->in && i < t->g->inputs.n; i++) ir_ref_free(&r->in[i]);
        base_mem_free(r->in);
        base_mem_free(r->lies);
        base_mem_free(r->roots);
        if (r->g) ir_graph_free(r->g);
    }
    base_mem_free(t->rank);
}

/* From collective to collective, until all are at their end. */
static int run(Together *t)
{
    for (int code = SGL_OK;;) {
        for (int r = 0; r < t->n && code >= 0; r++)
            code = ir_eval_go(t->rank[r].e, true, &t->rank[r].stop, &t->rank[r].at);
        if (code < 0) return code;
        for (int r = 1; r < t->n && !t->rank[0].stop; r++)
            if (t->rank[r].stop) return disagree(t, 0, r);
        if (!t->rank[0].stop) return SGL_OK;
        code = meet(t);
        if (code < 0) return code;
    }
}

/* Root k, whole, out of what all ranks have of it. */
static int put_whole(Together *t, int k, RefArray *out)
{
    const Node *whole = root(t->g, k);
    int code = ir_ref_alloc(out, (Dtype)whole->dtype, whole->rank, whole->dims);
    if (code < 0) return no_memory(t);
    for (int number = 0; number < t->n && code >= 0; number++) {
        RefArray *part = base_mem_zero((size_t)t->nroots + 1, sizeof *part);
        CommSpread how = how_lies(t, &t->rank[number], k);
        code = part ? ir_eval_take(t->rank[number].e, part) : no_memory(t);
        if (code >= 0 && !put_part(&how, number, &part[k], out, number == 0))
            code = base_fail(t->g->cx, SGL_EINTERN, "output %d: ranks 0 and %d have other values",
                             k + 1, number);
        for (int i = 0; part && i < t->nroots; i++) ir_ref_free(&part[i]);
        base_mem_free(part);
    }
    return code;
}

int shard_eval(const Graph *g, const ShardPlan *plan, const char *const *place, const RefArray *in,
               RefArray *out)
{
    Together t = {g,   plan, place, in, comm_mesh_ranks(&plan->mesh), g->outputs.n + g->assigns.n,
                  NULL};
    int code = SGL_OK;
    t.rank = base_mem_zero((size_t)t.n, sizeof *t.rank);
    if (!t.rank) code = no_memory(&t);
    for (int r = 0; r < t.n && code >= 0; r++) code = begin(&t, r);
    if (code >= 0) code = run(&t);
    for (int k = 0; k < t.nroots && code >= 0; k++) code = put_whole(&t, k, &out[k]);
    end(&t);
    for (int k = 0; k < t.nroots && code < 0; k++) ir_ref_free(&out[k]);
    return code;
}
