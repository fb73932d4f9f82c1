/* shard.h: the partitioner: from the graph of a step to that of one rank, with its collectives.
 *
 *     blocks     the sums that ranks may share get a fixed tree (exact mode)      blocks.c
 *     classes    which dims belong together, and into how many units one is cut   classes.c
 *     plan       the mesh, and what its axes are for                              plan.c
 *     place      what a script says of how a value lies                           place.c
 *     spread     axes of the mesh spread from annotated inputs to all values      spread.c
 *     lower      each op on its parts; where placements meet, a collective        lower.c
 *
 * In:    a static graph, a mesh, the number of a rank.
 * Out:   the rank's graph, with the inputs and outputs of the whole.
 * Holds: what is decided depends on the graph, the mesh and the settings, never on the rank, so all
 *        ranks get the same collectives in the same order. In exact mode the blocks depend on the
 *        graph alone: its values have the same bits on any mesh, one rank too.
 */
#ifndef SGL_SHARD_SHARD_H
#define SGL_SHARD_SHARD_H
#include "comm/spread.h"
#include "ir/eval.h"

enum { SHARD_MOST_RANKS = 1 << 20 }; /* of an axis that is planned */

typedef struct ShardPlan {
    Mesh mesh;
    bool planned;              /* no job runs it: the mesh may be larger than jobs are */
    int rank;
    Axes samples;              /* what a dim of samples lies over */
    Axes storage;              /* what state lies over; 0: it is whole on every rank */
    int blocks;                /* exact mode: S; 0: off */
    bool reshard;              /* what was gathered for the forward pass is so again behind it */
    int64_t step;              /* tells steps apart: a hash of the whole graph and of the plan */
    bool all;                  /* exact mode: every float sum has blocks, not only those over
                                  samples and those that end as one number */
} ShardPlan;

/* What the context's settings and its job ask for. 0: steps stay as they are; 1: they do not;
 * negative: they contradict each other. */
int shard_plan_of(Ctx *cx, ShardPlan *out);
/* What a plan says, "fsdp" or "data=2,model=2", for so many ranks; 0: as many as it names. `any`:
 * axes may have any names. `out` has the other settings already. */
int shard_plan_read(Ctx *cx, const char *plan, int ranks, bool any, ShardPlan *out);
/* The graph of the plan's rank; NULL with the error set. g is only read. place[i] is how
 * input i was asked to lie (below), or NULL; lies[i] is how it is taken, of rank 0 where it is
 * whole. */
Graph *shard_step(const Graph *g, const ShardPlan *plan, const char *const *place,
                  CommSpread *lies);

/* How a script asks a value to lie: "1=model,data;2=seq": dims from 1, and for each the names of
 * axes, the outermost first; or SHARD_WHOLE. Names that the mesh has not say nothing, so a script
 * means something on any mesh. */
#define SHARD_WHOLE "whole"
enum { SHARD_PLACE = 96 };     /* bytes of such a text, at most */
/* The axes of each dim: of those that the value has. */
void shard_place(const Mesh *m, const char *text, int rank, Axes *spec);
/* NULL, or why it is none. */
const char *shard_place_wrong(const char *text);

/* together.c: the outputs, then the assigned values, of the step on all ranks of the plan's mesh at
 * once, each whole, as the reference interpreter has them; the caller frees them. */
int shard_eval(const Graph *g, const ShardPlan *plan, const char *const *place, const RefArray *in,
               RefArray *out);

/* The dim of an input that counts samples: what a mark says, or where no argument of the graph has
 * one, the first dim of each; -1: none. */
int shard_batch_dim(const Graph *g, int input);
/* The graph, equal nodes being one, with blocks (blocks.c). */
Graph *shard_blocks(const Graph *g, int blocks, bool all);
#endif
