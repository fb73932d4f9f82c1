/* lower.h: what the files that make a rank's graph share.
 */
#ifndef SGL_SHARD_LOWER_H
#define SGL_SHARD_LOWER_H
#include "ir/build.h"
#include "ir/rebuild.h"
#include "shard/classes.h"

/* A value as it was made in one placement. */
typedef struct Placed {
    struct Placed *next;
    Axes spec[OP_MAX_RANK];
    int64_t units[OP_MAX_RANK]; /* of constants and positions: those of what they meet */
    Node *node;
} Placed;

typedef struct Lower {
    Sharding *s;
    Graph *to;
    Placed **have;             /* by old id */
    int64_t forward;           /* the last node of the forward pass, by id; -1: it is over */
    Node *last;                /* the collective before: the next waits for it */
    const int64_t *units;      /* while a constant is made: the units of its dims */
} Lower;

/* The cut of dim d of n; where this rank's part over the axes begins, and how long it is. */
CommCut shard_cut(const Lower *l, const Node *n, int d);
int64_t shard_start(const Lower *l, const Node *n, int d, Axes axes);
int64_t shard_length(const Lower *l, const Node *n, int d, Axes axes);
/* What this rank has of n's dims. */
void shard_dims(const Lower *l, const Node *n, const Axes *spec, Dim *out);
/* The axes over which factors that n reduces are cut: its result is partial over them. */
Axes shard_partial(const Lower *l, const Node *n);

/* leaves.c: is n a sum in blocks whose shares are no whole subtrees of the fixed tree? */
bool shard_needs_leaves(const Lower *l, const Node *n);
/* Such a sum, over the axes too. */
Node *shard_add_leaves(Lower *l, const Node *n, Node *const *in, const Axes *spec);
/* part.c: what ranks hand each other of n: f16 and bf16 in blocks are f32 until they have met. */
Dtype shard_share_dtype(const Node *n);
/* The inputs of n, which is partial, as a share is made of them; false with the error set. */
bool shard_prepare(Lower *l, const Node *n, Node **in, const Axes *spec);
/* Which blocks of n this rank has, [lo, hi) of all, and the result of one of them. */
void shard_own_blocks(const Lower *l, const Node *n, int *lo, int *hi);
Node *shard_block(Lower *l, const Node *n, Node *const *in, int block);
/* n over the parts in[] of its inputs, with a result that lies like spec; where it is
 * partial, this rank's share. NULL with the error set. */
Node *shard_part(Lower *l, const Node *n, Node **in, const Axes *spec);
/* move.c: a value of n that lies like `from`, as it lies like `to`. */
Node *shard_move(Lower *l, const Node *n, Node *at, const Axes *from, const Axes *to);
/* Rows that ranks over the axes have of so many blocks, of all blocks. */
Node *shard_gather_blocks(Lower *l, Node *rows, Axes axes, int blocks);
/* Shares over the axes of n's result, which lies like `spec`, become the whole sum. Where n itself
 * is to lie over these axes, each rank gets its part, and spec says so. */
Node *shard_resolve(Lower *l, const Node *n, Node *share, FactorKind kind, Axes axes, Axes *spec);
#endif
