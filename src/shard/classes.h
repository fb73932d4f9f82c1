/* classes.h: what the partitioner knows of each node of a graph.
 *
 * A class is the dims that ops tie together; it is cut into units, the greatest common divisor of
 * the sizes of its dims, so that dims that are merged or split stay whole numbers of units.
 * Constants, positions and repeated numbers tie nothing: they are made anew for each use, in any
 * placement.
 */
#ifndef SGL_SHARD_CLASSES_H
#define SGL_SHARD_CLASSES_H
#include "ir/factor.h"
#include "shard/shard.h"

typedef struct ShardNode {
    Factors f;
    int8_t (*in)[OP_MAX_RANK];  /* by input: the factor of each dim, or -1 */
    bool free;                  /* made of constants, positions and repeated numbers alone */
    bool fixed;                 /* it was asked to be whole */
    int dim;                    /* the number of its first dim among those of all nodes */
    Axes spec[OP_MAX_RANK];     /* where its dims lie */
    Axes fact[3 * OP_MAX_RANK]; /* which axes cut a factor */
} ShardNode;

typedef struct Sharding {
    const Graph *g;
    const ShardPlan *plan;
    const char *const *place;   /* by input: shard_step */
    bool placed;                /* some input was asked to lie over ranks */
    Arena arena;
    ShardNode *node;            /* by id */
    int *parent;                /* by dim: towards the dim that stands for its class */
    int64_t *units;             /* of such a dim */
} Sharding;

/* The nodes' factors and classes; SGL_ENOMEM. */
int shard_classes(Sharding *s, const Graph *g);
void shard_classes_free(Sharding *s);
/* The dim that stands for the class of dim d of n; how many units it is cut into. */
int shard_class(const Sharding *s, const Node *n, int d);
int64_t shard_units(const Sharding *s, const Node *n, int d);
/* The factor that n reduces in blocks, or the first that it reduces: -1: none. */
int shard_reduced(const Sharding *s, const Node *n);
/* An input and its dim that have a factor. */
void shard_factor_end(const Sharding *s, const Node *n, int factor, int *input, int *dim);

/* spread.c: places the axes of the plan's mesh. */
int shard_spread(Sharding *s);
/* How input i of the graph is stored; of rank 0 where it is whole. */
CommSpread shard_stored(const Sharding *s, int i);
/* lower.c: the rank's graph; NULL with the error set. */
Graph *shard_lower(Sharding *s);
#endif
