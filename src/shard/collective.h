/* collective.h: what a node of the family comm says: who takes part, and which part each has.
 */
#ifndef SGL_SHARD_COLLECTIVE_H
#define SGL_SHARD_COLLECTIVE_H
#include "comm/comm.h"
#include "ir/graph.h"

typedef struct Collective {
    const Node *n;
    Mesh mesh;
    Axes axes, gone;           /* of the mesh; of the group: those that are not kept */
    CommKind kind;
    int dim;                   /* -1: none */
    int keep;
    CommCut cut;
    CommGroup group;
} Collective;

/* Reads the attributes; without a group, for meshes of any size. */
Collective shard_collective_read(const Node *n);
/* Of one of the ranks. */
Collective shard_collective(const Node *n, int rank);
/* Which part of the dim each member has, of what they have together. The node's type, or its
 * input's, is `like`; an element has so many bytes. */
CommParts shard_collective_parts(const Collective *k, const Node *like, int64_t bytes);
#endif
