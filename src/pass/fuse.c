/* fuse.c: groups nodes into kernels.
 *
 * In:   a graph after `simplify`; its dims may be sizes that a run decides (size.h).
 * Out:  a schedule with groups (unordered); group_of. A group becomes one kernel (a concat: one
 *       for each input), one product, one index op, or no step at all (alias).
 * Holds: every node that others read from memory is in exactly one group's `outs`; no path leaves
 *        a group and comes back; no legal graph is refused.
 * The rules are the table FUSE_RULES, the cost model is fuse_cost.c. Nodes are placed from the
 * last to the first, see fuse.h.
 */
#include "ir/expr.h"
#include "ir/result.h"
#include "pass/fuse.h"

/* ---- ways to place a node ---- */

/* In a group of its own, from memory to memory, by a step that is no kernel. */
static int place_step(Fuse *f, Node *n, GroupKind kind)
{
    int group = pass_fuse_new(f, kind), rc = group < 0 ? group : 1;
    const Node *by = ir_result_of(n);
    if (rc == 1 && !vec_push(&f->groups.at[group].nodes, n)) rc = SGL_ENOMEM;
    for (int i = 0; i < by->nin && rc == 1; i++) {
        StridedView view = {.base = by->in[i]};
        if (kind == GROUP_DOT || kind == GROUP_INDEX)
            rc = pass_index_view(f->sizes, by->in[i], pass_view_form(n, i), &f->arena, &view);
        if (rc == 1) rc = pass_fuse_need(f, view.base, group);
    }
    return rc == 1 ? pass_fuse_store(f, n, group, NULL) : rc;
}

static int place_dot(Fuse *f, Node *n) { return place_step(f, n, GROUP_DOT); }

static int place_index(Fuse *f, Node *n) { return place_step(f, n, GROUP_INDEX); }

/* The results of a node are one step, whose inputs are the node's. */
static int place_call(Fuse *f, Node *n)
{
    const Node *by = ir_result_of(n);
    int nout = ir_has_results(by) ? ir_result_count(by) : 0;
    int group = -1, rc = 1;
    for (int k = 0; k < nout && group < 0; k++) {
        const Node *result = ir_result_find(by, k);
        if (result) group = f->of[result->id].group;
    }
    if (group < 0) return place_step(f, n, GROUP_CALL);
    rc = vec_push(&f->groups.at[group].nodes, n) ? 1 : SGL_ENOMEM;
    return rc == 1 ? pass_fuse_store(f, n, group, NULL) : rc;
}

/* The loops of a kernel rooted at n, its result in n's order. */
static int start_loops(Fuse *f, int group, const Node *n, IndexMap **at)
{
    FuseGroup *g = &f->groups.at[group];
    const Node *over = n;
    unsigned reduced = 0;
    if (g->kind == GROUP_REDUCE) {
        over = n->in[0];
        reduced = pass_reduce_axes(n);
        g->mode = pass_fuse_mode(f->sizes, n, &g->small);
        g->blocks = pass_fuse_blocks(n);
    }
    pass_index_add(&g->maps, over, ~reduced, false);
    pass_index_add(&g->maps, over, reduced, true);
    return pass_index_identity(&g->maps, n, 0, at);
}

static int concat_part(Fuse *f, Node *n, int concat, int part)
{
    int group = pass_fuse_new(f, GROUP_CONCAT);
    IndexMap *at = NULL;
    int rc = group < 0 ? group : start_loops(f, group, n->in[part], &at);
    if (rc != 1) return rc;
    FuseGroup *g = &f->groups.at[group];
    g->concat = concat;
    g->part = part;
    if (!vec_push(&g->roots, ((LoopRoot){n->in[part], at}))) return SGL_ENOMEM;
    return pass_fuse_read(f, n->in[part], group, at, STAGE_END);
}

static int place_concat(Fuse *f, Node *n)
{
    int group = pass_fuse_new(f, GROUP_CONCAT), rc = group < 0 ? group : 1;
    if (rc == 1 && !vec_push(&f->groups.at[group].nodes, n)) rc = SGL_ENOMEM;
    for (int i = 0; i < n->nin && rc == 1; i++)
        if (!pass_is_empty(f->sizes, n->in[i])) rc = concat_part(f, n, group, i);
    return rc == 1 ? pass_fuse_store(f, n, group, NULL) : rc;
}

static int place_everywhere(Fuse *f, Node *n)
{
    int rc = 1;
    for (Read *r = f->of[n->id].reads; r != NULL && rc == 1; r = r->next)
        rc = pass_fuse_compute(f, n, r, r->stage);
    return rc;
}

/* Its whole buffer is that of its input. */
static bool is_alias(const Node *n) { return n->op == OP_reshape || n->op == OP_barrier; }

/* Opens a group for n: a reduction, or a map that nothing before could take in. An empty one has
 * no loops and no steps. */
static int place_root(Fuse *f, Node *n, GroupKind kind)
{
    Read own = {.stage = STAGE_END};
    int rc = 1;
    if (is_alias(n)) return place_step(f, n, GROUP_ALIAS);
    own.group = pass_fuse_new(f, kind);
    if (own.group < 0) return own.group;
    if (pass_is_empty(f->sizes, n)) {
        rc = vec_push(&f->groups.at[own.group].nodes, n) ? 1 : SGL_ENOMEM;
        return rc == 1 ? pass_fuse_store(f, n, own.group, NULL) : rc;
    }
    rc = start_loops(f, own.group, n, &own.at);
    if (rc == 1 && ir_op(n)->family == FAM_movement && !pass_is_empty(f->sizes, n->in[0]))
        rc = pass_index_through(&f->groups.at[own.group].maps, n, own.at, &own.below);
    if (rc == 1) rc = pass_fuse_store(f, n, own.group, own.at);
    return rc == 1 ? pass_fuse_compute(f, n, &own, STAGE_END) : rc;
}

typedef int (*HostFn)(Fuse *f, Node *n, const Read *r);

/* The first reader that visits each element anyway and does not come after another reader. */
static int find_host(Fuse *f, Node *n, HostFn can_host, Read **host)
{
    int rc = 0;
    *host = NULL;
    if (f->off || f->of[n->id].nread > FUSE_MAX_READS) return 1;
    for (Read *r = f->of[n->id].reads; r != NULL && rc >= 0; r = r->next) {
        rc = r->at == NULL ? 0 : pass_fuse_convex(f, n, r);
        if (rc == 1) rc = can_host(f, n, r);
        if (rc == 1) {
            *host = r;
            return 1;
        }
    }
    return rc < 0 ? rc : 1;
}

static int place_in(Fuse *f, Node *n, Read *host)
{
    int rc = 1, group = pass_fuse_group(f, host->group);
    if (ir_op(n)->family == FAM_movement)
        rc = pass_index_through(&f->groups.at[group].maps, n, host->at, &host->below);
    if (rc != 1) return rc;
    rc = pass_fuse_store(f, n, group, host->at);
    return rc == 1 ? pass_fuse_compute(f, n, host, host->stage | STAGE_END) : rc;
}

/* Once, into a buffer: beside a reader if one is fit, else in a kernel of its own. */
static int place_once(Fuse *f, Node *n)
{
    Read *host;
    bool alias = is_alias(n);
    int rc = alias ? 1 : find_host(f, n, pass_fuse_host_value, &host);
    if (rc == 1 && !alias && host != NULL) {
        rc = place_in(f, n, host);
        if (rc != 0) return rc;
    }
    return rc < 0 ? rc : place_root(f, n, GROUP_MAP);
}

static int place_value(Fuse *f, Node *n, bool inlined)
{
    int rc = 0;
    if (inlined && !f->of[n->id].need) rc = pass_fuse_inlines(f, n);
    if (rc == 0) return place_once(f, n);
    return rc == 1 ? place_everywhere(f, n) : rc;
}

/* ---- the rules ---- */

static int place_input(Fuse *f, Node *n)
{
    (void)f, (void)n;
    return 1;
}

static int place_free(Fuse *f, Node *n)
{
    return place_value(f, n, f->of[n->id].nread <= FUSE_MAX_READS || n->nin == 0);
}

static int place_weighed(Fuse *f, Node *n)
{
    const FuseNode *of = &f->of[n->id];
    if (f->off || of->nread > FUSE_MAX_READS) return place_value(f, n, false);
    int rc = pass_fuse_make_rows(f, n);
    return rc == 1 ? place_value(f, n, !of->need && pass_fuse_recompute(f, n)) : rc;
}

static int place_reduction(Fuse *f, Node *n)
{
    FuseNode *of = &f->of[n->id];
    Read *host;
    if (pass_is_empty(f->sizes, n) || pass_is_empty(f->sizes, n->in[0])) return place_free(f, n);
    int rc = find_host(f, n, pass_fuse_host_reduce, &host);
    if (rc != 1) return rc;
    if (host == NULL) return place_root(f, n, GROUP_REDUCE);
    if (of->need || of->nread > 1) return place_in(f, n, host);
    return pass_fuse_compute(f, n, host, host->stage);
}

typedef struct FuseRule {
    const char *number;
    int op, family; /* -1: any */
    int (*place)(Fuse *f, Node *n);
    const char *why;
} FuseRule;

/* The first row that fits a node places it. */
static const FuseRule FUSE_RULES[] = {
    {"F1", OP_input, -1, place_input, "inputs lie in memory already"},
    {"F2", OP_concat, -1, place_concat,
     "each input is computed straight into its slice, so nothing is copied"},
    {"F3", OP_fold, -1, place_index, "adds overlapping windows: not one value a place"},
    {"F4", -1, FAM_index, place_index, "positions come from data"},
    {"F5", -1, FAM_dot, place_dot,
     "the product has its own loops; it reads strided views, so permutes cost nothing"},
    {"F11", -1, FAM_control, place_call, "runs blocks, which are programs of their own"},
    {"F12", -1, FAM_effect, place_call, "leaves the program"},
    {"F13", -1, FAM_custom, place_call, "is done by a function of its own, from memory to memory"},
    {"F14", -1, FAM_result, place_call, "comes with the other results of its node"},
    {"F15", -1, FAM_comm, place_call, "meets other ranks"},
    {"F6", -1, FAM_reduce, place_reduction,
     "joins the kernel of its reader when both walk the same rows, else starts one"},
    {"F7", -1, FAM_movement, place_free,
     "is an index map in the reader; only what no map can say is written out"},
    {"F8", OP_rand, -1, place_weighed, "costs more than memory, so it is drawn once"},
    {"F9", -1, FAM_leaf, place_free, "constants and positions are cheaper than any load"},
    {"F10", -1, -1, place_weighed,
     "elementwise: computed again where that is cheaper than a round trip through memory"},
};

static const FuseRule *rule_of(const Node *n)
{
    const FuseRule *r = FUSE_RULES;
    while ((r->op >= 0 && r->op != n->op) ||
           (r->family >= 0 && (Family)r->family != ir_op(n)->family))
        r++;
    return r;
}

static int place_all(Fuse *f)
{
    int rc = 1;
    for (int id = f->graph->nodes.n - 1; id >= 0 && rc == 1; id--) {
        Node *n = f->graph->nodes.at[id];
        if (!f->of[id].need && f->of[id].reads == NULL) continue;
        pass_fuse_unify_reads(f, n);
        if (!f->off && ir_op(n)->family != FAM_movement) rc = pass_fuse_merge_readers(f, n);
        if (rc == 1) rc = rule_of(n)->place(f, n);
    }
    return rc;
}

/* What the program gives is needed, and what ranks do together: a rank whose part is empty reads
 * nothing of it, and still takes part. */
static bool start(Fuse *f)
{
    const Graph *g = f->graph;
    f->of = base_arena_zero(&f->arena, (size_t)g->nodes.n + 1, sizeof *f->of);
    if (f->of == NULL) return false;
    for (int i = 0; i < g->nodes.n; i++) {
        f->of[i].group = -1;
        f->of[i].need = ir_op(g->nodes.at[i])->family == FAM_comm;
    }
    for (int i = 0; i < g->outputs.n; i++) f->of[g->outputs.at[i].node->id].need = true;
    for (int i = 0; i < g->assigns.n; i++) f->of[g->assigns.at[i].value->id].need = true;
    for (int i = 0; i < g->effects.n; i++) f->of[g->effects.at[i].last->id].need = true;
    pass_fuse_costs(f);
    return true;
}

static void finish(Fuse *f)
{
    for (int i = 0; i < f->groups.n; i++) {
        FuseGroup *g = &f->groups.at[i];
        pass_index_free(&g->maps);
        vec_free(&g->roots);
        vec_free(&g->nodes);
        vec_free(&g->outs);
        vec_free(&g->deps);
    }
    vec_free(&f->groups);
    vec_free(&f->stack);
    base_arena_free(&f->arena);
}

static int check_sizes(const PassState *st)
{
    const Node *n = st->sizes->values.n ? NULL : ir_graph_symbolic(st->graph);
    if (!n) return SGL_OK;
    return base_fail(st->cx, SGL_EUNSUP,
                     "%%%u (%s) has a dim that is not a number: bind the symbols before compiling",
                     n->id, ir_op(n)->name);
}

int pass_fuse(PassState *st)
{
    if (check_sizes(st) < 0) return st->cx->err.code;
    Fuse f = {.cx = st->cx,
              .graph = st->graph,
              .sizes = st->sizes,
              .off = st->cx->knobs.value[KNOB_fuse] == 0};
    Schedule *s = base_mem_zero(1, sizeof *s);
    int rc = s != NULL && start(&f) ? place_all(&f) : SGL_ENOMEM;
    if (rc == 1) rc = pass_fuse_emit(&f, s);
    if (rc == 1 && st->cx->err.code) rc = st->cx->err.code; /* a Num failed on the way */
    if (rc == 1) {
        s->graph = st->graph;
        s->sizes = st->sizes;
        st->sizes = NULL;
        st->schedule = s;
    } else {
        pass_schedule_free(s);
    }
    int nodes = f.graph->nodes.n;
    finish(&f);
    if (rc == 1) return ir_expr_error(st->cx); /* costs are counted from values */
    if (st->cx->err.code) return st->cx->err.code;
    return rc == SGL_ENOMEM ? base_fail(st->cx, rc, "fuse: no memory for %d nodes", nodes)
                            : base_fail(st->cx, SGL_EINTERN, "fuse: a node found no place");
}
