/* rebuild.h: the one graph rewriter: a graph made anew from another, node by node.
 *
 * Whoever rewrites says which nodes and composites stay and what takes the place of a node; what
 * all would do alike stands in rebuild.c: inputs, composites, sources, origins, blocks of control
 * nodes, outputs, assigns, effects. What a graph carries beyond these is carried there too, once.
 * Holds: `from` is never changed; nodes are met in the order of ids (in a whole graph inputs
 *        first), so what a node reads is made before it, and inputs, outputs, assigns and
 *        composites keep their order.
 */
#ifndef SGL_IR_REBUILD_H
#define SGL_IR_REBUILD_H
#include "ir/graph.h"

typedef enum RebuildOrigin {
    ORIGIN_GIVEN,            /* new nodes point where to->origin does */
    ORIGIN_SAME,             /* where the old ones point */
    ORIGIN_NODE              /* to the old ones; who keeps the old graph sets Graph.from */
} RebuildOrigin;

typedef struct Rebuild Rebuild;
/* What takes the place of n, whose inputs in `to` are in[]; NULL with the error set. It may fill
 * `made` for other nodes too, which are not asked for then. `in` may be changed. */
typedef Node *(*Remake)(Rebuild *rb, const Node *n, Node **in);

struct Rebuild {
    const Graph *from;
    Graph *to;               /* new and empty, or a graph that nodes are added to */
    const uint8_t *nodes;    /* by old id: is it made? with it all its inputs; NULL: all are */
    const uint8_t *composites;  /* by old number: does it stay? else its nodes go to the composite
                                around it; NULL: all stay */
    Remake remake;           /* NULL: ir_rebuild_same */
    RebuildOrigin origin;
    void *arg;               /* for remake */
    Node **made;             /* by old id; NULL where nothing was made */
    uint32_t *composite;        /* by old number: the new one */
};

/* Makes the nodes and composites. `made` and `composite` are there afterwards, on an error too:
 * filled in, or NULL. The caller ends them with ir_rebuild_end. */
int ir_rebuild_nodes(Rebuild *rb);
void ir_rebuild_end(Rebuild *rb);
/* The whole graph, outputs, assigns and effects too; it takes `to`, which may be NULL when there
 * was no memory for it, and ends what ir_rebuild_nodes made. NULL with the error set. */
Graph *ir_rebuild_graph(Rebuild *rb);

/* What a pass does: the whole graph without what nothing needs, where equal nodes are one. */
Graph *ir_rebuild_live(const Graph *from, Remake remake, RebuildOrigin origin, void *arg);

/* The node itself: the same op and attributes over the new inputs, or the same input. */
Node *ir_rebuild_same(Rebuild *rb, const Node *n, Node **in);
/* Input n with other dims (bind.c); by its kind and name it is the same. */
Node *ir_rebuild_input(Rebuild *rb, const Node *n, const Dim *dims);
/* The same op and attributes over inputs in g, which may be another graph than n's: blocks go
 * along. Not for inputs. */
Node *ir_node_over(Graph *g, const Node *n, Node *const *in);
/* Nodes in `to` that compute the block's outputs from `in`: out[k] for output k, or for those that
 * `wanted` marks; inputs that these do not need may be NULL. */
int ir_block_splice(Graph *to, const Graph *block, Node *const *in, const uint8_t *wanted,
                    Node **out);
#endif
