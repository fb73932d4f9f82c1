/* fuse_cost.c: when computing a value again is cheaper than keeping it.
 *
 * In:   nodes with their reads.
 * Out:  a cost for each node and the decision of the cost model, pass_fuse_recompute.
 * The unit is one vectorised operation on data in cache. What an elementwise op costs is counted
 * from the micro-ops of its value (ir/expr.h): a new op needs no entry here.
 */
#include "ir/expr.h"
#include "pass/fuse.h"

/* Measured on row kernels that do not fit a cache; memory is shared by all threads. */
enum {
    COST_LOAD = 2,
    COST_STORE = 3,
    COST_OP = 1,
    COST_RAND = 20,
    COST_KEPT = 8,
    COST_KERNEL = 2000,
    COST_MAX = 10000
};

static int own_cost(const Node *n)
{
    Family family = ir_op(n)->family;
    if (ir_family_elementwise(family))
        return ir_expr_cost((Op)n->op, (Dtype)n->in[n->nin - 1]->dtype);
    if (n->op == OP_rand) return COST_RAND;
    return family == FAM_cast ? COST_OP : 0;
}

static bool is_buffer(const Node *n)
{
    Family family = ir_op(n)->family;
    return n->op == OP_input || n->op == OP_concat || n->op == OP_fold || family == FAM_reduce ||
           family == FAM_dot || family == FAM_index || family == FAM_control ||
           family == FAM_custom || family == FAM_result || family == FAM_effect ||
           family == FAM_comm;
}

/* Constants and loads are neutral; reductions too long for a tile, or over columns, are not. */
static void join_rows(FuseNode *to, Num row)
{
    if (row != 0) to->row = to->row == 0 || to->row == row ? row : ROW_MIXED;
}

static int64_t guessed_count(const Fuse *f, const Node *n)
{
    return pass_size_guess(f->sizes, pass_count(n));
}

/* What reading x costs its user. A costly value with several users will hardly be computed for
 * each, so to them it is a load. One smaller than its user stays in cache, and is at worst one
 * operation: were it more, it would be kept. */
static void cost_input(const Fuse *f, const Node *n, const Node *x, FuseNode *to)
{
    const FuseNode *in = &f->of[x->id];
    bool kept = in->users > 1 && in->ops + in->loads > COST_KEPT;
    if (guessed_count(f, x) < guessed_count(f, n)) {
        to->ops += in->ops > 0 ? COST_OP : 0;
        return;
    }
    join_rows(to, in->row);
    to->ops += kept ? 0 : in->ops;
    to->loads += kept ? COST_LOAD : in->loads;
}

/* What computing an element of n anew costs, down to the nearest buffers; capped, so that it
 * stays a cost of one element. */
static void cost_node(const Fuse *f, const Node *n)
{
    FuseNode *to = &f->of[n->id];
    if (ir_op(n)->family == FAM_reduce)
        to->row = pass_fuse_is_row(f->sizes, n) ? pass_reduce_length(n) : ROW_MIXED;
    if (is_buffer(n)) {
        to->loads = COST_LOAD;
        return;
    }
    to->ops = own_cost(n);
    for (int i = 0; i < n->nin && n->op != OP_rand; i++)
        if (i == 0 || n->in[i] != n->in[i - 1]) cost_input(f, n, n->in[i], to);
    if (to->ops > COST_MAX) to->ops = COST_MAX;
    if (to->loads > COST_MAX) to->loads = COST_MAX;
}

void pass_fuse_costs(Fuse *f)
{
    for (int i = 0; i < f->graph->nodes.n; i++) {
        const Node *n = f->graph->nodes.at[i];
        for (int k = 0; k < n->nin; k++)
            f->of[n->in[k]->id].users += k == 0 || n->in[k] != n->in[k - 1];
    }
    for (int i = 0; i < f->graph->nodes.n; i++) cost_node(f, f->graph->nodes.at[i]);
}

/* How often the value is computed for this read. Row kernels compute what does not change along
 * the row once a row. */
static double evaluations(const Fuse *f, const Read *r)
{
    const FuseGroup *g = &f->groups.at[pass_fuse_group(f, r->group)];
    const LoopNest *s = &g->maps.space;
    double kept = (double)pass_size_guess(f->sizes, pass_index_count(s, false));
    double row = (double)pass_size_guess(f->sizes, pass_index_count(s, true));
    bool each = g->mode == LOOP_MAP || pass_index_on_reduced(s, r->at) ||
                (g->mode == LOOP_COL && (r->stage & STAGE_EACH));
    return each ? kept * row : kept;
}

static bool is_hosted(const Fuse *f, const Node *n, const Read *r)
{
    return pass_index_covers(&f->groups.at[pass_fuse_group(f, r->group)].maps.space, n, r->at);
}

bool pass_fuse_recompute(const Fuse *f, const Node *n)
{
    const FuseNode *of = &f->of[n->id];
    double count = (double)guessed_count(f, n), times = 0, each = of->ops + of->loads;
    double load = COST_LOAD * (double)DTYPES[n->dtype].bytes / 4;
    double store = COST_STORE * (double)DTYPES[n->dtype].bytes / 4;
    bool repeats = true, hosted = false;
    for (const Read *r = of->reads; r != NULL; r = r->next) {
        double here = evaluations(f, r);
        repeats = repeats && here > count;
        hosted = hosted || is_hosted(f, n, r);
        times += here;
    }
    if (repeats) /* small values are read from cache */
        load = COST_OP;
    double loaded = hosted ? times - count : times; /* the host has it in a register */
    double kernel = hosted ? 0 : COST_KERNEL;
    return times * each <= count * (each + store) + loaded * load + kernel;
}
