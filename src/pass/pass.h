/* pass.h: the pipeline, a list that can be read aloud (pass.def).
 *
 * Each pass is one file. Graph passes rebuild and never mutate; `fuse`, `order` and `plan` fill
 * the Schedule. After each pass the graph is verified (knob `verify`), its time noted, and the
 * dump hook called. To add a pass: a file with pass_<name>, and a row of pass.def before `fuse`.
 */
#ifndef SGL_PASS_PASS_H
#define SGL_PASS_PASS_H
#include "ir/rebuild.h"
#include "pass/schedule.h"

/* Whoever fills `schedule` hands it the graph: on an error the schedule, where there is one, and
 * else the graph is freed. */
typedef struct PassState {
    Ctx *cx;
    Graph *graph;          /* current; each graph pass replaces it */
    Sizes *sizes;          /* those at hand; `fuse` hands them to the schedule */
    Schedule *schedule;    /* NULL before `fuse` */
} PassState;
typedef struct Pass {
    const char *name;
    int (*run)(PassState *);
    const char *doc;
} Pass;
extern const Pass PASSES[];            /* ends with a NULL name */

enum { PASS_MAX_TIMES = 16 };
typedef struct PassTimes {
    int n;
    const char *name[PASS_MAX_TIMES];
    double seconds[PASS_MAX_TIMES];
    int nodes[PASS_MAX_TIMES];
} PassTimes;
typedef void (*PassHook)(void *arg, const char *pass, const PassState *);

/* Runs the pipeline over g (takes it: ownership moves to the Schedule, or it is freed on error).
 * `until` stops after that pass (NULL: all; a schedule without later passes has no offsets).
 * `values` are the sizes at hand; NULL: the graph is static, or goes through graph passes only. */
Schedule *pass_run(Graph *g, const SizeValues *values, const char *until, PassTimes *times,
                   PassHook hook, void *arg);

/* The rest of the pipeline, over a graph that the graph passes have been over before. */
Schedule *pass_schedule(Graph *g, PassTimes *times, PassHook hook, void *arg);

/* What a graph pass is made of: the graph anew without dead nodes, equal nodes being one, with what
 * `remake` puts in the place of each node. The old graph stays behind it as Graph.from. */
int pass_rewrite(PassState *, Remake, void *arg);

#define PASS(name, doc) int pass_##name(PassState *);
#include "pass/pass.def"
#undef PASS
#endif
