/* ranks.c: see ranks.h.
 *
 * Holds: inputs are compared by a hash of their bytes, of which the least and the largest over the
 *        ranks are the same.
 */
#include "capture/ranks.h"
#include "base/map.h"
#include "comm/comm.h"
#include "ir/build.h"
#include "shard/shard.h"

/* Every change of one of these settings gives another number. */
static int64_t settings_age(const Ctx *cx)
{
    const int64_t *value = cx->knobs.value;
    return value[KNOB_exact] * 2 + value[KNOB_exact_over] + value[KNOB_plan] * 1024 + 1;
}

bool capture_part_holds(const Ctx *cx, const Part *p) { return p->age == settings_age(cx); }

void capture_part_free(Part *p)
{
    if (p->whole) ir_graph_free(p->whole);
    base_mem_free(p->lies);
    base_mem_free(p->taken);
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
    if (p->lies && p->taken) return shard_step(g, &plan, place, p->lies);
    base_no_memory(g->cx, "a program");
    return NULL;
}

/* ---- before the first run */

/* Two numbers for each input that is whole: of the first the least over ranks is the least, of the
 * second it is minus the largest. */
static int hash_inputs(int n, Storage *const *in, int64_t *out)
{
    for (int i = 0; i < n; i++) {
        const void *at = in[i]->part ? "" : dev_storage_host(in[i]);
        if (!at) return -1;
        out[2 * i] = (int64_t)(base_hash(0, at, in[i]->part ? 0 : in[i]->bytes) >> 2);
        out[2 * i + 1] = -out[2 * i];
    }
    return SGL_OK;
}

static int differs(Ctx *cx, const GraphInput *in)
{
    const char *name = in->name && *in->name ? in->name : "rng";
    base_fail(cx, SGL_EPEER, "%s '%s' of the step is not the same on all ranks",
              in->kind == INPUT_ARG ? "argument" : "state", name);
    base_err_hint(&cx->err,
                  "all ranks run the whole script: what it draws, reads and computes must "
                  "not depend on the rank, the clock or the process");
    return SGL_EPEER;
}

/* It takes one exchange. */
static int agree(Ctx *cx, const Graph *g, Storage *const *in)
{
    Comm *c = comm_of(cx);
    int n = g->inputs.n, code;
    if (!c || c->size == 1) return SGL_OK;
    int64_t *mine = base_mem_zero(4 * (size_t)n + 1, sizeof *mine);
    if (!mine) return base_no_memory(cx, "comparing the ranks");
    int64_t *all = mine + 2 * n;
    code = hash_inputs(n, in, mine) < 0 ? cx->err.code : SGL_OK;
    if (code >= 0)
        code = comm_meet(c, "the inputs of a step, before its first run", COMM_min, 2 * (int64_t)n,
                         mine, all);
    for (int i = 0; i < n && code >= 0; i++)
        if (all[2 * i] != -all[2 * i + 1]) code = differs(cx, &g->inputs.at[i]);
    base_mem_free(mine);
    return code;
}

Storage *const *capture_part_take(Ctx *cx, Part *p, Storage **in)
{
    if (!p->whole) return in;
    int code = p->agreed ? SGL_OK : agree(cx, p->whole, in);
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
