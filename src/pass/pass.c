/* pass.c: the pipeline, and the runner that times, verifies and shows each of its passes.
 */
#include <string.h>
#include "base/clock.h"
#include "ir/verify.h"
#include "obs/obs.h"
#include "pass/pass.h"

const Pass PASSES[] = {
#define PASS(name, doc) {#name, pass_##name, doc},
#include "pass/pass.def"
#undef PASS
    {NULL, NULL, NULL},
};

static void note_time(PassTimes *t, const char *name, double seconds, int nodes)
{
    if (!t || t->n == PASS_MAX_TIMES) return;
    t->name[t->n] = name;
    t->seconds[t->n] = seconds;
    t->nodes[t->n++] = nodes;
}

static int run_one(const Pass *pass, PassState *st, PassTimes *times)
{
    double start = base_clock();
    int status = pass->run(st);
    if (status < 0) return status;
    double seconds = base_clock() - start;
    note_time(times, pass->name, seconds, st->graph->nodes.n);
    obs_event(st->cx, OBS_pass_end, seconds * 1e3, OBS_TEXT("pass", pass->name),
              OBS_INT("nodes", st->graph->nodes.n));
    return st->cx->knobs.value[KNOB_verify] ? ir_verify(st->graph) : SGL_OK;
}

/* A graph that no pass has scheduled yet, as a schedule without groups. */
static int wrap(PassState *st)
{
    if (st->schedule) return SGL_OK;
    st->schedule = base_mem_zero(1, sizeof *st->schedule);
    if (!st->schedule) return base_no_memory(st->cx, "a schedule");
    st->schedule->graph = st->graph;
    return SGL_OK;
}

static const Pass *find(const char *name)
{
    const Pass *p = PASSES;
    while (p->name && strcmp(p->name, name) != 0) p++;
    return p->name ? p : NULL;
}

/* The passes from `first` to `last`, or to the end. */
static Schedule *run(Graph *g, const SizeValues *values, const Pass *first, const Pass *last,
                     PassTimes *times, PassHook hook, void *arg)
{
    PassState st = {.cx = g->cx, .graph = g, .sizes = pass_sizes_new(g->cx, values)};
    int status = first && st.sizes ? SGL_OK : st.cx->err.code;
    for (const Pass *p = first; p && p->name && status == SGL_OK; p++) {
        status = run_one(p, &st, times);
        if (status == SGL_OK && hook) hook(arg, p->name, &st);
        if (p == last) break;
    }
    if (status == SGL_OK) status = wrap(&st);
    pass_sizes_free(st.sizes);
    if (status == SGL_OK) return st.schedule;
    if (st.schedule) pass_schedule_free(st.schedule);
    else ir_graph_free(st.graph);
    return NULL;
}

int pass_rewrite(PassState *st, Remake remake, void *arg)
{
    Graph *made = ir_rebuild_live(st->graph, remake, ORIGIN_NODE, arg);
    if (!made) return st->cx->err.code;
    made->from = st->graph;
    st->graph = made;
    return SGL_OK;
}

Schedule *pass_run(Graph *g, const SizeValues *values, const char *until, PassTimes *times,
                   PassHook hook, void *arg)
{
    const Pass *last = until ? find(until) : NULL, *first = PASSES;
    if (until && !last) {
        base_fail(g->cx, SGL_EARG, "there is no pass '%s'", until);
        first = NULL;
    }
    return run(g, values, first, last, times, hook, arg);
}

Schedule *pass_schedule(Graph *g, PassTimes *times, PassHook hook, void *arg)
{
    return run(g, NULL, find("fuse"), NULL, times, hook, arg);
}
