/* tile.h: the tile interpreter (tier B): runs a Kernel over tiles with precompiled loops.
 *
 * cpu_tile_plan fixes, once a kernel, registers, the walk of each access and the chunks of work;
 * cpu_tile_run runs chunk by chunk, on any thread, each with its own scratch. Chunks and the
 * order of the final combine depend on the kernel alone.
 */
#ifndef SGL_CPU_TILE_H
#define SGL_CPU_TILE_H
#include "kern/kernel.h"

typedef struct TileOps TileOps;      /* the loops of one instruction set (tile_isa.c) */
typedef struct TilePlan TilePlan;

/* NULL: out of memory. The kernel must outlive the plan. */
TilePlan *cpu_tile_plan(const Kernel *k, const TileOps *ops);
int cpu_tile_replan(TilePlan *p);    /* the kernel's numbers are others; SGL_ENOMEM: the plan may
                                      * only be freed or made anew */
void cpu_tile_free(TilePlan *p);
int cpu_tile_chunks(const TilePlan *p);             /* independent pieces of work */
int64_t cpu_tile_cost(const TilePlan *p);           /* elements × instructions: worth threads? */
size_t cpu_tile_scratch(const TilePlan *p);         /* bytes each worker needs, 64-byte aligned */
size_t cpu_tile_partials(const TilePlan *p);        /* bytes shared by all chunks of one run */
void cpu_tile_run(const TilePlan *p, void *const *args, int chunk, void *scratch, void *partials);
/* After all chunks: combines partial reductions and runs what follows them; a no-op without. */
void cpu_tile_finish(const TilePlan *p, void *const *args, void *scratch, void *partials);
#endif
