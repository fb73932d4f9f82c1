/* space.h: index maps: at which element each node of a group is read, as affine functions of the
 * kernel's loop variables.
 *
 * In:   a set of nodes that shall become one kernel, and where the loops start (a root's dims).
 * Out:  loop variables with extents, and for each node one affine expression per dim.
 * Holds: permute, broadcast, slice, flip, pad, window and merging reshapes are always affine. A
 *        reshape that splits a dim is affine after the variable behind that dim is split in two,
 *        which is done on demand when the index is exactly that variable; otherwise the node
 *        cannot join and the caller must materialise it. Pads add guards.
 * Static dims only; symbolic graphs are bound before this pass.
 */
#ifndef SGL_PASS_SPACE_H
#define SGL_PASS_SPACE_H
#include "ir/graph.h"

enum { SPACE_MAX_VARS = 12, SPACE_MAX_GUARDS = 8 };

typedef struct Affine { int64_t base, coef[SPACE_MAX_VARS]; } Affine;
typedef struct Guard { Affine at; int64_t lo, hi; } Guard;     /* inside when lo <= at < hi */
typedef struct IndexMap {
    int rank;
    Affine dim[OP_MAX_RANK];       /* position in the node's own dims */
    int nguard;
    Guard guard[SPACE_MAX_GUARDS]; /* all must hold where the node is really read */
} IndexMap;
typedef struct Space {
    int nvar;
    int64_t extent[SPACE_MAX_VARS];
    bool reduced[SPACE_MAX_VARS];  /* belongs to reduced dims */
} Space;
#endif
