/* ranks.c: see ranks.h.
 */
#include "capture/ranks.h"
#include "capture/agree.h"
#include "comm/comm.h"
#include "ir/build.h"
#include "shard/shard.h"

/* Every change of one of these settings gives another number. */
static int64_t settings_age(const Ctx *cx)
{
    const int64_t *value = cx->knobs.value;
    return value[KNOB_exact] * 4 + value[KNOB_exact_over] * 2 + value[KNOB_reshard] +
           value[KNOB_plan] * 2048 + 1;
}

bool capture_part_holds(const Ctx *cx, const Part *p) { return p->age == settings_age(cx); }

bool capture_part_asked(Ctx *cx)
{
    ShardPlan plan;
    int asked = shard_plan_of(cx, &plan);
    if (asked < 0) base_err_clear(&cx->err); /* told where the part is made */
    return asked != 0;
}

void capture_part_free(Part *p)
{
    if (p->whole) ir_graph_free(p->whole);
    base_mem_free(p->lies);
    base_mem_free(p->taken);
    base_str_free(&p->schedule);
    *p = (Part){0};
}

Graph *capture_part_make(Part *p, Graph *g, const char *const *place)
{
    ShardPlan plan;
    int asked = shard_plan_of(g->cx, &plan);
    capture_part_free(p);
    p->age = settings_age(g->cx);
    if (!asked || ir_comm_last(g)) return g; /* one with collectives of its own is as written */
    p->whole = g;
    if (asked < 0) return NULL;
    p->lies = base_mem_zero((size_t)g->inputs.n + 1, sizeof *p->lies);
    p->taken = base_mem_zero((size_t)g->inputs.n + 1, sizeof(Storage *));
    if (p->lies && p->taken) {
        Graph *made = shard_step(g, &plan, place, p->lies);
        if (made) capture_agree_note(p, &plan, made);
        return made;
    }
    base_no_memory(g->cx, "a program");
    return NULL;
}

Storage *const *capture_part_take(Ctx *cx, Part *p, Storage **in)
{
    if (!p->whole) return in;
    int code = p->agreed ? SGL_OK : capture_agree(cx, p, in);
    p->agreed = p->agreed || code >= 0;
    for (int i = 0; i < p->whole->inputs.n && code >= 0; i++) {
        if (p->lies[i].rank) code = dev_storage_spread(in[i], comm_of(cx), &p->lies[i]);
        p->taken[i] = p->lies[i].rank ? dev_storage_part(in[i]) : in[i];
    }
    return code < 0 ? NULL : p->taken;
}

void capture_part_failed(Ctx *cx, const Part *p)
{
    Comm *c = comm_of(cx);
    if (p->whole && c && c->size > 1) c->transport->stop(c, cx->err.text);
}
