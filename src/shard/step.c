/* step.c: a step for the ranks of a job: blocks, then the part of one rank.
 */
#include "comm/comm.h"
#include "ir/rebuild.h"
#include "ir/text.h"
#include "shard/classes.h"

bool shard_plan_of(const Ctx *cx, ShardPlan *out)
{
    const Comm *job = comm_of(cx);
    *out = (ShardPlan){.mesh = {.n = 1, .size = {job ? job->size : 1}, .name = {"data"}},
                       .rank = job ? job->rank : 0,
                       .blocks = (int)cx->knobs.value[KNOB_exact],
                       .all = cx->knobs.value[KNOB_exact_over] == 1};
    return out->blocks > 0 || (job && job->size > 1);
}

static bool is_power(int n) { return n > 0 && (n & (n - 1)) == 0; }

/* The ranks' shares must be whole subtrees of the blocks. */
static int check_plan(Ctx *cx, const ShardPlan *p)
{
    int ranks = comm_mesh_ranks(&p->mesh);
    if (!p->blocks || ranks == 1) return SGL_OK;
    if (is_power(ranks) && is_power(p->blocks) && ranks <= p->blocks) return SGL_OK;
    base_fail(cx, SGL_EARG, "exact: %d blocks cannot be shared by %d ranks", p->blocks, ranks);
    base_err_hint(&cx->err, "both must be powers of 2, and no more ranks than blocks");
    return SGL_EARG;
}

enum { STEP_BITS = 40 };

/* What all ranks must have in common, as a number. */
static int64_t step_number(const Graph *g, const ShardPlan *p)
{
    uint64_t words[] = {ir_graph_hash(g), (uint64_t)p->blocks, p->all};
    uint64_t h = base_hash(base_hash(0, words, sizeof words), p->mesh.size, sizeof p->mesh.size);
    return (int64_t)(h >> (64 - STEP_BITS));
}

Graph *shard_step(const Graph *g, const ShardPlan *asked)
{
    Graph *whole, *made = NULL;
    ShardPlan with_step = *asked;
    const ShardPlan *plan = &with_step;
    if (check_plan(g->cx, plan) < 0) return NULL;
    with_step.step = step_number(g, plan);
    whole = plan->blocks ? shard_blocks(g, plan->blocks, plan->all)
                         : ir_rebuild_live(g, NULL, ORIGIN_SAME, NULL);
    if (!whole || comm_mesh_ranks(&plan->mesh) == 1) return whole;
    Sharding s = {.plan = plan};
    int code = shard_classes(&s, whole);
    if (code >= 0) code = shard_spread(&s);
    if (code >= 0) made = shard_lower(&s);
    shard_classes_free(&s);
    ir_graph_free(whole);
    return made;
}
