/* ranks.h: a captured step as the ranks of a job, or exact mode, have it.
 */
#ifndef SGL_CAPTURE_RANKS_H
#define SGL_CAPTURE_RANKS_H
#include "dev/storage.h"
#include "ir/graph.h"

/* Beside a program: what was captured, where that is not what runs. A zeroed one is of a step that
 * runs as it was captured. */
typedef struct Part {
    Graph *whole;              /* what was captured; NULL: the program's own graph */
    CommSpread *lies;          /* with it, by input: how a run takes it; of rank 0: whole */
    Storage **taken;           /* with it, during a run: by input, borrowed */
    Str schedule;              /* with it: the plan and the exchanges, a line each (agree.h) */
    bool agreed;               /* all ranks had the same step and inputs in the first run */
    int64_t age;               /* of the settings that it was made by */
} Part;

/* Do the settings or the job ask for something else than the graph as it was captured? */
bool capture_part_asked(Ctx *cx);
/* The graph to run for g, which is taken: g itself, or this rank's part of it, beside which p keeps
 * g. place[i]: how input i was asked to lie (shard.h). NULL with the error set. */
Graph *capture_part_make(Part *p, Graph *g, const char *const *place);
void capture_part_free(Part *p);
/* Is it what the settings ask for now? */
bool capture_part_holds(const Ctx *cx, const Part *p);
/* What a run takes for its inputs: of state that ranks share the part of this one. Before the first
 * run: are the inputs the same on all ranks? NULL with the error set. */
Storage *const *capture_part_take(Ctx *cx, Part *p, Storage **in);
/* The step failed on this rank, with the context's error: no rank can go on. */
void capture_part_failed(Ctx *cx, const Part *p);
#endif
