/* step.c: a step for the ranks of a job: blocks, then the part of one rank.
 */
#include <string.h>
#include "ir/rebuild.h"
#include "ir/text.h"
#include "shard/classes.h"

enum { STEP_BITS = 40 };

/* What all ranks must have in common, as a number. */
static int64_t step_number(const Graph *g, const ShardPlan *p, const char *const *place)
{
    uint64_t words[] = {ir_graph_hash(g), (uint64_t)p->blocks, p->all,
                        p->samples,       p->storage,          p->reshard};
    uint64_t h = base_hash(base_hash(0, words, sizeof words), p->mesh.size, sizeof p->mesh.size);
    for (int i = 0; i < g->inputs.n; i++)
        if (place[i]) h = base_hash(h + (uint64_t)i, place[i], strlen(place[i]));
    return (int64_t)(h >> (64 - STEP_BITS));
}

Graph *shard_step(const Graph *g, const ShardPlan *asked, const char *const *place,
                  CommSpread *lies)
{
    Graph *whole, *made = NULL;
    ShardPlan with_step = *asked;
    for (int i = 0; i < g->inputs.n; i++) lies[i].rank = 0;
    const ShardPlan *plan = &with_step;
    with_step.step = step_number(g, plan, place);
    whole = plan->blocks ? shard_blocks(g, plan->blocks, plan->all)
                         : ir_rebuild_live(g, NULL, ORIGIN_SAME, NULL);
    if (!whole || comm_mesh_ranks(&plan->mesh) == 1) return whole;
    Sharding s = {.plan = plan, .place = place};
    int code = shard_classes(&s, whole);
    if (code >= 0) code = shard_spread(&s);
    for (int i = 0; i < g->inputs.n && code >= 0; i++) lies[i] = shard_stored(&s, i);
    if (code >= 0) made = shard_lower(&s);
    shard_classes_free(&s);
    ir_graph_free(whole);
    return made;
}
